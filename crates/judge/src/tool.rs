//! Runs a program of a package that is not a submission: a generator, an input validator, or the
//! model solution when it produces answers.
//!
//! Such a run has no verdict. It succeeds or fails.

use crate::batch::judge_run;
use crate::cancel::CancelToken;
use crate::convention::printable;
use crate::failure::{JudgeFailure, RunFault};
use crate::pump::{Input, Output, Sink, pump};
use crate::verdict::Verdict;
use millibox::{Supervisor, World};
use millibox_languages::program::{Executable, Limits};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;

pub use crate::pump::memory_file;

/// Number of bytes that are kept from the beginning of standard error.
const STDERR_BYTES: usize = 4096;

/// A run of a package's program.
#[derive(Debug)]
pub struct ToolRun<'a> {
    /// The program.
    pub executable: &'a Executable,
    /// The program's world, which contains at least everything in [`Executable::world`].
    pub world: &'a World,
    /// Arguments after the executable's own.
    pub arguments: &'a [OsString],
    /// Variables added to the executable's environment.
    pub environment: &'a [(&'a str, String)],
    /// The program's limits. The needs of its language suite are added to them.
    pub limits: &'a Limits,
    /// Standard input. `None` means that it is empty.
    pub input: Option<&'a File>,
    /// The file for standard output.
    pub output: &'a File,
}

/// The result of a [`ToolRun`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolResult {
    /// Why the program failed. `None` means that it exited with 0 within its limits.
    pub failure: Option<ToolFailure>,
    /// The exit status. `None` means that the program did not exit.
    pub exit_code: Option<i32>,
}

/// Why a package's program failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault}{}{stderr}", if .stderr.is_empty() { "" } else { ": " })]
#[non_exhaustive]
pub struct ToolFailure {
    /// How the run ended.
    pub fault: RunFault,
    /// The beginning of the program's standard error, made printable. It may be empty.
    pub stderr: String,
}

impl ToolFailure {
    /// Creates a failure with the beginning of the program's standard error, which may be empty.
    pub fn new(fault: RunFault, stderr: String) -> ToolFailure {
        ToolFailure { fault, stderr }
    }
}

/// Runs a package's program to its end.
///
/// # Errors
/// The sandbox failed, or a pipe or file cannot be used.
pub fn run(supervisor: &Supervisor, run: &ToolRun<'_>) -> Result<ToolResult, JudgeFailure> {
    let mut request = run
        .executable
        .request_in(run.world, run.limits, run.arguments);
    for (name, value) in run.environment {
        request = request.env(name, value);
    }
    let mut input = match run.input {
        None => Input::none(),
        Some(file) => {
            let (input, stdin) = Input::new(file.as_fd())?;
            request = request.stdin(stdin);
            input
        }
    };
    let mut stderr_head = Vec::new();
    let (stdout, stdout_end) = Output::new(Sink::File(run.output), run.limits.output)?;
    let (stderr, stderr_end) = Output::new(Sink::Head(&mut stderr_head, STDERR_BYTES), u64::MAX)?;
    let request = request.stdout(stdout_end).stderr(stderr_end);
    let handle = supervisor.run(&request)?;
    // Close the request's copies of the run's pipe ends. While they are open, the judge cannot see
    // that the program closed its ends.
    drop(request);
    let token = CancelToken::new();
    let result = pump(&handle, &mut input, &mut [stdout, stderr], None, &token)?;
    let failure = match judge_run(&result, run.limits) {
        Some((Verdict::JudgeError, fault)) => return Err(JudgeFailure::Unfinished(fault)),
        Some((_, fault)) => Some(ToolFailure {
            fault,
            stderr: printable(&stderr_head, STDERR_BYTES),
        }),
        None => None,
    };
    Ok(ToolResult {
        failure,
        exit_code: result.exit_code,
    })
}
