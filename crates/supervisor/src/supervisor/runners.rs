//! Handles the messages, deaths and restarts of runners.

use super::deaths::{DeadRunner, MAX_START_ATTEMPTS, StartHistory, Unreaped};
use super::limits::MIN_WAIT_NS;
use super::{Supervisor, Token};
use crate::backend::{self, Handover};
use crate::launch::{End, Failure, Memory, Report, Start, UNLIMITED, message};
use crate::messages::Fatal;
use crate::messages::failed;
use crate::prepared::SOCKET_FILE_COUNT;
use crate::slot::{Runner, State};
use crate::sockets::Sockets;
use crate::sys::{Errno, calls, process};
use crate::world::WorldId;
use millibox_wire::Step;
use millibox_wire::{
    Hint, Outcome, ProcessEnd, RunError, SupervisorError, SupervisorHint, SupervisorStep,
};
use rustix::event::epoll;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::Ordering::SeqCst;
use zerocopy::FromBytes;

/// The supervisor gives up after this number of consecutive deaths of runners that have not become
/// able to serve runs.
const MAX_UNEXPLAINED_DEATHS: u32 = 10;
/// The time to wait for the processes of a dead runner before its run is answered with the
/// available figures.
const DEATH_TIMEOUT_NS: u64 = 1_000_000_000;

/// A runner that must be restarted. The kernel may temporarily lack memory, processes or
/// descriptors, possibly because of a run.
pub(super) struct PendingRestart {
    index: usize,
    /// `None` if a dying process may still write to the old memory.
    memory: Option<Memory>,
    tries: u32,
    /// The time of the next attempt (`CLOCK_MONOTONIC_RAW`).
    pub(super) at_ns: u64,
}

impl Supervisor {
    pub(super) fn start_runner(
        &mut self,
        index: usize,
        memory: Memory,
        again: bool,
    ) -> Result<(), Fatal> {
        let mut runner = Runner::start(&self.setup, &self.spawner, index, memory, again)?;
        if let Err(why) = self.watch(
            runner.socket.as_raw_fd(),
            Token::Runner(index),
            epoll::EventFlags::IN,
        ) {
            runner.reap();
            return Err(why);
        }
        match self.runners.get_mut(index) {
            Some(place) => *place = runner,
            None => {
                self.runners.push(runner);
                self.start_histories.push(StartHistory::default());
            }
        }
        Ok(())
    }

    pub(super) fn handle_runner_messages(&mut self, index: usize) -> Result<(), Fatal> {
        loop {
            let mut bytes = [0u8; 512];
            let socket = self.runners[index].socket.as_raw_fd();
            let received = match calls::receive(socket, &mut bytes, libc::MSG_DONTWAIT) {
                Ok(received) => received,
                Err(Errno(libc::EAGAIN | libc::ENOMEM | libc::ENOBUFS)) => return Ok(()),
                Err(Errno(libc::ECONNRESET)) => return self.handle_runner_death(index),
                Err(errno) => return Err(failed(SupervisorStep::ReadRunner)(errno)),
            };
            let mut descriptors = received.descriptors.into_iter().map(crate::sys::adopt);
            let report = || {
                Report::read_from_bytes(bytes.get(1..received.length).unwrap_or(&[]))
                    .unwrap_or_default()
            };
            match bytes.get(..received.length) {
                Some([]) | None => return self.handle_runner_death(index),
                Some([message::IDLE, ..]) => {
                    let is_new = self.runners[index].state == State::Starting;
                    if let Some(its) = self.start_histories.get_mut(index) {
                        *its = StartHistory {
                            deaths: 0,
                            has_served: true,
                        };
                    }
                    self.runners[index].set_idle(&self.epoll);
                    if is_new && let Some((launched, world)) = self.latest {
                        self.prepare_another(launched, world);
                    }
                }
                Some([message::READY]) => {
                    let files = [(); backend::cgroup2::WATCHED_FILES]
                        .map(|()| descriptors.next().flatten());
                    if let [_, Some(events), ..] = &files {
                        // If the watch fails, the kernel's OOM killer must suffice.
                        let _ = self.watch(
                            events.as_raw_fd(),
                            Token::OutOfMemory(index),
                            epoll::EventFlags::PRI,
                        );
                    }
                    // Without these descriptors, the runs of this runner would not be limited.
                    if files.iter().take(2).any(Option::is_none) {
                        self.runners[index].kill_process();
                    }
                    self.runners[index].set_files(files);
                }
                Some([message::SOCKETS, small]) => {
                    let share = self.setup.socket_share;
                    let files: Vec<OwnedFd> = descriptors
                        .by_ref()
                        .take(SOCKET_FILE_COUNT)
                        .flatten()
                        .collect();
                    match files.try_into() {
                        Ok(files) => {
                            self.runners[index].sockets =
                                Some(Sockets::new(files, *small != 0, share))
                        }
                        // Without these descriptors, the runs of this runner would not be limited.
                        Err(_) => self.runners[index].kill_process(),
                    }
                }
                Some([message::BANDWIDTH]) => {
                    self.runners[index].bandwidth = descriptors.next().flatten();
                    // There is no room for the descriptor, so a run there could not be ended in
                    // time.
                    if self.runners[index].bandwidth.is_none() {
                        self.runners[index].kill_process();
                    }
                }
                Some([message::MEMORY]) => {
                    let files = [(); 3].map(|()| descriptors.next().flatten());
                    self.handle_renewed_memory(index, files);
                }
                Some([message::DONE, ..]) => {
                    self.runners[index].move_pid1_to_runner_cpu();
                    self.handle_pid1_end(index, report());
                }
                Some([message::ENDED, ..]) => self.handle_pid1_end(index, report()),
                Some([message::UNPREPARED, ..]) => {
                    if self.runners[index].state == State::Starting {
                        // The reason why a replacement cannot start may be temporary, and the other
                        // runners can serve in the meantime.
                        if self
                            .start_histories
                            .get(index)
                            .is_some_and(StartHistory::may_retry)
                        {
                            self.runners[index].kill_process();
                            continue;
                        }
                        let error = self.failure(&report().failure_parts(), None);
                        return Err(SupervisorError::new(SupervisorStep::RunnerSetup)
                            .with_hint(SupervisorHint::Run(Box::new(error))));
                    }
                    let state = self.runners[index].state;
                    match state {
                        // The launch was sent before the runner was ready.
                        State::Running(_) if self.retry_after_failure(index, &report()) => {
                            self.runners[index].reset(&self.epoll, State::Ending);
                        }
                        State::Running(id) => {
                            self.runners[index].reset(&self.epoll, State::Ending);
                            self.finish(
                                id,
                                &Report {
                                    failure: report().failure,
                                    ..Report::default()
                                },
                            );
                        }
                        _ => self.handle_failed_preparation(index, &report()),
                    }
                }
                Some(_) => return Err(SupervisorError::new(SupervisorStep::ReadRunner)),
            }
        }
    }

