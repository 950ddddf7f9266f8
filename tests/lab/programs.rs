//! The programs that experiments run, and the observers that they run under.

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
fn under(around: &str, script: &str) -> (String, Value) {
    let output = program(&["under", around, "/bin/sh", "-c", script], "");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let used: Value = said
        .lines()
        .last()
        .and_then(|line| serde_json::from_str(line).ok())
        .unwrap_or_default();
    assert!(used["calls"].is_u64(), "{around}: {said:?}");
    assert_eq!(
        output.status.code().map(i64::from),
        used["code"].as_i64(),
        "{around}: {said}"
    );
    (String::from_utf8_lossy(&output.stdout).into_owned(), used)
}

const ALL: [&str; 6] = [
    "nothing",
    "ptrace",
    "notify",
    "notify-sync",
    "seccomp-allow",
    "seccomp-argument",
];

#[test]
fn program_under_any_observer_behaves_the_same() {
    for around in ALL {
        // A child, a pipe, a signal that is caught. Not a pipeline: a signal interrupts a call that
        // waits for the answer to its notification, and dash gives up when SIGCHLD of the first
        // child interrupts the fork(2) of the second.
        let (said, used) = under(
            around,
            "trap 'echo caught' USR1; echo $(echo a; echo b); kill -USR1 $$; exit 7",
        );
        assert_eq!(
            (said.as_str(), used["code"].as_i64()),
            ("a b\ncaught\n", Some(7)),
            "{around}"
        );
        let (_, used) = under(around, "kill -KILL $$");
        assert_eq!(used["code"].as_i64(), Some(128 + 9), "{around}");
    }
}

#[test]
fn observer_of_calls_counts_each_call() {
    let calls = |around: &str, times: usize| {
        let (_, used) = under(
            around,
            &format!("for i in $(seq {times}); do umask 22; done"),
        );
        used["calls"].as_u64().expect("a number")
    };
    for around in ["ptrace", "notify", "notify-sync"] {
        // Setting the mask takes at least one call.
        let (few, many) = (calls(around, 1), calls(around, 501));
        assert!(few > 10 && many >= few + 500, "{around}: {few}, {many}");
    }
    for around in ["nothing", "seccomp-allow", "seccomp-argument"] {
        assert_eq!(calls(around, 1), 0, "{around}");
    }
}

#[test]
fn seccomp_observer_has_a_filter_attached() {
    for (around, mode) in [
        ("nothing", "0"),
        ("notify", "2"),
        ("seccomp-allow", "2"),
        ("seccomp-argument", "2"),
    ] {
        let (said, _) = under(around, "grep '^Seccomp:' /proc/self/status");
        assert_eq!(
            said.split_whitespace().last(),
            Some(mode),
            "{around}: {said}"
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
    // The answers given here are wrong.
    let output = program(&["ask", "2"], "5\n5\n");
    assert_eq!(output.status.code(), Some(43));
    assert_eq!(program(&["no-such-program"], "").status.code(), Some(99));
}
