//! From the keeper to the supervisor: dropping privileges, and the set-up of the supervisor.

use crate::backend::Handover;
use crate::confine;
use crate::cpus::Cpus;
use crate::locks::Locks;
use crate::messages::errno_text;
use crate::options::Options;
use crate::slot::close_all_but;
use crate::spawner::{self, Spawner};
use crate::supervisor::{Setup, Supervisor};
use crate::sys::{self, Errno, calls};
use crate::tree;
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::FdFlags;
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The default user and group of a supervisor that root started: a number that systemd's table of
/// user ids leaves unused (60578 to 60705, "UIDS-GIDS"), so that it owns no files and no other
/// processes.
const UNPRIVILEGED: (u32, u32) = (60_578, 60_578);

/// What the keeper passes to the supervisor in a memfd. Descriptors are numbers.
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
    pub declined: Vec<String>,
    /// The mount point of all devices as one mount; see [`crate::devices`].
    pub devices: Option<String>,
}

/// The user and group to switch to; `None` if the process is unprivileged already.
pub fn drops_to(options: &Options) -> Option<(u32, u32)> {
    rustix::process::geteuid()
        .is_root()
        .then(|| options.user.unwrap_or(UNPRIVILEGED))
}

/// Checks that the process may switch to the requested user.
pub fn may_be(options: &Options) -> Result<(), String> {
    let Some((uid, gid)) = options.user else {
        return Ok(());
    };
    if drops_to(options).is_some() {
        if uid == 0 || gid == 0 {
            return Err(format!(
                "--user={uid}:{gid}: must not be the superuser or its group"
            ));
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
    Err(format!(
        "--user={uid}:{gid}: only root can become another user, and we are {}:{}; leave it out",
        own.0, own.1
    ))
}

/// The open files of a supervisor that root started: all that the kernel allows by default
/// (fs.nr_open, proc_sys_fs(5)).
const WATCHERS_FILES: u64 = 1 << 20;

/// Raises limits that keeper and supervisor could reach, as far as allowed; runners set those of
/// runs.
///
/// # Errors
/// A limit is too low.
pub fn raise_limits(options: &Options) -> Result<(), String> {
    let raise = |resource: u32, most: u64| {
        let Ok((_, hard)) = calls::get_rlimit(resource) else {
            return most;
        };
        // Root of a container may not.
        if hard < most && drops_to(options).is_some() && calls::set_rlimit(resource, most).is_ok() {
            return most;
        }
        let _ = calls::set_rlimit(resource, hard);
        hard
    };
    // Each runner takes about twenty files, in itself and in the supervisor, which also has those
    // of waiting requests.
    raise(libc::RLIMIT_NOFILE, WATCHERS_FILES);
    // To the kernel shared memory is a file; beyond this limit it would send SIGXFSZ.
    let (most, needed) = (
        raise(libc::RLIMIT_FSIZE, libc::RLIM_INFINITY),
        size_of::<crate::launch::Shared>() as u64,
    );
    if most < needed {
        return Err(format!(
            "the hard limit on the size of files is {most} bytes, and {needed} are needed: raise \
             it (ulimit -Hf)"
        ));
    }
    Ok(())
}

/// Drops privileges for good and executes the supervisor. Only returns on failure.
pub fn execute(options: &Options, inheritance: Inheritance) -> String {
    match try_execute(options, inheritance) {
        Ok(never) => match never {},
        Err(why) => why,
    }
}

enum Never {}

fn try_execute(options: &Options, mut inheritance: Inheritance) -> Result<Never, String> {
    let failed =
        |what: &'static str| move |errno: rustix::io::Errno| format!("cannot {what}: {errno}");
    // By descriptor, because the unprivileged user may be unable to reach the path.
    let program = rustix::fs::open(
        "/proc/self/exe",
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(failed("open /proc/self/exe"))?;
    let memfd = rustix::fs::memfd_create("millibox", MemfdFlags::empty())
        .map_err(failed("make a memfd"))?;
    if drops_to(options).is_some() {
        inheritance.devices = crate::devices::make();
    }
    let body = millibox_wire::encode(&inheritance);
    rustix::io::pwrite(&memfd, &body, 0).map_err(failed("write a memfd"))?;
    for fd in [inheritance.socket, inheritance.client] {
        rustix::io::fcntl_setfd(sys::borrow(fd), FdFlags::empty())
            .map_err(failed("pass a descriptor on"))?;
    }
    // The caller's scheduling does not apply to runs. Without privileges a raised nice value cannot
    // be lowered again.
    let _ = calls::set_default_scheduling();
    let _ = calls::setpriority(libc::PRIO_PROCESS, 0, 0);
    let _ = calls::prctl(libc::PR_SET_TIMERSLACK, 0, 0, 0, 0);
    // Neither do its other attributes: addresses that are not random, or memory that is all
    // executable (personality(2); 0 means Linux as usual), its I/O priority (ioprio_set(2); 0 means
    // to follow the nice value), its memory policy (set_mempolicy(2)), no huge pages, and merging
    // of equal pages. If one of these calls is forbidden here, it was forbidden to the caller.
    let _ = calls::personality(0);
    let _ = calls::ioprio_set(1 /* IOPRIO_WHO_PROCESS */, 0, 0);
    let _ = calls::set_mempolicy(libc::MPOL_DEFAULT as u32, 0, 0);
    let _ = calls::prctl(libc::PR_SET_THP_DISABLE, 0, 0, 0, 0);
    let _ = calls::prctl(libc::PR_SET_MEMORY_MERGE, 0, 0, 0, 0);
    if let Some((uid, gid)) = drops_to(options) {
        // The supervisor, which watches the clocks, and pid1, which kills the other processes, must
        // not wait for the programs that they have to end. Targets return to 0.
        let _ = calls::setpriority(libc::PRIO_PROCESS, 0, crate::target::WATCHERS_NICE);
        // The limits of root's shell do not apply to runs; runners set those of runs.
        for (resource, _, hard) in crate::runner::DEFAULT_RLIMITS {
            let _ = calls::set_rlimit(resource, hard);
        }
        // Nor to all runs together. Root of a container may not raise them.
        for (resource, ..) in crate::runner::TARGET_RLIMITS {
            // For open files see `raise_limits`.
            if resource != libc::RLIMIT_NOFILE {
                let _ = calls::set_rlimit(resource, libc::RLIM_INFINITY);
            }
        }
        // When memory is short the kernel must kill runs, not the supervisor or a runner, which is
        // in its runs' memory cgroup. Runs get a value of their own.
        let _ = calls::write_file(libc::AT_FDCWD, c"/proc/self/oom_score_adj", b"-1000");
        drop_to(uid, gid)?;
    }
    let inherited = format!("--inherited={}", memfd.as_raw_fd());
    let arguments = [
        c"millibox-supervisor".to_owned(),
        CString::new(inherited).map_err(|_| "an argument".to_owned())?,
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
    Err(format!(
        "cannot execute the supervisor as an unprivileged user: {}",
        errno_text(errno)
    ))
}

fn drop_to(uid: u32, gid: u32) -> Result<(), String> {
    let failed =
        |what: &'static str| move |errno: Errno| format!("cannot {what}: {}", errno_text(errno));
    sys::process::become_user(uid, gid).map_err(failed("become an unprivileged user"))?;
    confine::drop_bounding_set(0)
        .map_err(failed("empty the capability bounding set"))
        .or_else(|why| {
            // Without CAP_SETPCAP, which was dropped with root, the bounding set stays;
            // no_new_privs makes it meaningless.
            if calls::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).is_ok() {
                Ok(())
            } else {
                Err(why)
            }
        })?;
    if sys::process::become_user(0, 0).is_ok() {
        return Err("privileges could be taken back after dropping them".to_owned());
    }
    Ok(())
}

/// The superuser owns the null device. So this detects root in a user namespace, too. It does not
/// report other users.
pub fn superuser() -> Result<bool, String> {
    let stat = rustix::fs::stat("/dev/null")
        .map_err(|errno| format!("cannot look at /dev/null: {errno}"))?;
    let is_null = rustix::fs::FileType::from_raw_mode(stat.st_mode)
        == rustix::fs::FileType::CharacterDevice
        && (
            rustix::fs::major(stat.st_rdev),
            rustix::fs::minor(stat.st_rdev),
        ) == (1, 3);
    if !is_null {
        return Err("/dev/null is not the null device (character device 1:3)".to_owned());
    }
    Ok(stat.st_uid == rustix::process::geteuid().as_raw()
        || stat.st_gid == rustix::process::getegid().as_raw())
}

/// The main function of the supervisor. The error is for the client.
pub fn supervise(inherited: i32) -> Result<(), String> {
    let memfd =
        sys::adopt(inherited).ok_or_else(|| format!("descriptor {inherited} is not open"))?;
    let mut body = vec![
        0;
        rustix::fs::fstat(&memfd)
            .map_err(|errno| errno.to_string())?
            .st_size
            .max(0) as usize
    ];
    rustix::io::pread(&memfd, &mut body, 0)
        .map_err(|errno| format!("cannot read descriptor {inherited}: {errno}"))?;
    let inheritance: Inheritance =
        millibox_wire::decode(&body).map_err(|error| format!("descriptor {inherited}: {error}"))?;
    drop(memfd);
    if inheritance.keeper != 0 {
        // Dropping privileges has cleared what the keeper's child had set (prctl(2)).
        calls::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as usize, 0, 0, 0).map_err(|errno| {
            format!(
                "cannot be made to end with the keeper: {}",
                errno_text(errno)
            )
        })?;
        if std::os::unix::process::parent_id() as i32 != inheritance.keeper {
            return Err("the keeper has died".to_owned());
        }
    }
    if superuser()? {
        return Err(
            "refusing to run as the superuser: start the client as root and it will drop \
                    privileges, or be an ordinary user"
                .to_owned(),
        );
    }

    // Keep only the passed descriptors, and let no child inherit them.
    let mut keep = vec![0, 1, 2, inheritance.socket, inheritance.client];
    keep.extend(handed_over(&inheritance.handover));
    close_all_but(keep).map_err(|errno| {
        format!(
            "cannot close what was not handed over: {}",
            errno_text(errno)
        )
    })?;
    calls::close_range(3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC).map_err(|errno| {
        format!(
            "cannot make descriptors close-on-exec: {}",
            errno_text(errno)
        )
    })?;
    let socket = sys::adopt(inheritance.socket).ok_or("the client's socket is not open")?;
    let client = sys::adopt(inheritance.client).ok_or("the client's pidfd is not open")?;

    let mut last_words = null_standard_descriptors()?;
    if let Ok(words) = last_words.try_clone() {
        std::panic::set_hook(Box::new(move |panic| {
            let _ = writeln!(&words, "millibox: a fault in the supervisor: {panic}");
            std::process::abort();
        }));
    }
    let outcome = set_up_and_serve(inheritance, socket, client);
    if let Err(why) = &outcome {
        let _ = writeln!(last_words, "millibox: {why}");
        std::process::exit(1);
    }
    outcome
}

fn handed_over(handover: &Handover) -> Vec<i32> {
    match handover {
        Handover::Cgroup2 { base, .. } => vec![*base],
        Handover::Hybrid { runners } => runners.iter().flat_map(|files| files.all()).collect(),
        Handover::Rlimit => Vec::new(),
    }
}

/// Puts /dev/null at 0, 1 and 2. The former 2 is where the last message goes.
fn null_standard_descriptors() -> Result<std::fs::File, String> {
    let failed = |errno: rustix::io::Errno| format!("cannot open /dev/null: {errno}");
    let last_words = rustix::io::fcntl_dupfd_cloexec(sys::borrow(2), 3)
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
            // It was closed. The new one must survive a fork; no exec follows.
            std::mem::forget(null);
            continue;
        }
        calls::dup3(null.as_raw_fd(), standard, 0).map_err(errno_text)?;
    }
    Ok(std::fs::File::from(last_words))
}

