//! Multi-pass problems: a submission is run again and again on a test, each time on what the validator
//! made of the pass before.
//!
//! A validator (or interactor) that accepts and leaves `nextpass.in` in its feedback directory asks for another
//! pass. That file is the next pass's input, of the submission and as INPUT of the validator; it is taken away
//! before the pass begins. All else in the feedback directory stays, so it is where a validator keeps what it
//! knows. Limits hold for each pass.

use crate::batch::{JudgeFailure, Trial, Worker};
use crate::feedback::Feedback;
use crate::verdict::{TestResult, Verdict};
use millibox::Figures;
use std::path::PathBuf;

/// What a validator writes to have another pass.
const NEXT_INPUT_FILE: &str = "nextpass.in";

/// Judges a test in at most `most` passes, each by `pass`, with one feedback directory for all of them.
///
/// The first pass that is not accepted decides, or else the last. Figures are the most that any pass used:
/// these are what limits are about.
///
/// A validator that wants more passes, or another one without having accepted this one, has failed: a judge
/// error.
pub fn judge(
    worker: &mut Worker<'_>,
    trial: &Trial<'_>,
    most: u32,
    mut pass: impl FnMut(&mut Worker<'_>, &Trial<'_>, &Feedback) -> TestResult,
) -> TestResult {
    let feedback = match worker.feedback() {
        Ok(feedback) => feedback,
        Err(failure) => return TestResult::judge_error(failure.to_string()),
    };
    let mut input: Option<PathBuf> = None;
    let mut used = PeakUsage::default();
    let mut number = 1;
    loop {
        let mut trial = *trial;
        if let Some(input) = &input {
            trial.case.input = input;
        }
        let mut result = pass(worker, &trial, &feedback);
        used.add(&result);
        match next(worker, &feedback, &result, number, most) {
            Ok(None) => {}
            Ok(Some(next)) => {
                input = Some(next);
                number += 1;
                continue;
            }
            Err(JudgeFailure(why)) => {
                (result.verdict, result.reason, result.score) = (Verdict::JudgeError, why, None);
            }
        }
        if result.verdict != Verdict::Accepted {
            let reason = if result.reason.is_empty() { String::new() } else { format!(": {}", result.reason) };
            result.reason = format!("pass {number}{reason}");
        }
        result.passes = Some(number);
        used.write_to(&mut result);
        return result;
    }
}

/// The input of the pass after this one; `None`: this was the last.
fn next(
    worker: &mut Worker<'_>,
    feedback: &Feedback,
    result: &TestResult,
    number: u32,
    most: u32,
) -> Result<Option<PathBuf>, JudgeFailure> {
    // Otherwise it was not the validator that decided.
    if !matches!(result.verdict, Verdict::Accepted | Verdict::WrongAnswer) {
        return Ok(None);
    }
    let failed = |error: std::io::Error| JudgeFailure(format!("validator: {error}"));
    let Some(file) = feedback.open(NEXT_INPUT_FILE).map_err(failed)? else { return Ok(None) };
    if result.verdict == Verdict::WrongAnswer {
        return Err(JudgeFailure(format!(
            "validator: rejects the output, and wants another pass ({NEXT_INPUT_FILE}) all the same"
        )));
    }
    if number >= most {
        return Err(JudgeFailure(format!(
            "validator: wants another pass ({NEXT_INPUT_FILE}), but the problem has at most {most}; see `validation_passes` in \
             problem.yaml"
        )));
    }
    let input = worker.place()?.keep_next_input(file)?;
    feedback.remove(NEXT_INPUT_FILE).map_err(failed)?;
    Ok(Some(input))
}

/// What passes used, at most.
#[derive(Default)]
struct PeakUsage {
    submission: Option<Figures>,
    checker: Option<Figures>,
}

impl PeakUsage {
    fn add(&mut self, result: &TestResult) {
        let greater = |so_far: Option<Figures>, now: Option<Figures>| match (so_far, now) {
            (Some(so_far), Some(now)) => Some(max_figures(so_far, now)),
            (so_far, now) => so_far.or(now),
        };
        self.submission = greater(self.submission, result.run.as_ref().map(|run| run.figures));
        self.checker = greater(self.checker, result.checker);
    }

    fn write_to(self, result: &mut TestResult) {
        if let (Some(run), Some(figures)) = (&mut result.run, self.submission) {
            run.figures = figures;
        }
        result.checker = self.checker;
    }
}

/// Of two runs the most of each figure. CPU time is one figure, of which the parts stay together.
fn max_figures(one: Figures, other: Figures) -> Figures {
    let cpu_time = |figures: &Figures| figures.cpu_user_ns.saturating_add(figures.cpu_system_ns);
    let longer = if cpu_time(&other) > cpu_time(&one) { other } else { one };
    Figures {
        real_time_ns: one.real_time_ns.max(other.real_time_ns),
        peak_memory_bytes: one.peak_memory_bytes.max(other.peak_memory_bytes),
        peak_processes: one.peak_processes.max(other.peak_processes),
        ..longer
    }
}
