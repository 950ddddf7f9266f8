//! Runs that could not begin in a runner: they go back to the front of the queue.
//!
//! Nothing of a run has begun until a target has received its launch. Until then the supervisor can
//! take the launch back, with the run's descriptors, and give the run to another runner. It does so
//! when the runner dies, cannot prepare a target, or has no target that receives the launch in
//! time: the kernel may be taking apart what an earlier run left there, or a neighbour may keep the
//! runner from its CPU.
//!
//! The patience is bounded, so that a broken machine yields an error that names the cause: a run is
//! set back [`MAX_SETBACKS`] times. The first runner has [`INITIAL_RECEIPT_TIMEOUT_NS`] to receive it, each
//! further one twice as long as the one before, up to 5 s: 26 s in all. A pause comes before each
//! attempt, too, from the third on: a second and a half in all, in which a machine that was out of
//! processes or memory may recover. The run's own clocks begin at its exec, so none of this counts
//! towards its limits.

use super::limits::MAX_TICK_NS;
use super::{Setbacks, Supervisor};
use crate::launch::Report;
use crate::slot::State;
use crate::sys::{Errno, calls};
use millibox_wire::{Hint, Outcome, RunError, Step};
use std::os::fd::OwnedFd;

/// How often a run is set back at most, before it ends with an error.
const MAX_SETBACKS: u32 = 12;
/// How long the first runner has to receive a run.
const INITIAL_RECEIPT_TIMEOUT_NS: u64 = 20_000_000;
/// How often that time is doubled at most: 5 s.
const MAX_DOUBLINGS: u32 = 8;
/// The pause before the third attempt; it is doubled each time, too.
const INITIAL_PAUSE_NS: u64 = 1_000_000;

impl Setbacks {
    /// How long the next runner has to receive the run.
    pub(super) fn receipt_timeout_ns(&self) -> u64 {
        INITIAL_RECEIPT_TIMEOUT_NS << self.count.min(MAX_DOUBLINGS)
    }

    fn pause_ns(&self) -> u64 {
        match self.count {
            0 | 1 => 0,
            more => INITIAL_PAUSE_NS << (more - 2).min(MAX_DOUBLINGS),
        }
    }
}

impl Supervisor {
    /// Takes the launch of a runner's run back, if no target has received it: the run. The caller
    /// says what becomes of the runner.
    fn withdraw_launch(&mut self, index: usize) -> Option<(u64, Vec<OwnedFd>)> {
        let runner = &mut self.runners[index];
        let State::Running(id) = runner.state else {
            return None;
        };
        let descriptors = runner.take_back()?;
        runner.stop_clocks();
        Some((id, descriptors))
    }

    /// Takes back a launch that no target has received, and gives its run to another runner.
    /// Returns false if a target has received it. The caller decides what happens to the runner.
    pub(super) fn retry_elsewhere(&mut self, index: usize, why: RunError) -> bool {
        let Some((id, descriptors)) = self.withdraw_launch(index) else {
            return false;
        };
        // The runner serves no run any more, and must not be found by the id of this one.
        self.runners[index].state = State::Ending;
        self.return_descriptors(id, descriptors);
        self.set_back(id, why);
        true
    }

    /// The same, if the runner has reported why it could not prepare a target. A fault of the
    /// request or its world would be the same in every runner, so that run fails at once.
    pub(super) fn retry_after_failure(&mut self, index: usize, report: &Report) -> bool {
        let Some((id, descriptors)) = self.withdraw_launch(index) else {
            return false;
        };
        self.runners[index].state = State::Ending;
        self.return_descriptors(id, descriptors);
        self.handle_preparation_failure(id, report);
        true
    }

    /// Handles a runner that could not prepare what this run waits for.
    pub(super) fn handle_preparation_failure(&mut self, id: u64, report: &Report) {
        let Some(world) = self.requests.get(&id).map(|request| request.world) else {
            return;
        };
        let step = Step::from_number(report.failure.step);
        let error = match report.failure.step {
            0 => RunError::new(Step::Pid1).with_hint(Hint::EndedUnready),
            _ => self.failure(&report.failure_parts(), Some(world)),
        };
        let stale = (step, Errno(report.failure.errno)) == (Step::Mount, Errno(libc::ESTALE));
        match (report.failure.step, Outcome::failed(error.clone())) {
            (1.., outcome @ Outcome::NotStarted(_)) if !stale => {
                self.dequeue(id);
                let partner = self.remove_request(id).and_then(|request| request.partner);
                self.answer_error(id, outcome);
                if let Some(partner) = partner {
                    self.end_partner(partner, id);
                }
            }
            // A changed template is prepared again.
            _ => self.set_back(id, error),
        }
        self.rebuild_if_stale(world, report);
    }

