//! The judge: compiles submissions, runs them on tests in the sandbox, and decides their verdicts.
//!
//! | module | content |
//! | --- | --- |
//! | `judge` | a package and its submissions, from sources to reports |
//! | `tool` | a run of a package's program that is not a submission |
//! | `time_limit` | time limits computed from measured times |
//! | `verdict` | the result of one test |
//! | `failure` | errors of judging that are not the submission's fault |
//! | `trial` | a submission on a test |
//! | `worker` | the state of one judging thread |
//! | `batch` | one test: the submission's run, then the checker |
//! | `pump` | moving a run's input and output through pipes |
//! | `validator` | a package's own checker or interactor |
//! | `checker` | checkers: programs of a package, and the built-in ones |
//! | `feedback` | the directory in which a checker or interactor leaves files |
//! | `convention` | the answers of checkers and interactors |
//! | `interactive` | a solution that talks to an interactor |
//! | `grader` | a package's own program that makes the results of groups |
//! | `passes` | a test of several passes |
//! | `scoring` | results of groups and submissions; which tests are not needed |
//! | `report` | the results of a problem's submissions, as JSON, JUnit XML, HTML and text |
#![forbid(unsafe_code)]

pub mod batch;
pub mod checker;
pub mod convention;
pub mod failure;
pub mod feedback;
pub mod grader;
pub mod interactive;
pub mod judge;
#[cfg(test)]
mod messages;
pub mod passes;
mod pump;
pub mod report;
pub mod scoring;
pub mod time_limit;
pub mod tool;
mod trial;
mod validator;
pub mod verdict;
mod worker;
