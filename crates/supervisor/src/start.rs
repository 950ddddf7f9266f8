//! The step from the keeper to the supervisor: it drops privileges and sets up the supervisor.

use crate::backend::Handover;
use crate::confine;
use crate::cpus::Cpus;
use crate::locks::Locks;
use crate::messages::{failed, report};
use crate::null;
use crate::options::Options;
use crate::setup::Setup;
use crate::sockets;
use crate::spawner::{self, Spawner};
use crate::supervisor::Supervisor;
use crate::sys::calls::close_all_but;
use crate::sys::{self, calls};
use crate::template;
use crate::tree;
use millibox_wire::{SupervisorError, SupervisorHint, SupervisorStep};
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::FdFlags;
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The state that the keeper passes to the supervisor in a memfd. Descriptors are numbers.
#[derive(Debug, Serialize, Deserialize)]
pub struct Inheritance {
    pub socket: i32,
    pub client: i32,
    /// The process id of the keeper; 0 if there is no keeper.
    pub keeper: i32,
    pub handover: Handover,
    pub slots: usize,
    pub runners_per_slot: usize,
    pub share_memory: bool,
    pub pin: bool,
    pub cpus: Vec<usize>,
    pub cgroups: Vec<Vec<u8>>,
    pub declined: Vec<millibox_wire::BackendRefusal>,
    /// The mount point of all devices as one mount; see [`crate::devices`].
    pub devices: Option<String>,
}

/// The user and group to switch to; `None` if the process is already unprivileged.
pub fn target_user(options: &Options) -> Option<(u32, u32)> {
    rustix::process::geteuid()
        .is_root()
        .then(|| options.user.unwrap_or(millibox_wire::UNPRIVILEGED_IDS))
}

/// Checks that the process may switch to the requested user.
pub fn check_user(options: &Options) -> Result<(), SupervisorError> {
    let Some((uid, gid)) = options.user else {
        return Ok(());
    };
    let error = SupervisorError::new(SupervisorStep::User).with_subject(format!("{uid}:{gid}"));
    if target_user(options).is_some() {
        if uid == 0 || gid == 0 {
            return Err(error.with_hint(SupervisorHint::UserIsSuperuser));
        }
        return Ok(());
    }
    let own = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    if (uid, gid) == own {
        return Ok(());
    }
    Err(error.with_hint(SupervisorHint::UserNeedsRoot {
        uid: own.0,
        gid: own.1,
    }))
}

/// The limit on open files of a supervisor that root started. It is the kernel's default maximum
/// (fs.nr_open, proc_sys_fs(5)).
const MAX_OPEN_FILES: u64 = 1 << 20;

/// The kernel's default timer slack (prctl(2), `PR_SET_TIMERSLACK`).
const TIMER_SLACK_NS: usize = 50_000;

/// libc lacks this number.
const PR_SET_IO_FLUSHER: i32 = 57;

/// The kernel's default (core(5)). Runs write no core files, but /proc shows them the value.
const DEFAULT_COREDUMP_FILTER: &[u8] = b"0x33";

/// Raises the limits that keeper and supervisor could reach as far as permitted. Runners set the
/// limits of runs.
///
/// # Errors
///
/// A limit is too low.
pub fn raise_limits(options: &Options) -> Result<(), SupervisorError> {
    let raise = |resource: u32, most: u64| {
        let Ok((_, hard)) = calls::get_rlimit(resource) else {
            return most;
        };
        // Root in a container may be unable to raise the limit.
        if hard < most
            && target_user(options).is_some()
            && calls::set_rlimit(resource, most).is_ok()
        {
            return most;
        }
        let _ = calls::set_rlimit(resource, hard);
        hard
    };
    // Each runner needs about twenty files, both in its own process and in the supervisor. The
    // supervisor also has the files of waiting requests.
    raise(libc::RLIMIT_NOFILE, MAX_OPEN_FILES);
    // The kernel treats shared memory as a file and would send SIGXFSZ beyond this limit.
    let (most, needed) = (
        raise(libc::RLIMIT_FSIZE, libc::RLIM_INFINITY),
        size_of::<crate::launch::Shared>() as u64,
    );
    if most < needed {
        let hint = SupervisorHint::FileSizeLimit {
            limit: most,
            needed,
        };
        return Err(SupervisorError::new(SupervisorStep::Limits).with_hint(hint));
    }
    Ok(())
}

/// Drops privileges permanently and executes the supervisor. Returns only if that fails.
pub fn execute(options: &Options, inheritance: Inheritance) -> SupervisorError {
    match try_execute(options, inheritance) {
        Ok(never) => match never {},
        Err(why) => why,
    }
}

