//! The result of a check.

use crate::convention::Answer;
use millibox::Figures;

/// A checker's answer, and the resources that the checker used if it is a program.
#[derive(Debug)]
#[non_exhaustive]
pub struct CheckResult {
    /// The answer.
    pub answer: Answer,
    /// The figures of the checker's run. `None` for a built-in checker.
    pub figures: Option<Figures>,
}
