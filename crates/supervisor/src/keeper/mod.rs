//! The keeper: the client side's part that outlives the client's own code.
//!
//! It is needed because of what the supervisor may not do. Started by root, it alone can
//! make and remove version 1 cgroups; started by a user with a delegated subtree, it is
//! who removes the cgroups when client and supervisor are both killed. It makes the
//! cgroups, starts the supervisor (as an unprivileged user, for good), and then sleeps
//! until the supervisor is dead, but for one service: a fresh pids or memory cgroup for a runner
//! ([`crate::backend::hybrid`]). A supervisor that outlives its client it ends.
//!
//! When the supervisor is started it gives up what that does not need ([`crate::confine`]).
//!
//! It takes nothing from the supervisor but one-byte messages on sockets that say which
//! runner they belong to. Without cgroups there is nothing to keep, and no keeper.

mod cgroup2;
mod hosts;
mod hybrid;
mod remove;

pub use remove::sweep;

use crate::backend::Handover;
use crate::confine;
use crate::messages::{complain, failed};
use crate::options::{BackendChoice, Options};
use crate::start::{self, Inheritance};
use crate::sys::{self, calls, process};
use millibox_wire::{SupervisorError, SupervisorHint, SupervisorStep};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Cgroups that were made for one supervisor.
pub struct Made {
    pub handover: Handover,
    /// Their top directories, to be removed in the end.
    pub tops: Vec<Top>,
    /// Descriptors that must stay open until the supervisor has them.
    pub open: Vec<OwnedFd>,
    /// Where the supervisor itself shall live.
    pub supervisor: Supervisor,
    /// For hybrid: serves runners.
    pub renewals: Option<hybrid::Renewals>,
    /// For cgroup2: how processes that had to make room get back.
    pub evacuated: Option<cgroup2::Evacuated>,
}

/// How the supervisor's cgroup comes about.
pub enum Supervisor {
    /// It is born in this cgroup, a directory.
    Inside(OwnedFd),
    /// It stays in ours, whose cgroup.procs this is, if it could be opened.
    Beside(Option<OwnedFd>),
}

/// A directory of ours among foreign cgroups. The lock says that its owner lives: it goes
/// with the last process that has it, in whatever PID namespace.
pub struct Top {
    pub path: String,
    _lock: OwnedFd,
}

impl Top {
    /// Makes `parent/name` and locks it.
    fn make(parent: &str, name: &str) -> Result<Top, Refusal> {
        let path = format!("{parent}/{name}");
        let failed = |errno| Refusal::new(errno, format_args!("cannot make the cgroup {path}"));
        // A keeper that starts at the same time takes one that is not locked yet for an orphan. It
        // looks once.
        for _ in 0..1000 {
            rustix::fs::mkdir(&path, rustix::fs::Mode::from_raw_mode(0o755)).map_err(failed)?;
            match remove::lock(&path, rustix::fs::FlockOperation::LockExclusive) {
                Ok(lock) => return Ok(Top { path, _lock: lock }),
                Err(rustix::io::Errno::NOENT) => {}
                Err(errno) => return Err(failed(errno)),
            }
        }
        Err(Refusal::NotHere(format!(
            "cannot make the cgroup {path}: somebody removes it again and again"
        )))
    }
}

/// A name that no other supervisor has.
fn fresh_name() -> String {
    let mut random = [0u8; 8];
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    format!(
        "{}{}-{:016x}",
        remove::PREFIX,
        calls::getpid(),
        u64::from_ne_bytes(random)
    )
}

