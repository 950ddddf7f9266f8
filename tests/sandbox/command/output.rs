//! Output that the command cannot write.

use super::{allow_rlimit_backend, line, package, status, text};
use millibox_tests::{directory, eventually, executable, set_mode};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn output_to_full_device_returns_error() {
    let dir = directory();
    let new = dir.path().join("new").display().to_string();
    let mut all = vec![
        vec!["problem", "init", "--no-gen", &new],
        vec!["completions", "bash"],
    ];
    all.extend([vec!["doctor", "--json"], vec!["doctor", "--separate-pid1"]]);
    all.extend([
        vec!["run", "--help"],
        vec!["help", "judge"],
        vec!["--help", ""],
        vec!["--version", ""],
    ]);
    let package = package(dir.path());
    if let Some(package) = &package {
        all.extend([
            vec!["problem", "validate", package],
            vec!["problem", "zip", "--force", package],
            vec!["problem", "clean", package],
            vec!["problem", "gen", "--json", package],
            vec!["problem", "limits", package],
        ]);
    }
    for mut arguments in all {
        if matches!(arguments[1], "validate" | "gen" | "limits") {
            // These commands run programs.
            arguments.extend(allow_rlimit_backend());
        }
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = Command::new(executable("millibox"))
            .args(&arguments)
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(status(&output), 125, "{arguments:?}: {output:?}");
        assert!(
            line(&output).contains("cannot write to standard output"),
            "{arguments:?}: {output:?}"
        );
    }
}

/// The reader closes the pipe early, as `| head` does.
#[test]
fn output_to_closed_pipe_ends_silently_with_141() {
    let dir = directory();
    let new = dir.path().join("new").display().to_string();
    for arguments in [
        &["languages", "bash"][..],
        &["languages", "--json", "bash"],
        &["completions", "bash"],
        &["problem", "init", "--no-gen", &new],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(executable("millibox"))
            .args(arguments)
            .stdout(writer)
            .output()
            .unwrap();
        assert_eq!(
            (status(&output), text(&output.stderr)),
            (141, String::new()),
            "{arguments:?}"
        );
    }
}

#[test]
fn run_with_undelivered_output_returns_125() {
    let dir = directory();
    set_mode(dir.path(), 0o777);
    let rw = format!("{}:/given", dir.path().display());
    let mut child = Command::new(executable("millibox"))
        .args([
            "run",
            "--rw",
            &rw,
            "--output-limit",
            "10M",
            "--",
            "sh",
            "-c",
        ])
        .arg("head -c 120000 /dev/zero; echo > /given/written")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(
        eventually(Duration::from_secs(10), || dir
            .path()
            .join("written")
            .exists()),
        "the program waits for its output to be read"
    );
    // By now, the run has ended.
    std::thread::sleep(Duration::from_millis(500));
    millibox_tests::kill(child.id() as i32, rustix::process::Signal::TERM);
    let ended = child.wait().unwrap();
    let (mut out, mut err) = (Vec::new(), String::new());
    child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    assert!(out.len() < 120_000, "all output has arrived");
    assert_eq!(ended.code(), Some(125), "{err}");
    assert!(err.contains("does not read"), "{err}");
}

/// Rust opens /dev/null instead of a closed standard stream, so output would be lost silently.
#[test]
fn output_to_closed_standard_output_returns_error() {
    let dir = directory();
    let package = dir.path().join("sums").display().to_string();
    let output = Command::new(executable("millibox"))
        .args(["problem", "init", "--no-gen", &package])
        .output()
        .unwrap();
    assert_eq!(status(&output), 0, "{output:?}");
    let report = [
        &["run", "--report", "-"],
        allow_rlimit_backend(),
        &["--", "true"],
    ]
    .concat();
    let program = executable("millibox").display().to_string();
    for (arguments, what) in [
        (&report[..], "--report -: cannot write"),
        (
            &["doctor", "--json"],
            "cannot write to standard output: it is closed",
        ),
        (
            &["languages", "--json", "bash"],
            "cannot write to standard output: it is closed",
        ),
        (
            &["problem", "clean", "--json", &package],
            "cannot write to standard output: it is closed",
        ),
        (
            &["completions", "bash"],
            "cannot write to standard output: it is closed",
        ),
    ] {
        for (shell, is_closed) in [
            ("\"$0\" \"$@\" >&-", true),
            ("\"$0\" \"$@\" > /dev/null", false),
        ] {
            let mut command = Command::new("/bin/sh");
            let output = command
                .args(["-c", shell, &program])
                .args(arguments)
                .output()
                .unwrap();
            assert_eq!(
                status(&output) == 125,
                is_closed,
                "{shell}: {arguments:?}: {output:?}"
            );
            let message = text(&output.stderr);
            assert_eq!(
                message.matches(what).count(),
                usize::from(is_closed),
                "{shell}: {arguments:?}: {message}"
            );
        }
    }
}
