//! Prints reports, as text or as JSON.

use crate::failure::{Failure, answer, say};
use millibox_judge::report::counted;
use millibox_package::{Fault, Severity};
use millibox_setter::{generate, limits, validate};
use serde::Serialize;
use std::borrow::Cow;

/// Prints a JSON object on standard output.
pub fn json(report: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(report).map_err(Failure::sandbox)?;
    answer(text)
}

#[derive(Serialize)]
struct Validation<'a> {
    faults: Vec<JsonFault<'a>>,
    tests: usize,
    validations: usize,
    answers: usize,
}

#[derive(Serialize)]
struct JsonFault<'a> {
    severity: &'static str,
    /// The path; bytes that are not UTF-8 are replaced.
    path: Cow<'a, str>,
    line: Option<u32>,
    column: Option<u32>,
    message: String,
}

impl<'a> From<&'a Fault> for JsonFault<'a> {
    fn from(fault: &'a Fault) -> Self {
        let path = fault.path.to_string_lossy();
        JsonFault {
            severity: fault.severity.name(),
            path,
            line: fault.line,
            column: fault.column,
            message: fault.kind.to_string(),
        }
    }
}

/// Prints the result of a validation as JSON.
pub fn validation_json(report: &validate::Report) -> Result<(), Failure> {
    let (tests, validations, answers) = (report.tests, report.validations, report.answers);
    json(&Validation {
        faults: report.faults.iter().map(JsonFault::from).collect(),
        tests,
        validations,
        answers,
    })
}

#[derive(Serialize)]
struct Generation<'a> {
    #[serde(flatten)]
    report: &'a generate::Report,
    warnings: Vec<JsonFault<'a>>,
}

/// Prints the generated files as JSON.
pub fn generation_json(report: &generate::Report) -> Result<(), Failure> {
    json(&Generation {
        report,
        warnings: report.warnings.iter().map(JsonFault::from).collect(),
    })
}

/// Prints the result of a validation, with the number of checks.
pub fn validation(report: &validate::Report) -> Result<(), Failure> {
    report.faults.iter().try_for_each(say)?;
    let errors = report
        .faults
        .iter()
        .filter(|fault| fault.severity == Severity::Error)
        .count();
    let warnings = report.faults.len() - errors;
    say(format_args!(
        "{}, {} of input validators, {} checked: {}, {}",
        counted(report.tests, "test"),
        counted(report.validations, "run"),
        counted(report.answers, "answer"),
        counted(errors, "error"),
        counted(warnings, "warning")
    ))
}

/// Prints the time and limit of each test.
pub fn limits(report: &limits::Report) -> Result<(), Failure> {
    let width = report
        .tests
        .iter()
        .map(|test| test.test.len())
        .max()
        .unwrap_or(0)
        .max(4);
    say(format_args!(
        "{:width$}  {:>8}  {:>8}  {:>8}  {:>9}",
        "test", "time", "limit", "now", "memory"
    ))?;
    for test in &report.tests {
        let stated = test
            .stated
            .map_or_else(|| "-".to_owned(), |stated| format!("{stated:.2} s"));
        let memory = test.memory.div_ceil(1 << 20);
        let (test, time, limit) = (&test.test, test.time, test.limit);
        say(format_args!(
            "{test:width$}  {time:>6.3} s  {limit:>6.2} s  {stated:>8}  {memory:>5} MiB"
        ))?;
    }
    say(format_args!("limit = {}", report.formula))?;
    if let Some(limit) = report.limit {
        let slowest = report.tests.iter().max_by(|a, b| a.time.total_cmp(&b.time));
        if let Some(test) = slowest {
            say(format_args!(
                "{limit} s, because {:.3} s was measured for {} on {}",
                test.time, test.submission, test.test
            ))?;
        }
    }
    for skipped in &report.skipped {
        say(format_args!(
            "{} was not measured: {}",
            skipped.submission, skipped.reason
        ))?;
    }
    report
        .written
        .iter()
        .try_for_each(|path| say(format_args!("changed {path}")))
}
