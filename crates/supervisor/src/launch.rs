//! The memory that supervisor and runner share: the numbers of a run and of its end.
//!
//! Each runner has one [`Shared`]. The supervisor writes [`Launch`] and the strings, and then sends
//! the descriptors; the target reads the memory when that message has arrived. Target and pid1 (or
//! the runner, if pid1 was killed) write [`Start`], [`Failure`] and [`End`], and then send a
//! message. So each part has one writer at a time, ordered by messages.
//!
//! The supervisor does not trust what it reads here: these are numbers of a result, and nothing
//! more.

use crate::sys::Errno;
use crate::sys::memory::{self, Area, Copied};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use millibox_wire::Step;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Bytes for strings: the kernel accepts at most a quarter of the stack limit, and never more than
/// 6 MiB; with the default stack of 8 MiB that is 2 MiB (execve(2)).
pub const STRINGS: usize = 3 << 20;
/// The most arguments, variables and paths together.
pub const MAX_STRINGS: usize = 128 * 1024;
/// Words in a CPU mask.
pub const CPU_WORDS: usize = millibox_wire::MAX_CPUS / u64::BITS as usize;
/// "No limit" in [`Launch`].
pub const UNLIMITED: u64 = u64::MAX;

/// A runner's [`Shared`], and the file that passes it to the runner's process.
#[derive(Clone)]
pub struct Memory {
    pub shared: &'static Shared,
    pub file: Rc<OwnedFd>,
}

impl Memory {
    /// Creates the memory for a runner and its runs.
    pub fn new() -> std::io::Result<Memory> {
        let file = memory::shared_file::<Shared>()?;
        let shared: &'static Shared = memory::map_shared(file.as_fd())?;
        shared.applied_limits.clear();
        Ok(Memory {
            shared,
            file: Rc::new(file),
        })
    }
}

/// The shared memory of a runner.
#[derive(FromZeros)]
#[repr(C)]
pub struct Shared {
    /// Supervisor to runner: after this pid1, wait for a new world instead of preparing again.
    pub stay_idle: AtomicU32,
    /// Target to supervisor: everything is prepared except for the launch.
    pub prepared: AtomicU32,
    /// Target to runner and supervisor: this launch was received; 0 for none yet.
    pub launched: AtomicU64,
    /// Supervisor to target: do not execute the launch with this number.
    pub revoked: AtomicU64,
    /// Runner to supervisor: process id of the present zygote; 0 for none.
    pub zygote: AtomicI32,
    /// Zygote to supervisor: process id of the present pid1; 0 if none can be signalled.
    pub pid1: AtomicI32,
    /// pid1 to zygote: the end was reported.
    pub reported: AtomicU32,
    /// Target to supervisor: process id of the present target, set before it is prepared; 0 if
    /// unknown.
    pub target: AtomicI32,
    /// Target to runner: the limits in the runner's cgroups.
    pub applied_limits: AppliedLimits,
    /// Supervisor to target.
    pub launch: Copied<Launch>,
    /// Target to pid1, runner and supervisor.
    pub start: Copied<Start>,
    /// Target and pid1 to runner.
    pub failure: Copied<Failure>,
    /// Supervisor to target: `Launch::strings_length` bytes.
    pub strings: Area<STRINGS>,
}

/// Limits that were written to cgroup files and stay until they are overwritten, so that equal ones
/// need not be written again. [`UNLIMITED`] means no limit.
#[derive(FromZeros)]
#[repr(C)]
pub struct AppliedLimits {
    pub memory: AtomicU64,
    pub swap: AtomicU64,
    pub processes: AtomicU64,
    pub quota: AtomicU64,
    /// The least memory that the runner's cgroup contained before a run, in bytes.
    pub least_memory: AtomicU64,
    /// The memory beyond that before the present run.
    pub left_memory: AtomicU64,
    /// The OOM kills until the end of the previous run.
    pub oom_kills_before: AtomicU64,
    /// The OOM kills until the end of the present run.
    pub oom_kills: AtomicU64,
    /// The most tasks of the runner's pids cgroup so far, until the end of the present run;
    /// `UNLIMITED` if unknown.
    pub peak_tasks: AtomicU64,
}

impl AppliedLimits {
    /// No limits are set.
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

