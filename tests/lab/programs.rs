//! Tests of the programs that experiments run, and of the observers under which they run.

use millibox_tests::executable;
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs a program of the lab with `input` on its standard input.
fn program(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(executable("millibox-lab"));
    command.arg("lab-program").args(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(input.as_bytes())
        .expect("write");
    child.wait_with_output().expect("wait")
}

/// Runs a shell script under an observer. Returns the script's output and the observer's report.
fn run_under(observer: &str, script: &str) -> (String, Value) {
    let output = program(&["under", observer, "/bin/sh", "-c", script], "");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value = stderr
        .lines()
        .last()
        .and_then(|line| serde_json::from_str(line).ok())
        .unwrap_or_default();
    assert!(report["calls"].is_u64(), "{observer}: {stderr:?}");
    assert_eq!(
        output.status.code().map(i64::from),
        report["code"].as_i64(),
        "{observer}: {stderr}"
    );
    (String::from_utf8_lossy(&output.stdout).into_owned(), report)
}

const OBSERVERS: [&str; 6] = [
    "nothing",
    "ptrace",
    "notify",
    "notify-sync",
    "seccomp-allow",
    "seccomp-argument",
];

#[test]
fn program_under_any_observer_behaves_the_same() {
    for observer in OBSERVERS {
        // The script has a child, a pipe and a caught signal. It does not use a pipeline, because a
        // signal interrupts a call that waits for the answer to its notification. dash fails if the
        // SIGCHLD of the first child interrupts the fork(2) of the second.
        let (stdout, report) = run_under(
            observer,
            "trap 'echo caught' USR1; echo $(echo a; echo b); kill -USR1 $$; exit 7",
        );
        assert_eq!(
            (stdout.as_str(), report["code"].as_i64()),
            ("a b\ncaught\n", Some(7)),
            "{observer}"
        );
        let (_, report) = run_under(observer, "kill -KILL $$");
        assert_eq!(report["code"].as_i64(), Some(128 + 9), "{observer}");
    }
}

#[test]
fn observer_counts_each_system_call() {
    let calls = |observer: &str, times: usize| {
        let (_, report) = run_under(
            observer,
            &format!("for i in $(seq {times}); do umask 22; done"),
        );
        report["calls"].as_u64().expect("a number")
    };
    for observer in ["ptrace", "notify", "notify-sync"] {
        // Setting the mask needs at least one system call.
        let (few, many) = (calls(observer, 1), calls(observer, 501));
        assert!(few > 10 && many >= few + 500, "{observer}: {few}, {many}");
    }
    for observer in ["nothing", "seccomp-allow", "seccomp-argument"] {
        assert_eq!(calls(observer, 1), 0, "{observer}");
    }
}

#[test]
fn seccomp_observer_has_a_filter_attached() {
    for (observer, mode) in [
        ("nothing", "0"),
        ("notify", "2"),
        ("seccomp-allow", "2"),
        ("seccomp-argument", "2"),
    ] {
        let (stdout, _) = run_under(observer, "grep '^Seccomp:' /proc/self/status");
        assert_eq!(
            stdout.split_whitespace().last(),
            Some(mode),
            "{observer}: {stdout}"
        );
    }
}

#[test]
fn solution_answers_each_query() {
    for form in [&["answer", "3"][..], &["batch"]] {
        let output = program(form, "2\n3\n1000002\n");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "4\n9\n1\n",
            "{form:?}"
        );
    }
    // These answers are wrong.
    let output = program(&["ask", "2"], "5\n5\n");
    assert_eq!(output.status.code(), Some(43));
    assert_eq!(program(&["no-such-program"], "").status.code(), Some(99));
}
