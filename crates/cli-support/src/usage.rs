//! Clap's errors in one line.

use crate::failure::{self, complain};
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use std::error::Error as _;
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
            complain(format_args!("{program}: {}", message(error)));
            ExitCode::from(failure::SANDBOX)
        }
    }
}

/// The message for a rejected command line, in one line.
pub fn message(error: &Error) -> String {
    let context = |kind| context(error, kind);
    let mut line = sentence(error);
    // The error of the value's parser has the details.
    if let Some(source) = error.source() {
        line = format!("{line}: {}", failure::one_line(&source.to_string()));
    }
    for (kind, title) in [
        (ContextKind::ValidValue, "possible values"),
        (ContextKind::ValidSubcommand, "subcommands"),
    ] {
        if let Some(values) = context(kind) {
            line = format!("{line} [{title}: {values}]");
        }
    }
    for (kind, what) in [
        (ContextKind::SuggestedSubcommand, "subcommand"),
        (ContextKind::SuggestedArg, "argument"),
        (ContextKind::SuggestedValue, "value"),
    ] {
        if let Some(similar) = context(kind) {
            line = format!("{line}; a similar {what} exists: '{similar}'");
        }
    }
    match context(ContextKind::Suggested) {
        Some(tips) => format!("{line}; {tips}"),
        None => line,
    }
}

/// The error without values and tips. clap has no public text of one line.
fn sentence(error: &Error) -> String {
    let context = |kind| context(error, kind);
    let argument = context(ContextKind::InvalidArg);
    let value = context(ContextKind::InvalidValue);
    let subcommand = context(ContextKind::InvalidSubcommand);
    match (error.kind(), argument.or(subcommand), value) {
        (ErrorKind::InvalidValue, Some(argument), None) => {
            format!("a value is required for '{argument}' but none was supplied")
        }
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation, Some(argument), value) => {
            format!(
                "invalid value '{}' for '{argument}'",
                value.unwrap_or_default()
            )
        }
        (ErrorKind::TooManyValues, Some(argument), Some(value)) => {
            format!("unexpected value '{value}' for '{argument}' found; no more were expected")
        }
        (ErrorKind::UnknownArgument, Some(argument), _) => {
            format!("unexpected argument '{argument}' found")
        }
        (ErrorKind::InvalidSubcommand, Some(subcommand), _) => {
            format!("unrecognized subcommand '{subcommand}'")
        }
        (ErrorKind::MissingSubcommand, Some(subcommand), _) => {
            format!("'{subcommand}' requires a subcommand")
        }
        (ErrorKind::NoEquals, Some(argument), _) => {
            format!("'{argument}' needs its value after an equals sign")
        }
        (ErrorKind::MissingRequiredArgument, Some(arguments), _) => {
            format!("the following required arguments were not provided: {arguments}")
        }
        (ErrorKind::ArgumentConflict, Some(argument), _) => match context(ContextKind::PriorArg) {
            Some(prior) if prior == argument => {
                format!("the argument '{argument}' cannot be used multiple times")
            }
            Some(prior) => format!("the argument '{argument}' cannot be used with '{prior}'"),
            None => format!("the argument '{argument}' cannot be used with the others"),
        },
        (ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues, Some(argument), _) => {
            let wanted =
                context(ContextKind::MinValues).or(context(ContextKind::ExpectedNumValues));
            let given = context(ContextKind::ActualNumValues).unwrap_or_default();
            format!(
                "'{argument}' requires {} values, and {given} were given",
                wanted.unwrap_or_default()
            )
        }
        (kind, argument, _) => {
            let what = kind.as_str().unwrap_or("the command line is not valid");
            argument.map_or(what.to_owned(), |argument| format!("{what}: '{argument}'"))
        }
    }
}

/// The context that clap stores for an error, as text; `None` if it is absent or empty.
fn context(error: &Error, kind: ContextKind) -> Option<String> {
    let text = match error.get(kind)? {
        ContextValue::String(text) => text.clone(),
        ContextValue::Strings(texts) => texts.join(", "),
        ContextValue::StyledStr(text) => text.to_string(),
        ContextValue::StyledStrs(texts) => texts
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; "),
        ContextValue::Number(number) => number.to_string(),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_the_command_line_is_one_line() {
        #[derive(Debug, clap::Parser)]
        struct Line {
            #[arg(long, value_parser = ["auto", "rlimit"])]
            backend: Option<String>,
            #[arg(long, value_parser = clap::value_parser!(u32))]
            uid: Option<u32>,
            #[arg(required = true)]
            program: String,
        }
        let why = |words: &str| {
            let words = words.split(' ').filter(|word| !word.is_empty());
            message(
                &<Line as clap::Parser>::try_parse_from(["millibox"].into_iter().chain(words))
                    .unwrap_err(),
            )
        };
        for (words, line) in [
            (
                "",
                "the following required arguments were not provided: <PROGRAM>",
            ),
            (
                "--backend autp x",
                "invalid value 'autp' for '--backend <BACKEND>' [possible values: auto, rlimit]; a \
                 similar value exists: 'auto'",
            ),
            (
                "--uid x y",
                "invalid value 'x' for '--uid <UID>': invalid digit found in string",
            ),
            (
                "x --uid",
                "a value is required for '--uid <UID>' but none was supplied",
            ),
            (
                "--uid 1 --uid 2 x",
                "the argument '--uid <UID>' cannot be used multiple times",
            ),
            (
                "--socket=0 x",
                "unexpected argument '--socket' found; to pass '--socket' as a value, use '-- \
                 --socket'",
            ),
            (
                "--uod 1",
                "unexpected argument '--uod' found; a similar argument exists: '--uid'",
            ),
        ] {
            assert_eq!(why(words), line, "{words}");
        }
    }
}
