//! The messages of runners, their ends and their restarts.

use super::limits::{LONGEST_TICK_NS, SHORTEST_WAIT_NS};
use super::{Fatal, Supervisor, Token};
use crate::backend::{self, Handover};
use crate::launch::{End, Failure, Memory, Report, Shared, Start, UNLIMITED, message};
use crate::messages::failed;
use crate::slot::{Runner, State};
use crate::sockets::{self, Sockets};
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

/// A runner that dies this often in a row before it can serve runs is given up.
const MOST_ACCIDENTS: u32 = 10;
/// How long to wait for the processes of a runner that died, before its run is answered with the
/// figures as they are.
const LONGEST_DEATH_NS: u64 = 1_000_000_000;
/// The number of attempts to start a runner, with growing pauses: half a minute in all.
const MOST_STARTS: u32 = 40;

/// A runner that must be restarted. The kernel may lack memory, processes or descriptors now,
/// perhaps because of a run, and have them a moment later.
pub(super) struct Gone {
    index: usize,
    /// `None` if a dying process still writes to its memory.
    memory: Option<Memory>,
    tries: u32,
    /// When to try next (`CLOCK_MONOTONIC_RAW`).
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
                self.unsettled.push(Unsettled::default());
            }
        }
        Ok(())
    }

    pub(super) fn runner_message(&mut self, index: usize) -> Result<(), Fatal> {
        loop {
            let mut bytes = [0u8; 512];
            let socket = self.runners[index].socket.as_raw_fd();
            let received = match calls::receive(socket, &mut bytes, libc::MSG_DONTWAIT) {
                Ok(received) => received,
                Err(Errno(libc::EAGAIN | libc::ENOMEM | libc::ENOBUFS)) => return Ok(()),
                Err(Errno(libc::ECONNRESET)) => return self.runner_died(index),
                Err(errno) => return Err(failed(SupervisorStep::ReadRunner)(errno)),
            };
            let mut descriptors = received.descriptors.into_iter().map(crate::sys::adopt);
            let report = || {
                Report::read_from_bytes(bytes.get(1..received.length).unwrap_or(&[]))
                    .unwrap_or_default()
            };
            match bytes.get(..received.length) {
                Some([]) | None => return self.runner_died(index),
                Some([message::IDLE, ..]) => {
                    let is_new = self.runners[index].state == State::Settling;
                    if let Some(its) = self.unsettled.get_mut(index) {
                        *its = Unsettled {
                            times: 0,
                            settled_before: true,
                        };
                    }
                    self.runners[index].idle(&self.epoll);
                    if is_new && let Some((launched, world)) = self.latest {
                        self.prepare_another(launched, world);
                    }
                }
                Some([message::READY]) => {
                    let files =
                        [(); backend::cgroup2::WATCHED].map(|()| descriptors.next().flatten());
                    if let [_, Some(events), ..] = &files {
                        // If it cannot be watched, the kernel's own killing has to suffice.
                        let _ = self.watch(
                            events.as_raw_fd(),
                            Token::OutOfMemory(index),
                            epoll::EventFlags::PRI,
                        );
                    }
                    // There is no room for the descriptor, so a run there would not be limited.
                    if files.iter().take(2).any(Option::is_none) {
                        self.runners[index].kill_process();
                    }
                    self.runners[index].watch(files);
                }
                Some([message::SOCKETS, small]) => {
                    let files: Vec<OwnedFd> = descriptors
                        .by_ref()
                        .take(sockets::FILES)
                        .flatten()
                        .collect();
                    match files.try_into() {
                        Ok(files) => {
                            self.runners[index].sockets = Some(Sockets::new(files, *small != 0))
                        }
                        // There is no room for the descriptor, so a run there would not be limited.
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
                    self.memory_renewed(index, files);
                }
                Some([message::DONE, ..]) => {
                    self.runners[index].send_runner();
                    self.pid1_ended(index, report());
                }
                Some([message::ENDED, ..]) => self.pid1_ended(index, report()),
                Some([message::UNPREPARED, ..]) => {
                    if self.runners[index].state == State::Settling {
                        // The reason why a replacement cannot start may pass, and the other runners
                        // can serve meanwhile.
                        if self
                            .unsettled
                            .get(index)
                            .is_some_and(Unsettled::may_try_again)
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
                        // The launch had been sent ahead.
                        State::Running(_) if self.move_on_after(index, &report()) => {
                            self.runners[index].over(&self.epoll, State::Ending);
                        }
                        State::Running(id) => {
                            self.runners[index].over(&self.epoll, State::Ending);
                            self.finish(
                                id,
                                &Report {
                                    failure: report().failure,
                                    ..Report::default()
                                },
                            );
                        }
                        _ => self.unprepared(index, &report()),
                    }
                }
                Some(_) => return Err(SupervisorError::new(SupervisorStep::ReadRunner)),
            }
        }
    }

    /// Handles the move of a runner to another memory cgroup, whose files these are.
    fn memory_renewed(&mut self, index: usize, files: [Option<OwnedFd>; 3]) {
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
    fn pid1_ended(&mut self, index: usize, mut report: Report) {
        if report.end.launch == 0 && self.move_on_after(index, &report) {
            // A launch that was sent ahead and that no target has received: pid1 ended before.
            return self.runners[index].over(&self.epoll, State::Ending);
        }
        let runner = &mut self.runners[index];
        match (runner.state, report.end.launch) {
            (State::Running(id), launch) if launch == 0 || launch == runner.launch_number() => {
                if report.start.number != runner.launch_number() {
                    // It did not reach its exec.
                    report.start = Start::default();
                }
                // A runner whose pid1 received no launch becomes idle; otherwise it continues.
                runner.unexplained = 0;
                runner.over(
                    &self.epoll,
                    if launch == 0 {
                        State::Ending
                    } else {
                        State::Ready
                    },
                );
                runner.leaves(&report.end);
                self.finish(id, &report);
            }
            // A pid1 that was killed between its report and its end: the runner repeats what was
            // reported.
            (_, launch) if launch != 0 => {}
            (State::Switching, _) => {}
            // No run was in it: the preparation failed, or another process killed pid1.
            _ => self.unprepared(index, &report),
        }
    }

    /// Handles a failed preparation: the first waiting run of the world fails or is set back.
    fn unprepared(&mut self, index: usize, report: &Report) {
        let world = self.runners[index].world;
        self.runners[index].over(&self.epoll, State::Ending);
        let mut report = *report;
        if report.failure.step == 0 {
            // Another process killed pid1. Tolerate that only a few times.
            self.runners[index].unexplained += 1;
            if self.runners[index].unexplained < MOST_ACCIDENTS {
                return;
            }
            report.failure = Failure::new(Step::Pid1, Errno(0));
        }
        self.runners[index].unexplained = 0;
        // A run that pauses has had its attempt; the runner tried for one that does not.
        let tried_for = |id: &u64| {
            self.requests
                .get(id)
                .is_some_and(|request| Some(request.world) == world && !self.pauses(request))
        };
        if let Some(id) = self.queue.iter().copied().find(tried_for) {
            self.not_prepared(id, &report);
        }
    }

    /// If a template has changed, makes sure that the next run that needs it gets a new one.
    pub(super) fn may_be_stale(&mut self, world: WorldId, report: &Report) {
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

    /// Handles the death of a runner's process. Its runs die too: pid1 dies with its parent.
    fn runner_died(&mut self, index: usize) -> Result<(), Fatal> {
        let runner = &mut self.runners[index];
        let status = runner.reap();
        let how = process::end_of(status);
        if runner.state == State::Settling {
            // Another process may have killed it; tolerate that only a few times. It reports itself
            // what it cannot do.
            let killed = process::decode_status(status).is_err();
            match self.unsettled.get_mut(index) {
                Some(its) if its.may_try_again() || its.times < MOST_ACCIDENTS && killed => {
                    its.times += 1
                }
                _ => {
                    return Err(SupervisorError::new(SupervisorStep::RunnerSetup)
                        .with_hint(SupervisorHint::Ended(how)));
                }
            }
        }
        // The closed socket would report its end as long as it is watched.
        let _ = epoll::delete(&self.epoll, &runner.socket);
        // A launch that no target has received goes to another runner, or to the replacement of
        // this one.
        self.move_on(
            index,
            RunError::new(Step::Runner).with_hint(ended_hint(how)),
        );
        let runner = &mut self.runners[index];
        // pid1 dies with its runner, and the program with pid1. The figures are complete when pid1
        // can be waited for.
        let patience = if matches!(runner.state, State::Running(_)) {
            LONGEST_DEATH_NS
        } else {
            0
        };
        let until_ns = calls::monotonic_raw_ns().saturating_add(patience);
        // A limit that is reached during this wait did not end the run.
        runner.stop_clocks();
        let orphans = Orphans::of(
            Dead {
                index,
                how,
                until_ns,
            },
            runner.memory.shared,
        );
        self.dying.push(orphans);
        self.look_at_the_dying()
    }

    /// Waits for killed processes without blocking, and answers for runners of which nothing is
    /// left.
    pub(super) fn look_at_the_dying(&mut self) -> Result<(), Fatal> {
        for mut orphans in std::mem::take(&mut self.dying) {
            let gone = orphans.are_gone();
            let is_told = |dead: &mut Dead| gone || calls::monotonic_raw_ns() >= dead.until_ns;
            let told = orphans.runner.take_if(is_told);
            if !gone {
                self.dying.push(orphans);
            }
            told.map_or(Ok(()), |dead| self.bury(dead, gone))?;
        }
        Ok(())
    }

    /// Answers for a dead runner and restarts it. `gone`: its zygote and pid1 are dead as well.
    fn bury(&mut self, Dead { index, how, .. }: Dead, gone: bool) -> Result<(), Fatal> {
        if let State::Running(id) = self.runners[index].state {
            let limit = self
                .requests
                .get(&id)
                .and_then(|request| request.limits.memory);
            let report = self.report_for_the_dead(index, limit);
            let ended = self
                .requests
                .get(&id)
                .is_some_and(|request| request.ended.is_some());
            if ended || report.end.oom_kills > 0 {
                self.finish(id, &report);
            } else {
                self.forget(id);
                let error = RunError::new(Step::Runner).with_hint(ended_hint(how));
                self.answer_error(id, Outcome::failed(error));
            }
        }
        let runner = &mut self.runners[index];
        runner.over(&self.epoll, State::Gone);
        // Remaining processes still write to the memory.
        let memory = gone.then(|| runner.memory.clone());
        let times = self.unsettled.get(index).map_or(0, |its| its.times);
        if times == 0 {
            return self.start_again(Gone {
                index,
                memory,
                tries: 0,
                at_ns: 0,
            });
        }
        let at_ns = calls::monotonic_raw_ns().saturating_add(SHORTEST_WAIT_NS << times.min(10));
        self.gone.push(Gone {
            index,
            memory,
            tries: 0,
            at_ns,
        });
        Ok(())
    }

    fn start_again(&mut self, gone: Gone) -> Result<(), Fatal> {
        let memory = gone.memory.clone().map_or_else(new_memory, Ok);
        let started = memory.and_then(|memory| {
            memory.shared.standing.forget();
            // What the dead runner had prepared is lost.
            memory.shared.prepared.store(0, SeqCst);
            self.start_runner(gone.index, memory, true)
        });
        match started {
            Err(_) if gone.tries < MOST_STARTS => {
                let wait_ns = SHORTEST_WAIT_NS << gone.tries.min(10);
                let at_ns = calls::monotonic_raw_ns().saturating_add(wait_ns);
                self.gone.push(Gone {
                    tries: gone.tries + 1,
                    at_ns,
                    ..gone
                });
                Ok(())
            }
            done => done,
        }
    }

    /// Restarts the runners that are due.
    pub(super) fn start_the_gone(&mut self) -> Result<(), Fatal> {
        if self.gone.is_empty() {
            return Ok(());
        }
        let now = calls::monotonic_raw_ns();
        let all = std::mem::take(&mut self.gone);
        let (due, later): (Vec<Gone>, _) = all.into_iter().partition(|gone| gone.at_ns <= now);
        self.gone = later;
        due.into_iter().try_for_each(|gone| self.start_again(gone))
    }

    /// The report that a dead runner would have sent. If its runs' cgroup is out of memory, and no
    /// other process has more, the kernel kills the runner, whose memory pid1 shares.
    fn report_for_the_dead(&mut self, index: usize, limit: Option<u64>) -> Report {
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
        // Other failures were noted by the dead runner before it was done.
        let failure = if failure.step == Step::Counters as u32 {
            failure
        } else {
            Failure::default()
        };
        Report {
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

/// The history of starting the runner of a place.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Unsettled {
    /// How often a runner died there before it could serve runs, since the last one that could.
    times: u32,
    /// A runner could serve there, so the configuration works.
    settled_before: bool,
}

impl Unsettled {
    fn may_try_again(&self) -> bool {
        self.settled_before && self.times < MOST_STARTS
    }
}

/// A runner that has died.
struct Dead {
    index: usize,
    how: ProcessEnd,
    /// Until when to wait for its remains before its run is answered (`CLOCK_MONOTONIC_RAW`).
    until_ns: u64,
}

/// Processes that the supervisor must wait for because their parent has died: a zygote, and after
/// it its pid1; or a mounter that was given up.
pub(super) struct Orphans {
    first: i32,
    /// The memory with the number of the zygote's pid1, until that is read.
    shared: Option<&'static Shared>,
    pid1: i32,
    /// Their runner, until it is answered for.
    runner: Option<Dead>,
}

impl Orphans {
    /// A killed child of the supervisor.
    pub(super) fn one(child: i32) -> Orphans {
        Orphans {
            first: child,
            shared: None,
            pid1: 0,
            runner: None,
        }
    }

    /// The remains of a dead runner. They die with it; killing them makes that faster.
    fn of(runner: Dead, shared: &'static Shared) -> Orphans {
        let zygote = shared.zygote.swap(0, SeqCst);
        if zygote != 0 {
            // The zygote is a child of the supervisor now and was not waited for, so the number is
            // valid.
            let _ = calls::kill(zygote, libc::SIGKILL);
        }
        Orphans {
            first: zygote,
            shared: Some(shared),
            pid1: 0,
            runner: Some(runner),
        }
    }

    /// How soon to check again.
    pub(super) fn wait_ns(&self) -> u64 {
        if self.runner.is_some() {
            SHORTEST_WAIT_NS
        } else {
            LONGEST_TICK_NS
        }
    }

    /// Waits for them without blocking. Returns whether they are gone.
    fn are_gone(&mut self) -> bool {
        let alive = |pid: i32| {
            pid != 0
                && matches!(process::wait(pid, libc::__WALL | libc::WNOHANG), Ok(none) if none.pid == 0)
        };
        if alive(self.first) {
            return false;
        }
        self.first = 0;
        // Read this only now, because the zygote may have been cloning pid1.
        if let Some(shared) = self.shared.take() {
            self.pid1 = shared.pid1.swap(0, SeqCst);
        }
        if alive(self.pid1) {
            return false;
        }
        self.pid1 = 0;
        true
    }
}
