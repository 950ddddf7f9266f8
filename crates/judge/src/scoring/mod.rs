//! Computes results of groups and submissions from the results of tests.
//!
//! * A [`Plan`] contains the tests and rules of a problem. Each problem has one plan.
//! * A [`Progress`] tracks one submission through a plan. It names the next test to run, accepts
//!   results in any order, and computes what follows from them.
//!
//! The results are the same as if the tests were judged one after another. A result that sequential
//! judging would not have needed, because a group had ended or a required group had failed, is
//! ignored. If the package's own grader computes a group's result, [`Progress::next_grading`]
//! returns the group when it is ready for grading. A test that was not judged has a reason
//! ([`SkipCause`]) instead of a verdict.
//!
//! ```no_run
//! # use millibox_judge::failure::JudgeFailure;
//! # use millibox_judge::scoring::{JudgedTest, Plan, Progress};
//! # fn judge(test: &millibox_package::model::Test) -> JudgedTest { unimplemented!() }
//! let problem = millibox_package::read("problems/hello".as_ref())?;
//! let plan = Plan::new(&problem)?;
//! let tests: Vec<_> = problem.tests().collect();
//! let mut progress = Progress::new(&plan);
//! while let Some(test) = progress.next_test() {
//!     progress.record(test, judge(tests[test]));
//!     while let Some(grading) = progress.next_grading() {
//!         progress.grade(grading.group, Err(JudgeFailure::NoGrader));
//!     }
//! }
//! println!("{:?}", progress.submission().verdict);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | content |
//! | --- | --- |
//! | `plan` | tests, groups and rules of a problem; rejects what cannot be scored |
//! | `progress` | results as they arrive; what is open, what is settled |
//! | `outcome` | results of tests, parts and groups |
//! | `walk` | the walk through the tree in order, as far as the results reach |
//! | `points` | points of a test and of a group |
//! | `grading` | the input of a package's own grader, and its answer |
//! | `expected` | the comparison of a submission's result with its expectation |

pub mod expected;
mod grading;
mod outcome;
mod plan;
mod points;
mod progress;
mod walk;

pub use grading::{Grade, Grading};
pub use outcome::{
    GroupFault, GroupReason, GroupResult, JudgedTest, PartName, Skip, SkipCause, TestState,
};
pub use plan::{Plan, PlanError};
pub use progress::Progress;

pub use crate::points_error::PointsError;
