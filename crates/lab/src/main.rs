//! The command `millibox-lab`: runs experiments and writes their results.
//!
//! The library of the same name contains the experiments. This file parses the command line,
//! catches signals and prints.
#![forbid(unsafe_code)]
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic if the stream is closed"
)]

use clap::builder::PossibleValuesParser;
use clap::{CommandFactory, Parser, ValueEnum};
use clap_complete::Shell;
use millibox_cli_support::failure::{self, Failure, answer, complain, one_line, say};
use millibox_cli_support::signals::Signals;
use millibox_cli_support::values::{number, time};
use millibox_cli_support::{machine, usage};
use millibox_lab::experiments::{self, bin_true};
use millibox_lab::{Experiment, Lab, Options, Report, Scale, output};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The name that begins every message on standard error.
const PROGRAM: &str = "millibox-lab";

/// The longest measurement that `--seconds` accepts. It is a day, which is far less than the range
/// of a clock.
const MAX_MEASUREMENT_SECONDS: f64 = 86400.0;

/// Measures the sandbox on this machine, side by side with the bare program and with other
/// sandboxes.
#[derive(Debug, Parser)]
#[command(name = PROGRAM, version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  Measure the cost of a run of /bin/true on this machine:
    millibox-lab true

  List the experiments:
    millibox-lab list

  Run all experiments in a few minutes, and write plots and a page to results/:
    millibox-lab all --out results

  Compare with other sandboxes, one of them not on PATH:
    millibox-lab peers --peer nsjail=/opt/nsjail/nsjail")]
struct Args {
    /// Names of experiments; `all` runs all of them, `list` lists them
    #[arg(
        value_name = "EXPERIMENT",
        required_unless_present = "completions",
        hide_possible_values = true,
        value_parser = names(),
    )]
    experiments: Vec<String>,
    /// Choose how much to measure; at scale short, all experiments take less than ten minutes
    #[arg(long, value_name = "SCALE", value_enum, default_value = "short")]
    scale: ScaleArg,
    /// Measure each table of alternating variants for this time, instead of that of the scale
    ///
    /// The experiment repeats its rounds until the time is up. `true` on all CPUs and some tables
    /// of `growth` measure a fixed amount instead.
    ///
    /// Example: --budget 5m
    #[arg(long, value_name = "TIME", value_parser = time)]
    budget: Option<Duration>,
    /// Write results to this directory: JSON, plots (SVG), summary.md and index.html
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Set the seed for the order of variants and for bootstraps
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u64>(0, u64::MAX))]
    seed: u64,
    /// Set the executable of another sandbox, which is otherwise looked up on PATH
    #[arg(long, value_name = "NAME=PATH", value_parser = peer)]
    peer: Vec<(String, PathBuf)>,
    /// For `true`: sequential runs of each variant, at least 20
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2000,
        value_parser = number::<u32>(20, u64::from(u32::MAX)),
    )]
    runs: u32,
    /// For `true`: seconds for each of the four measurements on all CPUs
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// For `true`: write one JSON object to PATH; `-` means standard output, without the table
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    /// Print a completion script for a shell
    #[arg(long, value_name = "SHELL", exclusive = true)]
    completions: Option<Shell>,
    #[command(flatten)]
    machine: machine::Options,
}

/// Values of `--scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScaleArg {
    /// A short test that everything works; the figures are meaningless
    Smoke,
    /// A few minutes
    Short,
    /// The sample sizes of the papers
    Full,
}

impl From<ScaleArg> for Scale {
    fn from(scale: ScaleArg) -> Scale {
        match scale {
            ScaleArg::Smoke => Scale::Smoke,
            ScaleArg::Short => Scale::Short,
            ScaleArg::Full => Scale::Full,
        }
    }
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(
        experiments::ALL
            .iter()
            .map(|experiment| experiment.name)
            .chain(["all", "list"]),
    )
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= MAX_MEASUREMENT_SECONDS => Ok(seconds),
        Ok(seconds) if seconds > MAX_MEASUREMENT_SECONDS => {
            Err(format!("must be at most {MAX_MEASUREMENT_SECONDS}, a day"))
        }
        _ => Err("must be a number of seconds, more than 0".to_owned()),
    }
}

fn peer(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => {
            let known: Vec<&str> = experiments::peers().collect();
            if known.contains(&name) {
                Ok((name.to_owned(), path.into()))
            } else {
                Err(format!(
                    "unknown peer {name}; known peers are {}",
                    known.join(", ")
                ))
            }
        }
        _ => Err("must be NAME=PATH, for example nsjail=/opt/nsjail/nsjail".to_owned()),
    }
}

fn main() -> ExitCode {
    if let Some(code) = millibox_lab::programs::main(std::env::args_os()) {
        return code;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage::report(PROGRAM, &error),
    };
    failure::exit_status(PROGRAM, run(&args))
}

