//! Languages: suites as data, and compiling submissions in the sandbox.
//!
//! | module | content |
//! | --- | --- |
//! | `suite` | languages as data: how to compile and run each |
//! | `compile` | compiling sources in the sandbox |
//! | `command` | the command line of a program |
//! | `cache` | programs that were compiled before |
//! | `files` | files on their way between the host and the sandbox |
//! | `staging` | files that the sandbox's user can read |
//! | `program` | a program that is ready to run, and the limits of a run |
#![forbid(unsafe_code)]

pub mod cache;
pub mod command;
pub mod compile;
pub mod files;
pub mod program;
pub mod staging;
pub mod suite;
