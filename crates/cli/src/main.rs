//! The command `millibox`.
//!
//! A thin layer over the library. It turns a command line into a world and a request, and the
//! result into an exit status, a line on standard error and a report.
//!
//! Code that `millibox-lab` needs as well (failures, signals, options of the machine) is in the
//! crate `millibox-cli-support`.
//!
//! | file | content |
//! | --- | --- |
//! | `usage` | the command line before clap reads it, and clap's errors in one line |
//! | `values` | sizes, times and other option values |
//! | `run` | `millibox run` |
//! | `report_file` | files of `--report`: opened before the run, written after it |
//! | `judge_setup` | options of the subcommands that judge: parallel programs, cache, suites |
//! | `judge` | `millibox judge` |
//! | `problem` | `millibox problem` |
//! | `doctor` | `millibox doctor` |
//! | `languages` | `millibox languages` |
//! | `companion` | `millibox serve` and `millibox site`, which are programs of their own |
//! | `submit` | `millibox submit` |
#![forbid(unsafe_code)]
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic if the reader has closed the pipe"
)]

mod companion;
mod doctor;
mod judge;
mod judge_setup;
mod languages;
#[cfg(test)]
mod messages;
mod problem;
mod report_file;
mod run;
mod submit;
mod usage;
mod values;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use companion::Companion;
use failure::{Failure, answer};
use millibox_cli_support::{failure, machine, man, signals};
use std::process::ExitCode;

/// The name that begins every message on standard error.
const PROGRAM: &str = "millibox";

/// Runs programs in a sandbox that needs no privileges. It limits and measures whole process trees,
/// and costs little more than running the program directly.
#[derive(Debug, Parser)]
#[command(
    name = "millibox",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
#[command(after_help = "\
Examples:
  Check what the sandbox needs on this machine, and print remedies:
    millibox doctor

  Run a program with 64 MiB of memory and one second of CPU time:
    millibox run --memory-limit 64M --cpu-time-limit 1s -- ./a.out < tests/1.in

  Let a compiler read and write the current directory as /work:
    millibox run --rw .:/work --cwd /work --env PATH=/usr/bin -- gcc -O2 -o a.out a.c

  Set all limits, and write the figures as JSON:
    millibox run --memory-limit 256M --process-limit 1 --real-time-limit 2s \\
        --output-limit 16M --report figures.json -- python3 -c 'print(6 * 7)'

  Judge all submissions of a problem package, or your own submission:
    millibox judge problems/hello
    millibox judge problems/hello my/solution.cpp

Each subcommand has its own help: millibox run --help")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a program in the sandbox
    Run(Box<run::Args>),
    /// Judge submissions of a problem package, or other files
    Judge(Box<judge::Args>),
    /// Create, check and pack problem packages
    Problem(Box<problem::Args>),
    /// Check that the sandbox works on this machine, and print remedies
    Doctor(doctor::Args),
    /// List the judge's languages, check each one, and print remedies
    Languages(languages::Args),
    /// Run programs for clients over HTTP
    ///
    /// The program millibox-serve must be in the same directory as millibox.
    #[command(disable_help_flag = true)]
    Serve(companion::Args),
    /// Serve a site with contests, problems and rankings
    ///
    /// The program millibox-site must be in the same directory as millibox.
    #[command(disable_help_flag = true)]
    Site(companion::Args),
    /// Judge submissions of a contest site on this machine
    ///
    /// The program millibox-worker must be in the same directory as millibox.
    #[command(disable_help_flag = true)]
    Worker(companion::Args),
    /// Send a source file to a contest site, and show its result test by test
    Submit(Box<submit::Args>),
    /// Print a completion script for a shell
    ///
    /// For bash: millibox completions bash > ~/.local/share/bash-completion/completions/millibox
    Completions {
        /// The shell
        shell: Shell,
    },
}

fn main() -> ExitCode {
    man::written(Cli::command()).map_or_else(run_command, exit_status)
}

fn run_command() -> ExitCode {
    let words = usage::words(std::env::args_os());
    if let Some((companion, args)) = Companion::of_help(&words) {
        return exit_status(companion.execute(&args));
    }
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => {
            let error = usage::with_hint(error);
            if error.use_stderr() {
                run::report_refusal(Cli::command(), &words, &usage::message(&error));
            }
            return usage::report(PROGRAM, &error);
        }
    };
    exit_status(match cli.command {
        Command::Run(args) => run::main(&args),
        Command::Judge(args) => judge::main(&args),
        Command::Problem(args) => problem::main(&args),
        Command::Doctor(args) => doctor::main(&args),
        Command::Languages(args) => languages::main(&args),
        Command::Serve(args) => Companion::Serve.execute(&args),
        Command::Site(args) => Companion::Site.execute(&args),
        Command::Worker(args) => Companion::Worker.execute(&args),
        Command::Submit(args) => submit::main(&args),
        Command::Completions { shell } => completions(shell),
    })
}

/// Prints a failure and returns its exit status.
fn exit_status(outcome: Result<ExitCode, Failure>) -> ExitCode {
    failure::exit_status("millibox", outcome)
}

fn completions(shell: Shell) -> Result<ExitCode, Failure> {
    // Written to memory first: clap_complete panics if its writer fails, for example on a closed
    // pipe.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "millibox", &mut script);
    answer(String::from_utf8_lossy(&script).trim_end())?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_lists_the_accepted_units_of_times() {
        fn check(command: &clap::Command) -> usize {
            let helps = command
                .get_arguments()
                .filter_map(|argument| argument.get_long_help());
            let mut lists = 0;
            for help in helps.map(ToString::to_string) {
                if help.contains("Units: ns") {
                    let list = format!("Units: {};", millibox_cli_support::values::TIME_UNITS);
                    assert!(help.contains(&list), "{help}");
                    lists += 1;
                }
            }
            lists + command.get_subcommands().map(check).sum::<usize>()
        }
        assert_eq!(check(&Cli::command()), 3);
    }

    /// clap would break longer lines a second time.
    #[test]
    fn help_with_manual_layout_fits_the_width() {
        fn check(command: &clap::Command) {
            let texts = [command.get_after_help(), command.get_after_long_help()];
            for text in texts.into_iter().flatten() {
                let text = text.to_string();
                let long: Vec<&str> = text
                    .lines()
                    .filter(|line| line.chars().count() >= 100)
                    .collect();
                assert!(long.is_empty(), "{}: {long:#?}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
