//! What the judge says of one test.

use millibox::{Figures, RunResult};
use serde::Serialize;

/// What the judge says of one test, a group, a submission. From good to grave, in the order of the
/// ICPC format's default grader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Right.
    Accepted,
    /// The checker says that the output is wrong.
    WrongAnswer,
    /// More output than is allowed.
    OutputLimit,
    /// Longer than is allowed, in CPU time or in real time.
    TimeLimit,
    /// Out of the memory that is allowed.
    MemoryLimit,
    /// It ended by a signal, or with an exit status that is not 0.
    RunTimeError,
    /// Its compiler refuses it.
    CompileError,
    /// The judge, its machine, or a program of the package failed: nothing is said of the submission.
    JudgeError,
}

/// What came of one test.
#[derive(Debug, Clone)]
pub struct TestResult {
    /// What the judge says.
    pub verdict: Verdict,
    /// Why, in a few words for the submission's author: `exited with 3`, `killed by signal SEGV`,
    /// `CPU time limit`; for a judge error what failed and what mends it. Empty if the checker decided. Of a
    /// multi-pass problem it begins with the pass.
    pub reason: String,
    /// The checker's comment, made printable, cut at [`COMMENT_LIMIT`].
    pub comment: String,
    /// Points that the checker gave: Sim and testlib as a part of 1, ICPC as they are in `score.txt`.
    pub score: Option<Points>,
    /// The submission's run; none if it was not run. Of several passes the last, with the most that any of
    /// them used.
    pub run: Option<RunResult>,
    /// What the checker (or interactor) used; none for the built-in ones.
    pub checker: Option<Figures>,
    /// Passes that were begun, of a multi-pass problem.
    pub passes: Option<u32>,
}

/// Points of one test, as a checker gives them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Points {
    /// A part of what the test is worth, from 0 to 1.
    Part(f64),
    /// So many.
    Absolute(f64),
}

/// Bytes of a comment that are kept.
pub const COMMENT_LIMIT: usize = 2048;

impl TestResult {
    /// The judge failed; `reason` says in what, and what mends it.
    pub fn judge_error(reason: impl Into<String>) -> TestResult {
        TestResult {
            verdict: Verdict::JudgeError,
            reason: reason.into(),
            comment: String::new(),
            score: None,
            run: None,
            checker: None,
            passes: None,
        }
    }
}
