//! The errors of editing a package's files.

use super::Faults;
use super::text::Excerpt;

/// Why a limit cannot be written into a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(Faults),
    /// The file is not valid YAML.
    #[error("not valid YAML: {reason}")]
    Yaml {
        /// The reason.
        reason: Excerpt,
    },
    /// The time limit of problem.yaml is a list or a map.
    #[error("`time_limit` is not a number; write it yourself")]
    TimeLimit,
    /// `limits` of problem.yaml is a list or a string.
    #[error("`limits` is not a map; write the time limit yourself")]
    NotMap,
    /// `limits` of problem.yaml cannot be changed safely.
    #[error("`limits` is written in an unusual way; add time_limit yourself")]
    UnusualLimits,
    /// A limit of a Simfile is in quotes.
    #[error("the limit {text:?} is in quotes; remove the quotes")]
    QuotedLimit {
        /// The limit.
        text: Excerpt,
    },
    /// The reader and the editor disagree on the position of a value.
    #[error("the position of `{key}` is unknown")]
    Position {
        /// The key.
        key: &'static str,
    },
}