fn set_up_and_serve(
    inheritance: Inheritance,
    socket: OwnedFd,
    client: OwnedFd,
) -> Result<(), String> {
    let failed =
        |what: &'static str| move |errno: Errno| format!("cannot {what}: {}", errno_text(errno));
    calls::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).map_err(failed("set no_new_privs"))?;
    calls::prctl(
        libc::PR_SET_NAME,
        c"millibox-super".as_ptr() as usize,
        0,
        0,
        0,
    )
    .map_err(failed("set our name"))?;
    // The caller's attributes do not apply to runs.
    let _ = calls::umask(0o022);
    calls::reset_signal_dispositions().map_err(failed("reset the signals' dispositions"))?;
    calls::unblock_signals();
    let mut cpus = Cpus::take(
        &inheritance.cpus,
        inheritance.slots,
        inheritance.runners_per_slot,
        inheritance.pin,
    )?;
    // Nor do the keys of the caller's session (session-keyring(7)). If the kernel has no keyrings
    // there is nothing to leave, and a container that forbids keyrings here forbids them to runs as
    // well.
    match calls::keyctl(1 /* KEYCTL_JOIN_SESSION_KEYRING */, 0, 0) {
        Err(errno) if ![libc::ENOSYS, libc::EPERM, libc::EACCES].contains(&errno.0) => {
            return Err(failed("leave the caller's session keyring")(errno));
        }
        Err(_) => {}
        // All runs are in this new session. Take away all rights to its keyring, even that to grant
        // rights: otherwise a run without a seccomp program could leave keys in it for the next
        // one.
        Ok(_) => {
            calls::keyctl(
                5,                /* KEYCTL_SETPERM */
                -3isize as usize, /* KEY_SPEC_SESSION_KEYRING */
                0,
            )
            .map_err(failed("close the session keyring to the runs"))?;
        }
    }
    // The supervisor must not wait for the end of a program's time slice.
    let _ = calls::set_slice(calls::nice(), crate::target::SUPERVISOR_SLICE_NS);
    rustix::process::chdir("/").map_err(|errno| format!("cannot enter /: {errno}"))?;

    // A runner's pid1 outlives it by a moment and becomes a child of the supervisor.
    calls::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0).map_err(failed("become a subreaper"))?;

    let (uid, gid) = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    enter_namespaces(uid, gid)?;
    calls::prctl(libc::PR_SET_SECUREBITS, crate::pid1::SECUREBITS, 0, 0, 0)
        .map_err(failed("set securebits"))?;

    let procfs = rustix::fs::open(
        "/proc",
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(|errno| format!("cannot open /proc: {errno}"))?;
    if !tree::proc_is_ours() {
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
    };
    // From here on no process of this user may trace the supervisor or the spawner. Runners decide
    // for themselves.
    calls::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0).map_err(failed("become undumpable"))?;
    let spawner = Spawner::start(&setup, procfs)?;
    spawner::close_what_runners_need(&mut setup.handover);
    // Nothing has been read from the client, and no runner has been started.
    setup.landlock = confine::supervisor()?;
    let locks = Locks::start(spawner.pid())?;
    if let Some(cpu) = setup.cpus.of_runs() {
        let _ = calls::set_affinity(cpu);
    }
    confine::supervisor_calls()?;
    let mut supervisor = Supervisor::new(setup, spawner, locks)?;
    supervisor.hello(backend)?;
    let outcome = supervisor.serve();
    supervisor.shut_down();
    outcome
}

