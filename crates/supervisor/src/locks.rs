//! Counts file locks, which the kernel charges to no cgroup and does not limit.
//!
//! A lock (fcntl(2), `F_SETLK`; flock(2)) takes about 200 bytes of kernel memory, which is charged
//! to no cgroup, because `filelock_cache` in fs/locks.c is not accounted. RLIMIT_LOCKS has had no
//! effect since Linux 2.4.25. One file may have any number of locks. A run that locks every second
//! byte of a file takes about 70 MB per second beyond every limit.
//!
//! /proc/locks lists all locks, each with the process that created it. Every user can read it, and
//! it shows all processes that the reader's /proc shows. (/proc/PID/fdinfo would hide the locks of
//! programs that may be executed but not read.) Reading it waits about 10 ms for RCU, because
//! processes that lock must be kept out in the meantime (`percpu_down_write()` in `locks_start()`).
//! So a thread of the supervisor reads it at intervals, and only for runs that have been in
//! progress for a while. A run with more than [`MAX_LOCKS_PER_RUN`] locks is ended as if it had
//! reached its memory limit. Short runs are not slowed down.
//!
//! The list does not show all locks under the id of a living process. The profiles forbid such
//! locks, or the locks are bounded in other ways. Locks of open files (`F_OFD_SETLK`) have no
//! process. Locks of processes that share a descriptor table without being threads (`CLONE_FILES`)
//! outlive their process. Leases are forbidden. A lock of flock(2) may also outlive its process,
//! but it belongs to an open file, for which the run is charged more memory than the lock takes.
//! Such a lock still makes the list longer.
//!
//! A lock that outlives its process is listed under a process id that the kernel may reuse for a
//! process of another run (`locks_translate_pid()` in fs/locks.c looks up the id, not the process).
//! So each scan records how many locks of flock(2) each process id had, and the start time of its
//! process. Locks that existed before the process was first seen do not count as its own
//! ([`History`]). A launch requests a scan without runs if the last scan is older than
//! [`MAX_SCAN_AGE_NS`], so that the history is recent when a process starts. In a PID namespace
//! other than the initial one, the list hides the locks of dead processes. If a process has started
//! since the last scan, the locks that it has when it is first seen do not count either.

use crate::messages::failed;
use crate::sys::calls;
use crate::tree;
use millibox_wire::{SupervisorError, SupervisorHint, SupervisorStep};
use rustix::event::EventfdFlags;
use rustix::fs::{Mode, OFlags};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::Duration;

/// The maximum number of locks of a run. Databases have a few for each file. More locks would make
/// the list too long.
const MAX_LOCKS_PER_RUN: usize = 1024;
/// The age at which a run is first checked, and the time between two scans.
pub const SCAN_INTERVAL_NS: u64 = 100_000_000;
/// The thread pauses for the duration of the scan multiplied by this number.
const SCAN_PAUSE_FACTOR: u32 = 10;
/// The maximum number of bytes of the list that are read, which is about 80,000 locks. For each
/// page of the list the kernel walks through all locks before it.
const MAX_LIST_BYTES: usize = 4 << 20;

/// A launch requests a scan if the last one is older than this, to record the existing locks.
pub const MAX_SCAN_AGE_NS: u64 = 1_000_000_000;
/// The maximum number of flock(2) locks under one process id that are not recorded. They are too
/// few to make a run exceed its bound.
const MAX_IGNORED_LOCKS: usize = MAX_LOCKS_PER_RUN / 16;

/// A run in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub id: u64,
    pub pid1: i32,
}

/// The scanning thread, as the supervisor sees it.
pub struct Locks {
    ask: Sender<Vec<Run>>,
    answers: Receiver<Vec<Run>>,
    /// Counts answers.
    pub answered: Arc<OwnedFd>,
    /// Whether the thread scans or pauses.
    busy: Arc<AtomicBool>,
}

