//! The result of one test, with the reason for its verdict.

use crate::convention::ValidatorFailure;
use crate::failure::{JudgeFailure, RunFault};
use crate::points_error::PointsError;
use crate::verdict::{Points, Verdict};
use millibox::{Figures, RunResult};
use millibox_package::Cause;
use std::ffi::OsString;
use std::fmt;

/// The result of one test.
#[derive(Debug, Clone)]
pub struct TestResult {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason for the verdict. `None` if the checker decided.
    pub reason: Option<Reason>,
    /// The checker's comment, made printable, cut at
    /// [`COMMENT_LIMIT`](crate::verdict::COMMENT_LIMIT).
    pub comment: String,
    /// Points from the checker. Sim and testlib give a fraction from 0 to 1, ICPC the number in
    /// `score.txt`.
    pub score: Option<Points>,
    /// The submission's run. `None` if the submission did not run. With several passes, this is the
    /// last run, with the maximum of each figure over all passes.
    pub run: Option<RunResult>,
    /// The figures of the checker or interactor. `None` for a built-in checker.
    pub checker: Option<Figures>,
    /// Number of passes that began, for a multi-pass problem.
    pub passes: Option<u32>,
}

impl TestResult {
    /// Creates a result with a verdict and nothing more.
    pub fn new(verdict: Verdict) -> TestResult {
        TestResult {
            verdict,
            reason: None,
            comment: String::new(),
            score: None,
            run: None,
            checker: None,
            passes: None,
        }
    }
}

/// Why a test has its verdict, if the checker did not decide. The message is for the submission's
/// author; for a judge error it names the failure and the remedy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The submission's run decides the verdict.
    #[error("{0}")]
    Run(RunFault),
    /// The sandbox did not start or finish the submission's run.
    #[error("the submission's run of {program:?}: {fault}")]
    RunUnfinished {
        /// The program.
        program: OsString,
        /// How the run ended.
        fault: RunFault,
    },
    /// The checker gave no usable answer.
    #[error("checker: {0}")]
    Checker(Box<ValidatorFailure>),
    /// The judge could not check the output.
    #[error("checker: {0}")]
    NotChecked(Cause<JudgeFailure>),
    /// The interactor gave no usable answer.
    #[error("interactor: {0}")]
    Interactor(Box<ValidatorFailure>),
    /// The judge failed before or after the check.
    #[error("{0}")]
    Judge(Cause<JudgeFailure>),
    /// A pass of a multi-pass problem decides the verdict.
    #[error("pass {number}{}", AfterColon(.reason.as_deref()))]
    Pass {
        /// The pass, counted from 1.
        number: u32,
        /// The reason for the verdict on the pass. `None` if the validator decided.
        reason: Option<Box<Reason>>,
    },
    /// The points from the checker are invalid.
    #[error("{}{error}", BeforeSemicolon(.reason.as_deref()))]
    Points {
        /// The reason for the verdict without the points.
        reason: Option<Box<Reason>>,
        /// The error in the points.
        error: PointsError,
    },
}

impl Reason {
    /// Whether the machine is at fault, so that a later attempt or another machine may succeed.
    pub fn is_of_machine(&self) -> bool {
        match self {
            Reason::RunUnfinished { .. } => true,
            Reason::NotChecked(failure) | Reason::Judge(failure) => failure.is_of_machine(),
            Reason::Pass { reason, .. } | Reason::Points { reason, .. } => {
                reason.as_deref().is_some_and(Reason::is_of_machine)
            }
            Reason::Run(_) | Reason::Checker(_) | Reason::Interactor(_) => false,
        }
    }
}

/// The end of a message: a colon and the reason, if there is one.
pub(crate) struct AfterColon<'a>(pub Option<&'a Reason>);

impl fmt::Display for AfterColon<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}

struct BeforeSemicolon<'a>(Option<&'a Reason>);

impl fmt::Display for BeforeSemicolon<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |reason| write!(f, "{reason}; "))
    }
}
