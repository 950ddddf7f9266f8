//! Judges a submission to a problem with the judge of millibox.
//!
//! The judge blocks, so it runs on a thread for blocking work. It uses the service's supervisor for
//! CPU time and judges one test at a time, so it occupies one slot. The thread keeps the judging's
//! place in the queue until the judging has ended. If the caller drops the future, the program of
//! the submission is killed, and the judge ends at its next step.

use super::engine::{Engine, Lane, allowed_cpus};
use super::execution::Content;
use super::program::{Programs, Source};
use super::queue::{Permit, Refusal, Ticket};
use millibox::Supervisor;
use millibox_judge::judge::{
    self, Judge, Machine, MachineError, Options, PackageError, PackageFault, SelectionError,
    Supervisors,
};
use millibox_judge::report::{SubmissionReport, TestReport};
use millibox_package::{Fault, Faults, Problem, Severity, ToolFault};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// The name of the package in its temporary directory, and in messages.
const PACKAGE_NAME: &str = "package.zip";
/// The memory limit of an interactor whose package specifies none.
const DEFAULT_INTERACTOR_BYTES: u64 = 512 << 20;

/// A submission and its problem.
#[derive(Debug, Clone)]
pub struct Judging {
    /// How the judging is admitted. The memory is that of the problem.
    pub ticket: Ticket,
    /// The problem package, a zip archive.
    pub package: Content,
    /// The sources of the submission.
    pub submission: Vec<Source>,
    /// The language of the submission; if absent, the file extensions decide.
    pub language: Option<String>,
    /// Whether judging stops at the first test that is not accepted.
    pub fail_fast: bool,
    /// The memory limit of a problem that specifies none, in bytes.
    pub default_memory_bytes: u64,
    /// Observes the judging.
    pub observer: mpsc::UnboundedSender<Event>,
}

/// What happens during a judging.
#[derive(Debug, Clone)]
pub enum Event {
    /// The judging left the queue.
    Started {
        /// The time in the queue.
        queued: Duration,
    },
    /// The submission was compiled, or could not be compiled.
    Compiled {
        /// The messages of the compiler.
        messages: String,
    },
    /// Tests were judged.
    Judged {
        /// Their number.
        tests: usize,
        /// The number of all tests.
        of: usize,
    },
    /// The result of a test is final.
    Test {
        /// Its index.
        index: usize,
        /// The result.
        report: Box<TestReport>,
    },
}

/// The result of a judging.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The title of the problem.
    pub problem: String,
    /// Warnings about the package.
    pub warnings: Vec<String>,
    /// The submission's result.
    pub submission: SubmissionReport,
    /// Time in the queue.
    pub queued: Duration,
    /// Time from the request to the result.
    pub total: Duration,
}

/// Why a judging has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JudgingError {
    /// It was not admitted.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The package has mistakes.
    #[error("{}", list(.0))]
    Package(Vec<Fault>),
    /// The machine failed while the package was read or prepared, for example because its disk is
    /// full.
    #[error("cannot prepare the package: {}", list(.0))]
    NotPrepared(Vec<Fault>),
    /// The sources of the submission cannot be judged.
    #[error(transparent)]
    Submission(#[from] SubmissionError),
    /// The sandbox cannot be started.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The package or the sources cannot be stored.
    #[error("cannot {action}: {error}")]
    System {
        /// The action that failed.
        action: &'static str,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// The caller dropped the future.
    #[error("the judging was cancelled")]
    Cancelled,
}

/// Why the sources of a submission cannot be judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmissionError {
    /// The judge cannot use the sources.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// There is no source.
    #[error("a submission needs a source")]
    NoSource,
    /// A source has a path that cannot be used.
    #[error("{}: the path of a source must be relative and must not contain `..`", .0.display())]
    Path(PathBuf),
}

fn list(faults: &[Fault]) -> String {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn system(action: &'static str) -> impl Fn(std::io::Error) -> JudgingError {
    move |error| JudgingError::System { action, error }
}

/// Ends the judge when the caller drops the future.
#[derive(Debug, Default)]
struct Stop {
    is_stopped: AtomicBool,
    machine: Mutex<Option<Arc<Machine>>>,
}

impl Stop {
    fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        let machine = self.machine.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(machine) = machine.as_ref() {
            machine.stop();
        }
    }

    fn watch(&self, machine: &Arc<Machine>) {
        *self.machine.lock().unwrap_or_else(PoisonError::into_inner) = Some(machine.clone());
        if self.is_stopped.load(Ordering::SeqCst) {
            machine.stop();
        }
    }

    fn check(&self) -> Result<(), JudgingError> {
        if self.is_stopped.load(Ordering::SeqCst) {
            return Err(JudgingError::Cancelled);
        }
        Ok(())
    }
}

