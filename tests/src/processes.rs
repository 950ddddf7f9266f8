//! Processes, and what a supervisor leaves behind.

use crate::HANG_TIMEOUT;
use millibox::Supervisor;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Waits until `holds` returns true. Returns false if that does not happen within `time`.
pub fn eventually(time: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while !holds() {
        if begin.elapsed() > time {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Returns the exit status of a child that ends within `time`. Otherwise kills the child.
pub fn ends_within(child: &mut Child, time: Duration) -> Option<ExitStatus> {
    let mut ended = None;
    eventually(time, || {
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    if ended.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    ended
}

/// A process. Its start time distinguishes it from a later process with the same PID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    /// The process id.
    pub pid: i32,
    /// The parent's process id.
    pub parent: i32,
    started: u64,
}

impl Process {
    /// Returns whether the process is alive. Its parent may have changed if the old parent died.
    pub fn is_alive(&self) -> bool {
        process(self.pid).is_some_and(|now| now.started == self.started)
    }
}

/// All processes that are not zombies.
pub fn processes() -> Vec<Process> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        all.extend(process(pid));
    }
    all
}

/// The process with this PID, unless it is a zombie.
pub fn process(pid: i32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the last ')': state is field 3, ppid 4, starttime 22 (proc_pid_stat(5)).
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    if matches!(fields.first(), Some(&"Z" | &"X")) {
        return None;
    }
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// Stops a process and waits until it has stopped. Until then it may continue to execute system
/// calls that it has begun.
pub fn stop(pid: i32) {
    kill(pid, Signal::STOP);
    let has_stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| rest.starts_with(" T"))
    };
    assert!(eventually(HANG_TIMEOUT, has_stopped), "{pid} does not stop");
}

/// The name of a process (proc_pid_comm(5)).
pub fn process_name(pid: i32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm"))
        .unwrap_or_default()
        .trim_end()
        .to_owned()
}

/// The name of the spawner process, a child of the supervisor like the runners.
pub const SPAWNER: &str = "millibox-spawn";

/// A process and all its descendants.
pub fn descendants(root: u32) -> Vec<Process> {
    let all = processes();
    let mut family: Vec<Process> = all
        .iter()
        .copied()
        .filter(|process| process.pid == root as i32)
        .collect();
    let mut at = 0;
    while at < family.len() {
        let parent = family[at].pid;
        family.extend(
            all.iter()
                .filter(|process| process.parent == parent)
                .copied(),
        );
        at += 1;
    }
    family
}

/// The processes of the programs that a supervisor runs, by their names. Reads no arguments,
/// because that would wait for the lock of a memory map, which takes a second if many processes
/// fork.
pub fn programs(supervisor: &Supervisor) -> Vec<Process> {
    let mut family = descendants(supervisor.info().pid());
    family.retain(|process| !process_name(process.pid).starts_with("millibox"));
    family
}

/// The processes with this command line argument.
pub fn processes_with_argument(text: &str) -> Vec<Process> {
    let has_argument = |process: &Process| {
        let line = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|argument| argument == text.as_bytes())
    };
    processes().into_iter().filter(has_argument).collect()
}

/// A string that no other process has as an argument.
pub fn token() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "token-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// An argument of sleep(1) that no process of another test executable has: the given seconds, a
/// decimal fraction, with the PID appended.
pub fn unique_sleep(seconds: &str) -> String {
    assert!(seconds.contains('.'), "{seconds} is no decimal fraction");
    format!("{seconds}0{}", std::process::id())
}

/// The processes and cgroups of a supervisor, which must disappear with it.
#[derive(Debug)]
pub struct Footprint {
    processes: BTreeSet<Process>,
    cgroups: Vec<PathBuf>,
}

impl Footprint {
    /// The current processes and cgroups of a supervisor.
    pub fn of(supervisor: &Supervisor) -> Footprint {
        Footprint::new(
            supervisor.info().pid(),
            supervisor.info().cgroups().collect(),
        )
    }

    /// The current processes of the supervisor with this PID, and these cgroups.
    pub fn new(supervisor: u32, cgroups: Vec<PathBuf>) -> Footprint {
        let mut processes: BTreeSet<Process> = descendants(supervisor).into_iter().collect();
        assert!(!processes.is_empty(), "the supervisor is not running");
        // With cgroups, the parent is the keeper, unless it is this process.
        if !cgroups.is_empty() {
            processes.extend(
                process(supervisor as i32)
                    .and_then(|supervisor| process(supervisor.parent))
                    .filter(|keeper| keeper.pid != std::process::id() as i32),
            );
        }
        Footprint { processes, cgroups }
    }

    /// Describes the remaining processes and cgroups; empty if none remain.
    pub fn remaining(&self) -> String {
        let processes: Vec<i32> = self
            .processes
            .iter()
            .filter(|process| process.is_alive())
            .map(|process| process.pid)
            .collect();
        let cgroups: Vec<&PathBuf> = self.cgroups.iter().filter(|path| path.exists()).collect();
        if processes.is_empty() && cgroups.is_empty() {
            String::new()
        } else {
            format!("processes {processes:?}, cgroups {cgroups:?}")
        }
    }

    /// Asserts that all these processes and cgroups disappear within five seconds.
    pub fn assert_gone(&self) {
        eventually(Duration::from_secs(5), || self.remaining().is_empty());
        assert_eq!(self.remaining(), "", "remaining after five seconds");
    }
}

/// Sends a signal.
pub fn kill(pid: i32, signal: Signal) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}
