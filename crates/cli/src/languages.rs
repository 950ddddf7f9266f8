//! `millibox languages`: the judge's languages, each tried in the sandbox.

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
The exit status is 0 if every language listed can be used, 1 if not.

Examples:
  millibox languages
  millibox languages --try python c++17
  millibox languages --suites ./suites --json | jq -r '.[].remedy // empty'")]
pub struct Args {
    /// Only these languages; all of them without
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Add the suites of a directory's files *.toml, in place of ours for the same language
    #[arg(long, value_name = "DIR")]
    pub suites: Option<PathBuf>,
    /// How programs of compiled languages are to be linked: static or dynamic
    ///
    /// Without it each suite says.
    #[arg(long, value_name = "HOW", value_parser = values::link)]
    pub linking: Option<Link>,
    /// Compile and run an example in each language, too
    ///
    /// Without it compilers and interpreters are asked for their versions, and where programs are
    /// linked statically, one is linked.
    #[arg(long = "try")]
    pub try_out: bool,
    /// Print a JSON array
    ///
    /// [{"name", "title", "names", "state": "available", "missing", "unreachable" or "broken",
    /// "detail", "linking": "static" or "dynamic", "fallback", "remedy"}]; linking is null where
    /// programs are not linked, fallback says why they are not linked statically, and remedy is
    /// null where there is none.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub machine: machine::Options,
}

/// One language in one variant.
#[derive(Debug, Serialize)]
struct Line<'s> {
    name: &'s str,
    title: &'s str,
    names: &'s [String],
    state: &'static str,
    /// The version, or what is wrong.
    detail: String,
    linking: Option<Link>,
    /// Why programs are not linked statically.
    fallback: Option<String>,
    remedy: Option<String>,
}

/// The whole subcommand.
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
    // What waits for a run then gets an error, and leaves nothing behind.
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
        let line = look_at(&toolbox, suite, args.try_out);
        if signals.caught().is_some() {
            // What failed then failed for this.
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
    if let Some(status) = signals.ended("what ran was killed") {
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

/// Ours, and those of a directory. Every fault of its files is told in a line of its own.
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

/// Nothing untrusted is run here, so limits on single processes will do where there are no cgroups.
fn supervisor(options: &machine::Options) -> Result<Supervisor, Failure> {
    let supervisor = options.builder().start()?;
    match supervisor.backend() {
        Backend::Rlimit => Ok(options.builder().backend(BackendChoice::Rlimit).start()?),
        _ => Ok(supervisor),
    }
}

fn look_at<'s>(toolbox: &Toolbox<'_>, suite: &'s Suite, try_out: bool) -> Line<'s> {
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
        writeln!(out, "{:1$}{fallback}; to mend it:", "", name + title + 6)?;
    }
    if let Some(remedy) = &line.remedy {
        writeln!(out, "{:1$}{remedy}", "", name + title + 6)?;
    }
    out.flush()
}
