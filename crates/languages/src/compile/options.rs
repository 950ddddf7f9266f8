//! The options and the result of a compilation.

use super::error::CompileError;
use crate::program::Executable;
use millibox::Figures;
use millibox_package::Constants;
use std::path::PathBuf;
use std::time::Duration;

/// Options of a compilation. The default leaves everything to the suite.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// CPU time of the compiler. `None`: the suite's limit.
    pub cpu_time: Option<Duration>,
    /// Memory of the compiler in bytes. `None`: the suite's limit.
    pub memory: Option<u64>,
    /// Maximum size of the program in bytes. `None`: the suite's limit.
    pub output: Option<u64>,
    /// Whether the compiler also sees headers in the directories of the sources.
    pub headers_beside: bool,
    /// Name of the main source or class, if there are several sources or classes.
    pub main: Option<String>,
    /// Directories whose files are added to the sources, in this order. A file replaces an earlier
    /// file of the same name.
    pub include: Vec<PathBuf>,
    /// Constants to replace by their values in the sources and in the files of `include`.
    pub constants: Constants,
    /// Whether constants are replaced only in the files of `include`, because the sources are not
    /// part of the package.
    pub constants_in_include_only: bool,
    /// The directory within which symbolic links are followed, among the sources and in `include`.
    /// `None`: no link is followed.
    pub root: Option<PathBuf>,
    /// CPUs for the compiler. Empty: those of the supervisor's slots.
    pub cpus: Vec<usize>,
    /// Further arguments of the compiler, in front of the sources. Commands that do not contain the
    /// sources, such as shell scripts, ignore them.
    pub arguments: Vec<String>,
}

/// The result of a compilation.
#[derive(Debug)]
#[non_exhaustive]
pub struct Compilation {
    /// What the compiler wrote to standard output and standard error, without control characters.
    /// At most [`MAX_MESSAGE_BYTES`](super::MAX_MESSAGE_BYTES) bytes, and a note if more were
    /// written.
    pub messages: String,
    /// Whether the program was in the cache. Messages and figures are then those of the compilation
    /// that stored it.
    pub from_cache: bool,
    /// The figures of the compiler's run. `None`: no compiler ran.
    pub figures: Option<Figures>,
    /// The program, or the reason for which it is missing.
    pub result: Result<Executable, CompileError>,
}

impl Compilation {
    /// Returns the result of a compilation that failed before the compiler ran.
    pub fn failed(error: impl Into<CompileError>) -> Compilation {
        Compilation {
            messages: String::new(),
            from_cache: false,
            figures: None,
            result: Err(error.into()),
        }
    }

    /// The exit status of the compiler, if it exited. 0 if it made a program.
    pub fn exit_status(&self) -> Option<i32> {
        match &self.result {
            Ok(_) => self.figures.map(|_| 0),
            Err(error) => error.exit_status(),
        }
    }
}
