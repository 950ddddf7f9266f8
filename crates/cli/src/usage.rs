//! The command line before clap reads it, and what clap says of a bad one.

use clap::error::{ContextKind, ContextValue, Error};
pub use millibox_cli_support::usage::{report, why};
use std::ffi::OsString;

/// Our words, without what asks for help where `help` is asked for it already: clap takes that for
/// a subcommand.
pub fn words(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let says = |index: usize, word: &str| words.get(index).is_some_and(|said| said == word);
    if says(1, "help") || (says(1, "problem") && says(2, "help")) {
        words.retain(|word| word != "--help" && word != "-h");
    }
    words
}

/// Adds a hint to the error if the unknown subcommand is `bench`: `millibox-lab` replaced it.
pub fn with_hint(mut error: Error) -> Error {
    let unknown = error.get(ContextKind::InvalidSubcommand);
    if unknown == Some(&ContextValue::String("bench".to_owned())) {
        let hint = "the experiments are run by the executable `millibox-lab`";
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![hint.into()]),
        );
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_asked_for_once() {
        for (said, taken) in [
            ("millibox help run --help", "millibox help run"),
            ("millibox problem help gen -h", "millibox problem help gen"),
            ("millibox help --help", "millibox help"),
            ("millibox run --help", "millibox run --help"),
            ("millibox run -- help --help", "millibox run -- help --help"),
        ] {
            let words = words(said.split(' ').map(OsString::from));
            assert_eq!(words, taken.split(' ').collect::<Vec<_>>());
        }
    }
}
