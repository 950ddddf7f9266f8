//! What a conversion leaves out, and why a package cannot be converted.

use crate::Cause;
use crate::fault::{Fault, Faults};
use crate::machine::is_of_machine;
use std::io;
use std::path::PathBuf;

/// A part of another package that the new package lacks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Loss {
    /// A file or directory that has no counterpart.
    #[error("{0}: not taken over")]
    File(String),
    /// A setting that has no counterpart.
    #[error("{file}: the setting {key} is not taken over")]
    Setting {
        /// The file.
        file: String,
        /// The name of the setting.
        key: String,
    },
    /// A statement in a format that is not supported.
    #[error("{0}: the statement is not taken over; add it as PDF or Markdown")]
    Statement(String),
    /// A test that belongs to no group of the package's settings.
    #[error("{0}: the test is not taken over, because its answer is missing")]
    NoAnswer(String),
    /// Tests have different time limits, and the new package has the largest.
    #[error("tests have time limits from {least} to {most} ms; all have {most} ms now")]
    TimeLimits {
        /// The least limit in milliseconds.
        least: u64,
        /// The largest limit in milliseconds.
        most: u64,
    },
    /// Tests have different memory limits, and the new package has the largest.
    #[error("tests have memory limits from {least} to {most} MiB; all have {most} MiB now")]
    MemoryLimits {
        /// The least limit in MiB.
        least: u64,
        /// The largest limit in MiB.
        most: u64,
    },
    /// The comparison of answers was replaced by a similar one.
    #[error("answers were compared by {0}; the default output validator compares them now")]
    Comparison(String),
    /// Points were given for parts of a group.
    #[error("group {group}: the rule {rule} is not taken over; the lowest result counts now")]
    Rule {
        /// The group.
        group: String,
        /// The rule.
        rule: String,
    },
    /// A group required another group that is not judged before it.
    #[error("group {group}: the dependency on {on} is not taken over")]
    Dependency {
        /// The group.
        group: String,
        /// The required group.
        on: String,
    },
    /// A submission without a known verdict.
    #[error("{0}: the submission is not taken over, because its expected verdict is unknown")]
    Verdict(String),
}

/// Why a package of another system cannot be converted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ForeignError {
    /// The archive cannot be unpacked.
    #[error("the archive cannot be unpacked{}", shown(.0.as_ref().as_ref()))]
    Archive(Box<Option<Faults>>),
    /// A file cannot be read or written.
    #[error("{}: {cause}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The reason.
        cause: Cause<io::Error>,
    },
    /// A settings file is malformed.
    #[error("{file}: {why}")]
    Malformed {
        /// The file.
        file: String,
        /// The reason.
        why: String,
    },
    /// A file that the package names, or needs, does not exist.
    #[error("{0} does not exist in the package; add it")]
    Missing(String),
    /// The package has no tests.
    #[error("no tests exist in {0}; generate them before the import")]
    NoTests(String),
    /// The package has too many tests.
    #[error("the package has more than {0} tests")]
    TooManyTests(usize),
    /// The problem is of a kind that cannot be converted.
    #[error("problems of the kind {0} cannot be imported; write the package in the ICPC format")]
    Kind(String),
    /// The checker cannot be converted.
    #[error("{0}: a checker must be a source in C or C++; translate it, or remove it")]
    Checker(String),
    /// The checker needs a header that the package lacks.
    #[error("{checker} includes testlib.h; add this file to the directory of the checker")]
    NoTestlib {
        /// The checker.
        checker: String,
    },
}

impl ForeignError {
    /// Whether the machine failed, for example because its disk is full. The package may be
    /// faultless.
    pub fn is_of_machine(&self) -> bool {
        match self {
            ForeignError::Archive(faults) => {
                let mut faults = faults.iter().flat_map(Faults::iter);
                faults.any(Fault::is_of_machine)
            }
            ForeignError::System { cause, .. } => is_of_machine(cause),
            _ => false,
        }
    }
}

fn shown(faults: Option<&Faults>) -> String {
    faults.map_or(String::new(), |faults| format!(": {faults}"))
}
