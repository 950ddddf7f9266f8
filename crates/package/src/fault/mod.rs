//! The faults of a package: their kinds, severities and places.
//!
//! | module | content |
//! | --- | --- |
//! | `text` | parts of messages: excerpts, suggestions, numbers, kinds of values |
//! | `files` | faults of files and archives |
//! | `values` | faults of YAML files and of their keys |
//! | `icpc` | faults of the ICPC formats |
//! | `sim` | faults of Sim's format |
//! | `edit` | errors of edits |
//! | `log` | collects the faults while a package is read |

pub mod edit;
pub mod files;
pub mod icpc;
pub(crate) mod log;
pub mod sim;
pub mod text;
pub mod values;

use crate::bound::Bound;
use files::{ArchiveFault, FileFault};
use icpc::{
    DataFault, DomjudgeFault, FlagError, GenerationFault, GroupFault, HeaderFault, ProgramFault,
    SubmissionFault,
};
use sim::{ConfigFault, SimfileFault, SipfileFault};
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use values::{KeyFault, YamlFault};

/// The severity of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// The package can be judged, but its author may have intended something different.
    Warning,
    /// The package cannot be judged.
    Error,
}

impl Severity {
    /// The name in reports: `error` or `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// One fault of a package, rendered as `PATH:LINE:COLUMN: error: MESSAGE`. Unknown numbers are
/// omitted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The file or directory: the package's path as the caller named it, followed by the path below
    /// it.
    pub path: PathBuf,
    /// The line, counted from 1.
    pub line: Option<u32>,
    /// The column in characters, counted from 1.
    pub column: Option<u32>,
    /// The severity.
    pub severity: Severity,
    /// What is wrong and how to fix it. Its `Display` is the message, on one line.
    pub kind: FaultKind,
}

impl Fault {
    /// Creates a fault of a whole file or directory.
    pub fn new(path: impl Into<PathBuf>, severity: Severity, kind: impl Into<FaultKind>) -> Fault {
        Fault {
            path: path.into(),
            line: None,
            column: None,
            severity,
            kind: kind.into(),
        }
    }

    /// Returns the same fault in a line of the file.
    #[must_use]
    pub fn at_line(self, line: Option<u32>) -> Fault {
        Fault { line, ..self }
    }

    /// Returns the bound that the package exceeds, if that is the fault.
    pub fn bound(&self) -> Option<Bound> {
        match self.kind {
            FaultKind::Bound(bound) => Some(bound),
            _ => None,
        }
    }

    /// Whether the machine failed while it read the package, for example because its disk is full.
    /// The package may be faultless.
    pub fn is_of_machine(&self) -> bool {
        match &self.kind {
            FaultKind::File(fault) => fault.is_of_machine(),
            FaultKind::Archive(fault) => fault.is_of_machine(),
            _ => false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.to_string_lossy();
        // A fault is one line, even if the name of a file contains line breaks.
        path.chars().try_for_each(|c| {
            if c.is_control() {
                write!(f, "{}", c.escape_default())
            } else {
                write!(f, "{c}")
            }
        })?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        write!(f, ": {}: {}", self.severity.name(), self.kind)
    }
}

/// What is wrong with a package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// The package exceeds a bound.
    #[error(transparent)]
    Bound(#[from] Bound),
    /// A fault of a file or directory, or of the package as a whole.
    #[error(transparent)]
    File(#[from] FileFault),
    /// A fault of the package's archive.
    #[error(transparent)]
    Archive(#[from] ArchiveFault),
    /// A fault in the syntax of a YAML file.
    #[error(transparent)]
    Yaml(#[from] YamlFault),
    /// A fault of a key in a file, or of the key's value.
    #[error(transparent)]
    Key(#[from] KeyFault),
    /// A fault of a flag of the default output validator.
    #[error(transparent)]
    Flag(#[from] FlagError),
    /// A fault of problem.yaml.
    #[error(transparent)]
    Header(#[from] HeaderFault),
    /// A fault of DOMjudge's files.
    #[error(transparent)]
    Domjudge(#[from] DomjudgeFault),
    /// A fault of tests and groups in an ICPC package.
    #[error(transparent)]
    Data(#[from] DataFault),
    /// A fault of a group's settings in an ICPC package.
    #[error(transparent)]
    Group(#[from] GroupFault),
    /// A fault of submissions in an ICPC package.
    #[error(transparent)]
    Submission(#[from] SubmissionFault),
    /// A fault of generators.yaml.
    #[error(transparent)]
    Generation(#[from] GenerationFault),
    /// A fault of validators and graders in an ICPC package.
    #[error(transparent)]
    Program(#[from] ProgramFault),
    /// A fault in the syntax of a Simfile or Sipfile.
    #[error(transparent)]
    Config(#[from] ConfigFault),
    /// A fault of a Simfile, or of the files that it names.
    #[error(transparent)]
    Simfile(#[from] SimfileFault),
    /// A fault of a Sipfile.
    #[error(transparent)]
    Sipfile(#[from] SipfileFault),
    /// A fault that a tool found after the package was read.
    #[error(transparent)]
    Tool(#[from] ToolFault),
    /// There are more faults than a report shows.
    #[error("{errors} more errors and {warnings} more warnings are not shown; fix these first")]
    NotShown {
        /// The number of errors.
        errors: usize,
        /// The number of warnings.
        warnings: usize,
    },
}

/// A fault that a tool, such as the judge, found after the package was read. It contains the tool's
/// error.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct ToolFault(Arc<dyn ToolError>);

/// An error of a tool that can be compared with an error of the same type.
trait ToolError: Error + Any + Send + Sync {
    fn equals(&self, other: &dyn Any) -> bool;
    fn as_any(&self) -> &dyn Any;
}

impl<E: Error + PartialEq + Send + Sync + 'static> ToolError for E {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl ToolFault {
    /// Creates a fault from the error of a tool.
    pub fn new(error: impl Error + PartialEq + Send + Sync + 'static) -> ToolFault {
        ToolFault(Arc::new(error))
    }

    /// Returns the tool's error, if it has this type.
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        (*self.0).as_any().downcast_ref()
    }
}

impl PartialEq for ToolFault {
    fn eq(&self, other: &ToolFault) -> bool {
        (*self.0).equals((*other.0).as_any())
    }
}

impl Eq for ToolFault {}

/// Why a package cannot be judged: all its faults, including warnings, sorted by file and line.
/// Each fault is rendered as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Returns all faults, sorted.
    pub fn iter(&self) -> std::slice::Iter<'_, Fault> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Faults {
    type Item = &'a Fault;
    type IntoIter = std::slice::Iter<'a, Fault>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Faults {
    type Item = Fault;
    type IntoIter = std::vec::IntoIter<Fault>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}

impl Error for Faults {}