    /// Handles the move of a runner to another memory cgroup, which has these files.
    fn handle_renewed_memory(&mut self, index: usize, files: [Option<OwnedFd>; 3]) {
        let [Some(peak), Some(oom_control), Some(oom_event)] = files else {
            // There is no room for a descriptor, so a run there would not be limited.
            return self.runners[index].kill_process();
        };
        if !matches!(self.setup.handover, Handover::Hybrid { .. })
            || self
                .watch(
                    oom_event.as_raw_fd(),
                    Token::OutOfMemory(index),
                    epoll::EventFlags::IN,
                )
                .is_err()
        {
            return self.runners[index].kill_process();
        }
        if let Handover::Hybrid { runners } = &mut self.setup.handover
            && let Some(its) = runners.get_mut(index)
        {
            // The old event would report the removal of its cgroup.
            let _ = epoll::delete(&self.epoll, crate::sys::borrow(its.oom_event));
            for (new, place) in [
                (peak, &mut its.figures.memory_peak),
                (oom_control, &mut its.figures.oom_control),
                (oom_event, &mut its.oom_event),
            ] {
                let _ = calls::close(std::mem::replace(place, new.into_raw_fd()));
            }
        }
    }

    /// Handles the end of a pid1, reported by itself or by its runner.
    fn handle_pid1_end(&mut self, index: usize, mut report: Report) {
        if report.end.launch == 0 && self.retry_after_failure(index, &report) {
            // The launch was sent early, and pid1 ended before a target received it.
            return self.runners[index].reset(&self.epoll, State::Ending);
        }
        let runner = &mut self.runners[index];
        match (runner.state, report.end.launch) {
            (State::Running(id), launch) if launch == 0 || launch == runner.launch_number() => {
                if report.start.number != runner.launch_number() {
                    // The target did not reach its exec.
                    report.start = Start::default();
                }
                // A runner whose pid1 received no launch becomes idle; otherwise it continues.
                runner.unexplained_deaths = 0;
                runner.reset(
                    &self.epoll,
                    if launch == 0 {
                        State::Ending
                    } else {
                        State::Ready
                    },
                );
                runner.note_cleanup(&report.end);
                self.finish(id, &report);
            }
            // pid1 was killed between its report and its end, and the runner repeats the report.
            (_, launch) if launch != 0 => {}
            (State::Switching, _) => {}
            // pid1 had no run. The preparation failed, or another process killed pid1.
            _ => self.handle_failed_preparation(index, &report),
        }
    }

