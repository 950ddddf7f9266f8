//! Golden files: the expected messages of a crate, one line per variant.
//!
//! `MILLIBOX_GOLDEN=write` makes a test rewrite its files. Review the changes.
#![forbid(unsafe_code)]

use std::fmt::Display;
use std::path::Path;

/// Compares messages with the file `tests/golden/NAME` of the crate in `directory`, which is
/// `env!("CARGO_MANIFEST_DIR")`. Each message is one line of the form `VARIANT: MESSAGE`, in which
/// line breaks are shown as `\n`.
///
/// # Panics
///
/// The messages and the file differ.
pub fn assert_messages(directory: &str, name: &str, messages: &[(&str, &dyn Display)]) {
    let lines = messages
        .iter()
        .map(|(variant, message)| format!("{variant}: {message}").replace('\n', "\\n") + "\n");
    let found: String = lines.collect();
    assert_text(directory, name, &found);
}

/// Compares a string with the file `tests/golden/NAME` of the crate in `directory`, line by line.
///
/// # Panics
///
/// The text and the file differ.
pub fn assert_text(directory: &str, name: &str, found: &str) {
    let path = Path::new(directory).join("tests/golden").join(name);
    if std::env::var_os("MILLIBOX_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, found).expect("the golden file is writable");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let hint = format!("{name} differs; MILLIBOX_GOLDEN=write rewrites it");
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected, "{hint}");
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{hint}");
}
