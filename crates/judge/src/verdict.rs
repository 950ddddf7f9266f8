//! Verdicts and the result of one test.

use millibox::{Figures, RunResult};
use serde::Serialize;

/// The verdict on a test, a group or a submission. The order, from best to worst, is the same as in
/// the ICPC format's default grader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// The output is right.
    Accepted,
    /// The checker rejects the output.
    WrongAnswer,
    /// The run exceeded its output limit.
    OutputLimit,
    /// The run exceeded its CPU time or real time limit.
    TimeLimit,
    /// The run exceeded its memory limit.
    MemoryLimit,
    /// A signal ended the run, or its exit status was not 0.
    RunTimeError,
    /// The compiler rejects the submission.
    CompileError,
    /// The judge, its machine or a program of the package failed. The submission is not to blame.
    JudgeError,
}

impl Verdict {
    /// The name in reports, such as `wrong_answer`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Accepted => "accepted",
            Verdict::WrongAnswer => "wrong_answer",
            Verdict::OutputLimit => "output_limit",
            Verdict::TimeLimit => "time_limit",
            Verdict::MemoryLimit => "memory_limit",
            Verdict::RunTimeError => "run_time_error",
            Verdict::CompileError => "compile_error",
            Verdict::JudgeError => "judge_error",
        }
    }
}

/// The result of one test.
#[derive(Debug, Clone)]
pub struct TestResult {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason in a few words for the submission's author: `exited with 3`, `killed by signal
    /// SEGV`, `CPU time limit`. For a judge error it names the failure and the remedy. It is empty
    /// if the checker decided. For a multi-pass problem it begins with the pass.
    pub reason: String,
    /// The checker's comment, made printable, cut at [`COMMENT_LIMIT`].
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

/// Points of one test from a checker.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Points {
    /// A fraction of the test's worth, from 0 to 1.
    Part(f64),
    /// A number of points.
    Absolute(f64),
}

/// Maximum length of a comment in bytes.
pub const COMMENT_LIMIT: usize = 2048;

impl TestResult {
    /// Creates a judge error. `reason` names the failure and the remedy.
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
