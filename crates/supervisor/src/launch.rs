//! The memory that supervisor and runner share: the numbers of a run and of its end.
//!
//! Each runner has one [`Shared`]. The supervisor writes [`Launch`] and the strings, and then sends
//! the descriptors. The target reads the memory after that message has arrived. Target and pid1
//! write [`Start`], [`Failure`] and [`End`], and then send a message. If pid1 was killed, the
//! runner writes them. So each part has one writer at a time, and messages order the accesses.
//!
//! The supervisor does not trust this memory. It uses the content only as figures of a result.

use crate::sys::Errno;
use crate::sys::memory::{self, Area, Copied};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use millibox_wire::Step;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// The bytes for strings. The kernel accepts at most a quarter of the stack limit and never more
/// than 6 MiB. With the default stack of 8 MiB that is 2 MiB (execve(2)).
pub const STRINGS: usize = 3 << 20;
/// The maximum number of arguments, variables and paths of a run together.
pub const MAX_STRINGS: usize = 128 * 1024;
/// The number of words in a CPU mask.
pub const CPU_WORDS: usize = millibox_wire::MAX_CPUS / u64::BITS as usize;
/// The value in [`Launch`] that means "no limit".
pub const UNLIMITED: u64 = u64::MAX;

/// The [`Shared`] of a runner, and the file with which the runner's process maps it.
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
    /// Supervisor to runner: wait for a new world after the current pid1.
    pub stay_idle: AtomicU32,
    /// Target to supervisor: everything is prepared except for the launch.
    pub prepared: AtomicU32,
    /// Target to runner and supervisor: this launch was received; 0 for none yet.
    pub launched: AtomicU64,
    /// Supervisor to target: do not execute the launch with this number.
    pub revoked: AtomicU64,
    /// Runner to supervisor: process id of the current zygote; 0 for none.
    pub zygote: AtomicI32,
    /// Zygote to supervisor: process id of the current pid1; 0 if none can be signalled. For copies
    /// of a template: the template's init process to supervisor.
    pub pid1: AtomicI32,
    /// Zygote to supervisor: process id of the init process of the current template of a prepared
    /// program; 0 for none.
    pub template_init: AtomicI32,
    /// The template's init process to supervisor: the template's usage until it was ready.
    pub template: Copied<TemplateFigures>,
    /// pid1 to zygote: the end was reported.
    pub reported: AtomicU32,
    /// Target to supervisor: process id of the current target, set before it is prepared; 0 if
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

/// The limits in the runner's cgroup files. They stay in force between runs, so equal limits need
/// not be written again. [`UNLIMITED`] means no limit.
#[derive(FromZeros)]
#[repr(C)]
pub struct AppliedLimits {
    pub memory: AtomicU64,
    pub swap: AtomicU64,
    pub processes: AtomicU64,
    pub quota: AtomicU64,
    /// The smallest amount of memory that the runner's cgroup contained before a run, in bytes.
    pub least_memory: AtomicU64,
    /// The additional memory in the cgroup before the current run.
    pub left_memory: AtomicU64,
    /// The number of OOM kills until the end of the previous run.
    pub oom_kills_before: AtomicU64,
    /// The number of OOM kills until the end of the current run.
    pub oom_kills: AtomicU64,
    /// The maximum number of tasks that the runner's pids cgroup had until the end of the current
    /// run; `UNLIMITED` if unknown.
    pub peak_tasks: AtomicU64,
}

impl AppliedLimits {
    /// Records that no limits are in force.
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

    /// Records a move to a new memory cgroup, which has no limits and unknown counters.
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

    /// Records that all limits are unknown. No run requests the value 0.
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
    /// The number of the launch, unique within a runner.
    pub number: u64,
    /// The number of bytes of the strings in use.
    pub strings_length: u32,
    pub paths: u32,
    pub arguments: u32,
    pub environment: u32,
    /// Bits 0 to 4 are set if stdin, stdout, stderr, program and the socket of a tracer were sent.
    pub descriptors: u32,
    /// Bit n: resource limit n is set.
    pub rlimit_mask: u32,
    pub rlimits: [u64; 16],
    /// The number of words in the CPU mask; 0 leaves the affinity unchanged.
    pub cpu_words: u32,
    /// 1 if the request names CPUs.
    pub cpus_named: u32,
    pub cpus: [u64; CPU_WORDS],
    pub memory: u64,
    /// The swap limit on top of the memory limit; `UNLIMITED` for none.
    pub swap: u64,
    pub processes: u64,
    /// The limit on open files if the request does not specify one.
    pub nofile: u32,
    /// 1 if the request names a process limit; otherwise `processes` is the default.
    pub processes_named: u32,
    /// The CPU time in each period, in µs; `UNLIMITED` for no bandwidth limit.
    pub quota: u64,
    pub period: u64,
    /// The CPU-time limit, for the rlimit backend, which supports only whole seconds.
    pub cpu_time_ns: u64,
    /// The lowest CPU time that a template of the run's prepared program has used until it was
    /// ready; `UNLIMITED` if unknown.
    pub least_template_cpu_ns: u64,
}