enum Never {}

fn try_execute(options: &Options, mut inheritance: Inheritance) -> Result<Never, SupervisorError> {
    // Execute by descriptor, because the unprivileged user may be unable to reach the path.
    let program = rustix::fs::open(
        "/proc/self/exe",
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(|errno| failed(SupervisorStep::Open)(errno).with_subject("/proc/self/exe"))?;
    let memfd = rustix::fs::memfd_create("millibox", MemfdFlags::empty())
        .map_err(failed(SupervisorStep::Inheritance))?;
    if target_user(options).is_some() {
        inheritance.devices = crate::devices::make();
    }
    let body = millibox_wire::encode(&inheritance);
    rustix::io::pwrite(&memfd, &body, 0).map_err(failed(SupervisorStep::Inheritance))?;
    for fd in [inheritance.socket, inheritance.client] {
        rustix::io::fcntl_setfd(sys::borrow(fd), FdFlags::empty())
            .map_err(failed(SupervisorStep::Inheritance))?;
    }
    // The caller's scheduling does not apply to runs. Without privileges a raised nice value cannot
    // be lowered again.
    let _ = calls::set_default_scheduling();
    let _ = calls::setpriority(libc::PRIO_PROCESS, 0, 0);
    // The value 0 would select the caller's slack, which fork(2) has made this process's default.
    let _ = calls::prctl(libc::PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
    // The caller's other attributes do not apply either. Its personality(2) can disable random
    // addresses or make all memory executable (0 is the default personality). Its I/O priority
    // (ioprio_set(2)) becomes 0, which follows the nice value. Its memory policy
    // (set_mempolicy(2)), disabled huge pages, merging of equal pages, its policies for memory
    // errors and for allocations, and its filter of core dumps are reset too. If one of these calls
    // is forbidden here, it was also forbidden to the caller.
    let _ = calls::personality(0);
    let _ = calls::ioprio_set(1 /* IOPRIO_WHO_PROCESS */, 0, 0);
    let _ = calls::set_mempolicy(libc::MPOL_DEFAULT as u32, 0, 0);
    let _ = calls::prctl(libc::PR_SET_THP_DISABLE, 0, 0, 0, 0);
    let _ = calls::prctl(libc::PR_SET_MEMORY_MERGE, 0, 0, 0, 0);
    let _ = calls::prctl(libc::PR_MCE_KILL, libc::PR_MCE_KILL_CLEAR as usize, 0, 0, 0);
    let _ = calls::prctl(PR_SET_IO_FLUSHER, 0, 0, 0, 0);
    let _ = calls::write_file(
        libc::AT_FDCWD,
        c"/proc/self/coredump_filter",
        DEFAULT_COREDUMP_FILTER,
    );
    if let Some((uid, gid)) = target_user(options) {
        // The supervisor watches the clocks, and pid1 kills the other processes. Neither may wait
        // for the programs that it has to end. Targets return to nice value 0.
        let _ = calls::setpriority(libc::PRIO_PROCESS, 0, crate::target::SUPERVISOR_NICE);
        // The limits of root's shell do not apply to runs; runners set the limits of runs.
        for (resource, _, hard) in crate::rlimits::DEFAULT_RLIMITS {
            let _ = calls::set_rlimit(resource, hard);
        }
        // The limits of root's shell do not apply to the sum of all runs either. Root in a
        // container may be unable to raise them.
        for (resource, ..) in crate::rlimits::TARGET_RLIMITS {
            // `raise_limits` has set the limit on open files.
            if resource != libc::RLIMIT_NOFILE {
                let _ = calls::set_rlimit(resource, libc::RLIM_INFINITY);
            }
        }
        // When memory is short, the kernel must kill runs and not the supervisor or a runner. A
        // runner is in the memory cgroup of its runs. Runs get a value of their own.
        let _ = calls::write_file(libc::AT_FDCWD, c"/proc/self/oom_score_adj", b"-1000");
        drop_to(uid, gid)?;
    }
    let inherited = format!("--inherited={}", memfd.as_raw_fd());
    let arguments = [
        c"millibox-supervisor".to_owned(),
        CString::new(inherited).unwrap_or_default(),
    ];
    let pointers: Vec<usize> = arguments
        .iter()
        .map(|text| text.as_ptr() as usize)
        .chain([0])
        .collect();
    let environment = [0usize];
    let errno = calls::execveat(
        program.as_raw_fd(),
        c"".as_ptr().cast(),
        pointers.as_ptr() as usize,
        environment.as_ptr() as usize,
        libc::AT_EMPTY_PATH,
    );
    Err(failed(SupervisorStep::Execute)(errno))
}

fn drop_to(uid: u32, gid: u32) -> Result<(), SupervisorError> {
    sys::process::become_user(uid, gid).map_err(failed(SupervisorStep::Unprivileged))?;
    confine::drop_bounding_set(0)
        .map_err(failed(SupervisorStep::BoundingSet))
        .or_else(|why| {
            // CAP_SETPCAP may have been dropped with root. The bounding set then stays as it is,
            // but no_new_privs makes it ineffective.
            if calls::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).is_ok() {
                Ok(())
            } else {
                Err(why)
            }
        })?;
    if sys::process::become_user(0, 0).is_ok() {
        return Err(SupervisorError::new(SupervisorStep::Unprivileged)
            .with_hint(SupervisorHint::PrivilegesRegained));
    }
    Ok(())
}

/// Whether the process is root, also in a user namespace: root owns the null device. No other user
/// is reported.
pub fn is_superuser() -> Result<bool, SupervisorError> {
    let stat = rustix::fs::stat("/dev/null").map_err(failed(SupervisorStep::NullDevice))?;
    let is_null = rustix::fs::FileType::from_raw_mode(stat.st_mode)
        == rustix::fs::FileType::CharacterDevice
        && (
            rustix::fs::major(stat.st_rdev),
            rustix::fs::minor(stat.st_rdev),
        ) == (1, 3);
    if !is_null {
        return Err(SupervisorError::new(SupervisorStep::NullDevice)
            .with_hint(SupervisorHint::NotNullDevice));
    }
    Ok(stat.st_uid == rustix::process::geteuid().as_raw()
        || stat.st_gid == rustix::process::getegid().as_raw())
}

/// The main function of the supervisor. The client receives the error.
pub fn supervise(inherited: i32) -> Result<(), SupervisorError> {
    let inheritance = read_inheritance(inherited)?;
    let (socket, client) = (inheritance.socket, inheritance.client);
    let socket = adopt(socket).inspect_err(|error| report(&socket, error))?;
    let outcome = adopt(client).and_then(|client| prepare(&inheritance).map(|()| client));
    let client = outcome.inspect_err(|error| report(&socket, error))?;

    let mut exit_reason =
        null_standard_descriptors().inspect_err(|error| report(&socket, error))?;
    if let Ok(words) = exit_reason.try_clone() {
        std::panic::set_hook(Box::new(move |panic| {
            let _ = writeln!(&words, "millibox: bug in the supervisor: {panic}");
            std::process::abort();
        }));
    }
    // The spawner and its children close their copies.
    let reports = rustix::io::fcntl_dupfd_cloexec(&socket, 3)
        .map_err(failed(SupervisorStep::AnswerClient))?;
    let outcome = set_up(inheritance, socket, client).inspect_err(|error| report(&reports, error));
    drop(reports);
    let outcome = outcome.and_then(|mut supervisor| {
        let outcome = supervisor.serve();
        supervisor.shut_down();
        outcome.inspect_err(|error| report(supervisor.client_socket(), error))
    });
    if let Err(error) = &outcome {
        let _ = writeln!(exit_reason, "millibox: {error}");
        std::process::exit(1);
    }
    outcome
}

fn adopt(fd: i32) -> Result<OwnedFd, SupervisorError> {
    sys::adopt(fd).ok_or_else(|| {
        SupervisorError::new(SupervisorStep::Socket)
            .with_subject(fd.to_string())
            .with_hint(SupervisorHint::NotOpen)
    })
}

/// Reads the state that the keeper passes on.
fn read_inheritance(inherited: i32) -> Result<Inheritance, SupervisorError> {
    let error =
        SupervisorError::new(SupervisorStep::ReadInheritance).with_subject(inherited.to_string());
    let failed = |errno: rustix::io::Errno| error.clone().with_errno(errno.raw_os_error());
    let memfd =
        sys::adopt(inherited).ok_or_else(|| error.clone().with_hint(SupervisorHint::NotOpen))?;
    let length = rustix::fs::fstat(&memfd).map_err(failed)?.st_size.max(0);
    let mut body = vec![0; length as usize];
    rustix::io::pread(&memfd, &mut body, 0).map_err(failed)?;
    millibox_wire::decode(&body)
        .map_err(|malformed| error.with_hint(SupervisorHint::Malformed(malformed.to_string())))
}

/// Checks the privileges and keeps only the passed descriptors.
fn prepare(inheritance: &Inheritance) -> Result<(), SupervisorError> {
    if inheritance.keeper != 0 {
        // Dropping privileges has cleared the signal that the keeper's child had set (prctl(2)).
        calls::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as usize, 0, 0, 0)
            .map_err(failed(SupervisorStep::ParentDeath))?;
        if std::os::unix::process::parent_id() as i32 != inheritance.keeper {
            return Err(SupervisorError::new(SupervisorStep::ParentDeath)
                .with_hint(SupervisorHint::KeeperDied));
        }
    }
    if is_superuser()? {
        return Err(
            SupervisorError::new(SupervisorStep::Unprivileged).with_hint(SupervisorHint::Superuser)
        );
    }

    // Keep only the passed descriptors, and let no child inherit them.
    let mut keep = vec![0, 1, 2, inheritance.socket, inheritance.client];
    keep.extend(handover_descriptors(&inheritance.handover));
    close_all_but(keep).map_err(failed(SupervisorStep::CloseInherited))?;
    calls::close_range(3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC)
        .map(drop)
        .map_err(failed(SupervisorStep::CloseOnExec))
}

