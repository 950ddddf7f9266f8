//! Why there is no result.

use crate::report_file::open_since_the_start;
use std::fmt;

/// Exit status when the sandbox or its options failed, as timeout(1) and docker-run(1)
/// have it.
pub const SANDBOX: u8 = 125;
/// Exit status when the program is there and cannot be executed (POSIX shells).
pub const CANNOT_EXECUTE: u8 = 126;
/// Exit status when the program is not there (POSIX shells).
pub const NOT_FOUND: u8 = 127;
/// Exit status when nobody reads our standard output any more, as head(1) does when it has seen enough: that of who was
/// ended by SIGPIPE, which Rust's runtime ignores. Nothing is told; who closed the pipe knows.
pub const UNREAD: u8 = 128 + libc::SIGPIPE as u8;

/// What is told on standard error, in one line, and the exit status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub status: u8,
    /// The step, for reports.
    pub step: &'static str,
    pub message: String,
}

impl Failure {
    /// The sandbox failed.
    pub fn sandbox(why: impl fmt::Display) -> Failure {
        Failure { status: SANDBOX, step: "sandbox", message: one_line(&why.to_string()) }
    }

    /// An option makes no sense; the message names it.
    pub fn option(why: impl fmt::Display) -> Failure {
        Failure { step: "options", ..Failure::sandbox(why) }
    }

    /// A failure if an option that is given for each of several names is given twice for one.
    pub fn unless_once<T>(option: &str, given: &[(String, T)]) -> Result<(), Failure> {
        for (index, (name, _)) in given.iter().enumerate() {
            if given[..index].iter().any(|(other, _)| other == name) {
                return Err(Failure::option(format!("{option} {name}: given more than once; give it once")));
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
            millibox::Error::NoSupervisor(_)
            | millibox::Error::NotExecuted { .. }
            | millibox::Error::NotSupervisor { .. }
            | millibox::Error::Start(_) => "start",
            millibox::Error::Died(_) => "supervisor",
            millibox::Error::Request(_) => "request",
            _ => "sandbox",
        };
        Failure { step, ..Failure::sandbox(error) }
    }
}

impl From<millibox_judge::judge::MachineError> for Failure {
    fn from(error: millibox_judge::judge::MachineError) -> Failure {
        match error {
            millibox_judge::judge::MachineError::Supervisor(error) => error.into(),
            error => Failure { step: "request", ..Failure::sandbox(error) },
        }
    }
}

/// There is no thread for something.
pub fn no_thread(what: &str, error: &std::io::Error) -> Failure {
    Failure::sandbox(format!(
        "cannot start a thread {what}: {error}; raise the process limit (ulimit -u, pids.max) around millibox"
    ))
}

/// A line on standard output: `println!` panics where nobody reads, or nothing more can be written.
pub fn say(line: impl fmt::Display) -> Result<(), Failure> {
    use std::io::Write;
    writeln!(std::io::stdout(), "{line}").map_err(unwritten)
}

/// The same for what was asked for there, as JSON is: that standard output is closed is an error, then.
pub fn answer(text: impl fmt::Display) -> Result<(), Failure> {
    open_since_the_start(std::io::stdout()).map_err(unwritten)?;
    say(text)
}

/// Standard output did not take what was to be said.
pub fn unwritten(error: std::io::Error) -> Failure {
    let status = if error.kind() == std::io::ErrorKind::BrokenPipe { UNREAD } else { SANDBOX };
    Failure { status, ..Failure::sandbox(format!("cannot write to standard output: {error}")) }
}

/// A line on standard error, or nothing if nobody reads it any more: `eprintln!` panics then.
pub fn complain(line: impl fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The text without line breaks: who reads a log wants one line for one event.
pub fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}
