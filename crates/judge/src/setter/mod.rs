//! What a problem setter does before anybody is judged: begin a package, make its tests, see that
//! it is sound, find its limits, pack it, clean up.
//!
//! docs/problem.md tells it from the setter's side.
//!
//! | file | what |
//! | --- | --- |
//! | `init` | a new package that works at once |
//! | `generate` | inputs from generators, answers from the model solution |
//! | `validate` | what is wrong with a package: its files, inputs, answers |
//! | `limits` | time limits from the model solution's times |
//! | `catch` | what the judgement of its own submissions says of a package |
//! | `archive` | the package in a `.zip`, the same bytes for the same files |
//! | `clean` | what `generate` made, removed |
//! | `record` | what was made, of what |
//! | `replace` | several files put in place, all or none |
//! | `work` | programs of the package, compiled and run, several at a time |

pub mod archive;
pub mod catch;
pub mod clean;
pub mod generate;
pub mod init;
pub mod limits;
mod record;
mod replace;
pub mod validate;
mod work;

use crate::compile::Toolbox;
use millibox::Supervisor;
use millibox_package::{Faults, Problem};
use std::path::Path;

/// What a setter's tools work with.
#[derive(Clone, Copy)]
pub struct Setter<'s> {
    supervisor: &'s Supervisor,
    toolbox: &'s Toolbox<'s>,
    progress: &'s dyn Progress,
}

/// Is told what goes on, from several threads.
pub trait Progress: Sync {
    /// So many steps of some work begin.
    fn begin(&self, what: &str, steps: usize);
    /// A step is done; the line, if it is not empty, says which and what came of it.
    fn step(&self, line: &str);
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The package cannot be read.
    #[error("{0}")]
    Package(Faults),
    /// Programs of the package do not do what they should. Each text says which, with what, and what
    /// came of it.
    #[error("{}", .0.join("\n"))]
    Programs(Vec<String>),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Asked(String),
    /// The machine, the sandbox or a file failed; nothing is said of the package.
    #[error("{0}")]
    Machine(String),
}

impl Trouble {
    fn file(what: &str, path: &Path, error: &dyn std::fmt::Display) -> Trouble {
        Trouble::Machine(format!("cannot {what} {}: {error}", path.display()))
    }
}

impl From<crate::batch::JudgeFailure> for Trouble {
    fn from(failure: crate::batch::JudgeFailure) -> Trouble {
        Trouble::Machine(failure.0)
    }
}

impl<'s> Setter<'s> {
    /// One that runs the package's programs with this supervisor, as many at a time as it has slots.
    pub fn new(supervisor: &'s Supervisor, toolbox: &'s Toolbox<'s>, progress: &'s dyn Progress) -> Setter<'s> {
        Setter { supervisor, toolbox, progress }
    }
}

/// A package whose files are to be changed: not an archive, which was unpacked to somewhere else.
fn unfinished(package: &Path) -> Result<Problem, Trouble> {
    let problem = millibox_package::read_unfinished(package).map_err(Trouble::Package)?;
    match problem.unpacked {
        None => Ok(problem),
        Some(_) => {
            Err(Trouble::Asked(format!("{} is an archive; unpack it, and name the directory", package.display())))
        }
    }
}

/// A path below the package, for people.
fn below(problem: &Problem, path: &Path) -> String {
    path.strip_prefix(&problem.directory).unwrap_or(path).display().to_string()
}
