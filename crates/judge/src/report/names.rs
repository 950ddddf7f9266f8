//! The names of verdicts and reasons.

use super::{SubmissionReport, TestReport};
use crate::scoring::SkipCause;
use crate::verdict::Verdict;
use millibox_package::model::Expected;

/// A verdict's name for people.
pub fn verdict_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted => "accepted",
        Verdict::WrongAnswer => "wrong answer",
        Verdict::OutputLimit => "output limit",
        Verdict::TimeLimit => "time limit",
        Verdict::MemoryLimit => "memory limit",
        Verdict::RunTimeError => "run-time error",
        Verdict::CompileError => "compile error",
        Verdict::JudgeError => "judge error",
    }
}

/// Name of an expected result, as in reports.
pub fn expected_name(expected: Expected) -> &'static str {
    match expected {
        Expected::Accepted => "accepted",
        Expected::PartiallyAccepted => "partially_accepted",
        Expected::WrongAnswer => "wrong_answer",
        Expected::TimeLimit => "time_limit",
        Expected::RunTimeError => "run_time_error",
        Expected::MemoryLimit => "memory_limit",
        Expected::OutputLimit => "output_limit",
        Expected::CompileError => "compile_error",
        Expected::Rejected => "rejected",
    }
}

fn expected_words(expected: Expected) -> &'static str {
    match expected {
        Expected::Accepted => "accepted",
        Expected::PartiallyAccepted => "partially accepted",
        Expected::WrongAnswer => "wrong answer",
        Expected::TimeLimit => "time limit",
        Expected::RunTimeError => "run-time error",
        Expected::MemoryLimit => "memory limit",
        Expected::OutputLimit => "output limit",
        Expected::CompileError => "compile error",
        Expected::Rejected => "rejected",
    }
}

/// Why something was not judged, if there is no more exact reason.
pub fn not_judged_words(why: SkipCause) -> &'static str {
    match why {
        SkipCause::GroupEnded => "its group had ended",
        SkipCause::RequiredGroup => "a required group was not accepted",
        SkipCause::FailFast => "an earlier test was not accepted",
        SkipCause::NoProgram => "there is no program to run",
        SkipCause::NoLanguage => "its language cannot be used here",
        SkipCause::Unfinished => "judging was interrupted",
    }
}

impl TestReport {
    /// The verdict's name for people, or `not judged`.
    pub fn words(&self) -> &'static str {
        self.verdict.map_or("not judged", verdict_words)
    }
}

impl SubmissionReport {
    /// The verdict's name for people, or `skipped` or `interrupted`.
    pub fn words(&self) -> &'static str {
        let none = if self.is_skipped() { "skipped" } else { "interrupted" };
        self.verdict.map_or(none, verdict_words)
    }

    /// The expected result for people. `None` if nothing is expected.
    pub fn expected_words(&self) -> Option<String> {
        let words = |expected: &[Expected]| -> Vec<&str> { expected.iter().map(|one| expected_words(*one)).collect() };
        let verdicts = words(&self.expected);
        let required = self.required.iter().map(|required| format!("{} in some test", words(required).join(" or ")));
        let range = self.expected_score.map(|(least, most)| match least == most {
            true => super::shown::points_in_words(least),
            false => format!("{} to {} points", super::shown::points(least), super::shown::points(most)),
        });
        let verdicts = (!verdicts.is_empty()).then(|| verdicts.join(" or "));
        let parts: Vec<String> = verdicts.into_iter().chain(required).chain(range).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}