impl Locks {
    /// Starts the thread. The supervisor cannot create threads later. Returns `None` if /proc does
    /// not list locks (proc(5), `subset=pid`), hides the parent of process `another` (`hidepid`),
    /// or belongs to another PID namespace.
    pub fn start(another: i32) -> Result<Option<Locks>, SupervisorError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let list = match rustix::fs::open("/proc/locks", flags, Mode::empty()) {
            Ok(list) if tree::proc_shows_own_namespace() && tree::stat(another).is_some() => list,
            _ => return Ok(None),
        };
        let answered = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(failed(SupervisorStep::Eventfd))?;
        let answered = Arc::new(answered);
        let tell = Arc::clone(&answered);
        let busy = Arc::new(AtomicBool::new(false));
        let rested = Arc::clone(&busy);
        let (ask, asked) = channel::<Vec<Run>>();
        let (answer, answers) = channel();
        let scan_loop = move || {
            // The first answer shows that libc has set up the thread. The set-up needs system calls
            // that the supervisor's seccomp program will forbid.
            let mut result = answer.send(Vec::new());
            let mut history = History::default();
            while let (Ok(()), Ok(runs)) = (result, asked.recv()) {
                let before = calls::thread_cpu_ns();
                result = answer.send(runs_over_limit(&list, &runs, &mut history));
                let _ = rustix::io::write(&*tell, &1u64.to_ne_bytes());
                let took = Duration::from_nanos(calls::thread_cpu_ns().saturating_sub(before));
                std::thread::sleep(took * SCAN_PAUSE_FACTOR);
                // The thread must not be free before the pause, because the next request would then
                // be outdated when it is handled.
                rested.store(false, Release);
            }
        };
        std::thread::Builder::new()
            .name("millibox-locks".to_owned())
            .stack_size(256 << 10)
            .spawn(scan_loop)
            .map_err(|error| SupervisorError::new(SupervisorStep::LocksThread).with_io(&error))?;
        answers.recv().map_err(|_| thread_ended())?;
        Ok(Some(Locks {
            ask,
            answers,
            answered,
            busy,
        }))
    }

    /// Whether another scan can be requested.
    pub fn is_free(&self) -> bool {
        !self.busy.load(Acquire)
    }

    /// Requests a scan for these runs. [`Locks::answer`] returns the runs with too many locks.
    pub fn ask(&self, runs: Vec<Run>) {
        self.busy.store(true, Release);
        let _ = self.ask.send(runs);
    }

    /// Returns the runs with too many locks, after `answered` has counted an answer.
    pub fn answer(&self) -> Result<Vec<Run>, SupervisorError> {
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.answered, &mut count);
        match self.answers.try_recv() {
            Ok(runs) => Ok(runs),
            Err(TryRecvError::Empty) => Ok(Vec::new()),
            Err(TryRecvError::Disconnected) => Err(thread_ended()),
        }
    }
}

fn thread_ended() -> SupervisorError {
    SupervisorError::new(SupervisorStep::LocksThread).with_hint(SupervisorHint::ThreadEnded)
}

/// The locks of flock(2) under each process id at the last scan.
#[derive(Default)]
struct History {
    entries: HashMap<i32, Entry>,
    /// The time of the last scan, in clock ticks since the boot; 0 before the first scan.
    scanned_at_ticks: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    /// The start time of the process with this id; `None` if it had ended.
    started: Option<u64>,
    locks: usize,
    /// The number of these locks that existed before the process.
    inherited: usize,
}

impl History {
    /// Determines, for each process id, how many of its locks were not created by the process that
    /// has the id now. `now_ticks` is the time of this scan, and `started` the start time of a
    /// process, both in clock ticks since the boot.
    fn update(
        &mut self,
        flocks: &HashMap<i32, usize>,
        now_ticks: u64,
        started: impl Fn(i32) -> Option<u64>,
    ) {
        let entry = |(&pid, &locks): (&i32, &usize)| {
            let started = started(pid);
            let inherited = match self.entries.get(&pid) {
                Some(before) if before.started == started => before.inherited,
                // An earlier process with this id created them.
                Some(before) => before.locks,
                // The process existed at the last scan and had few locks.
                None if started.is_some_and(|started| started < self.scanned_at_ticks) => 0,
                // A new process may have the id of an ended process whose locks outlived it. In a
                // PID namespace other than the initial one, the list hides such locks until a new
                // process has the id. Later locks of the new process count. The open files of the
                // earlier locks are charged to their run.
                None => locks,
            };
            (
                pid,
                Entry {
                    started,
                    locks,
                    inherited: inherited.min(locks),
                },
            )
        };
        let many = flocks
            .iter()
            .filter(|&(_, &locks)| locks > MAX_IGNORED_LOCKS);
        self.entries = many.map(entry).collect();
        self.scanned_at_ticks = now_ticks;
    }

    fn inherited(&self, pid: i32) -> usize {
        self.entries.get(&pid).map_or(0, |entry| entry.inherited)
    }
}

