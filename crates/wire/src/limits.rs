//! The limits of a run.

use millibox_vocabulary::{
    Limit, LimitError, MAX_BANDWIDTH_PERIOD_US, MAX_PROCESS_LIMIT, MIN_BANDWIDTH_US,
};
use serde::{Deserialize, Serialize};

/// The resources that a run may use. `None` means no limit, except for `processes`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The number of simultaneous processes and threads, including the program itself. `None` means
    /// [`DEFAULT_PROCESS_LIMIT`](crate::DEFAULT_PROCESS_LIMIT).
    pub processes: Option<u32>,
    /// The memory in bytes: anonymous memory, page cache of written files, tmpfs, sockets, pipes
    /// and kernel memory.
    pub memory: Option<u64>,
    /// The swap in bytes, in addition to `memory`.
    pub swap: Option<u64>,
    /// The CPU bandwidth.
    pub cpu_bandwidth: Option<Bandwidth>,
    /// The time from just before the exec to the death of the first process, in nanoseconds.
    pub real_time_ns: Option<u64>,
    /// The user and system CPU time of the whole process tree, in nanoseconds.
    pub cpu_time_ns: Option<u64>,
}

/// `max_us` of CPU time in every `period_us` (cpu.max; cpu.cfs_quota_us and cpu.cfs_period_us).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// The CPU time in microseconds, at least 1000.
    pub max_us: u64,
    /// The period in microseconds, 1000 to 1,000,000.
    pub period_us: u64,
}

impl Limits {
    /// Checks everything that can be checked without the kernel. The supervisor calls this because
    /// a client need not use the library.
    ///
    /// # Errors
    /// A limit has a value that no run can have.
    pub fn check(&self) -> Result<(), LimitError> {
        self.errors().into_iter().next().map_or(Ok(()), Err)
    }

    /// Returns an error for each limit with a value that no run can have. The client library calls
    /// this.
    pub fn errors(&self) -> Vec<LimitError> {
        let mut errors = Vec::new();
        for (limit, is_zero) in [
            (Limit::Processes, self.processes == Some(0)),
            (Limit::Memory, self.memory == Some(0)),
            (Limit::RealTime, self.real_time_ns == Some(0)),
            (Limit::CpuTime, self.cpu_time_ns == Some(0)),
        ] {
            if is_zero {
                errors.push(LimitError::Zero(limit));
            }
        }
        if let Some(limit) = self.processes.filter(|limit| *limit > MAX_PROCESS_LIMIT) {
            errors.push(LimitError::TooManyProcesses { limit });
        }
        if let Some(Bandwidth { max_us, period_us }) = self.cpu_bandwidth {
            if max_us < MIN_BANDWIDTH_US {
                errors.push(LimitError::BandwidthMax { max_us });
            }
            if !(MIN_BANDWIDTH_US..=MAX_BANDWIDTH_PERIOD_US).contains(&period_us) {
                errors.push(LimitError::BandwidthPeriod { period_us });
            }
        }
        if self.swap.is_some() && self.memory.is_none() {
            errors.push(LimitError::SwapWithoutMemory);
        }
        errors
    }
}
