//! The languages of millibox: suites as data, compiling in the sandbox, and a cache of programs.
//!
//! [`suite::Suites`] describes languages. A [`compile::Toolbox`] checks which of them are installed
//! on this machine, and compiles sources into a [`program::Executable`], which creates requests for
//! the sandbox. `examples/run_source.rs` shows all steps.
//!
//! | module | content |
//! | --- | --- |
//! | [`suite`] | how to compile and run each language |
//! | [`compile`] | compiling sources in the sandbox |
//! | [`command`] | the command line of a program |
//! | [`cache`] | a cache of compiled programs |
//! | [`files`] | files that move between the host and the sandbox |
//! | [`staging`] | files that the sandbox's user can read |
//! | [`program`] | programs that are ready to run, and limits of a run |
#![forbid(unsafe_code)]

pub mod cache;
pub mod command;
pub mod compile;
pub mod files;
pub mod program;
pub mod staging;
pub mod suite;

pub use millibox_package::Cause;

#[cfg(test)]
mod messages;
