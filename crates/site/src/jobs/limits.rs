//! Time limits derived from the run times of the model solution.
//!
//! The times are measured where submissions are judged: on the CPU of a worker, which waits in the
//! meantime, or by a worker on another machine.

use super::packages::solution;
use super::{JobError, Running};
use crate::core::time::Time;
use crate::core::verdict::Verdict;
use crate::cpus;
use crate::db::fleet_worker;
use crate::db::measurement::{self, NewMeasurement, State};
use crate::db::problem::Version;
use millibox_fleet::result::Outcome;
use millibox_judge::judge::{Event, Machine};
use millibox_package::model::Submission;
use millibox_setter::MachineError;
use millibox_setter::limits::{self, Measured, Needed};
use std::cell::Cell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a measuring checks whether a submission to a contest waits for its CPU, or whether a
/// worker can measure.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// How long a job waits while no worker could measure.
const NO_WORKER_TIME: Duration = Duration::from_secs(60);
/// How often a job looks for the result of a worker.
const RESULT_INTERVAL: Duration = Duration::from_millis(300);

impl Running<'_> {
    pub(super) fn reset_limits(&self, id: i64) -> Result<(), JobError> {
        let (version, unpacked) = self.unpack(id)?;
        self.say(format!("version {}: measuring", version.number));
        let report = match self.runner.measures_elsewhere {
            false => self.on_judging_cpu(&unpacked.root),
            true => self.by_workers(&version, &unpacked.root),
        };
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

    fn by_workers(&self, version: &Version, root: &Path) -> Result<limits::Report, JobError> {
        let mut failed = None;
        let report = limits::limits_by(root, true, &mut |_, submission| {
            self.by_worker(version, submission).map_err(|error| {
                failed = Some(error);
                MachineError::Stopped.into()
            })
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(report?),
        }
    }

    /// Lets a worker measure a submission.
    fn by_worker(&self, version: &Version, submission: &Submission) -> Result<Measured, JobError> {
        let failed = |reason: String| JobError::Measuring {
            submission: submission.name.clone(),
            reason,
        };
        let solution = solution(&self.app().languages, submission);
        let solution = solution.map_err(|fault| failed(fault.to_string()))?;
        let new = NewMeasurement {
            job: self.job.id,
            version: version.id,
            language: &solution.language,
            model_name: &solution.name,
            file_name: &solution.file_name,
            content: &solution.content,
        };
        let db = &self.app().db;
        let id = self.block_on(measurement::insert(db, &new))?;
        self.app().queue.wake();
        self.say(format!("{}: waiting for a worker", submission.name));
        let measured = self.measured(id, &solution.language);
        // Without the row, a worker loses its lease.
        let removed = self.block_on(measurement::delete(db, id));
        let outcome = measured?.map_err(failed)?;
        removed?;
        if outcome.verdict != Verdict::Accepted {
            return Err(failed(outcome.verdict.text().replace('_', " ")));
        }
        let tests = outcome.protocol.tests.into_iter();
        let needed = tests.filter_map(|test| {
            let needed = Needed {
                cpu_time: Duration::from_nanos(test.cpu_time_ns?),
                memory: test.memory_bytes?,
            };
            Some((test.name, needed))
        });
        let needed: HashMap<_, _> = needed.collect();
        self.say(format!(
            "{}: measured {} tests",
            submission.name,
            needed.len()
        ));
        Ok(Measured::Accepted(needed))
    }

    /// Waits for the outcome of a measurement, or for the reason why it has failed. Other jobs wait
    /// meanwhile, so it fails if no worker could begin for some time.
    fn measured(&self, id: i64, language: &str) -> Result<Result<Outcome, String>, JobError> {
        let db = &self.app().db;
        let mut looked = Instant::now();
        let mut possible = Instant::now();
        loop {
            self.check()?;
            let found = self.block_on(measurement::by_id(db, id))?;
            let found = found.ok_or(JobError::Lost)?;
            let result = found.result.unwrap_or_default();
            match found.state {
                State::Queued if looked.elapsed() >= LOOK_INTERVAL => {
                    looked = Instant::now();
                    if self.block_on(fleet_worker::judges(db, language, Time::now()))? {
                        possible = looked;
                    } else if possible.elapsed() >= NO_WORKER_TIME {
                        let reason = "no worker that accepts submissions to contests has";
                        return Ok(Err(format!("{reason} the language {language}")));
                    }
                }
                State::Queued | State::Running => std::thread::sleep(RESULT_INTERVAL),
                State::Done => return Ok(Ok(serde_json::from_str(&result)?)),
                State::Failed => return Ok(Err(result)),
            }
        }
    }

    fn on_judging_cpu(&self, root: &Path) -> Result<limits::Report, JobError> {
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
        root: &Path,
        makes_way: &AtomicBool,
    ) -> Result<limits::Report, JobError> {
        let (suites, cache) = (self.runner.suites.clone(), self.runner.cache.clone());
        let looked = Cell::new(Instant::now());
        let is_urgent = move || {
            if looked.get().elapsed() < LOOK_INTERVAL {
                return false;
            }
            looked.set(Instant::now());
            let urgent = self.block_on(self.app().queue.is_urgent(None));
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