/// The runs with more locks than allowed.
fn runs_over_limit(list: &OwnedFd, runs: &[Run], history: &mut History) -> Vec<Run> {
    // Reading can fail, for example because memory is short. The next scan may succeed.
    let Ok(text) = read(list) else {
        return Vec::new();
    };
    let LockCounts {
        mut by_process,
        flocks,
    } = count_locks(&text);
    history.update(&flocks, tree::boot_ticks(), |pid| {
        Some(tree::stat(pid)?.started)
    });
    for (pid, locks) in &mut by_process {
        *locks -= history.inherited(*pid);
    }
    if by_process.values().sum::<usize>() <= MAX_LOCKS_PER_RUN {
        return Vec::new();
    }
    let mut counts = vec![0; runs.len()];
    let mut known: HashMap<i32, Option<usize>> = runs
        .iter()
        .enumerate()
        .map(|(index, run)| (run.pid1, Some(index)))
        .collect();
    for (pid, locks) in by_process {
        if let Some(index) = find_ancestor(pid, &mut known, |pid| Some(tree::stat(pid)?.parent))
            && let Some(count) = counts.get_mut(index)
        {
            *count += locks;
        }
    }
    runs.iter()
        .zip(counts)
        .filter(|&(_, count)| count > MAX_LOCKS_PER_RUN)
        .map(|(run, _)| *run)
        .collect()
}

