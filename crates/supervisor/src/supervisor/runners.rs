//! What runners say, how they end, and how they are started again.

use super::limits::{LONGEST_TICK_NS, SHORTEST_WAIT_NS};
use super::{Fatal, Supervisor, Token};
use crate::backend::{self, Handover};
use crate::launch::{End, Failure, Memory, Report, Shared, Start, UNLIMITED, message};
use crate::slot::{Runner, State};
use crate::sockets::{self, Sockets};
use crate::sys::{Errno, calls, process};
use crate::world::WorldId;
use millibox_wire::Step;
use millibox_wire::{Hint, Outcome, ProcessEnd, RunError};
use rustix::event::epoll;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::Ordering::SeqCst;
use zerocopy::FromBytes;

/// A runner that dies so often in a row before it can take runs will not do better.
const MOST_ACCIDENTS: u32 = 10;
/// How long it is waited for the processes of a runner that died, before its run is answered with
/// the figures as they are.
const LONGEST_DEATH_NS: u64 = 1_000_000_000;
/// How often it is tried again to start a runner, a moment later each time: half a minute in all.
const MOST_STARTS: u32 = 40;

/// A runner that is to be started again. The kernel may have no memory, process or descriptor for
/// us now and have them a moment later; a run may have taken them.
pub(super) struct Gone {
    index: usize,
    /// `None`: who still writes to the memory that it had is about to die.
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
                Err(errno) => {
                    return Err(format!(
                        "cannot read from a runner: {}",
                        crate::messages::errno_text(errno)
                    ));
                }
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
                        // If it cannot be watched the kernel's own killing has to do.
                        let _ = self.watch(
                            events.as_raw_fd(),
                            Token::OutOfMemory(index),
                            epoll::EventFlags::PRI,
                        );
                    }
                    // We have no room for a descriptor. Whoever runs there would not be held.
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
                        // We have no room for a descriptor. Whoever runs there would not be held.
                        Err(_) => self.runners[index].kill_process(),
                    }
                }
                Some([message::BANDWIDTH]) => {
                    self.runners[index].bandwidth = descriptors.next().flatten();
                    // We have no room for a descriptor. Whoever runs there could not be ended in
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
                        // What keeps one that takes a dead one's place may pass, and the others can
                        // serve meanwhile.
                        if self
                            .unsettled
                            .get(index)
                            .is_some_and(Unsettled::may_try_again)
                        {
                            self.runners[index].kill_process();
                            continue;
                        }
                        let error = self.failure(&report().failure_parts(), None);
                        return Err(format!("a runner cannot be set up: {error}"));
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
                Some(_) => return Err("a runner sent what is no message".to_owned()),
            }
        }
    }

    /// A runner has moved to another memory cgroup, which these are the files of.
    fn memory_renewed(&mut self, index: usize, files: [Option<OwnedFd>; 3]) {
        let [Some(peak), Some(oom_control), Some(oom_event)] = files else {
            // We have no room for a descriptor. Whoever runs there would not be held.
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
            // The old one is told when its cgroup goes.
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

    /// A pid1 is over, by its own word or its runner's.
    fn pid1_ended(&mut self, index: usize, mut report: Report) {
        if report.end.launch == 0 && self.move_on_after(index, &report) {
            // A launch that was sent ahead, and that no target has received: pid1 ended before.
            return self.runners[index].over(&self.epoll, State::Ending);
        }
        let runner = &mut self.runners[index];
        match (runner.state, report.end.launch) {
            (State::Running(id), launch) if launch == 0 || launch == runner.launch_number() => {
                if report.start.number != runner.launch_number() {
                    // It did not come as far as its exec.
                    report.start = Start::default();
                }
                // A runner whose pid1 took no launch becomes idle; else it goes on.
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
            // A pid1 that was killed between its word and its end: the runner tells again what
            // has been told.
            (_, launch) if launch != 0 => {}
            (State::Switching, _) => {}
            // No run was in it: the preparation failed, or somebody ended pid1.
            _ => self.unprepared(index, &report),
        }
    }

    /// A runner could not prepare its world: the first run that waits for it is told, or set back.
    fn unprepared(&mut self, index: usize, report: &Report) {
        let world = self.runners[index].world;
        self.runners[index].over(&self.epoll, State::Ending);
        let mut report = *report;
        if report.failure.step == 0 {
            // Somebody ended pid1; but not again and again.
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

    /// If what failed is that a template is not what it was, the next to want it gets a new one.
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

    /// A runner's process is gone. Its runs are gone as well: pid1 dies with its parent.
    fn runner_died(&mut self, index: usize) -> Result<(), Fatal> {
        let runner = &mut self.runners[index];
        let status = runner.reap();
        let how = process::end_of(status);
        if runner.state == State::Settling {
            // Somebody may have killed it; but not again and again. What it cannot do itself it
            // has told.
            let killed = process::decode_status(status).is_err();
            match self.unsettled.get_mut(index) {
                Some(its) if its.may_try_again() || its.times < MOST_ACCIDENTS && killed => {
                    its.times += 1
                }
                _ => return Err(format!("a runner {how} before it could take runs")),
            }
        }
        // It has been closed at the other end, and would say so for as long as it is watched.
        let _ = epoll::delete(&self.epoll, &runner.socket);
        // What no target has received goes to another runner, or to this one's successor.
        self.move_on(
            index,
            RunError::new(Step::Runner).with_hint(ended_hint(how)),
        );
        let runner = &mut self.runners[index];
        // pid1 dies with its runner, and the program with pid1; the figures are whole when pid1 can
        // be waited for.
        let patience = if matches!(runner.state, State::Running(_)) {
            LONGEST_DEATH_NS
        } else {
            0
        };
        let until_ns = calls::monotonic_raw_ns().saturating_add(patience);
        // A limit that is reached while it is waited for was not what ended the run.
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

    /// Waits for who has been killed, without waiting long, and answers for runners of whom nothing
    /// is left.
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

    /// Answers for a dead runner, and starts it again. `gone`: its zygote and pid1 are dead, too.
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
        // Who still lives there still writes there.
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
            // What the dead runner had prepared is gone.
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

    /// Starts the runners again whose time has come.
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

    /// What a runner would have told of its run. The kernel chooses a runner, whose memory pid1
    /// shares, when its runs' cgroup is out of memory and nobody there has more than it.
    fn report_for_the_dead(&mut self, index: usize, limit: Option<u64>) -> Report {
        // The news of it may not have been read yet.
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
        // All else there is the dead runner's own word, which did not come to an end.
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
    Memory::new().map_err(|error| format!("cannot make memory to share with a runner: {error}"))
}

/// How starting a place's runner has gone.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Unsettled {
    /// How often it has died since one was last there, before it could take runs.
    times: u32,
    /// One could: what is in the way of another is not how we were set up.
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
    /// How long it is waited for what it left, before its run is answered (`CLOCK_MONOTONIC_RAW`).
    until_ns: u64,
}

/// Processes that are ours to wait for since their parent has died: a zygote, and when that is
/// gone its pid1; or a mounter that was given up.
pub(super) struct Orphans {
    first: i32,
    /// Where the zygote's pid1 stands, until that is looked up.
    shared: Option<&'static Shared>,
    pid1: i32,
    /// The runner whose they were, until it is answered for.
    runner: Option<Dead>,
}

impl Orphans {
    /// A child of our own that has been killed.
    pub(super) fn one(child: i32) -> Orphans {
        Orphans {
            first: child,
            shared: None,
            pid1: 0,
            runner: None,
        }
    }

    /// What a dead runner has left. It dies of its runner's death; ended here it dies sooner.
    fn of(runner: Dead, shared: &'static Shared) -> Orphans {
        let zygote = shared.zygote.swap(0, SeqCst);
        if zygote != 0 {
            // Ours by now, and not waited for, so the number is still its own.
            let _ = calls::kill(zygote, libc::SIGKILL);
        }
        Orphans {
            first: zygote,
            shared: Some(shared),
            pid1: 0,
            runner: Some(runner),
        }
    }

    /// How soon to look for them again.
    pub(super) fn wait_ns(&self) -> u64 {
        if self.runner.is_some() {
            SHORTEST_WAIT_NS
        } else {
            LONGEST_TICK_NS
        }
    }

    /// Waits for them without waiting long; whether they are gone.
    fn are_gone(&mut self) -> bool {
        let alive = |pid: i32| {
            pid != 0
                && matches!(process::wait(pid, libc::__WALL | libc::WNOHANG), Ok(none) if none.pid == 0)
        };
        if alive(self.first) {
            return false;
        }
        self.first = 0;
        // Only now, since the zygote may have been making it.
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
