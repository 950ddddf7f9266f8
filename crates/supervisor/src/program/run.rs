//! Serves one run of a template: launch, limits, end and report.

use super::problem::unfit_failure;
use super::{Copy, Init, at, failed};
use crate::backend::{Backend, TEMPLATE_PROCESSES, rlimit};
use crate::launch::{
    End, Failure, Launch, Report, Start, TemplateFigures, UNLIMITED, message as launched,
};
use crate::prepared::{Runner, send_report};
use crate::ready_protocol::{Go, message};
use crate::sys::{Errno, calls, process};
use crate::target::set_requested_rlimits;
use crate::tree;
use crate::zygote::has_other_limits;
use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use millibox_wire::{MAX_PREPARED_BYTES, Step, Unfit};
use zerocopy::{FromBytes, IntoBytes};

/// The time that pid1 has to exit after its report before it is killed.
const DEATH_TIMEOUT_NS: u64 = 2_000_000_000;

/// How a run ended.
#[derive(Default)]
struct RunEnd {
    /// The wait status of the first process, if pid1 has reported it.
    status: Option<i32>,
    /// The time of that report.
    end_ns: u64,
    failed: Option<Failure>,
}

impl Init<'_> {
    /// Launches a copy, waits for its end and reports the result. Returns whether the template can
    /// serve another run.
    pub(super) fn run(&self, copy: &Copy) -> Result<bool, Failure> {
        let runner = self.runner;
        let shared = runner.shared;
        let mut byte = [0; 1];
        let received = calls::receive(runner.launches, &mut byte, 0).map_err(at(Step::Receive))?;
        if received.length != 1 || byte != [launched::LAUNCH] {
            return Err(Failure::new(Step::Receive, Errno(libc::EPROTO)));
        }
        let launch = shared.launch.get();
        shared.prepared.store(0, Release);
        shared.launched.store(launch.number, SeqCst);
        shared.template.set(self.charged(&launch));
        let mut end = RunEnd::default();
        if shared.revoked.load(SeqCst) == launch.number {
            // The supervisor ended the run before the run began.
            let _ = calls::kill(copy.pid1, libc::SIGKILL);
        } else if let Err(failure) = self.launch(copy, &launch, &received.descriptors) {
            end.failed = Some(failure);
            shared.start.set(Start::default());
            let _ = calls::kill(copy.pid1, libc::SIGKILL);
        }
        calls::close_present(received.descriptors);
        self.watch(copy, &mut end);
        self.finish(copy, &launch, end)
    }

    /// The figures of the template that the run is charged for.
    fn charged(&self, launch: &Launch) -> TemplateFigures {
        TemplateFigures {
            cpu_ns: self.figures.cpu_ns.min(launch.least_template_cpu_ns),
            ..self.figures
        }
    }

    /// Sets the limits of a run and sends the launch to its copy.
    fn launch(&self, copy: &Copy, launch: &Launch, descriptors: &[i32]) -> Result<(), Failure> {
        let runner = self.runner;
        let shared = runner.shared;
        let set_rlimits =
            |resource, soft, hard| calls::set_rlimits_of(copy.process, resource, soft, hard);
        match &runner.backend {
            Backend::Rlimit => rlimit::limit_with(launch, set_rlimits)?,
            backend => {
                let launch = Launch {
                    processes: launch.processes.saturating_add(TEMPLATE_PROCESSES),
                    ..*launch
                };
                backend.limit(shared, &launch, runner.socket)?;
            }
        }
        if launch.cpu_words != 0 {
            let words = launch
                .cpus
                .get(..launch.cpu_words as usize)
                .unwrap_or(&launch.cpus);
            let set = calls::set_affinity_of(copy.process, words);
            if launch.cpus_named != 0 {
                set.map_err(at(Step::Affinity))?;
            }
        }
        set_requested_rlimits(runner, launch, set_rlimits)?;
        let strings = Strings::of(runner, launch).ok_or(unfit_failure(Unfit::TooLong))?;
        let go = Go {
            descriptors: launch.descriptors & 0b111,
            directory_bytes: strings.directory.len() as u32,
            arguments: launch.arguments,
            environment: launch.environment,
        };
        let count = descriptors.iter().take_while(|&&fd| fd >= 0).count();
        let mut start = Start {
            number: launch.number,
            ..Start::default()
        };
        runner.backend.start(&mut start)?;
        // The run is charged for the CPU time of a template until it is ready.
        start.cpu_ns = match runner.backend {
            Backend::Rlimit => tree::cpu_ns(copy.pid1) + tree::cpu_ns(copy.process),
            _ => start.cpu_ns.saturating_sub(self.charged(launch).cpu_ns),
        };
        start.exec_ns = calls::monotonic_raw_ns();
        shared.start.set(start);
        calls::send_parts(
            self.control,
            [
                &[message::GO],
                go.as_bytes(),
                strings.directory,
                strings.others,
            ],
            descriptors.get(..count).unwrap_or(&[]),
        )
        .map_err(at(Step::Descriptors))
    }

    /// Waits until pid1 of the run has reported or has died.
    fn watch(&self, copy: &Copy, end: &mut RunEnd) {
        loop {
            let [has_message, is_dead] = calls::wait_readable([self.control, copy.pidfd], None);
            // The message comes first if both have happened.
            if has_message {
                let mut bytes = [0; 64];
                let received = calls::receive_from(self.control, &mut bytes, libc::MSG_DONTWAIT);
                match received {
                    Ok((0, _)) => {
                        // The template has ended, so its descriptor is useless. pid1 of the run is
                        // still alive.
                        let _ = calls::wait_readable([copy.pidfd, copy.pidfd], None);
                        return;
                    }
                    Ok((length, from)) => {
                        let body = bytes.get(1..length).unwrap_or(&[]);
                        match bytes.first() {
                            Some(&message::DONE) if from == copy.pid1 => {
                                end.status = i32::read_from_bytes(body).ok();
                                end.end_ns = calls::monotonic_raw_ns();
                                return;
                            }
                            Some(&message::FAILED) if from == copy.process => {
                                end.failed = Some(failed(body));
                            }
                            _ => {}
                        }
                        continue;
                    }
                    Err(_) => {}
                }
            }
            if is_dead {
                return;
            }
        }
    }

    /// Measures and reports a run. Returns whether the template can serve another one.
    fn finish(&self, copy: &Copy, launch: &Launch, run: RunEnd) -> Result<bool, Failure> {
        let runner = self.runner;
        let shared = runner.shared;
        // Until pid1 has died, processes of the run may still live, and the figures may grow.
        let deadline = calls::monotonic_raw_ns().saturating_add(DEATH_TIMEOUT_NS);
        while run.status.is_some() && calls::monotonic_raw_ns() < deadline {
            if calls::wait_readable([copy.pidfd, -1], Some(DEATH_TIMEOUT_NS))[0] {
                break;
            }
        }
        let _ = calls::kill(copy.pid1, libc::SIGKILL);
        while !calls::wait_readable([copy.pidfd, -1], None)[0] {}
        let dead_ns = calls::monotonic_raw_ns();
        let _ = calls::close(copy.pidfd);
        // The supervisor must not signal a process id that may be reused.
        shared.pid1.store(0, SeqCst);
        let has_other_limits = has_other_limits(copy.pid1);
        let waited = process::wait(copy.pid1, libc::__WALL).map_err(at(Step::Pid1))?;
        let is_revoked = shared.revoked.load(SeqCst) == launch.number;
        let status = run.status.filter(|_| waited.status == 0 && !is_revoked);
        let start = shared.start.get();
        let mut end = End {
            pid1_died: u32::from(status.is_none() && run.failed.is_none()),
            launch: launch.number,
            status: status.unwrap_or(-1),
            pid1_status: waited.status,
            pid1_limited: u32::from(has_other_limits),
            end_ns: if status.is_some() {
                run.end_ns
            } else {
                dead_ns
            },
            ..End::default()
        };
        if let Some(failure) = run.failed {
            shared.failure.set(failure);
            shared.start.set(Start::default());
        }
        runner.backend.measure(shared, &start, Ok(waited), &mut end);
        match &runner.backend {
            Backend::Rlimit => end.cpu_ns += self.charged(launch).cpu_ns,
            backend => {
                let after = backend.peak_tasks().map_err(at(Step::Counters))?;
                end.peak_processes = backend.peak_of_copy(self.peak_tasks, after);
            }
        }
        if matches!(runner.backend, Backend::Cgroup2(_)) {
            let left = shared.applied_limits.left_memory.load(Relaxed);
            end.peak_memory = end.peak_memory.saturating_sub(left);
        }
        let report = Report {
            template: self.charged(launch),
            start: shared.start.get(),
            failure: shared.failure.get(),
            end,
        };
        shared.reported.store(1, Relaxed);
        let tag = if end.pid1_died == 1 {
            launched::ENDED
        } else {
            launched::DONE
        };
        if !send_report(runner.socket, tag, &report) {
            return Err(Failure::new(Step::Pid1, Errno(libc::EPIPE)));
        }
        // The template is unaffected if the supervisor killed pid1.
        let is_out_of_memory = end.oom_kills > 0 || !matches!(end.own_limit_reached, 0 | UNLIMITED);
        Ok(!is_out_of_memory && (end.pid1_died == 0 || is_revoked))
    }
}

/// The strings of a launch that a copy needs.
struct Strings<'a> {
    directory: &'a [u8],
    /// Arguments and environment. The paths of the program, which precede them, are left out.
    others: &'a [u8],
}

impl<'a> Strings<'a> {
    /// Returns `None` if the strings are too long or incomplete.
    fn of(runner: &'a Runner, launch: &Launch) -> Option<Strings<'a>> {
        let bytes = runner
            .shared
            .strings
            .bytes(0, launch.strings_length as usize);
        let end_of_next = |from: usize| {
            let rest = bytes.get(from..)?;
            Some(from + rest.iter().position(|&byte| byte == 0)? + 1)
        };
        let directory_end = end_of_next(0)?;
        let mut paths_end = directory_end;
        for _ in 0..launch.paths {
            paths_end = end_of_next(paths_end)?;
        }
        let (directory, others) = (bytes.get(..directory_end)?, bytes.get(paths_end..)?);
        (others.len() <= MAX_PREPARED_BYTES).then_some(Strings { directory, others })
    }
}
