//! Time limits that a package does not state: from the times of submissions that must be accepted.

use super::limits::{of_test, stated};
use super::pool::{Entry, Pool, PoolObserver};
use super::prepare::{PackageError, PreparedProblem, TimeLimit, fault};
use super::{Event, Judge, Observer};
use crate::report::{SubmissionInfo, line};
use crate::scoring::Progress;
use crate::time_limit::{
    self, DEFAULT_FACTOR, DEFAULT_RESOLUTION, LimitPurpose, MEASURING_CPU_TIME,
};
use crate::verdict::{TestResult, Verdict};
use millibox_languages::compile::CompileError;
use millibox_languages::program::Limits;
use millibox_package::Severity;
use millibox_package::model::{Format, Submission};
use std::time::Duration;

struct MeasurementObserver<'o> {
    observer: Observer<'o>,
    tests: usize,
}

impl PoolObserver for MeasurementObserver<'_> {
    fn begun(&mut self, about: &SubmissionInfo) {
        (self.observer)(Event::Measuring { name: &about.name });
    }

    fn judged(&mut self, tests: usize) {
        (self.observer)(Event::Judged {
            tests,
            of: self.tests,
        });
    }

    fn settled(&mut self, _: &Progress<'_>) {}

    fn ended(&mut self, _: &Entry<'_>) {}
}

/// Why a submission gives no times.
enum MeasurementError {
    /// Its language cannot be used here: others may do.
    Unavailable(String),
    /// Something is wrong with it.
    Submission(String),
    /// The judge, the machine or a program of the package failed.
    Judge(String),
}

/// What is told if there is no time limit since the judge failed: another limit mends nothing.
fn unmeasured(name: &str, why: &str) -> String {
    format!("the time limit cannot be measured, for the judge failed: {name}: {why}")
}

impl Judge<'_> {
    /// Finds the time limits that nobody states, if there are any.
    pub(super) fn measure(
        &self,
        prepared: &mut PreparedProblem,
        observer: Observer<'_>,
    ) -> Result<(), PackageError> {
        let problem = &prepared.problem;
        let stated: Vec<Option<Duration>> = problem
            .tests()
            .map(|test| self.options.time_limit.or(stated(problem, test)))
            .collect();
        if stated.iter().all(Option::is_some) {
            return Ok(());
        }
        let mut wrong = PackageError::new();
        let (computed, how) = if problem.format == Format::Sim {
            let Some(model) = problem.model_solution() else {
                wrong.error(
                    &problem.directory,
                    "there is no time limit, and no model solution to measure: state one in the \
                     Simfile (limits), or give --time-limit",
                );
                return Err(wrong);
            };
            let times = self.times(prepared, &[model], observer).pop();
            match times
                .unwrap_or_else(|| Err(MeasurementError::Judge("it was not judged".to_owned())))
            {
                Ok(times) => {
                    let limits: Vec<Duration> = times
                        .into_iter()
                        .map(|time| time_limit::sim(time, LimitPurpose::Judging))
                        .collect();
                    (
                        limits,
                        format!(
                            "{}, t the time of {}",
                            time_limit::sim_formula(LimitPurpose::Judging),
                            model.name
                        ),
                    )
                }
                Err(MeasurementError::Judge(why)) => {
                    wrong.error(&problem.directory, unmeasured(&model.name, &why));
                    return Err(wrong);
                }
                Err(MeasurementError::Unavailable(why) | MeasurementError::Submission(why)) => {
                    wrong.error(
                        &model.program.path,
                        format!(
                            "there is no time limit, and the model solution gives none: {why}; \
                             mend that, or give --time-limit"
                        ),
                    );
                    return Err(wrong);
                }
            }
        } else {
            let factor = problem.limits.from_accepted.unwrap_or(DEFAULT_FACTOR);
            let resolution = problem.limits.resolution.unwrap_or(DEFAULT_RESOLUTION);
            let (slowest, name) = self.slowest(prepared, observer)?;
            let limit = time_limit::icpc(slowest, factor, resolution);
            let how = format!(
                "{factor} times the {:.3} s of {name}, rounded up",
                slowest.as_secs_f64()
            );
            (vec![limit; stated.len()], how)
        };
        let problem = &prepared.problem;
        let limits: Vec<Limits> = problem
            .tests()
            .zip(&computed)
            .map(|(test, computed)| of_test(problem, test, &self.options, Some(*computed)))
            .collect();
        prepared.limits = limits;
        prepared.time_limit = TimeLimit::Measured(how);
        Ok(())
    }

    /// The slowest test of all submissions that are measured and accepted, and whose it is.
    fn slowest(
        &self,
        prepared: &mut PreparedProblem,
        observer: Observer<'_>,
    ) -> Result<(Duration, String), PackageError> {
        let mut slowest: Option<(Duration, String)> = None;
        let (mut useless, mut warnings, mut failed) = (Vec::new(), Vec::new(), None);
        let submissions: Vec<&Submission> = prepared
            .problem
            .submissions
            .iter()
            .filter(|submission| submission.is_measured())
            .collect();
        let all = self.times(prepared, &submissions, observer);
        if self.machine.is_stopped() {
            // What was measured by then is of those that came first, and the others have done
            // nothing wrong.
            let mut wrong = PackageError::new();
            wrong.error(
                &prepared.problem.directory,
                "interrupted before its time limit was measured",
            );
            return Err(wrong);
        }
        for (submission, times) in submissions.into_iter().zip(all) {
            match times {
                Ok(times) => {
                    let time = times.into_iter().max().unwrap_or_default();
                    if slowest.as_ref().is_none_or(|(slowest, _)| time > *slowest) {
                        slowest = Some((time, submission.name.clone()));
                    }
                }
                Err(MeasurementError::Unavailable(why)) => {
                    useless.push(format!("{}: {why}", submission.name))
                }
                Err(MeasurementError::Judge(why)) => {
                    let message =
                        format!("does not count for the time limit, for the judge failed: {why}");
                    warnings.push(fault(&submission.program.path, Severity::Warning, message));
                    failed.get_or_insert_with(|| unmeasured(&submission.name, &why));
                }
                Err(MeasurementError::Submission(why)) => {
                    let message = format!("does not count for the time limit: {why}");
                    warnings.push(fault(&submission.program.path, Severity::Warning, message));
                    useless.push(format!("{}: {why}", submission.name));
                }
            }
        }
        prepared.warnings.extend(warnings);
        slowest.ok_or_else(|| {
            let mut wrong = PackageError::new();
            if let Some(failed) = failed {
                wrong.error(&prepared.problem.directory, failed);
                return wrong;
            }
            let why = match (useless.is_empty(), prepared.problem.model_solution()) {
                (true, None) => "there is no submission that must be accepted".to_owned(),
                (true, Some(_)) => {
                    "submissions.yaml takes all that must be accepted out (use_for_time_limit)"
                        .to_owned()
                }
                (false, _) => useless.join("; "),
            };
            wrong.error(
                &prepared.problem.directory,
                format!(
                    "there is no time limit, and no submission to measure one: {why}; give \
                    --time-limit"
                ),
            );
            wrong
        })
    }

    /// Of each submission its CPU times on all tests; it must be accepted on each.
    fn times(
        &self,
        prepared: &PreparedProblem,
        submissions: &[&Submission],
        observer: Observer<'_>,
    ) -> Vec<Result<Vec<Duration>, MeasurementError>> {
        let problem = &prepared.problem;
        let limits: Vec<Limits> = problem
            .tests()
            .map(|test| of_test(problem, test, &self.options, Some(MEASURING_CPU_TIME)))
            .collect();
        let pool = Pool {
            judge: self,
            prepared,
            limits: &limits,
            fail_fast: true,
            submissions,
        };
        let entries = pool.judge(&mut MeasurementObserver {
            observer,
            tests: limits.len(),
        });
        entries
            .iter()
            .map(|entry| times_of(entry, limits.len()))
            .collect()
    }
}

