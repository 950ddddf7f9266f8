//! The judge: compiles submissions, runs them on tests in the sandbox, says what came of it.
//!
//! | file | what |
//! | --- | --- |
//! | `program` | a program that is ready to run, and the limits of a run |
//! | `verdict` | what the judge says of one test |
//! | `scoring` | from the tests' results to the groups' and the submission's; which tests need not be run |
//! | `report` | what came of a problem's submissions, as JSON, JUnit XML, HTML, text |
#![forbid(unsafe_code)]

pub mod program;
pub mod report;
pub mod scoring;
pub mod verdict;
