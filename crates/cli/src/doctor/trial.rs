//! One run for a check.

use millibox::{Budget, Moved, Outcome, Request, RunResult, Supervisor, move_output};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{Read, Seek};
use std::sync::Arc;
use std::time::Duration;

/// No trial takes longer, on a machine that is emulated and busy either.
const LONGEST: Duration = Duration::from_secs(20);
/// More than any trial has to say.
const MOST_OUTPUT: u64 = 1 << 16;

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
    Request::new("/bin/sh").args(["-c", command]).env("PATH", "/usr/bin:/bin").real_time_limit(LONGEST)
}

/// Runs it.
pub fn run(supervisor: &Supervisor, request: Request) -> Result<Trial, String> {
    run_with(supervisor, request, MOST_OUTPUT)
}

/// Runs it with a limit on its output.
pub fn run_with(supervisor: &Supervisor, request: Request, most: u64) -> Result<Trial, String> {
    let (from, into) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| format!("cannot make a pipe: {errno}"))?;
    let into = Arc::new(into);
    let mut file = tempfile()?;
    let handle = supervisor.run(&request.stdout(into.clone()).stderr(into)).map_err(|error| error.to_string())?;
    let moved = move_output(&from, &file, &Budget::new(most), &handle).map_err(|error| error.to_string())?;
    let result = handle.wait().map_err(|error| error.to_string())?;
    if let Some(error) = result.outcome.error() {
        return Err(error.to_string());
    }
    let mut output = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut output)).map_err(|error| error.to_string())?;
    Ok(Trial { result, output: String::from_utf8_lossy(&output).into_owned(), cut: moved == Moved::LimitReached })
}

/// In memory: a check leaves nothing behind.
fn tempfile() -> Result<File, String> {
    rustix::fs::memfd_create("millibox-doctor", rustix::fs::MemfdFlags::CLOEXEC)
        .map(File::from)
        .map_err(|errno| format!("cannot make a file in memory: {errno}"))
}

impl Trial {
    /// It must have exited with 0.
    pub fn succeeded(self) -> Result<Trial, String> {
        match self.result.outcome {
            Outcome::Exited(0) => Ok(self),
            _ => Err(self.unexpected()),
        }
    }

    /// What happened, where something else should have.
    pub fn unexpected(&self) -> String {
        match self.output.lines().next() {
            Some(line) => format!("the trial ended with \"{}\" and said: {line}", self.result),
            None => format!("the trial ended with \"{}\"", self.result),
        }
    }
}
