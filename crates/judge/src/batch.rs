//! Judges one test of a batch problem: the submission's run, then the checker.
//!
//! Call [`judge`] with a [`Worker`]; each judging thread has its own. [`run`] is the first half of
//! [`judge`]. [`judge_run`] returns the verdict if the run's result alone determines it.

pub use crate::failure::JudgeFailure;
pub use crate::trial::{Case, Trial};
pub use crate::worker::Worker;

use crate::cancel::CancelToken;
use crate::checker::CheckerInstance;
use crate::failure::{RunFault, Step};
use crate::feedback::Feedback;
use crate::pump::{Input, Output, Sink, pump};
use crate::result::{Reason, TestResult};
use crate::verdict::Verdict;
use millibox::{Outcome, RunResult, Supervisor, World};
use millibox_languages::program::{Executable, Limits};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use std::time::Duration;

/// One run of a program, with files for standard input and output.
#[derive(Debug)]
pub struct Run<'a> {
    /// The program.
    pub executable: &'a Executable,
    /// The program's world, which contains at least everything in [`Executable::world`].
    pub world: &'a World,
    /// Arguments after the executable's own.
    pub arguments: &'a [OsString],
    /// The program's limits. The needs of its language suite are added to them.
    pub limits: &'a Limits,
    /// CPUs to pin the run to. An empty list allows the CPUs of the supervisor's slots.
    pub cpus: &'a [usize],
    /// Standard input. The program receives the whole file through a pipe.
    pub input: &'a File,
    /// The file for standard output. The judge copies the output from a pipe to this file, from its
    /// current position on and at most up to the limit.
    pub output: File,
}

/// The result of a [`Run`].
#[derive(Debug)]
#[non_exhaustive]
pub struct CompletedRun {
    /// The run's outcome and figures.
    pub result: RunResult,
    /// The file that was passed as [`Run::output`].
    pub output: File,
}

/// Runs a program whose standard input and output are pipes, so it can read and write them only
/// once.
///
/// Standard error is /dev/null, because a program can copy secret input to it and its length has no
/// limit. A run that writes more output than the limit is ended. The function returns when the
/// run's result arrives, even if copies of the run's descriptors are still open.
///
/// # Errors
/// The input cannot be read, the output cannot be stored, or the supervisor is dead.
pub fn run(supervisor: &Supervisor, run: Run<'_>) -> Result<CompletedRun, JudgeFailure> {
    run_until(supervisor, run, &CancelToken::new())
}

/// Like [`run`], but the token can cancel it.
fn run_until(
    supervisor: &Supervisor,
    run: Run<'_>,
    token: &CancelToken,
) -> Result<CompletedRun, JudgeFailure> {
    let (mut input, stdin) = Input::new(run.input.as_fd())?;
    let (output, stdout) = Output::new(Sink::File(&run.output), run.limits.output)?;
    let request = run
        .executable
        .request_in(run.world, run.limits, run.arguments)
        .stdin(stdin)
        .stdout(stdout);
    let request = if run.cpus.is_empty() {
        request
    } else {
        request.cpus(run.cpus.iter().copied())
    };
    let handle = supervisor.run(&request)?;
    // Close the request's copies of the run's pipe ends. While they are open, the judge cannot see
    // that the program closed its ends.
    drop(request);
    let result = pump(&handle, &mut input, &mut [output], None, token)?;
    Ok(CompletedRun {
        result,
        output: run.output,
    })
}

