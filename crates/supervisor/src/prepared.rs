//! The memory that a runner shares with its children: the state of the runner, and the world that
//! it prepares.

use crate::backend::Backend;
use crate::launch::{Failure, Report, Shared};
use crate::rlimits::TARGET_RLIMITS;
use crate::run_mounts::RunMount;
use crate::sys::calls;
use crate::sys::memory::{Pointers, Stack};
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::Relaxed;
use millibox_wire::Network;
use serde::{Deserialize, Serialize};
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
    /// Whether runs may create namespaces. If so, their number is limited.
    pub makes_namespaces: bool,
    /// The program of which the runs are copies.
    pub program: Option<millibox_wire::Prepare>,
}

/// The state of a runner, its pid1s and targets. Descriptors are plain numbers, because pid1 and
/// target have descriptor tables of their own.
pub struct Runner {
    pub shared: &'static Shared,
    pub backend: Backend,
    /// The runner's end of the socket to the supervisor. pid1 and target have it as well.
    pub socket: i32,
    /// The socket on which the target receives its launch. The supervisor has the same end open, to
    /// take back a launch that no target has received.
    pub launches: i32,
    /// The host's /proc (`O_PATH`).
    pub procfs: i32,
    /// The network namespace of runs without network access.
    pub network: i32,
    /// The file /proc/net/sockstat of that network namespace.
    pub sockstat: i32,
    /// The null device on a read-only mount (`O_PATH`); see [`crate::null`].
    pub null: i32,
    /// Becomes readable when this process dies.
    pub own_pidfd: i32,
    /// The user id outside the run's user namespace.
    pub uid: u32,
    pub gid: u32,
    /// The affinity mask of this process. It is needed if runs begin on a different CPU and
    /// pid1 returns at their end.
    pub cpu_mask: Vec<u64>,
    /// The nice value of runs: 0, or a greater one that cannot be lowered.
    pub runs_nice: i32,
    /// The values of [`TARGET_RLIMITS`], reduced to the hard limits.
    pub target_rlimits: [(u32, u64, u64); TARGET_RLIMITS.len()],
    pub target_stack: Stack,
    pub pointers: Pointers,
    pub pid1_stack: Stack,
    pub zygote_stack: Stack,
    /// Whether pid1 shares the runner's memory. Otherwise it has a copy.
    pub share_memory: bool,
    /// The secret that lets the sandbox's own calls pass the seccomp program of the zygote. `None`
    /// if every target attaches its program itself.
    pub pass: Option<u64>,
}

/// A prepared program. Each run is a copy of it; see [`crate::program`].
#[derive(Clone, Copy)]
pub struct Program<'a> {
    pub order: &'a millibox_wire::Prepare,
    /// The encoded [`crate::ready_protocol::Setup`].
    pub setup: &'a [u8],
    /// The template's end of its socket, in the table of its target; -1 before it exists.
    pub control: i32,
}

/// The number of files in /proc/net that the zygote sends: protocols, netlink and sockstat.
pub const SOCKET_FILE_COUNT: usize = 3;

/// The descriptors that must not reach a run: the listener and the files about sockets. -1 stands
/// for a missing one.
#[derive(Debug)]
pub struct NetworkDescriptors([AtomicI32; 1 + SOCKET_FILE_COUNT]);

impl NetworkDescriptors {
    pub fn new() -> NetworkDescriptors {
        NetworkDescriptors([const { AtomicI32::new(-1) }; 1 + SOCKET_FILE_COUNT])
    }

    pub fn listener(&self) -> Option<i32> {
        Some(self.0[0].load(Relaxed)).filter(|fd| *fd >= 0)
    }

    /// Replaces the listener, and returns the old one.
    pub fn set_listener(&self, fd: i32) -> i32 {
        self.0[0].swap(fd, Relaxed)
    }

    pub fn files(&self) -> &[AtomicI32] {
        &self.0[1..]
    }

    /// Closes all of them in the descriptor table of the caller, and keeps their numbers.
    pub fn close_copies(&self) {
        calls::close_present(self.0.iter().map(|fd| fd.load(Relaxed)));
    }
}

/// One world, as pid1 and target see it.
#[derive(Clone, Copy)]
pub struct Prepared<'a> {
    pub runner: &'a Runner,
    /// Becomes readable when pid1's parent dies.
    pub parent_pidfd: i32,
    pub uid: u32,
    pub gid: u32,
    pub mounts: &'a [(u32, RunMount)],
    pub network: Network,
    /// The zygote's descriptors for that network. Their numbers are the same in the memory of pid1
    /// and target.
    pub of_network: &'a NetworkDescriptors,
    /// Whether runs may create namespaces.
    pub makes_namespaces: bool,
    /// The seccomp program that the target attaches; `None` if the target has inherited it.
    pub seccomp: Option<&'a [u8]>,
    /// The program of which runs are copies. `None` if each target executes its own.
    pub program: Option<Program<'a>>,
}

/// Sends a report to the supervisor without allocating. Returns whether it was sent.
pub fn send_report(socket: i32, tag: u8, report: &Report) -> bool {
    let mut bytes = [tag; 1 + size_of::<Report>()];
    if let Some(body) = bytes.get_mut(1..) {
        body.copy_from_slice(report.as_bytes());
    }
    calls::send(socket, &bytes).is_ok()
}

/// Stores a failure of pid1, which the runner reads after waiting for pid1, and exits.
pub fn give_up(prepared: &Prepared, failure: Failure) -> ! {
    prepared.runner.shared.failure.set(failure);
    calls::exit(1)
}
