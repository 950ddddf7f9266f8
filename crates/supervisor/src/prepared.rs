//! The memory that a runner shares with its children: the state of the runner, and the world that
//! it prepares.

use crate::backend::Backend;
use crate::launch::{Report, Shared};
use crate::rlimits::TARGET_RLIMITS;
use crate::sys::calls;
use crate::sys::memory::{Pointers, Stack};
use millibox_wire::Network;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use zerocopy::IntoBytes;

/// The order to prepare a world.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    pub uid: u32,
    pub gid: u32,
    pub network: Network,
    /// Mounts that each run creates for itself, with their index among the world's mounts.
    pub mounts: Vec<(u32, RunMount)>,
    pub seccomp: Option<Vec<u8>>,
    /// Whether runs may create namespaces, whose number is then limited.
    pub makes_namespaces: bool,
}

/// A mount operation that pid1 carries out for each run.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub enum RunMount {
    Tmpfs {
        path: CString,
        options: CString,
        no_exec: bool,
    },
    Proc {
        path: CString,
        options: CString,
    },
    /// Opens the template's staging directory, which has this device number, before the next tmpfs
    /// covers it.
    OpenStage {
        path: CString,
        device: u64,
    },
    /// Mounts the file or directory `name` of the staging directory.
    FromStage {
        name: CString,
        path: CString,
    },
    CreateDir {
        path: CString,
        mode: u32,
        may_exist: bool,
    },
    CreateFile {
        path: CString,
        mode: u32,
        may_exist: bool,
    },
    Symlink {
        target: CString,
        path: CString,
    },
}

/// The state of a runner, its pid1s and targets. Descriptors are plain numbers, because pid1 and
/// target have descriptor tables of their own.
pub struct Runner {
    pub shared: &'static Shared,
    pub backend: Backend,
    /// The runner's end of the socket to the supervisor. pid1 and target have it as well.
    pub socket: i32,
    /// The target receives its launch here. The supervisor holds the same end, to take back a
    /// launch that no target has received.
    pub launches: i32,
    /// The host's /proc (`O_PATH`).
    pub procfs: i32,
    /// The network namespace of runs without network.
    pub network: i32,
    /// /proc/net/sockstat there.
    pub sockstat: i32,
    /// Becomes readable when this process dies.
    pub own_pidfd: i32,
    /// The user id outside the run's user namespace.
    pub uid: u32,
    pub gid: u32,
    /// The affinity mask of this process, if its runs begin on another CPU and pid1 returns at
    /// their end.
    pub cpu_mask: Vec<u64>,
    /// The nice value of runs: 0, or a greater one that cannot be lowered.
    pub runs_nice: i32,
    /// [`TARGET_RLIMITS`], as far as the hard limits allow.
    pub target_rlimits: [(u32, u64, u64); TARGET_RLIMITS.len()],
    pub target_stack: Stack,
    pub pointers: Pointers,
    pub pid1_stack: Stack,
    pub zygote_stack: Stack,
    /// pid1 shares the runner's memory. Otherwise it has a copy.
    pub share_memory: bool,
    /// The secret that lets the sandbox's own calls pass the seccomp program of the zygote. `None`
    /// if every target attaches its program itself.
    pub pass: Option<u64>,
}

/// One world, as pid1 and target see it.
pub struct Prepared<'a> {
    pub runner: &'a Runner,
    /// Becomes readable when pid1's parent dies.
    pub parent_pidfd: i32,
    pub uid: u32,
    pub gid: u32,
    pub mounts: &'a [(u32, RunMount)],
    /// Whether runs may create namespaces.
    pub makes_namespaces: bool,
    /// The seccomp program that the target attaches; `None` if the target has inherited it.
    pub seccomp: Option<&'a [u8]>,
}

/// Sends a report to the supervisor without allocating. Returns whether it was sent.
pub fn send_report(socket: i32, tag: u8, report: &Report) -> bool {
    let mut bytes = [tag; 1 + size_of::<Report>()];
    if let Some(body) = bytes.get_mut(1..) {
        body.copy_from_slice(report.as_bytes());
    }
    calls::send(socket, &bytes).is_ok()
}
