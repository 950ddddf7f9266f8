//! Injects faults into system calls, as the owner of a seccomp listener.

#![allow(unsafe_code, reason = "answers seccomp notifications with ioctl(2)")]

use millibox::{Error, Supervisor};
use millibox_tests::{builder, copy_executable, directory, eventually, executable, set_mode};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The process that makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Keeper,
    Supervisor,
    Spawner,
    Mounter,
    Runner,
    Zygote,
    Pid1,
    Target,
}

/// A call: the `count`-th call with this number by this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    pub(super) role: Role,
    pub(super) number: i32,
    pub(super) count: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The call returns this errno.
    Errno(i32),
    /// This process is killed while the call waits.
    Kill(Role),
    /// All runners of the caller are killed. The call waits until they and all their descendants
    /// have ended.
    NoRunners,
}

/// The calls in which no error is injected. close(2) closes the descriptor even if it returns an
/// error, and the other calls cannot fail.
const CANNOT_FAIL: [i64; 11] = [
    libc::SYS_close,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_set_tid_address,
    libc::SYS_umask,
    // These calls wait for existing children with valid arguments.
    libc::SYS_wait4,
    libc::SYS_waitid,
];

/// The name of the threads that answer the calls.
const ANSWER_THREAD: &str = "answers";

/// The number of runners of the single slot. One of them has a prepared run.
pub(super) const RUNNERS_PER_SLOT: usize = 2;

#[derive(Default)]
pub(super) struct Recording {
    /// The number of times that each call was made since the recording began.
    pub(super) counts: BTreeMap<(Role, i32), usize>,
    /// All calls, in order.
    pub(super) seen: Vec<Point>,
    pub(super) fault: Option<(Point, Fault)>,
    pub(super) fired: bool,
    /// All processes that made a call.
    pub(super) pids: BTreeSet<i32>,
    pub(super) last: Option<Instant>,
}

/// The directory of `faulty`, and the recording of the processes that were started through it.
pub(super) struct FaultInjector {
    directory: TempDir,
    watch: Arc<Mutex<Recording>>,
}

impl FaultInjector {
    pub(super) fn new() -> FaultInjector {
        let directory = directory();
        let copy = directory.path().join("millibox-supervisor");
        copy_executable(executable("faulty"), &copy);
        let real = executable("millibox-supervisor");
        std::fs::write(
            directory.path().join("supervisor"),
            real.as_os_str().as_encoded_bytes(),
        )
        .expect("a file");
        let listener = UnixListener::bind(directory.path().join("socket")).expect("a socket");
        set_mode(&directory.path().join("socket"), 0o777);
        let watch = Arc::new(Mutex::new(Recording::default()));
        let shared = watch.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let watch = shared.clone();
                let named = std::thread::Builder::new().name(ANSWER_THREAD.to_owned());
                named
                    .spawn(move || answer(&receive_listener(&socket), &watch))
                    .expect("a thread");
            }
        });
        FaultInjector { directory, watch }
    }

    pub(super) fn watch(&self) -> MutexGuard<'_, Recording> {
        self.watch
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn executable(&self) -> PathBuf {
        self.directory.path().join("millibox-supervisor")
    }

    pub(super) fn start(&self) -> Result<Supervisor, Error> {
        builder()
            .slots(1)
            .runners_per_slot(RUNNERS_PER_SLOT)
            .executable(self.executable())
            .start()
    }

    /// Starts a new recording with this fault. Returns whether the previous fault has happened. If
    /// it has not, it never will.
    pub(super) fn arm(&self, fault: Option<(Point, Fault)>) -> bool {
        std::mem::replace(
            &mut *self.watch(),
            Recording {
                fault,
                ..Recording::default()
            },
        )
        .fired
    }

    /// Waits until no process has made a call for a while and no process waits for a CPU. The next
    /// run is then prepared.
    pub(super) fn settle(&self, supervisor: &Supervisor) {
        let quiet = Duration::from_millis(8);
        let quiet = || self.watch().last.is_none_or(|last| last.elapsed() > quiet);
        eventually(Duration::from_secs(5), || {
            quiet() && all_sleep(supervisor) && quiet() && all_sleep(supervisor)
        });
    }
}

/// Returns whether all processes of the supervisor, and the threads that answer their calls, are
/// waiting.
fn all_sleep(supervisor: &Supervisor) -> bool {
    // The state is field 3, after the last ')' (proc_pid_stat(5)). A process that waits for a
    // vforked child is in state 'D'.
    let sleeps = |stat: PathBuf| {
        let stat = std::fs::read_to_string(stat).unwrap_or_default();
        !stat
            .rsplit(')')
            .next()
            .is_some_and(|fields| matches!(fields.trim_start().as_bytes().first(), Some(b'R')))
    };
    let threads = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_answering = |thread: &PathBuf| {
        std::fs::read(thread.join("comm"))
            .is_ok_and(|name| name.trim_ascii() == ANSWER_THREAD.as_bytes())
    };
    millibox_tests::descendants(supervisor.info().pid())
        .iter()
        .all(|process| sleeps(format!("/proc/{}/stat", process.pid).into()))
        && threads
            .filter(is_answering)
            .all(|thread| sleeps(thread.join("stat")))
}