    /// Handles a failed preparation: the first waiting run of the world fails or is set back.
    fn handle_failed_preparation(&mut self, index: usize, report: &Report) {
        let world = self.runners[index].world;
        self.runners[index].reset(&self.epoll, State::Ending);
        let mut report = *report;
        if report.failure.step == 0 {
            // Another process killed pid1. Tolerate that only a few times.
            self.runners[index].unexplained_deaths += 1;
            if self.runners[index].unexplained_deaths < MAX_UNEXPLAINED_DEATHS {
                return;
            }
            report.failure = Failure::new(Step::Pid1, Errno(0));
        }
        self.runners[index].unexplained_deaths = 0;
        // A paused run has already had its attempt, so the runner was preparing for a run that is
        // not paused.
        let tried_for = |id: &u64| {
            self.requests
                .get(id)
                .is_some_and(|request| Some(request.world) == world && !self.is_paused(request))
        };
        if let Some(id) = self.queue.iter().copied().find(tried_for) {
            self.handle_preparation_failure(id, &report);
        }
    }

    /// If a template has changed, ensures that the next run gets a new template.
    pub(super) fn rebuild_if_stale(&mut self, world: WorldId, report: &Report) {
        if (report.failure.step, report.failure.errno) != (Step::Mount as u32, libc::ESTALE) {
            return;
        }
        self.worlds.forget_template(world);
        let waits = |id: &u64| {
            self.requests
                .get(id)
                .is_some_and(|request| request.world == world)
        };
        if self.queue.iter().any(waits)
            && let Err(outcome) = self.build_if_new(world)
        {
            self.fail_world(world, outcome);
        }
    }

    /// Handles the death of a runner's process. The runner's run dies too, because pid1 dies with
    /// its parent.
    fn handle_runner_death(&mut self, index: usize) -> Result<(), Fatal> {
        let runner = &mut self.runners[index];
        let status = runner.reap();
        let how = process::end_of(status);
        if runner.state == State::Starting {
            // Another process may have killed the runner. Tolerate that only a few times. A runner
            // reports its own failures itself.
            let killed = process::decode_status(status).is_err();
            match self.start_histories.get_mut(index) {
                Some(its) if its.may_retry() || its.deaths < MAX_UNEXPLAINED_DEATHS && killed => {
                    its.deaths += 1
                }
                _ => {
                    return Err(SupervisorError::new(SupervisorStep::RunnerSetup)
                        .with_hint(SupervisorHint::Ended(how)));
                }
            }
        }
        // The closed socket would report its end repeatedly.
        let _ = epoll::delete(&self.epoll, &runner.socket);
        // A launch that no target has received goes to another runner, or to the replacement of
        // this one.
        self.retry_elsewhere(
            index,
            RunError::new(Step::Runner).with_hint(ended_hint(how)),
        );
        let runner = &mut self.runners[index];
        // pid1 dies with its runner, and the program with pid1. The figures are complete when pid1
        // can be reaped.
        let patience = if matches!(runner.state, State::Running(_)) {
            DEATH_TIMEOUT_NS
        } else {
            0
        };
        let until_ns = calls::monotonic_raw_ns().saturating_add(patience);
        // A limit that is reached during this wait did not end the run.
        runner.stop_clocks();
        let unreaped = Unreaped::of(
            DeadRunner {
                index,
                how,
                until_ns,
            },
            runner.memory.shared,
        );
        self.unreaped.push(unreaped);
        self.reap_killed()
    }

    /// Reaps killed processes without blocking, and finishes runners without remaining processes.
    pub(super) fn reap_killed(&mut self) -> Result<(), Fatal> {
        for mut unreaped in std::mem::take(&mut self.unreaped) {
            let gone = unreaped.reap();
            let is_due = |dead: &mut DeadRunner| gone || calls::monotonic_raw_ns() >= dead.until_ns;
            let due = unreaped.runner.take_if(is_due);
            if !gone {
                self.unreaped.push(unreaped);
            }
            due.map_or(Ok(()), |dead| self.finish_dead_runner(dead, gone))?;
        }
        Ok(())
    }

