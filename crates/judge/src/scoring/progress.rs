//! One submission's results as they arrive: which are open, and which are settled.

use super::grading::{Grade, Grading};
use super::outcome::{GroupResult, JudgedTest, RecordedTest, Results, TestState};
use super::plan::{Plan, Worth};
use super::points;
use super::walk::Walk;
use crate::failure::JudgeFailure;
use crate::points_error::PointsError;
use crate::result::Reason;
use crate::verdict::Verdict;
use millibox_package::Cause;

/// Tracks one submission through a plan.
///
/// Results may arrive in any order. The outcome is the same as if the tests were judged one after
/// another.
#[derive(Debug, Clone)]
pub struct Progress<'p> {
    results: Results<'p>,
    /// Groups whose grading has begun.
    grading_begun: Vec<bool>,
    /// All tests before this one have started or do not need to run.
    next: usize,
    walk: Walk,
}

impl<'p> Progress<'p> {
    /// Creates the progress of a submission without results.
    pub fn new(plan: &'p Plan) -> Progress<'p> {
        let mut progress = Progress {
            results: Results {
                plan,
                fail_fast: false,
                tests: (0..plan.len()).map(|_| None).collect(),
                grades: vec![None; plan.group_count()],
            },
            grading_begun: vec![false; plan.group_count()],
            next: 0,
            walk: Walk::default(),
        };
        progress.walk = Walk::of(&progress.results);
        progress
    }

    /// Ends judging at the first test that is not accepted, or at the first group that its grader
    /// does not accept, regardless of the groups' rules. The points are then those of the judged
    /// tests.
    #[must_use]
    pub fn fail_fast(mut self) -> Progress<'p> {
        self.results.fail_fast = true;
        self.walk = Walk::of(&self.results);
        self
    }

    /// The plan.
    pub fn plan(&self) -> &'p Plan {
        self.results.plan
    }

    /// Returns the next test to run and marks it as started. `None` means that all other tests are
    /// running, have results, or do not need to run.
    ///
    /// Tests start in order. A test that starts while earlier results are open may turn out to be
    /// unnecessary.
    pub fn next_test(&mut self) -> Option<usize> {
        while self.next < self.results.plan.len() {
            let test = self.next;
            self.next += 1;
            if self.is_needed(test) {
                return Some(test);
            }
        }
        None
    }

    /// Whether a test's result is open and may still matter. A running test that is no longer
    /// needed can be cancelled.
    pub fn is_needed(&self, test: usize) -> bool {
        self.walk.tests[test] == TestState::Open
    }

    /// Records a test's result. A second result for the same test is ignored.
    ///
    /// Points that the group does not allow are an error of the checker. The test then counts as a
    /// judge error; see [`Progress::verdict`] and [`Progress::points_error`].
    pub fn record(&mut self, test: usize, judged: JudgedTest) {
        if self.results.tests[test].is_some() {
            return;
        }
        let group = &self.results.plan.groups[self.results.plan.tests[test].group];
        let points = match points::of_test(group.worth, &group.rules, &judged) {
            // The judge failed first, so the points mean nothing.
            Err(_) if judged.result.verdict == Verdict::JudgeError => Ok(None),
            points => points,
        };
        self.results.tests[test] = Some(RecordedTest { judged, points });
        self.walk = Walk::of(&self.results);
    }

    /// Returns the next group to grade and marks it as begun. All groups share the package's own
    /// grader. `None` means that no group is ready, or that the grading of the next group has
    /// already begun.
    pub fn next_grading(&mut self) -> Option<Grading> {
        let grading = self
            .walk
            .grading
            .as_ref()
            .filter(|grading| !self.grading_begun[grading.group])?;
        self.grading_begun[grading.group] = true;
        Some(grading.clone())
    }

    /// Records a grader's answer for a group. An error results in a judge error. A second answer is
    /// ignored.
    pub fn grade(&mut self, group: usize, graded: Result<Grade, JudgeFailure>) {
        if self.results.grades[group].is_none() {
            self.results.grades[group] = Some(graded.map_err(Cause::from));
            self.walk = Walk::of(&self.results);
        }
    }

    /// Whether no result and no grader's answer is open.
    pub fn is_finished(&self) -> bool {
        self.settled() == self.results.plan.len() && self.walk.grading.is_none()
    }

    /// Number of tests, counted from the first, whose state no later result can change.
    pub fn settled(&self) -> usize {
        self.walk.settled
    }

    /// The state of a test.
    pub fn state(&self, test: usize) -> &TestState {
        &self.walk.tests[test]
    }

    /// The result of a test as it was recorded, even if it does not count.
    pub fn judged(&self, test: usize) -> Option<&JudgedTest> {
        Some(&self.results.recorded(test)?.judged)
    }

    /// The verdict on a test. It is a judge error if the checker's points are wrong.
    pub fn verdict(&self, test: usize) -> Option<Verdict> {
        Some(self.results.recorded(test)?.verdict())
    }

    /// The reason for the verdict on a test: the recorded reason, with the error in the points if
    /// there is one. `None` if the checker decided or the test has no result.
    pub fn reason(&self, test: usize) -> Option<Reason> {
        self.results.recorded(test)?.reason()
    }

    /// The error in the checker's points for a test.
    pub fn points_error(&self, test: usize) -> Option<PointsError> {
        self.results.recorded(test)?.points.err()
    }

    /// Points of a test, not rounded. `None` if the test has no result or the tests of its group
    /// have no points.
    ///
    /// A Sim group is worth the points of its worst test. A test's points are those that the group
    /// would receive for this test alone.
    pub fn points(&self, test: usize) -> Option<f64> {
        let points = self.results.recorded(test)?.points.ok().flatten()?;
        let group = &self.results.plan.groups[self.results.plan.tests[test].group];
        match group.worth {
            Worth::Share { .. } => Some(points * group.rules.points.unwrap_or(0.0)),
            _ => Some(points),
        }
    }

    /// The known result of a group.
    pub fn group(&self, group: usize) -> &GroupResult {
        &self.walk.groups[group]
    }

    /// The known result of the submission, which is that of the root group.
    pub fn submission(&self) -> &GroupResult {
        self.group(0)
    }
}
