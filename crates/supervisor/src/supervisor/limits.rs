//! Watches the clocks of runs in progress and ends runs that reach a limit.

use super::{Ended, Supervisor};
use crate::backend::Handover;
use crate::locks::{self, Locks};
use crate::messages::Fatal;
use crate::slot::{Runner, State};
use crate::sys::calls;
use core::sync::atomic::Ordering::SeqCst;
use millibox_wire::{Hint, Outcome, RunError, Step};

/// The minimum time between two checks for an event that is expected soon.
pub(super) const MIN_WAIT_NS: u64 = 1_000_000;
/// The minimum time between two checks near a CPU-time limit. Between two checks a run may use this
/// much time on each CPU.
const MIN_CPU_WAIT_NS: u64 = 400_000;
/// The longest tick of a kernel (CONFIG_HZ=100). At each tick, the kernel updates the CPU time
/// of running processes.
pub(super) const MAX_TICK_NS: u64 = 10_000_000;
/// If a run has not reached its exec this long after its real-time limit, it hangs before the exec,
/// or its runner is not scheduled.
const EXEC_GRACE_NS: u64 = 2_000_000_000;

/// The reason why the supervisor ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    RealTime,
    /// The run's target has received the launch but does not reach its exec.
    NotExecuted,
    /// The run reached its CPU-time limit, having used this CPU time. A later reading of
    /// short-lived processes may be lower.
    CpuTime {
        used_ns: u64,
    },
    Memory,
    Output,
    Caller,
    Cancelled,
}

impl Cause {
    pub(super) fn outcome(self) -> Outcome {
        match self {
            Cause::RealTime => Outcome::RealTimeLimit,
            Cause::NotExecuted => {
                Outcome::SandboxError(RunError::new(Step::Exec).with_hint(Hint::NotExecuted))
            }
            Cause::CpuTime { .. } => Outcome::CpuTimeLimit,
            Cause::Memory => Outcome::MemoryLimit,
            Cause::Output => Outcome::OutputLimit,
            Cause::Caller => Outcome::Killed,
            Cause::Cancelled => Outcome::Cancelled,
        }
    }
}

impl Supervisor {
    pub(super) fn next_deadline(&self) -> Option<u64> {
        self.runners
            .iter()
            .filter(|runner| matches!(runner.state, State::Running(_)))
            .flat_map(|runner| {
                let sockets = runner.sockets.as_ref().map(|its| its.scan_at_ns);
                [
                    runner.real_deadline,
                    runner.cpu_deadline,
                    runner.locks_deadline,
                    runner.receipt_deadline,
                    sockets,
                ]
            })
            .chain(self.runners.iter().map(|runner| {
                runner
                    .kill_pending
                    .then(|| calls::monotonic_raw_ns().saturating_add(MIN_WAIT_NS))
            }))
            .chain(
                self.unreaped.iter().map(|unreaped| {
                    Some(calls::monotonic_raw_ns().saturating_add(unreaped.wait_ns()))
                }),
            )
            .chain(
                self.runners
                    .iter()
                    .map(|runner| runner.survivors.as_ref().map(|rest| rest.scan_at_ns)),
            )
            .chain(self.runners.iter().map(|runner| runner.switch_deadline))
            .chain([self.retry_at_ns])
            .flatten()
            .chain(self.restarts.iter().map(|restart| restart.at_ns))
            .chain(
                self.polls_runners
                    .then(|| calls::monotonic_raw_ns().saturating_add(MIN_WAIT_NS)),
            )
            .min()
    }

    /// Ends runs whose sockets hold, or could hold, more memory than their limit, or more of the
    /// memory that all sockets of the host share than one run may use.
    pub(super) fn check_sockets(&mut self) {
        let charged = !matches!(self.setup.handover, Handover::Rlimit);
        for index in 0..self.runners.len() {
            let runner = &mut self.runners[index];
            let (State::Running(id), Some(sockets)) = (runner.state, &mut runner.sockets) else {
                continue;
            };
            let request = self.requests.get(&id);
            let limit = request.and_then(|request| request.limits.memory);
            if calls::monotonic_raw_ns() >= sockets.scan_at_ns && sockets.exceed(limit, charged) {
                self.end(id, Cause::Memory);
            }
        }
    }

    /// Requests a scan of the file locks of runs that have been in progress for a while.
    pub(super) fn request_lock_scan(&mut self) {
        let Some(locks) = &self.locks else { return };
        let now = calls::monotonic_raw_ns();
        let is_due = |runner: &Runner| {
            runner
                .locks_deadline
                .is_some_and(|deadline| now >= deadline)
        };
        if !self.runners.iter().any(is_due) {
            return;
        }
        let mut runs = Vec::new();
        // Request a scan of all these runs, because it costs the same for one run and for many.
        for runner in self
            .runners
            .iter_mut()
            .filter(|runner| runner.locks_deadline.is_some())
        {
            runner.locks_deadline = Some(now.saturating_add(locks::SCAN_INTERVAL_NS));
            let pid1 = runner.shared.pid1.load(SeqCst);
            if let State::Running(id) = runner.state
                && pid1 != 0
            {
                runs.push(locks::Run { id, pid1 });
            }
        }
        if locks.is_free() {
            self.locks_requested_ns = now;
            locks.ask(runs);
        }
    }

    /// Requests a scan that records the existing file locks, if the last scan was long ago. The
    /// supervisor calls this before a launch.
    pub(super) fn request_lock_history(&mut self, now: u64) {
        if let Some(locks) = &self.locks
            && now.saturating_sub(self.locks_requested_ns) >= locks::MAX_SCAN_AGE_NS
            && locks.is_free()
        {
            self.locks_requested_ns = now;
            locks.ask(Vec::new());
        }
    }

