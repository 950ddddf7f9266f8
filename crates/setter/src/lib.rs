//! Tools for problem setters: create a package, generate its tests, validate it, determine its time
//! limits, pack it and remove generated files.
//!
//! docs/guide/problem.md is the guide to these tools.
//!
//! | module | content |
//! | --- | --- |
//! | `init` | a new package that works immediately |
//! | `import` | converts packages of other systems |
//! | `generate` | inputs from generators, answers from the model solution |
//! | `validate` | faults of a package: its files, inputs and answers |
//! | `limits` | time limits from the model solution's times |
//! | `findings` | conclusions about a package from judging its own submissions |
//! | `archive` | the package as a `.zip` archive, with the same bytes for the same files |
//! | `clean` | removes the files that `generate` created |
//! | `error` | the errors of all tools |
//! | `selection` | the tests that a caller names |
//! | `record` | the record of generated files and their sources |
//! | `replace` | replacing several files, all or none |
//! | `programs` | compiling and running programs of the package in parallel |
#![forbid(unsafe_code)]

pub mod archive;
pub mod clean;
pub mod error;
pub mod findings;
pub mod generate;
pub mod import;
pub mod init;
pub mod limits;
#[cfg(test)]
mod messages;
mod programs;
mod record;
mod replace;
mod selection;
pub mod validate;

pub use error::{MachineError, ProgramFault, RequestError, SetterError};

use millibox::Supervisor;
use millibox_languages::compile::Toolbox;
use millibox_package::Problem;
use std::path::Path;

/// The sandbox and compilers that the setter's tools use.
#[derive(Clone, Copy)]
pub struct Setter<'s> {
    supervisor: &'s Supervisor,
    toolbox: &'s Toolbox<'s>,
    progress: &'s dyn Progress,
}

/// Observes the work. Several threads may call its methods.
pub trait Progress: Sync {
    /// Work that consists of several steps begins.
    fn begin(&self, what: &str, steps: usize);
    /// A step has ended. The line describes the step and its result, and may be empty.
    fn step(&self, line: &str);
}

impl<'s> Setter<'s> {
    /// Creates tools that run the package's programs with this supervisor, up to one program per
    /// slot at the same time.
    pub fn new(
        supervisor: &'s Supervisor,
        toolbox: &'s Toolbox<'s>,
        progress: &'s dyn Progress,
    ) -> Setter<'s> {
        Setter {
            supervisor,
            toolbox,
            progress,
        }
    }
}

/// Reads a package whose files will be changed. Rejects archives, because they are unpacked to
/// another directory.
fn read_directory(package: &Path) -> Result<Problem, SetterError> {
    let problem = millibox_package::read_unfinished(package).map_err(SetterError::Package)?;
    match problem.unpacked {
        None => Ok(problem),
        Some(_) => Err(RequestError::Archive(package.to_owned()).into()),
    }
}

/// Returns a path relative to the package, for messages.
fn below(problem: &Problem, path: &Path) -> String {
    path.strip_prefix(&problem.directory)
        .unwrap_or(path)
        .display()
        .to_string()
}
