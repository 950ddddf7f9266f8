//! One run for a check.

use millibox::{Budget, Moved, Outcome, Request, RunError, RunResult, Supervisor, move_output};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek};
use std::sync::Arc;
use std::time::Duration;

/// No trial takes longer, on a machine that is emulated and busy either.
const LONGEST: Duration = Duration::from_secs(20);
/// More than any trial has to say.
const MAX_OUTPUT_BYTES: u64 = 1 << 16;

/// Why a check failed.
#[derive(Debug)]
pub enum TrialError {
    /// The run was not started, or the sandbox failed.
    Run(RunError),
    /// The supervisor did not start, died, or rejected the request.
    Start(Box<millibox::Error>),
    /// The doctor itself could not do something.
    Io {
        /// What it could not do, as the predicate of "cannot ...".
        action: &'static str,
        /// The kernel's answer.
        error: std::io::Error,
    },
    /// The trial went differently than expected, or this machine lacks something.
    Unexpected {
        /// What happened instead.
        detail: String,
    },
}

impl TrialError {
    /// The check went differently than expected.
    pub fn unexpected(detail: impl Into<String>) -> TrialError {
        TrialError::Unexpected {
            detail: detail.into(),
        }
    }

    fn io<E: Into<std::io::Error>>(action: &'static str) -> impl FnOnce(E) -> TrialError {
        move |error| TrialError::Io {
            action,
            error: error.into(),
        }
    }
}

impl fmt::Display for TrialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrialError::Run(error) => error.fmt(f),
            TrialError::Start(error) => error.fmt(f),
            TrialError::Io { action, error } => write!(f, "cannot {action}: {error}"),
            TrialError::Unexpected { detail } => f.write_str(detail),
        }
    }
}

impl From<millibox::Error> for TrialError {
    fn from(error: millibox::Error) -> TrialError {
        TrialError::Start(Box::new(error))
    }
}

/// What came of it.
pub struct Trial {
    pub result: RunResult,
    /// Standard output and standard error.
    pub output: String,
    /// There was more of it than allowed.
    pub cut: bool,
}

/// A shell command; trials need nothing but the most common tools.
pub fn shell(command: &str) -> Request {
    Request::new("/bin/sh")
        .args(["-c", command])
        .env("PATH", "/usr/bin:/bin")
        .real_time_limit(LONGEST)
}

/// Runs it.
pub fn run(supervisor: &Supervisor, request: Request) -> Result<Trial, TrialError> {
    run_with(supervisor, request, MAX_OUTPUT_BYTES)
}

/// Runs it with a limit on its output.
pub fn run_with(supervisor: &Supervisor, request: Request, most: u64) -> Result<Trial, TrialError> {
    let (from, into) = pipe_with(PipeFlags::CLOEXEC).map_err(TrialError::io("create a pipe"))?;
    let into = Arc::new(into);
    let mut file = tempfile()?;
    let handle = supervisor.run(&request.stdout(into.clone()).stderr(into))?;
    let moved = move_output(&from, &file, &Budget::new(most), &handle)
        .map_err(TrialError::io("copy the output"))?;
    let result = handle.wait()?;
    if let Some(error) = result.outcome.error() {
        return Err(TrialError::Run(error.clone()));
    }
    let mut output = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut output));
    read.map_err(TrialError::io("read the output"))?;
    Ok(Trial {
        result,
        output: String::from_utf8_lossy(&output).into_owned(),
        cut: moved == Moved::LimitReached,
    })
}

/// In memory: a check leaves nothing behind.
fn tempfile() -> Result<File, TrialError> {
    rustix::fs::memfd_create("millibox-doctor", rustix::fs::MemfdFlags::CLOEXEC)
        .map(File::from)
        .map_err(TrialError::io("create a file in memory"))
}

impl Trial {
    /// It must have exited with 0.
    pub fn succeeded(self) -> Result<Trial, TrialError> {
        match self.result.outcome {
            Outcome::Exited(0) => Ok(self),
            _ => Err(self.unexpected()),
        }
    }

    /// The trial ended differently than expected.
    pub fn unexpected(&self) -> TrialError {
        TrialError::unexpected(self.ending())
    }

    /// How the trial ended, and the first line of its output.
    pub fn ending(&self) -> String {
        match self.output.lines().next() {
            Some(line) => format!("the trial ended with \"{}\" and said: {line}", self.result),
            None => format!("the trial ended with \"{}\"", self.result),
        }
    }
}