struct StopOnDrop(Arc<Stop>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Judges a submission. If the future is dropped, the judging is cancelled.
///
/// # Errors
/// There is no result: the judging was refused, the package contains errors, or the service failed.
pub async fn judge(programs: &Programs, judging: Judging) -> Result<Judgement, JudgingError> {
    let begin = Instant::now();
    let ticket = Ticket {
        lane: Lane::CpuTime,
        memory_bytes: judging.default_memory_bytes,
        held_bytes: held_bytes(&judging),
        ..judging.ticket
    };
    let permit = programs.queue.admit(ticket).await?;
    let stop = Arc::new(Stop::default());
    let stopping = StopOnDrop(stop.clone());
    let (package, reading) = (judging.package.clone(), stop.clone());
    let (problem, permit) = blocking(move || {
        reading.check()?;
        Ok((Package::read(package)?, permit))
    })
    .await?;
    let budget = programs.queue.bounds().memory_bytes;
    let memory_bytes = problem.memory_bytes(ticket.memory_bytes, budget);
    let permit = if memory_bytes > ticket.memory_bytes {
        drop(permit);
        let ticket = Ticket {
            memory_bytes,
            patience: ticket.patience.saturating_sub(begin.elapsed()),
            ..ticket
        };
        programs.queue.admit(ticket).await?
    } else {
        permit
    };
    let queued = begin.elapsed();
    let _ = judging.observer.send(Event::Started { queued });
    let (programs, judging_stop) = (programs.clone(), stop);
    let judgement =
        blocking(move || judge_blocking(&programs, judging, problem, &judging_stop, permit))
            .await?;
    drop(stopping);
    Ok(Judgement {
        queued,
        total: begin.elapsed(),
        ..judgement
    })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, JudgingError> + Send + 'static,
) -> Result<T, JudgingError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| system("judge")(error.into()))?
}

/// A problem, and the directory with its archive.
struct Package {
    problem: Problem,
    directory: tempfile::TempDir,
}

impl Package {
    fn read(content: Content) -> Result<Package, JudgingError> {
        let failed = system("store the package");
        let directory = millibox_package::temporary::directory().map_err(&failed)?;
        let path = directory.path().join(PACKAGE_NAME);
        let mut file = std::fs::File::create(&path).map_err(&failed)?;
        match content {
            Content::Bytes(bytes) => file.write_all(&bytes).map_err(&failed)?,
            stored => {
                let mut reader = stored.reader().map_err(&failed)?;
                std::io::copy(&mut reader, &mut file).map_err(&failed)?;
            }
        }
        drop(file);
        let shown = |fault: Fault| shown(fault, directory.path());
        let problem = millibox_package::read(&path).map_err(|faults: Faults| {
            let faults: Vec<Fault> = faults.into_iter().map(shown).collect();
            match faults.iter().any(Fault::is_of_machine) {
                true => JudgingError::NotPrepared(faults),
                false => JudgingError::Package(faults),
            }
        })?;
        Ok(Package { problem, directory })
    }

    /// The memory of the programs that run at the same time. If the programs of an interactive
    /// problem exceed the budget only together, the judging takes the whole budget and runs alone.
    fn memory_bytes(&self, default: u64, budget: u64) -> u64 {
        let limits = &self.problem.limits;
        let of_tests = self.problem.tests().filter_map(|test| test.memory);
        let usual = limits.memory.unwrap_or(default);
        let program = of_tests.fold(usual, u64::max);
        if !self.problem.kind.is_interactive() {
            return program;
        }
        let interactor = limits.validation_memory;
        let interactor = interactor.unwrap_or(DEFAULT_INTERACTOR_BYTES);
        program.saturating_add(interactor).min(budget).max(program)
    }
}

/// The fault, with the path inside the package.
fn shown(mut fault: Fault, directory: &Path) -> Fault {
    fault.path = below(&fault.path, directory);
    fault
}

/// The path below the directory with the archive.
fn below(path: &Path, directory: &Path) -> PathBuf {
    path.strip_prefix(directory).unwrap_or(path).to_owned()
}