/// The keeper's whole life. Returns the exit code.
///
/// `socket` is taken when the supervisor has it; until then the caller can report an error on it.
pub fn main(
    options: &Options,
    socket: &mut Option<OwnedFd>,
    client: OwnedFd,
) -> Result<i32, SupervisorError> {
    // Ctrl-C at the client's terminal is the client's business.
    if rustix::process::setsid().is_ok() {
        // Where the kernel schedules by sessions (autogroup, sched(7)), the session needs the
        // priority, too: nice values only count within one. Else 64 threads that sleep for 10 us
        // each starved the supervisor, which then enforced no limit for as long as they went on.
        // Only root may lower the value.
        let _ = calls::write_file(libc::AT_FDCWD, c"/proc/self/autogroup", b"-20");
    }
    // It may have been moved from where the command line says.
    let options = &Options {
        socket: socket.as_ref().map_or(-1, AsRawFd::as_raw_fd),
        ..options.clone()
    };
    start::raise_limits(options)?;
    let mut declined = Vec::new();
    let made = choose(options, &mut declined)?;
    let mut inheritance = Inheritance {
        socket: options.socket,
        client: client.as_raw_fd(),
        keeper: 0,
        handover: Handover::Rlimit,
        slots: options.slots,
        runners_per_slot: options.runners_per_slot,
        share_memory: options.share_memory,
        pin: options.pin,
        cpus: options.cpus.clone(),
        cgroups: Vec::new(),
        declined,
        devices: None,
    };
    let Some(mut made) = made else {
        return Err(start::execute(options, inheritance));
    };
    inheritance.handover = made.handover.clone();
    inheritance.cgroups = made
        .tops
        .iter()
        .map(|top| top.path.clone().into_bytes())
        .collect();
    let keeper = calls::getpid();
    inheritance.keeper = keeper;
    // If the supervisor is killed, what was below it comes to us to be waited for.
    let _ = calls::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    // Born there it need not wait for a grace period, as who enters must; a container may refuse
    // clone3(2).
    let born = match &made.supervisor {
        Supervisor::Inside(directory) => process::fork_into(directory.as_raw_fd()).ok(),
        Supervisor::Beside(_) => None,
    };
    let forked = born.map_or_else(process::fork, Ok);
    let supervisor = match forked.map_err(failed(SupervisorStep::Fork)) {
        Ok(Some(pid)) => pid,
        Ok(None) => {
            let _ = calls::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as usize, 0, 0, 0);
            if std::os::unix::process::parent_id() as i32 != keeper {
                calls::exit(1);
            }
            if let (Supervisor::Inside(directory), None) = (&made.supervisor, born)
                && let Err(errno) = calls::write_file(directory.as_raw_fd(), c"cgroup.procs", b"0")
            {
                give_up(socket, &failed(SupervisorStep::EnterCgroup)(errno));
            }
            give_up(socket, &start::execute(options, inheritance));
        }
        Err(why) => {
            clean_up(made);
            return Err(why);
        }
    };
    made.open.clear();
    let parents = made
        .tops
        .iter()
        .filter_map(|top| Some(top.path.rsplit_once('/')?.0.to_owned()))
        .collect::<Vec<_>>();
    if let Err(why) = watch(supervisor).and_then(|()| confine::keeper(&parents)) {
        let _ = calls::kill(supervisor, libc::SIGKILL);
        while process::wait(-1, libc::__WALL).is_ok() {}
        clean_up(made);
        return Err(why);
    }
    *socket = None;
    if let Supervisor::Beside(Some(procs)) =
        std::mem::replace(&mut made.supervisor, Supervisor::Beside(None))
    {
        // To no effect but one: the first who moves processes among cgroups waits for a grace
        // period, some 5 to 20 ms (percpu_down_write() of cgroup_threadgroup_rwsem), and those who
        // follow soon do not. The runners are about to.
        let _ = calls::write(procs.as_raw_fd(), b"0");
    }
    let code = match process::decode_status(keep(supervisor, client, &mut made)) {
        Ok(code) => code,
        Err(signal) => {
            complain(format_args!(
                "the supervisor was {}",
                confine::killed_by(signal)
            ));
            128 + signal
        }
    };
    // All of it is dying: runners by their parent's death, pid1s by theirs.
    while process::wait(-1, libc::__WALL).is_ok() {}
    clean_up(made);
    Ok(code)
}

