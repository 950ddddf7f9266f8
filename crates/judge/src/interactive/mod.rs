//! Interactive problems: the solution talks to an interactor, and both run in the sandbox.
//!
//! ```text
//!             ┌─────────────── pipe ──────────────→┐
//!  interactor │                                    │ solution
//!             └←────────────── pipe ───────────────┘
//! ```
//!
//! The program that ends first decides the verdict. If an interactor rejects, its verdict stands,
//! even if its exit makes the solution crash. If a solution crashes, that verdict stands, even if
//! the interactor then rejects because the solution is silent.
//!
//! The programs learn of each other's end only through their pipes, so the judge decides *when*
//! they learn of it. The judge keeps a descriptor of every end of every pipe. It closes the
//! descriptors of a program's ends only when the time of that program's end is known. A program's
//! reaction to the other's end therefore always follows that end. `docs/guide/interactive.md` has
//! the rules and their reasons.
//!
//! | file | content |
//! | --- | --- |
//! | `link` | one direction of the conversation: a pipe with both ends kept open, or a relay |
//! | `mode` | the two ways to connect the programs |
//! | `play` | the loop that watches both programs until both have ended |
//! | `decide` | the verdict |

mod decide;
mod link;
mod mode;
mod play;

use crate::convention::interpret;
use crate::failure::{JudgeFailure, Step};
use crate::feedback::{Feedback, Watch};
use crate::pump::memory_file;
use crate::result::TestResult;
use crate::trial::{Case, Trial};
use crate::validator::OutputValidator;
use crate::verdict::COMMENT_LIMIT;
use crate::worker::{FEEDBACK, Worker};
use decide::{Conversation, DRAIN_TIMEOUT};
use link::Link;
use millibox_languages::program::Limits;
use millibox_package::model::Convention;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

pub use decide::END_GRACE;
pub use mode::Mode;

/// Runs a solution and an interactor together on a test and decides the verdict.
///
/// Both run in one slot of the supervisor ([`millibox::Supervisor::run_pair`]), so any number of
/// workers can judge at the same time, on any number of slots.
///
/// [`Trial::limits`] are the solution's limits. Its real time also passes while the interactor
/// computes. [`Limits::output`] limits each file that the solution writes and, with
/// [`Mode::Relay`], its standard output. With [`Mode::Direct`], standard output has no limit:
/// output that the interactor does not read fills the pipe, and the solution waits.
///
/// The interactor's limits cover its own work. The judge raises its CPU time and real time limits
/// by the time that a solution with these limits can cost the interactor. One second after the end
/// of a failed solution, the judge discards the bytes that the solution left in the pipe. A
/// solution therefore cannot make the interactor exceed its limits.
///
/// A failure of the judge is a judge error that names the failure, never a verdict on the
/// submission.
pub fn judge(
    worker: &mut Worker<'_>,
    trial: &Trial<'_>,
    interactor: &Arc<OutputValidator>,
    mode: Mode,
) -> TestResult {
    judge_pass(worker, trial, interactor, mode, None)
}

/// Like [`judge`], but the interactor uses the given feedback directory. `None` creates a new one.
pub(crate) fn judge_pass(
    worker: &mut Worker<'_>,
    trial: &Trial<'_>,
    interactor: &Arc<OutputValidator>,
    mode: Mode,
    feedback: Option<&Feedback>,
) -> TestResult {
    let played = match feedback {
        Some(feedback) => play(worker, trial, interactor, mode, feedback),
        None => worker
            .feedback()
            .and_then(|feedback| play(worker, trial, interactor, mode, &feedback)),
    };
    match played {
        Ok(conversation) => decide::decide(conversation, trial.limits, mode),
        Err(failure) => worker.judge_error(failure),
    }
}

fn play(
    worker: &mut Worker<'_>,
    trial: &Trial<'_>,
    interactor: &Arc<OutputValidator>,
    mode: Mode,
    feedback: &Feedback,
) -> Result<Conversation, JudgeFailure> {
    trial.check_hidden_files()?;
    let Trial {
        executable,
        case,
        limits,
    } = *trial;
    let (supervisor, cpus) = (worker.supervisor, worker.cpus.clone());
    let token = worker.token.clone();
    let files = worker.files()?;
    let world = files.world(interactor);
    let input = files.show(interactor, case.input, "input")?;
    let answer = case
        .answer
        .map(|answer| files.show(interactor, answer, "answer"))
        .transpose()?;
    let report = memory_file()?;
    let stderr = report
        .try_clone()
        .map_err(|error| JudgeFailure::step(Step::DuplicateMemoryFile, error))?;

    let from_interactor = Link::make(mode, None)?;
    let from_solution = Link::make(mode, Some(limits.output))?;
    // The solution can keep the interactor busy until its own limits end it and its output is
    // drained.
    let longest = limits
        .real_time
        .saturating_add(END_GRACE)
        .saturating_add(DRAIN_TIMEOUT);
    let interactor_limits = Limits {
        cpu_time: interactor.limits.cpu_time.saturating_add(longest),
        real_time: interactor.limits.real_time.saturating_add(longest),
        ..interactor.limits
    };
    let mut requests = [
        interactor
            .executable
            .request_in(
                &world,
                &interactor_limits,
                &arguments(interactor, &case, input, answer)?,
            )
            .output_limit(interactor_limits.output)
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
    // Only the links may keep descriptors of the pipes.
    drop(requests);
    let watch = Watch::new(feedback, interactor_limits.output);
    play::play(
        &handles,
        from_interactor.link,
        from_solution.link,
        watch,
        &token,
        |run| {
            // The interactor's standard output went to the solution.
            interpret(
                interactor.convention,
                run,
                &interactor_limits,
                b"",
                &beginning(&report),
                feedback,
            )
        },
    )
}

/// The interactor's arguments. A Sim interactor receives only the input, without flags.
fn arguments(
    interactor: &OutputValidator,
    case: &Case<'_>,
    input: OsString,
    answer: Option<OsString>,
) -> Result<Vec<OsString>, JudgeFailure> {
    let feedback = format!("{FEEDBACK}/{}/", Feedback::NAME);
    let mut arguments = match interactor.convention {
        Convention::Sim => return Ok(vec![input]),
        Convention::Icpc => {
            vec![
                input,
                answer.ok_or(JudgeFailure::NoAnswerForInteractor)?,
                feedback.into(),
            ]
        }
        Convention::Testlib => {
            // testlib identifies its arguments by their positions, so a missing answer needs a
            // substitute.
            vec![
                input,
                (feedback + "output").into(),
                answer.unwrap_or_else(|| "/dev/null".into()),
            ]
        }
    };
    arguments.extend(case.flags.iter().map(OsString::from));
    Ok(arguments)
}

/// The beginning of the interactor's standard error.
fn beginning(report: &File) -> Vec<u8> {
    let mut bytes = vec![0; 2 * COMMENT_LIMIT];
    let length = report.read_at(&mut bytes, 0).unwrap_or(0);
    bytes.truncate(length);
    bytes
}
