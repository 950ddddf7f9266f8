//! The state of one judging thread: the sandbox, its CPUs, and files for checkers.

use crate::cancel::CancelToken;
use crate::failure::{JudgeFailure, Step};
use crate::feedback::{Feedback, FeedbackPlace};
use crate::result::{Reason, TestResult};
use crate::validator::OutputValidator;
use crate::verdict::Verdict;
use millibox::{Supervisor, World};
use millibox_languages::staging::{Ids, private_directory, stage_file};
use millibox_package::Unpacked;
use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Path of the package's data in a checker's world.
const DATA: &str = "/judge/data";
/// Path of the files of one test in a checker's world.
pub(crate) const TEST: &str = "/judge/test";
/// Path of the directory that contains the feedback directory in a checker's world.
pub(crate) const FEEDBACK: &str = "/judge/feedback";
/// Name of the submission's output below [`TEST`].
pub(crate) const OUTPUT: &str = "output";
/// Name below [`TEST`] of the input for every pass after the first.
const NEXT_INPUT: &str = "next-input";

/// The state of one judging thread: the sandbox, its CPUs, and a directory for checkers' files,
/// which is created when a package's own checker first runs.
#[derive(Debug)]
pub struct Worker<'a> {
    pub(crate) supervisor: &'a Supervisor,
    pub(crate) cpus: Vec<usize>,
    pub(crate) token: CancelToken,
    unpacked: Option<Arc<Unpacked>>,
    files: Option<WorkerFiles>,
}

impl<'a> Worker<'a> {
    /// Creates a worker whose runs may use all CPUs of the supervisor's slots.
    pub fn new(supervisor: &'a Supervisor) -> Worker<'a> {
        Worker {
            supervisor,
            cpus: Vec::new(),
            token: CancelToken::new(),
            unpacked: None,
            files: None,
        }
    }

    /// Pins the worker's runs to these CPUs. An empty list leaves them unpinned.
    #[must_use]
    pub fn cpus(mut self, cpus: impl IntoIterator<Item = usize>) -> Worker<'a> {
        self.cpus = cpus.into_iter().collect();
        self
    }

    /// Ends the worker's runs when the token is cancelled. Their results are then judge errors.
    #[must_use]
    pub fn cancelled_by(mut self, token: CancelToken) -> Worker<'a> {
        self.token = token;
        self
    }

    /// Makes judge errors name files of this archive instead of the directory into which it was
    /// unpacked. `None` means that the tests are not from an archive.
    #[must_use]
    pub fn unpacked(mut self, unpacked: Option<Arc<Unpacked>>) -> Worker<'a> {
        self.unpacked = unpacked;
        self
    }

    /// Returns the failure with the paths that the user knows.
    pub(crate) fn shown(&self, mut failure: JudgeFailure) -> JudgeFailure {
        if let Some(unpacked) = &self.unpacked {
            failure.map_paths(|path| unpacked.shown(path));
        }
        failure
    }

    /// Returns the result of a test on which the judge failed.
    pub(crate) fn judge_error(&self, failure: JudgeFailure) -> TestResult {
        TestResult {
            reason: Some(Reason::Judge(self.shown(failure).into())),
            ..TestResult::new(Verdict::JudgeError)
        }
    }

    /// Returns the directories for checkers' files. The first call creates them.
    pub(crate) fn files(&mut self) -> Result<&mut WorkerFiles, JudgeFailure> {
        let files = match self.files.take() {
            Some(files) => files,
            None => WorkerFiles::new(self.supervisor.info().ids())?,
        };
        Ok(self.files.insert(files))
    }

    /// Creates an empty feedback directory, which is part of the checker's world. A worker has one
    /// at a time.
    pub(crate) fn feedback(&mut self) -> Result<Feedback, JudgeFailure> {
        Ok(self.files()?.feedback.fresh()?)
    }
}

/// The directories that a worker's checker runs share.
#[derive(Debug)]
pub(crate) struct WorkerFiles {
    ids: Ids,
    /// A directory that the checker can only read.
    test: TempDir,
    feedback: FeedbackPlace,
    /// The world of the last checker.
    world: Option<(Arc<OutputValidator>, World)>,
}

impl WorkerFiles {
    fn new(ids: Ids) -> Result<WorkerFiles, JudgeFailure> {
        let test = private_directory(ids).map_err(JudgeFailure::Staging)?;
        Ok(WorkerFiles {
            ids,
            test,
            feedback: FeedbackPlace::new(ids)?,
            world: None,
        })
    }

    /// Creates an empty file for a submission's output, which is part of the checker's world.
    pub fn output_file(&self) -> Result<File, JudgeFailure> {
        self.new_file(&self.test.path().join(OUTPUT))
    }

    /// Stores a checker's input for the next pass and returns its path.
    pub fn store_next_input(&self, mut from: File) -> Result<PathBuf, JudgeFailure> {
        let path = self.test.path().join(NEXT_INPUT);
        let mut to = self.new_file(&path)?;
        let failed = |error: std::io::Error| JudgeFailure::step(Step::StoreNextInput, error);
        std::io::copy(&mut from, &mut to).map_err(failed)?;
        // The umask may have removed bits. The directory above keeps other users out.
        to.set_permissions(Permissions::from_mode(0o644))
            .map_err(failed)?;
        Ok(path)
    }

    /// Creates an empty file. A program that still writes to the previous file cannot reach this
    /// one.
    fn new_file(&self, path: &Path) -> Result<File, JudgeFailure> {
        remove(path)?;
        let file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(path);
        file.map_err(|error| JudgeFailure::step(Step::CreateFile(path.to_owned()), error))
    }

    /// Returns the world of a checker. All runs of a checker share one world.
    pub fn world(&mut self, validator: &Arc<OutputValidator>) -> World {
        match &self.world {
            Some((last, world)) if Arc::ptr_eq(last, validator) => world.clone(),
            _ => {
                let world = validator
                    .executable
                    .world
                    .clone()
                    .read_only(validator.data.path(), DATA)
                    .read_only(self.test.path(), TEST)
                    .read_write(self.feedback.path(), FEEDBACK);
                self.world = Some((validator.clone(), world.clone()));
                world
            }
        }
    }

    /// Returns a file's path in the checker's world. A file outside the data is staged in the
    /// test's directory as `name`.
    pub fn show(
        &self,
        validator: &OutputValidator,
        file: &Path,
        name: &str,
    ) -> Result<OsString, JudgeFailure> {
        if let Some(relative) = validator.data.relative(file) {
            return Ok(Path::new(DATA).join(relative).into());
        }
        let target = self.test.path().join(name);
        remove(&target)?;
        let file = file
            .canonicalize()
            .map_err(|error| JudgeFailure::step(Step::find(file), error))?;
        stage_file(&file, &target, self.ids).map_err(JudgeFailure::Staging)?;
        Ok(Path::new(TEST).join(name).into())
    }
}

fn remove(path: &Path) -> Result<(), JudgeFailure> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(JudgeFailure::step(Step::RemoveFile(path.to_owned()), error))
        }
        _ => Ok(()),
    }
}
