//! Assigns waiting runs to runners.

use super::limits::MIN_WAIT_NS;
use super::{Request, Supervisor, Token};
use crate::locks;
use crate::slot::{Runner, State};
use crate::sys::calls;
use crate::world::WorldId;
use millibox_wire::{Hint, Outcome, RunError, Step};
use rustix::event::epoll;
use std::os::fd::AsRawFd;

impl Supervisor {
    pub(super) fn build_if_new(&mut self, world: WorldId) -> Result<(), Outcome> {
        if let Some(socket) = self
            .worlds
            .start_mounter(world, &self.setup, &self.spawner)?
        {
            self.try_watch(socket, Token::Mounter(world), epoll::EventFlags::IN)
                .map_err(|errno| {
                    let hint = Hint::Unwatchable {
                        errno: errno.raw_os_error(),
                    };
                    Outcome::failed(RunError::new(Step::Template).with_hint(hint))
                })?;
        }
        Ok(())
    }

    pub(super) fn handle_mounter(&mut self, world: WorldId) {
        if let Err(outcome) = self.worlds.handle_mounter(world) {
            self.fail_world(world, outcome);
        }
    }

    /// Fails every waiting run of a world that cannot be built. If the failure does not depend on
    /// the world, the runs are set back. The next request tries again.
    pub(super) fn fail_world(&mut self, world: WorldId, outcome: Outcome) {
        let failed: Vec<u64> = self
            .queue
            .iter()
            .copied()
            .filter(|id| self.requests.get(id).is_some_and(|r| r.world == world))
            .collect();
        // The order is reversed, because each run that is set back goes to the front.
        for id in failed.into_iter().rev() {
            match &outcome {
                Outcome::SandboxError(why) => self.set_back(id, why.clone()),
                _ => self.reject_waiting(id, outcome.clone()),
            }
        }
        self.worlds.drop_failed(world);
    }

    /// Assigns waiting requests to runners. Among requests whose world is built, the earliest comes
    /// first.
    pub(super) fn dispatch(&mut self) {
        let mut at = 0;
        self.rebuild_worlds();
        // Check this before the assignment, which may make a runner able to accept launches.
        self.polls_runners = !self.queue.is_empty() && self.has_runner_in_cleanup();
        // The slots in which a pair will start as soon as both runners are ready.
        let mut claimed = Vec::new();
        while let Some(&id) = self.queue.get(at) {
            at += 1;
            let Some(request) = self.requests.get(&id) else {
                continue;
            };
            let world = request.world;
            if !self.worlds.is_built(world) || self.has_setbacks && self.is_paused(request) {
                continue;
            }
            if let Some(partner) = request.partner {
                // A pair is examined once, at the place of its first run.
                if id < partner && self.dispatch_pair([id, partner], &mut claimed) {
                    at -= 1;
                }
                continue;
            }
            let begun_partner = request.begun_partner;
            match self.pick(world, &claimed, begun_partner) {
                Pick::Launch(index) => {
                    at -= 1;
                    self.queue.remove(at);
                    if !self.launch(index, id) {
                        // The run is in the queue again and paused, or it was answered.
                        continue;
                    }
                    self.latest = Some((index, world));
                    self.prepare_another(index, world);
                }
                Pick::Prepare(index) => {
                    at -= 1;
                    self.prepare(index, world);
                }
                Pick::Switch(index) => self.runners[index].switch(),
                Pick::Wait => {}
                // A run whose partner has begun may use a slot that other runs may not use.
                Pick::AllBusy if self.has_setbacks => {}
                Pick::AllBusy => break,
            }
        }
        self.polls_runners &= !self.queue.is_empty();
        // A world that is no longer needed must not keep a runner from becoming idle. Runners
        // release their worlds when they switch.
        self.worlds.trim();
    }

    /// Whether a free slot has a runner that will accept launches without another message.
    fn has_runner_in_cleanup(&self) -> bool {
        let clears = |runner: &Runner| runner.state == State::Ready && !runner.accepts_launch();
        self.free_slots(&[], None)
            .any(|slot| self.runners[self.setup.runners_of(slot)].iter().any(clears))
    }

    fn prepare(&mut self, index: usize, world: WorldId) {
        if let Some((order, template)) = self.worlds.order(world) {
            self.runners[index].prepare(world, order, template);
        }
    }

