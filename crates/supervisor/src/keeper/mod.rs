//! The keeper: the process on the client's side that outlives the client's own code.
//!
//! The keeper exists because the supervisor has too few rights. If root started it, only the keeper
//! can create and remove version 1 cgroups. If a user with a delegated subtree started it, it
//! removes the cgroups if client and supervisor are both killed.
//!
//! The keeper creates the cgroups and starts the supervisor, which switches permanently to an
//! unprivileged user. Then the keeper sleeps until the supervisor is dead, except for one service:
//! it creates new pids and memory cgroups for runners ([`crate::backend::hybrid`]). The keeper
//! kills a supervisor that outlives its client. After the start of the supervisor it gives up all
//! rights that this work does not need ([`crate::confine`]).
//!
//! From the supervisor's side the keeper accepts only messages of one byte, on sockets that
//! identify a runner. Without cgroups there is no keeper.

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
use millibox_wire::{
    Backend, BackendCause, BackendRefusal, BackendStep, SupervisorError, SupervisorHint,
    SupervisorStep,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// The cgroups of one supervisor.
pub struct Made {
    pub handover: Handover,
    /// The top-level directories, which are removed at the end.
    pub tops: Vec<OwnCgroup>,
    /// Descriptors that must stay open until the supervisor has them.
    pub open: Vec<OwnedFd>,
    /// The cgroup of the supervisor.
    pub supervisor: Supervisor,
    /// The service that renews the cgroups of runners; only for `hybrid`.
    pub renewals: Option<hybrid::Renewals>,
    /// The processes that must be moved back; only for `cgroup2`.
    pub evacuated: Option<cgroup2::Evacuated>,
}

/// The way in which the supervisor enters its cgroup.
pub enum Supervisor {
    /// The supervisor starts in the cgroup of this directory.
    Inside(OwnedFd),
    /// The supervisor stays in the keeper's cgroup.
    Beside,
}

/// A directory of millibox among other cgroups. Its lock shows that its owner is alive. The lock
/// disappears with the last process that has the directory open, in any PID namespace.
pub struct OwnCgroup {
    pub path: String,
    _lock: OwnedFd,
}

impl OwnCgroup {
    /// Creates `parent/name` and locks it.
    fn make(parent: &str, name: &str) -> Result<OwnCgroup, BackendCause> {
        let path = format!("{parent}/{name}");
        let failed = |errno| cause(BackendStep::CreateCgroup, path.as_str())(errno);
        // Another keeper that starts now mistakes a directory that is not locked yet for an orphan.
        // Each keeper looks only once.
        for _ in 0..1000 {
            rustix::fs::mkdir(&path, rustix::fs::Mode::from_raw_mode(0o755)).map_err(failed)?;
            match remove::lock(&path, rustix::fs::FlockOperation::LockExclusive) {
                Ok(lock) => return Ok(OwnCgroup { path, _lock: lock }),
                Err(rustix::io::Errno::NOENT) => {}
                Err(errno) => return Err(failed(errno)),
            }
        }
        Err(BackendCause::new(BackendStep::KeepCgroup).with_subject(path))
    }
}

/// A name that no other supervisor uses.
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

/// The main function of the keeper. Returns the exit status.
///
/// Takes `socket` out of the option once the supervisor has it. Until then the caller can report an
/// error on the socket.
pub fn main(
    options: &Options,
    socket: &mut Option<OwnedFd>,
    client: OwnedFd,
) -> Result<i32, SupervisorError> {
    // A Ctrl-C at the client's terminal must reach only the client.
    if rustix::process::setsid().is_ok() {
        // If the kernel schedules by session (autogroup, sched(7)), the session needs a high
        // priority too, because nice values apply only inside a session. Without this, 64 threads
        // that slept for 10 us at a time starved the supervisor, which enforced no limit in the
        // meantime. Only root may lower the value.
        let _ = calls::write_file(libc::AT_FDCWD, c"/proc/self/autogroup", b"-20");
    }
    // The cgroup in use may differ from the one on the command line.
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
    // If the supervisor is killed, its children become the keeper's, and the keeper reaps them.
    let _ = calls::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    // A process that starts in a cgroup waits for no grace period, unlike one that enters it. A
    // container may refuse clone3(2).
    let born = match &made.supervisor {
        Supervisor::Inside(directory) => process::fork_into(directory.as_raw_fd()).ok(),
        Supervisor::Beside => None,
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
    // All remaining processes are dying: each process dies with its parent.
    while process::wait(-1, libc::__WALL).is_ok() {}
    clean_up(made);
    Ok(code)
}

/// The number of the supervisor's pidfd. The keeper's seccomp program allows signals only to this
/// descriptor.
const SUPERVISOR: i32 = 0;
/// The time after which a supervisor without its client is killed. The supervisor itself waits
/// three seconds for its dying children.
const CLIENT_DEATH_TIMEOUT: Duration = Duration::from_secs(8);

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

/// Serves runners until the supervisor is dead, and returns its wait status. Kills a supervisor
/// that does not end with its client, because it was stopped or hangs.
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
        // Without a client this entry watches for no events.
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
            // Stop the service, but do not spin.
            return process::wait(supervisor, 0).map_or(-1, |waited| waited.status);
        }
        let events: Vec<PollFlags> = watched.iter().map(PollFd::revents).collect();
        drop(watched);
        if !events[0].is_empty() {
            return process::wait(supervisor, 0).map_or(-1, |waited| waited.status);
        }
        if client.is_some() && !events[1].is_empty() {
            client = None;
            deadline = Some(Instant::now() + CLIENT_DEATH_TIMEOUT);
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
    remove::remove_waiting(tops.iter().map(|top| top.path.as_str()));
    drop(tops);
    if let Some(evacuated) = evacuated {
        evacuated.back();
    }
}

/// Chooses the requested backend, or the best available one. `None` means rlimit.
fn choose(
    options: &Options,
    declined: &mut Vec<BackendRefusal>,
) -> Result<Option<Made>, SupervisorError> {
    let refused = |backend: Backend, causes| {
        SupervisorError::new(SupervisorStep::Backend)
            .with_subject(backend.to_string())
            .with_hint(SupervisorHint::Refused(causes))
    };
    let runners = options.slots * options.runners_per_slot;
    let hosts = hosts::Hosts::read()?;
    match options.backend {
        BackendChoice::Rlimit => Ok(None),
        BackendChoice::Cgroup2 => cgroup2::make(&hosts, options)
            .map(Some)
            .map_err(|causes| refused(Backend::Cgroup2, causes)),
        BackendChoice::Hybrid => hybrid::make(&hosts, options, runners)
            .map(Some)
            .map_err(|cause| refused(Backend::Hybrid, vec![cause])),
        BackendChoice::Auto => {
            match cgroup2::make(&hosts, options) {
                Ok(made) => return Ok(Some(made)),
                Err(causes) => declined.push(BackendRefusal::new(Backend::Cgroup2, causes)),
            }
            match hybrid::make(&hosts, options, runners) {
                Ok(made) => return Ok(Some(made)),
                Err(cause) if is_shortage(&cause) => {
                    return Err(refused(Backend::Hybrid, vec![cause]));
                }
                Err(cause) => declined.push(BackendRefusal::new(Backend::Hybrid, vec![cause])),
            }
            match &options.cgroup_parent {
                // A caller that names a parent wants cgroups.
                Some(parent) => Err(SupervisorError::new(SupervisorStep::CgroupParent)
                    .with_subject(parent)
                    .with_hint(SupervisorHint::Declined(std::mem::take(declined)))),
                None => Ok(None),
            }
        }
    }
}

/// The cause of a failed system call on a file.
fn cause(step: BackendStep, path: impl Into<String>) -> impl FnOnce(Errno) -> BackendCause {
    move |errno| {
        BackendCause::new(step)
            .with_subject(path)
            .with_errno(errno.raw_os_error())
    }
}

/// Whether the host temporarily lacks a resource, which is no reason to choose a weaker backend.
fn is_shortage(cause: &BackendCause) -> bool {
    let shortages = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN];
    shortages
        .iter()
        .any(|errno| cause.errno == Some(errno.raw_os_error()))
}

