//! Returns runs that could not begin in a runner to the front of the queue.
//!
//! A run has begun when a target has received its launch. Until then the supervisor can take back
//! the launch, with the run's descriptors, and give the run to another runner. It does so if the
//! runner dies, cannot prepare a target, or has no target that receives the launch in time. The
//! reason may be that the kernel is still removing what an earlier run left there, or that another
//! process keeps the runner from its CPU.
//!
//! The number of attempts is bounded, so that a broken machine yields an error that names the
//! cause: a run is set back at most [`MAX_SETBACKS`] times. The first runner has
//! [`INITIAL_RECEIPT_TIMEOUT_NS`] to receive it. Each later runner has twice as long as the one
//! before, up to 5 s. This is 26 s in total, or 27 s with only one runner. From the third attempt
//! on, a pause precedes each attempt. The pauses add up to 1.5 s, in which a machine without free
//! processes or memory may recover. The run's own clocks start at its exec, so none of this time
//! counts towards its limits.
//!
//! A target may be stopped after it has received the launch and before it reports that. The launch
//! and its descriptors are then lost, so the run ends with an error after [`REPORT_TIMEOUT_NS`].

use super::limits::{Cause, MAX_TICK_NS};
use super::{Setbacks, Supervisor};
use crate::launch::Report;
use crate::slot::State;
use crate::sys::{Errno, calls};
use millibox_wire::{Hint, Outcome, RunError, Step};
use std::os::fd::OwnedFd;

/// The maximum number of times that a run is set back before it ends with an error.
const MAX_SETBACKS: u32 = 12;
/// The time that the first runner has to receive a run.
const INITIAL_RECEIPT_TIMEOUT_NS: u64 = 20_000_000;
/// The minimum of that time if there is only one runner, which would otherwise only prepare the run
/// again.
const ONLY_RUNNER_RECEIPT_TIMEOUT_NS: u64 = 320_000_000;
/// The maximum number of times that the initial timeout is doubled, which makes it 5 s.
const MAX_DOUBLINGS: u32 = 8;
/// The time that a target has to report a launch that has left the socket.
const REPORT_TIMEOUT_NS: u64 = 10_000_000_000;
/// The pause before the third attempt. It is doubled for each later attempt.
const INITIAL_PAUSE_NS: u64 = 1_000_000;

impl Setbacks {
    /// The time that the next runner has to receive the run.
    pub(super) fn receipt_timeout_ns(&self, is_only_runner: bool) -> u64 {
        let timeout_ns = INITIAL_RECEIPT_TIMEOUT_NS << self.count.min(MAX_DOUBLINGS);
        match is_only_runner {
            true => timeout_ns.max(ONLY_RUNNER_RECEIPT_TIMEOUT_NS),
            false => timeout_ns,
        }
    }

    fn pause_ns(&self) -> u64 {
        match self.count {
            0 | 1 => 0,
            more => INITIAL_PAUSE_NS << (more - 2).min(MAX_DOUBLINGS),
        }
    }
}

