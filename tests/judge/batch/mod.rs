//! Batch problems: streams, limits and verdicts of submissions, including hostile ones.

mod limits;
mod streams;
mod verdicts;

use millibox::Outcome;
use millibox_judge::failure::RunFault;
use millibox_judge::result::{Reason, TestResult};
use millibox_judge::verdict::Verdict;

fn text(length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| b'a' + (at % 25) as u8 + u8::from(at % 1009 == 0))
        .collect()
}

fn assert_verdict(result: &TestResult, verdict: Verdict, reason: Option<Reason>) {
    assert_eq!(
        (result.verdict, &result.reason),
        (verdict, &reason),
        "{result:?}"
    );
}

fn assert_accepted(result: &TestResult) {
    assert_verdict(result, Verdict::Accepted, None);
}

/// Asserts that the run reached one of its limits.
fn assert_limit(result: &TestResult, verdict: Verdict, limit: RunFault) {
    assert_verdict(result, verdict, Some(Reason::Run(limit)));
}

/// Asserts that the run failed in this way, which is a run-time error.
fn assert_run_time_error(result: &TestResult, outcome: Outcome) {
    let run = result.run.clone().expect("a run");
    assert_eq!(run.outcome, outcome);
    let ended = Reason::Run(RunFault::Ended(Box::new(run)));
    assert_verdict(result, Verdict::RunTimeError, Some(ended));
}
