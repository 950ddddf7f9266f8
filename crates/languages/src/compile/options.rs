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
    /// CPU time limit of the compiler. `None` means the suite's limit.
    pub cpu_time: Option<Duration>,
    /// Memory limit of the compiler in bytes. `None` means the suite's limit.
    pub memory: Option<u64>,
    /// Maximum size of the program in bytes. `None` means the suite's limit.
    pub output: Option<u64>,
    /// Whether the compiler also sees headers in the directories of the sources.
    pub headers_beside: bool,
    /// Name of the main source or class, if there are several sources or classes.
    pub main: Option<String>,
    /// Directories whose files are added to the sources, in this order. A file replaces an earlier
    /// file of the same name.
    pub include: Vec<PathBuf>,
    /// Constants whose names are replaced by their values in the sources and in the files of
    /// `include`.
    pub constants: Constants,
    /// Whether constants are replaced only in the files of `include`, because the sources are not
    /// part of the package.
    pub constants_in_include_only: bool,
    /// The directory within which symbolic links are followed, both among the sources and in
    /// `include`. `None` means that no link is followed.
    pub root: Option<PathBuf>,
    /// CPUs for the compiler. If empty, these are the CPUs of the supervisor's slots.
    pub cpus: Vec<usize>,
    /// Whether the compilation fails with
    /// [`InternalError::NotPrepared`](super::InternalError::NotPrepared) instead of executing a
    /// step that prepares the language, which may take minutes.
    pub without_preparing: bool,
    /// Additional arguments of the compiler, before the sources. Commands that do not contain the
    /// sources, such as shell scripts, ignore them.
    pub arguments: Vec<String>,
}

/// The result of a compilation.
#[derive(Debug)]
#[non_exhaustive]
pub struct Compilation {
    /// What the compiler wrote to standard output and standard error, without control characters.
    /// At most [`MAX_MESSAGE_BYTES`](super::MAX_MESSAGE_BYTES) bytes, followed by a note if the
    /// compiler wrote more.
    pub messages: String,
    /// Whether the program was in the cache. Messages and figures are then those of the compilation
    /// that stored it.
    pub from_cache: bool,
    /// The figures of the compiler's run. `None` means that no compiler ran.
    pub figures: Option<Figures>,
    /// The program, or the reason why it is missing.
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

    /// The exit status of the compiler, if it exited. It is 0 if the compiler produced a program.
    pub fn exit_status(&self) -> Option<i32> {
        match &self.result {
            Ok(_) => self.figures.map(|_| 0),
            Err(error) => error.exit_status(),
        }
    }
}