/// Returns the verdict and the fault if the result of a submission's run determines them without a
/// checker. `None` means that the output decides.
///
/// Faults are checked in this order: time, memory, output, run-time error. The sandbox samples CPU
/// time, so a run can finish before the sandbox notices that it has exceeded a limit. Such a run
/// still counts as over the limit.
pub fn judge_run(result: &RunResult, limits: &Limits) -> Option<(Verdict, RunFault)> {
    let figures = &result.figures;
    let cpu_time = Duration::from_nanos(figures.cpu_user_ns.saturating_add(figures.cpu_system_ns));
    let real_time = Duration::from_nanos(figures.real_time_ns);
    let ended = || RunFault::Ended(Box::new(result.clone()));
    let (verdict, fault) = match &result.outcome {
        Outcome::NotStarted(_)
        | Outcome::SandboxError(_)
        | Outcome::Cancelled
        | Outcome::Killed => (Verdict::JudgeError, ended()),
        Outcome::CpuTimeLimit => (Verdict::TimeLimit, RunFault::CpuTime),
        _ if cpu_time > limits.cpu_time => (Verdict::TimeLimit, RunFault::CpuTime),
        Outcome::RealTimeLimit => (Verdict::TimeLimit, RunFault::RealTime),
        _ if real_time > limits.real_time => (Verdict::TimeLimit, RunFault::RealTime),
        Outcome::MemoryLimit => (Verdict::MemoryLimit, RunFault::Memory),
        Outcome::OutputLimit => (Verdict::OutputLimit, RunFault::Output),
        Outcome::Exited(0) => return None,
        Outcome::Exited(_) | Outcome::Signaled(_) => (Verdict::RunTimeError, ended()),
        _ => (Verdict::JudgeError, ended()),
    };
    Some((verdict, fault))
}

/// Runs a submission on a test and checks its output.
///
/// A failure of the judge is a judge error that names the failure, never a verdict on the
/// submission.
pub fn judge(worker: &mut Worker<'_>, trial: &Trial<'_>, checker: &CheckerInstance) -> TestResult {
    judge_pass(worker, trial, checker, None)
}

/// Like [`judge`], but the package's own checker uses the given feedback directory. `None` creates
/// a new one.
pub(crate) fn judge_pass(
    worker: &mut Worker<'_>,
    trial: &Trial<'_>,
    checker: &CheckerInstance,
    feedback: Option<&Feedback>,
) -> TestResult {
    let ran = match run_trial(worker, trial, checker) {
        Ok(ran) => ran,
        Err(failure) => return worker.judge_error(failure),
    };
    let mut result = TestResult {
        run: Some(ran.result),
        ..TestResult::new(Verdict::JudgeError)
    };
    if let Some((verdict, fault)) = result
        .run
        .as_ref()
        .and_then(|run| judge_run(run, trial.limits))
    {
        let reason = match (verdict, trial.executable.argv.first().cloned()) {
            (Verdict::JudgeError, Some(program)) => Reason::RunUnfinished { program, fault },
            _ => Reason::Run(fault),
        };
        return TestResult {
            verdict,
            reason: Some(reason),
            ..result
        };
    }
    match checker.check(worker, &trial.case, ran.output, feedback) {
        Ok(checked) => {
            result.verdict = checked.answer.verdict;
            result.reason = checked.answer.failure.map(Box::new).map(Reason::Checker);
            result.comment = checked.answer.comment;
            result.score = checked.answer.points;
            result.checker = checked.figures;
        }
        Err(failure) => {
            result.reason = Some(Reason::NotChecked(worker.shown(failure).into()));
        }
    }
    result
}

fn run_trial(
    worker: &mut Worker<'_>,
    trial: &Trial<'_>,
    checker: &CheckerInstance,
) -> Result<CompletedRun, JudgeFailure> {
    trial.check_hidden_files()?;
    let Trial {
        executable,
        case,
        limits,
    } = *trial;
    let input = File::open(case.input)
        .map_err(|error| JudgeFailure::step(Step::OpenInput(case.input.to_owned()), error))?;
    let output = checker.output_file(worker)?;
    let run = Run {
        executable,
        world: &executable.world,
        arguments: &trial.arguments(),
        limits,
        cpus: &worker.cpus,
        input: &input,
        output,
    };
    run_until(worker.supervisor, run, &worker.token)
}