fn run(args: &Args) -> Result<ExitCode, Failure> {
    if let Some(shell) = args.completions {
        return completions(shell);
    }
    if args.experiments.iter().any(|name| name == "list") {
        return list();
    }
    let chosen: Vec<&Experiment> = experiments::ALL
        .iter()
        .filter(|experiment| {
            args.experiments
                .iter()
                .any(|name| name == "all" || name == experiment.name)
        })
        .collect();
    Failure::unless_once("--peer", &args.peer)?;
    let only_true = args.experiments == ["true"];
    if args.json.is_some() && !only_true {
        return Err(Failure::option(
            "--json applies to `millibox-lab true`; other experiments write JSON with --out",
        ));
    }
    if args.budget.is_some() && only_true {
        return Err(Failure::option(
            "--budget does not apply to `true`; use --runs and --seconds",
        ));
    }
    let signals = Signals::catch(PROGRAM)?;
    signals.end_with(|| {
        // The current run may take seconds. A second signal does not wait for it.
        if millibox_lab::interrupt() {
            std::process::exit(130);
        }
        complain(format_args!(
            "{PROGRAM}: ending after the current run and its clean-up"
        ));
    });
    let done = measure(args, &chosen, only_true);
    // A failure after a signal is a consequence of the signal.
    signals
        .ended("the current experiment is incomplete")
        .map_or(done, Ok)
}

fn completions(shell: Shell) -> Result<ExitCode, Failure> {
    // clap_complete panics if its writer fails (a closed pipe), so write to memory first.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), PROGRAM, &mut script);
    answer(String::from_utf8_lossy(&script).trim_end())?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> Result<ExitCode, Failure> {
    for experiment in experiments::ALL {
        say(format_args!(
            "{}\n    {}. {}\n",
            experiment.name, experiment.title, experiment.about
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the experiments in a lab, which is removed with all its content when this function returns.
fn measure(args: &Args, chosen: &[&Experiment], only_true: bool) -> Result<ExitCode, Failure> {
    let lab = Lab::new(Options {
        builder: args.machine.builder(),
        scale: args.scale.into(),
        budget: args.budget,
        seed: args.seed,
        peers: args.peer.iter().cloned().collect(),
        millibox: millibox(),
        command: command(),
        progress: true,
    })
    .map_err(Failure::sandbox)?;
    if only_true {
        return measure_true(args, &lab);
    }
    let mut reports = Vec::new();
    let mut failed = Vec::new();
    for experiment in chosen {
        let (report, done) = experiment.report(&lab);
        say(output::markdown(std::slice::from_ref(&report)))?;
        reports.push(report);
        // Write the results after each experiment, so that they are not lost if the next experiment
        // is interrupted.
        write(args, &reports)?;
        if matches!(done, Err(millibox_lab::Error::Interrupted)) {
            break;
        }
        if let Err(error) = done {
            complain(format_args!(
                "{PROGRAM}: {}: {}",
                experiment.name,
                one_line(&error.to_string())
            ));
            failed.push(experiment.name);
        }
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::sandbox(format!(
        "these experiments ended early: {}",
        failed.join(", ")
    )))
}

/// Runs only the experiment `true`, which takes a few seconds and has figures for scripts.
fn measure_true(args: &Args, lab: &Lab) -> Result<ExitCode, Failure> {
    if !lab.limits_process_trees() {
        complain(format_args!(
            "{PROGRAM}: no cgroups can be used, so memory and processes are not limited; see \
             `millibox doctor`"
        ));
    }
    let mut report = bin_true::EXPERIMENT.empty_report(lab);
    let amount = bin_true::Amount {
        runs: args.runs,
        seconds: args.seconds,
    };
    let figures = bin_true::measure(lab, amount).map_err(Failure::sandbox)?;
    let json = serde_json::to_string_pretty(&figures).unwrap_or_default();
    match &args.json {
        Some(path) if path.as_os_str() == "-" => answer(&json)?,
        path => {
            say(&figures)?;
            if let Some(path) = path {
                std::fs::write(path, json + "\n").map_err(|error| {
                    Failure::sandbox(format!("--json {}: {error}", path.display()))
                })?;
            }
        }
    }
    bin_true::fill_report(lab, &mut report, &figures);
    write(args, &[report])?;
    Ok(ExitCode::SUCCESS)
}

fn write(args: &Args, reports: &[Report]) -> Result<(), Failure> {
    match &args.out {
        Some(directory) => output::write(reports, directory).map_err(Failure::sandbox),
        None => Ok(()),
    }
}

/// Finds the command `millibox` beside this executable, or otherwise on PATH.
fn millibox() -> Option<PathBuf> {
    let beside = std::env::current_exe()
        .ok()
        .map(|own| own.with_file_name("millibox"));
    beside
        .filter(|path| path.is_file())
        .or_else(|| millibox_lab::find_executable("millibox"))
}

/// The command line, quoted for a shell, so that a reader of the results can repeat it.
fn command() -> String {
    let words = std::env::args().skip(1).map(|word| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./:,+".contains(letter);
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    std::iter::once(PROGRAM.to_owned())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_definition_is_consistent() {
        Args::command().debug_assert();
    }
}
