//! The limits of a run that are checked, and the error of an invalid limit.

use crate::Step;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The process limit of a run that does not specify one. The default stops fork bombs and leaves
/// room for the thread pools of language runtimes. It is also the number of processes whose CPU
/// time the `rlimit` backend can add up.
pub const DEFAULT_PROCESS_LIMIT: u32 = 512;

/// The maximum process limit. The kernel has no more process ids (`PID_MAX_LIMIT`, which also
/// bounds pids.max), and the sandbox itself needs up to three of them.
pub const MAX_PROCESS_LIMIT: u32 = (1 << 22) - 3;

/// The minimum CPU time in each period of a CPU bandwidth, and the minimum period, both in
/// microseconds.
pub const MIN_BANDWIDTH_US: u64 = 1000;
/// The maximum period of a CPU bandwidth, in microseconds.
pub const MAX_BANDWIDTH_PERIOD_US: u64 = 1_000_000;

/// A limit that must not be zero.
///
/// ```
/// use millibox_vocabulary::Limit;
/// assert_eq!(Limit::CpuTime.to_string(), "CPU-time limit");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Limit {
    /// Processes and threads.
    Processes,
    /// Memory.
    Memory,
    /// Real time.
    RealTime,
    /// CPU time.
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
///
/// ```
/// use millibox_vocabulary::{Limit, LimitError, Step};
/// assert_eq!(LimitError::Zero(Limit::Memory).step(), Step::MemoryLimit);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// No program can run if this limit is zero.
    #[error("the {0} is 0, and no program can run with that limit; set a larger limit, or none")]
    Zero(Limit),
    /// The limit is higher than the number of process ids in the kernel.
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
        /// The CPU time in each period, in microseconds.
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
    /// A swap limit is set without a memory limit.
    #[error("a swap limit needs a memory limit; set one too")]
    SwapWithoutMemory,
}

impl LimitError {
    /// The step of a run to which the limit belongs.
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
