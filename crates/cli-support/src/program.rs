//! The main function of programs that `millibox` executes: `millibox serve`, `millibox site` and
//! `millibox worker`.

use crate::failure::{self, Failure};
use crate::{man, usage};
use clap::{CommandFactory, Parser};
use std::process::ExitCode;

/// Writes the manual pages if the command line requests them, and otherwise calls `run` with the
/// parsed command line. An error is printed on one line that begins with `name`, also if the
/// command line is wrong. Returns the exit status.
pub fn main<C: Parser + CommandFactory>(
    name: &str,
    run: impl FnOnce(&C) -> Result<ExitCode, Failure>,
) -> ExitCode {
    let outcome = match (man::written(C::command()), C::try_parse()) {
        (Some(outcome), _) => outcome,
        (None, Ok(command)) => run(&command),
        (None, Err(error)) => return usage::report(name, &error),
    };
    failure::exit_status(name, outcome)
}