fn judge_blocking(
    programs: &Programs,
    judging: Judging,
    package: Package,
    stop: &Stop,
    permit: Permit,
) -> Result<Judgement, JudgingError> {
    stop.check()?;
    let cpu = BusyCpu::take();
    let supervisors = Box::new(EngineSupervisors(programs.engine.clone()));
    let machine = Arc::new(Machine::sharing(supervisors, &[cpu.0])?);
    stop.watch(&machine);
    let (suites, cache) = programs.catalog.sources();
    let options = Options {
        fail_fast: judging.fail_fast,
        ..Options::default()
    };
    let judge = Judge::new(&machine, suites, cache, options);
    let Package { problem, directory } = package;
    let sources = write_sources(&judging.submission)?;
    let named = match &judging.submission[..] {
        [source] => sources.path().join(&source.path),
        _ => sources.path().to_owned(),
    };
    let mut submission = judge::choose(&problem, &named, judging.language.as_deref())
        .map_err(|error| match error {
            SelectionError::Directory { source, .. } => JudgingError::System {
                action: "read the submission",
                error: source,
            },
            error => SubmissionError::from(error).into(),
        })?
        .pop()
        .ok_or(SubmissionError::NoSource)?;
    submission.name = match &judging.submission[..] {
        [source] => source.path.display().to_string(),
        _ => "submission".to_owned(),
    };
    let name = problem.name.clone();
    let prepared =
        judge
            .problem(problem, &mut |_| ())
            .map_err(|PackageError { faults, .. }| {
                let is_of_machine = faults.iter().any(PackageFault::is_of_machine);
                let shown = |fault: PackageFault| {
                    let fault = fault.map_paths(|path| below(path, directory.path()));
                    let problem = ToolFault::new(fault.problem);
                    Fault::new(fault.path, Severity::Error, problem)
                };
                let faults = faults.into_iter().map(shown).collect();
                match is_of_machine {
                    true => JudgingError::NotPrepared(faults),
                    false => JudgingError::Package(faults),
                }
            });
    stop.check()?;
    let prepared = prepared?;
    let observer = judging.observer;
    let mut told = 0;
    let report = judge.submission(&prepared, &submission, &mut |event| {
        observe(&observer, &mut told, &event);
    });
    stop.check()?;
    let warnings = prepared.warnings().cloned();
    let warnings = warnings.map(|fault| shown(fault, directory.path()).to_string());
    let judgement = Judgement {
        problem: name,
        warnings: warnings.collect(),
        submission: report,
        queued: Duration::ZERO,
        total: Duration::ZERO,
    };
    drop(permit);
    Ok(judgement)
}

fn observe(observer: &mpsc::UnboundedSender<Event>, told: &mut usize, event: &judge::Event<'_>) {
    // The judging continues even if the observer was dropped.
    match event {
        judge::Event::Begun { about } => {
            let compilation = about.compilation.as_ref();
            let _ = observer.send(Event::Compiled {
                messages: compilation.map_or_else(String::new, |it| it.messages.clone()),
            });
        }
        judge::Event::Judged { tests, of } => {
            let _ = observer.send(Event::Judged {
                tests: *tests,
                of: *of,
            });
        }
        judge::Event::Settled { progress } => {
            for index in *told..progress.settled() {
                let report = Box::new(TestReport::judged(progress, index));
                let _ = observer.send(Event::Test { index, report });
            }
            *told = progress.settled().max(*told);
        }
        _ => {}
    }
}

/// The service's supervisors for CPU time.
#[derive(Debug)]
struct EngineSupervisors(Engine);

impl Supervisors for EngineSupervisors {
    fn current(&self) -> Result<Arc<Supervisor>, millibox::Error> {
        self.0.supervisor(Lane::CpuTime)
    }
}

/// The CPUs of the running judgings.
static BUSY_CPUS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// The CPU of a judging, until it is dropped.
#[derive(Debug)]
struct BusyCpu(usize);

impl BusyCpu {
    /// The CPU that the fewest judgings use.
    fn take() -> BusyCpu {
        let mut busy = BUSY_CPUS.lock().unwrap_or_else(PoisonError::into_inner);
        let judgings = |cpu: &usize| busy.iter().filter(|it| *it == cpu).count();
        let cpu = allowed_cpus().into_iter().min_by_key(judgings);
        let cpu = cpu.unwrap_or_default();
        busy.push(cpu);
        BusyCpu(cpu)
    }
}

impl Drop for BusyCpu {
    fn drop(&mut self) {
        let mut busy = BUSY_CPUS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = busy.iter().position(|cpu| *cpu == self.0) {
            busy.swap_remove(index);
        }
    }
}

/// The memory of the service that a judging needs: the request, and its sources while they are
/// written to the disk. A package is copied from file to file.
fn held_bytes(judging: &Judging) -> u64 {
    let sources = judging.submission.iter();
    sources
        .map(|source| source.content.bytes())
        .fold(judging.ticket.size_bytes, u64::saturating_add)
}

fn write_sources(sources: &[Source]) -> Result<tempfile::TempDir, JudgingError> {
    let failed = system("store the submission");
    let directory = millibox_package::temporary::directory().map_err(&failed)?;
    for source in sources {
        let is_usable = source
            .path
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)))
            && source.path.file_name().is_some();
        if !is_usable {
            return Err(SubmissionError::Path(source.path.clone()).into());
        }
        let path = directory.path().join(&source.path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(&failed)?;
        }
        let mut file = std::fs::File::create(path).map_err(&failed)?;
        let mut reader = source.content.reader().map_err(&failed)?;
        std::io::copy(&mut reader, &mut file).map_err(&failed)?;
    }
    Ok(directory)
}
