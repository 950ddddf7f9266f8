//! One test of a batch problem: the submission's run, then the checker.
//!
//! [`judge`] is what there is to call; each thread that judges has a [`Worker`] of its own.
//! [`run`] is the first half of it, [`judge_run`] says what its result alone decides.

use crate::checker::{CheckerInstance, custom::Place};
use crate::feedback::Feedback;
use crate::program::{Executable, Limits};
use crate::pump::{Input, Output, Sink, memory_file, pump};
use crate::verdict::{TestResult, Verdict};
use millibox::{Figures, Outcome, RunResult, Supervisor, World};
use millibox_package::model::Test;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

/// The judge, or the machine under it, failed: nothing is said of the submission.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct JudgeFailure(pub String);

impl JudgeFailure {
    pub(crate) fn new(what: &str, error: &dyn std::fmt::Display) -> JudgeFailure {
        JudgeFailure(format!("cannot {what}: {error}"))
    }
}

impl From<millibox::Error> for JudgeFailure {
    fn from(error: millibox::Error) -> JudgeFailure {
        JudgeFailure(error.to_string())
    }
}

/// What one thread of the judge has: the sandbox, CPUs to run on, and, once a checker of a
/// package's own is used, a place for its files.
#[derive(Debug)]
pub struct Worker<'a> {
    pub(crate) supervisor: &'a Supervisor,
    pub(crate) cpus: Vec<usize>,
    pub(crate) place: Option<Place>,
}

impl<'a> Worker<'a> {
    /// One whose runs may use all CPUs that the supervisor's slots may use.
    pub fn new(supervisor: &'a Supervisor) -> Worker<'a> {
        Worker { supervisor, cpus: Vec::new(), place: None }
    }

    /// Holds its runs on these CPUs. None: on no particular ones.
    #[must_use]
    pub fn cpus(mut self, cpus: impl IntoIterator<Item = usize>) -> Worker<'a> {
        self.cpus = cpus.into_iter().collect();
        self
    }
}

/// One run of a program, with files for standard input and output.
#[derive(Debug)]
pub struct Run<'a> {
    /// The program.
    pub executable: &'a Executable,
    /// What it sees: at least [`Executable::world`].
    pub world: &'a World,
    /// Arguments after its own.
    pub arguments: &'a [OsString],
    /// Limits; the suite's needs are added.
    pub limits: &'a Limits,
    /// CPUs that it is held on; none: those of the supervisor's slots.
    pub cpus: &'a [usize],
    /// Read through a pipe, from the file's beginning.
    pub input: &'a File,
    /// Written through a pipe, from the file's position on: exactly what the run wrote, and no
    /// more than the limit.
    pub output: File,
}

/// What came of a [`Run`].
#[derive(Debug)]
pub struct Ran {
    /// How it ended and what it used.
    pub result: RunResult,
    /// The file that was given for its output.
    pub output: File,
}

/// Runs a program with its input and output in pipes that can be read, and written, once.
///
/// Its standard error is /dev/null: what it says there may repeat a secret input, and nobody
/// counts it. More output than the limit ends the run. Whatever the run does with its
/// descriptors, this returns when the run's result is there.
///
/// # Errors
/// The input cannot be read, the output cannot be kept, or the supervisor is dead.
pub fn run(supervisor: &Supervisor, run: Run<'_>) -> Result<Ran, JudgeFailure> {
    let (mut input, stdin) = Input::new(run.input.as_fd())?;
    let (output, stdout) = Output::new(Sink::File(&run.output), run.limits.output)?;
    let request = run.executable.request_in(run.world, run.limits, run.arguments).stdin(stdin).stdout(stdout);
    let request = if run.cpus.is_empty() { request } else { request.cpus(run.cpus.iter().copied()) };
    let handle = supervisor.run(&request)?;
    // Its ends of the pipes: with ours open, they would never break.
    drop(request);
    let result = pump(&handle, &mut input, &mut [output], None)?;
    Ok(Ran { result, output: run.output })
}

/// What a submission's run decides without a checker, and why (in the words of
/// [`TestResult::reason`]); `None`: the output decides.
///
/// In this order: time, memory, output, run-time error. What ran longer than its limit without
/// being caught at it (the clocks are looked at now and then) has exceeded it all the same.
pub fn judge_run(result: &RunResult, limits: &Limits) -> Option<(Verdict, String)> {
    let figures = &result.figures;
    let cpu_time = Duration::from_nanos(figures.cpu_user_ns.saturating_add(figures.cpu_system_ns));
    let real_time = Duration::from_nanos(figures.real_time_ns);
    let says = |verdict, reason: &str| Some((verdict, reason.to_owned()));
    match &result.outcome {
        Outcome::NotStarted(_) | Outcome::SandboxError(_) | Outcome::Cancelled | Outcome::Killed => {
            says(Verdict::JudgeError, &result.to_string())
        }
        Outcome::CpuTimeLimit => says(Verdict::TimeLimit, "CPU time limit"),
        _ if cpu_time > limits.cpu_time => says(Verdict::TimeLimit, "CPU time limit"),
        Outcome::RealTimeLimit => says(Verdict::TimeLimit, "real time limit"),
        _ if real_time > limits.real_time => says(Verdict::TimeLimit, "real time limit"),
        Outcome::MemoryLimit => says(Verdict::MemoryLimit, "memory limit"),
        Outcome::OutputLimit => says(Verdict::OutputLimit, "output limit"),
        Outcome::Exited(0) => None,
        Outcome::Exited(_) | Outcome::Signaled(_) => says(Verdict::RunTimeError, &result.to_string()),
    }
}

