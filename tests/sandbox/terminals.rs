//! `millibox run` on a terminal that the program shares.

use millibox_tests::{copy_probe, directory, executable, skip};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The two ends of a pseudo-terminal: the end of the terminal emulator, and the terminal.
fn pseudo_terminal() -> rustix::io::Result<(OwnedFd, File)> {
    let emulator = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&emulator)?;
    unlockpt(&emulator)?;
    let name = ptsname(&emulator, Vec::new())?;
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
    let terminal = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty())?;
    Ok((emulator, terminal.into()))
}

/// Runs `probe stop-terminal` with all standard streams on a terminal. Returns the exit status, the
/// report and the text that the terminal shows.
fn stop_terminal(seccomp: &str) -> Option<(Option<i32>, serde_json::Value, String)> {
    let (emulator, terminal) = match pseudo_terminal() {
        Ok(ends) => ends,
        Err(errno) => {
            skip(&format!("there are no pseudo-terminals here: {errno}"));
            return None;
        }
    };
    let directory = directory();
    let report = directory.path().join("report.json");
    let program = copy_probe(directory.path());
    let stream = || Stdio::from(terminal.try_clone().unwrap());
    let mut millibox = Command::new(executable("millibox"))
        .args([
            "run",
            "--seccomp",
            seccomp,
            "--real-time-limit",
            "300ms",
            "--output-limit",
            "1M",
        ])
        .arg("--report")
        .arg(&report)
        .arg("--ro")
        .arg(format!("{}:/probe", program.display()))
        .args(["--", "/probe", "stop-terminal"])
        .stdin(stream())
        .stdout(stream())
        .stderr(stream())
        .spawn()
        .unwrap();
    drop(terminal);
    let begin = Instant::now();
    let status = loop {
        match millibox.try_wait().unwrap() {
            Some(status) => break status,
            None if begin.elapsed() > Duration::from_secs(30) => {
                millibox.kill().unwrap();
                panic!("millibox waits for a terminal that the program has stopped");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let mut shown = Vec::new();
    // Once no process has the terminal open, reading its other end returns an error (EIO).
    let _ = File::from(emulator).read_to_end(&mut shown);
    let report = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    Some((
        status.code(),
        report,
        String::from_utf8_lossy(&shown).into_owned(),
    ))
}

#[test]
fn program_that_stops_the_terminal_cannot_stop_millibox() {
    let Some((status, report, shown)) = stop_terminal("none") else {
        return;
    };
    assert_eq!(
        (status, &report["outcome"]),
        (Some(124), &"real_time_limit".into()),
        "{shown}"
    );
    assert!(shown.contains("300ms"), "{shown:?}");
}

/// Runs a script with pipes or a terminal as the standard streams of `millibox run`, and returns
/// what it prints.
fn shell(script: &str, stdio: impl Fn() -> Stdio, emulator: Option<OwnedFd>) -> String {
    let child = Command::new(executable("millibox"))
        .args(["run", "--", "/bin/sh", "-c", script])
        .stdin(stdio())
        .stdout(stdio())
        .stderr(stdio())
        .spawn()
        .unwrap();
    // The closure may hold a terminal, whose other end ends when no process has it open.
    drop(stdio);
    match emulator {
        None => String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap(),
        Some(emulator) => {
            let mut shown = Vec::new();
            let _ = File::from(emulator).read_to_end(&mut shown);
            child.wait_with_output().unwrap();
            String::from_utf8(shown).unwrap()
        }
    }
}

#[test]
fn command_has_pseudo_terminals_unless_it_shares_one() {
    let script = "test -e /dev/ptmx && echo ptmx; ls /dev/pts; echo end";
    let found = shell(script, Stdio::piped, None);
    assert_eq!(found, "ptmx\nptmx\nend\n");
    let (emulator, terminal) = match pseudo_terminal() {
        Ok(ends) => ends,
        Err(errno) => return skip(&format!("there are no pseudo-terminals here: {errno}")),
    };
    let stream = move || Stdio::from(terminal.try_clone().unwrap());
    let found = shell(script, stream, Some(emulator));
    assert!(
        !found.contains("ptmx\r\n") && found.ends_with("end\r\n"),
        "{found:?}"
    );
}
