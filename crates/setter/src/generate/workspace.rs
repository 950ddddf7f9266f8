//! The options, the report and the state of generation.

use crate::record::Record;
use crate::replace::Replacement;
use millibox_languages::program::Executable;
use millibox_languages::staging::StagedDirectory;
use millibox_package::model::Test;
use millibox_package::{Fault, Problem};
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options of [`crate::Setter::generate`].
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Names of tests or directories of tests, or patterns. An empty list selects all tests.
    pub tests: Vec<String>,
    /// Whether to generate files again that exist and were generated from the same sources.
    pub all: bool,
    /// Whether to generate every file twice, even if it exists. Both runs must produce the same
    /// bytes.
    pub check: bool,
}

impl Options {
    /// Whether files are generated even if they are current.
    pub(super) fn makes_all(&self) -> bool {
        self.all || self.check
    }
}

/// The files that were generated.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The files in the order of their tests: inputs first, then answers.
    pub made: Vec<MadeFile>,
    /// Number of files that already existed and had been generated from the same sources.
    pub current: usize,
    /// Warnings about the package, and about files that were kept because a person wrote them.
    #[serde(skip)]
    pub warnings: Vec<Fault>,
}

/// A generated file.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct MadeFile {
    /// Path below the package.
    pub path: String,
    /// Name of the file's test.
    pub test: String,
    /// The generator with its arguments, or the model solution.
    pub by: String,
    /// The generator's seed.
    pub seed: Option<u64>,
    /// The file's length.
    pub bytes: u64,
    /// Whether the file is new or has new content.
    pub changed: bool,
}

/// A file to generate.
pub(super) struct Task<'p> {
    pub test: &'p Test,
    /// The file's path in the package, and the path where it is generated.
    pub place: PathBuf,
    pub new: PathBuf,
    /// Digest of the file's sources.
    pub sources: String,
    pub source: Source<'p>,
    pub by: String,
    pub seed: Option<u64>,
    /// Whether a person wrote this answer in another file.
    pub written: bool,
}

/// A generated file that may be put in place.
pub(super) struct PendingFile<'p> {
    pub task: Task<'p>,
    pub digest: String,
    pub bytes: u64,
    /// Whether the file is new or has new content.
    pub changed: bool,
}

/// The state of the work.
pub(super) struct Workspace<'p> {
    pub problem: &'p Problem,
    /// The selected tests.
    pub tests: Vec<&'p Test>,
    pub options: &'p Options,
    /// Declared before the record, so that it is dropped first. It is in the record's directory,
    /// which the record removes if nothing was generated.
    pub replacement: Replacement,
    pub record: Record,
    pub report: Report,
}

pub(super) enum Source<'p> {
    Text(&'p str),
    Copy(&'p Path),
    Run {
        executable: Executable,
        arguments: Vec<OsString>,
        environment: Vec<(&'static str, String)>,
        /// Keeps the staged files that the world contains.
        _shown: Option<Arc<StagedDirectory>>,
    },
    Answer {
        executable: Executable,
        input: PathBuf,
    },
}
