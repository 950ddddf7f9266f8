//! File locks: the kernel charges no cgroup for them, and nothing limits them.
//!
//! A lock (fcntl(2), `F_SETLK`; flock(2)) takes the kernel some 200 bytes that no cgroup is charged
//! for (`filelock_cache` in fs/locks.c is not accounted; RLIMIT_LOCKS has had no effect since Linux
//! 2.4.25), and one file may have any number of them. A run that locks every second byte of a file
//! takes some 70 MB a second beyond every limit.
//!
//! /proc/locks lists them with the process that made each. Every user can read it, and it shows all
//! processes that the reader's /proc shows; /proc/PID/fdinfo would hide locks of programs that may
//! be executed but not read. But reading it waits for RCU, some 10 ms, because processes that lock
//! are kept out meanwhile (`percpu_down_write()` in `locks_start()`). So a thread of the supervisor
//! reads it, for runs that have been in progress for a while, and again at intervals. A run with
//! more than [`MOST_LOCKS`] ends by its memory limit. Short runs pay nothing.
//!
//! Locks that are not in that list under the number of a living process are refused by the profiles
//! or bounded otherwise. Locks of open files (`F_OFD_SETLK`) have no process. Those of processes
//! that share a descriptor table without being threads (`CLONE_FILES`) outlive the process that
//! made them. Leases are refused. A lock of flock(2) may outlive its process, too, but it belongs
//! to an open file, for which the run is charged more than the lock takes. It makes the list
//! longer.
//!
//! A lock that outlives its process is listed under a number that the kernel may give to a process
//! of another run (`locks_translate_pid()` in fs/locks.c looks up the number, not the process). So
//! each look remembers how many locks of flock(2) a number had, and the start time of its process.
//! Locks that existed before that process was first seen do not count as its own ([`History`]).
//! A look without runs precedes a launch if the last one is older than [`LONGEST_PAUSE_NS`], so
//! that the memory is recent when a process starts. In a PID namespace other than the first one the
//! list hides the locks of dead processes. So locks that a process has when it is first seen do not
//! count either, if it has started since the last look.

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

/// The most locks of a run. Databases have a few for each file. More would make the list longer.
const MOST_LOCKS: usize = 1024;
/// The time after which a run is looked at, and between two looks.
pub const PERIOD_NS: u64 = 100_000_000;
/// The thread rests this many times as long as a look took.
const LOOKS_APART: u32 = 10;
/// The most bytes of the list that are read: some 80,000 locks. For each page of it the kernel
/// walks through all locks before it.
const MOST_READ: usize = 4 << 20;

/// A launch this long after the last look requests one, to know which locks exist already.
pub const LONGEST_PAUSE_NS: u64 = 1_000_000_000;
/// Fewer locks of flock(2) under one number are not remembered, because they decide nothing.
const FEW: usize = MOST_LOCKS / 16;

/// A run in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub id: u64,
    pub pid1: i32,
}

/// The thread, as the supervisor sees it.
pub struct Locks {
    ask: Sender<Vec<Run>>,
    answers: Receiver<Vec<Run>>,
    /// Counts answers.
    pub answered: Arc<OwnedFd>,
    /// The thread looks or rests.
    busy: Arc<AtomicBool>,
}

impl Locks {
    /// Starts the thread, before the supervisor gives up creating any. `None` if /proc does not
    /// list locks (proc(5), `subset=pid`), hides the parent of process `another` (`hidepid`), or
    /// belongs to another PID namespace.
    pub fn start(another: i32) -> Result<Option<Locks>, SupervisorError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let list = match rustix::fs::open("/proc/locks", flags, Mode::empty()) {
            Ok(list) if tree::proc_is_ours() && tree::stat(another).is_some() => list,
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
        let look_on = move || {
            // libc has set the thread up with calls that the supervisor's seccomp program will
            // refuse.
            let mut goes_on = answer.send(Vec::new());
            let mut history = History::default();
            while let (Ok(()), Ok(runs)) = (goes_on, asked.recv()) {
                let before = calls::thread_cpu_ns();
                goes_on = answer.send(have_too_many(&list, &runs, &mut history));
                let _ = rustix::io::write(&*tell, &1u64.to_ne_bytes());
                let took = Duration::from_nanos(calls::thread_cpu_ns().saturating_sub(before));
                std::thread::sleep(took * LOOKS_APART);
                // Only now, or the next request would be old when it is handled.
                rested.store(false, Release);
            }
        };
        std::thread::Builder::new()
            .name("millibox-locks".to_owned())
            .stack_size(256 << 10)
            .spawn(look_on)
            .map_err(|error| SupervisorError::new(SupervisorStep::LocksThread).with_io(&error))?;
        answers.recv().map_err(|_| thread_ended())?;
        Ok(Some(Locks {
            ask,
            answers,
            answered,
            busy,
        }))
    }