/// Receives the listener that `faulty` sends.
fn receive_listener(socket: &UnixStream) -> OwnedFd {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut pid = [0; 4];
    rustix::net::recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut pid)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )
    .expect("a message");
    let mut descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let listener = descriptors
        .next()
        .and_then(|mut all| all.next())
        .expect("a listener");
    // The sender is a child of this process.
    let sender = rustix::process::Pid::from_raw(i32::from_ne_bytes(pid));
    let _ = rustix::process::waitpid(sender, rustix::process::WaitOptions::empty());
    listener
}

/// The role of a process; `None` if it is a program or has ended.
pub(super) fn role(pid: i32) -> Option<Role> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_default()
    };
    Some(match field("Name:").trim() {
        "millibox-supervi" => Role::Keeper,
        "millibox-supe" | "millibox-super" => Role::Supervisor,
        "millibox-spawn" => Role::Spawner,
        "millibox-mount" => Role::Mounter,
        "millibox-runner" => Role::Runner,
        // All three processes have this name. pid1 and target are in their own PID namespace.
        "millibox-zygote" => match field("NSpid:").split_whitespace().last() {
            Some("1") => Role::Pid1,
            Some("2") => Role::Target,
            _ => Role::Zygote,
        },
        _ => return None,
    })
}

// SECCOMP_IOCTL_NOTIF_RECV and _SEND (linux/seccomp.h), the same on x86-64 and aarch64.
const RECEIVE: u64 = 0xc050_2100;
const SEND: u64 = 0xc018_2101;

/// Answers calls until no process is left that could make a call.
fn answer(listener: &OwnedFd, watch: &Mutex<Recording>) {
    loop {
        let mut ready = [rustix::event::PollFd::new(
            listener,
            rustix::event::PollFlags::IN,
        )];
        let _ = rustix::event::poll(&mut ready, None);
        if !ready[0].revents().contains(rustix::event::PollFlags::IN) {
            return;
        }
        let mut call = MaybeUninit::<libc::seccomp_notif>::zeroed();
        // SAFETY: the kernel requires zeroed memory of this size, and fills it.
        let call = unsafe {
            if libc::ioctl(listener.as_raw_fd(), RECEIVE, call.as_mut_ptr()) != 0 {
                continue; // The caller is dead.
            }
            call.assume_init()
        };
        let mut answer = libc::seccomp_notif_resp {
            id: call.id,
            val: 0,
            error: 0,
            flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
        };
        let pid = call.pid as i32;
        if let Some(role) = role(pid) {
            let mut watch = watch
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            let count = watch.counts.entry((role, call.data.nr)).or_default();
            *count += 1;
            let point = Point {
                role,
                number: call.data.nr,
                count: *count,
            };
            watch.seen.push(point);
            watch.pids.insert(pid);
            watch.last = Some(Instant::now());
            match watch.fault {
                Some((at, fault)) if at == point && !watch.fired => {
                    watch.fired = true;
                    match fault {
                        Fault::Errno(_) if CANNOT_FAIL.contains(&at.number.into()) => {}
                        Fault::Errno(errno) => {
                            answer.flags = 0;
                            answer.error = -errno;
                        }
                        Fault::Kill(victim) => kill(victim, role, pid),
                        Fault::NoRunners => kill_runners(pid),
                    }
                }
                _ => {}
            }
        }
        // SAFETY: the kernel reads a structure of this type.
        unsafe { libc::ioctl(listener.as_raw_fd(), SEND, &raw const answer) };
    }
}

/// Kills the caller itself if `victim` is its role, otherwise its nearest relative with this role.
fn kill(victim: Role, role: Role, pid: i32) {
    let parent = |pid: i32| millibox_tests::process(pid).map(|process| process.parent);
    let mut at = Some(pid);
    if victim == role {
        return millibox_tests::kill(pid, rustix::process::Signal::KILL);
    }
    while let Some(now) = at.filter(|now| *now > 1) {
        let below = millibox_tests::descendants(now as u32);
        if let Some(found) = below
            .iter()
            .find(|process| self::role(process.pid) == Some(victim))
        {
            return millibox_tests::kill(found.pid, rustix::process::Signal::KILL);
        }
        if self::role(now).is_none_or(|role| role <= Role::Supervisor) {
            return;
        }
        at = parent(now);
    }
}

/// Implements [`Fault::NoRunners`].
fn kill_runners(supervisor: i32) {
    let below = millibox_tests::descendants(supervisor as u32);
    let runners = below
        .iter()
        .filter(|process| role(process.pid) == Some(Role::Runner));
    // List the families before the kills, because orphans have another parent.
    let families: Vec<Vec<_>> = runners
        .map(|runner| millibox_tests::descendants(runner.pid as u32))
        .collect();
    for family in &families {
        millibox_tests::kill(family[0].pid, rustix::process::Signal::KILL);
    }
    let families: Vec<i32> = families
        .iter()
        .flatten()
        .map(|process| process.pid)
        .collect();
    eventually(Duration::from_secs(10), || {
        families
            .iter()
            .all(|pid| millibox_tests::process(*pid).is_none())
    });
}
