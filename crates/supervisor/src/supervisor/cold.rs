//! Runs whose program is executed although the request asked for a copy of a template.

use super::Supervisor;
use crate::launch::Report;
use crate::program;
use crate::sys::calls;
use crate::world::WorldId;
use millibox_wire::{Hint, MAX_PREPARED_BYTES, Run, RunError, Step, TemplateProblem, Unfit};

/// The time within which a template must receive a launch, in addition to its preparation time.
const RECEIPT_GRACE_NS: u64 = 10_000_000_000;

impl Supervisor {
    /// Returns the world of a run, and the reason if its program will be executed although the
    /// request asked for a copy.
    pub(super) fn world_of(
        &mut self,
        run: &Run,
    ) -> Result<(WorldId, Option<TemplateProblem>), RunError> {
        let devices = self.setup.devices.as_deref();
        let failed = |error| RunError::new(Step::World).with_hint(Hint::World(error));
        let world = self
            .worlds
            .find_or_add(run.world, devices)
            .map_err(failed)?;
        let problem = match self.worlds.program(world) {
            None => return Ok((world, None)),
            Some(_) => unfit(run).or_else(|| self.worlds.recent_problem(world)),
        };
        match problem {
            None => Ok((world, None)),
            Some(problem) if run.may_start_cold => {
                let world = self
                    .worlds
                    .without_program(world, devices)
                    .map_err(failed)?;
                Ok((world, Some(problem)))
            }
            Some(problem) => Err(not_ready(problem)),
        }
    }

    /// Handles the failure of a template to serve a run. Returns false for other failures, and if
    /// the run's program may not be executed instead.
    pub(super) fn start_cold(&mut self, id: u64, report: &Report) -> bool {
        let (step, errno, object, _) = report.failure_parts();
        let Some(request) = self.requests.get(&id) else {
            return false;
        };
        let world = request.world;
        if step != Step::Ready || self.worlds.program(world).is_none() {
            return false;
        }
        let problem = program::problem(object, errno);
        self.worlds
            .set_problem(world, problem, calls::monotonic_raw_ns());
        if !request.may_start_cold {
            return false;
        }
        let devices = self.setup.devices.as_deref();
        let Ok(cold) = self.worlds.without_program(world, devices) else {
            return false;
        };
        self.worlds.hold(cold);
        let released = self.worlds.release(world);
        self.unreaped
            .extend(released.map(super::deaths::Unreaped::one));
        if let Some(request) = self.requests.get_mut(&id) {
            request.world = cold;
            request.cold = Some(problem);
        }
        if !self.queue.contains(&id) {
            self.queue.push_front(id);
        }
        if let Err(outcome) = self.build_if_new(cold) {
            self.fail_world(cold, outcome);
        }
        true
    }

    /// The time that a runner has to receive a launch, if its template may still be in preparation.
    pub(super) fn template_timeout_ns(&self, world: WorldId) -> Option<u64> {
        let program = self.worlds.program(world)?;
        Some(program.real_time_ns.saturating_add(RECEIPT_GRACE_NS))
    }
}

/// The error of a run whose template cannot be used.
pub(super) fn not_ready(problem: TemplateProblem) -> RunError {
    RunError::new(Step::Ready).with_hint(Hint::Template(problem))
}

/// The reason why a run cannot be a copy of any template; `None` if it can.
fn unfit(run: &Run) -> Option<TemplateProblem> {
    let unfit = if run.limits.cpu_bandwidth.is_some() {
        Unfit::CpuBandwidth
    } else if run.strings.len() > MAX_PREPARED_BYTES {
        Unfit::TooLong
    } else {
        return None;
    };
    Some(TemplateProblem::Unfit(unfit))
}
