//! A second chance for tests that an overloaded machine may have delayed.

use crate::result::TestResult;
use crate::verdict::Verdict;
use millibox::{Outcome, RunResult};
use millibox_languages::program::Limits;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

/// Lets any number of threads run programs at the same time, or one thread alone.
#[derive(Debug, Default)]
pub(super) struct RunLock(RwLock<()>);

impl RunLock {
    /// Permits runs at the same time as other threads. Waits while a thread runs alone.
    pub fn shared(&self) -> RwLockReadGuard<'_, ()> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Judges a test by calling `once`. If the real-time limit ended the run on an overloaded machine,
/// calls `once` again with no other runs, because the program may have waited for a CPU instead of
/// sleeping. The second result is final.
///
/// `once` returns the machine's overload as [`pressure::during`](super::pressure::during) does.
pub(super) fn judge_fairly(
    lock: &RunLock,
    limits: &Limits,
    is_stopped: impl Fn() -> bool,
    mut once: impl FnMut() -> (TestResult, Option<f64>),
) -> TestResult {
    let (first, overload) = {
        let _shared = lock.shared();
        once()
    };
    if !is_ended_by_real_time(&first, limits) || overload.is_none() || is_stopped() {
        return first;
    }
    let _alone = lock.0.write().unwrap_or_else(PoisonError::into_inner);
    let (mut again, overload) = once();
    if is_ended_by_real_time(&again, limits)
        && let Some(part) = overload
    {
        again.comment = format!(
            "twice, and the machine was overloaded: tasks waited for a CPU in {:.0} % of that time",
            part * 100.0
        );
    }
    again
}

/// Whether real time ended the run while the submission had CPU time left.
fn is_ended_by_real_time(result: &TestResult, limits: &Limits) -> bool {
    let has_time_left = |run: &RunResult| {
        let used = run
            .figures
            .cpu_user_ns
            .saturating_add(run.figures.cpu_system_ns);
        run.outcome != Outcome::CpuTimeLimit && Duration::from_nanos(used) <= limits.cpu_time
    };
    result.verdict == Verdict::TimeLimit && result.run.as_ref().is_some_and(has_time_left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use millibox::{Backend, Figures};
    use std::cell::Cell;

    const LIMITS: Limits = Limits {
        cpu_time: Duration::from_secs(1),
        real_time: Duration::from_secs(5),
        memory: 1 << 20,
        output: 1 << 20,
        processes: 1,
    };

    /// Returns the result of a test that used this CPU time.
    fn result(verdict: Verdict, outcome: Outcome, cpu_ms: u64) -> TestResult {
        let figures = Figures::default().with_cpu_ns(cpu_ms * 1_000_000, 0);
        let run = RunResult::new(outcome, Backend::Rlimit).with_figures(figures);
        TestResult {
            run: Some(run),
            ..TestResult::new(verdict)
        }
    }

    /// Returns the final result, and how often the test was judged. `all` holds the results of the
    /// first and the second attempt.
    fn judge_fairly(all: [(TestResult, Option<f64>); 2], is_stopped: bool) -> (TestResult, usize) {
        let (lock, times) = (RunLock::default(), Cell::new(0));
        let once = || {
            // Other threads can run programs during the first attempt, but not during the second.
            assert_eq!(lock.0.try_read().is_err(), times.get() == 1);
            times.set(times.get() + 1);
            all[times.get() - 1].clone()
        };
        (
            super::judge_fairly(&lock, &LIMITS, || is_stopped, once),
            times.get(),
        )
    }

    #[test]
    fn test_that_may_have_waited_is_judged_again() {
        let slept = || result(Verdict::TimeLimit, Outcome::RealTimeLimit, 10);
        let fine = || result(Verdict::Accepted, Outcome::Exited(0), 10);
        let (last, times) = judge_fairly([(slept(), Some(0.9)), (fine(), Some(0.9))], false);
        assert_eq!(
            (last.verdict, last.comment.as_str(), times),
            (Verdict::Accepted, "", 2)
        );
        let (last, times) = judge_fairly([(slept(), Some(0.9)), (slept(), Some(0.875))], false);
        assert_eq!((last.verdict, times), (Verdict::TimeLimit, 2));
        assert_eq!(
            last.comment,
            "twice, and the machine was overloaded: tasks waited for a CPU in 88 % of that time"
        );
        // The machine was not overloaded during the second attempt, so the program slept.
        let (last, times) = judge_fairly([(slept(), Some(0.9)), (slept(), None)], false);
        assert_eq!(
            (last.verdict, last.comment.as_str(), times),
            (Verdict::TimeLimit, "", 2)
        );
    }

    #[test]
    fn test_that_has_not_waited_is_judged_once() {
        let second = || (TestResult::new(Verdict::JudgeError), None);
        for (first, overload, is_stopped) in [
            // The program sleeps, and the machine is not overloaded.
            (
                result(Verdict::TimeLimit, Outcome::RealTimeLimit, 10),
                None,
                false,
            ),
            // Judging was stopped.
            (
                result(Verdict::TimeLimit, Outcome::RealTimeLimit, 10),
                Some(0.9),
                true,
            ),
            // The program used its CPU time, up to the limit or a little more.
            (
                result(Verdict::TimeLimit, Outcome::CpuTimeLimit, 999),
                Some(0.9),
                false,
            ),
            (
                result(Verdict::TimeLimit, Outcome::RealTimeLimit, 1001),
                Some(0.9),
                false,
            ),
            (
                result(Verdict::TimeLimit, Outcome::Exited(0), 1001),
                Some(0.9),
                false,
            ),
            // The run reached no time limit.
            (
                result(Verdict::Accepted, Outcome::Exited(0), 10),
                Some(0.9),
                false,
            ),
            (
                result(Verdict::JudgeError, Outcome::Killed, 10),
                Some(0.9),
                false,
            ),
        ] {
            let (last, times) = judge_fairly([(first.clone(), overload), second()], is_stopped);
            assert_eq!(
                (last.verdict, last.comment.as_str(), times),
                (first.verdict, "", 1),
                "{first:?}"
            );
        }
    }
}
