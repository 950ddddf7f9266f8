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
    /// The file or directory: the package's path as the caller named it, and the path below it.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column in characters, from 1.
    pub column: Option<u32>,
    /// The severity.
    pub severity: Severity,
    /// What is wrong and how to fix it. Its `Display` is the message, in one line.
    pub kind: FaultKind,
}

impl Fault {
    /// A fault of a whole file or directory.
    pub fn new(path: impl Into<PathBuf>, severity: Severity, kind: impl Into<FaultKind>) -> Fault {
        Fault {
            path: path.into(),
            line: None,
            column: None,
            severity,
            kind: kind.into(),
        }
    }

    /// The same fault in a line of the file.
    #[must_use]
    pub fn at_line(self, line: Option<u32>) -> Fault {
        Fault { line, ..self }
    }

    /// The bound that the package exceeds, if that is the fault.
    pub fn bound(&self) -> Option<Bound> {
        match self.kind {
            FaultKind::Bound(bound) => Some(bound),
            _ => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.to_string_lossy();
        // A fault is one line even if the name of a file has line breaks.
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
    /// A file or directory, or the package as a whole.
    #[error(transparent)]
    File(#[from] FileFault),
    /// The archive of the package.
    #[error(transparent)]
    Archive(#[from] ArchiveFault),
    /// The syntax of a YAML file.
    #[error(transparent)]
    Yaml(#[from] YamlFault),
    /// A key of a file, or its value.
    #[error(transparent)]
    Key(#[from] KeyFault),
    /// A flag of the default output validator.
    #[error(transparent)]
    Flag(#[from] FlagError),
    /// problem.yaml.
    #[error(transparent)]
    Header(#[from] HeaderFault),
    /// The files of DOMjudge.
    #[error(transparent)]
    Domjudge(#[from] DomjudgeFault),
    /// Tests and groups of an ICPC package.
    #[error(transparent)]
    Data(#[from] DataFault),
    /// The settings of a group in an ICPC package.
    #[error(transparent)]
    Group(#[from] GroupFault),
    /// Submissions of an ICPC package.
    #[error(transparent)]
    Submission(#[from] SubmissionFault),
    /// generators.yaml.
    #[error(transparent)]
    Generation(#[from] GenerationFault),
    /// Validators and graders of an ICPC package.
    #[error(transparent)]
    Program(#[from] ProgramFault),
    /// The syntax of a Simfile or Sipfile.
    #[error(transparent)]
    Config(#[from] ConfigFault),
    /// A Simfile and the files that it names.
    #[error(transparent)]
    Simfile(#[from] SimfileFault),
    /// A Sipfile.
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

/// A fault that a tool found after the package was read: the judge, for example. The error is that
/// of the tool.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct ToolFault(Arc<dyn ToolError>);

/// An error of a tool that can be compared with one of the same type.
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
    /// The fault with the error of a tool.
    pub fn new(error: impl Error + PartialEq + Send + Sync + 'static) -> ToolFault {
        ToolFault(Arc::new(error))
    }

    /// The tool's error, if it has this type.
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
/// Each is rendered as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// All faults, sorted.
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
