//! Time limits derived from the run times of the model solution.
//!
//! The times are measured where submissions are judged: on the CPU of a worker, which waits in the
//! meantime.

use super::{JobError, Running};
use crate::cpus;
use millibox_judge::judge::{Event, Machine};
use millibox_setter::limits;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a measuring checks whether a submission to a contest waits for its CPU.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

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
        loop {
            let reserved = self.runner.turns.reserve();
            // The job may have been cancelled while it waited.
            self.check()?;
            cpus::pin(&[reserved.cpu]);
            let makes_way = AtomicBool::new(false);
            let report = Machine::start(self.runner.builder.clone(), Some(1), &[reserved.cpu])
                .map_err(JobError::from)
                .and_then(|machine| self.measure(&machine, root, &makes_way));
            cpus::pin(&self.runner.cpus);
            // The worker of the CPU already waits for it, so it comes before the next measuring.
            drop(reserved);
            if report.is_ok() || !makes_way.into_inner() {
                return report;
            }
            self.check()?;
            self.say("a submission to a contest comes first; measuring again");
        }
    }

    /// Measures until the job is cancelled, or until a submission to a contest needs the CPU.
    fn measure(
        &self,
        machine: &Machine,
        root: &std::path::Path,
        makes_way: &AtomicBool,
    ) -> Result<limits::Report, JobError> {
        let (suites, cache) = (self.runner.suites.clone(), self.runner.cache.clone());
        let looked = Cell::new(Instant::now());
        let is_urgent = move || {
            if looked.get().elapsed() < LOOK_INTERVAL {
                return false;
            }
            looked.set(Instant::now());
            let urgent = self.block_on(self.app().queue.is_urgent());
            let is_urgent = urgent.unwrap_or_else(|error| {
                tracing::warn!(%error, "cannot read the queue");
                false
            });
            makes_way.fetch_or(is_urgent, Ordering::SeqCst);
            is_urgent
        };
        self.until(machine, is_urgent, || {
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
