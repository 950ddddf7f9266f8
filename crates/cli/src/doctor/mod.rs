//! `millibox doctor`: tries each thing that the sandbox needs, instead of guessing from
//! versions, and says what mends what is missing.
//!
//! | file | what |
//! | --- | --- |
//! | `checks` | what is tried |
//! | `trial` | one run for a check |
//! | `remedies` | what is likely to be in the way here, and the command that mends it |

mod checks;
mod remedies;
mod trial;

use crate::failure::{Failure, answer, say, unwritten};
use crate::machine;
use checks::{Check, Findings};
use clap::ValueEnum;
use millibox::Backend;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// Options of `millibox doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The exit status is 0 only if limits on whole process trees can be had in full (backend cgroup2 or
hybrid), 1 if not.

Examples:
  millibox doctor
  millibox doctor --json | jq -r '.checks[] | select(.ok | not) | .remedy'
  systemd-run --user --scope -p Delegate=yes millibox doctor")]
pub struct Args {
    /// Print one JSON object
    ///
    /// {"ok": bool, "backend": "cgroup2", "hybrid", "rlimit" or null,
    /// "checks": [{"name", "ok", "detail", "remedy"}]}; remedy is null where there is none.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub machine: machine::Options,
}

#[derive(Serialize)]
struct Answer<'a> {
    ok: bool,
    backend: Option<Backend>,
    checks: &'a [Check],
}

/// The whole subcommand.
pub fn main(args: &Args) -> Result<ExitCode, Failure> {
    let mut written = Ok(());
    let found = checks::try_all(&args.machine, &mut |check| {
        if !args.json && written.is_ok() {
            written = show(check);
        }
    });
    let ok = found.full();
    written.map_err(unwritten)?;
    if args.json {
        let all = Answer {
            ok,
            backend: found.backend,
            checks: &found.checks,
        };
        answer(serde_json::to_string_pretty(&all).map_err(Failure::sandbox)?)?;
    } else {
        say(format_args!("\n{}", summary(&found, args.machine.backend)))?;
    }
    Ok(if ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn show(check: &Check) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} {}: {}",
        if check.ok { '✓' } else { '✗' },
        check.name,
        check.detail
    )?;
    for line in check.remedy.iter().flat_map(|remedy| remedy.lines()) {
        writeln!(out, "    {line}")?;
    }
    out.flush()
}

fn summary(found: &Findings, wanted: machine::Backend) -> String {
    let wanted = wanted
        .to_possible_value()
        .filter(|_| wanted != machine::Backend::Auto);
    let wanted = wanted.as_ref().map(|value| value.get_name());
    let better = found
        .better()
        .map(|better| format!("; without the option, runs are held by {better}"));
    match (found.backend, found.full(), wanted) {
        (Some(backend), true, _) => {
            format!("Everything that limits need works; runs are held by {backend}.")
        }
        (Some(Backend::Rlimit), ..) if better.is_some() => format!(
            "Programs can be run, but because of --backend rlimit only the limits of single \
             processes can be had{}.",
            better.unwrap_or_default()
        ),
        (Some(Backend::Rlimit), ..) => {
            "Programs can be run, but only the limits of single processes can be had \
                                        (backend rlimit): see above."
                .to_owned()
        }
        (Some(backend), false, _) => {
            format!("Runs are held by {backend}, but not everything works: see above.")
        }
        (None, _, Some(wanted)) if !found.working.is_empty() => {
            format!(
                "With the backend {wanted}, no program can be run here: see above{}.",
                better.unwrap_or_default()
            )
        }
        (None, ..) => "No program can be run here: see above.".to_owned(),
    }
}
