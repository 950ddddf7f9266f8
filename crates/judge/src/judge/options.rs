//! The caller's settings for judging.

use crate::interactive::Mode;
use std::time::Duration;

/// Settings that override those of the package.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// CPU time limit of every test, instead of the package's.
    pub time_limit: Option<Duration>,
    /// Memory limit of every test in bytes, instead of the package's.
    pub memory_limit: Option<u64>,
    /// Judges only the tests whose names match.
    pub tests: Option<glob::Pattern>,
    /// Stops judging a submission at its first test that is not accepted.
    pub fail_fast: bool,
    /// The connection between submission and interactor.
    pub mode: Mode,
    /// Names of submissions that the caller specified by name. If their language cannot be used
    /// here, that is a judge error. The judge skips other submissions in such a language.
    pub named: Vec<String>,
}
