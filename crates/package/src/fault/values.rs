//! Faults of YAML files, and of keys and values in any file.
#![allow(
    missing_docs,
    reason = "the message of a variant describes the variant and its fields"
)]

use super::text::{Excerpt, Found, Number, Suggestion, ValueKind, WordList};

/// A fault in the syntax of a YAML file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum YamlFault {
    #[error("not valid YAML: {reason}")]
    Syntax { reason: Excerpt },
    #[error("a second document begins here; only one is allowed")]
    SecondDocument,
    #[error("the alias is inside the value that it repeats")]
    RecursiveAlias,
    #[error("nested deeper than {max} levels")]
    TooDeep { max: usize },
    #[error("{word} is {meaning}")]
    OldWord {
        word: Excerpt,
        meaning: OtherMeaning,
    },
}

/// How tools that follow YAML 1.1 read a word, in contrast to YAML 1.2. `Display` writes the end of
/// a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OtherMeaning {
    #[error("a string in YAML 1.2, but a boolean in YAML 1.1; write true or false, or quote it")]
    Boolean,
    #[error("a string in YAML 1.2, but a number in YAML 1.1; write a decimal number, or quote it")]
    Number,
    #[error("decimal in YAML 1.2, but octal in YAML 1.1; remove the zero, or quote it")]
    Octal,
    #[error("a number in YAML 1.2, but a string in YAML 1.1; write a decimal number, or quote it")]
    String,
}

/// A fault of a key or its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFault {
    #[error("{name} must be a map of keys and values, not {found}")]
    NotMap { name: Excerpt, found: ValueKind },
    #[error("a key must be a string, not {found}")]
    KeyNotText { found: ValueKind },
    #[error("the key {key:?} is repeated; it first occurs in line {first_line}")]
    Repeated { key: Excerpt, first_line: u32 },
    #[error("unknown key {key:?} is ignored{suggestion}")]
    Unknown {
        key: Excerpt,
        suggestion: Suggestion,
    },
    #[error("{key} must be a string, not {found}")]
    NotText { key: Excerpt, found: ValueKind },
    #[error("{key} must be one of {choices}{found}")]
    NotOneOf {
        key: &'static str,
        choices: WordList,
        found: Found,
    },
    #[error("{key} must be a number{found}")]
    NotNumber { key: &'static str, found: Found },
    #[error("{key} must be at least {min}, but is {number}")]
    TooSmall {
        key: &'static str,
        min: Number,
        number: Number,
    },
    #[error("{key} must be more than 0 seconds and at most a day, but is {seconds}")]
    NotTime { key: &'static str, seconds: Number },
    #[error("{key} must be a whole number, at least {min}{found}")]
    NotWhole {
        key: &'static str,
        min: u64,
        found: Found,
    },
    #[error("{key} is too large: {number}")]
    TooLarge { key: &'static str, number: u64 },
    #[error("{key} must be a list of strings, not {found}")]
    NotTexts { key: Excerpt, found: ValueKind },
    #[error("{key} must be a list of strings, but contains {found}")]
    TextsContain { key: Excerpt, found: ValueKind },
}
