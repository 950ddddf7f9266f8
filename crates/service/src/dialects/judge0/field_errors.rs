//! The errors in the fields of a submission.

use super::archive::ArchiveError;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The maximum number of characters of options and arguments.
pub(super) const MAX_OPTION_CHARACTERS: usize = 512;

/// The errors of each field.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct FieldErrors(BTreeMap<&'static str, Vec<FieldFault>>);

impl FieldErrors {
    pub(super) fn add(&mut self, field: &'static str, fault: FieldFault) {
        self.0.entry(field).or_default().push(fault);
    }

    /// The errors of a field.
    pub fn of(&self, field: &str) -> &[FieldFault] {
        self.0.get(field).map_or(&[], Vec::as_slice)
    }
}

/// Why the value of a field is not valid. The messages are Judge0's, because clients show them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldFault {
    /// The field is missing or blank.
    #[error("can't be blank")]
    Blank,
    /// The field does not belong to this kind of submission.
    #[error("must be blank")]
    NotBlank,
    /// The archive cannot be used.
    #[error(transparent)]
    Archive(ArchiveError),
    /// The service does not support this option.
    #[error("this option cannot be enabled")]
    NotEnabled,
    /// Programs have no network.
    #[error("enabling network is not allowed")]
    Network,
    /// Results may not be sent to this address.
    #[error("setting callback is not allowed")]
    Callback,
    /// The value is not a number.
    #[error("is not a number")]
    NotNumber,
    /// The number is below the minimum.
    #[error("must be greater than or equal to {0}")]
    BelowMin(f64),
    /// The number is not above this bound.
    #[error("must be greater than {0}")]
    NotAbove(f64),
    /// The number is above the maximum.
    #[error("must be less than or equal to {max:.decimals$}")]
    AboveMax {
        /// The largest number.
        max: f64,
        /// The decimal places that the message shows.
        decimals: usize,
    },
    /// The text has too many characters.
    #[error("is too long (maximum is {MAX_OPTION_CHARACTERS} characters)")]
    TooLong,
    /// The language is known, but its version is too old to be offered.
    #[error("language with id {0} is archived and cannot be used anymore")]
    ArchivedLanguage(i64),
    /// No language has this number.
    #[error("language with id {0} doesn't exist")]
    UnknownLanguage(i64),
    /// An interpreted language has no compiler that accepts options.
    #[error("setting compiler options is only allowed for compiled languages")]
    OptionsOfInterpreted,
    /// The compiler of the language accepts no options.
    #[error("setting compiler options is only allowed for {}", sentence(.allowed))]
    OptionsOf {
        /// Languages whose compilers take options.
        allowed: Vec<String>,
    },
}

impl Serialize for FieldFault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Joins words into a list, as Rails does.
fn sentence(words: &[String]) -> String {
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}