/// A test as it is judged.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// What the submission reads.
    pub input: &'a Path,
    /// The judges' answer.
    pub answer: Option<&'a Path>,
    /// Arguments for the submission.
    pub arguments: &'a [String],
    /// Flags for the checker.
    pub flags: &'a [String],
}

impl<'a> Case<'a> {
    /// A package's test; `flags` are those of its problem.
    pub fn new(test: &'a Test, flags: &'a [String]) -> Case<'a> {
        Case {
            input: &test.input,
            answer: test.answer.as_deref(),
            arguments: &test.arguments,
            flags: test.checker_flags.as_deref().unwrap_or(flags),
        }
    }
}

/// A submission on a test.
#[derive(Debug, Clone, Copy)]
pub struct Trial<'a> {
    /// The submission.
    pub executable: &'a Executable,
    /// The test.
    pub case: Case<'a>,
    /// What the submission may use there.
    pub limits: &'a Limits,
}

impl Trial<'_> {
    /// A submission must not see what it is judged by.
    pub(crate) fn keep_files_hidden(&self) -> Result<(), JudgeFailure> {
        let files = [Some(self.case.input), self.case.answer];
        files.into_iter().flatten().try_for_each(|path| keep_hidden(&self.executable.world, path))
    }

    /// Arguments of the submission's run, after its own.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        self.case.arguments.iter().map(OsString::from).collect()
    }
}

/// Runs a submission on a test and says what came of it.
///
/// Whatever fails here is a judge error that says what failed, and never a verdict on the
/// submission.
pub fn judge(worker: &mut Worker<'_>, trial: &Trial<'_>, checker: &CheckerInstance) -> TestResult {
    judge_pass(worker, trial, checker, None)
}

/// As [`judge`]; a checker of a package's own has this feedback directory, or else a fresh one.
pub(crate) fn judge_pass(
    worker: &mut Worker<'_>,
    trial: &Trial<'_>,
    checker: &CheckerInstance,
    feedback: Option<&Feedback>,
) -> TestResult {
    let ran = match run_trial(worker, trial, checker) {
        Ok(ran) => ran,
        Err(failure) => return TestResult::judge_error(failure.to_string()),
    };
    let mut result = TestResult { run: Some(ran.result), ..TestResult::judge_error("") };
    if let Some((verdict, reason)) = result.run.as_ref().and_then(|run| judge_run(run, trial.limits)) {
        let reason = match (verdict, trial.executable.argv.first()) {
            (Verdict::JudgeError, Some(program)) => format!("the submission's run of {program:?}: {reason}"),
            _ => reason,
        };
        return TestResult { verdict, reason, ..result };
    }
    match checker.check(worker, &trial.case, ran.output, feedback) {
        Ok(checked) => {
            result.verdict = checked.answer.verdict;
            result.reason = checked.answer.reason;
            result.comment = checked.answer.comment;
            result.score = checked.answer.points;
            result.checker = checked.figures;
        }
        Err(failure) => result.reason = format!("checker: {failure}"),
    }
    result
}

/// What a checker said, and what it used, if it was a program.
#[derive(Debug)]
pub struct Checked {
    /// What it said.
    pub answer: crate::convention::Answer,
    /// What it used.
    pub figures: Option<Figures>,
}

fn run_trial(worker: &mut Worker<'_>, trial: &Trial<'_>, checker: &CheckerInstance) -> Result<Ran, JudgeFailure> {
    trial.keep_files_hidden()?;
    let Trial { executable, case, limits } = *trial;
    let input = File::open(case.input)
        .map_err(|error| JudgeFailure::new(&format!("open the input {}", case.input.display()), &error))?;
    let output = match checker {
        CheckerInstance::Custom(custom) if custom.wants_output_by_path() => worker.place()?.output_file()?,
        _ => memory_file()?,
    };
    let run = Run {
        executable,
        world: &executable.world,
        arguments: &trial.arguments(),
        limits,
        cpus: &worker.cpus,
        input: &input,
        output,
    };
    self::run(worker.supervisor, run)
}

fn keep_hidden(world: &World, path: &Path) -> Result<(), JudgeFailure> {
    let path =
        path.canonicalize().map_err(|error| JudgeFailure::new(&format!("find the file {}", path.display()), &error))?;
    match world.sources().find(|source| path.starts_with(source)) {
        None => Ok(()),
        Some(source) => Err(JudgeFailure(format!(
            "the submission could read {}, since its world shows {}; put the package somewhere else",
            path.display(),
            source.display()
        ))),
    }
}
