//! A checker that is a program of the package, run in the sandbox.
//!
//! It sees, beside what its language needs, three directories: `/judge/data`, the package's
//! data; `/judge/test`, what we put there for one test; and `/judge/feedback`, the only one that
//! it can write in. A worker's checker runs all see the same three, so that they share one world.

use crate::batch::{Case, Checked, JudgeFailure, Worker};
use crate::convention::{Answer, interpret};
use crate::feedback::{Feedback, FeedbackPlace, Watch};
use crate::program::{Executable, Limits};
use crate::pump::{Input, Output, Sink, pump};
use crate::staging::{Ids, Staged, private_directory, stage_file};
use crate::verdict::{COMMENT_LIMIT, Verdict};
use millibox::{Supervisor, World};
use millibox_package::model::{self, Convention, Format, Problem};
use rustix::fs::{SealFlags, fcntl_add_seals};
use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io::Seek;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// Where the world of a checker shows things.
const DATA: &str = "/judge/data";
const TEST: &str = "/judge/test";
pub(crate) const FEEDBACK: &str = "/judge/feedback";
/// Name below [`TEST`] of the submission's output.
const OUTPUT: &str = "output";
/// Name there of the input of a pass after the first.
const NEXT_INPUT: &str = "next-input";
/// Bytes of its standard output and error that are looked at.
const HEAD: usize = 2 * COMMENT_LIMIT;

/// A checker of a package's own, or its interactor, ready to run.
#[derive(Debug)]
pub struct Custom {
    /// The program.
    pub executable: Executable,
    /// How it is called and how it answers.
    pub convention: Convention,
    /// The directory where the package's tests are, as the sandbox's user can read it.
    pub data: Staged,
    /// Limits of one run.
    pub limits: Limits,
}

impl Custom {
    /// Makes a checker's data readable for the sandbox, which may take copies.
    ///
    /// # Errors
    /// A file in `data` cannot be read, or there is no place for copies.
    pub fn new(
        supervisor: &Supervisor,
        executable: Executable,
        convention: Convention,
        data: &Path,
        limits: &model::Limits,
    ) -> std::io::Result<Custom> {
        let data = Staged::new(data, supervisor.ids())?;
        Ok(Custom { executable, convention, data, limits: checker_limits(limits) })
    }

    /// The same for the data of a package, whose links may lead to anywhere in it.
    ///
    /// # Errors
    /// As for [`Custom::new`].
    pub fn of_package(
        supervisor: &Supervisor,
        executable: Executable,
        convention: Convention,
        problem: &Problem,
    ) -> std::io::Result<Custom> {
        let data = Staged::within(&problem.directory, &data_directory(problem), supervisor.ids())?;
        Ok(Custom { executable, convention, data, limits: checker_limits(&problem.limits) })
    }

    /// Whether it opens the submission's output by its path; else it is its standard input.
    pub(crate) fn wants_output_by_path(&self) -> bool {
        self.convention != Convention::Icpc
    }

    /// Runs it on an output, which is [`Place::output_file`] if it wants a path.
    pub(crate) fn check(
        self: &Arc<Custom>,
        worker: &mut Worker<'_>,
        case: &Case<'_>,
        answer: &Path,
        output: File,
        feedback: &Feedback,
    ) -> Result<Checked, JudgeFailure> {
        let (supervisor, cpus) = (worker.supervisor, worker.cpus.clone());
        let place = worker.place()?;
        let world = place.world(self);
        let input = place.show(self, case.input, "input")?;
        let answer = place.show(self, answer, "answer")?;
        let feedback_path = format!("{FEEDBACK}/{}/", Feedback::NAME).into();
        let output_path = || format!("{TEST}/{OUTPUT}").into();
        let mut arguments: Vec<OsString> = match self.convention {
            Convention::Icpc => vec![input, answer, feedback_path],
            Convention::Sim => vec![input, answer, output_path()],
            Convention::Testlib => vec![input, output_path(), answer],
        };
        arguments.extend(case.flags.iter().map(OsString::from));

        let (mut said, mut complained) = (Vec::new(), Vec::new());
        let (stdout, its_stdout) = Output::new(Sink::Head(&mut said, HEAD), self.limits.output)?;
        let (stderr, its_stderr) = Output::new(Sink::Head(&mut complained, HEAD), self.limits.output)?;
        let mut request = self
            .executable
            .request_in(&world, &self.limits, &arguments)
            .output_limit(self.limits.output)
            .stdout(its_stdout)
            .stderr(its_stderr);
        if self.convention == Convention::Icpc {
            request = request.stdin(sealed(output)?);
        }
        if !cpus.is_empty() {
            request = request.cpus(cpus);
        }
        let handle = supervisor.run(&request)?;
        drop(request);
        let mut watch = Watch::new(feedback, self.limits.output);
        let run = pump(&handle, &mut Input::none(), &mut [stdout, stderr], Some(&mut watch))?;
        let mut answer = match watch.finish() {
            Some(excess) => Answer::failed(excess),
            None => interpret(self.convention, &run, &self.limits, &said, &complained, feedback),
        };
        if answer.verdict == Verdict::JudgeError {
            answer.reason.insert_str(0, "checker: ");
        }
        Ok(Checked { answer, figures: Some(run.figures) })
    }
}

