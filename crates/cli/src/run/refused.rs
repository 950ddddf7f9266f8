//! The report for a command line that is not valid.
//!
//! A reader must not find the report of an earlier run, so millibox writes a report even if clap
//! has rejected the command line. clap does not return the values of a rejected line. So the line
//! is parsed a second time, and every value is accepted.

use super::ending::Ending;
use super::streams::{Named, is_apart};
use crate::failure::Failure;
use crate::report_file::ReportFile;
use clap::Command;
use clap::builder::ValueParser;
use std::ffi::OsString;
use std::path::PathBuf;

/// Writes a report with the reason, if these words are a command line of `run` with `--report`.
/// `command` is the complete command.
pub fn report_refusal(command: Command, words: &[OsString], why: &str) {
    if let Some(named) = named_files(command, words) {
        report(&named, &Failure::option(why));
    }
}

/// Writes the report of a failure. An error of the report itself is ignored: the failure is printed
/// in any case.
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

/// The files that these words name; other values are ignored. `None` if an option is unknown,
/// because its value cannot be distinguished from other words.
fn named_files(command: Command, words: &[OsString]) -> Option<Named> {
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
