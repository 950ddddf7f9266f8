//! The same programs without a sandbox.

use crate::{Error, interrupt};
use std::process::{Command, Stdio};

/// posix_spawn(3) and wait of a program without arguments, with an empty environment; it must succeed.
///
/// # Errors
/// It cannot be run, or fails.
pub fn spawn(program: &str) -> Result<(), Error> {
    // With nothing but these set, std uses posix_spawn(3).
    success(Command::new(program).env_clear().stdin(Stdio::inherit()))
}

/// Runs a command, which must succeed.
///
/// # Errors
/// It cannot be run, or fails; what it said on standard error is not shown unless it is caught by the command.
pub fn success(command: &mut Command) -> Result<(), Error> {
    interrupt::check()?;
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(Error::system(format!("run {name}")))?;
    if status.success() { Ok(()) } else { Err(Error::says(format!("{name}: {status}"))) }
}

/// A run in the sandbox, which must exit with 0; its result.
///
/// # Errors
/// It ends in any other way.
pub fn sandboxed(supervisor: &millibox::Supervisor, request: &millibox::Request) -> Result<millibox::RunResult, Error> {
    interrupt::check()?;
    let result = supervisor.run(request)?.wait()?;
    if result.outcome == millibox::Outcome::Exited(0) {
        Ok(result)
    } else {
        Err(Error::says(format!("in the sandbox: {result}")))
    }
}

/// User and system CPU time of all children that were waited for, in nanoseconds (getrusage(2)).
pub fn children_cpu_ns() -> u64 {
    crate::sys::children_cpu_ns()
}
