//! Clap's errors in one line.

use crate::failure::{self, complain};
use clap::error::{Error, ErrorKind};
use std::io::Write;
use std::process::ExitCode;

/// Prints help, version or error, and returns the exit status. `program` begins the message of an
/// error.
pub fn report(program: &str, error: &Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            match error.print().and_then(|()| std::io::stdout().flush()) {
                // A closed pipe (`| head`) is not an error.
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    complain(format_args!("{program}: {}", failure::unwritten(error)));
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
            complain(format_args!("{program}: {}", why(error)));
            ExitCode::from(failure::SANDBOX)
        }
    }
}

/// The reason why clap rejected a command line, in one line.
pub fn why(error: &Error) -> String {
    one_line(&error.to_string())
}

/// The error and its tips out of clap's many lines, without the usage.
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
    fn error_of_many_lines_becomes_one_line() {
        let text = "error: invalid value 'v3' for '--backend <WHICH>'\n  [possible values: auto, rlimit]\n\n  \
                    tip: a similar value exists: 'auto'\n\nUsage: millibox\n\nFor more information, try '--help'.\n";
        assert_eq!(
            one_line(text),
            "invalid value 'v3' for '--backend <WHICH>' [possible values: auto, rlimit]; a similar value exists: 'auto'"
        );
    }
}
