//! Results as they come; what is open, what is settled.

use super::grading::{Grade, Grading};
use super::plan::Plan;
use super::points;
use super::walk::{GroupResult, Skip, Walk};
use crate::program::Limits;
use crate::verdict::{TestResult, Verdict};

/// A test that was run: what came of it, under which limits, where.
#[derive(Debug, Clone)]
pub struct JudgedTest {
    /// What came of it.
    pub result: TestResult,
    /// The limits of this test, the suite's own needs not counted.
    pub limits: Limits,
    /// The limit on memory that was enforced, with what the suite needs; `None`: there was none.
    pub enforced_memory: Option<u64>,
    /// CPUs that it was held on; empty: on no particular ones.
    pub cpus: Vec<usize>,
}

/// A test's result, and what it brings.
#[derive(Debug, Clone)]
pub(super) struct RecordedTest {
    pub judged: JudgedTest,
    /// As its group counts them.
    pub points: Option<f64>,
}

/// Where a test stands.
#[derive(Debug, Clone, PartialEq)]
pub enum TestState {
    /// Not known yet: it is to be run, or runs.
    Open,
    /// It has a result. Whether that counts is certain once the test is [settled](Progress::settled).
    Judged,
    /// It need not be run, or its result does not count.
    NotJudged(Skip),
}

/// One submission on its way through a plan.
///
/// Results may come in any order. What comes out is what comes out when tests are judged one after
/// another.
#[derive(Debug, Clone)]
pub struct Progress<'p> {
    pub(super) plan: &'p Plan,
    pub(super) fail_fast: bool,
    pub(super) results: Vec<Option<RecordedTest>>,
    /// What graders of the package's own said of groups, or why that means nothing.
    pub(super) graded: Vec<Option<Result<Grade, String>>>,
    /// Groups whose graders were asked.
    asked: Vec<bool>,
    /// Tests before this one were started, or need not be.
    next: usize,
    walk: Walk,
}

impl<'p> Progress<'p> {
    /// A submission of which nothing is known.
    pub fn new(plan: &'p Plan) -> Progress<'p> {
        let mut progress = Progress {
            plan,
            fail_fast: false,
            results: (0..plan.len()).map(|_| None).collect(),
            graded: vec![None; plan.group_count()],
            asked: vec![false; plan.group_count()],
            next: 0,
            walk: Walk::default(),
        };
        progress.walk = Walk::of(&progress);
        progress
    }

    /// Ends judging with the first test that is not accepted, or group that its grader does not accept, whatever the
    /// groups' rules say. Points are then those of what was judged.
    #[must_use]
    pub fn fail_fast(mut self) -> Progress<'p> {
        self.fail_fast = true;
        self.walk = Walk::of(&self);
        self
    }

    /// The plan.
    pub fn plan(&self) -> &'p Plan {
        self.plan
    }

    /// The next test to be run, which is then taken for started; none if all others are running, have
    /// results, or need not be run.
    ///
    /// In order: what is run while results of earlier tests are open may turn out not to be needed.
    pub fn next_test(&mut self) -> Option<usize> {
        while self.next < self.plan.len() {
            let test = self.next;
            self.next += 1;
            if self.is_needed(test) {
                return Some(test);
            }
        }
        None
    }

    /// Whether a test's result is open and may still matter. What runs and is not needed any more can
    /// be cancelled.
    pub fn is_needed(&self, test: usize) -> bool {
        self.walk.tests[test] == TestState::Open
    }

    /// Takes a test's result. A second one for the same test is not looked at.
    ///
    /// Points that the test's group cannot have are the checker's mistake, so that such a result becomes a
    /// judge error: see [`Progress::judged`].
    pub fn record(&mut self, test: usize, mut judged: JudgedTest) {
        if self.results[test].is_some() {
            return;
        }
        let group = &self.plan.groups[self.plan.tests[test].group];
        let points = points::of_test(group.worth, &group.rules, &judged).unwrap_or_else(|reason| {
            judged.result.verdict = Verdict::JudgeError;
            judged.result.reason = reason;
            None
        });
        self.results[test] = Some(RecordedTest { judged, points });
        self.walk = Walk::of(self);
    }

    /// A group whose grader is to be asked now, which is then taken for asked: the package's own, which all groups
    /// share. None: no group of that kind is known but for its grader, or somebody is asking it.
    pub fn next_grading(&mut self) -> Option<Grading> {
        let grading = self.walk.grading.as_ref().filter(|grading| !self.asked[grading.group])?;
        self.asked[grading.group] = true;
        Some(grading.clone())
    }

    /// Takes what a grader said of a group, or why that means nothing: a judge error. A second answer is not looked at.
    pub fn grade(&mut self, group: usize, graded: Result<Grade, String>) {
        if self.graded[group].is_none() {
            self.graded[group] = Some(graded);
            self.walk = Walk::of(self);
        }
    }

    /// Whether nothing is open, no grader's answer either.
    pub fn is_finished(&self) -> bool {
        self.settled() == self.plan.len() && self.walk.grading.is_none()
    }

    /// So many tests, the first in order, will stay as they are, whatever results come.
    pub fn settled(&self) -> usize {
        self.walk.settled
    }

    /// Where a test stands.
    pub fn state(&self, test: usize) -> &TestState {
        &self.walk.tests[test]
    }

    /// What came of a test, also where that does not count.
    pub fn judged(&self, test: usize) -> Option<&JudgedTest> {
        self.results[test].as_ref().map(|recorded| &recorded.judged)
    }

    /// Points of a test; none if it has no result or tests of its group bring none. Not rounded. Sim's
    /// groups are worth the least of their tests: a test's points are what the group would get for it
    /// alone.
    pub fn points(&self, test: usize) -> Option<f64> {
        let points = self.results[test].as_ref()?.points?;
        let group = &self.plan.groups[self.plan.tests[test].group];
        match group.worth {
            points::Worth::Share { .. } => Some(points * group.rules.points.unwrap_or(0.0)),
            _ => Some(points),
        }
    }

    /// What is known of a group.
    pub fn group(&self, group: usize) -> &GroupResult {
        &self.walk.groups[group]
    }

    /// What is known of the submission: the root's result.
    pub fn submission(&self) -> &GroupResult {
        self.group(0)
    }
}
