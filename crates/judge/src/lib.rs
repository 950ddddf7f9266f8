//! The judge: compiles submissions, runs them on tests in the sandbox, says what came of it.
//!
//! | file | what |
//! | --- | --- |
//! | `suite` | languages as data: how each is compiled and run |
//! | `compile` | sources to programs, in the sandbox |
//! | `cache` | programs that were compiled before |
//! | `files` | files on their way between the host and the sandbox |
//! | `program` | a program that is ready to run, and the limits of a run |
//! | `verdict` | what the judge says of one test |
#![forbid(unsafe_code)]

pub mod cache;
pub mod compile;
mod files;
pub mod program;
pub mod suite;
pub mod verdict;