/// Where the supervisor's pidfd is: the one number that our seccomp program lets us send a signal
/// to.
const SUPERVISOR: i32 = 0;
/// How long a supervisor may live on without its client: it gives those that are dying three
/// seconds.
const WITHOUT_CLIENT: Duration = Duration::from_secs(8);

/// Reports the error to the client and ends the process that would have become the supervisor.
fn give_up(socket: &Option<OwnedFd>, error: &SupervisorError) -> ! {
    if let Some(socket) = socket {
        crate::messages::report(socket, error);
    }
    complain(error);
    calls::exit(1)
}

fn watch(supervisor: i32) -> Result<(), SupervisorError> {
    let pid = rustix::process::Pid::from_raw(supervisor).unwrap_or(rustix::process::Pid::INIT);
    let pidfd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
        .map_err(failed(SupervisorStep::WatchSupervisor))?;
    let placed = calls::dup3(pidfd.as_raw_fd(), SUPERVISOR, libc::O_CLOEXEC);
    placed
        .map(drop)
        .map_err(failed(SupervisorStep::WatchSupervisor))
}

/// Serves runners until the supervisor is dead; its wait status. One that does not end when its
/// client has, since somebody has stopped it or it hangs, is ended.
fn keep(supervisor: i32, client: OwnedFd, made: &mut Made) -> i32 {
    let mut client = Some(client);
    let mut deadline = None;
    loop {
        let left =
            deadline.map(|deadline: Instant| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            deadline = None;
            let _ = rustix::process::pidfd_send_signal(
                sys::borrow(SUPERVISOR),
                rustix::process::Signal::KILL,
            );
            continue;
        }
        let timeout = left.map(|left| Timespec::try_from(left).unwrap_or_default());
        let supervisors_end = sys::borrow(SUPERVISOR);
        // A descriptor that is watched for nothing.
        let mut watched = vec![
            PollFd::new(&supervisors_end, PollFlags::IN),
            client.as_ref().map_or(
                PollFd::new(&supervisors_end, PollFlags::empty()),
                |client| PollFd::new(client, PollFlags::IN),
            ),
        ];
        let mut runners = Vec::new();
        for (runner, socket) in made.renewals.iter().flat_map(hybrid::Renewals::sockets) {
            runners.push(runner);
            watched.push(PollFd::from_borrowed_fd(socket, PollFlags::IN));
        }
        if !matches!(
            poll(&mut watched, timeout.as_ref()),
            Ok(_) | Err(rustix::io::Errno::INTR)
        ) {
            // No more services, but no spinning either.
            return process::wait(supervisor, 0).map_or(-1, |waited| waited.status);
        }
        let events: Vec<PollFlags> = watched.iter().map(PollFd::revents).collect();
        drop(watched);
        if !events[0].is_empty() {
            return process::wait(supervisor, 0).map_or(-1, |waited| waited.status);
        }
        if client.is_some() && !events[1].is_empty() {
            client = None;
            deadline = Some(Instant::now() + WITHOUT_CLIENT);
        }
        if let Some(renewals) = &mut made.renewals {
            for (runner, events) in runners.into_iter().zip(&events[2..]) {
                if events.contains(PollFlags::IN) {
                    renewals.serve(runner);
                }
                if events.intersects(PollFlags::HUP | PollFlags::ERR) {
                    renewals.close(runner);
                }
            }
        }
    }
}

fn clean_up(made: Made) {
    let Made {
        tops,
        evacuated,
        open,
        supervisor,
        renewals,
        ..
    } = made;
    drop((open, supervisor, renewals));
    remove::remove_patiently(tops.iter().map(|top| top.path.as_str()));
    drop(tops);
    if let Some(evacuated) = evacuated {
        evacuated.back();
    }
}

