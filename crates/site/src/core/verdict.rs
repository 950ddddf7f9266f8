//! Verdicts as they are stored and ordered.

use crate::db::text_enum;
use millibox_judge::verdict::Verdict as JudgeVerdict;

text_enum! {
    /// The verdict on a submission. The order, from best to worst, is that of finals.
    #[derive(PartialOrd, Ord)]
    Verdict {
        /// All tests passed.
        Accepted = "accepted",
        /// Wrong output.
        WrongAnswer = "wrong_answer",
        /// Too much time.
        TimeLimit = "time_limit",
        /// Too much memory.
        MemoryLimit = "memory_limit",
        /// Too much output.
        OutputLimit = "output_limit",
        /// The program failed.
        RunTimeError = "run_time_error",
        /// The compiler rejects the source.
        CompileError = "compile_error",
    }
}

impl Verdict {
    /// The verdict of the judge. A judge error is not a verdict.
    pub fn of_judge(verdict: JudgeVerdict) -> Option<Verdict> {
        Some(match verdict {
            JudgeVerdict::Accepted => Verdict::Accepted,
            JudgeVerdict::WrongAnswer => Verdict::WrongAnswer,
            JudgeVerdict::TimeLimit => Verdict::TimeLimit,
            JudgeVerdict::MemoryLimit => Verdict::MemoryLimit,
            JudgeVerdict::OutputLimit => Verdict::OutputLimit,
            JudgeVerdict::RunTimeError => Verdict::RunTimeError,
            JudgeVerdict::CompileError => Verdict::CompileError,
            // A verdict that this version does not know is also a failure of the site.
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_of_the_judge_but_its_own_error_has_a_stored_verdict() {
        let missing: Vec<_> = JudgeVerdict::ALL
            .iter()
            .filter(|verdict| Verdict::of_judge(**verdict).is_none())
            .collect();
        assert_eq!(missing, [&JudgeVerdict::JudgeError]);
    }
}