/// Creates and enters the supervisor's namespaces: user, mount, network, IPC, UTS, time.
fn enter_namespaces(uid: u32, gid: u32) -> Result<(), String> {
    const FORBIDDEN: &str =
        "user namespaces seem to be forbidden here, `millibox doctor` says what to do";
    // AppArmor on Ubuntu allows user namespaces, and then refuses what they are needed for.
    let failed = |what: &'static str| {
        move |errno: Errno| match errno.0 {
            libc::EPERM | libc::EACCES => {
                format!("cannot {what}: {}; {FORBIDDEN}", errno_text(errno))
            }
            _ => format!("cannot {what}: {}", errno_text(errno)),
        }
    };
    let flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWTIME;
    calls::unshare(flags.bits() as i32).map_err(|errno| {
        format!(
            "cannot make new namespaces: {}; {FORBIDDEN}",
            errno_text(errno)
        )
    })?;
    let map = |id: u32| format!("{id} {id} 1");
    calls::write_file(libc::AT_FDCWD, c"/proc/self/setgroups", b"deny")
        .map_err(failed("deny setgroups"))?;
    calls::write_file(libc::AT_FDCWD, c"/proc/self/uid_map", map(uid).as_bytes()).map_err(
        failed("map our user id (is it mapped outside? may the executable be read by all?)"),
    )?;
    calls::write_file(libc::AT_FDCWD, c"/proc/self/gid_map", map(gid).as_bytes())
        .map_err(failed("map our group id"))?;

    calls::clear_host_name().map_err(failed("clear host and domain name"))?;
    // The uptime inside begins with the supervisor. The offset may not make a clock negative
    // (time_namespaces(7)), so it has whole seconds. The offset of CLOCK_MONOTONIC also applies to
    // CLOCK_MONOTONIC_RAW, which may lag behind it.
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
    .map_err(failed("set the time namespace's offsets"))?;
    let time = rustix::fs::open(
        "/proc/self/ns/time_for_children",
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(|errno| format!("cannot open the time namespace: {errno}"))?;
    calls::setns(time.as_fd().as_raw_fd(), libc::CLONE_NEWTIME)
        .map_err(failed("enter the time namespace"))?;
    Ok(())
}