/// Opens a control file without `O_CLOEXEC`.
fn open_control(path: &str, flags: OFlags) -> Result<OwnedFd, BackendCause> {
    // The supervisor inherits the descriptor by number. At its start it sets the flag on all
    // inherited descriptors, so that no later exec passes them on.
    rustix::fs::open(path, flags, rustix::fs::Mode::empty()).map_err(cause(BackendStep::Open, path))
}

/// Opens a control file that some kernels do not have.
fn open_if_present(path: &str, flags: OFlags) -> Result<Option<OwnedFd>, BackendCause> {
    match rustix::fs::open(path, flags, rustix::fs::Mode::empty()) {
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Ok(file) => Ok(Some(file)),
        Err(errno) => Err(cause(BackendStep::Open, path)(errno)),
    }
}

/// Checks that a memory limit covers swap: no swap exists, or the kernel accounts for it.
fn check_swap_limit(swap_limit: &str) -> Result<(), BackendCause> {
    check_swap_limit_of("/proc/swaps", swap_limit)
}

fn check_swap_limit_of(swaps: &str, swap_limit: &str) -> Result<(), BackendCause> {
    let areas = match std::fs::read_to_string(swaps) {
        // The file has a heading and one line for each swap area (proc(5)).
        Ok(text) => text.lines().skip(1).count(),
        // The kernel cannot swap.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        Err(error) => {
            return Err(BackendCause::new(BackendStep::ReadSwaps)
                .with_subject(swaps)
                .with_io(&error));
        }
    };
    if areas == 0 || std::path::Path::new(swap_limit).exists() {
        return Ok(());
    }
    Err(BackendCause::new(BackendStep::LimitSwap).with_subject(swap_limit))
}

