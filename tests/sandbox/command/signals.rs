//! Signals to the command.

use super::{allow_rlimit_backend, fifo, line, package, read_report, status};
use millibox_tests::{
    directory, ends_within, eventually, executable, processes_with_argument, set_mode, skip,
    status_mask, token,
};
use std::io::Read;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Returns whether SIGHUP is ignored, as under nohup(1). If so, the command also ignores it.
fn ignores_hangups() -> bool {
    let ignores = status_mask("self", "SigIgn").unwrap() & 1 != 0;
    if ignores {
        skip("SIGHUP is ignored here");
    }
    ignores
}

#[test]
fn signal_to_run_command_kills_the_run() {
    let dir = directory();
    for (signal, expected) in [("INT", 130), ("QUIT", 131), ("TERM", 143), ("HUP", 129)] {
        if signal == "HUP" && ignores_hangups() {
            continue;
        }
        let token = token();
        let path = dir.path().join(format!("{signal}.json"));
        let mut command = Command::new(executable("millibox"))
            .args(["run", "--report"])
            .arg(&path)
            .args([
                "--",
                "sh",
                "-c",
                "trap '' INT TERM HUP; sleep 600 & echo ready; while :; do sleep 600; done",
                &token,
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = command.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 6]).unwrap();
        assert!(!processes_with_argument(&token).is_empty());
        let signal_number = expected - 128;
        millibox_tests::kill(
            command.id() as i32,
            rustix::process::Signal::from_named_raw(signal_number).unwrap(),
        );
        let output = command.wait_with_output().unwrap();
        assert_eq!(
            (status(&output), &read_report(&path)["outcome"]),
            (expected, &"killed".into()),
            "{signal}: {output:?}"
        );
        assert!(line(&output).contains(signal), "{output:?}");
        let is_gone = eventually(Duration::from_secs(10), || {
            processes_with_argument(&token).is_empty()
        });
        assert!(is_gone, "{signal}: {:?}", processes_with_argument(&token));
    }
}

