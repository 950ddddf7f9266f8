//! The exit status of `millibox run`, and the message that explains it.

use super::{allow_rlimit_backend, line, shell, status, text};
use millibox_tests::{executable, has_cgroups_or_skips, is_root, skip, supervisor};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

#[test]
fn run_of_exiting_program_returns_its_exit_status() {
    for (script, expected) in [("exit 0", 0), ("exit 3", 3), ("exit 255", 255)] {
        let output = shell(&[], script);
        assert_eq!(
            (status(&output), text(&output.stderr)),
            (expected, String::new())
        );
    }
}

#[test]
fn run_of_killed_program_returns_128_plus_signal() {
    for (script, expected) in [
        ("kill -KILL $$", 137),
        ("kill -TERM $$", 143),
        ("kill -SEGV $$", 139),
    ] {
        let output = shell(&[], script);
        assert_eq!(status(&output), expected, "{output:?}");
        assert!(line(&output).contains("signal"), "{output:?}");
        assert_eq!(text(&shell(&["--quiet"], script).stderr), "");
    }
}

#[test]
fn run_over_time_limit_returns_124_and_names_limit() {
    let output = shell(&["--real-time-limit", "150ms"], "sleep 60");
    assert_eq!(
        (status(&output), line(&output).contains("150ms")),
        (124, true),
        "{output:?}"
    );
    let limits = ["--cpu-time-limit", "100ms", "--real-time-limit", "60s"];
    let output = shell(
        &[allow_rlimit_backend(), &limits].concat(),
        "while :; do :; done",
    );
    assert_eq!(
        (status(&output), line(&output).contains("100ms")),
        (124, true),
        "{output:?}"
    );
}

#[test]
fn run_over_memory_or_output_limit_returns_123() {
    let output = shell(
        &["--output-limit", "1000"],
        "while :; do echo 0123456789; done",
    );
    assert_eq!(
        (status(&output), output.stdout.len()),
        (123, 1000),
        "{}",
        text(&output.stderr)
    );
    if !has_cgroups_or_skips(&supervisor()) {
        return;
    }
    let eats = "head -c 100M /dev/zero > /tmp/file";
    let output = shell(&["--memory-limit", "32M"], eats);
    assert_eq!(
        (status(&output), line(&output).contains("32 MiB")),
        (123, true),
        "{output:?}"
    );
    assert_eq!(status(&shell(&["--memory-limit", "200M"], eats)), 0);
}

#[test]
fn run_with_low_open_files_limit_names_ulimit() {
    let run = |limit: u32| {
        let mut command = Command::new("prlimit");
        command
            .arg(format!("--nofile={limit}"))
            .arg(executable("millibox"));
        command
            .args(["run", "--", "true"])
            .stdin(Stdio::null())
            .output()
    };
    if !run(1024).is_ok_and(|output| output.status.success()) {
        return skip("prlimit(1) is missing");
    }
    let mut rejected = 0;
    for limit in 4..32 {
        let output = run(limit).unwrap();
        let message = text(&output.stderr);
        if message.contains("(os error 24)") {
            rejected += 1;
            assert!(message.contains("ulimit -n"), "{limit}: {message}");
        }
    }
    assert!(rejected > 0);
}

#[test]
fn process_limit_counts_processes() {
    if !has_cgroups_or_skips(&supervisor()) {
        return;
    }
    let forks = "(true) && echo forked";
    assert_eq!(status(&shell(&["--process-limit", "1"], forks)), 2);
    assert_eq!(
        text(&shell(&["--process-limit", "2"], forks).stdout),
        "forked\n"
    );
}

#[test]
fn command_without_threads_names_ulimit() {
    let run = |limit: u32, arguments: &[&str]| {
        let mut command = Command::new("prlimit");
        command
            .arg(format!("--nproc={limit}"))
            .arg(executable("millibox"))
            .args(arguments)
            .stdin(Stdio::null());
        if is_root() {
            // A limit on processes does not apply to root.
            command.uid(54321).gid(54321);
        }
        command.output()
    };
    if !run(1, &["--version"]).is_ok_and(|output| output.status.success()) {
        return skip("prlimit(1) is missing, or another user cannot execute the command here");
    }
    for arguments in [
        &["run", "--", "true"][..],
        &["judge", "."],
        &["problem", "clean", "."],
        &["languages"],
    ] {
        let output = run(1, arguments).unwrap();
        assert_eq!(status(&output), 125, "{arguments:?}: {output:?}");
        assert!(
            line(&output).contains("ulimit -u"),
            "{arguments:?}: {output:?}"
        );
    }
    // With these limits, some threads and processes start, and later ones fail.
    for limit in 2..12 {
        let output = run(limit, &["run", "--output-limit", "9", "--", "true"]).unwrap();
        assert!([0, 125].contains(&status(&output)), "{limit}: {output:?}");
        if status(&output) != 0 {
            line(&output);
        }
    }
}
