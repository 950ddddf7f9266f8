//! `millibox site`: executes `millibox-site`, which is beside this program.
//!
//! The site is a program of its own, because it needs a newer Rust and many more crates than the
//! rest (docs/decisions/023-site-is-a-separate-executable.md).

use crate::failure::{Failure, NOT_FOUND};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The name of the program.
const PROGRAM: &str = "millibox-site";

/// The arguments, which `millibox-site` reads.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Options of the site; `millibox site --help` lists them
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTION"
    )]
    arguments: Vec<OsString>,
}

/// Becomes the site.
pub fn main(args: &Args) -> Result<ExitCode, Failure> {
    let own = std::env::current_exe()
        .map_err(|error| Failure::sandbox(format!("cannot find this program: {error}")))?;
    let program = own.with_file_name(PROGRAM);
    let error = Command::new(&program).args(&args.arguments).exec();
    let path = program.display();
    Err(match error.kind() {
        ErrorKind::NotFound => Failure {
            status: NOT_FOUND,
            ..Failure::sandbox(format!(
                "{path} does not exist; build it with `make site`, which needs Rust 1.94"
            ))
        },
        _ => Failure::sandbox(format!("cannot execute {path}: {error}")),
    })
}
