//! Turns the report of pid1 into the result for the client: the outcome and the figures.

use super::limits::Cause;
use super::{Request, Supervisor};
use crate::backend::{self, Handover};
use crate::launch::{Report, UNLIMITED};
use crate::sys::{Errno, process};
use crate::world::WorldId;
use millibox_wire::path;
use millibox_wire::{Figures, Hint, Outcome, RunError, RunResult, Start, Step};

/// A peak may be this much below the limit that the run reached. The figure excludes memory that an
/// earlier run left (see backend/hybrid.rs), and the kernel charges in batches.
const PEAK_TOLERANCE_BYTES: u64 = 2 << 20;

impl Supervisor {
    pub(super) fn failure(
        &self,
        (step, errno, object, interpreter): &(Step, Errno, u32, bool),
        world: Option<WorldId>,
    ) -> RunError {
        if *step == Step::Ready {
            return super::cold::not_ready(crate::program::problem(*object, *errno));
        }
        let object = match step {
            Step::Mount | Step::MountPoint => world
                .and_then(|world| self.worlds.mount(world, *object as usize))
                .map(|mount| path::shown(mount.path()))
                .unwrap_or_default(),
            Step::Rlimit => millibox_wire::RLIMITS
                .get(*object as usize)
                .map(|name| format!("RLIMIT_{name}"))
                .unwrap_or_default(),
            _ => String::new(),
        };
        let error = RunError::new(*step)
            .with_errno(errno.0)
            .with_subject(object);
        match step {
            Step::Exec if *interpreter => error.with_hint(Hint::InterpreterMissing),
            _ => error,
        }
    }

    pub(super) fn finish(&mut self, id: u64, report: &Report) {
        let Some(request) = self.remove_request(id) else {
            return;
        };
        self.rebuild_if_stale(request.world, report);
        self.worlds.record_template(request.world, &report.template);
        let end = &report.end;
        let started = report.start.exec_ns;
        let mut figures = Figures {
            real_time_ns: if started == 0 {
                0
            } else {
                end.end_ns.saturating_sub(started)
            },
            peak_memory_bytes: end.peak_memory,
            peak_processes: (end.peak_processes != UNLIMITED).then_some(end.peak_processes as u32),
            ..Figures::default()
        };
        let mut cpu_ns = end.cpu_ns;
        if let Some(ended) = &request.ended {
            cpu_ns = cpu_ns.max(ended.used_ns);
        }
        if started != 0 {
            // The total comes from the cgroup and is exact to the nanosecond. The ratio of user to
            // system time comes from reaped processes, or from the processes of a killed pid1.
            let (user, system) = match &request.ended {
                Some(ended) if end.pid1_died == 1 && ended.used.times != (0, 0) => ended.used.times,
                _ => (end.user_us, end.system_us),
            };
            figures.cpu_user_ns = match u128::from(user) + u128::from(system) {
                0 => cpu_ns / 2,
                both => (u128::from(cpu_ns) * u128::from(user) / both) as u64,
            };
            figures.cpu_system_ns = cpu_ns - figures.cpu_user_ns;
        }
        let mut ended_ns = started.saturating_add(figures.real_time_ns);
        let (exit_code, signal) = match (end.status, end.pid1_died) {
            (_, 1) => (None, (started != 0).then_some(libc::SIGKILL)),
            (status, _) => match process::decode_status(status) {
                Ok(code) => (Some(code), None),
                Err(signal) => (None, Some(signal)),
            },
        };
        if let Some(ended) = &request.ended
            && end.pid1_died == 1
            && started != 0
        {
            // The kernel may take a long time to end the last process. The CPU time includes that
            // time, so the real time must include it too.
            figures.real_time_ns = end.end_ns.max(ended.at_ns).saturating_sub(started);
            ended_ns = ended.at_ns.max(started);
            // Without a report from pid1, the peak is that of pid1 itself.
            if ended.used.peak_memory != 0 {
                figures.peak_memory_bytes = ended.used.peak_memory;
            }
        }
        let outcome = self.outcome(&request, report, &figures, exit_code, signal);
        let not_started = matches!(outcome, Outcome::NotStarted(_) | Outcome::SandboxError(_));
        let signal = if outcome == Outcome::Killed {
            Some(libc::SIGKILL)
        } else {
            signal
        };
        if matches!(outcome, Outcome::NotStarted(_)) {
            figures = Figures::default();
        }
        // Otherwise the exit status belongs to a target that refused to begin or could not begin.
        let began = started != 0 && report.failure.step == 0 && !not_started;
        let result = RunResult {
            outcome,
            exit_code: exit_code.filter(|_| began),
            signal: signal.filter(|_| !not_started),
            ended_ns: began.then_some(ended_ns),
            figures,
            backend: self.backend(),
            start: match report.template.is_template {
                0 => Start::Cold(request.cold),
                _ => Start::Prepared {
                    cpu_ns: report.template.cpu_ns,
                    memory_bytes: report.template.memory_bytes,
                },
            },
        };
        self.answer(id, &result);
    }

