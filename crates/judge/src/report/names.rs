//! The names of verdicts and reasons.

use crate::scoring::SkipCause;
use crate::verdict::Verdict;
use millibox_package::model::Expected;

/// Returns a verdict's display name.
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

/// Returns the name of an expected result, as it appears in reports.
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

pub(super) fn expected_words(expected: Expected) -> &'static str {
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

/// Describes why something was not judged, if no more exact reason is known.
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
