//! `Supervisor::output`: input from memory, captured output, and its limit.

use crate::supervisor;
use millibox::{Outcome, Request};
use std::time::{Duration, Instant};

fn shell(script: &str) -> Request {
    Request::new("/bin/sh")
        .args(["-c", script])
        .env("PATH", "/usr/bin:/bin")
}

#[test]
fn output_returns_both_streams_and_the_result() {
    let output = supervisor()
        .output(&shell("cat; echo error >&2; exit 3").input("in\n"), 1 << 20)
        .unwrap();
    assert_eq!(output.result.outcome, Outcome::Exited(3));
    assert_eq!(
        (&output.stdout[..], &output.stderr[..]),
        (&b"in\n"[..], &b"error\n"[..])
    );
    assert!(!output.truncated && !output.is_success());
}

#[test]
fn input_larger_than_a_pipe_arrives_whole() {
    let input = "0123456789\n".repeat(300_000);
    let output = supervisor()
        .output(&shell("cat").input(&input), 1 << 24)
        .unwrap();
    assert!(
        output.is_success() && output.stdout == input.as_bytes(),
        "{}",
        output.result
    );
}

#[test]
fn output_limit_covers_both_streams_together() {
    let supervisor = supervisor();
    let loud = shell("while :; do echo 0123456789; echo 0123456789 >&2; done")
        .real_time_limit(Duration::from_secs(60));
    for limit in [0, 1, 5000, 300_000] {
        let output = supervisor.output(&loud, limit).unwrap();
        assert_eq!(output.result.outcome, Outcome::OutputLimit, "{limit}");
        assert!(output.truncated);
        assert_eq!((output.stdout.len() + output.stderr.len()) as u64, limit);
    }
    // Output of exactly the limit is accepted.
    let output = supervisor
        .output(&shell("printf 12345; printf 678 >&2"), 8)
        .unwrap();
    assert!(
        output.is_success() && output.stdout == b"12345" && output.stderr == b"678",
        "{output:?}"
    );
}

#[test]
fn program_that_closes_its_streams_is_waited_for() {
    let begin = Instant::now();
    let output = supervisor()
        .output(&shell("exec >&- 2>&-; sleep 0.3; exit 7"), 100)
        .unwrap();
    assert_eq!(output.result.outcome, Outcome::Exited(7));
    assert!(begin.elapsed() >= Duration::from_millis(300));
}
