//! The answer of a checker or interactor, and the reasons that make an answer unusable.

use crate::feedback::{Excess, FeedbackError};
use crate::verdict::{Points, Verdict};
use millibox::RunResult;
use std::fmt;
use std::time::Duration;

/// The largest number of points in testlib's "partially correct" answer.
pub(super) const MAX_TESTLIB_PARTS: u32 = 200;

/// A checker's or interactor's answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// `Accepted`, `WrongAnswer`, or `JudgeError` if the program gave no usable answer.
    pub verdict: Verdict,
    /// Why the verdict is a judge error. `None` for the other verdicts.
    pub failure: Option<ValidatorFailure>,
    /// The comment, made printable and cut at [`COMMENT_LIMIT`](crate::verdict::COMMENT_LIMIT). If
    /// an ICPC validator rejects an output without a comment, this field states that.
    pub comment: String,
    /// The points, if the program reported any.
    pub points: Option<Points>,
}

impl Answer {
    pub(super) fn new(verdict: Verdict, comment: String, points: Option<Points>) -> Answer {
        Answer {
            verdict,
            failure: None,
            comment,
            points,
        }
    }

    /// The answer of a program that failed: a judge error.
    pub(crate) fn failed(fault: impl Into<AnswerFault>) -> Answer {
        Answer {
            verdict: Verdict::JudgeError,
            failure: Some(ValidatorFailure::new(fault, String::new())),
            comment: String::new(),
            points: None,
        }
    }
}

/// Why a checker or interactor gave no usable answer, with its standard error.
///
/// The message has no subject: callers put `checker: ` or `interactor: ` before it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{fault}{}", Suffix(.stderr))]
#[non_exhaustive]
pub struct ValidatorFailure {
    /// The reason.
    pub fault: AnswerFault,
    /// Beginning and end of the program's standard error, made printable. It may be empty.
    pub stderr: String,
}

impl ValidatorFailure {
    /// A failure with the program's standard error, which may be empty.
    pub fn new(fault: impl Into<AnswerFault>, stderr: String) -> ValidatorFailure {
        ValidatorFailure {
            fault: fault.into(),
            stderr,
        }
    }
}

/// Why a checker's or interactor's answer is unusable.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerFault {
    /// The run did not exit.
    #[error("{0}")]
    Ended(Box<RunResult>),
    /// The run reached one of its limits.
    #[error("{run}: {limit}{}", Hint(.key))]
    LimitReached {
        /// The run.
        run: Box<RunResult>,
        /// The limit.
        limit: Limit,
        /// The key in problem.yaml that raises the limit, if the package's format has one.
        key: Option<&'static str>,
    },
    /// The program left too much in its feedback directory.
    #[error(transparent)]
    Excess(#[from] Excess),
    /// A feedback file cannot be read.
    #[error(transparent)]
    Feedback(#[from] FeedbackError),
    /// An ICPC validator exited with an unknown status.
    #[error("exited with {0}, not with 42 (accepted) or 43 (wrong answer)")]
    IcpcStatus(i32),
    /// An ICPC validator gave both points and a fraction of the points.
    #[error("wrote both score.txt and score_multiplier.txt; write one of them")]
    BothScores,
    /// An ICPC validator's multiplier is out of range.
    #[error("score_multiplier.txt contains {0}, which is not between 0 and 1")]
    Multiplier(f64),
    /// A feedback file does not contain a number.
    #[error("{file} contains {text:?}, which is not a number")]
    NotANumber {
        /// The feedback file.
        file: &'static str,
        /// The beginning of its content.
        text: String,
    },
    /// A Sim checker exited with a status other than 0.
    #[error("exited with {0}, not with 0")]
    SimStatus(i32),
    /// The first line of a Sim checker's answer is unknown.
    #[error("its first line is {0:?}, neither OK nor WRONG")]
    SimVerdict(String),
    /// The second line of a Sim checker's answer is not a percentage.
    #[error("its second line is {0:?}, neither empty nor a number from 0 to 100")]
    SimPercentage(String),
    /// A testlib checker exited with an unknown status.
    #[error("exited with {0}, which testlib does not define")]
    TestlibStatus(i32),
    /// A testlib checker reported its own failure.
    #[error("reports that it failed (exit status 3)")]
    TestlibFail,
    /// A testlib checker's "partially correct" has no usable points.
    #[error("its points are not a number from 0 to {MAX_TESTLIB_PARTS}")]
    TestlibParts,
    /// A testlib checker exited with the status for points but printed no points.
    #[error("exited with {0} (points) without printing `points P`, P from 0 to 1")]
    TestlibPoints(i32),
}

/// A limit that a checker or interactor reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// A time.
    Time(Duration),
    /// A number of bytes.
    Bytes(u64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Limit::Time(time) => write!(f, "{} s", time.as_secs_f64()),
            Limit::Bytes(bytes) if bytes % (1 << 20) == 0 => write!(f, "{} MiB", bytes >> 20),
            Limit::Bytes(bytes) => write!(f, "{bytes} bytes"),
        }
    }
}

struct Hint<'a>(&'a Option<&'static str>);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(key) => write!(f, "; raise limits.{key} in problem.yaml"),
            None => Ok(()),
        }
    }
}

/// The end of a message about a failed program: the program's standard error, if it is not empty.
pub(crate) struct Suffix<'a>(pub &'a str);

impl fmt::Display for Suffix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            stderr => write!(f, "; standard error: {stderr}"),
        }
    }
}