    /// Prepares a second runner for the world of a launch, so that the next run need not wait for
    /// the end of this one. The runner is on another CPU if possible. This happens only while some
    /// runners are idle.
    pub(super) fn prepare_another(&mut self, launched: usize, world: WorldId) {
        let elsewhere =
            |index: usize| self.setup.cpus.of_runner(index) != self.setup.cpus.of_runner(launched);
        let all = || {
            self.runners
                .iter()
                .enumerate()
                .filter(|&(index, _)| index != launched)
        };
        let mut others = all()
            .filter(|(_, runner)| runner.world == Some(world))
            .map(|(index, _)| index)
            .peekable();
        let is_lone = others.peek().is_none();
        if others.any(elsewhere) {
            return;
        }
        let mut idle = all()
            .filter(|(_, runner)| runner.state == State::Idle)
            .map(|(index, _)| index);
        let best = idle
            .clone()
            .find(|&index| elsewhere(index))
            .or_else(|| idle.next().filter(|_| is_lone));
        if let Some(index) = best {
            self.prepare(index, world);
        }
    }

    /// The time of the last launch on the CPU of a runner.
    fn last_launch_on_cpu_of(&self, index: usize) -> Option<u64> {
        self.launched_on
            .get(self.setup.cpus.of_runner(index)?)
            .copied()
    }

    /// Starts both runs of a pair, if a slot has two ready runners; otherwise claims a slot and
    /// makes it ready. Returns true if both runs left the queue.
    ///
    /// A pair uses one slot with two of its runners. So every slot can serve a pair, and pairs
    /// never wait for each other.
    fn dispatch_pair(&mut self, ids: [u64; 2], claimed: &mut Vec<usize>) -> bool {
        let worlds = ids.map(|id| self.requests.get(&id).map(|request| request.world));
        let [Some(first), Some(second)] = worlds else {
            return false;
        };
        if !self.worlds.is_built(second) {
            return false;
        }
        let setup = &self.setup;
        let best = self
            .free_slots(claimed, None)
            .flat_map(|slot| {
                setup
                    .runners_of(slot)
                    .flat_map(move |a| setup.runners_of(slot).map(move |b| [a, b]))
            })
            .filter(|[a, b]| a != b)
            .min_by_key(|&[a, b]| {
                let (a, b) = (self.distance(a, first), self.distance(b, second));
                (a.max(b), a + b)
            });
        let Some(runners) = best else { return false };
        for (index, world) in runners.into_iter().zip([first, second]) {
            let runner = &mut self.runners[index];
            match runner.state {
                State::Idle => self.prepare(index, world),
                State::Ready if runner.world != Some(world) && runner.accepts_launch() => {
                    runner.switch()
                }
                _ => {}
            }
        }
        let ready = |index: usize, world| {
            let runner = &self.runners[index];
            runner.state == State::Ready && runner.world == Some(world) && runner.accepts_launch()
        };
        if !ready(runners[0], first) || !ready(runners[1], second) {
            claimed.push(runners[0] / self.setup.runners_per_slot);
            return false;
        }
        for (index, id) in runners.into_iter().zip(ids) {
            self.dequeue(id);
            if !self.launch(index, id) {
                // The run and its partner are waiting again, or both were answered.
                return false;
            }
        }
        true
    }

    /// Whether a run that was set back must not be tried yet.
    pub(super) fn is_paused(&self, request: &Request) -> bool {
        let is_paused = |request: &Request| {
            let setbacks = &request.setbacks;
            setbacks.count > 0 && setbacks.try_at_ns > calls::monotonic_raw_ns()
        };
        is_paused(request)
            || request
                .partner
                .and_then(|partner| self.requests.get(&partner))
                .is_some_and(is_paused)
    }

    /// How much a runner still has to do before it can serve a world; 0 means that it can serve at
    /// once.
    fn distance(&self, index: usize, world: WorldId) -> u32 {
        let runner = &self.runners[index];
        match runner.state {
            State::Ready if runner.world == Some(world) && runner.accepts_launch() => {
                u32::from(!runner.is_prepared())
            }
            State::Idle => 2,
            State::Starting | State::Ending | State::Switching | State::Running(_) => 3,
            State::Ready if runner.world == Some(world) && !runner.is_late() => 3,
            State::Ready if runner.accepts_launch() => 4,
            State::Ready => 5,
            State::Dead => 6,
        }
    }

    /// The slots that no pair has claimed and that have no run other than `but`.
    fn free_slots(&self, claimed: &[usize], but: Option<u64>) -> impl Iterator<Item = usize> {
        let is_other =
            move |runner: &Runner| matches!(runner.state, State::Running(id) if Some(id) != but);
        let is_busy = move |slot| {
            self.runners[self.setup.runners_of(slot)]
                .iter()
                .any(is_other)
        };
        (0..self.setup.slots).filter(move |slot| !claimed.contains(slot) && !is_busy(*slot))
    }

