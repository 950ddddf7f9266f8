//! Time limits that a package does not state: from the times of submissions that must be accepted.

use super::limits::{icpc_limit, of_test, sim_limit, stated};
use super::prepare::{Prepared, TimeLimit, Unjudgeable, fault};
use super::tests::{Round, Told};
use super::{Event, Judge, Observer};
use crate::compile::CompileError;
use crate::program::Limits;
use crate::scoring::Progress;
use crate::verdict::{TestResult, Verdict};
use millibox_package::Severity;
use millibox_package::model::{Expected, Format, Submission};
use std::time::Duration;

/// What a submission may need on a test while it is measured.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the formats say where a package says nothing.
const FACTOR: f64 = 2.0;
const RESOLUTION: Duration = Duration::from_secs(1);

struct Counter<'a> {
    observer: Observer<'a>,
    tests: usize,
}

impl Told for Counter<'_> {
    fn judged(&mut self, tests: usize) {
        (self.observer)(Event::Progress { judged: tests, tests: self.tests });
    }

    fn settled(&mut self, _: usize, _: &Progress<'_>) {}
}

/// Why a submission gives no times.
enum Useless {
    /// Its language cannot be used here: others may do.
    Here(String),
    /// Something is wrong with it.
    Wrong(String),
}

impl Judge<'_> {
    /// Finds the time limits that nobody states, if there are any.
    pub(super) fn measure(&self, prepared: &mut Prepared, observer: Observer<'_>) -> Result<(), Unjudgeable> {
        let problem = &prepared.problem;
        let stated: Vec<Option<Duration>> =
            problem.tests().map(|test| self.options.time_limit.or(stated(problem, test))).collect();
        if stated.iter().all(Option::is_some) {
            return Ok(());
        }
        let mut wrong = Unjudgeable::new();
        let (computed, how) = if problem.format == Format::Sim {
            let Some(model) = problem.model_solution() else {
                wrong.error(
                    &problem.directory,
                    "there is no time limit, and no model solution to measure: state one in the Simfile (limits), or \
                     give --time-limit",
                );
                return Err(wrong);
            };
            match self.times(prepared, model, observer) {
                Ok(times) => {
                    let limits: Vec<Duration> = times.into_iter().map(sim_limit).collect();
                    (limits, format!("3 t + 0.6 / (t^2 + 2), t the time of {}", model.name))
                }
                Err(Useless::Here(why) | Useless::Wrong(why)) => {
                    wrong.error(
                        &model.program.path,
                        format!(
                            "there is no time limit, and the model solution gives none: {why}; mend that, or give \
                             --time-limit"
                        ),
                    );
                    return Err(wrong);
                }
            }
        } else {
            let factor = problem.limits.from_accepted.unwrap_or(FACTOR);
            let resolution = problem.limits.resolution.unwrap_or(RESOLUTION);
            let (slowest, name) = self.slowest(prepared, observer)?;
            let limit = icpc_limit(slowest, factor, resolution);
            let how = format!("{factor} times the {:.3} s of {name}, rounded up", slowest.as_secs_f64());
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

    /// The slowest test of all submissions that must be accepted, and are, and whose it is.
    fn slowest(&self, prepared: &mut Prepared, observer: Observer<'_>) -> Result<(Duration, String), Unjudgeable> {
        let mut slowest: Option<(Duration, String)> = None;
        let (mut useless, mut warnings) = (Vec::new(), Vec::new());
        let accepted = |submission: &&Submission| submission.expected == [Expected::Accepted];
        for submission in prepared.problem.submissions.iter().filter(accepted) {
            match self.times(prepared, submission, observer) {
                Ok(times) => {
                    let time = times.into_iter().max().unwrap_or_default();
                    if slowest.as_ref().is_none_or(|(slowest, _)| time > *slowest) {
                        slowest = Some((time, submission.name.clone()));
                    }
                }
                Err(Useless::Here(why)) => useless.push(format!("{}: {why}", submission.name)),
                Err(Useless::Wrong(why)) => {
                    let message = format!("does not count for the time limit: {why}");
                    warnings.push(fault(&submission.program.path, Severity::Warning, message.clone()));
                    useless.push(format!("{}: {why}", submission.name));
                }
            }
            if self.machine.is_stopped() {
                break;
            }
        }
        prepared.warnings.extend(warnings);
        slowest.ok_or_else(|| {
            let mut wrong = Unjudgeable::new();
            let why = match useless.is_empty() {
                true => "there is no submission that must be accepted".to_owned(),
                false => useless.join("; "),
            };
            wrong.error(
                &prepared.problem.directory,
                format!("there is no time limit, and no submission to measure one: {why}; give --time-limit"),
            );
            wrong
        })
    }

    /// CPU times of a submission on all tests; it must be accepted on each.
    fn times(
        &self,
        prepared: &Prepared,
        submission: &Submission,
        observer: Observer<'_>,
    ) -> Result<Vec<Duration>, Useless> {
        observer(Event::Measuring { submission });
        let compiled = self.compile_submission(&prepared.problem, submission);
        let executable = match compiled.result {
            Ok(executable) => executable,
            Err(CompileError::Judge(why)) => return Err(Useless::Here(why)),
            Err(error) => return Err(Useless::Wrong(format!("it is not compiled: {error}"))),
        };
        let limits: Vec<Limits> = prepared
            .problem
            .tests()
            .map(|test| of_test(&prepared.problem, test, &self.options, Some(PATIENCE)))
            .collect();
        let round = Round {
            machine: self.machine,
            prepared,
            executable: &executable,
            limits: &limits,
            mode: self.options.mode,
        };
        let mut progress = Progress::new(&prepared.plan).fail_fast();
        round.judge(&mut progress, &mut Counter { observer, tests: limits.len() });
        let mut times = Vec::new();
        for (index, test) in prepared.problem.tests().enumerate() {
            let judged = progress.judged(index).filter(|_| index < progress.settled());
            match judged.map(|judged| &judged.result) {
                Some(TestResult { verdict: Verdict::Accepted, run: Some(run), .. }) => {
                    times.push(Duration::from_nanos(run.figures.cpu_user_ns + run.figures.cpu_system_ns));
                }
                Some(TestResult { verdict: Verdict::JudgeError, reason, .. }) => {
                    return Err(Useless::Here(format!("test {}: {reason}", test.name)));
                }
                Some(result) => {
                    let why = if result.reason.is_empty() { &result.comment } else { &result.reason };
                    return Err(Useless::Wrong(format!("test {} is not accepted ({why})", test.name)));
                }
                None => return Err(Useless::Here("it was not judged to the end".to_owned())),
            }
        }
        Ok(times)
    }
}
