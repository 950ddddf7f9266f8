//! One run for a check.

use crate::values::shown_size;
use millibox::{Budget, Moved, Outcome, Request, RunError, RunResult, Supervisor, move_output};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek};
use std::sync::Arc;
use std::time::Duration;

/// The real-time limit of a trial. Busy and emulated machines need less.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(20);
/// The limit on the output of a trial.
const MAX_OUTPUT_BYTES: u64 = 1 << 16;

/// Why a check failed.
#[derive(Debug)]
pub enum TrialError {
    /// The run was not started, or the sandbox failed.
    Run(RunError),
    /// The supervisor did not start, died, or rejected the request.
    Start(Box<millibox::Error>),
    /// A system call of the doctor failed.
    Io {
        /// The action that failed, as the predicate of "cannot ...".
        action: &'static str,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// The host has reserved huge pages, which runs can take beyond their memory limit.
    HugePages {
        /// The size of all reserved pages, in bytes.
        bytes: u64,
    },
    /// The trial did not end as expected, or this machine lacks a feature.
    Unexpected {
        /// A description of what happened instead.
        detail: String,
    },
}

impl TrialError {
    /// An error of a check that did not end as expected.
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
            TrialError::HugePages { bytes } => write!(
                f,
                "{} are reserved, which runs can take beyond their memory limit",
                shown_size(*bytes)
            ),
            TrialError::Unexpected { detail } => f.write_str(detail),
        }
    }
}

impl From<millibox::Error> for TrialError {
    fn from(error: millibox::Error) -> TrialError {
        TrialError::Start(Box::new(error))
    }
}

/// The result of a trial.
pub struct Trial {
    pub result: RunResult,
    /// Standard output and standard error.
    pub output: String,
    /// The program wrote more than the limit.
    pub truncated: bool,
}

/// A shell command. Trials use only the most common tools.
pub fn shell(command: &str) -> Request {
    Request::new("/bin/sh")
        .args(["-c", command])
        .env("PATH", "/usr/bin:/bin")
        .real_time_limit(TRIAL_TIMEOUT)
}

/// Runs a request.
pub fn run(supervisor: &Supervisor, request: Request) -> Result<Trial, TrialError> {
    run_with(supervisor, request, MAX_OUTPUT_BYTES)
}

/// Runs a request with a limit on its output.
pub fn run_with(
    supervisor: &Supervisor,
    request: Request,
    max_bytes: u64,
) -> Result<Trial, TrialError> {
    let (output_end, program_end) =
        pipe_with(PipeFlags::CLOEXEC).map_err(TrialError::io("create a pipe"))?;
    let program_end = Arc::new(program_end);
    let mut file = tempfile()?;
    let handle = supervisor.run(&request.stdout(program_end.clone()).stderr(program_end))?;
    let moved = move_output(&output_end, &file, &Budget::new(max_bytes), &handle)
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
        truncated: moved == Moved::LimitReached,
    })
}

/// A file in memory, so that a check leaves no file behind.
fn tempfile() -> Result<File, TrialError> {
    rustix::fs::memfd_create("millibox-doctor", rustix::fs::MemfdFlags::CLOEXEC)
        .map(File::from)
        .map_err(TrialError::io("create a file in memory"))
}

impl Trial {
    /// The trial, or an error if the program did not exit with status 0.
    pub fn succeeded(self) -> Result<Trial, TrialError> {
        match self.result.outcome {
            Outcome::Exited(0) => Ok(self),
            _ => Err(self.unexpected()),
        }
    }

    /// The trial did not end as expected.
    pub fn unexpected(&self) -> TrialError {
        TrialError::unexpected(self.ending())
    }

    /// How the trial ended, and the first line of its output.
    pub fn ending(&self) -> String {
        match self.output.lines().next() {
            Some(line) => format!("the trial ended with \"{}\" and wrote: {line}", self.result),
            None => format!("the trial ended with \"{}\"", self.result),
        }
    }
}