fn times_of(entry: &Entry<'_>, tests: usize) -> Result<Vec<Duration>, MeasurementError> {
    match &entry.error {
        Some(CompileError::Unavailable(why)) => {
            return Err(MeasurementError::Unavailable(why.to_string()));
        }
        Some(CompileError::Internal(why)) => {
            return Err(MeasurementError::Judge(line(&why.to_string())));
        }
        Some(error) => {
            return Err(MeasurementError::Submission(format!(
                "it is not compiled: {error}"
            )));
        }
        None => {}
    }
    let time_of = |test: usize| {
        let name = entry.progress.plan().test_name(test);
        match entry
            .progress
            .judged(test)
            .filter(|_| test < entry.progress.settled())
            .map(|judged| &judged.result)
        {
            Some(TestResult {
                verdict: Verdict::Accepted,
                run: Some(run),
                ..
            }) => Ok(Duration::from_nanos(
                run.figures.cpu_user_ns + run.figures.cpu_system_ns,
            )),
            Some(TestResult {
                verdict: Verdict::JudgeError,
                reason,
                ..
            }) => Err(MeasurementError::Judge(format!(
                "test {name}: {}",
                line(reason)
            ))),
            Some(result) => {
                let why = if result.reason.is_empty() {
                    &result.comment
                } else {
                    &result.reason
                };
                Err(MeasurementError::Submission(format!(
                    "test {name} is not accepted ({})",
                    line(why)
                )))
            }
            None => Err(MeasurementError::Judge(
                "it was not judged to the end".to_owned(),
            )),
        }
    };
    (0..tests).map(time_of).collect()
}
