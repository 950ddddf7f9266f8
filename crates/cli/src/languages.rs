//! `millibox languages`: checks each language of the judge in the sandbox.

use crate::PROGRAM;
use crate::failure::{Failure, answer, complain, unwritten};
use crate::machine;
use crate::signals::Signals;
use crate::values;
use millibox::{Backend, BackendChoice, Supervisor};
use millibox_languages::cache::Cache;
use millibox_languages::compile::{Availability, Linkage, Toolbox};
use millibox_languages::suite::{Link, Suite, Suites};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Options of `millibox languages`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The exit status is 0 if all listed languages are available, and 1 otherwise.

Examples:
  millibox languages
  millibox languages --try python c++17
  millibox languages --suites ./suites --json | jq -r '.[].remedy // empty'")]
pub struct Args {
    /// Check only these languages [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Add the suites in a directory's *.toml files; they replace built-in suites of the same name
    #[arg(long, value_name = "DIR")]
    pub suites: Option<PathBuf>,
    /// Link programs of compiled languages statically or dynamically
    ///
    /// By default, each suite decides.
    #[arg(long, value_name = "HOW", value_parser = values::link)]
    pub linking: Option<Link>,
    /// Also compile and run an example in each language
    ///
    /// By default, millibox only asks compilers and interpreters for their versions, and links a
    /// program if the language links statically.
    #[arg(long = "try")]
    pub try_out: bool,
    /// Print a JSON array
    ///
    /// [{"name", "title", "names", "state": "available", "missing", "unreachable" or "broken",
    /// "detail", "linking": "static" or "dynamic", "fallback", "remedy"}]; linking is null if
    /// programs are not linked. fallback is the reason for dynamic linking, and remedy is null if
    /// none is known.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub machine: machine::Options,
}

/// One variant of a language.
#[derive(Debug, Serialize)]
struct Line<'s> {
    name: &'s str,
    title: &'s str,
    names: &'s [String],
    state: &'static str,
    /// The version, or the error.
    detail: String,
    linking: Option<Link>,
    /// Why programs are not linked statically.
    fallback: Option<String>,
    remedy: Option<String>,
}

/// Runs the subcommand.
pub fn main(args: &Args) -> Result<ExitCode, Failure> {
    let suites = suites(args.suites.as_deref(), args.linking)?;
    let chosen: Vec<&Suite> = match &args.names[..] {
        [] => suites.iter().collect(),
        names => names
            .iter()
            .map(|name| suites.named(name))
            .collect::<Result<_, _>>()
            .map_err(Failure::option)?,
    };
    let signals = Signals::catch(PROGRAM)?;
    let supervisor = Arc::new(supervisor(&args.machine)?);
    let ended = supervisor.clone();
    // Threads that wait for a run then get an error and clean up.
    signals.end_with(move || ended.close());
    let toolbox = Toolbox::new(&supervisor, suites.clone(), Cache::none());
    let width = |of: fn(&Suite) -> &str| {
        chosen
            .iter()
            .map(|suite| of(suite).chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths = (width(|suite| &suite.name), width(|suite| &suite.title));
    let mut all = Vec::new();
    let written = chosen.into_iter().try_for_each(|suite| {
        let line = check(&toolbox, suite, args.try_out);
        if signals.caught().is_some() {
            // Any failure after the signal is a consequence of the signal.
            return Ok(());
        }
        let shown = if args.json {
            Ok(())
        } else {
            show(&line, widths)
        };
        all.push(line);
        shown
    });
    signals.forget();
    if let Some(status) = signals.ended("the running programs were killed") {
        return Ok(status);
    }
    written.map_err(unwritten)?;
    if args.json {
        answer(serde_json::to_string_pretty(&all).map_err(Failure::sandbox)?)?;
    }
    let usable = all.iter().all(|line| line.state == "available");
    Ok(if usable {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The built-in suites and those of a directory. Each fault in its files is printed on a line.
pub fn suites(directory: Option<&Path>, linking: Option<Link>) -> Result<Suites, Failure> {
    let suites = match directory {
        None => Suites::builtin(),
        Some(directory) => of_directory(directory)?,
    };
    Ok(match linking {
        None => suites,
        Some(link) => suites.with_linking(link),
    })
}

fn of_directory(directory: &Path) -> Result<Suites, Failure> {
    Suites::with_directory(directory).map_err(|faults| {
        for fault in &faults.0 {
            complain(format_args!("millibox: {fault}"));
        }
        let count = faults.0.len();
        let faults = if count == 1 {
            "a fault".to_owned()
        } else {
            format!("{count} faults")
        };
        Failure::option(format!(
            "--suites {}: {faults}, see above",
            directory.display()
        ))
    })
}

/// Starts a supervisor. This subcommand runs no untrusted program, so limits on single processes
/// suffice if cgroups are not available.
fn supervisor(options: &machine::Options) -> Result<Supervisor, Failure> {
    let supervisor = options.builder().start()?;
    match supervisor.info().backend() {
        Backend::Rlimit => Ok(options.builder().backend(BackendChoice::Rlimit).start()?),
        _ => Ok(supervisor),
    }
}

fn check<'s>(toolbox: &Toolbox<'_>, suite: &'s Suite, try_out: bool) -> Line<'s> {
    let availability = toolbox.availability(suite);
    let mut line = Line {
        name: &suite.name,
        title: &suite.title,
        names: &suite.names,
        state: match availability {
            Availability::Available { .. } => "available",
            Availability::Missing { .. } => "missing",
            Availability::Unreachable { .. } => "unreachable",
            _ => "broken",
        },
        detail: availability.to_string(),
        linking: None,
        fallback: None,
        remedy: availability.remedy().map(ToString::to_string),
    };
    if availability.is_available() {
        match toolbox.linking(suite) {
            Ok(None) => {}
            Ok(Some(Linkage { link, fallback, .. })) => {
                line.linking = Some(link);
                line.fallback = fallback.as_ref().map(|fallback| fallback.to_string());
                line.remedy = fallback.map(|fallback| fallback.remedy.to_string());
            }
            Err(why) => (line.state, line.detail) = ("broken", format!("{}: {why}", line.detail)),
        }
    }
    if try_out
        && availability.is_available()
        && let Err(why) = toolbox.try_out(suite)
    {
        (line.state, line.detail) = ("broken", format!("{}: {why}", line.detail));
    }
    line
}

fn show(line: &Line<'_>, (name, title): (usize, usize)) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let mark = if line.state == "available" {
        '✓'
    } else {
        '✗'
    };
    let linking = line
        .linking
        .map_or_else(String::new, |link| format!(" ({link})"));
    writeln!(
        out,
        "{mark} {:name$}  {:title$}  {}{linking}",
        line.name, line.title, line.detail
    )?;
    if let Some(fallback) = &line.fallback {
        writeln!(out, "{:1$}{fallback}; remedy:", "", name + title + 6)?;
    }
    if let Some(remedy) = &line.remedy {
        writeln!(out, "{:1$}{remedy}", "", name + title + 6)?;
    }
    out.flush()
}