fn seqpacket_pair() -> Result<(OwnedFd, OwnedFd), BackendCause> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::empty(),
        None,
    )
    .map_err(|errno| BackendCause::new(BackendStep::CreateSocket).with_errno(errno.raw_os_error()))
}

/// Sends a runner the descriptors of its new files. The runner would wait for the answer forever,
/// so temporary errors are retried for a second. If they persist, the answer has no descriptors,
/// and another runner replaces this one.
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
    fn unlimited_swap_is_rejected() {
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
            assert_eq!(check_swap_limit_of(swaps, &limit), Ok(()), "{swaps}");
        }
        assert_eq!(check_swap_limit_of(&none, &absent), Ok(()));
        // The file does not exist, so the kernel cannot swap.
        assert_eq!(check_swap_limit_of(&absent, &absent), Ok(()));
        let uncovered = check_swap_limit_of(&some, &absent).unwrap_err();
        assert_eq!(
            uncovered,
            BackendCause::new(BackendStep::LimitSwap).with_subject(&absent)
        );
        // A directory cannot be read, so the answer is unknown.
        let directory = place.path().to_str().unwrap();
        let unreadable = check_swap_limit_of(directory, &absent).unwrap_err();
        assert_eq!(
            unreadable,
            cause(BackendStep::ReadSwaps, directory)(Errno::ISDIR)
        );
    }

    #[test]
    fn concurrent_keepers_keep_their_directories() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path().to_str().unwrap();
        let keeper = || {
            for _ in 0..300 {
                remove::sweep_orphans(parent);
                let top = OwnCgroup::make(parent, &fresh_name()).unwrap();
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
    fn orphaned_cgroups_are_swept() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path().to_str().unwrap();
        let lives = OwnCgroup::make(parent, &fresh_name()).unwrap();
        let orphan = OwnCgroup::make(parent, &fresh_name()).unwrap().path;
        std::fs::create_dir(format!("{orphan}/home")).unwrap();
        std::fs::create_dir(format!("{parent}/foreign")).unwrap();
        remove::sweep_orphans(parent);
        let is_there = |path: &str| std::path::Path::new(path).is_dir();
        assert!(
            is_there(&lives.path) && is_there(&format!("{parent}/foreign")) && !is_there(&orphan)
        );
    }
}
