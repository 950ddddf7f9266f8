//! What came of one submission, as far as a setter's tools look at it.

use crate::compile::CompileError;
use crate::judge::Submitted;
use crate::scoring::TestState;
use crate::verdict::{TestResult, Verdict};

/// See the module.
pub(super) struct Outcome<'a> {
    pub verdict: Verdict,
    pub reason: String,
    pub points: Option<f64>,
    /// Of each test, in the problem's order; none: it was not judged, or did not have to be.
    pub tests: Vec<Option<&'a TestResult>>,
}

impl<'a> Outcome<'a> {
    pub fn of(submitted: &'a Submitted<'_>) -> Outcome<'a> {
        let failed = |verdict, reason| Outcome { verdict, reason, points: None, tests: Vec::new() };
        match &submitted.compilation.result {
            Err(CompileError::Judge(why)) => failed(Verdict::JudgeError, why.clone()),
            Err(error) => failed(Verdict::CompileError, error.to_string()),
            Ok(_) => {
                let progress = &submitted.progress;
                let result = progress.submission();
                let judged = |test| {
                    let counts = matches!(progress.state(test), TestState::Judged);
                    progress.judged(test).filter(|_| counts).map(|judged| &judged.result)
                };
                Outcome {
                    // Without a verdict something was not judged that had to be.
                    verdict: result.verdict.unwrap_or(Verdict::JudgeError),
                    reason: result.reason.clone(),
                    points: result.points,
                    tests: (0..progress.plan().len()).map(judged).collect(),
                }
            }
        }
    }
}

/// Why the test has its verdict: in the judge's words, else in the checker's.
pub(super) fn why(result: &TestResult) -> &str {
    if result.reason.is_empty() { &result.comment } else { &result.reason }
}