fn handover_descriptors(handover: &Handover) -> Vec<i32> {
    match handover {
        Handover::Cgroup2 { base, .. } => vec![*base],
        Handover::Hybrid { runners } => runners.iter().flat_map(|files| files.all()).collect(),
        Handover::Rlimit => Vec::new(),
    }
}

/// Opens /dev/null as descriptors 0, 1 and 2. Returns the former standard error, for the last
/// message.
fn null_standard_descriptors() -> Result<std::fs::File, SupervisorError> {
    let failed = |errno: rustix::io::Errno| failed(SupervisorStep::StandardStreams)(errno);
    let exit_reason = rustix::io::fcntl_dupfd_cloexec(sys::borrow(2), 3)
        .or_else(|_| rustix::fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()))
        .map_err(failed)?;
    for (standard, flags) in [
        (0, OFlags::RDONLY),
        (1, OFlags::WRONLY),
        (2, OFlags::WRONLY),
    ] {
        let null = rustix::fs::open("/dev/null", flags | OFlags::CLOEXEC, Mode::empty())
            .map_err(failed)?;
        if null.as_raw_fd() == standard {
            // The standard descriptor was closed. The new one must survive a fork; no exec follows.
            std::mem::forget(null);
            continue;
        }
        calls::dup3(null.as_raw_fd(), standard, 0)
            .map_err(|errno| failed(rustix::io::Errno::from_raw_os_error(errno.0)))?;
    }
    Ok(std::fs::File::from(exit_reason))
}

