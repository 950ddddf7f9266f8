//! Unpacks the files of a run inside the sandbox and executes its program.
//!
//! The command line is `millibox-stage PROGRAM ARGV0 [ARGUMENT...]`, and standard input is a
//! socket. The library of this crate describes the messages. If the program cannot be executed,
//! `millibox-stage` sends the reason and exits with 127.
#![forbid(unsafe_code)]

use millibox_stage::{Answer, Failure, Step};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

const EXIT_NOT_EXECUTED: u8 = 127;

fn main() -> ExitCode {
    // A panic ends the process at once, without destructors.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
    let mut arguments = std::env::args_os().skip(1);
    let (Some(program), Some(argv0)) = (arguments.next(), arguments.next()) else {
        return ExitCode::from(EXIT_NOT_EXECUTED);
    };
    if let Some(socket) = millibox_stage::stage() {
        let failure = execute(program, argv0, arguments);
        // If the caller has ended, the run ends as well.
        let _ = millibox_stage::send(&socket, &Answer::Failed(failure), &[]);
    }
    ExitCode::from(EXIT_NOT_EXECUTED)
}

/// Executes the program, which is looked up in `PATH` if its name contains no `/`. Returns only if
/// that fails.
fn execute(
    program: OsString,
    argv0: OsString,
    arguments: impl Iterator<Item = OsString>,
) -> Failure {
    let error = Command::new(program).arg0(argv0).args(arguments).exec();
    Failure {
        step: Step::Execute,
        errno: error.raw_os_error(),
    }
}
