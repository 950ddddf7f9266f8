//! Dead runners and killed processes that the supervisor must still reap.

use super::limits::{MAX_TICK_NS, MIN_WAIT_NS};
use crate::launch::Shared;
use crate::sys::{calls, process};
use millibox_wire::ProcessEnd;
use std::sync::atomic::Ordering::SeqCst;

/// The number of attempts to start a runner. The pauses between them grow and add up to half a
/// minute.
pub(super) const MAX_START_ATTEMPTS: u32 = 40;

/// The history of attempts to start the runner of a place.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StartHistory {
    /// The number of runners that died there before they could serve runs, since the last runner
    /// that could.
    pub(super) deaths: u32,
    /// Whether a runner has served there, which shows that the configuration works.
    pub(super) has_served: bool,
}

impl StartHistory {
    pub(super) fn may_retry(&self) -> bool {
        self.has_served && self.deaths < MAX_START_ATTEMPTS
    }
}

/// A runner that has died.
pub(super) struct DeadRunner {
    pub(super) index: usize,
    pub(super) how: ProcessEnd,
    /// The latest time at which the runner's run is answered (`CLOCK_MONOTONIC_RAW`).
    pub(super) until_ns: u64,
}

/// Processes that the supervisor must reap because their parent has died: a zygote and then its
/// pid1, or a killed mounter.
pub(super) struct Unreaped {
    pub(super) first: i32,
    /// The memory with the process id of the zygote's pid1, until the id has been read.
    pub(super) shared: Option<&'static Shared>,
    pub(super) pid1: i32,
    /// The dead runner of these processes, until it is finished.
    pub(super) runner: Option<DeadRunner>,
}

impl Unreaped {
    /// A killed child of the supervisor.
    pub(super) fn one(child: i32) -> Unreaped {
        Unreaped {
            first: child,
            shared: None,
            pid1: 0,
            runner: None,
        }
    }

    /// The remaining processes of a dead runner. They die with the runner anyway; killing them
    /// makes this faster.
    pub(super) fn of(runner: DeadRunner, shared: &'static Shared) -> Unreaped {
        let zygote = shared.zygote.swap(0, SeqCst);
        if zygote != 0 {
            // The zygote is now a child of the supervisor and has not been reaped, so the process
            // id is valid.
            let _ = calls::kill(zygote, libc::SIGKILL);
        }
        Unreaped {
            first: zygote,
            shared: Some(shared),
            pid1: 0,
            runner: Some(runner),
        }
    }

    /// The time until the next check.
    pub(super) fn wait_ns(&self) -> u64 {
        if self.runner.is_some() {
            MIN_WAIT_NS
        } else {
            MAX_TICK_NS
        }
    }

    /// Reaps the processes without blocking. Returns whether all are dead.
    pub(super) fn reap(&mut self) -> bool {
        let alive = |pid: i32| {
            pid != 0
                && process::wait(pid, libc::__WALL | libc::WNOHANG)
                    .is_ok_and(|waited| waited.pid == 0)
        };
        if alive(self.first) {
            return false;
        }
        self.first = 0;
        // The process id cannot be read earlier, because the zygote may still have been cloning
        // pid1.
        if let Some(shared) = self.shared.take() {
            let pid1 = shared.pid1.swap(0, SeqCst);
            self.pid1 = match shared.template_init.swap(0, SeqCst) {
                0 => pid1,
                // The pid1s of the template's runs die with its init process.
                init => init,
            };
        }
        if alive(self.pid1) {
            return false;
        }
        self.pid1 = 0;
        true
    }
}