    /// Handles a finished count of file locks.
    pub(super) fn handle_lock_counts(&mut self) -> Result<(), Fatal> {
        let too_many = self.locks.as_ref().map_or(Ok(Vec::new()), Locks::answer)?;
        for run in too_many {
            self.end(run.id, Cause::Memory);
        }
        Ok(())
    }

    pub(super) fn check_clocks(&mut self) {
        for index in 0..self.runners.len() {
            if self.runners[index].kill_pending {
                self.runners[index].kill_pid1(false);
            }
            let is_due = |deadline: Option<u64>| {
                deadline.is_some_and(|at_ns| calls::monotonic_raw_ns() >= at_ns)
            };
            if is_due(self.runners[index].switch_deadline) {
                // The zygote hangs, or the kernel does not finish removing an earlier run. Another
                // runner can serve runs.
                self.runners[index].switch_deadline = None;
                self.runners[index].kill_process();
            }
            if is_due(self.runners[index].receipt_deadline) {
                self.check_receipt(index);
            }
            let runner = &mut self.runners[index];
            let State::Running(id) = runner.state else {
                continue;
            };
            if let Some(rest) = &runner.survivors {
                if calls::monotonic_raw_ns() >= rest.scan_at_ns {
                    runner.kill_survivors();
                }
                continue;
            }
            let (real, cpu) = (runner.real_deadline, runner.cpu_deadline);
            if real.is_none() && cpu.is_none() {
                continue;
            }
            let now = calls::monotonic_raw_ns();
            let Some((limits, cpus)) = self
                .requests
                .get(&id)
                .map(|request| (request.limits, request.cpus))
            else {
                continue;
            };
            let start = runner.start_of_run();
            if let (Some(deadline), Some(limit)) = (real, limits.real_time_ns)
                && now >= deadline
            {
                // The clock starts at the exec, which comes after the launch.
                let reached = match start.exec_ns {
                    // A run that has not begun cannot be late; see `setbacks`.
                    0 if !runner.is_launched() => u64::MAX,
                    0 => runner
                        .last_used
                        .saturating_add(limit)
                        .saturating_add(EXEC_GRACE_NS),
                    exec => exec.saturating_add(limit),
                };
                if now >= reached {
                    // A step before the exec hangs, which is not the program's fault.
                    let cause = match start.exec_ns {
                        0 => Cause::NotExecuted,
                        _ => Cause::RealTime,
                    };
                    self.end(id, cause);
                    continue;
                }
                if reached == u64::MAX {
                    // The target has not reached its exec yet.
                    runner.last_used = now;
                }
                let again = if start.exec_ns == 0 {
                    now + MIN_WAIT_NS
                } else {
                    reached
                };
                self.runners[index].real_deadline = Some(again);
            }
            if let (Some(deadline), Some(limit)) = (cpu, limits.cpu_time_ns)
                && now >= deadline
            {
                let before = calls::thread_cpu_ns();
                let used_ns = match start.exec_ns {
                    0 => 0,
                    _ => self.runners[index]
                        .cpu_ns(&self.setup.handover, index)
                        .saturating_sub(start.cpu_ns),
                };
                if used_ns >= limit {
                    self.end(id, Cause::CpuTime { used_ns });
                    continue;
                }
                // Reading many processes takes time that other runs need. The time of the next
                // reading depends on the CPU time of this reading and not on the elapsed time.
                // Otherwise busy processes elsewhere would delay it.
                let took = calls::thread_cpu_ns().saturating_sub(before);
                let wait = ((limit - used_ns) / cpus)
                    .max(MIN_CPU_WAIT_NS)
                    .max(took.saturating_mul(10));
                self.runners[index].cpu_deadline = Some(now + wait);
            }
        }
    }

    /// Handles the kernel's report that a run's cgroup is out of memory.
    pub(super) fn out_of_memory(&mut self, index: usize) {
        let limit = match self.runners[index].state {
            State::Running(id) => self
                .requests
                .get(&id)
                .and_then(|request| request.limits.memory),
            _ => None,
        };
        let happened = self.runners[index].out_of_memory(&self.setup.handover, index, limit);
        if let State::Running(id) = self.runners[index].state
            && happened
            && limit.is_some()
        {
            self.end(id, Cause::Memory);
        }
    }

    /// Ends a run. The result follows after the run's death. Unknown ids belong to runs that ended
    /// before the request arrived.
    pub(super) fn end(&mut self, id: u64, cause: Cause) {
        if self.dequeue(id) {
            self.reject_dequeued(id, cause.outcome());
            return;
        }
        let Some(request) = self.requests.get(&id) else {
            return;
        };
        if request.ended.is_some() && cause != Cause::Cancelled {
            return;
        }
        if let Some(index) = self
            .runners
            .iter()
            .position(|runner| runner.state == State::Running(id))
        {
            if !self.runners[index].is_launched() && self.end_unreceived(index, cause.outcome()) {
                return;
            }
            let Some(request) = self.requests.get_mut(&id) else {
                return;
            };
            let runner = &mut self.runners[index];
            // A killed pid1 does not wait for its children, so their CPU time must be read now.
            let used_ns = match (cause, &self.setup.handover) {
                (Cause::CpuTime { used_ns }, _) => used_ns,
                (_, Handover::Rlimit) if runner.start_of_run().exec_ns != 0 => runner
                    .cpu_ns(&self.setup.handover, 0)
                    .saturating_sub(runner.start_of_run().cpu_ns),
                _ => 0,
            };
            let used = runner.kill_pid1(matches!(self.setup.handover, Handover::Rlimit));
            request.ended = Some(Ended {
                cause,
                at_ns: calls::monotonic_raw_ns(),
                used_ns,
                used,
            });
            runner.stop_clocks();
        }
    }
}
