//! The verdict of an interactive test.

use super::mode::Mode;
use crate::batch::judge_run;
use crate::convention::Answer;
use crate::result::{Reason, TestResult};
use crate::verdict::Verdict;
use millibox::{Outcome, RunResult};
use millibox_languages::program::Limits;
use std::time::Duration;

/// The interactor learns of a failed solution's end only after this time.
///
/// An interactor that rejects within this time has rejected what the solution wrote. Consider a
/// solution that receives "wrong, goodbye" and crashes because of it. Both programs then end within
/// microseconds, in a random order. This time is long enough for an interactor to exit on a busy
/// machine.
pub const END_GRACE: Duration = Duration::from_millis(100);

/// After the interactor has learned of a failed solution's end, it can read the solution's output
/// for this time. Then the judge discards the rest.
///
/// The solution's failure is the verdict, regardless of the interactor's answer. Reading a
/// pipe full of queries could take the interactor longer than its limits allow. If the judge
/// discarded the rest at once, an interactor that had no time to read a line would miss it, and one
/// that needs the line would fail.
pub(super) const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The results of two programs that have both ended.
pub(super) struct Conversation {
    pub solution: RunResult,
    pub interactor: RunResult,
    pub answer: Answer,
    /// Whether the interactor's result arrived after the judge had let it see the solution's end.
    pub interactor_saw_end: bool,
}

/// Decides the verdict of a test.
pub(super) fn decide(conversation: Conversation, limits: &Limits, mode: Mode) -> TestResult {
    let Conversation {
        solution,
        interactor,
        answer,
        interactor_saw_end,
    } = conversation;
    let failure = judge_run(&solution, limits);
    let never_ran = matches!(
        solution.outcome,
        Outcome::NotStarted(_) | Outcome::SandboxError(_)
    );
    // A relay may deliver the solution's output long after the solution's end. In relay mode, the
    // interactor's grace period therefore begins when the judge, which moves the output, sees that
    // end.
    let unaware = mode == Mode::Relay && !interactor_saw_end && solution.outcome != Outcome::Killed;
    let unaware = unaware || ended_unaware(&interactor, &solution);
    let overruled = answer.verdict != Verdict::Accepted && !never_ran && unaware;
    let result = TestResult {
        run: Some(solution),
        checker: Some(interactor.figures),
        ..TestResult::new(Verdict::JudgeError)
    };
    match failure {
        _ if answer.verdict == Verdict::JudgeError => TestResult {
            reason: answer.failure.map(Box::new).map(Reason::Interactor),
            comment: answer.comment,
            ..result
        },
        Some((verdict, fault)) if !overruled => TestResult {
            verdict,
            reason: Some(Reason::Run(fault)),
            ..result
        },
        _ => TestResult {
            verdict: answer.verdict,
            comment: answer.comment,
            score: answer.points,
            ..result
        },
    }
}

