//! The failure of a command, and printing that does not panic.

use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat, makedev};
use std::fmt;
use std::os::fd::AsFd;
use std::process::ExitCode;

/// Exit status if the sandbox failed or an option is wrong, as in timeout(1) and docker-run(1).
pub const SANDBOX: u8 = 125;
/// Exit status if the program exists but cannot be executed (POSIX shells).
pub const CANNOT_EXECUTE: u8 = 126;
/// Exit status if the program was not found (POSIX shells).
pub const NOT_FOUND: u8 = 127;
/// Exit status if the reader closed standard output, as head(1) does. It is the status of a
/// process that SIGPIPE killed; Rust's runtime ignores that signal. No message is printed.
pub const UNREAD: u8 = 128 + libc::SIGPIPE as u8;

/// A message of one line for standard error, and the exit status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The exit status.
    pub status: u8,
    /// The step that failed, for reports.
    pub step: &'static str,
    /// The message, without line breaks.
    pub message: String,
}

impl Failure {
    /// The sandbox failed.
    pub fn sandbox(why: impl fmt::Display) -> Failure {
        Failure {
            status: SANDBOX,
            step: "sandbox",
            message: one_line(&why.to_string()),
        }
    }

    /// An option is wrong; the message names it.
    pub fn option(why: impl fmt::Display) -> Failure {
        Failure {
            step: "options",
            ..Failure::sandbox(why)
        }
    }

    /// Fails if an option of the form NAME=VALUE was given twice for the same name.
    ///
    /// # Errors
    /// The name was given twice.
    pub fn unless_once<T>(option: &str, given: &[(String, T)]) -> Result<(), Failure> {
        for (index, (name, _)) in given.iter().enumerate() {
            if given[..index].iter().any(|(other, _)| other == name) {
                return Err(Failure::option(format!(
                    "{option} {name}: given more than once; give it once"
                )));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<millibox::Error> for Failure {
    fn from(error: millibox::Error) -> Failure {
        let step = match &error {
            millibox::Error::Start(_) => "start",
            millibox::Error::Died(_) => "supervisor",
            millibox::Error::Request(_) => "request",
            _ => "sandbox",
        };
        Failure {
            step,
            ..Failure::sandbox(error)
        }
    }
}

/// A thread cannot be started.
pub fn no_thread(what: &str, error: &std::io::Error) -> Failure {
    Failure::sandbox(format!(
        "cannot start a thread {what}: {error}; raise the process limit (ulimit -u, pids.max) \
         for millibox"
    ))
}

/// Prints a line on standard output. (`println!` panics if that is closed or full.)
///
/// # Errors
/// The line cannot be written.
pub fn say(line: impl fmt::Display) -> Result<(), Failure> {
    use std::io::Write;
    // Several lines are one write, so that a reader may close the pipe after the first one.
    let line = format!("{line}\n");
    std::io::stdout()
        .write_all(line.as_bytes())
        .map_err(unwritten)
}

/// Prints output that the user requested, such as JSON. It is an error if standard output was
/// closed at the start.
///
/// # Errors
/// The text cannot be written.
pub fn answer(text: impl fmt::Display) -> Result<(), Failure> {
    open_since_the_start(std::io::stdout()).map_err(unwritten)?;
    say(text)
}

/// The failure to write to standard output.
pub fn unwritten(error: std::io::Error) -> Failure {
    let status = if error.kind() == std::io::ErrorKind::BrokenPipe {
        UNREAD
    } else {
        SANDBOX
    };
    Failure {
        status,
        ..Failure::sandbox(format!("cannot write to standard output: {error}"))
    }
}

/// Prints a line on standard error, or nothing if that is closed. (`eprintln!` panics then.)
pub fn complain(line: impl fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The exit status of a command. Prints its failure after the name of the program, unless the
/// reader closed standard output.
pub fn exit_status(program: &str, outcome: Result<ExitCode, Failure>) -> ExitCode {
    outcome.unwrap_or_else(|failure| {
        if failure.status != UNREAD {
            complain(format_args!("{program}: {failure}"));
        }
        ExitCode::from(failure.status)
    })
}

/// Joins the lines of a string, so that a log has one line for each event.
pub fn one_line(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the standard stream, or an error if the process was started with it closed.
///
/// Before `main`, Rust opens /dev/null for reading and writing in place of a closed stream, so
/// output would be lost silently. Programs that discard output may open /dev/null in the same way
/// (Python's DEVNULL, daemon(3)), so check only output that the user requested with an option.
///
/// # Errors
/// The stream was closed, or cannot be inspected.
pub fn open_since_the_start<F: AsFd>(stream: F) -> std::io::Result<F> {
    let stat = fstat(&stream)?;
    let is_null = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice
        && stat.st_rdev == makedev(1, 3);
    if is_null && fcntl_getfl(&stream)? & OFlags::RWMODE == OFlags::RDWR {
        return Err(std::io::Error::other(
            "it is closed; redirect it to a file or a pipe",
        ));
    }
    Ok(stream)
}
