//! From the tests' results to the groups' and the submission's.
//!
//! * a [`Plan`] is what is to be judged, and by which rules: made once for a problem;
//! * a [`Progress`] is one submission on its way through a plan: it says which test to run next,
//!   takes results in whatever order they come, and says what follows from them.
//!
//! What comes out is what comes out when tests are judged one after another: a result that such
//! judging would never have asked for (the group had ended before, a required group had failed) is
//! not looked at. Where a grader of the package's own makes a group's result, the progress says when it is
//! to be asked ([`Progress::next_grading`]), as it does of tests. Tests that were not judged are just that,
//! with a reason ([`SkipCause`]): they have no verdict.
//!
//! ```no_run
//! # use millibox_judge::scoring::{JudgedTest, Plan, Progress};
//! # fn judge(test: &millibox_package::model::Test) -> JudgedTest { unimplemented!() }
//! let problem = millibox_package::read("problems/hello".as_ref())?;
//! let plan = Plan::new(&problem)?;
//! let tests: Vec<_> = problem.tests().collect();
//! let mut progress = Progress::new(&plan);
//! while let Some(test) = progress.next_test() {
//!     progress.record(test, judge(tests[test]));
//!     while let Some(grading) = progress.next_grading() {
//!         progress.grade(grading.group, Err("graders are not asked here".to_owned()));
//!     }
//! }
//! println!("{:?}", progress.submission().verdict);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `plan` | tests, groups and rules of a problem; what cannot be scored is refused here |
//! | `progress` | results as they come; what is open, what is settled |
//! | `walk` | through the tree in order, as far as the results go |
//! | `points` | points of a test and of a group |
//! | `grading` | what a grader of the package's own is told, and what its answer means |
//! | `expected` | whether what came of a submission is what was expected |

pub mod expected;
mod grading;
mod plan;
mod points;
mod progress;
mod walk;

pub use grading::{Grade, GraderFailure, GraderFault, Grading};
pub use plan::{Plan, PlanError};
pub use progress::{JudgedTest, Progress, TestState};
pub use walk::{GroupResult, Skip, SkipCause};
