//! Computes the time limits that a package does not state from the times of accepted submissions.

use super::base::Judge;
use super::event::{Event, Observer};
use super::fault::{Measurement, MeasurementFault, PackageError, PackageFault, PackageProblem};
use super::limits::{of_test, stated};
use super::pool::{Entry, Pool, PoolObserver};
use super::prepared::{PreparedProblem, TimeLimit};
use crate::report::SubmissionInfo;
use crate::result::TestResult;
use crate::scoring::Progress;
use crate::time_limit::{
    self, DEFAULT_FACTOR, DEFAULT_RESOLUTION, LimitPurpose, MEASURING_CPU_TIME,
};
use crate::verdict::Verdict;
use millibox_languages::compile::CompileError;
use millibox_languages::program::Limits;
use millibox_package::Severity;
use millibox_package::model::{Format, Problem, Submission};
use std::time::Duration;

/// Reports the submissions that are measured.
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

/// The measured limits of all tests, with a description of the measurement.
struct MeasuredLimits {
    limits: Vec<Duration>,
    description: String,
}

impl Judge<'_> {
    /// Measures the time limits that neither options nor package state.
    pub(super) fn measure(
        &self,
        prepared: &mut PreparedProblem,
        observer: Observer<'_>,
    ) -> Result<(), PackageError> {
        let problem = &prepared.problem;
        let is_stated = |test| self.options.time_limit.is_some() || stated(problem, test).is_some();
        if problem.tests().all(is_stated) {
            return Ok(());
        }
        let MeasuredLimits {
            limits,
            description,
        } = match problem.format {
            Format::Sim => self.measure_sim(prepared, observer)?,
            Format::Legacy | Format::Icpc2023 => self.measure_icpc(prepared, observer)?,
        };
        let problem = &prepared.problem;
        prepared.limits = problem
            .tests()
            .zip(&limits)
            .map(|(test, limit)| of_test(problem, test, &self.options, Some(*limit)))
            .collect();
        prepared.time_limit = TimeLimit::Measured(description);
        Ok(())
    }

    /// Measures the model solution of a Sim package. Each test has its own limit.
    fn measure_sim(
        &self,
        prepared: &PreparedProblem,
        observer: Observer<'_>,
    ) -> Result<MeasuredLimits, PackageError> {
        let problem = &prepared.problem;
        let Some(model) = problem.model_solution() else {
            return Err(of_package(problem, PackageProblem::NoModelSolution).into());
        };
        let times = self.times(prepared, &[model], observer).pop();
        let times = times.unwrap_or(Err(MeasurementFault::NotFinished));
        let times = times.map_err(|fault| {
            if fault.is_judge_failure() {
                judge_failed(problem, model, fault)
            } else {
                let path = &model.program.path;
                PackageFault::new(path, PackageProblem::ModelSolution(fault))
            }
        })?;
        let limit = |time| time_limit::sim(time, LimitPurpose::Judging);
        let formula = time_limit::sim_formula(LimitPurpose::Judging);
        Ok(MeasuredLimits {
            limits: times.into_iter().map(limit).collect(),
            description: format!("{formula}; t is the time of {}", model.name),
        })
    }

    /// Measures all accepted submissions of an ICPC package. All tests have the same limit.
    fn measure_icpc(
        &self,
        prepared: &mut PreparedProblem,
        observer: Observer<'_>,
    ) -> Result<MeasuredLimits, PackageError> {
        let (slowest, name) = self.slowest(prepared, observer)?;
        let problem = &prepared.problem;
        let factor = problem.limits.from_accepted.unwrap_or(DEFAULT_FACTOR);
        let resolution = problem.limits.resolution.unwrap_or(DEFAULT_RESOLUTION);
        let limit = time_limit::icpc(slowest, factor, resolution);
        let seconds = slowest.as_secs_f64();
        Ok(MeasuredLimits {
            limits: vec![limit; problem.tests().count()],
            description: format!("{factor} times the {seconds:.3} s of {name}, rounded up"),
        })
    }

    /// Returns the longest time of an accepted submission on a test, and the submission's name.
    /// Adds warnings about submissions that were not accepted.
    fn slowest(
        &self,
        prepared: &mut PreparedProblem,
        observer: Observer<'_>,
    ) -> Result<(Duration, String), PackageError> {
        let problem = &prepared.problem;
        let submissions: Vec<&Submission> = problem
            .submissions
            .iter()
            .filter(|submission| submission.is_measured())
            .collect();
        let all = self.times(prepared, &submissions, observer);
        if self.machine.is_stopped() {
            // The other submissions have no times, but they have no faults either.
            return Err(of_package(problem, PackageProblem::Interrupted).into());
        }
        let mut slowest: Option<(Duration, String)> = None;
        let (mut not_measured, mut warnings, mut failure) = (Vec::new(), Vec::new(), None);
        for (submission, times) in submissions.into_iter().zip(all) {
            let fault = match times {
                Ok(times) => {
                    let time = times.into_iter().max().unwrap_or_default();
                    if slowest.as_ref().is_none_or(|(slowest, _)| time > *slowest) {
                        slowest = Some((time, submission.name.clone()));
                    }
                    continue;
                }
                Err(fault) => fault,
            };
            if fault.is_of_machine() {
                // With fewer submissions, the limit could be too low.
                return Err(judge_failed(problem, submission, fault).into());
            }
            if !matches!(fault, MeasurementFault::Unavailable(_)) {
                let warning = PackageProblem::NotCounted {
                    fault: fault.clone(),
                };
                let warning = PackageFault::new(&submission.program.path, warning);
                warnings.push(warning.to_fault(Severity::Warning));
            }
            if fault.is_judge_failure() {
                failure.get_or_insert_with(|| judge_failed(problem, submission, fault));
            } else {
                not_measured.push((submission.name.clone(), fault));
            }
        }
        let result = slowest.ok_or_else(|| {
            failure.unwrap_or_else(|| {
                let why = match (not_measured.is_empty(), problem.model_solution()) {
                    (true, None) => Measurement::NoSubmission,
                    (true, Some(_)) => Measurement::AllExcluded,
                    (false, _) => Measurement::Failed(not_measured),
                };
                of_package(problem, PackageProblem::NothingMeasured(why))
            })
        });
        prepared.warnings.extend(warnings);
        result.map_err(PackageError::from)
    }

    /// Returns the CPU times of each submission on all tests. A submission that is not accepted has
    /// no times.
    fn times(
        &self,
        prepared: &PreparedProblem,
        submissions: &[&Submission],
        observer: Observer<'_>,
    ) -> Vec<Result<Vec<Duration>, MeasurementFault>> {
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
            token: self.machine.token(),
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

/// Returns a fault of the whole package.
fn of_package(problem: &Problem, fault: PackageProblem) -> PackageFault {
    PackageFault::new(&problem.directory, fault)
}

fn judge_failed(
    problem: &Problem,
    submission: &Submission,
    fault: MeasurementFault,
) -> PackageFault {
    let fault = PackageProblem::JudgeFailed {
        submission: submission.name.clone(),
        fault,
    };
    of_package(problem, fault)
}

/// Returns the CPU times of a submission on all tests.
fn times_of(entry: &Entry<'_>, tests: usize) -> Result<Vec<Duration>, MeasurementFault> {
    match &entry.error {
        None => (0..tests).map(|test| time_of(entry, test)).collect(),
        Some(CompileError::Unavailable(why)) => Err(MeasurementFault::Unavailable(why.clone())),
        Some(CompileError::Internal(why)) => Err(MeasurementFault::CompilationFailed(why.clone())),
        Some(error) => Err(MeasurementFault::NotCompiled(error.clone())),
    }
}

/// Returns the CPU time of a submission on a test.
fn time_of(entry: &Entry<'_>, test: usize) -> Result<Duration, MeasurementFault> {
    let name = entry.progress.plan().test_name(test).to_owned();
    let judged = entry
        .progress
        .judged(test)
        .filter(|_| test < entry.progress.settled());
    let Some(TestResult { comment, run, .. }) = judged.map(|judged| &judged.result) else {
        return Err(MeasurementFault::NotFinished);
    };
    let reason = entry.progress.reason(test);
    match (entry.progress.verdict(test), run) {
        (Some(Verdict::Accepted), Some(run)) => Ok(Duration::from_nanos(
            run.figures.cpu_user_ns + run.figures.cpu_system_ns,
        )),
        (Some(Verdict::JudgeError), _) => Err(MeasurementFault::TestFailed { test: name, reason }),
        _ => Err(MeasurementFault::NotAccepted {
            test: name,
            reason,
            comment: comment.clone(),
        }),
    }
}
