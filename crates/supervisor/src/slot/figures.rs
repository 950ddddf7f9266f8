//! The figures of a run in progress, and its out-of-memory events.

use super::Runner;
use crate::backend::{Handover, cgroup2};
use crate::launch::{End, Start};
use crate::sys::ascii::{keyed_number, leading_number};
use crate::sys::{self, Result, calls};
use core::sync::atomic::Ordering::SeqCst;
use std::os::fd::{AsRawFd, OwnedFd};

/// The kernel charges memory in batches of 64 pages. It may therefore refuse a request when the
/// usage is this far below the limit.
const CHARGE_BATCH_BYTES: u64 = 64 * 4096;

impl Runner {
    /// The CPU time used by the runner's cgroup, or by the processes of its run.
    ///
    /// The CPU time of a process on another CPU is added when that CPU is interrupted, at the
    /// latest by its tick every few milliseconds. (Reading another process's clock does not add it:
    /// `thread_group_cputime()` in kernel/sched/cputime.c.)
    pub fn cpu_ns(&self, handover: &Handover, index: usize) -> u64 {
        let mut buffer = [0; 512];
        match handover {
            Handover::Hybrid { runners } => runners
                .get(index)
                .and_then(|files| {
                    calls::read_at_start(files.figures.cpu_usage, &mut buffer)
                        .ok()
                        .map(leading_number)
                })
                .unwrap_or(0),
            Handover::Cgroup2 { .. } => self.files[0]
                .as_ref()
                .and_then(|fd| calls::read_at_start(fd.as_raw_fd(), &mut buffer).ok())
                .and_then(|text| keyed_number(text, b"usage_usec"))
                .map_or(0, |micros| micros.saturating_mul(1000)),
            Handover::Rlimit => {
                let pid1 = self.shared.pid1.load(SeqCst);
                let used = crate::backend::rlimit::tree_cpu_ns(pid1);
                // If pid1 has ended, its process id may belong to another process, but then pid1
                // has reported the figures.
                if self.shared.pid1.load(SeqCst) == pid1 {
                    used.saturating_add(self.shared.template.get().cpu_ns)
                } else {
                    0
                }
            }
        }
    }

    /// Measures the run's usage from the files of its own cgroup.
    pub fn measure(&self, start: &Start, end: &mut End) -> Result<()> {
        let fd = |file: &Option<OwnedFd>| file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        cgroup2::measure(self.files.each_ref().map(fd), start, end)
    }

    /// Discards an out-of-memory event of an earlier run.
    pub fn discard_oom_event(&mut self, handover: &Handover, index: usize) {
        if let Handover::Hybrid { runners } = handover
            && let Some(files) = runners.get(index)
        {
            let _ = read_event(files.oom_event);
        }
        self.saw_oom_kill = false;
    }

    /// Reads an out-of-memory event. Returns whether the run is out of memory.
    pub fn out_of_memory(&mut self, handover: &Handover, index: usize, limit: Option<u64>) -> bool {
        let happened = match handover {
            Handover::Hybrid { runners } => runners.get(index).is_some_and(|files| {
                let signalled = read_event(files.oom_event);
                // Before the target receives its launch, events, peak and limit do not belong to
                // the run. An event may come from emptying or removing the cgroup after the
                // previous run.
                let has_begun = self.is_launched();
                // The event also reports that a parent's limit was reached. The peak shows whether
                // the run reached its own limit.
                let mut buffer = [0; 32];
                let peak = calls::read_at_start(files.figures.memory_peak, &mut buffer)
                    .map_or(0, leading_number);
                let limit_in_force = self.shared.applied_limits.memory.load(SeqCst);
                signalled
                    && has_begun
                    && limit.is_some()
                    && peak.saturating_add(CHARGE_BATCH_BYTES) >= limit_in_force
            }),
            Handover::Cgroup2 { .. } => {
                let number = |file: &Option<OwnedFd>, of: fn(&[u8]) -> u64| {
                    let mut buffer = [0; 256];
                    let fd = file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
                    calls::read_at_start(fd, &mut buffer).map_or(0, of)
                };
                let [_, events, _, peak, _] = &self.files;
                // `oom_kill` would also count victims of a parent's limit and of the whole host.
                let refused = number(events, |text| keyed_number(text, b"oom").unwrap_or(0)) > 0;
                refused
                    || limit
                        .is_some_and(|limit| cgroup2::is_above(number(peak, leading_number), limit))
            }
            Handover::Rlimit => false,
        };
        self.saw_oom_kill |= happened;
        happened
    }

    /// Whether the current run ran out of memory.
    pub fn saw_oom_kill(&self) -> bool {
        self.saw_oom_kill
    }
}

/// Reads an eventfd. Returns whether it had counted an event. A runner may have sent the
/// descriptor, so the read must not block.
fn read_event(fd: i32) -> bool {
    calls::is_readable(fd) && rustix::io::read(sys::borrow(fd), &mut [0; 8]).is_ok()
}
