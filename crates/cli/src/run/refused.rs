//! The report of a command line that makes no sense.
//!
//! Who reads a report must not find that of the run before, so it is written although clap has
//! refused the line. What clap has refused it keeps to itself, so the line is read once more, by
//! somebody who takes every value.

use super::ending::Ending;
use super::streams::{Named, is_apart};
use crate::failure::Failure;
use crate::report_file::ReportFile;
use clap::Command;
use clap::builder::ValueParser;
use std::ffi::OsString;
use std::path::PathBuf;

/// Writes the report of why these words were refused, if they are those of a run and say where it
/// goes. `command` is the whole one.
pub fn report_refusal(command: Command, words: &[OsString], why: &str) {
    if let Some(named) = named(command, words) {
        report(&named, &Failure::option(why));
    }
}

/// Writes the report of a failure that is told without it. If it cannot be written, that is told
/// when the failure is mended.
pub fn report(named: &Named, failure: &Failure) {
    let Some(Ok(mut report)) = named.report.as_deref().map(ReportFile::open) else {
        return;
    };
    if is_apart(&report, named).is_ok() {
        let ending = Ending::Failed {
            backend: None,
            failure: failure.clone(),
        };
        let _ = report.write(ending.report().line());
    }
}

/// The files that these words name, whatever other values they have. None if there is an option
/// that nobody knows: then who can tell what is an option's value?
fn named(command: Command, words: &[OsString]) -> Option<Named> {
    let lenient = command.mut_subcommand("run", |run| {
        run.args_override_self(true).mut_args(|argument| {
            let argument = argument.required(false);
            if argument.get_action().takes_values() {
                argument.value_parser(ValueParser::os_string())
            } else {
                argument
            }
        })
    });
    let matches = lenient.try_get_matches_from(words).ok()?;
    let ("run", run) = matches.subcommand()? else {
        return None;
    };
    let path = |name: &str| run.get_one::<OsString>(name).map(PathBuf::from);
    Some(Named {
        stdin: path("stdin"),
        stdout: path("stdout"),
        stderr: path("stderr"),
        report: path("report"),
    })
}
