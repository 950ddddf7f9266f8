//! What clap says of a bad command line, in one line.

use crate::failure::{self, complain};
use clap::error::{Error, ErrorKind};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Prints help, version or error; the exit status.
pub fn report(error: &Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            match error.print().and_then(|()| std::io::stdout().flush()) {
                // A closed pipe (`| head`) is nobody's mistake.
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    complain(format_args!("millibox: {}", failure::unwritten(error)));
                    ExitCode::from(failure::SANDBOX)
                }
                _ => ExitCode::SUCCESS,
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(failure::SANDBOX)
        }
        _ => {
            complain(format_args!("millibox: {}", why(error)));
            ExitCode::from(failure::SANDBOX)
        }
    }
}

/// Why a command line was refused, in one line.
pub fn why(error: &Error) -> String {
    one_line(&error.to_string())
}

/// Our words, without what asks for help where `help` is asked for it already: clap takes that for a subcommand.
pub fn words(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let says = |index: usize, word: &str| words.get(index).is_some_and(|said| said == word);
    if says(1, "help") || (says(1, "problem") && says(2, "help")) {
        words.retain(|word| word != "--help" && word != "-h");
    }
    words
}

/// Error and tips of clap's many lines, without the usage.
fn one_line(text: &str) -> String {
    let end = text.find("\nUsage:").or_else(|| text.find("\nFor more information")).unwrap_or(text.len());
    let text = text[..end].trim();
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut joined = String::new();
    for line in lines {
        match line.strip_prefix("tip: ") {
            Some(tip) => joined = format!("{joined}; {tip}"),
            None if joined.is_empty() => joined = line.to_owned(),
            None => joined = format!("{joined} {line}"),
        }
    }
    joined
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

    #[test]
    fn one_line_is_left() {
        let text = "error: invalid value 'v3' for '--backend <WHICH>'\n  [possible values: auto, rlimit]\n\n  \
                    tip: a similar value exists: 'auto'\n\nUsage: millibox\n\nFor more information, try '--help'.\n";
        assert_eq!(
            one_line(text),
            "invalid value 'v3' for '--backend <WHICH>' [possible values: auto, rlimit]; a similar value exists: 'auto'"
        );
    }
}
