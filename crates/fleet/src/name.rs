//! Names of workers, and of runners and front ends of the execution service.

use std::fmt::{self, Display};
use std::str::FromStr;

/// The maximum length of a name, in characters.
const MAX_NAME: usize = 32;

/// The name of a worker: lower-case letters, digits and hyphens. A name is one token of a subject,
/// so it contains neither dots nor wildcards.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerName(String);

/// A text that is no name of a worker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no name of a worker or service; use 1 to 32 lower-case letters, digits and \
     hyphens, beginning with a letter"
)]
pub struct NameError {
    /// The text.
    pub text: String,
}

impl WorkerName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WorkerName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<WorkerName, NameError> {
        let is_known =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let begins = text.starts_with(|first: char| first.is_ascii_lowercase());
        match begins && text.len() <= MAX_NAME && text.bytes().all(is_known) {
            true => Ok(WorkerName(text.to_owned())),
            false => Err(NameError {
                text: text.to_owned(),
            }),
        }
    }
}

impl Display for WorkerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_with_dots_or_wildcards_is_rejected() {
        for right in ["a", "box-1", &"a".repeat(MAX_NAME)] {
            assert_eq!(right.parse::<WorkerName>().unwrap().as_str(), right);
        }
        let long = "a".repeat(MAX_NAME + 1);
        for wrong in ["", "-", "1a", "a.b", "*", ">", "a b", "A", "ü", &long] {
            assert!(wrong.parse::<WorkerName>().is_err(), "{wrong}");
        }
    }
}