impl Supervisor {
    /// Takes back the launch of a runner's run if no target has received it. Returns the run. The
    /// caller decides what happens to the runner.
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
        // The runner now serves no run, so the id of this run must not lead to it.
        self.runners[index].state = State::Ending;
        self.return_descriptors(id, descriptors);
        self.set_back(id, why);
        true
    }

    /// Like [`Self::retry_elsewhere`] for a runner that has reported why it could not prepare a
    /// target. A fault of the request or its world would be the same in every runner, so that run
    /// fails at once.
    pub(super) fn retry_after_failure(&mut self, index: usize, report: &Report) -> bool {
        let Some((id, descriptors)) = self.withdraw_launch(index) else {
            return false;
        };
        self.runners[index].state = State::Ending;
        self.return_descriptors(id, descriptors);
        self.handle_preparation_failure(id, report);
        true
    }

    /// Handles the failure of a preparation that this run is waiting for.
    pub(super) fn handle_preparation_failure(&mut self, id: u64, report: &Report) {
        let Some(world) = self.requests.get(&id).map(|request| request.world) else {
            return;
        };
        if self.start_cold(id, report) {
            return;
        }
        let step = Step::from_number(report.failure.step);
        let error = match report.failure.step {
            0 => RunError::new(Step::Pid1).with_hint(Hint::EndedUnready),
            _ => self.failure(&report.failure_parts(), Some(world)),
        };
        let stale = (step, Errno(report.failure.errno)) == (Step::Mount, Errno(libc::ESTALE));
        match (report.failure.step, Outcome::failed(error.clone())) {
            (1.., outcome @ Outcome::NotStarted(_)) if !stale => {
                self.dequeue(id);
                self.reject_dequeued(id, outcome);
            }
            // A template that has changed is prepared again.
            _ => self.set_back(id, error),
        }
        self.rebuild_if_stale(world, report);
    }

    fn return_descriptors(&mut self, id: u64, descriptors: Vec<OwnedFd>) {
        if let Some(request) = self.requests.get_mut(&id) {
            request.descriptors = descriptors;
        }
    }

    /// Removes a run from the queue. Returns false if the run is not waiting.
    pub(super) fn dequeue(&mut self, id: u64) -> bool {
        let place = self.queue.iter().position(|&waiting| waiting == id);
        place.is_some_and(|place| self.queue.remove(place).is_some())
    }

    /// Returns a run that could not begin to the front of the queue, or ends it with an error after
    /// too many attempts. Its partner also returns unless it has begun.
    pub(super) fn set_back(&mut self, id: u64, why: RunError) {
        let Some(request) = self.requests.get_mut(&id) else {
            return;
        };
        request.setbacks.count += 1;
        request.setbacks.try_at_ns =
            calls::monotonic_raw_ns().saturating_add(request.setbacks.pause_ns());
        // The kernel drops descriptors that exceed the supervisor's limit.
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

    /// Handles the partner of a run that is set back. The partner returns to the queue as well,
    /// unless it has begun. If the partner has begun, the run follows as soon as possible.
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
            // The partner's runner is not at fault.
            self.runners[index].state = State::Ready;
            self.return_descriptors(partner, descriptors);
            self.queue.push_front(partner);
        } else if let Some(request) = self.requests.get_mut(&id) {
            request.partner = None;
            request.begun_partner = Some(partner);
        }
    }

    /// Ends a run that no target has received, and keeps its runner ready. Returns false if the run
    /// has begun.
    pub(super) fn end_unreceived(&mut self, index: usize, outcome: Outcome) -> bool {
        let Some((id, descriptors)) = self.withdraw_launch(index) else {
            return false;
        };
        drop(descriptors);
        self.runners[index].state = State::Ready;
        self.reject_dequeued(id, outcome);
        true
    }

    /// Checks whether a run was received in time.
    pub(super) fn check_receipt(&mut self, index: usize) {
        self.runners[index].receipt_deadline = None;
        if self.runners[index].is_launched() {
            return;
        }
        let now = calls::monotonic_raw_ns();
        let why = RunError::new(Step::Receive).with_hint(Hint::NotReceived);
        if self.retry_elsewhere(index, why) {
            self.runners[index].switch();
            return;
        }
        // Either a target has just received the launch and will report that, or the kernel lacked
        // memory for the check.
        let runner = &mut self.runners[index];
        let received_at = *runner.received_at.get_or_insert(now);
        if let State::Running(id) = runner.state
            && now.saturating_sub(received_at) >= REPORT_TIMEOUT_NS
        {
            self.end(id, Cause::NotExecuted);
        } else {
            runner.receipt_deadline = Some(now.saturating_add(MAX_TICK_NS));
        }
    }

    /// Rebuilds the worlds that could not be built, if runs are waiting for them and another
    /// attempt is due. The dispatcher calls this before it assigns runs.
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
            // If this fails, the failure sets the time of the next attempt.
            if let Err(outcome) = self.build_if_new(world) {
                self.fail_world(world, outcome);
            }
        }
    }
}
