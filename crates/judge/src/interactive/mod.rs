//! Interactive problems: the solution talks to an interactor, both in the sandbox.
//!
//! ```text
//!             ┌─────────────── pipe ──────────────→┐
//!  interactor │                                    │ solution
//!             └←────────────── pipe ───────────────┘
//! ```
//!
//! Who ends first decides: an interactor that has said "wrong answer" has said so whatever its
//! leaving does to the solution, and a solution that crashes has crashed whatever the interactor
//! then says of the silence. Programs learn of each other's end by their pipes alone, so the judge
//! decides *when* they learn it: it keeps a descriptor of every end of every pipe, and lets go of
//! a program's ends only when the moment of its end is known. What one does because of the
//! other's end is later, for certain. `docs/guide/interactive.md` has the rules and their reasons.
//!
//! | file | what |
//! | --- | --- |
//! | `link` | one direction of the conversation: a pipe of which we keep both ends, or a relay |
//! | `play` | watches both programs until both have ended |
//! | `decide` | the verdict |

mod decide;
mod link;
mod play;

use crate::batch::{Case, JudgeFailure, Trial, Worker};
use crate::checker::custom::{Custom, FEEDBACK};
use crate::convention::{Answer, interpret};
use crate::feedback::{Feedback, Watch};
use crate::program::Limits;
use crate::pump::memory_file;
use crate::verdict::{COMMENT_LIMIT, TestResult};
use decide::REST;
use link::Link;
use millibox::RunResult;
use millibox_package::model::Convention;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

pub use decide::AT_ONCE;

/// How the two programs are joined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// By two pipes, with nobody between them: a message costs what it costs without a judge.
    /// A program that closes its standard output and lives on is not noticed: the other sees
    /// the end of its input when that program ends.
    #[default]
    Direct,
    /// By four pipes, with the judge moving what comes: two more switches for each message. A
    /// program that closes its standard output and lives on is noticed, and the solution's output
    /// is counted, to the byte.
    Relay,
}

/// Runs a solution and an interactor together on a test, and says what came of it.
///
/// Both run in one slot of the supervisor ([`millibox::Supervisor::run_pair`]), so any number of
/// workers may judge at once, on any number of slots.
///
/// [`Trial::limits`] are the solution's. Its real time passes while the interactor thinks, too.
/// [`Limits::output`] is the most that it may write to any one file, and with [`Mode::Relay`] to
/// its standard output; with [`Mode::Direct`] nobody counts that: what the interactor does not
/// read fills the pipe, and whoever writes on waits.
///
/// The interactor's limits are those of its own work. What a solution with these limits can
/// cost it while it runs is added to its CPU time and real time, and what one that failed has left in
/// the pipe is thrown away a second later, so that none of these can drive it over them.
///
/// Whatever fails here is a judge error that says what failed, and never a verdict on the
/// submission.
pub fn judge(worker: &mut Worker<'_>, trial: &Trial<'_>, interactor: &Arc<Custom>, mode: Mode) -> TestResult {
    judge_pass(worker, trial, interactor, mode, None)
}

/// As [`judge`]; the interactor has this feedback directory, or else a fresh one.
pub(crate) fn judge_pass(
    worker: &mut Worker<'_>,
    trial: &Trial<'_>,
    interactor: &Arc<Custom>,
    mode: Mode,
    feedback: Option<&Feedback>,
) -> TestResult {
    let played = match feedback {
        Some(feedback) => play(worker, trial, interactor, mode, feedback),
        None => worker.feedback().and_then(|feedback| play(worker, trial, interactor, mode, &feedback)),
    };
    match played {
        Ok(ended) => decide::decide(ended, trial.limits, mode),
        Err(failure) => TestResult::judge_error(failure.to_string()),
    }
}

/// Both programs have ended.
struct Ended {
    solution: RunResult,
    interactor: RunResult,
    answer: Answer,
    /// The interactor's result came when it had been shown that the solution has ended.
    told: bool,
}

fn play(
    worker: &mut Worker<'_>,
    trial: &Trial<'_>,
    interactor: &Arc<Custom>,
    mode: Mode,
    feedback: &Feedback,
) -> Result<Ended, JudgeFailure> {
    trial.keep_files_hidden()?;
    let Trial { executable, case, limits } = *trial;
    let (supervisor, cpus) = (worker.supervisor, worker.cpus.clone());
    let place = worker.place()?;
    let world = place.world(interactor);
    let input = place.show(interactor, case.input, "input")?;
    let answer = case.answer.map(|answer| place.show(interactor, answer, "answer")).transpose()?;
    let report = memory_file()?;
    let stderr = report.try_clone().map_err(|error| JudgeFailure::new("keep a file in memory", &error))?;

    let from_interactor = Link::make(mode, None)?;
    let from_solution = Link::make(mode, Some(limits.output))?;
    // Until what the solution has written is gone, whatever happens is its doing, and ends with its limits.
    let longest = limits.real_time.saturating_add(AT_ONCE).saturating_add(REST);
    let its_limits = Limits {
        cpu_time: interactor.limits.cpu_time.saturating_add(longest),
        real_time: interactor.limits.real_time.saturating_add(longest),
        ..interactor.limits
    };
    let mut requests = [
        interactor
            .executable
            .request_in(&world, &its_limits, &its_arguments(interactor, &case, input, answer)?)
            .output_limit(its_limits.output)
            .stdin(from_solution.reader)
            .stdout(from_interactor.writer)
            .stderr(std::os::fd::OwnedFd::from(stderr)),
        executable
            .request(limits, &trial.arguments())
            .output_limit(limits.output)
            .stdin(from_interactor.reader)
            .stdout(from_solution.writer),
    ];
    if !cpus.is_empty() {
        for request in &mut requests {
            *request = request.clone().cpus(cpus.iter().copied());
        }
    }
    let handles = supervisor.run_pair([&requests[0], &requests[1]])?;
    // What we keep of the pipes is the links' to keep.
    drop(requests);
    let watch = Watch::new(feedback, its_limits.output);
    play::play(&handles, from_interactor.link, from_solution.link, watch, |run| {
        // Its standard output was the solution's to read.
        interpret(interactor.convention, run, &its_limits, b"", &beginning(&report), feedback)
    })
}

/// What an interactor is given. Sim's get the input alone, and no flags.
fn its_arguments(
    interactor: &Custom,
    case: &Case<'_>,
    input: OsString,
    answer: Option<OsString>,
) -> Result<Vec<OsString>, JudgeFailure> {
    let feedback = format!("{FEEDBACK}/{}/", Feedback::NAME);
    let mut arguments = match interactor.convention {
        Convention::Sim => return Ok(vec![input]),
        Convention::Icpc => {
            let missing = || JudgeFailure("interactor: the test has no answer to give it".to_owned());
            vec![input, answer.ok_or_else(missing)?, feedback.into()]
        }
        Convention::Testlib => {
            // What comes after it is known by its place.
            vec![input, (feedback + "output").into(), answer.unwrap_or_else(|| "/dev/null".into())]
        }
    };
    arguments.extend(case.flags.iter().map(OsString::from));
    Ok(arguments)
}

/// The beginning of what the interactor wrote to its standard error.
fn beginning(report: &File) -> Vec<u8> {
    let mut bytes = vec![0; 2 * COMMENT_LIMIT];
    let length = report.read_at(&mut bytes, 0).unwrap_or(0);
    bytes.truncate(length);
    bytes
}