#[test]
fn signal_to_languages_command_ends_it_without_leftovers() {
    let dir = directory();
    set_mode(dir.path(), 0o755);
    std::fs::create_dir(dir.path().join("tmp")).unwrap();
    let token = token();
    let suite = format!(
        "name = \"slow\"\ntitle = \"Slow\"\nextensions = [\"slow\"]\n\n[tool.bash]\npackage = \
         \"bash\"\n\n[compile]\ncommand = [\"{{bash}}\", \"-c\", \"sleep 60; :\", \
         \"{token}\"]\nproduct = \"sources\"\n\n[run]\ncommand = [\"{{bash}}\", \
         \"{{main}}\"]\n\n[example]\nfile = \"x.slow\"\nsource = \"echo\"\n"
    );
    std::fs::write(dir.path().join("slow.toml"), suite).unwrap();
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let child = Command::new(executable("millibox"))
            .args(["languages", "--try", "slow", "--suites"])
            .arg(dir.path())
            .env("TMPDIR", dir.path().join("tmp"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let compiles = eventually(Duration::from_secs(60), || {
            !processes_with_argument(&token).is_empty()
        });
        millibox_tests::kill(child.id() as i32, signal);
        let output = child.wait_with_output().unwrap();
        assert!(compiles, "{output:?}");
        assert_eq!(status(&output), 128 + signal.as_raw(), "{output:?}");
        assert!(
            line(&output).contains("received SIG") && output.stdout.is_empty(),
            "{output:?}"
        );
        let left = std::fs::read_dir(dir.path().join("tmp")).unwrap().count();
        assert_eq!(left, 0, "files remain");
    }
}

#[test]
fn signal_ends_command_that_waits_for_fifo() {
    let dir = directory();
    let fifo = fifo(dir.path());
    let report = dir.path().join("report.json").display().to_string();
    let elsewhere = directory();
    let package = package(elsewhere.path());
    let mut waits = vec![
        (
            vec!["run", "--report", &report, "--stdin", &fifo, "true"],
            2,
        ),
        (vec!["run", "--stdout", &fifo, "true"], 15),
        (
            vec!["run", "--report", &report, "--stderr", &fifo, "true"],
            1,
        ),
        (
            vec!["run", "--report", &report, "--stdin", &fifo, "true"],
            3,
        ),
        (vec!["run", "--report", &fifo, "true"], 15),
        (
            vec!["run", "--report", &report, "--seccomp", &fifo, "true"],
            15,
        ),
    ];
    if let Some(package) = &package {
        waits.push((
            vec![
                "judge", package, "--report", "html", &report, "--report", "json", &fifo,
            ],
            2,
        ));
    }
    for (arguments, signal) in waits {
        if signal == 1 && ignores_hangups() {
            continue;
        }
        let child = Command::new(executable("millibox"))
            .args(&arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let catches = || {
            status_mask(&child.id().to_string(), "SigCgt")
                .is_some_and(|mask| mask & 1 << (signal - 1) != 0)
        };
        let opens = || {
            let call = std::fs::read_to_string(format!("/proc/{}/syscall", child.id()))
                .unwrap_or_default();
            call.starts_with(&format!("{} ", libc::SYS_openat))
        };
        // The command waits in open(2) for the FIFO, and is not merely opening another file.
        let waits = || {
            catches() && opens() && {
                std::thread::sleep(Duration::from_millis(100));
                opens()
            }
        };
        assert!(
            eventually(Duration::from_secs(60), waits),
            "{arguments:?}: the command does not wait"
        );
        millibox_tests::kill(
            child.id() as i32,
            rustix::process::Signal::from_named_raw(signal).unwrap(),
        );
        let ended = eventually(Duration::from_secs(10), || {
            std::fs::read_to_string(format!("/proc/{}/stat", child.id()))
                .is_ok_and(|stat| stat.contains(") Z "))
        });
        if !ended {
            millibox_tests::kill(child.id() as i32, rustix::process::Signal::KILL);
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(status(&output), 128 + signal, "{arguments:?}: {output:?}");
        assert!(
            line(&output).contains("received SIG"),
            "{arguments:?}: {output:?}"
        );
        let names: Vec<_> = std::fs::read_dir(dir.path())
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(names, ["fifo"], "{arguments:?}: files remain");
    }
}

/// Fills a pipe from which no process reads.
fn fill(writer: impl AsFd) {
    let _ = rustix::io::ioctl_fionbio(&writer, true);
    while rustix::io::write(&writer, &[b'x'; 4096]).is_ok() {}
    let _ = rustix::io::ioctl_fionbio(&writer, false);
}

#[test]
fn signal_ends_judge_that_waits_for_a_reader() {
    let dir = directory();
    let Some(package) = package(dir.path()) else {
        return;
    };
    let temporary = dir.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut judge = Command::new(executable("millibox"));
    judge
        .args(["judge", &package])
        .args(allow_rlimit_backend())
        .env("TMPDIR", &temporary);
    judge.stdin(Stdio::null()).stderr(Stdio::null());
    let ends = |mut child: std::process::Child, waits: &dyn Fn() -> bool, what: &str| {
        assert!(
            eventually(Duration::from_secs(60), waits),
            "{what}: the judge does not wait"
        );
        millibox_tests::kill(child.id() as i32, rustix::process::Signal::TERM);
        let ended = ends_within(&mut child, Duration::from_secs(10));
        assert_eq!(ended.and_then(|ended| ended.code()), Some(143), "{what}");
        assert_eq!(
            std::fs::read_dir(&temporary).unwrap().count(),
            0,
            "{what}: files remain"
        );
    };
    // This judge waits for a reader of its output.
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    fill(&writer);
    let child = judge.stdout(writer).spawn().unwrap();
    let catches =
        |id: u32| status_mask(&id.to_string(), "SigCgt").is_some_and(|mask| mask & 1 << 14 != 0);
    let id = child.id();
    let waits = || {
        std::thread::sleep(Duration::from_secs(2));
        catches(id)
    };
    ends(child, &waits, "standard output");
    drop(reader);

    // This judge waits for a reader of its report.
    let fifo = fifo(dir.path());
    let held = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&fifo)
        .unwrap();
    fill(&held);
    let child = judge
        .args(["--report", "json", &fifo])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let id = child.id();
    let writes = || {
        let call = std::fs::read_to_string(format!("/proc/{id}/syscall")).unwrap_or_default();
        catches(id) && call.starts_with(&format!("{} ", libc::SYS_write))
    };
    ends(child, &writes, "report");
}
