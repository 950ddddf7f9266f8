//! The judge: compiles submissions, runs them on tests in the sandbox, says what came of it.
//!
//! | file | what |
//! | --- | --- |
//! | `judge` | the whole: a package, its submissions, what is said of each |
//! | `suite` | languages as data: how each is compiled and run |
//! | `compile` | sources to programs, in the sandbox |
//! | `cache` | programs that were compiled before |
//! | `files` | files on their way between the host and the sandbox |
//! | `program` | a program that is ready to run, and the limits of a run |
//! | `time_limit` | time limits from measured times |
//! | `verdict` | what the judge says of one test |
//! | `batch` | one test: the submission's run, then the checker |
//! | `pump` | moving a run's input and output through pipes |
//! | `checker` | who says whether an output is right |
//! | `staging` | files where the sandbox's user can read them |
//! | `feedback` | the directory where a checker or interactor leaves files for us |
//! | `convention` | how a checker or interactor answers, and what its answer means |
//! | `interactive` | a solution that talks to an interactor |
//! | `grader` | a package's own program that makes the results of groups |
//! | `passes` | a test of several passes |
//! | `scoring` | from the tests' results to the groups' and the submission's; which tests need not be run |
//! | `report` | what came of a problem's submissions, as JSON, JUnit XML, HTML, text |
//! | `setter` | what a problem setter does before anybody is judged |
#![forbid(unsafe_code)]

pub mod batch;
pub mod cache;
pub mod checker;
pub mod compile;
pub mod convention;
pub mod feedback;
mod files;
pub mod grader;
pub mod interactive;
pub mod judge;
pub mod passes;
pub mod program;
mod pump;
pub mod report;
pub mod scoring;
pub mod setter;
pub mod staging;
pub mod suite;
mod time_limit;
pub mod verdict;