fn set_up(
    inheritance: Inheritance,
    socket: OwnedFd,
    client: OwnedFd,
) -> Result<Supervisor, SupervisorError> {
    calls::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        .map_err(failed(SupervisorStep::NoNewPrivs))?;
    calls::prctl(
        libc::PR_SET_NAME,
        c"millibox-super".as_ptr() as usize,
        0,
        0,
        0,
    )
    .map_err(failed(SupervisorStep::ProcessName))?;
    // The caller's attributes do not apply to runs.
    let _ = calls::umask(0o022);
    calls::reset_signal_dispositions().map_err(failed(SupervisorStep::Signals))?;
    calls::unblock_signals();
    let mut cpus = Cpus::take(
        &inheritance.cpus,
        inheritance.slots,
        inheritance.runners_per_slot,
        inheritance.pin,
    )?;
    // The keys of the caller's session do not apply either (session-keyring(7)). A kernel without
    // keyrings has no session to leave. A container that forbids keyrings here also forbids them to
    // runs.
    match calls::keyctl(1 /* KEYCTL_JOIN_SESSION_KEYRING */, 0, 0) {
        Err(errno) if ![libc::ENOSYS, libc::EPERM, libc::EACCES].contains(&errno.0) => {
            return Err(failed(SupervisorStep::SessionKeyring)(errno));
        }
        Err(_) => {}
        // All runs are in this new session. Remove all rights to its keyring, including the right
        // to grant rights. Otherwise a run without a seccomp program could leave keys in it for the
        // next run.
        Ok(_) => {
            calls::keyctl(
                5,                /* KEYCTL_SETPERM */
                -3isize as usize, /* KEY_SPEC_SESSION_KEYRING */
                0,
            )
            .map_err(failed(SupervisorStep::KeyringRights))?;
        }
    }
    // The supervisor must not have to wait for the end of a program's time slice.
    let _ = calls::set_slice(calls::nice(), crate::target::SUPERVISOR_SLICE_NS);
    rustix::process::chdir("/")
        .map_err(|errno| failed(SupervisorStep::WorkingDirectory)(errno).with_subject("/"))?;

    // A runner's pid1 outlives it by a moment and becomes a child of the supervisor.
    calls::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        .map_err(failed(SupervisorStep::Subreaper))?;

    let (uid, gid) = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    enter_namespaces(uid, gid)?;
    null::make_read_only().map_err(failed(SupervisorStep::StandardStreams))?;
    calls::prctl(
        libc::PR_SET_SECUREBITS,
        crate::run_mounts::SECUREBITS,
        0,
        0,
        0,
    )
    .map_err(failed(SupervisorStep::Securebits))?;

    let procfs = rustix::fs::open(
        "/proc",
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(|errno| failed(SupervisorStep::Open)(errno).with_subject("/proc"))?;
    if !tree::proc_shows_own_namespace() {
        cpus.begin_at_runners();
    }
    let backend = match inheritance.handover {
        Handover::Cgroup2 { .. } => millibox_wire::Backend::Cgroup2,
        Handover::Hybrid { .. } => millibox_wire::Backend::Hybrid,
        Handover::Rlimit => millibox_wire::Backend::Rlimit,
    };
    let mut setup = Setup {
        socket,
        client,
        handover: inheritance.handover,
        slots: inheritance.slots,
        runners_per_slot: inheritance.runners_per_slot,
        share_memory: inheritance.share_memory,
        cpus,
        uid,
        gid,
        cgroups: inheritance.cgroups,
        declined: inheritance.declined,
        landlock: 0,
        devices: inheritance.devices,
        socket_share: sockets::share_of_machine(),
    };
    // From now on no process of this user may trace the supervisor or the spawner. Runners set the
    // attribute themselves.
    calls::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0).map_err(failed(SupervisorStep::Undumpable))?;
    let spawner = Spawner::start(&setup, procfs)?;
    spawner::close_runner_files(&mut setup.handover);
    // Nothing has been read from the client, and no runner has been started.
    setup.landlock = confine::supervisor()?;
    let locks = Locks::start(spawner.pid())?;
    if let Some(cpu) = setup.cpus.of_runs() {
        let _ = calls::set_affinity(cpu);
    }
    confine::supervisor_calls()?;
    let mut supervisor = Supervisor::new(setup, spawner, locks)?;
    supervisor.hello(backend)?;
    Ok(supervisor)
}