    fn return_descriptors(&mut self, id: u64, descriptors: Vec<OwnedFd>) {
        if let Some(request) = self.requests.get_mut(&id) {
            request.descriptors = descriptors;
        }
    }

    fn dequeue(&mut self, id: u64) {
        if let Some(place) = self.queue.iter().position(|&waiting| waiting == id) {
            self.queue.remove(place);
        }
    }

    /// Puts a run that could not begin at the front of the queue, or ends it with an error after
    /// too many attempts. Its partner, if that has not begun, waits with it.
    pub(super) fn set_back(&mut self, id: u64, why: RunError) {
        let Some(request) = self.requests.get_mut(&id) else {
            return;
        };
        request.setbacks.count += 1;
        request.setbacks.try_at_ns =
            calls::monotonic_raw_ns().saturating_add(request.setbacks.pause_ns());
        // The kernel drops descriptors for which the supervisor has no room.
        let complete =
            request.descriptors.len() == request.launch.descriptors.count_ones() as usize;
        let may_retry = complete && request.setbacks.count <= MAX_SETBACKS;
        let count = request.setbacks.count;
        let partner = request.partner;
        let try_at_ns = request.setbacks.try_at_ns;
        self.dequeue(id);
        self.queue.push_front(id);
        self.has_setbacks = true;
        self.retry_at_ns = Some(
            self.retry_at_ns
                .map_or(try_at_ns, |at_ns| at_ns.min(try_at_ns)),
        );
        if let Some(partner) = partner {
            self.requeue_partner(id, partner);
        }
        if !may_retry {
            let error = match complete {
                true => why.after_attempts(count),
                false => RunError::new(Step::Descriptors).with_errno(libc::EMFILE),
            };
            self.reject_waiting(id, Outcome::SandboxError(error));
        }
    }

    /// Handles the partner of a run that is set back. It waits as well, if it has not begun. If it
    /// has, the run follows as soon as it can.
    fn requeue_partner(&mut self, id: u64, partner: u64) {
        if self.queue.contains(&partner) {
            return;
        }
        let partner_runner = self
            .runners
            .iter()
            .position(|runner| runner.state == State::Running(partner));
        if let Some(index) = partner_runner
            && let Some((_, descriptors)) = self.withdraw_launch(index)
        {
            // Nothing is wrong with that runner.
            self.runners[index].state = State::Ready;
            self.return_descriptors(partner, descriptors);
            self.queue.push_front(partner);
        } else if let Some(request) = self.requests.get_mut(&id) {
            request.partner = None;
            request.begun_partner = Some(partner);
        }
    }

    /// Ends a run that no target has received; its runner stays as it was. Returns false if it has
    /// begun.
    pub(super) fn end_unreceived(&mut self, index: usize, outcome: Outcome) -> bool {
        let Some((id, descriptors)) = self.withdraw_launch(index) else {
            return false;
        };
        drop(descriptors);
        self.runners[index].state = State::Ready;
        let partner = self.remove_request(id).and_then(|request| request.partner);
        self.answer_error(id, outcome);
        if let Some(partner) = partner {
            self.end_partner(partner, id);
        }
        true
    }

    /// Checks whether a runner has received its run in time.
    pub(super) fn check_receipt(&mut self, index: usize) {
        self.runners[index].receipt_deadline = None;
        if self.runners[index].is_launched() {
            return;
        }
        let now = calls::monotonic_raw_ns();
        let why = RunError::new(Step::Receive).with_hint(Hint::NotReceived);
        if self.retry_elsewhere(index, why) {
            self.runners[index].switch();
        } else {
            // A target has received it just now and will report that, or the kernel was short of
            // memory.
            self.runners[index].receipt_deadline = Some(now.saturating_add(MAX_TICK_NS));
        }
    }

    /// Before waiting runs are given to runners: rebuilds worlds that could not be built and that
    /// runs wait for, if these may be tried again.
    pub(super) fn rebuild_worlds(&mut self) {
        self.retry_at_ns = None;
        if !self.has_setbacks {
            return;
        }
        let now = calls::monotonic_raw_ns();
        let set_back: Vec<_> = (self.queue.iter())
            .filter_map(|id| self.requests.get(id))
            .filter(|request| request.setbacks.count > 0)
            .map(|request| (request.world, request.setbacks.try_at_ns))
            .collect();
        self.has_setbacks = !set_back.is_empty();
        self.retry_at_ns = set_back
            .iter()
            .map(|(_, at_ns)| *at_ns)
            .filter(|&at_ns| at_ns > now)
            .min();
        for (world, _) in set_back.into_iter().filter(|(_, at_ns)| *at_ns <= now) {
            // If this fails, the failure says when to try again.
            if let Err(outcome) = self.build_if_new(world) {
                self.fail_world(world, outcome);
            }
        }
    }
}
