//! Judges submissions and reports their results.

use super::base::Judge;
use super::event::{Event, Observer};
use super::pool::{Entry, Pool, PoolObserver};
use super::prepared::PreparedProblem;
use crate::cancel::CancelToken;
use crate::report::{
    JudgeReport, LimitsReport, Machine, ProblemReport, SubmissionInfo, SubmissionReport, VERSION,
    WarningReport, nanoseconds,
};
use crate::scoring::Progress;
use crate::verdict::Verdict;
use millibox_languages::compile::CompileError;
use millibox_languages::program::Limits;
use millibox_package::model::Submission;
use std::time::{Instant, SystemTime};

/// Passes the pool's steps to the caller's observer.
struct SubmissionObserver<'o, 'a> {
    observer: Observer<'o>,
    prepared: &'a PreparedProblem,
    named: &'a [String],
}

impl PoolObserver for SubmissionObserver<'_, '_> {
    fn begun(&mut self, about: &SubmissionInfo) {
        (self.observer)(Event::Begun { about });
    }

    fn judged(&mut self, tests: usize) {
        (self.observer)(Event::Judged {
            tests,
            of: self.prepared.plan.len(),
        });
    }

    fn settled(&mut self, progress: &Progress<'_>) {
        (self.observer)(Event::Settled { progress });
    }

    fn ended(&mut self, entry: &Entry<'_>) {
        (self.observer)(Event::Ended {
            report: &report(entry, self.named),
        });
    }
}

/// Returns the limits of most tests. If two limits are equally frequent, returns the first of them.
fn usual(limits: &[Limits]) -> Limits {
    let times = |one: &Limits| limits.iter().filter(|other| *other == one).count();
    // `max_by_key` returns the last maximum.
    let most = limits.iter().rev().max_by_key(|one| times(one));
    *most.expect("a problem has tests")
}

/// Returns the report of a submission.
fn report(entry: &Entry<'_>, named: &[String]) -> SubmissionReport {
    let about = entry.about.clone();
    match &entry.error {
        None => SubmissionReport::judged(about, &entry.progress),
        Some(CompileError::Unavailable(reason)) if !named.contains(&about.name) => {
            SubmissionReport::skipped(about, entry.progress.plan(), reason)
        }
        Some(error) if !error.is_compile_error() => {
            SubmissionReport::not_run(about, entry.progress.plan(), Verdict::JudgeError, error)
        }
        Some(error) => {
            SubmissionReport::not_run(about, entry.progress.plan(), Verdict::CompileError, error)
        }
    }
}

impl Judge<'_> {
    /// Judges a submission. The report contains all failures. A failure of the judge is a judge
    /// error, never another verdict.
    pub fn submission(
        &self,
        prepared: &PreparedProblem,
        submission: &Submission,
        observer: Observer<'_>,
    ) -> SubmissionReport {
        self.submission_until(prepared, submission, self.machine.token(), observer)
    }

    /// Judges a submission until the token is cancelled.
    ///
    /// Cancelling kills the submission's running programs and starts no more tests. The report then
    /// has no verdict, and [`SubmissionReport::not_judged`] is `unfinished`. A compilation that has
    /// begun continues until it ends by itself or by its limits. The machine and other calls are
    /// not affected.
    pub fn submission_until(
        &self,
        prepared: &PreparedProblem,
        submission: &Submission,
        token: &CancelToken,
        observer: Observer<'_>,
    ) -> SubmissionReport {
        let mut reports = self.judge_all(prepared, &[submission], token, observer);
        reports.pop().expect("each submission has a report")
    }

    /// Judges submissions, several at a time if one does not keep all CPUs busy. Events and reports
    /// are the same as if the submissions were judged one after another, in order.
    pub fn submissions(
        &self,
        prepared: &PreparedProblem,
        submissions: &[Submission],
        observer: Observer<'_>,
    ) -> Vec<SubmissionReport> {
        let submissions: Vec<&Submission> = submissions.iter().collect();
        self.judge_all(prepared, &submissions, self.machine.token(), observer)
    }

    /// Judges a submission like [`Judge::submission`], but returns the results themselves.
    ///
    /// # Errors
    /// The submission cannot be compiled.
    pub fn results<'p>(
        &self,
        prepared: &'p PreparedProblem,
        submission: &Submission,
        observer: Observer<'_>,
    ) -> Result<Progress<'p>, CompileError> {
        let mut entries = self.entries(prepared, &[submission], self.machine.token(), observer);
        let entry = entries.pop().expect("each submission has an entry");
        entry.error.map_or(Ok(entry.progress), Err)
    }

    fn judge_all(
        &self,
        prepared: &PreparedProblem,
        submissions: &[&Submission],
        token: &CancelToken,
        observer: Observer<'_>,
    ) -> Vec<SubmissionReport> {
        let entries = self.entries(prepared, submissions, token, observer);
        let named = &self.options.named;
        entries.iter().map(|entry| report(entry, named)).collect()
    }

    fn entries<'p>(
        &self,
        prepared: &'p PreparedProblem,
        submissions: &[&Submission],
        token: &CancelToken,
        observer: Observer<'_>,
    ) -> Vec<Entry<'p>> {
        let pool = Pool {
            judge: self,
            prepared,
            limits: &prepared.limits,
            fail_fast: self.options.fail_fast,
            submissions,
            token,
        };
        pool.judge(&mut SubmissionObserver {
            observer,
            prepared,
            named: &self.options.named,
        })
    }

    /// Builds the complete report of submissions that were judged on this problem since `began`.
    pub fn report(
        &self,
        prepared: &PreparedProblem,
        submissions: Vec<SubmissionReport>,
        began: Instant,
    ) -> JudgeReport {
        // The wall clock may have been set in the meantime, so it does not measure the duration.
        let took = began.elapsed();
        JudgeReport {
            version: VERSION,
            problem: ProblemReport::from(&prepared.problem),
            machine: Machine::here(self.machine.supervisor().info().backend()),
            limits: LimitsReport::from(&usual(&prepared.limits)),
            warnings: prepared.warnings().map(WarningReport::from).collect(),
            started: SystemTime::now()
                .checked_sub(took)
                .unwrap_or(SystemTime::UNIX_EPOCH),
            duration_ns: nanoseconds(took),
            submissions,
        }
    }
}