/// Creates and enters the supervisor's namespaces: user, mount, network, IPC, UTS, time.
fn enter_namespaces(uid: u32, gid: u32) -> Result<(), SupervisorError> {
    let flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWTIME;
    calls::unshare(flags.bits() as i32).map_err(failed(SupervisorStep::Namespaces))?;
    let map = |id: u32| format!("{id} {id} 1");
    calls::write_file(libc::AT_FDCWD, c"/proc/self/setgroups", b"deny")
        .map_err(failed(SupervisorStep::Setgroups))?;
    calls::write_file(libc::AT_FDCWD, c"/proc/self/uid_map", map(uid).as_bytes())
        .map_err(failed(SupervisorStep::UidMap))?;
    calls::write_file(libc::AT_FDCWD, c"/proc/self/gid_map", map(gid).as_bytes())
        .map_err(failed(SupervisorStep::GidMap))?;

    calls::set_host_name(template::HOST_NAME).map_err(failed(SupervisorStep::HostName))?;
    // The uptime inside the time namespace begins with the supervisor. The offset may not make a
    // clock negative (time_namespaces(7)), so it is rounded to whole seconds. The offset of
    // CLOCK_MONOTONIC also applies to CLOCK_MONOTONIC_RAW, which may lag behind CLOCK_MONOTONIC.
    let raw = calls::monotonic_raw_ns();
    let offset = |name: &str, clock: i32| {
        format!(
            "{name} -{} 0\n",
            calls::clock_ns(clock).min(raw) / 1_000_000_000
        )
    };
    let offsets =
        offset("monotonic", libc::CLOCK_MONOTONIC) + &offset("boottime", libc::CLOCK_BOOTTIME);
    calls::write_file(
        libc::AT_FDCWD,
        c"/proc/self/timens_offsets",
        offsets.as_bytes(),
    )
    .map_err(failed(SupervisorStep::TimeOffsets))?;
    let time = rustix::fs::open(
        "/proc/self/ns/time_for_children",
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(failed(SupervisorStep::TimeNamespace))?;
    calls::setns(time.as_fd().as_raw_fd(), libc::CLONE_NEWTIME)
        .map_err(failed(SupervisorStep::TimeNamespace))?;
    Ok(())
}
