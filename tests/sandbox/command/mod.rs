//! Tests of the command `millibox` from outside, as a shell uses it.

mod doctor;
mod exit_status;
mod explain;
mod files;
mod leaving;
mod missing_programs;
mod options;
mod output;
mod reports;
mod signals;
mod streams;
mod supervisor;

use millibox_tests::{executable, skip, supervisor};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs `millibox run` with these arguments to its end.
fn run(arguments: &[&str]) -> Output {
    Command::new(executable("millibox"))
        .arg("run")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Runs a shell script with `millibox run`.
fn shell(options: &[&str], script: &str) -> Output {
    run(&[options, &["--", "sh", "-c", script]].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

/// Returns the only line on standard error.
fn line(output: &Output) -> String {
    let message = text(&output.stderr);
    assert!(
        message.ends_with('\n') && message.lines().count() == 1,
        "not one line: {message:?}"
    );
    assert!(message.starts_with("millibox: "), "{message:?}");
    message
}

/// Options that accept a CPU time limit without cgroups, where it applies to single processes.
fn allow_rlimit_backend() -> &'static [&'static str] {
    if supervisor().info().backend() == millibox::Backend::Rlimit {
        &["--backend", "rlimit"]
    } else {
        &[]
    }
}

fn read_report(path: &Path) -> serde_json::Value {
    let read = std::fs::read(path).unwrap();
    serde_json::from_slice(&read).unwrap_or_else(|error| panic!("{error}: {}", text(&read)))
}

/// Creates a problem package. Returns `None` if its programs cannot be compiled here.
fn package(dir: &Path) -> Option<String> {
    if Command::new("g++").arg("--version").output().is_err() {
        skip("g++ is missing, which the package needs");
        return None;
    }
    let package = dir.join("sums").display().to_string();
    let output = Command::new(executable("millibox"))
        .args(["problem", "init", "--no-gen", &package])
        .output()
        .unwrap();
    assert_eq!(status(&output), 0, "{output:?}");
    Some(package)
}

/// Creates a FIFO that no other process has open.
fn fifo(dir: &Path) -> String {
    let path = dir.join("fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    path.display().to_string()
}
