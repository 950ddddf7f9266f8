//! Examples in problem statements.

use serde::{Deserialize, Serialize};

/// An example of input and output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The input.
    pub input: String,
    /// The output.
    pub output: String,
}