fn read(list: &OwnedFd) -> rustix::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    while text.len() < MAX_LIST_BYTES {
        match rustix::io::pread(list, &mut buffer, text.len() as u64) {
            Ok(0) => break,
            Ok(length) => text.extend_from_slice(buffer.get(..length).unwrap_or(&[])),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(text)
}

/// The number of locks of each process.
#[derive(Debug, Default, PartialEq, Eq)]
struct LockCounts {
    by_process: HashMap<i32, usize>,
    /// The locks of flock(2) among them.
    flocks: HashMap<i32, usize>,
}

/// Parses the list. A line is `12: POSIX  ADVISORY  WRITE 4711 08:01:1234 0 EOF`; a waiting lock
/// has `->` before its kind.
fn count_locks(text: &[u8]) -> LockCounts {
    let mut found = LockCounts::default();
    for line in text.split(|&byte| byte == b'\n') {
        let mut words = line
            .split(|&byte| byte == b' ')
            .filter(|word| !word.is_empty())
            .skip(1);
        let is_flock = match words.next() {
            Some(b"POSIX") => false,
            Some(b"FLOCK") => true,
            _ => continue,
        };
        let pid = words
            .nth(2)
            .and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
        if let Some(pid) = pid.filter(|&pid: &i32| pid > 0) {
            *found.by_process.entry(pid).or_default() += 1;
            if is_flock {
                *found.flocks.entry(pid).or_default() += 1;
            }
        }
    }
    found
}

/// Finds the known process from which `pid` descends. All processes of a PID namespace descend from
/// its first process as long as that process lives.
fn find_ancestor(
    pid: i32,
    known: &mut HashMap<i32, Option<usize>>,
    parent: impl Fn(i32) -> Option<i32>,
) -> Option<usize> {
    let mut passed = Vec::new();
    let mut at = pid;
    let found = loop {
        if let Some(&found) = known.get(&at) {
            break found;
        }
        // This preliminary answer ensures that changing parents cannot form a cycle.
        known.insert(at, None);
        passed.push(at);
        match parent(at) {
            Some(above) => at = above,
            None => break None,
        }
    };
    for pid in passed {
        known.insert(pid, found);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{
        Entry, History, LockCounts, Locks, MAX_IGNORED_LOCKS, MAX_LOCKS_PER_RUN, Run, count_locks,
        find_ancestor, runs_over_limit,
    };
    use std::collections::HashMap;

    const LIST: &str = "1: POSIX  ADVISORY  WRITE 4711 fe:00:12 4 4\n\
                        2: POSIX  ADVISORY  READ  4711 fe:00:12 8 EOF\n\
                        2: -> POSIX  ADVISORY  WRITE 4712 fe:00:12 8 8\n\
                        3: OFDLCK ADVISORY  WRITE -1 fe:00:12 0 0\n\
                        4: FLOCK  ADVISORY  WRITE 4713 fe:00:12 0 EOF\n\
                        5: POSIX  ADVISORY  READ 12 00:1a:7 0 EOF\n\
                        6: POSIX  ADVISORY  WRI";

    #[test]
    fn locks_count_for_their_creator() {
        let expected = LockCounts {
            by_process: HashMap::from([(4711, 2), (4713, 1), (12, 1)]),
            flocks: HashMap::from([(4713, 1)]),
        };
        assert_eq!(count_locks(LIST.as_bytes()), expected);
        assert_eq!(count_locks(b""), LockCounts::default());
    }

    #[test]
    fn locks_belong_to_ancestor_run_of_their_creator() {
        // Two processes of the first run, one of no run, one in a cycle and one that has ended.
        let parents = HashMap::from([(30, 20), (20, 10), (40, 1), (50, 51), (51, 50), (11, 5)]);
        let parent = |pid| parents.get(&pid).copied();
        let mut known = HashMap::from([(10, Some(0)), (11, Some(1))]);
        let mut find = |pid| find_ancestor(pid, &mut known, parent);
        assert_eq!(
            [30, 20, 10, 11].map(&mut find),
            [Some(0), Some(0), Some(0), Some(1)]
        );
        assert_eq!([40, 50, 51, 60, 5].map(&mut find), [None; 5]);
        // The answers are stored.
        assert_eq!([30, 40].map(find), [Some(0), None]);
    }

    #[test]
    fn run_with_too_many_locks_is_found() {
        let ours = std::process::id();
        let parent = std::os::unix::process::parent_id();
        let list = |of_ours: usize, of_its: usize| {
            let line = |pid: u32| format!("1: POSIX  ADVISORY  WRITE {pid} fe:00:12 4 4\n");
            let file = rustix::fs::memfd_create(c"list", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
            let text = line(ours).repeat(of_ours) + &line(parent).repeat(of_its);
            std::io::Write::write_all(
                &mut std::fs::File::from(file.try_clone().unwrap()),
                text.as_bytes(),
            )
            .unwrap();
            file
        };
        let run = Run {
            id: 7,
            pid1: parent as i32,
        };
        let other = Run { id: 8, pid1: 1 };
        let too_many = |list, runs: &[Run]| runs_over_limit(&list, runs, &mut History::default());
        assert_eq!(too_many(list(MAX_LOCKS_PER_RUN, 1), &[other, run]), [run]);
        assert_eq!(too_many(list(MAX_LOCKS_PER_RUN, 0), &[run]), []);
        assert_eq!(
            too_many(
                list(MAX_LOCKS_PER_RUN + 1, 0),
                &[Run {
                    id: 9,
                    pid1: i32::MAX
                }]
            ),
            []
        );
    }

    #[test]
    fn inherited_flocks_do_not_count() {
        let mut history = History::default();
        let mut now = 10;
        let mut look = |locks: usize, started: Option<u64>| {
            now += 2;
            history.update(&HashMap::from([(30, locks)]), now, |_| started);
            locks - history.inherited(30)
        };
        // A process with few locks at the first scan.
        look(MAX_IGNORED_LOCKS, Some(7));
        // A living process creates locks and ends. Another process gets its id and creates locks
        // itself.
        assert_eq!(look(1000, Some(7)), 1000);
        assert_eq!(look(2000, Some(7)), 2000);
        look(3000, None);
        assert_eq!(look(3000, Some(9)), 0);
        assert_eq!(look(3500, Some(9)), 500);
        // Some old or new locks have disappeared. Locks that may be old do not count for the
        // process.
        assert_eq!(look(3100, Some(9)), 100);
        // The process has ended between scans, and a third process has its id.
        assert_eq!(look(3100, Some(12)), 0);
        assert_eq!(
            look(MAX_IGNORED_LOCKS, Some(12)),
            MAX_IGNORED_LOCKS,
            "few locks are not recorded"
        );
        // The locks are seen for the first time, and the process has started since the last scan.
        assert_eq!(look(5000, Some(31)), 0);
        assert_eq!(look(7000, Some(31)), 2000);
    }

    /// The history contains locks of an earlier process with this process's id.
    #[test]
    fn run_with_inherited_flocks_stays_below_limit() {
        let ours = std::process::id() as i32;
        let line = format!("1: FLOCK  ADVISORY  READ  {ours} fe:00:12 0 EOF\n");
        let file = rustix::fs::memfd_create(c"list", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::io::pwrite(&file, line.repeat(2 * MAX_LOCKS_PER_RUN).as_bytes(), 0).unwrap();
        let run = Run { id: 7, pid1: ours };
        let before = Entry {
            started: None,
            locks: 2 * MAX_LOCKS_PER_RUN,
            inherited: 0,
        };
        let history = |entries, scanned_at_ticks| History {
            entries,
            scanned_at_ticks,
        };
        let mut inherits = history(HashMap::from([(ours, before)]), 1);
        assert_eq!(runs_over_limit(&file, &[run], &mut inherits), []);
        let mut made_them = history(HashMap::new(), u64::MAX);
        assert_eq!(runs_over_limit(&file, &[run], &mut made_them), [run]);
        let mut first_look = History::default();
        assert_eq!(runs_over_limit(&file, &[run], &mut first_look), []);
    }

    #[test]
    fn scan_thread_answers() {
        let locks = Locks::start(1).unwrap().expect("/proc/locks");
        for _ in 0..2 {
            assert!(locks.is_free());
            locks.ask(vec![Run {
                id: 1,
                pid1: std::process::id() as i32,
            }]);
            let mut wait = [rustix::event::PollFd::new(
                &*locks.answered,
                rustix::event::PollFlags::IN,
            )];
            assert_eq!(rustix::event::poll(&mut wait, None), Ok(1));
            assert_eq!(locks.answer(), Ok(Vec::new()));
            while !locks.is_free() {
                std::thread::yield_now();
            }
        }
    }
}