/// Returns whether the two end times prove that the interactor did not know of the solution's end.
fn ended_unaware(interactor: &RunResult, solution: &RunResult) -> bool {
    match (interactor.ended_ns, solution.ended_ns) {
        // The judge shows the solution's end after this time at the earliest.
        (Some(interactor), Some(solution)) => {
            interactor <= solution.saturating_add(END_GRACE.as_nanos() as u64)
        }
        // A solution without an end time never started: its memory limit left no room for it, or
        // the judge killed it before it started.
        (Some(_), None) => solution.outcome == Outcome::Killed,
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millibox::{Backend, RunError};

    const FIRST: u64 = 1_000_000_000;
    const MUCH_LATER: u64 = FIRST + 10 * END_GRACE.as_nanos() as u64;

    fn run(outcome: Outcome, ended_ns: Option<u64>) -> RunResult {
        let mut result = RunResult::new(outcome, Backend::Rlimit);
        result.ended_ns = ended_ns;
        result
    }

    fn verdict(solution: (Outcome, u64), answer: (Verdict, u64)) -> Verdict {
        decided(solution, answer, Mode::Direct, answer.1 >= MUCH_LATER)
    }

    fn decided(
        solution: (Outcome, u64),
        answer: (Verdict, u64),
        mode: Mode,
        interactor_saw_end: bool,
    ) -> Verdict {
        let parsed = Answer {
            verdict: answer.0,
            failure: None,
            comment: String::new(),
            points: None,
        };
        let conversation = Conversation {
            solution: run(solution.0, Some(solution.1)),
            interactor: run(Outcome::Exited(0), Some(answer.1)),
            answer: parsed,
            interactor_saw_end,
        };
        let hour = Duration::from_secs(3600);
        let limits = Limits {
            cpu_time: hour,
            real_time: hour,
            memory: 0,
            output: 0,
            processes: 0,
        };
        decide(conversation, &limits, mode).verdict
    }

    fn failures() -> Vec<(Outcome, Verdict)> {
        vec![
            (Outcome::Exited(1), Verdict::RunTimeError),
            (Outcome::Signaled(11), Verdict::RunTimeError),
            (Outcome::RealTimeLimit, Verdict::TimeLimit),
            (Outcome::CpuTimeLimit, Verdict::TimeLimit),
            (Outcome::MemoryLimit, Verdict::MemoryLimit),
            (Outcome::OutputLimit, Verdict::OutputLimit),
        ]
    }

    #[test]
    fn decide_rejection_and_failure_follows_first_end() {
        use Verdict::{Accepted, WrongAnswer};
        for (outcome, failed) in failures() {
            assert_eq!(
                verdict((outcome.clone(), FIRST), (WrongAnswer, MUCH_LATER)),
                failed
            );
            assert_eq!(
                verdict((outcome.clone(), MUCH_LATER), (WrongAnswer, FIRST)),
                WrongAnswer
            );
            // Within the grace period, the interactor judged what the solution wrote.
            assert_eq!(
                verdict((outcome.clone(), FIRST), (WrongAnswer, FIRST + 1)),
                WrongAnswer
            );
            // A failed solution never passes.
            for ends in [(FIRST, MUCH_LATER), (MUCH_LATER, FIRST), (FIRST, FIRST)] {
                assert_eq!(
                    verdict((outcome.clone(), ends.0), (Accepted, ends.1)),
                    failed
                );
            }
        }
        for ends in [(FIRST, MUCH_LATER), (MUCH_LATER, FIRST)] {
            for answer in [Accepted, WrongAnswer] {
                assert_eq!(
                    verdict((Outcome::Exited(0), ends.0), (answer, ends.1)),
                    answer
                );
            }
        }
    }

    #[test]
    fn decide_in_relay_counts_from_end_seen_by_judge() {
        let late = |mode, saw_end| {
            decided(
                (Outcome::Exited(1), FIRST),
                (Verdict::WrongAnswer, MUCH_LATER),
                mode,
                saw_end,
            )
        };
        assert_eq!(late(Mode::Relay, false), Verdict::WrongAnswer);
        for (mode, saw_end) in [
            (Mode::Relay, true),
            (Mode::Direct, true),
            (Mode::Direct, false),
        ] {
            assert_eq!(late(mode, saw_end), Verdict::RunTimeError);
        }
    }

    #[test]
    fn decide_sandbox_or_interactor_failure_is_judge_error() {
        let error = || RunError::new(millibox::Step::Runner);
        let mut all: Vec<Outcome> = failures().into_iter().map(|(outcome, _)| outcome).collect();
        all.extend([Outcome::Exited(0), Outcome::Killed]);
        for outcome in all {
            for ends in [(FIRST, MUCH_LATER), (MUCH_LATER, FIRST)] {
                assert_eq!(
                    verdict((outcome.clone(), ends.0), (Verdict::JudgeError, ends.1)),
                    Verdict::JudgeError
                );
            }
        }
        for outcome in [Outcome::NotStarted(error()), Outcome::SandboxError(error())] {
            assert_eq!(
                verdict((outcome, MUCH_LATER), (Verdict::WrongAnswer, FIRST)),
                Verdict::JudgeError
            );
        }
        // The judge kills a solution only after the interactor's verdict.
        assert_eq!(
            verdict((Outcome::Killed, MUCH_LATER), (Verdict::WrongAnswer, FIRST)),
            Verdict::WrongAnswer
        );
        assert_eq!(
            verdict((Outcome::Killed, MUCH_LATER), (Verdict::Accepted, FIRST)),
            Verdict::JudgeError
        );
        assert_eq!(
            verdict((Outcome::Killed, FIRST), (Verdict::WrongAnswer, MUCH_LATER)),
            Verdict::JudgeError
        );
    }
}
