//! The answers of checkers and interactors, and their meaning in each convention.
//!
//! | file | content |
//! | --- | --- |
//! | `answer` | an answer, and why one is unusable |
//! | `icpc`, `sim`, `testlib` | the answers of one convention |
//! | `text` | untrusted text, made safe to show |

mod answer;
mod icpc;
mod sim;
mod testlib;
mod text;

pub(crate) use answer::Suffix;
pub use answer::{Answer, AnswerFault, Limit, ValidatorFailure};
pub(crate) use text::{printable, stderr_excerpt};

use crate::feedback::Feedback;
use crate::verdict::Verdict;
use millibox::{Outcome, RunResult};
use millibox_languages::program::Limits;
use millibox_package::model::Convention;

/// Interprets the run of a checker or interactor.
///
/// `limits` are the limits of the run. `stdout` and `stderr` contain at least the first
/// [`COMMENT_LIMIT`](crate::verdict::COMMENT_LIMIT) bytes of its output.
pub fn interpret(
    convention: Convention,
    run: &RunResult,
    limits: &Limits,
    stdout: &[u8],
    stderr: &[u8],
    feedback: &Feedback,
) -> Answer {
    let answer = match (&run.outcome, convention) {
        (Outcome::Exited(code), Convention::Icpc) => icpc::parse(*code, feedback),
        (Outcome::Exited(code), Convention::Sim) => sim::parse(*code, stdout, stderr),
        (Outcome::Exited(code), Convention::Testlib) => testlib::parse(*code, stderr),
        _ => Err(ended(convention, run, limits)),
    };
    answer.unwrap_or_else(|fault| {
        let failure = Some(ValidatorFailure {
            fault,
            stderr: stderr_excerpt(stderr),
        });
        let comment = match convention {
            Convention::Icpc => icpc::messages(feedback),
            Convention::Sim | Convention::Testlib => String::new(),
        };
        Answer {
            verdict: Verdict::JudgeError,
            failure,
            comment,
            points: None,
        }
    })
}

/// The fault of a run that did not exit.
fn ended(convention: Convention, run: &RunResult, limits: &Limits) -> AnswerFault {
    let (limit, key) = match run.outcome {
        Outcome::CpuTimeLimit => (Limit::Time(limits.cpu_time), "validation_time"),
        Outcome::RealTimeLimit => (Limit::Time(limits.real_time), "validation_time"),
        Outcome::MemoryLimit => (Limit::Bytes(limits.memory), "validation_memory"),
        Outcome::OutputLimit => (Limit::Bytes(limits.output), "validation_output"),
        _ => return AnswerFault::Ended(Box::new(run.clone())),
    };
    // Only ICPC packages have such a key.
    let key = (convention == Convention::Icpc).then_some(key);
    AnswerFault::LimitReached {
        run: Box::new(run.clone()),
        limit,
        key,
    }
}
