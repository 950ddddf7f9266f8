//! The memory that supervisor and runner share: what a run is, and what came of it.
//!
//! One [`Shared`] per runner. The supervisor fills in [`Launch`] and the strings, then
//! sends the descriptors; the target reads them once the message has come. Target and
//! pid1 (or, if pid1 was killed, the runner) write [`Start`], [`Failure`] and [`End`],
//! then send a message. So each part has one writer at a time, ordered by messages.
//!
//! The supervisor believes nothing that it reads here beyond what it would
//! believe of a result: numbers.

use crate::sys::Errno;
use crate::sys::memory::{self, Area, Copied};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use millibox_wire::Step;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Room for strings: the kernel takes at most a quarter of the stack limit, and
/// never more than 6 MiB; under the default 8 MiB stack, 2 MiB (execve(2)).
pub const STRINGS: usize = 3 << 20;
/// Most arguments and environment strings together.
pub const MAX_STRINGS: usize = 128 * 1024;
/// Words in a CPU mask.
pub const CPU_WORDS: usize = millibox_wire::MOST_CPUS / u64::BITS as usize;
/// "No limit" in [`Launch`].
pub const UNLIMITED: u64 = u64::MAX;

/// A runner's [`Shared`], and the file that it is, by which the runner's process gets it.
#[derive(Clone)]
pub struct Memory {
    pub shared: &'static Shared,
    pub file: Rc<OwnedFd>,
}

impl Memory {
    /// Memory for a runner and its runs.
    pub fn new() -> std::io::Result<Memory> {
        let file = memory::shared_file::<Shared>()?;
        let shared: &'static Shared = memory::map_shared(file.as_fd())?;
        shared.standing.clear();
        Ok(Memory {
            shared,
            file: Rc::new(file),
        })
    }
}

/// See the module.
#[derive(FromZeros)]
#[repr(C)]
pub struct Shared {
    /// Supervisor → runner: after this pid1, wait for a new world instead of preparing again.
    pub stay_idle: AtomicU32,
    /// Target → supervisor: everything is prepared, only the launch is missing.
    pub prepared: AtomicU32,
    /// Target → runner, supervisor: the launch with this number has come; 0: none yet.
    pub launched: AtomicU64,
    /// Supervisor → target: the launch with this number is not to be executed.
    pub revoked: AtomicU64,
    /// Runner → supervisor: process id of the present zygote; 0: none.
    pub zygote: AtomicI32,
    /// Zygote → supervisor: process id of the present pid1; 0: none that could be signalled.
    pub pid1: AtomicI32,
    /// pid1 → zygote: the end has been reported.
    pub reported: AtomicU32,
    /// Target → supervisor: process id of the present target, from before it is prepared; 0:
    /// unknown.
    pub target: AtomicI32,
    /// Target → runner: limits as they stand in the runner's cgroups.
    pub standing: Standing,
    /// Supervisor → target.
    pub launch: Copied<Launch>,
    /// Target → pid1, runner, supervisor.
    pub start: Copied<Start>,
    /// Target, pid1 → runner.
    pub failure: Copied<Failure>,
    /// Supervisor → target: `Launch::strings_length` bytes.
    pub strings: Area<STRINGS>,
}

/// Limits that were written into cgroup files and stay until they are overwritten,
/// so that equal ones need not be written again. [`UNLIMITED`] is none.
#[derive(FromZeros)]
#[repr(C)]
pub struct Standing {
    pub memory: AtomicU64,
    pub swap: AtomicU64,
    pub processes: AtomicU64,
    pub quota: AtomicU64,
    /// Least memory that the runner's cgroup held before a run, in bytes.
    pub least_memory: AtomicU64,
    /// What it held beyond that before the present one.
    pub left_memory: AtomicU64,
    /// Processes that the kernel had killed for memory by the end of the run before.
    pub oom_kills_before: AtomicU64,
    /// By the end of the present one.
    pub oom_kills: AtomicU64,
    /// Most tasks that the runner's pids cgroup ever held, by the end of the present one;
    /// `UNLIMITED`: unknown.
    pub most_tasks: AtomicU64,
}

impl Standing {
    /// Nothing is limited.
    pub fn clear(&self) {
        for limit in [
            &self.memory,
            &self.swap,
            &self.processes,
            &self.quota,
            &self.least_memory,
        ] {
            limit.store(UNLIMITED, Relaxed);
        }
    }

    /// Another memory cgroup, without limits; what its counters say is not known.
    pub fn forget_memory(&self) {
        for unknown in [
            &self.memory,
            &self.swap,
            &self.least_memory,
            &self.oom_kills_before,
            &self.oom_kills,
        ] {
            unknown.store(UNLIMITED, Relaxed);
        }
    }

    /// Nothing is known: 0 is never what a run asks for.
    pub fn forget(&self) {
        for limit in [&self.memory, &self.swap, &self.processes, &self.quota] {
            limit.store(0, Relaxed);
        }
        for unknown in [
            &self.least_memory,
            &self.oom_kills_before,
            &self.oom_kills,
            &self.most_tasks,
        ] {
            unknown.store(UNLIMITED, Relaxed);
        }
    }
}

