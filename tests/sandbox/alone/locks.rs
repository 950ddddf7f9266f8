//! File locks: only a run's own locks count towards its limit.

#![allow(unsafe_code, reason = "a child locks files between fork and exec")]

use crate::builder;
use millibox::{Outcome, Request};
use millibox_tests::{
    directory, is_root, kill, process, processes_with_argument, skip, start, token, wait,
};
use rustix::fs::{Mode, OFlags};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// More locks than a run may hold.
const LOCKS: usize = 2000;

/// Locks files with flock(2) in a process that then ends. Returns the PID of the process.
fn lock_in_a_dead_process(files: &[OwnedFd]) -> i32 {
    let numbers: Vec<i32> = files.iter().map(AsRawFd::as_raw_fd).collect();
    let mut command = Command::new("/bin/true");
    // SAFETY: flock(2) allocates nothing and takes no lock of this process.
    unsafe {
        command.pre_exec(move || {
            match numbers
                .iter()
                .all(|&fd| libc::flock(fd, libc::LOCK_SH) == 0)
            {
                true => Ok(()),
                false => Err(std::io::Error::last_os_error()),
            }
        });
    }
    let mut child = command.spawn().expect("a child");
    child.wait().expect("its end");
    child.id() as i32
}

#[test]
fn flocks_of_dead_process_do_not_count_for_a_later_process_with_its_pid() {
    const LAST: &str = "/proc/sys/kernel/ns_last_pid";
    let last = || {
        std::fs::read_to_string(LAST)
            .ok()?
            .trim()
            .parse::<i32>()
            .ok()
    };
    if !is_root() || last().is_none_or(|last| std::fs::write(LAST, last.to_string()).is_err()) {
        return skip("this process cannot choose the PID of the next process");
    }
    let supervisor = start(builder().slots(1));
    let dir = directory();
    let open = || {
        let flags = OFlags::RDONLY | OFlags::CREATE | OFlags::CLOEXEC;
        rustix::fs::open(dir.path().join("file"), flags, Mode::RUSR).expect("a file")
    };
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).expect("more open files");
    let files: Vec<OwnedFd> = (0..LOCKS).map(|_| open()).collect();
    let dead = lock_in_a_dead_process(&files);
    // The supervisor reads the locks before a launch if its last reading is more than a second old.
    // If a PID is reused sooner, the new process can still be mistaken for the dead process
    // (docs/security/weaknesses-kernel-memory.md, "File locks").
    std::thread::sleep(Duration::from_millis(1200));
    let token = token();
    let script = "while :; do sleep 0.1; done";
    let innocent = Request::new("/bin/sh")
        .args(["-c", script, &token])
        .memory_limit(64 << 20);
    let run = supervisor.run(&innocent).unwrap();
    // The shell's next child must get the PID of the dead process, for at least one reading.
    let begin = Instant::now();
    let mut seen = 0;
    while seen < 10
        && begin.elapsed() < Duration::from_secs(20)
        && run.try_wait().unwrap().is_none()
    {
        let shell = processes_with_argument(&token)
            .first()
            .map(|shell| shell.pid);
        let is_reused = process(dead).is_some_and(|process| Some(process.parent) == shell);
        seen += usize::from(is_reused);
        if is_reused {
            // The child is stopped until the supervisor has read the locks.
            kill(dead, rustix::process::Signal::STOP);
            std::thread::sleep(Duration::from_millis(50));
        } else {
            std::fs::write(LAST, (dead - 1).to_string()).expect("a number");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let ended = run.try_wait().unwrap();
    assert_eq!(
        ended.map(|result| result.outcome),
        None,
        "the run was ended for locks of another process"
    );
    if seen < 10 {
        skip("the PID was not reused");
    }
    run.kill();
    assert_eq!(wait(&run).outcome, Outcome::Killed);
}