    /// After the move to another memory cgroup: it has no limits, and its counters are unknown.
    pub fn mark_memory_unknown(&self) {
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

    /// Nothing is known: a run never requests 0.
    pub fn mark_unknown(&self) {
        for limit in [&self.memory, &self.swap, &self.processes, &self.quota] {
            limit.store(0, Relaxed);
        }
        for unknown in [
            &self.least_memory,
            &self.oom_kills_before,
            &self.oom_kills,
            &self.peak_tasks,
        ] {
            unknown.store(UNLIMITED, Relaxed);
        }
    }
}

/// The numbers of a run.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Launch {
    /// The number of the launch, unique for a runner.
    pub number: u64,
    /// The used bytes of the strings.
    pub strings_length: u32,
    pub paths: u32,
    pub arguments: u32,
    pub environment: u32,
    /// Bits 0 to 3: stdin, stdout, stderr and program were sent.
    pub descriptors: u32,
    /// Bit n: resource limit n is set.
    pub rlimit_mask: u32,
    pub rlimits: [u64; 16],
    /// 0: the affinity stays.
    pub cpu_words: u32,
    /// 0: the request named no CPUs.
    pub cpus_named: u32,
    pub cpus: [u64; CPU_WORDS],
    pub memory: u64,
    /// Swap on top of memory; `UNLIMITED` if not limited.
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

/// What the target noted just before the exec.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Start {
    /// The number of its launch.
    pub number: u64,
    /// `CLOCK_MONOTONIC_RAW`; 0 if it was not reached.
    pub exec_ns: u64,
    /// The CPU time of the cgroup until then.
    pub cpu_ns: u64,
}

/// A step that failed before the program ran.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Failure {
    /// The number of the [`Step`]; 0 for no failure. Only the client sends, so `Step::Send` never
    /// fails here.
    pub step: u32,
    pub errno: i32,
    /// The index of its mount, resource limit and so on.
    pub object: u32,
    /// The program exists, but the interpreter or loader that it names does not.
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

/// How the run ended and what it used.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct End {
    /// 1: pid1 died before it could report, and the runner reports instead.
    pub pid1_died: u32,
    /// The wait status of the first process; -1 if unknown because pid1 was killed.
    pub status: i32,
    /// The wait status of pid1, if the runner reports.
    pub pid1_status: i32,
    /// 1: pid1's CPU-time limit differs from the one that its runner set: the run changed it
    /// (prlimit(2)), which is possible without a seccomp program, and the kernel killed pid1
    /// because of it.
    pub pid1_limited: u32,
    /// The number of the launch that ended; the runner continues with the same world. 0: pid1 ended
    /// before a target received a launch, and the runner becomes idle.
    pub launch: u64,
    /// The time of the death of the first process (`CLOCK_MONOTONIC_RAW`).
    pub end_ns: u64,
    /// The CPU time of the process tree since [`Start`].
    pub cpu_ns: u64,
    /// How it divides, from the rusage of waited-for children.
    pub user_us: u64,
    pub system_us: u64,
    pub peak_memory: u64,
    /// `UNLIMITED` if unknown.
    pub peak_processes: u64,
    /// OOM kills since the previous run, because of any limit.
    pub oom_kills: u64,
    /// How often the run's own limit was reached; `UNLIMITED` if unknown.
    pub own_limit_reached: u64,
}

/// The report of a run's end. It travels as the body of a message, because the runner may already
/// be preparing the next run when the supervisor reads it.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Report {
    pub start: Start,
    pub failure: Failure,
    pub end: End,
}

/// The first byte of messages between supervisor and runner, pid1 or target.
pub mod message {
    /// Runner: it waits for a world.
    pub const IDLE: u8 = b'I';
    /// Runner: pid1 runs; the files that `Backend::watched` names are attached. Not sent without
    /// such files: the supervisor launches without waiting for a message.
    pub const READY: u8 = b'R';
    /// Runner: it has a loopback interface. A byte says whether buffers are small; the files that
    /// count sockets are attached. See [`crate::sockets`].
    pub const SOCKETS: u8 = b'C';
    /// Runner: it has moved to a fresh memory cgroup, whose memory.max_usage_in_bytes,
    /// memory.oom_control and eventfd are attached. See [`crate::backend::hybrid`].
    pub const MEMORY: u8 = b'M';
    /// Target: a run's CPU bandwidth is limited by the attached file (cpu.max, version 1:
    /// cpu.cfs_quota_us). Ending the run lifts that limit; see [`crate::backend`].
    pub const BANDWIDTH: u8 = b'B';
    /// Runner: it could not prepare; a [`super::Report`] with the failure follows.
    pub const UNPREPARED: u8 = b'U';
    /// pid1: the run is over; a [`super::Report`] follows.
    pub const DONE: u8 = b'D';
    /// Runner: pid1 ended without a report; a [`super::Report`] follows.
    pub const ENDED: u8 = b'E';
    /// Supervisor to runner: prepare the world that follows; its template is attached.
    pub const PREPARE: u8 = b'P';
    /// Supervisor to target, on a separate socket: launch; the run's descriptors are attached.
    pub const LAUNCH: u8 = b'L';
}