/// The counters that the target reads just before the exec.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Start {
    /// The number of the target's launch.
    pub number: u64,
    /// The time on `CLOCK_MONOTONIC_RAW`; 0 if the target did not reach the exec.
    pub exec_ns: u64,
    /// The CPU time of the cgroup up to that time.
    pub cpu_ns: u64,
}

/// The usage of a prepared program's template until it was ready.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct TemplateFigures {
    /// 1 if the run is a copy of a template.
    pub is_template: u64,
    /// The CPU time that the run is charged for the template.
    pub cpu_ns: u64,
    pub memory_bytes: u64,
}

/// A step that failed before the program ran.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Failure {
    /// The number of the [`Step`]; 0 for no failure. Only the client performs `Step::Send`, whose
    /// number is 0.
    pub step: u32,
    pub errno: i32,
    /// The index of the failed mount, resource limit or other object.
    pub object: u32,
    /// 1 if the program exists, but the interpreter or loader that it names does not.
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

/// How the run ended, and the resources that it used.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct End {
    /// 1 if pid1 died before it could report, and the runner reports instead.
    pub pid1_died: u32,
    /// The wait status of the first process; -1 if unknown because pid1 was killed.
    pub status: i32,
    /// The wait status of pid1, if the runner reports.
    pub pid1_status: i32,
    /// 1 if the kernel killed pid1 because of a CPU-time limit that differs from the one that its
    /// runner set. The run changed the limit (prlimit(2)), which is possible without a seccomp
    /// program.
    pub pid1_limited: u32,
    /// The number of the launch that ended; the runner continues with the same world. It is 0 if
    /// pid1 ended before a target received a launch; the runner then becomes idle.
    pub launch: u64,
    /// The time of the death of the first process (`CLOCK_MONOTONIC_RAW`).
    pub end_ns: u64,
    /// The CPU time of the process tree since [`Start`].
    pub cpu_ns: u64,
    /// The user part of the CPU time, from the rusage of reaped children.
    pub user_us: u64,
    pub system_us: u64,
    pub peak_memory: u64,
    /// `UNLIMITED` if unknown.
    pub peak_processes: u64,
    /// The number of OOM kills since the previous run, caused by any limit.
    pub oom_kills: u64,
    /// The number of times that the run reached its own limit; `UNLIMITED` if unknown.
    pub own_limit_reached: u64,
}

/// The report of a run's end. It is the body of a message and not in shared memory, because the
/// runner may already prepare the next run when the supervisor reads the report.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Report {
    pub template: TemplateFigures,
    pub start: Start,
    pub failure: Failure,
    pub end: End,
}

/// The first byte of messages between supervisor and runner, pid1 or target.
pub mod message {
    /// Runner: waits for a world.
    pub const IDLE: u8 = b'I';
    /// Runner: pid1 runs. The files of `Backend::watched` are attached. Without such files the
    /// message is not sent: the supervisor launches without waiting for it.
    pub const READY: u8 = b'R';
    /// Runner: the run has a loopback interface. The next byte states whether buffers are small,
    /// and the files that count sockets are attached. See [`crate::sockets`].
    pub const SOCKETS: u8 = b'C';
    /// Runner: has moved to a new memory cgroup. The files memory.max_usage_in_bytes and
    /// memory.oom_control and an eventfd are attached. See [`crate::backend::hybrid`].
    pub const MEMORY: u8 = b'M';
    /// Target: the attached file limits the run's CPU bandwidth (cpu.max, or cpu.cfs_quota_us for
    /// version 1). The supervisor lifts the limit when it ends the run; see [`crate::backend`].
    pub const BANDWIDTH: u8 = b'B';
    /// Runner: the preparation failed. A [`super::Report`] with the failure follows.
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