    /// Whether another look can be requested.
    pub fn is_free(&self) -> bool {
        !self.busy.load(Acquire)
    }

    /// Requests a look at these runs. [`Locks::answer`] returns those with too many locks.
    pub fn ask(&self, runs: Vec<Run>) {
        self.busy.store(true, Release);
        let _ = self.ask.send(runs);
    }

    /// The runs with too many locks, once `answered` has counted an answer.
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

/// What stood in the list at the last look: locks of flock(2) under each number.
#[derive(Default)]
struct History {
    entries: HashMap<i32, Entry>,
    /// When the last look was, in clock ticks since the boot; 0 before the first look.
    looked_at_ticks: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    /// The start time of the process with the number; `None` if it had ended.
    started: Option<u64>,
    locks: usize,
    /// How many of them existed before that process.
    inherited: usize,
}

impl History {
    /// Finds out, for each number, how many of its locks the process that has the number now did
    /// not make. `now_ticks` is the time of this look, and `started` the start of a process, both
    /// in clock ticks since the boot.
    fn look(
        &mut self,
        flocks: &HashMap<i32, usize>,
        now_ticks: u64,
        started: impl Fn(i32) -> Option<u64>,
    ) {
        let entry = |(&pid, &locks): (&i32, &usize)| {
            let started = started(pid);
            let inherited = match self.entries.get(&pid) {
                Some(before) if before.started == started => before.inherited,
                // An earlier process with this number made them.
                Some(before) => before.locks,
                // The process existed at the last look, and had few locks.
                None if started.is_some_and(|started| started < self.looked_at_ticks) => 0,
                // A new process may have the number of one whose locks outlived it. In a PID
                // namespace other than the first one, the list hides such locks until then. What
                // the new process makes from now on counts; the open files of the others are
                // charged to its run.
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
        let many = flocks.iter().filter(|&(_, &locks)| locks > FEW);
        self.entries = many.map(entry).collect();
        self.looked_at_ticks = now_ticks;
    }

    fn inherited(&self, pid: i32) -> usize {
        self.entries.get(&pid).map_or(0, |entry| entry.inherited)
    }
}

/// The runs with more locks than allowed.
fn have_too_many(list: &OwnedFd, runs: &[Run], history: &mut History) -> Vec<Run> {
    // For example because memory is short. The next look may succeed.
    let Ok(text) = read(list) else {
        return Vec::new();
    };
    let Makers { mut makers, flocks } = makers(&text);
    history.look(&flocks, tree::boot_ticks(), |pid| {
        Some(tree::stat(pid)?.started)
    });
    for (pid, locks) in &mut makers {
        *locks -= history.inherited(*pid);
    }
    if makers.values().sum::<usize>() <= MOST_LOCKS {
        return Vec::new();
    }
    let mut counts = vec![0; runs.len()];
    let mut known: HashMap<i32, Option<usize>> = runs
        .iter()
        .enumerate()
        .map(|(index, run)| (run.pid1, Some(index)))
        .collect();
    for (pid, locks) in makers {
        if let Some(index) = whose(pid, &mut known, |pid| Some(tree::stat(pid)?.parent))
            && let Some(count) = counts.get_mut(index)
        {
            *count += locks;
        }
    }
    runs.iter()
        .zip(counts)
        .filter(|&(_, count)| count > MOST_LOCKS)
        .map(|(run, _)| *run)
        .collect()
}

fn read(list: &OwnedFd) -> rustix::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    while text.len() < MOST_READ {
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
struct Makers {
    makers: HashMap<i32, usize>,
    /// The locks of flock(2) among them.
    flocks: HashMap<i32, usize>,
}

/// Parses the list. A line is `12: POSIX  ADVISORY  WRITE 4711 08:01:1234 0 EOF`; a waiting lock
/// has `->` before its kind.
fn makers(text: &[u8]) -> Makers {
    let mut found = Makers::default();
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
            *found.makers.entry(pid).or_default() += 1;
            if is_flock {
                *found.flocks.entry(pid).or_default() += 1;
            }
        }
    }
    found
}

/// Which of the known processes this one descends from. All processes of a PID namespace descend
/// from its first process as long as that lives.
fn whose(
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
        // Until the answer is known, so that changing parents cannot make a circle.
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
        Entry, FEW, History, Locks, MOST_LOCKS, Makers, Run, have_too_many, makers, whose,
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
    fn locks_count_for_the_process_that_made_them() {
        let expected = Makers {
            makers: HashMap::from([(4711, 2), (4713, 1), (12, 1)]),
            flocks: HashMap::from([(4713, 1)]),
        };
        assert_eq!(makers(LIST.as_bytes()), expected);
        assert_eq!(makers(b""), Makers::default());
    }

    #[test]
    fn locks_are_those_of_the_run_that_their_maker_descends_from() {
        // Two processes of the first run, one of no run, one in a circle, one that has ended.
        let parents = HashMap::from([(30, 20), (20, 10), (40, 1), (50, 51), (51, 50), (11, 5)]);
        let parent = |pid| parents.get(&pid).copied();
        let mut known = HashMap::from([(10, Some(0)), (11, Some(1))]);
        let mut find = |pid| whose(pid, &mut known, parent);
        assert_eq!(
            [30, 20, 10, 11].map(&mut find),
            [Some(0), Some(0), Some(0), Some(1)]
        );
        assert_eq!([40, 50, 51, 60, 5].map(&mut find), [None; 5]);
        // The answers are remembered.
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
        let too_many = |list, runs: &[Run]| have_too_many(&list, runs, &mut History::default());
        assert_eq!(too_many(list(MOST_LOCKS, 1), &[other, run]), [run]);
        assert_eq!(too_many(list(MOST_LOCKS, 0), &[run]), []);
        assert_eq!(
            too_many(
                list(MOST_LOCKS + 1, 0),
                &[Run {
                    id: 9,
                    pid1: i32::MAX
                }]
            ),
            []
        );
    }

    #[test]
    fn flocks_of_an_earlier_process_with_the_same_number_do_not_count() {
        let mut history = History::default();
        let mut now = 10;
        let mut look = |locks: usize, started: Option<u64>| {
            now += 2;
            history.look(&HashMap::from([(30, locks)]), now, |_| started);
            locks - history.inherited(30)
        };
        // A process with few locks at the first look.
        look(FEW, Some(7));
        // A living process makes them and ends. Another one gets its number and makes some itself.
        assert_eq!(look(1000, Some(7)), 1000);
        assert_eq!(look(2000, Some(7)), 2000);
        look(3000, None);
        assert_eq!(look(3000, Some(9)), 0);
        assert_eq!(look(3500, Some(9)), 500);
        // Some of the old or of the new ones have gone. The process is not blamed for locks that
        // may be either.
        assert_eq!(look(3100, Some(9)), 100);
        // The process has ended unseen, and a third one has its number.
        assert_eq!(look(3100, Some(12)), 0);
        assert_eq!(look(FEW, Some(12)), FEW, "few locks are not remembered");
        // Its locks are seen for the first time, and the process has started since the last look.
        assert_eq!(look(5000, Some(31)), 0);
        assert_eq!(look(7000, Some(31)), 2000);
    }

    /// As if an earlier process with this process's number had made the locks.
    #[test]
    fn run_with_inherited_flocks_has_not_too_many() {
        let ours = std::process::id() as i32;
        let line = format!("1: FLOCK  ADVISORY  READ  {ours} fe:00:12 0 EOF\n");
        let file = rustix::fs::memfd_create(c"list", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::io::pwrite(&file, line.repeat(2 * MOST_LOCKS).as_bytes(), 0).unwrap();
        let run = Run { id: 7, pid1: ours };
        let before = Entry {
            started: None,
            locks: 2 * MOST_LOCKS,
            inherited: 0,
        };
        let history = |entries, looked_at_ticks| History {
            entries,
            looked_at_ticks,
        };
        let mut inherits = history(HashMap::from([(ours, before)]), 1);
        assert_eq!(have_too_many(&file, &[run], &mut inherits), []);
        let mut made_them = history(HashMap::new(), u64::MAX);
        assert_eq!(have_too_many(&file, &[run], &mut made_them), [run]);
        let mut first_look = History::default();
        assert_eq!(have_too_many(&file, &[run], &mut first_look), []);
    }

    #[test]
    fn the_thread_answers() {
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