/// What a package's checker sees of it.
pub(crate) fn data_directory(problem: &Problem) -> PathBuf {
    match problem.format {
        Format::Sim => problem.directory.clone(),
        Format::Legacy | Format::Icpc2023 => problem.directory.join("data"),
    }
}

/// The limits of a checker's run: the package's for validation, or 20 s, 512 MiB and 64 MiB of
/// output (to each of its streams and files, and to all files in its feedback directory together).
pub fn checker_limits(limits: &model::Limits) -> Limits {
    let cpu_time = limits.validation_time.unwrap_or(Duration::from_secs(20));
    Limits {
        cpu_time,
        real_time: Limits::real_time_for(cpu_time),
        memory: limits.validation_memory.unwrap_or(512 << 20),
        output: limits.validation_output.unwrap_or(64 << 20),
        // A script that starts programs, at least.
        processes: 32,
    }
}

/// A file in memory as it is given to a checker or grader, which cannot change it.
pub(crate) fn sealed(mut output: File) -> Result<Arc<OwnedFd>, JudgeFailure> {
    let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&output, all).map_err(|errno| JudgeFailure::new("seal the output", &errno))?;
    output.rewind().map_err(|error| JudgeFailure::new("read the output from its beginning", &error))?;
    Ok(Arc::new(output.into()))
}

/// Where a worker keeps the files of its checker runs.
#[derive(Debug)]
pub(crate) struct Place {
    ids: Ids,
    /// Read-only for the checker.
    test: TempDir,
    feedback: FeedbackPlace,
    /// The world of the checker that was used last.
    world: Option<(Arc<Custom>, World)>,
}

impl Worker<'_> {
    /// The place for a checker's files, made when it is needed.
    pub(crate) fn place(&mut self) -> Result<&mut Place, JudgeFailure> {
        if self.place.is_none() {
            let ids = self.supervisor.ids();
            let failed = |error: std::io::Error| JudgeFailure(error.to_string());
            let test = private_directory(ids).map_err(failed)?;
            let feedback = FeedbackPlace::new(ids).map_err(failed)?;
            self.place = Some(Place { ids, test, feedback, world: None });
        }
        self.place.as_mut().ok_or_else(|| JudgeFailure("there is no place for the checker's files".to_owned()))
    }

    /// A fresh feedback directory, which the world of checkers shows. One at a time.
    pub(crate) fn feedback(&mut self) -> Result<Feedback, JudgeFailure> {
        self.place()?.feedback.fresh().map_err(|error| JudgeFailure(error.to_string()))
    }
}

impl Place {
    /// An empty file for a submission's output, which the world of checkers shows.
    pub fn output_file(&self) -> Result<File, JudgeFailure> {
        self.new_file(&self.test.path().join(OUTPUT))
    }

    /// Keeps what a checker wants as the next pass's input; where that is.
    pub fn keep_next_input(&self, mut from: File) -> Result<PathBuf, JudgeFailure> {
        let path = self.test.path().join(NEXT_INPUT);
        let mut to = self.new_file(&path)?;
        let failed = |error: std::io::Error| JudgeFailure::new("keep the next pass's input", &error);
        std::io::copy(&mut from, &mut to).map_err(failed)?;
        // Whatever the umask is: the directory above lets nobody else in.
        to.set_permissions(Permissions::from_mode(0o644)).map_err(failed)?;
        Ok(path)
    }

    /// An empty file. Whoever wrote in the last one of its name has only that one.
    fn new_file(&self, path: &Path) -> Result<File, JudgeFailure> {
        remove(path)?;
        let options = || File::options().write(true).create_new(true).mode(0o644).open(path);
        options().map_err(|error| JudgeFailure::new(&format!("make the file {}", path.display()), &error))
    }

    /// What a checker sees; the same for all its runs.
    pub fn world(&mut self, custom: &Arc<Custom>) -> World {
        match &self.world {
            Some((last, world)) if Arc::ptr_eq(last, custom) => world.clone(),
            _ => {
                let world = custom
                    .executable
                    .world
                    .clone()
                    .read_only(custom.data.path(), DATA)
                    .read_only(self.test.path(), TEST)
                    .read_write(self.feedback.path(), FEEDBACK);
                self.world = Some((custom.clone(), world.clone()));
                world
            }
        }
    }

    /// A file's path in the world; one that is not in the data is put in the test's directory.
    pub fn show(&self, custom: &Custom, file: &Path, name: &str) -> Result<OsString, JudgeFailure> {
        if let Some(relative) = custom.data.relative(file) {
            return Ok(Path::new(DATA).join(relative).into());
        }
        let target = self.test.path().join(name);
        remove(&target)?;
        let file = file
            .canonicalize()
            .map_err(|error| JudgeFailure::new(&format!("find the file {}", file.display()), &error))?;
        stage_file(&file, &target, self.ids).map_err(|error| JudgeFailure(error.to_string()))?;
        Ok(Path::new(TEST).join(name).into())
    }
}

fn remove(path: &Path) -> Result<(), JudgeFailure> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(JudgeFailure::new(&format!("remove {}", path.display()), &error))
        }
        _ => Ok(()),
    }
}
