//! The limits of a run.

use crate::Step;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The process limit of a run that names none. It stops fork bombs, leaves room for the thread
/// pools of language runtimes, and is the number of processes whose CPU time the `rlimit` backend
/// can add up.
pub const DEFAULT_PROCESS_LIMIT: u32 = 512;

/// The largest process limit. The kernel has no more process ids (`PID_MAX_LIMIT`, which also
/// bounds pids.max), and the sandbox itself needs up to three of them.
pub const MAX_PROCESS_LIMIT: u32 = (1 << 22) - 3;

/// The least CPU time in a period of [`Bandwidth`], in microseconds, and the shortest period.
const MIN_BANDWIDTH_US: u64 = 1000;
/// The longest period of [`Bandwidth`], in microseconds.
const MAX_BANDWIDTH_PERIOD_US: u64 = 1_000_000;

/// What a run may use. `None` means no limit, except for `processes`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes and threads at one time, including the program itself. `None` means
    /// [`DEFAULT_PROCESS_LIMIT`].
    pub processes: Option<u32>,
    /// Memory in bytes: anonymous memory, page cache of written files, tmpfs, sockets, pipes and
    /// kernel memory.
    pub memory: Option<u64>,
    /// Swap in bytes on top of `memory`.
    pub swap: Option<u64>,
    /// CPU bandwidth.
    pub cpu_bandwidth: Option<Bandwidth>,
    /// Time from just before the exec to the death of the first process, in nanoseconds.
    pub real_time_ns: Option<u64>,
    /// User and system CPU time of the whole process tree, in nanoseconds.
    pub cpu_time_ns: Option<u64>,
}

/// `max_us` of CPU time in every `period_us` (cpu.max; cpu.cfs_quota_us and cpu.cfs_period_us).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// CPU time in microseconds, at least 1000.
    pub max_us: u64,
    /// Period in microseconds, 1000 to 1,000,000.
    pub period_us: u64,
}

impl Limits {
    /// Checks what can be checked without asking the kernel. The client, and the supervisor for
    /// clients of other kinds, call this.
    ///
    /// # Errors
    /// A limit has a value that no run can have.
    pub fn check(&self) -> Result<(), LimitError> {
        let zero = [
            (Limit::Processes, self.processes == Some(0)),
            (Limit::Memory, self.memory == Some(0)),
            (Limit::RealTime, self.real_time_ns == Some(0)),
            (Limit::CpuTime, self.cpu_time_ns == Some(0)),
        ];
        if let Some((limit, _)) = zero.into_iter().find(|(_, is_zero)| *is_zero) {
            return Err(LimitError::Zero(limit));
        }
        match self.processes {
            Some(limit) if limit > MAX_PROCESS_LIMIT => {
                return Err(LimitError::TooManyProcesses { limit });
            }
            _ => {}
        }
        if let Some(Bandwidth { max_us, period_us }) = self.cpu_bandwidth {
            if max_us < MIN_BANDWIDTH_US {
                return Err(LimitError::BandwidthMax { max_us });
            }
            if !(MIN_BANDWIDTH_US..=MAX_BANDWIDTH_PERIOD_US).contains(&period_us) {
                return Err(LimitError::BandwidthPeriod { period_us });
            }
        }
        if self.swap.is_some() && self.memory.is_none() {
            return Err(LimitError::SwapWithoutMemory);
        }
        Ok(())
    }
}

/// A limit that must not be zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::processes`].
    Processes,
    /// [`Limits::memory`].
    Memory,
    /// [`Limits::real_time_ns`].
    RealTime,
    /// [`Limits::cpu_time_ns`].
    CpuTime,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Processes => "process limit",
            Limit::Memory => "memory limit",
            Limit::RealTime => "real-time limit",
            Limit::CpuTime => "CPU-time limit",
        })
    }
}

/// A limit has a value that no run can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// With this limit at zero no program can run.
    #[error("the {0} is 0, and no program can run with that; set a larger one, or none")]
    Zero(Limit),
    /// The kernel has fewer process ids.
    #[error(
        "a process limit of {limit} is above {MAX_PROCESS_LIMIT}, the largest that the kernel can \
         enforce"
    )]
    TooManyProcesses {
        /// The limit.
        limit: u32,
    },
    /// The bandwidth's CPU time is too small.
    #[error("a CPU bandwidth of {max_us} us in each period is below {MIN_BANDWIDTH_US} us")]
    BandwidthMax {
        /// CPU time in each period, in microseconds.
        max_us: u64,
    },
    /// The bandwidth's period is too short or too long.
    #[error(
        "a CPU bandwidth period of {period_us} us is not between {MIN_BANDWIDTH_US} and \
         {MAX_BANDWIDTH_PERIOD_US} us"
    )]
    BandwidthPeriod {
        /// The period in microseconds.
        period_us: u64,
    },
    /// Swap is limited on top of a memory limit that is missing.
    #[error("a swap limit needs a memory limit; set one too")]
    SwapWithoutMemory,
}

impl LimitError {
    /// The step of a run that the limit belongs to.
    pub fn step(self) -> Step {
        match self {
            LimitError::Zero(Limit::Processes) | LimitError::TooManyProcesses { .. } => {
                Step::ProcessLimit
            }
            LimitError::Zero(Limit::Memory) => Step::MemoryLimit,
            LimitError::BandwidthMax { .. } | LimitError::BandwidthPeriod { .. } => {
                Step::CpuBandwidth
            }
            LimitError::SwapWithoutMemory => Step::SwapLimit,
            LimitError::Zero(Limit::RealTime | Limit::CpuTime) => Step::Request,
        }
    }
}
