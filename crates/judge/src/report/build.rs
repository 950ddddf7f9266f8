//! Builds a submission's report from its progress.

use super::display::counted;
use super::model::{CompilationReport, GroupReport, LimitsReport, SubmissionReport, TestReport};
use super::names::not_judged_words;
use crate::scoring::expected::{has_required, is_expected};
use crate::scoring::{Plan, Progress, SkipCause, TestState};
use crate::verdict::Verdict;
use millibox_package::model::{Expected, Submission};
use std::fmt;

/// The facts of a submission before it is judged.
#[derive(Debug, Clone, Default)]
pub struct SubmissionInfo {
    /// The name.
    pub name: String,
    /// Name of the suite that compiles and runs it.
    pub suite: Option<String>,
    /// The expected results. An empty list allows any result.
    pub expected: Vec<Expected>,
    /// Lists of verdicts. For each list, some test must have a verdict from it.
    pub required: Vec<Vec<Expected>>,
    /// The expected minimum and maximum number of points.
    pub expected_score: Option<(f64, f64)>,
    /// The compilation.
    pub compilation: Option<CompilationReport>,
}

impl From<&Submission> for SubmissionInfo {
    fn from(submission: &Submission) -> SubmissionInfo {
        SubmissionInfo {
            name: submission.name.clone(),
            expected: submission.expected.clone(),
            required: submission.required.clone(),
            expected_score: submission.score,
            ..SubmissionInfo::default()
        }
    }
}

impl SubmissionReport {
    /// Creates the report of a submission that was judged. If a result is open, judging was
    /// interrupted.
    pub fn judged(about: SubmissionInfo, progress: &Progress<'_>) -> SubmissionReport {
        let plan = progress.plan();
        let result = progress.submission();
        let verdict = result.verdict;
        let tests: Vec<TestReport> = (0..plan.len())
            .map(|test| TestReport::judged(progress, test))
            .collect();
        let verdicts: Vec<Option<Verdict>> = tests.iter().map(|test| test.verdict).collect();
        let as_expected =
            verdict.and_then(|verdict| about.as_expected(plan, verdict, result.points));
        SubmissionReport {
            as_expected: match verdict.and_then(|_| has_required(&about.required, &verdicts)) {
                Some(_) if verdict == Some(Verdict::JudgeError) => None,
                Some(true) => as_expected.or(Some(true)),
                Some(false) => Some(false),
                None => as_expected,
            },
            name: about.name,
            suite: about.suite,
            compilation: about.compilation,
            expected: about.expected,
            required: about.required,
            expected_score: about.expected_score,
            verdict,
            not_judged: verdict.is_none().then_some(SkipCause::Unfinished),
            reason: match progress.settled() {
                settled if settled < plan.len() => {
                    format!("after {settled} of {}", counted(plan.len(), "test"))
                }
                _ if !progress.is_finished() => "before its groups were graded".to_owned(),
                _ => text(result.reason.as_ref()),
            },
            decided_by: result
                .decided_by
                .map(|test| plan.test_name(test).to_owned()),
            score: points_of(plan, verdict, result.points),
            max_score: plan.max_score(0),
            best_score: plan.best_score(0),
            groups: (0..plan.group_count())
                .map(|group| GroupReport::judged(progress, group))
                .collect(),
            tests,
        }
    }

    /// Creates the report of a submission without a program: a compile error or a judge error.
    ///
    /// A submission that cannot be compiled has 0 points.
    pub fn not_run(
        about: SubmissionInfo,
        plan: &Plan,
        verdict: Verdict,
        reason: impl fmt::Display,
    ) -> SubmissionReport {
        let nothing = Progress::new(plan);
        let none = plan.scores() && verdict == Verdict::CompileError;
        let points = points_of(plan, Some(verdict), none.then_some(0.0));
        let mut report = SubmissionReport::judged(about.clone(), &nothing);
        // Without a program, no test has a required verdict.
        let none =
            (verdict == Verdict::CompileError && !about.required.is_empty()).then_some(false);
        report.as_expected = none.or(about.as_expected(plan, verdict, points));
        (report.verdict, report.not_judged) = (Some(verdict), None);
        (report.reason, report.score) = (reason.to_string(), points);
        let why = not_judged_words(SkipCause::NoProgram);
        for test in &mut report.tests {
            (test.not_judged, test.reason) = (Some(SkipCause::NoProgram), why.to_owned());
        }
        for group in report
            .groups
            .iter_mut()
            .filter(|group| group.not_judged.is_some())
        {
            (group.not_judged, group.reason) = (Some(SkipCause::NoProgram), why.to_owned());
        }
        report
    }