    pub(super) fn outcome(
        &self,
        request: &Request,
        report: &Report,
        figures: &Figures,
        exit_code: Option<i32>,
        signal: Option<i32>,
    ) -> Outcome {
        let limits = &request.limits;
        let end = &report.end;
        let cause = request.ended.as_ref().map(|ended| ended.cause);
        if cause == Some(Cause::Cancelled) {
            return Outcome::Cancelled;
        }
        // True if the supervisor ended the run before the run ended by itself: pid1 died, or the
        // target saw in time that it must not begin.
        let ended = end.pid1_died == 1 || report.start.exec_ns == 0;
        if cause == Some(Cause::Caller) && ended {
            return Outcome::Killed;
        }
        // Only the kernel's accounting of the cgroup, and of sockets that are charged to no cgroup,
        // can be the reason for this outcome.
        let above = matches!(self.setup.handover, Handover::Cgroup2 { .. })
            && limits
                .memory
                .is_some_and(|limit| backend::cgroup2::is_above(figures.peak_memory_bytes, limit));
        if cause == Some(Cause::Memory) || above {
            return Outcome::MemoryLimit;
        }
        if end.oom_kills > 0 {
            // The count includes victims of a parent's limit and of the whole host.
            let peak = figures.peak_memory_bytes;
            let its_own = limits
                .memory
                .is_some_and(|limit| match end.own_limit_reached {
                    UNLIMITED => peak.saturating_add(PEAK_TOLERANCE_BYTES) >= limit,
                    times => times > 0,
                });
            return if its_own {
                Outcome::MemoryLimit
            } else {
                Outcome::failed(RunError::new(Step::Runner).with_hint(Hint::HostOutOfMemory))
            };
        }
        if let Some(cause) = cause.filter(|_| ended) {
            return cause.outcome();
        }
        if report.failure.step != 0 {
            let step = Step::from_number(report.failure.step);
            let errno = Errno(report.failure.errno);
            // EBUSY means that the cgroup already contains more than the limit. ENOMEM means that
            // the limit denied memory that a step needed.
            let refused = matches!(errno, Errno(libc::ENOMEM) | Errno(libc::EBUSY))
                && step == Step::MemoryLimit
                || errno == Errno(libc::ENOMEM);
            if limits.memory.is_some() && refused {
                return Outcome::MemoryLimit;
            }
            let error = self.failure(&report.failure_parts(), Some(request.world));
            return Outcome::failed(error);
        }
        // Only the run can have changed pid1's limits. If it did, the program caused its own end,
        // and the kernel killed the whole run.
        let by_itself =
            end.pid1_limited == 1 && process::decode_status(end.pid1_status) == Err(libc::SIGKILL);
        if end.pid1_died == 1 && !by_itself {
            let how = process::end_of(end.pid1_status);
            return Outcome::failed(RunError::new(Step::Pid1).with_hint(Hint::Ended(how)));
        }
        if limits
            .cpu_time_ns
            .is_some_and(|limit| figures.cpu_user_ns + figures.cpu_system_ns > limit)
        {
            return Outcome::CpuTimeLimit;
        }
        if limits
            .real_time_ns
            .is_some_and(|limit| figures.real_time_ns > limit)
        {
            return Outcome::RealTimeLimit;
        }
        match (exit_code, signal) {
            (Some(code), _) => Outcome::Exited(code),
            (None, Some(signal)) => Outcome::Signaled(signal),
            (None, None) => Outcome::failed(RunError::new(Step::Pid1).with_hint(Hint::NoStatus)),
        }
    }
}

impl Report {
    pub(super) fn failure_parts(&self) -> (Step, Errno, u32, bool) {
        let failure = &self.failure;
        (
            Step::from_number(failure.step),
            Errno(failure.errno),
            failure.object,
            failure.interpreter_missing != 0,
        )
    }
}
