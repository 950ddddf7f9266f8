//! The judge: compiles submissions, runs them on tests in the sandbox, and decides their verdicts.
//!
//! Each module uses only modules below it in this table:
//!
//! | module | content |
//! | --- | --- |
//! | `judge` | a package and its submissions, from sources to reports |
//! | `report` | the results of a problem's submissions, as JSON, JUnit XML, HTML and text |
//! | `time_limit` | time limits computed from measured times |
//! | `grader` | a package's own program that computes the results of groups |
//! | `passes` | a test of several passes |
//! | `interactive` | a solution that communicates with an interactor |
//! | `tool` | a run of a package's program that is not a submission |
//! | `batch` | one test: the submission's run, then the checker |
//! | `checker` | checkers: programs of a package, and the built-in ones |
//! | `pump` | moving a run's input and output through pipes |
//! | `trial` | a submission on a test |
//! | `worker` | the state of one judging thread |
//! | `validator` | a package's own checker or interactor |
//! | `scoring` | results of groups and submissions; which tests are not needed |
//! | `result` | the result of one test |
//! | `points_error` | why points are invalid |
//! | `failure` | errors of judging that are not the submission's fault |
//! | `convention` | the answers of checkers and interactors |
//! | `feedback` | the directory in which a checker or interactor leaves files |
//! | `verdict` | verdicts and points |
//! | `cancel` | cancelling a call that judges submissions |
#![forbid(unsafe_code)]

pub mod batch;
pub mod cancel;
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
mod points_error;
mod pump;
pub mod report;
pub mod result;
pub mod scoring;
pub mod time_limit;
pub mod tool;
mod trial;
mod validator;
pub mod verdict;
mod worker;