    /// The best runner for a world, in a slot that no pair has claimed. The slot of `begun_partner`
    /// counts as free for its partner.
    fn pick(&self, world: WorldId, claimed: &[usize], begun_partner: Option<u64>) -> Pick {
        let free: Vec<usize> = self
            .free_slots(claimed, begun_partner)
            .flat_map(|slot| self.setup.runners_of(slot))
            .collect();
        if free.is_empty() {
            return Pick::AllBusy;
        }
        let in_state = |state: State, same: bool| {
            free.iter().copied().filter(move |&index| {
                self.runners[index].state == state
                    && (self.runners[index].world == Some(world)) == same
            })
        };
        let takes = |&index: &usize| self.runners[index].accepts_launch();
        let ready = in_state(State::Ready, true)
            .filter(takes)
            .min_by_key(|&index| {
                let runner = &self.runners[index];
                let prepared = runner.is_prepared();
                // While the last run is being removed, the CPU is not free for another run; see
                // `crate::cpus`.
                (
                    !prepared,
                    self.last_launch_on_cpu_of(index).filter(|_| prepared),
                    runner.last_used,
                )
            });
        if let Some(index) = ready.filter(|&index| self.runners[index].is_prepared()) {
            return Pick::Launch(index);
        }
        if let Some(&index) = free
            .iter()
            .find(|&&index| self.runners[index].state == State::Idle)
        {
            return Pick::Prepare(index);
        }
        // The runner is still preparing, so the launch waits in its socket.
        if let Some(index) = ready {
            return Pick::Launch(index);
        }
        if free
            .iter()
            .any(|&index| matches!(self.runners[index].state, State::Ending | State::Switching))
        {
            return Pick::Wait;
        }
        if in_state(State::Ready, true).any(|index| !self.runners[index].is_late()) {
            return Pick::Wait;
        }
        // Prefer a runner that is prepared for a world that no waiting run needs.
        let wanted = |index: usize| {
            let its = self.runners[index].world;
            self.queue
                .iter()
                .any(|id| self.requests.get(id).map(|r| r.world) == its)
        };
        match in_state(State::Ready, false)
            .filter(takes)
            .min_by_key(|&index| (wanted(index), self.runners[index].last_used))
        {
            Some(index) if !wanted(index) => Pick::Switch(index),
            _ => Pick::Wait,
        }
    }

    /// Launches a run. Returns false if the launch could not be sent; the run is then in the queue
    /// again or has been answered.
    fn launch(&mut self, index: usize, id: u64) -> bool {
        let now = calls::monotonic_raw_ns();
        self.request_lock_history(now);
        let template_timeout_ns = self
            .requests
            .get(&id)
            .and_then(|request| self.template_timeout_ns(request.world));
        let is_only_runner = self.runners.len() == 1;
        let Some(request) = self.requests.get_mut(&id) else {
            return false;
        };
        let runner = &mut self.runners[index];
        let descriptors: Vec<i32> = request
            .descriptors
            .iter()
            .map(|fd| fd.as_raw_fd())
            .collect();
        runner.discard_oom_event(&self.setup.handover, index);
        if let Some(cpu) = self.setup.cpus.of_runs()
            && request.partner.is_none()
        {
            runner.move_target_to(cpu);
        }
        let sent = runner.launch(
            &request.launch,
            &request.strings,
            &descriptors,
            self.worlds.least_template_cpu_ns(request.world),
        );
        match sent {
            Ok(()) => {
                // From now on only the target has the ends of the pipes open.
                request.descriptors.clear();
                runner.state = State::Running(id);
                runner.last_used = now;
                let timeout_ns = request.setbacks.receipt_timeout_ns(is_only_runner);
                runner.receipt_deadline =
                    Some(now.saturating_add(template_timeout_ns.unwrap_or(timeout_ns)));
                runner.received_at = None;
                if let Some(latest) = self
                    .setup
                    .cpus
                    .of_runner(index)
                    .and_then(|cpu| self.launched_on.get_mut(cpu))
                {
                    *latest = now;
                }
                let limits = &request.limits;
                runner.real_deadline = limits.real_time_ns.map(|limit| now.saturating_add(limit));
                runner.cpu_deadline = limits
                    .cpu_time_ns
                    .map(|limit| now.saturating_add((limit / request.cpus).max(MIN_WAIT_NS)));
                runner.locks_deadline = limits
                    .memory
                    .filter(|_| self.locks.is_some())
                    .map(|_| now.saturating_add(locks::SCAN_INTERVAL_NS));
            }
            Err(errno) => self.set_back(id, RunError::new(Step::Runner).with_errno(errno.0)),
        }
        sent.is_ok()
    }
}

enum Pick {
    Launch(usize),
    Prepare(usize),
    Switch(usize),
    Wait,
    AllBusy,
}
