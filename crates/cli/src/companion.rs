//! Subcommands that are programs of their own: this program executes the one beside it.
//!
//! `millibox serve`, `site` and `worker` need many more crates than the rest, so they are not part
//! of this executable (docs/decisions/037-service-is-a-separate-executable.md).

use crate::failure::{Failure, NOT_FOUND};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The arguments, which the other program reads.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Options; `--help` lists them
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTION"
    )]
    arguments: Vec<OsString>,
}

/// A program beside this one.
#[derive(Debug, Clone, Copy)]
pub enum Companion {
    /// The execution service.
    Serve,
    /// The contest site.
    Site,
    /// Judges for a contest site on another machine.
    Worker,
}

impl Companion {
    /// The program of `millibox help COMPANION ...` and its arguments, which request the help of
    /// the given subcommands. `None` for other command lines.
    pub fn of_help(words: &[OsString]) -> Option<(Companion, Args)> {
        let [_, help, name, subcommands @ ..] = words else {
            return None;
        };
        let companion = match name.to_str()? {
            "serve" => Companion::Serve,
            "site" => Companion::Site,
            "worker" => Companion::Worker,
            _ => return None,
        };
        let arguments = subcommands.iter().cloned().chain(["--help".into()]);
        (help == "help").then(|| {
            let arguments = arguments.collect();
            (companion, Args { arguments })
        })
    }

    /// The name of the executable.
    pub fn program(self) -> &'static str {
        match self {
            Companion::Serve => "millibox-serve",
            Companion::Site => "millibox-site",
            Companion::Worker => "millibox-worker",
        }
    }

    /// How to get the executable.
    fn remedy(self) -> &'static str {
        match self {
            Companion::Serve => "build it with `make build`",
            Companion::Site => "build it with `make site`, which needs Rust 1.94",
            Companion::Worker => "build it with `make worker`",
        }
    }

    /// Becomes this program.
    ///
    /// # Errors
    /// The executable does not exist, or cannot be executed.
    pub fn execute(self, args: &Args) -> Result<ExitCode, Failure> {
        let own = std::env::current_exe()
            .map_err(|error| Failure::sandbox(format!("cannot find this program: {error}")))?;
        let program = own.with_file_name(self.program());
        let error = Command::new(&program).args(&args.arguments).exec();
        let path = program.display();
        Err(match error.kind() {
            ErrorKind::NotFound => Failure {
                status: NOT_FOUND,
                ..Failure::sandbox(format!("{path} does not exist; {}", self.remedy()))
            },
            _ => Failure::sandbox(format!("cannot execute {path}: {error}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_of_companion_has_the_arguments_of_its_program() {
        let of_help = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let (companion, args) = Companion::of_help(&words)?;
            Some((companion.program(), args.arguments))
        };
        for (line, program, arguments) in [
            ("millibox help serve", "millibox-serve", &["--help"][..]),
            (
                "millibox help site fleet add",
                "millibox-site",
                &["fleet", "add", "--help"],
            ),
            ("millibox help worker", "millibox-worker", &["--help"]),
        ] {
            let arguments = arguments.iter().map(OsString::from).collect();
            assert_eq!(of_help(line), Some((program, arguments)), "{line}");
        }
        for line in ["millibox help", "millibox help run", "millibox site help"] {
            assert_eq!(of_help(line), None, "{line}");
        }
    }
}
