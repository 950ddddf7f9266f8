//! The command line of a program, for callers that build their own requests.

use crate::program::Executable;
use crate::suite::template::fill_memory;
use std::ffi::OsString;
use std::path::Path;

/// The command line and environment of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments, with the paths that the world shows.
    pub argv: Vec<OsString>,
    /// The environment.
    pub env: Vec<(OsString, OsString)>,
}

impl Executable {
    /// Returns the command line with `memory_bytes` as the memory limit for run-time systems. Files
    /// of the program have absolute paths, so that it can be started in any working directory.
    pub fn command(&self, memory_bytes: u64) -> Command {
        let absolute = |argument: OsString| {
            let is_file = Path::new(&argument).is_relative()
                && !argument.is_empty()
                && self.files.path().join(&argument).is_file();
            if is_file {
                Path::new(&self.current_dir).join(argument).into_os_string()
            } else {
                argument
            }
        };
        Command {
            argv: self
                .argv
                .iter()
                .map(|argument| absolute(fill_memory(argument, memory_bytes)))
                .collect(),
            env: self
                .env
                .iter()
                .map(|(name, value)| (name.clone(), fill_memory(value, memory_bytes)))
                .collect(),
        }
    }
}