    /// Creates the report of a submission whose language cannot be used here.
    pub fn skipped(
        about: SubmissionInfo,
        plan: &Plan,
        reason: impl fmt::Display,
    ) -> SubmissionReport {
        let report = SubmissionReport::not_run(about, plan, Verdict::JudgeError, reason);
        SubmissionReport {
            verdict: None,
            not_judged: Some(SkipCause::NoLanguage),
            ..report
        }
    }
}

impl SubmissionInfo {
    fn as_expected(&self, plan: &Plan, verdict: Verdict, points: Option<f64>) -> Option<bool> {
        is_expected(
            &self.expected,
            self.expected_score,
            verdict,
            points,
            plan.best_score(0),
        )
    }
}

/// Returns the points of a submission. If fewer points are better, a rejected submission has no
/// points, because 0 points would be the best result.
fn points_of(plan: &Plan, verdict: Option<Verdict>, points: Option<f64>) -> Option<f64> {
    points.filter(|_| verdict == Some(Verdict::Accepted) || !plan.fewer_are_better())
}

/// Renders the reason for a verdict. A missing reason is empty.
fn text(reason: Option<impl fmt::Display>) -> String {
    reason.map_or_else(String::new, |reason| reason.to_string())
}

impl GroupReport {
    fn judged(progress: &Progress<'_>, group: usize) -> GroupReport {
        let plan = progress.plan();
        let result = progress.group(group);
        let tests = plan.tests_of(group);
        // The result of a test or of the group's grader may be open.
        let open =
            !tests.is_empty() && (tests.end > progress.settled() || result.verdict.is_none());
        let (not_judged, reason) = match &result.not_judged {
            Some(skipped) => (Some(skipped.cause), skipped.to_string()),
            None if open => (
                Some(SkipCause::Unfinished),
                not_judged_words(SkipCause::Unfinished).to_owned(),
            ),
            None => (None, text(result.reason.as_ref())),
        };
        GroupReport {
            name: plan.group_name(group).to_owned(),
            sample: plan.is_sample(group),
            verdict: result.verdict,
            not_judged,
            reason,
            score: result.points,
            max_score: plan.max_score(group),
            best_score: plan.best_score(group),
        }
    }
}

impl TestReport {
    /// Creates the report of a test. An unsettled test ([`Progress::settled`]) is reported as if
    /// judging had ended now.
    pub fn judged(progress: &Progress<'_>, test: usize) -> TestReport {
        let plan = progress.plan();
        let report = TestReport {
            name: plan.test_name(test).to_owned(),
            group: plan.group_name(plan.group_of(test)).to_owned(),
            verdict: None,
            not_judged: None,
            reason: String::new(),
            comment: String::new(),
            score: None,
            figures: None,
            limits: None,
            enforced_memory_bytes: None,
            cpus: Vec::new(),
            checker: None,
            passes: None,
        };
        match (progress.state(test), progress.judged(test)) {
            (TestState::NotJudged(skipped), _) => TestReport {
                not_judged: Some(skipped.cause),
                reason: skipped.to_string(),
                ..report
            },
            (TestState::Judged, Some(judged)) => TestReport {
                verdict: progress.verdict(test),
                reason: text(progress.reason(test)),
                comment: judged.result.comment.clone(),
                score: progress.points(test),
                figures: judged.result.run.as_ref().map(|run| run.figures),
                limits: Some(LimitsReport::from(&judged.limits)),
                enforced_memory_bytes: judged.enforced_memory,
                cpus: judged.cpus.clone(),
                checker: judged.result.checker,
                passes: judged.result.passes,
                ..report
            },
            (TestState::Open | TestState::Judged, _) => TestReport {
                not_judged: Some(SkipCause::Unfinished),
                reason: not_judged_words(SkipCause::Unfinished).to_owned(),
                ..report
            },
        }
    }
}
