//! Finds the supervisor's executable.

use crate::{EndReason, StartError, version};
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const NAME: &str = "millibox-supervisor";
/// The environment variable that contains the path of the supervisor's executable.
const SUPERVISOR: &str = "MILLIBOX_SUPERVISOR";

/// The name of [`Builder::executable`](crate::Builder::executable) in messages, which users of
/// other languages read too.
const OPTION: &str = "the option for the supervisor";

/// The supervisor's executable.
pub struct Executable {
    /// The absolute path, because the executable may be executed again later from another
    /// directory.
    pub path: PathBuf,
    /// The environment variable or option that named it; `None` if it was looked up.
    named_by: Option<&'static str>,
}

impl Executable {
    /// Uses the path from the builder, otherwise the path from the environment, and otherwise looks
    /// up the executable.
    pub fn choose(given: Option<&Path>) -> Result<Executable, StartError> {
        let (path, named_by) = match (given, variable(SUPERVISOR)) {
            (Some(path), _) => (path.to_owned(), Some(OPTION)),
            (None, Some(path)) => (PathBuf::from(path), Some(SUPERVISOR)),
            (None, None) => (find()?, None),
        };
        match std::path::absolute(&path) {
            Ok(path) => Ok(Executable { path, named_by }),
            Err(error) => Err(Executable { path, named_by }.not_executed(error)),
        }
    }

    /// The error of an executable that cannot be executed.
    pub fn not_executed(&self, error: std::io::Error) -> StartError {
        StartError::NotExecuted {
            path: self.path.clone(),
            named_by: self.named_by,
            error,
        }
    }

    /// The error of a program that is not a supervisor of this version. Asks the program for its
    /// version.
    pub fn not_supervisor(&self, reason: EndReason) -> StartError {
        let (path, named_by) = (self.path.clone(), self.named_by);
        match version::of_executable(&path) {
            Some(found) if found != env!("CARGO_PKG_VERSION") => StartError::Version {
                path,
                named_by,
                found,
                reason: Box::new(reason),
            },
            _ => StartError::NotSupervisor {
                path,
                named_by,
                reason,
            },
        }
    }
}

/// The value of an environment variable. An empty variable counts as not set.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Looks up the supervisor's executable beside the running program (a cargo test is one directory
/// deeper), in the libexec directory of the same prefix, and on `PATH`.
fn find() -> Result<PathBuf, StartError> {
    let places = places(NAME);
    places
        .iter()
        .find(|path| path.exists())
        .cloned()
        .ok_or(StartError::NotFound(places))
}

/// The possible paths of a file of millibox. If the environment names the supervisor, its directory
/// comes first.
pub fn places(name: &str) -> Vec<PathBuf> {
    let mut places = Vec::new();
    if let Some(supervisor) = variable(SUPERVISOR).map(PathBuf::from)
        && name != NAME
        && let Some(directory) = supervisor.parent()
    {
        places.push(directory.join(name));
    }
    if let Ok(program) = std::env::current_exe()
        && let Some(directory) = program.parent()
    {
        places.push(directory.join(name));
        if let Some(above) = directory.parent() {
            if directory.ends_with("deps") || directory.ends_with("examples") {
                places.push(above.join(name));
            }
            places.push(above.join("libexec/millibox").join(name));
        }
    }
    for directory in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        places.push(directory.join(name));
        // A program that is not part of millibox finds the files that are installed with the
        // supervisor.
        if name != NAME
            && let Some(above) = directory.parent()
        {
            places.push(above.join("libexec/millibox").join(name));
        }
    }
    let mut seen = HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// rustdoc builds the examples in a temporary directory that contains no supervisor. An example
    /// that finds no supervisor does not run its programs.
    #[test]
    fn examples_without_supervisor_are_reported() {
        let on_path = || {
            let path = variable("PATH").unwrap_or_default();
            std::env::split_paths(&path).any(|directory| directory.join(NAME).exists())
        };
        if variable(SUPERVISOR).is_some() || on_path() {
            return;
        }
        let reason = "SKIPPED: examples in the documentation of millibox: compiled, but not run, \
            because MILLIBOX_SUPERVISOR is not set; in the root of the checkout run cargo build \
            --bin millibox-supervisor, then MILLIBOX_SUPERVISOR=$PWD/target/debug/\
            millibox-supervisor cargo test -p millibox\n";
        // Unlike the output of eprintln!, this line is shown although the test succeeds.
        std::io::stderr()
            .write_all(reason.as_bytes())
            .expect("standard error");
    }
}
