//! Time limits derived from the run times of the model solution.
//!
//! The times are measured where submissions are judged: on the CPU of a worker, which waits in the
//! meantime.

use super::{JobError, Running};
use crate::cpus;
use millibox_judge::judge::{Event, Machine};
use millibox_setter::limits;

impl Running<'_> {
    pub(super) fn reset_limits(&self, id: i64) -> Result<(), JobError> {
        let (version, unpacked) = self.unpack(id)?;
        self.say(format!("version {}: measuring", version.number));
        let report = self.on_judging_cpu(&unpacked.root);
        self.check()?;
        let report = report?;
        for test in &report.tests {
            let (name, time, limit) = (&test.test, test.time, test.limit);
            self.say(format!("test {name}: {time:.3} s, limit {limit:.3} s"));
        }
        for skipped in &report.skipped {
            self.say(format!("not measured: {}", skipped.submission));
        }
        self.say(format!("limit: {}", report.formula));
        let note = "time limits of the model solution";
        self.add_changed(&version, id, &unpacked.root, note)
    }

    fn on_judging_cpu(&self, root: &std::path::Path) -> Result<limits::Report, JobError> {
        let reserved = self.runner.turns.reserve();
        // The job may have been cancelled while it waited.
        self.check()?;
        cpus::pin(&[reserved.cpu]);
        let report = Machine::start(self.runner.builder.clone(), Some(1), &[reserved.cpu])
            .map_err(JobError::from)
            .and_then(|machine| self.measure(&machine, root));
        cpus::pin(&self.runner.cpus);
        report
    }

    /// Measures until the job is cancelled.
    fn measure(
        &self,
        machine: &Machine,
        root: &std::path::Path,
    ) -> Result<limits::Report, JobError> {
        let (suites, cache) = (self.runner.suites.clone(), self.runner.cache.clone());
        self.until_stopped(machine, || {
            let mut seen = 0;
            let observer = &mut |event: Event<'_>| {
                if let Event::Settled { progress } = event {
                    if progress.settled() < seen {
                        seen = 0;
                    }
                    if progress.settled() > seen {
                        seen = progress.settled();
                        self.say(format!("measured {seen} tests"));
                    }
                }
            };
            Ok(limits::limits(
                machine, suites, cache, root, true, observer,
            )?)
        })
    }
}
