//! What supervisor, spawner, keeper and pid1 give up when they are set up.
//!
//! | process | capabilities | seccomp program | landlock |
//! | --- | --- | --- | --- |
//! | supervisor | none | `policies/supervisor.toml` | reads /proc |
//! | spawner | those of its runners | none: its children inherit it | none: it forbids mounts |
//! | keeper | KILL, DAC_OVERRIDE, if it is root | `policies/keeper.toml` | cgroups |
//! | pid1 of its own memory | none | `policies/pid1.toml` | |
//!
//! A program's answer to what it does not let pass is the end of the process: whoever has taken it
//! over shall not look for another way, and whoever has a bug shall hear of it.

use crate::messages::failed;
use crate::sys::{Errno, calls, landlock};
use millibox_wire::{SupervisorError, SupervisorStep};
use rustix::fs::{Mode, OFlags};
use std::os::fd::{AsFd, OwnedFd};

/// The programs, see build.rs.
static SUPERVISOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/supervisor.bpf"));
static KEEPER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/keeper.bpf"));
/// For pid1, which attaches it once its target is there.
pub static PID1: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/pid1.bpf"));

/// Capabilities that the spawner and runners keep, in the supervisor's own user namespace:
/// SYS_ADMIN (setns, unshare, mounts), SYS_CHROOT (setns to a mount namespace),
/// NET_ADMIN (loopback).
const RUNNERS: u64 = 1 << 21 | 1 << 18 | 1 << 12;

/// Capabilities of a keeper that is root. KILL: the kernel sends the supervisor the signal of its
/// parent's death in the keeper's name, and the supervisor is another user (`reparent_leader()` in
/// kernel/exit.c). DAC_OVERRIDE: a cgroup may be in a subtree that belongs to somebody.
const KEEPER_HAS: u64 = 1 << 5 | 1 << 1;

/// Drops all capabilities from the bounding set but those in `keep`.
pub fn drop_bounding_set(keep: u64) -> Result<(), Errno> {
    for capability in 0..64 {
        if keep & 1 << capability != 0 {
            continue;
        }
        match calls::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) {
            Ok(_) => {}
            Err(Errno(libc::EINVAL)) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

fn keep_capabilities(keep: u64) -> Result<(), SupervisorError> {
    drop_bounding_set(keep).map_err(failed(SupervisorStep::BoundingSet))?;
    calls::set_capabilities(keep).map_err(failed(SupervisorStep::Capabilities))
}

/// The spawner: what runners and mounters need, and their children must not be denied, stays.
pub fn spawner() -> Result<(), SupervisorError> {
    keep_capabilities(RUNNERS)
}

/// The supervisor, once the spawner is there: all but the seccomp program. The version of landlock
/// that holds it; 0: none.
pub fn supervisor() -> Result<u32, SupervisorError> {
    keep_capabilities(0)?;
    let procfs = directory("/proc")?;
    let landlock =
        landlock::restrict(&[(procfs.as_fd(), landlock::READ_FILE | landlock::READ_DIR)])
            .map_err(failed(SupervisorStep::Landlock))?;
    drop(procfs);
    Ok(landlock)
}

/// The rest, once its threads are there.
pub fn supervisor_calls() -> Result<(), SupervisorError> {
    calls::attach_seccomp_to_all(SUPERVISOR).map_err(failed(SupervisorStep::Seccomp))
}

/// The keeper, once the supervisor is started: files below these directories are all that it needs.
pub fn keeper(cgroups: &[String]) -> Result<(), SupervisorError> {
    calls::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        .map_err(failed(SupervisorStep::NoNewPrivs))?;
    if rustix::process::geteuid().is_root() {
        // Without SETPCAP (in a container, say) the set stays; no_new_privs makes it meaningless.
        let _ = drop_bounding_set(KEEPER_HAS);
        calls::set_capabilities(KEEPER_HAS & permitted_capabilities()?)
            .map_err(failed(SupervisorStep::Capabilities))?;
    }
    let directories: Vec<OwnedFd> = cgroups
        .iter()
        .map(|path| directory(path))
        .collect::<Result<_, _>>()?;
    let rights = landlock::READ_FILE
        | landlock::READ_DIR
        | landlock::WRITE_FILE
        | landlock::TRUNCATE
        | landlock::MAKE_DIR
        | landlock::REMOVE_DIR;
    let allowed: Vec<_> = directories
        .iter()
        .map(|directory| (directory.as_fd(), rights))
        .collect();
    landlock::restrict(&allowed).map_err(failed(SupervisorStep::Landlock))?;
    drop(allowed);
    drop(directories);
    calls::attach_seccomp(KEEPER).map_err(failed(SupervisorStep::Seccomp))
}

fn permitted_capabilities() -> Result<u64, SupervisorError> {
    let sets =
        rustix::thread::capabilities(None).map_err(failed(SupervisorStep::ReadCapabilities))?;
    Ok(sets.permitted.bits())
}

fn directory(path: &str) -> Result<OwnedFd, SupervisorError> {
    rustix::fs::open(
        path,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(|errno| failed(SupervisorStep::Open)(errno).with_subject(path))
}

/// How a process of ours was ended by a signal, in words.
pub fn killed_by(signal: i32) -> String {
    match signal {
        libc::SIGSYS => format!(
            "killed by signal {signal}: it made a system call that it has no use for, so it has a \
             bug or was taken over; the kernel's log names the call (type=1326)"
        ),
        _ => format!("killed by signal {signal}"),
    }
}
