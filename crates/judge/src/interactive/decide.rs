//! The verdict of an interactive test.

use super::{Ended, Mode};
use crate::batch::judge_run;
use crate::program::Limits;
use crate::verdict::{TestResult, Verdict};
use millibox::{Outcome, RunResult};
use std::time::Duration;

/// An interactor that says "wrong answer" so soon after the end of a solution that failed has said
/// so of what the solution wrote: that long it is not told of the end.
///
/// It is there for the solution that is told "wrong, goodbye" and falls over it. Both then end
/// within microseconds, in an order that is nobody's doing. Long enough for an interactor to come
/// to its exit on a machine with much else to do.
pub const AT_ONCE: Duration = Duration::from_millis(100);

/// What a solution that failed has left in the pipe may be read so long once the interactor has been told of its end.
///
/// Its failure is the verdict then, whatever the interactor says, and a pipe full of questions could take that longer
/// than its limits allow. Thrown away at once, a line might be missed that an interactor had no time to come to, and
/// one that cannot do without has failed.
pub(super) const REST: Duration = Duration::from_secs(1);

/// Says what came of a test.
pub(super) fn decide(ended: Ended, limits: &Limits, mode: Mode) -> TestResult {
    let Ended { solution, interactor, answer, told } = ended;
    let failure = judge_run(&solution, limits);
    let never_ran = matches!(solution.outcome, Outcome::NotStarted(_) | Outcome::SandboxError(_));
    // A relay brings what the solution wrote when the machine lets it, perhaps long after the
    // solution's end: there the interactor's time begins when we, who move it, see that end.
    let unaware = mode == Mode::Relay && !told && solution.outcome != Outcome::Killed;
    let unaware = unaware || ended_unaware(&interactor, &solution);
    let overruled = answer.verdict != Verdict::Accepted && !never_ran && unaware;
    let result = TestResult { run: Some(solution), checker: Some(interactor.figures), ..TestResult::judge_error("") };
    match failure {
        _ if answer.verdict == Verdict::JudgeError => {
            TestResult { reason: format!("interactor: {}", answer.reason), comment: answer.comment, ..result }
        }
        Some((verdict, reason)) if !overruled => TestResult { verdict, reason, ..result },
        _ => TestResult { verdict: answer.verdict, comment: answer.comment, score: answer.points, ..result },
    }
}

/// Whether the interactor cannot have known of the solution's end, by the moments of the two.
fn ended_unaware(interactor: &RunResult, solution: &RunResult) -> bool {
    match (interactor.ended_ns, solution.ended_ns) {
        // No earlier than this was it told.
        (Some(interactor), Some(solution)) => interactor <= solution.saturating_add(AT_ONCE.as_nanos() as u64),
        // A solution without an end had no beginning: its memory limit left no room for it, or it
        // was ended before it had begun.
        (Some(_), None) => solution.outcome == Outcome::Killed,
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convention::Answer;
    use millibox::{Backend, Figures, RunError};

    const FIRST: u64 = 1_000_000_000;
    const MUCH_LATER: u64 = FIRST + 10 * AT_ONCE.as_nanos() as u64;

    fn run(outcome: Outcome, ended_ns: Option<u64>) -> RunResult {
        RunResult {
            outcome,
            exit_code: None,
            signal: None,
            figures: Figures::default(),
            ended_ns,
            backend: Backend::Rlimit,
        }
    }

    fn verdict(solution: (Outcome, u64), said: (Verdict, u64)) -> Verdict {
        decided(solution, said, Mode::Direct, said.1 >= MUCH_LATER)
    }

    fn decided(solution: (Outcome, u64), said: (Verdict, u64), mode: Mode, told: bool) -> Verdict {
        let answer = Answer { verdict: said.0, reason: String::new(), comment: String::new(), points: None };
        let ended = Ended {
            solution: run(solution.0, Some(solution.1)),
            interactor: run(Outcome::Exited(0), Some(said.1)),
            answer,
            told,
        };
        let hour = Duration::from_secs(3600);
        let limits = Limits { cpu_time: hour, real_time: hour, memory: 0, output: 0, processes: 0 };
        decide(ended, &limits, mode).verdict
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
    fn the_first_to_end_decides_between_wrong_answer_and_failure() {
        use Verdict::{Accepted, WrongAnswer};
        for (outcome, failed) in failures() {
            assert_eq!(verdict((outcome.clone(), FIRST), (WrongAnswer, MUCH_LATER)), failed);
            assert_eq!(verdict((outcome.clone(), MUCH_LATER), (WrongAnswer, FIRST)), WrongAnswer);
            // At once: what was said is of what was written.
            assert_eq!(verdict((outcome.clone(), FIRST), (WrongAnswer, FIRST + 1)), WrongAnswer);
            // Nobody passes who fails.
            for ends in [(FIRST, MUCH_LATER), (MUCH_LATER, FIRST), (FIRST, FIRST)] {
                assert_eq!(verdict((outcome.clone(), ends.0), (Accepted, ends.1)), failed);
            }
        }
        for ends in [(FIRST, MUCH_LATER), (MUCH_LATER, FIRST)] {
            for said in [Accepted, WrongAnswer] {
                assert_eq!(verdict((Outcome::Exited(0), ends.0), (said, ends.1)), said);
            }
        }
    }

    #[test]
    fn in_a_relay_the_interactor_has_its_time_from_when_the_judge_sees_the_end() {
        let late = |mode, told| decided((Outcome::Exited(1), FIRST), (Verdict::WrongAnswer, MUCH_LATER), mode, told);
        assert_eq!(late(Mode::Relay, false), Verdict::WrongAnswer);
        for (mode, told) in [(Mode::Relay, true), (Mode::Direct, true), (Mode::Direct, false)] {
            assert_eq!(late(mode, told), Verdict::RunTimeError);
        }
    }

    #[test]
    fn what_is_no_doing_of_the_solution_is_no_verdict_on_it() {
        let error = || RunError::new(millibox::Step::Runner);
        let mut all: Vec<Outcome> = failures().into_iter().map(|(outcome, _)| outcome).collect();
        all.extend([Outcome::Exited(0), Outcome::Killed]);
        for outcome in all {
            for ends in [(FIRST, MUCH_LATER), (MUCH_LATER, FIRST)] {
                assert_eq!(verdict((outcome.clone(), ends.0), (Verdict::JudgeError, ends.1)), Verdict::JudgeError);
            }
        }
        for outcome in [Outcome::NotStarted(error()), Outcome::SandboxError(error())] {
            assert_eq!(verdict((outcome, MUCH_LATER), (Verdict::WrongAnswer, FIRST)), Verdict::JudgeError);
        }
        // The judge ends a solution only after a verdict.
        assert_eq!(verdict((Outcome::Killed, MUCH_LATER), (Verdict::WrongAnswer, FIRST)), Verdict::WrongAnswer);
        assert_eq!(verdict((Outcome::Killed, MUCH_LATER), (Verdict::Accepted, FIRST)), Verdict::JudgeError);
        assert_eq!(verdict((Outcome::Killed, FIRST), (Verdict::WrongAnswer, MUCH_LATER)), Verdict::JudgeError);
    }
}