/// Finds the best backend there is, or the one that was asked for. `None`: rlimit.
fn choose(options: &Options, declined: &mut Vec<String>) -> Result<Option<Made>, SupervisorError> {
    let rejected = |backend: &str, reason| {
        SupervisorError::new(SupervisorStep::Backend)
            .with_subject(backend)
            .with_hint(SupervisorHint::Declined(vec![reason]))
    };
    let runners = options.slots * options.runners_per_slot;
    let hosts = hosts::Hosts::look()?;
    match options.backend {
        BackendChoice::Rlimit => Ok(None),
        BackendChoice::Cgroup2 => cgroup2::make(&hosts, options)
            .map(Some)
            .map_err(|why| rejected("cgroup2", why)),
        BackendChoice::Hybrid => hybrid::make(&hosts, options, runners)
            .map(Some)
            .map_err(|why| match why {
                Refusal::Short(why, errno) => rejected("hybrid", why).with_errno(errno),
                Refusal::NotHere(why) => rejected("hybrid", why),
            }),
        BackendChoice::Auto => {
            match cgroup2::make(&hosts, options) {
                Ok(made) => return Ok(Some(made)),
                Err(why) => declined.push(format!("cgroup2: {why}")),
            }
            match hybrid::make(&hosts, options, runners) {
                Ok(made) => return Ok(Some(made)),
                Err(Refusal::Short(why, errno)) => {
                    return Err(rejected("hybrid", why).with_errno(errno));
                }
                Err(Refusal::NotHere(why)) => declined.push(format!("hybrid: {why}")),
            }
            match &options.cgroup_parent {
                // A caller that names the place requires cgroups.
                Some(parent) => Err(SupervisorError::new(SupervisorStep::CgroupParent)
                    .with_subject(parent)
                    .with_hint(SupervisorHint::Declined(std::mem::take(declined)))),
                None => Ok(None),
            }
        }
    }
}

/// Why a backend cannot be had.
#[derive(Debug)]
enum Refusal {
    /// It is not on this host, or not for us: a weaker one may do.
    NotHere(String),
    /// It is, and what it takes is not left: a weaker one would be chosen for a reason that passes.
    Short(String, i32),
}

impl Refusal {
    fn new(errno: rustix::io::Errno, what: impl core::fmt::Display) -> Refusal {
        use rustix::io::Errno;
        match errno {
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => {
                Refusal::Short(what.to_string(), errno.raw_os_error())
            }
            _ => Refusal::NotHere(format!("{what}: {errno}")),
        }
    }

    fn words(self) -> String {
        match self {
            Refusal::NotHere(why) => why,
            Refusal::Short(why, errno) => {
                format!("{why}: {}", crate::messages::errno_text(sys::Errno(errno)))
            }
        }
    }
}

impl From<String> for Refusal {
    fn from(why: String) -> Refusal {
        Refusal::NotHere(why)
    }
}

/// Opens a control file for good, so that the supervisor inherits it by number.
fn open_control(path: &str, flags: OFlags) -> Result<OwnedFd, Refusal> {
    // O_CLOEXEC is left to the one exec that must not hand it on: the supervisor sets it
    // for all it inherits.
    rustix::fs::open(path, flags, rustix::fs::Mode::empty())
        .map_err(|errno| Refusal::new(errno, format_args!("cannot open {path}")))
}

/// The same of one that not every kernel has.
fn open_if_there(path: &str, flags: OFlags) -> Result<Option<OwnedFd>, Refusal> {
    match rustix::fs::open(path, flags, rustix::fs::Mode::empty()) {
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Ok(file) => Ok(Some(file)),
        Err(errno) => Err(Refusal::new(errno, format_args!("cannot open {path}"))),
    }
}

/// A memory limit does not hold where there is swap that the kernel does not account for.
fn swap_is_held(limit_of_swap: &str) -> Result<(), String> {
    swap_is_held_of("/proc/swaps", limit_of_swap)
}

