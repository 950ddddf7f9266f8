//! The rights that supervisor, spawner, keeper and pid1 give up during their set-up.
//!
//! | process | capabilities | seccomp program | landlock |
//! | --- | --- | --- | --- |
//! | supervisor | none | `policies/supervisor.toml` | reads /proc |
//! | spawner | those of its runners | none: its children inherit it | none: it forbids mounts |
//! | keeper | KILL, DAC_OVERRIDE, if it is root | `policies/keeper.toml` | cgroups |
//! | pid1 with its own memory | none | `policies/pid1.toml` | |
//!
//! A seccomp program kills the process at any call that it does not allow. An attacker in control
//! of the process has only one attempt, and a bug becomes visible.

use crate::messages::failed;
use crate::sys::{Errno, calls, landlock};
use millibox_wire::{SupervisorError, SupervisorStep};
use rustix::fs::{Mode, OFlags};
use std::os::fd::{AsFd, OwnedFd};

/// The seccomp programs; see build.rs.
static SUPERVISOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/supervisor.bpf"));
static KEEPER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/keeper.bpf"));
/// The program of pid1, which pid1 attaches after it has cloned its target.
pub static PID1: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/pid1.bpf"));

/// Capabilities that the spawner and runners keep in the supervisor's own user namespace:
/// SYS_ADMIN (setns, unshare, mounts), SYS_CHROOT (setns to a mount namespace) and NET_ADMIN
/// (loopback).
const RUNNER_CAPABILITIES: u64 = 1 << 21 | 1 << 18 | 1 << 12;

/// Capabilities of a keeper that is root. KILL: the kernel sends the supervisor the signal of its
/// parent's death with the keeper's credentials, and the supervisor runs as another user
/// (`reparent_leader()` in kernel/exit.c). DAC_OVERRIDE: a cgroup may be in a subtree that belongs
/// to another user.
const KEEPER_CAPABILITIES: u64 = 1 << 5 | 1 << 1;

/// Drops all capabilities except for `keep` from the bounding set.
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

/// Confines the spawner, which keeps the rights that runners, mounters and their children need.
pub fn spawner() -> Result<(), SupervisorError> {
    keep_capabilities(RUNNER_CAPABILITIES)
}

/// Confines the supervisor after the spawner has started, except for the seccomp program. Returns
/// the version of landlock that confines it; 0 if the kernel has none.
pub fn supervisor() -> Result<u32, SupervisorError> {
    keep_capabilities(0)?;
    let procfs = directory("/proc")?;
    let landlock =
        landlock::restrict(&[(procfs.as_fd(), landlock::READ_FILE | landlock::READ_DIR)])
            .map_err(failed(SupervisorStep::Landlock))?;
    drop(procfs);
    Ok(landlock)
}

/// Attaches the supervisor's seccomp program after its threads have started.
pub fn supervisor_calls() -> Result<(), SupervisorError> {
    calls::attach_seccomp_to_all(SUPERVISOR).map_err(failed(SupervisorStep::Seccomp))
}

/// Confines the keeper after the supervisor has started. Afterwards the keeper can use only files
/// below the directories in `cgroups`.
pub fn keeper(cgroups: &[String]) -> Result<(), SupervisorError> {
    calls::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        .map_err(failed(SupervisorStep::NoNewPrivs))?;
    if rustix::process::geteuid().is_root() {
        // Without CAP_SETPCAP, for example in a container, the bounding set stays as it is.
        // no_new_privs makes it ineffective.
        let _ = drop_bounding_set(KEEPER_CAPABILITIES);
        calls::set_capabilities(KEEPER_CAPABILITIES & permitted_capabilities()?)
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

/// Describes how one of millibox's processes was killed by a signal.
pub fn killed_by(signal: i32) -> String {
    match signal {
        libc::SIGSYS => format!(
            "killed by signal {signal}: it made a system call that it never needs, so it has a bug \
             or was compromised; the kernel's log names the call (type=1326)"
        ),
        _ => format!("killed by signal {signal}"),
    }
}
