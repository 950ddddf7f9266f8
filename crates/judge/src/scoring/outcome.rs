//! Results of tests, parts and groups, which the walk and the progress share.

use super::grading::Grade;
use super::plan::{Part, Plan};
use crate::failure::JudgeFailure;
use crate::points_error::PointsError;
use crate::result::{AfterColon, Reason, TestResult};
use crate::verdict::Verdict;
use millibox_languages::program::Limits;
use millibox_package::Cause;
use serde::Serialize;

/// All results of a submission so far, with the plan to which they belong.
#[derive(Debug, Clone)]
pub(super) struct Results<'p> {
    pub plan: &'p Plan,
    pub fail_fast: bool,
    pub tests: Vec<Option<RecordedTest>>,
    /// The answers of the package's own grader, or the reasons why they are unusable.
    pub grades: Vec<Option<Result<Grade, Cause<JudgeFailure>>>>,
}

impl Results<'_> {
    pub fn recorded(&self, test: usize) -> Option<&RecordedTest> {
        self.tests[test].as_ref()
    }
}

/// A test that ran: its result, its limits and its CPUs.
#[derive(Debug, Clone)]
pub struct JudgedTest {
    /// The result.
    pub result: TestResult,
    /// The limits of this test, without the suite's own needs.
    pub limits: Limits,
    /// The enforced memory limit, including the suite's needs. `None` if memory was not limited.
    pub enforced_memory: Option<u64>,
    /// The CPUs to which the run was pinned. The list is empty if it was not pinned.
    pub cpus: Vec<usize>,
}

/// A test's result and its points.
#[derive(Debug, Clone)]
pub(super) struct RecordedTest {
    pub judged: JudgedTest,
    /// Points as the group counts them, or the error in the checker's points.
    pub points: Result<Option<f64>, PointsError>,
}

impl RecordedTest {
    /// Returns the verdict that counts. It is a judge error if the points are wrong.
    pub fn verdict(&self) -> Verdict {
        match self.points {
            Ok(_) => self.judged.result.verdict,
            Err(_) => Verdict::JudgeError,
        }
    }

    /// Returns the reason for the verdict: that of the result, followed by the error in the points.
    pub fn reason(&self) -> Option<Reason> {
        let reason = self.judged.result.reason.clone();
        match self.points {
            Ok(_) => reason,
            Err(error) => Some(Reason::Points {
                reason: reason.map(Box::new),
                error,
            }),
        }
    }
}

/// The state of a test.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TestState {
    /// The test has not run, or is running.
    Open,
    /// The test has a result. Only when the test is [settled](super::Progress::settled) is it
    /// certain whether the result counts.
    Judged,
    /// The test does not need to run, or its result does not count.
    NotJudged(Skip),
}

/// The kind of reason for which a test or a whole group was not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipCause {
    /// An earlier part was not accepted and ended its group.
    GroupEnded,
    /// A required group was not accepted.
    RequiredGroup,
    /// Judging ended at the first test that was not accepted.
    FailFast,
    /// The submission could not be compiled.
    NoProgram,
    /// The language is unknown or cannot be used here. Only whole submissions have this cause.
    NoLanguage,
    /// Judging ended before the result arrived.
    Unfinished,
}

/// Why something was not judged: a part before it was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{part} was not accepted", required(*.cause))]
#[non_exhaustive]
pub struct Skip {
    /// The kind of reason.
    pub cause: SkipCause,
    /// The part that was not accepted.
    pub part: PartName,
}

fn required(cause: SkipCause) -> &'static str {
    if cause == SkipCause::RequiredGroup {
        "required "
    } else {
        ""
    }
}

/// A test or a group, by its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartName {
    /// A test.
    #[error("test {0}")]
    Test(String),
    /// A group.
    #[error("group {0}")]
    Group(String),
}

/// Why a group has its verdict.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupReason {
    /// A test decides the verdict.
    #[error("test {test}{}", AfterColon(.reason.as_ref()))]
    Test {
        /// The test.
        test: String,
        /// The reason for the verdict on the test. `None` if the checker decided.
        reason: Option<Reason>,
    },
    /// The grader or the points of the group, or of a group in it, decide the verdict.
    #[error("group {group}: {fault}")]
    Group {
        /// The group that decides.
        group: String,
        /// Its own reason.
        fault: GroupFault,
    },
}

/// Why a group has a verdict that none of its tests has.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupFault {
    /// The package's own grader failed, or could not be run.
    #[error("grader: {0}")]
    Grader(Cause<JudgeFailure>),
    /// The package's own grader gave this verdict.
    #[error("decision of its grader")]
    GraderDecision,
    /// The group's points are invalid.
    #[error(transparent)]
    Points(#[from] PointsError),
}

/// The known result of a group or a submission.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct GroupResult {
    /// The verdict. `None` while the verdict is open, or if no test of the group was judged.
    pub verdict: Option<Verdict>,
    /// The reason for a verdict other than accepted.
    pub reason: Option<GroupReason>,
    /// Number of the test that decided the verdict, if one did.
    pub decided_by: Option<usize>,
    /// The points. `None` while they are open, if the problem has no points, and after a judge
    /// error. A group that was not judged because of a required group has 0 points.
    pub points: Option<f64>,
    /// Why the whole group was not judged, if it was not.
    pub not_judged: Option<Skip>,
}

/// The result of a part, as its group uses it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartResult {
    pub verdict: Verdict,
    /// Points, or a share of the group's points.
    pub points: Option<f64>,
    /// The part that decided against acceptance: a test, or a group because of its points.
    pub by: Option<Part>,
}
