//! `millibox doctor`: tries each feature that the sandbox needs, instead of guessing from versions,
//! and names a remedy for each one that is missing.
//!
//! | file | content |
//! | --- | --- |
//! | `checks` | the checks in their order |
//! | `features` | a check of one limit or feature, with programs in the sandbox |
//! | `trial` | one run for a check |
//! | `remedies` | the likely cause on this machine, and the command that fixes it |

mod checks;
mod features;
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
The exit status is 0 if all limits on whole process trees work (backend cgroup2 or hybrid), and 1
otherwise.

Examples:
  millibox doctor
  millibox doctor --json | jq -r '.checks[] | select(.ok | not) | .remedy'
  systemd-run --user --scope -p Delegate=yes millibox doctor")]
pub struct Args {
    /// Print one JSON object
    ///
    /// {"ok": bool, "backend": "cgroup2", "hybrid", "rlimit" or null,
    /// "checks": [{"name", "ok", "detail", "remedy"}]}; remedy is null if none is known.
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

/// Runs the subcommand.
pub fn main(args: &Args) -> Result<ExitCode, Failure> {
    let mut written = Ok(());
    let found = checks::check_all(&args.machine, &mut |check| {
        if !args.json && written.is_ok() {
            written = show(check);
        }
    });
    let ok = found.has_all_limits();
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
        .map(|better| format!("; without the option, millibox uses {better}"));
    match (found.backend, found.has_all_limits(), wanted) {
        (Some(backend), true, _) => {
            format!("All limits work, with the backend {backend}.")
        }
        (Some(Backend::Rlimit), ..) if better.is_some() => format!(
            "Programs run, but because of --backend rlimit, limits apply only to single \
             processes{}.",
            better.unwrap_or_default()
        ),
        (Some(Backend::Rlimit), ..) => {
            "Programs run, but limits apply only to single processes (backend rlimit); see above."
                .to_owned()
        }
        (Some(backend), false, _) => {
            format!(
                "Programs run with the backend {backend}, but not all checks passed; see above."
            )
        }
        (None, _, Some(wanted)) if !found.working.is_empty() => {
            format!(
                "With the backend {wanted}, no program can be run; see above{}.",
                better.unwrap_or_default()
            )
        }
        (None, ..) => "No program can be run; see above.".to_owned(),
    }
}
