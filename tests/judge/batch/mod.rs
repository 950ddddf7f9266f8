//! Batch problems: streams, limits and verdicts of submissions, including hostile ones.

mod limits;
mod streams;
mod verdicts;

use millibox_judge::verdict::{TestResult, Verdict};

fn text(length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| b'a' + (at % 25) as u8 + u8::from(at % 1009 == 0))
        .collect()
}

fn assert_verdict(result: &TestResult, verdict: Verdict, reason: &str) {
    assert_eq!(
        (result.verdict, result.reason.as_str()),
        (verdict, reason),
        "{result:?}"
    );
}

fn assert_accepted(result: &TestResult) {
    assert_verdict(result, Verdict::Accepted, "");
}