    /// Answers the run of a dead runner and restarts the runner. `gone` states whether its zygote
    /// and pid1 are dead as well.
    fn finish_dead_runner(
        &mut self,
        DeadRunner { index, how, .. }: DeadRunner,
        gone: bool,
    ) -> Result<(), Fatal> {
        if let State::Running(id) = self.runners[index].state {
            let limit = self
                .requests
                .get(&id)
                .and_then(|request| request.limits.memory);
            let report = self.report_for_dead_runner(index, limit);
            let ended = self
                .requests
                .get(&id)
                .is_some_and(|request| request.ended.is_some());
            if ended || report.end.oom_kills > 0 {
                self.finish(id, &report);
            } else {
                self.remove_request(id);
                let error = RunError::new(Step::Runner).with_hint(ended_hint(how));
                self.answer_error(id, Outcome::failed(error));
            }
        }
        let runner = &mut self.runners[index];
        runner.reset(&self.epoll, State::Dead);
        // Remaining processes still write to the memory.
        let memory = gone.then(|| runner.memory.clone());
        let deaths = self.start_histories.get(index).map_or(0, |its| its.deaths);
        if deaths == 0 {
            return self.restart(PendingRestart {
                index,
                memory,
                tries: 0,
                at_ns: 0,
            });
        }
        let at_ns = calls::monotonic_raw_ns().saturating_add(MIN_WAIT_NS << deaths.min(10));
        self.restarts.push(PendingRestart {
            index,
            memory,
            tries: 0,
            at_ns,
        });
        Ok(())
    }

    fn restart(&mut self, restart: PendingRestart) -> Result<(), Fatal> {
        let memory = restart.memory.clone().map_or_else(new_memory, Ok);
        let started = memory.and_then(|memory| {
            memory.shared.applied_limits.mark_unknown();
            // The preparation of the dead runner is lost.
            memory.shared.prepared.store(0, SeqCst);
            self.start_runner(restart.index, memory, true)
        });
        match started {
            Err(_) if restart.tries < MAX_START_ATTEMPTS => {
                let wait_ns = MIN_WAIT_NS << restart.tries.min(10);
                let at_ns = calls::monotonic_raw_ns().saturating_add(wait_ns);
                self.restarts.push(PendingRestart {
                    tries: restart.tries + 1,
                    at_ns,
                    ..restart
                });
                Ok(())
            }
            done => done,
        }
    }

    /// Restarts the runners that are due.
    pub(super) fn restart_due_runners(&mut self) -> Result<(), Fatal> {
        if self.restarts.is_empty() {
            return Ok(());
        }
        let now = calls::monotonic_raw_ns();
        let all = std::mem::take(&mut self.restarts);
        let (due, later): (Vec<PendingRestart>, _) =
            all.into_iter().partition(|restart| restart.at_ns <= now);
        self.restarts = later;
        due.into_iter()
            .try_for_each(|restart| self.restart(restart))
    }

    /// Builds the report that a dead runner would have sent. If the cgroup of its runs is out of
    /// memory and no other process uses more memory, the kernel kills the runner, whose memory pid1
    /// shares.
    fn report_for_dead_runner(&mut self, index: usize, limit: Option<u64>) -> Report {
        // The event may not have been read yet.
        let _ = self.runners[index].out_of_memory(&self.setup.handover, index, limit);
        let runner = &self.runners[index];
        let start = runner.start_of_run();
        let mut failure = runner.shared.failure.get();
        let mut end = End {
            pid1_died: 1,
            status: -1,
            pid1_status: libc::SIGKILL,
            launch: runner.launch_number(),
            end_ns: calls::monotonic_raw_ns(),
            peak_processes: UNLIMITED,
            ..End::default()
        };
        match (&self.setup.handover, start.exec_ns) {
            (Handover::Hybrid { .. }, 1..) => {
                if let Some(backend) = backend::Backend::for_runner(&self.setup.handover, index) {
                    backend.measure(
                        runner.shared,
                        &start,
                        Ok(process::Waited::default()),
                        &mut end,
                    );
                }
            }
            (Handover::Cgroup2 { .. }, 1..) => {
                if let Err(errno) = runner.measure(&start, &mut end) {
                    failure = Failure::new(Step::Counters, errno);
                }
                end.oom_kills = end.oom_kills.max(u64::from(runner.saw_oom_kill()));
            }
            (handover, exec) => {
                end.oom_kills = u64::from(runner.saw_oom_kill());
                end.own_limit_reached = end.oom_kills;
                if exec != 0 {
                    end.cpu_ns = runner.cpu_ns(handover, index).saturating_sub(start.cpu_ns);
                }
            }
        }
        // Other failures may be incomplete, because the dead runner stored them before it had
        // finished.
        let failure = if failure.step == Step::Counters as u32 {
            failure
        } else {
            Failure::default()
        };
        Report {
            template: runner.shared.template.get(),
            start,
            end,
            failure,
        }
    }
}

fn ended_hint(how: ProcessEnd) -> Hint {
    match how {
        ProcessEnd::Exited(crate::runner::ZYGOTE_LOST) => Hint::ZygoteLost,
        how => Hint::Ended(how),
    }
}

pub(super) fn new_memory() -> Result<Memory, Fatal> {
    Memory::new()
        .map_err(|error| SupervisorError::new(SupervisorStep::RunnerMemory).with_io(&error))
}
