//! Multi-pass problems: a submission runs several times on a test, each time on the input that the
//! validator made in the previous pass.
//!
//! A validator (or interactor) that accepts and writes `nextpass.in` to its feedback directory
//! requests another pass. That file is the input of the next pass, for both the submission and the
//! validator. The judge removes it before the pass begins. The other files in the feedback
//! directory stay, so a validator can keep its state there. Limits apply to each pass separately.

use crate::failure::JudgeFailure;
use crate::feedback::Feedback;
use crate::result::{Reason, TestResult};
use crate::trial::Trial;
use crate::verdict::Verdict;
use crate::worker::Worker;
use millibox::Figures;
use std::path::PathBuf;

/// The file that requests another pass.
const NEXT_INPUT_FILE: &str = "nextpass.in";

/// Judges a test in at most `limit` passes with one feedback directory. `pass` judges one pass.
///
/// If a pass is not accepted, the first such pass decides the verdict; otherwise the last pass
/// does. The figures are the maximum over all passes, because limits apply to each pass separately.
///
/// A validator that requests too many passes, or that requests a pass after rejecting the output,
/// has failed. The result is a judge error.
pub fn judge(
    worker: &mut Worker<'_>,
    trial: &Trial<'_>,
    limit: u32,
    mut pass: impl FnMut(&mut Worker<'_>, &Trial<'_>, &Feedback) -> TestResult,
) -> TestResult {
    let feedback = match worker.feedback() {
        Ok(feedback) => feedback,
        Err(failure) => return worker.judge_error(failure),
    };
    let mut input: Option<PathBuf> = None;
    let mut peak = PeakUsage::default();
    let mut number = 1;
    loop {
        let mut trial = *trial;
        if let Some(input) = &input {
            trial.case.input = input;
        }
        let mut result = pass(worker, &trial, &feedback);
        peak.add(&result);
        match next_input(worker, &feedback, &result, number, limit) {
            Ok(None) => {}
            Ok(Some(next)) => {
                input = Some(next);
                number += 1;
                continue;
            }
            Err(failure) => {
                result.verdict = Verdict::JudgeError;
                result.reason = Some(Reason::Judge(worker.shown(failure).into()));
                result.score = None;
            }
        }
        if result.verdict != Verdict::Accepted {
            let reason = result.reason.map(Box::new);
            result.reason = Some(Reason::Pass { number, reason });
        }
        result.passes = Some(number);
        peak.write_to(&mut result);
        return result;
    }
}

/// Returns the input of the next pass, or `None` after the last pass.
fn next_input(
    worker: &mut Worker<'_>,
    feedback: &Feedback,
    result: &TestResult,
    number: u32,
    limit: u32,
) -> Result<Option<PathBuf>, JudgeFailure> {
    // Any other verdict does not come from the validator.
    if !matches!(result.verdict, Verdict::Accepted | Verdict::WrongAnswer) {
        return Ok(None);
    }
    let Some(file) = feedback
        .open(NEXT_INPUT_FILE)
        .map_err(JudgeFailure::PassFeedback)?
    else {
        return Ok(None);
    };
    if result.verdict == Verdict::WrongAnswer {
        return Err(JudgeFailure::RejectedPassContinues {
            file: NEXT_INPUT_FILE,
        });
    }
    if number >= limit {
        return Err(JudgeFailure::TooManyPasses {
            file: NEXT_INPUT_FILE,
            limit,
        });
    }
    let input = worker.files()?.store_next_input(file)?;
    feedback
        .remove(NEXT_INPUT_FILE)
        .map_err(JudgeFailure::PassFeedback)?;
    Ok(Some(input))
}

/// The peak usage over all passes.
#[derive(Default)]
struct PeakUsage {
    submission: Option<Figures>,
    checker: Option<Figures>,
}

impl PeakUsage {
    fn add(&mut self, result: &TestResult) {
        let maximum = |so_far: Option<Figures>, now: Option<Figures>| match (so_far, now) {
            (Some(so_far), Some(now)) => Some(max_figures(so_far, now)),
            (so_far, now) => so_far.or(now),
        };
        self.submission = maximum(self.submission, result.run.as_ref().map(|run| run.figures));
        self.checker = maximum(self.checker, result.checker);
    }

    fn write_to(self, result: &mut TestResult) {
        if let (Some(run), Some(figures)) = (&mut result.run, self.submission) {
            run.figures = figures;
        }
        result.checker = self.checker;
    }
}

/// Returns the maximum of each figure of two runs. User and system time come from the run with more
/// CPU time, because together they are one figure.
fn max_figures(one: Figures, other: Figures) -> Figures {
    let cpu_time = |figures: &Figures| figures.cpu_user_ns.saturating_add(figures.cpu_system_ns);
    let longer = if cpu_time(&other) > cpu_time(&one) {
        other
    } else {
        one
    };
    longer
        .with_real_time_ns(one.real_time_ns.max(other.real_time_ns))
        .with_peak_memory_bytes(one.peak_memory_bytes.max(other.peak_memory_bytes))
        .with_peak_processes(one.peak_processes.max(other.peak_processes))
}