fn swap_is_held_of(swaps: &str, limit_of_swap: &str) -> Result<(), String> {
    let areas = match std::fs::read_to_string(swaps) {
        // One line for each area, below a heading (proc(5)).
        Ok(text) => text.lines().skip(1).count(),
        // A kernel that cannot swap.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        Err(error) => {
            return Err(format!(
                "cannot tell whether there is swap: cannot read {swaps}: {error}"
            ));
        }
    };
    if areas == 0 || std::path::Path::new(limit_of_swap).exists() {
        return Ok(());
    }
    Err(format!(
        "there is swap, and {limit_of_swap} is not there: a memory limit would not hold; boot with \
         swapaccount=1, or use no swap"
    ))
}

fn seqpacket_pair() -> Result<(OwnedFd, OwnedFd), Refusal> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::empty(),
        None,
    )
    .map_err(|errno| Refusal::new(errno, "cannot make a socket"))
}

/// Sends a file's descriptors, as the answer to a runner, which would wait for it for ever: so what
/// passes is waited for, for a second; then the runner is told that there are none, and another
/// takes its place.
fn answer(socket: i32, tag: u8, descriptors: &[i32]) {
    for _ in 0..1000 {
        match calls::send_descriptors(socket, &[tag], descriptors) {
            Err(errno) if errno.passes() => calls::sleep_ns(1_000_000),
            _ => return,
        }
    }
    let _ = calls::send(socket, &[tag]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_without_a_limit_on_it_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
        let heading = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
        let area = "/dev/vda2                               partition\t1048572\t\t0\t\t-2\n";
        let (none, some, limit, absent) =
            (path("none"), path("some"), path("limit"), path("absent"));
        std::fs::write(&none, heading).unwrap();
        std::fs::write(&some, [heading, area].concat()).unwrap();
        std::fs::write(&limit, "max\n").unwrap();
        for swaps in [&none, &some, &absent] {
            assert_eq!(swap_is_held_of(swaps, &limit), Ok(()), "{swaps}");
        }
        assert_eq!(swap_is_held_of(&none, &absent), Ok(()));
        // No such file: the kernel cannot swap.
        assert_eq!(swap_is_held_of(&absent, &absent), Ok(()));
        let why = swap_is_held_of(&some, &absent).unwrap_err();
        assert!(
            why.contains(&absent) && why.contains("swapaccount=1"),
            "{why}"
        );
        // Nobody knows: a directory cannot be read.
        let why = swap_is_held_of(place.path().to_str().unwrap(), &absent).unwrap_err();
        assert!(why.contains("cannot tell whether there is swap"), "{why}");
    }

    #[test]
    fn keepers_that_start_at_the_same_time_leave_each_others_directories_alone() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path().to_str().unwrap();
        let keeper = || {
            for _ in 0..300 {
                remove::sweep_orphans(parent);
                let top = Top::make(parent, &fresh_name()).unwrap();
                let runner = format!("{}/home", top.path);
                std::fs::create_dir(&runner).unwrap_or_else(|error| panic!("{runner}: {error}"));
                std::thread::yield_now();
                std::fs::remove_dir(&runner).unwrap_or_else(|error| panic!("{runner}: {error}"));
                std::fs::remove_dir(&top.path)
                    .unwrap_or_else(|error| panic!("{}: {error}", top.path));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(keeper);
            }
        });
    }

    #[test]
    fn orphans_are_swept() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path().to_str().unwrap();
        let lives = Top::make(parent, &fresh_name()).unwrap();
        let orphan = Top::make(parent, &fresh_name()).unwrap().path;
        std::fs::create_dir(format!("{orphan}/home")).unwrap();
        std::fs::create_dir(format!("{parent}/foreign")).unwrap();
        remove::sweep_orphans(parent);
        let is_there = |path: &str| std::path::Path::new(path).is_dir();
        assert!(
            is_there(&lives.path) && is_there(&format!("{parent}/foreign")) && !is_there(&orphan)
        );
    }
}
