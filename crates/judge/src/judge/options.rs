//! The caller's settings for judging.

use crate::interactive::Mode;
use std::time::Duration;

/// Settings that override those of the package.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// CPU time limit of every test, which replaces the package's limit.
    pub time_limit: Option<Duration>,
    /// Memory limit of every test in bytes, which replaces the package's limit.
    pub memory_limit: Option<u64>,
    /// Judges only the tests whose names match.
    pub tests: Option<glob::Pattern>,
    /// Stops judging a submission at its first test that is not accepted.
    pub fail_fast: bool,
    /// Runs submissions as copies of a prepared interpreter if their language allows this. Each
    /// submission has its own template.
    pub prepared: bool,
    /// The connection between submission and interactor.
    pub mode: Mode,
    /// Submissions that the caller specified by name. If the language of one of them cannot be used
    /// here, the result is a judge error. The judge skips other submissions in such a language.
    pub named: Vec<String>,
}
