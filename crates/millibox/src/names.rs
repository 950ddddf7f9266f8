//! The names of a run's program and working directory in errors.

use crate::convert;
use crate::{Outcome, RunResult};
use millibox_wire::path::shown;
use millibox_wire::{Hint, Step};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// The names that errors use for a run's program and working directory. The supervisor does not
/// keep the paths after the run, and a descriptor has no name.
#[derive(Debug)]
pub struct Names {
    pub program: Option<OsString>,
    /// Whether the program is a path without `/`, which the caller may have meant as a name to look
    /// up.
    pub is_bare_name: bool,
    pub working_directory: OsString,
}

impl Names {
    /// Names the program that could not be executed, or the directory that could not be entered.
    pub fn add_to(&self, result: millibox_wire::RunResult) -> RunResult {
        let mut result = convert::result_of_wire(result);
        let Outcome::NotStarted(error) = &mut result.outcome else {
            return result;
        };
        let subject = match error.step {
            Step::WorkingDirectory => Some(&self.working_directory),
            Step::Exec => self.program.as_ref(),
            _ => None,
        };
        if let Some(subject) = subject {
            error.subject = Some(shown(subject.as_bytes()));
        }
        if error.step == Step::Exec && error.errno == Some(libc::ENOENT) && self.is_bare_name {
            error.hint.get_or_insert(Hint::NameTakenAsPath);
        }
        result
    }
}