/// One run, as numbers.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Launch {
    /// Number of the launch, never twice the same for a runner.
    pub number: u64,
    /// Bytes used of the strings.
    pub strings_length: u32,
    pub paths: u32,
    pub arguments: u32,
    pub environment: u32,
    /// Bits 0..=3: stdin, stdout, stderr, program came along.
    pub descriptors: u32,
    /// Bit n: resource limit n is set.
    pub rlimit_mask: u32,
    pub rlimits: [u64; 16],
    /// 0: affinity stays.
    pub cpu_words: u32,
    /// 0: nobody asked for just these CPUs.
    pub cpus_named: u32,
    pub cpus: [u64; CPU_WORDS],
    pub memory: u64,
    /// Swap on top of memory; `UNLIMITED` if not asked for.
    pub swap: u64,
    pub processes: u64,
    /// Limit on open files for a run that names none.
    pub nofile: u32,
    /// 0: the request names no process limit, so `processes` is the default.
    pub processes_named: u32,
    /// CPU bandwidth in µs; `UNLIMITED` for none.
    pub quota: u64,
    pub period: u64,
    /// For the rlimit backend, which can only ask for whole seconds.
    pub cpu_time_ns: u64,
}

/// What the target saw just before the exec.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Start {
    /// The launch that this is about.
    pub number: u64,
    /// `CLOCK_MONOTONIC_RAW`; 0: it did not get so far.
    pub exec_ns: u64,
    /// CPU time that the cgroup had used by then.
    pub cpu_ns: u64,
}

/// A step that failed before the program ran.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Failure {
    /// [`Step`] as a number; 0: none.
    pub step: u32,
    pub errno: i32,
    /// Number of the mount, resource limit, ... that it was about.
    pub object: u32,
    /// The program is there, but what it names as interpreter or loader is not.
    pub interpreter_missing: u32,
}

impl Failure {
    pub fn new(step: Step, errno: Errno) -> Failure {
        Failure {
            step: step as u32,
            errno: errno.0,
            ..Failure::default()
        }
    }
}

/// How it ended and what it used.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct End {
    /// 1: pid1 did not live to report, the runner speaks for it.
    pub pid1_died: u32,
    /// Wait status of the first process; -1: unknown (pid1 was killed).
    pub status: i32,
    /// Wait status of pid1, when the runner speaks for it.
    pub pid1_status: i32,
    /// 1: pid1's limit on CPU time was another than the one it had from its runner: the run changed
    /// it (prlimit(2)), as without a seccomp program it may, and the kernel killed pid1 for it.
    pub pid1_limited: u32,
    /// Number of the launch that this is the end of; the runner goes on with the same world.
    /// 0: pid1 ended before a launch had reached its target; the runner becomes idle.
    pub launch: u64,
    /// `CLOCK_MONOTONIC_RAW` at the death of the first process.
    pub end_ns: u64,
    /// CPU time of the tree since [`Start`].
    pub cpu_ns: u64,
    /// Its split, by the rusage of the waited-for children.
    pub user_us: u64,
    pub system_us: u64,
    pub peak_memory: u64,
    /// `UNLIMITED`: unknown.
    pub peak_processes: u64,
    /// OOM kills since the run before, for whatever limit.
    pub oom_kills: u64,
    /// How often memory ran out at the run's own limit; `UNLIMITED`: unknown.
    pub own_limit_reached: u64,
}

/// All that is said of a run at its end; travels as the body of a message, since the
/// runner may already be preparing the next one when the supervisor reads it.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Report {
    pub start: Start,
    pub failure: Failure,
    pub end: End,
}

/// Messages from a runner, its pid1 or its target to the supervisor: one byte.
pub mod message {
    /// Runner: I wait for a world.
    pub const IDLE: u8 = b'I';
    /// Runner: pid1 runs; what `Backend::watched` names comes along. Not sent when that is
    /// nothing: the supervisor launches without being told that all is ready.
    pub const READY: u8 = b'R';
    /// Runner: there is a loopback interface; a byte, whether buffers are small, and the files that
    /// count sockets come along. See [`crate::sockets`].
    pub const SOCKETS: u8 = b'C';
    /// Runner: it has moved to a fresh memory cgroup, whose memory.max_usage_in_bytes,
    /// memory.oom_control and eventfd come along. See [`crate::backend::hybrid`].
    pub const MEMORY: u8 = b'M';
    /// Target: a run's CPU bandwidth is limited, by the file that comes along (cpu.max, version 1:
    /// cpu.cfs_quota_us). Who ends the run lifts that limit: see [`crate::backend`].
    pub const BANDWIDTH: u8 = b'B';
    /// Runner: could not prepare; a [`super::Report`] with the failure follows.
    pub const UNPREPARED: u8 = b'U';
    /// pid1: the run is over; a [`super::Report`] follows.
    pub const DONE: u8 = b'D';
    /// Runner: pid1 ended without a word; a [`super::Report`] follows.
    pub const ENDED: u8 = b'E';
    /// Supervisor → runner: prepare this world (its description follows, the template comes along).
    pub const PREPARE: u8 = b'P';
    /// Supervisor → target, on a socket of its own: launch; the run's descriptors come along.
    pub const LAUNCH: u8 = b'L';
}
