//! `millibox bench`: the lab (`millibox-lab`) on the command line.

use crate::failure::{Failure, answer, complain, one_line, say};
use crate::signals::Signals;
use crate::values::number;
use clap::builder::PossibleValuesParser;
use clap::{Parser, ValueEnum};
use millibox::Builder;
use millibox_lab::experiments::{self, bin_true};
use millibox_lab::{Experiment, Lab, Options, Report, Scale, output};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Of each measurement; far less than what a clock can hold.
const MOST_SECONDS: f64 = 86400.0;

/// Options of `millibox bench`.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  What does a run of /bin/true cost on this machine?
    millibox bench true

  Which experiments are there?
    millibox bench list

  All of them in a few minutes, with plots and a page (index.html) in the directory results:
    millibox bench all --out results

  Beside other sandboxes, one of them not on PATH:
    millibox bench peers --peer nsjail=/opt/nsjail/nsjail")]
pub struct Args {
    /// Experiments; `all` of them, or a `list` of what there is
    #[arg(value_name = "EXPERIMENT", required = true, hide_possible_values = true, value_parser = names())]
    experiments: Vec<String>,
    /// How much is measured: all short ones together take less than ten minutes
    #[arg(long, value_name = "SCALE", value_enum, default_value = "short")]
    scale: Size,
    /// How long each table is measured whose rows take turns, instead of what the scale has
    ///
    /// As many rounds are made as fit. `true` on all CPUs and some tables of `growth` have an amount of their own.
    ///
    /// Example: --budget 5m
    #[arg(long, value_name = "TIME", value_parser = crate::values::time)]
    budget: Option<Duration>,
    /// Write results here: JSON, plots (SVG), summary.md and index.html
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed of everything that is drawn by lot
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u64>(0, u64::MAX))]
    seed: u64,
    /// The executable of another sandbox, instead of looking on PATH; may be given for each NAME
    #[arg(long, value_name = "NAME=PATH", value_parser = peer)]
    peer: Vec<(String, PathBuf)>,
    /// `true`: runs of each kind, one after another; at least 20
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = number::<u32>(20, u64::from(u32::MAX)))]
    runs: u32,
    /// `true`: seconds of each measurement on all CPUs; there are nine, three of each kind
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// `true`: write one JSON object here; `-` is standard output (and the table is left out)
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
}

/// Values of `--scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Size {
    /// Just enough to see that everything works; figures mean nothing
    Smoke,
    /// A few minutes
    Short,
    /// As much as the papers had
    Full,
}

impl From<Size> for Scale {
    fn from(size: Size) -> Scale {
        match size {
            Size::Smoke => Scale::Smoke,
            Size::Short => Scale::Short,
            Size::Full => Scale::Full,
        }
    }
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(experiments::ALL.iter().map(|experiment| experiment.name).chain(["all", "list"]))
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= MOST_SECONDS => Ok(seconds),
        Ok(seconds) if seconds > MOST_SECONDS => Err(format!("must be at most {MOST_SECONDS}, a day")),
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
                Err(format!("nobody here knows {name}; there are {}", known.join(", ")))
            }
        }
        _ => Err("it must be NAME=PATH, for example nsjail=/opt/nsjail/nsjail".to_owned()),
    }
}

/// Runs experiments; `builder` holds what the common options say.
pub fn main(args: &Args, builder: &Builder) -> Result<ExitCode, Failure> {
    if args.experiments.iter().any(|name| name == "list") {
        for experiment in experiments::ALL {
            say(format_args!("{}\n    {}. {}\n", experiment.name, experiment.title, experiment.about))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let chosen: Vec<&Experiment> = experiments::ALL
        .iter()
        .filter(|experiment| args.experiments.iter().any(|name| name == "all" || name == experiment.name))
        .collect();
    Failure::unless_once("--peer", &args.peer)?;
    let only_true = args.experiments == ["true"];
    if args.json.is_some() && !only_true {
        return Err(Failure::option("--json is for `millibox bench true`; the others write JSON into --out"));
    }
    if args.budget.is_some() && only_true {
        return Err(Failure::option("--budget is for the other experiments; `true` has --runs and --seconds"));
    }
    let signals = Signals::catch()?;
    signals.end_with(|| {
        // The run that is under way may take its seconds; whoever cannot wait says so again.
        if millibox_lab::interrupt() {
            std::process::exit(130);
        }
        complain("millibox: ending, once the present run is over and all is cleaned up");
    });
    let done = measure(args, builder, &chosen, only_true);
    // A failure after a signal is the signal's doing.
    signals.ended("what it had begun is incomplete").map_or(done, Ok)
}

/// Makes the experiments in a lab, which is gone with all that is in it when this returns.
fn measure(args: &Args, builder: &Builder, chosen: &[&Experiment], only_true: bool) -> Result<ExitCode, Failure> {
    let lab = Lab::new(Options {
        builder: builder.clone(),
        scale: args.scale.into(),
        budget: args.budget,
        seed: args.seed,
        peers: args.peer.iter().cloned().collect(),
        millibox: std::env::current_exe().ok(),
        command: command(),
        progress: true,
    })
    .map_err(Failure::sandbox)?;
    if only_true {
        return bench_true(args, &lab);
    }
    let mut reports = Vec::new();
    let mut failed = Vec::new();
    for experiment in chosen {
        let (report, done) = experiment.report(&lab);
        say(output::markdown(std::slice::from_ref(&report)))?;
        reports.push(report);
        // Written each time, so that what was measured is there if the next one is interrupted.
        write(args, &reports)?;
        if matches!(done, Err(millibox_lab::Error::Interrupted)) {
            break;
        }
        if let Err(error) = done {
            complain(format_args!("millibox: {}: {}", experiment.name, one_line(&error.to_string())));
            failed.push(experiment.name);
        }
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::sandbox(format!("experiments that ended early: {}", failed.join(", "))))
}

/// The one that answers in a few seconds, with figures for scripts.
fn bench_true(args: &Args, lab: &Lab) -> Result<ExitCode, Failure> {
    if !lab.holds_trees() {
        complain(format_args!(
            "millibox: no cgroups here, so no limits on memory and processes are set; see `millibox doctor`"
        ));
    }
    let mut report = Report::new(&bin_true::EXPERIMENT, lab);
    let amount = bin_true::Amount { runs: args.runs, seconds: args.seconds };
    let figures = bin_true::measure(lab, amount).map_err(Failure::sandbox)?;
    let json = serde_json::to_string_pretty(&figures).unwrap_or_default();
    match &args.json {
        Some(path) if path.as_os_str() == "-" => answer(&json)?,
        path => {
            say(&figures)?;
            if let Some(path) = path {
                std::fs::write(path, json + "\n")
                    .map_err(|error| Failure::sandbox(format!("--json {}: {error}", path.display())))?;
            }
        }
    }
    bin_true::report_of(lab, &mut report, &figures);
    write(args, &[report])?;
    Ok(ExitCode::SUCCESS)
}

fn write(args: &Args, reports: &[Report]) -> Result<(), Failure> {
    match &args.out {
        Some(directory) => output::write(reports, directory).map_err(Failure::sandbox),
        None => Ok(()),
    }
}

/// How we were started, as a reader of the results would do it again.
fn command() -> String {
    let words = std::env::args().skip(1).map(|word| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./:,+".contains(letter);
        if !word.is_empty() && word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
    });
    std::iter::once("millibox".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
