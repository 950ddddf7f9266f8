//! The command line before clap parses it, and clap's errors.

use clap::error::{ContextKind, ContextValue, Error};
pub use millibox_cli_support::usage::{message, report};
use std::ffi::OsString;

/// The command line without `--help` and `-h` after the subcommand `help`: clap would interpret
/// them as a subcommand.
pub fn words(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let is_at = |index: usize, word: &str| words.get(index).is_some_and(|found| found == word);
    if is_at(1, "help") || (is_at(1, "problem") && is_at(2, "help")) {
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
    fn help_after_help_is_removed() {
        for (line, expected) in [
            ("millibox help run --help", "millibox help run"),
            ("millibox problem help gen -h", "millibox problem help gen"),
            ("millibox help --help", "millibox help"),
            ("millibox run --help", "millibox run --help"),
            ("millibox run -- help --help", "millibox run -- help --help"),
        ] {
            let words = words(line.split(' ').map(OsString::from));
            assert_eq!(words, expected.split(' ').collect::<Vec<_>>());
        }
    }
}
