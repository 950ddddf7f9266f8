//! Finds faults of a package: its files, its inputs and its answers.
//!
//! | module | content |
//! | --- | --- |
//! | `report` | the faults, and the numbers of files that were examined |
//! | `fault` | the faults that validation finds |
//! | `scan` | probable mistakes in text files |
//! | `checktestdata` | input validators in the language checktestdata |
//! | `tools` | validators and the checker |
//! | `probes` | the package's tests of its validators and its checker |

mod checktestdata;
mod fault;
mod probes;
mod report;
mod scan;
mod tools;

pub use fault::{CheckerFailure, Refusal, ValidationFault};
pub use report::Report;

use super::error::FileKind;
use super::{Setter, SetterError};
use millibox_judge::batch::Worker;
use millibox_package::model::{Format, Kind, Scoring, Test};
use millibox_package::{Fault, Problem, Severity, ToolFault};
use scan::scan;
use std::collections::BTreeMap;
use std::path::Path;

impl Setter<'_> {
    /// Validates a package, which is a directory or an archive.
    ///
    /// # Errors
    /// The package does not exist or cannot be read at all, or the sandbox or the machine failed.
    /// Faults of the package are in the report.
    pub fn validate(&self, package: &Path) -> Result<Report, SetterError> {
        let mut report = Report::default();
        let problem = match millibox_package::read_whole(package) {
            Ok(problem) => problem,
            // If all faults concern the package as a whole, none of its files was read.
            Err(faults) if faults.iter().all(|fault| fault.path == package) => {
                return Err(SetterError::Package(faults));
            }
            Err(faults) => {
                report.faults = faults.into_iter().collect();
                return Ok(report);
            }
        };
        report.faults.extend(problem.warnings.iter().cloned());
        let tests: Vec<&Test> = self.complete(&problem, &mut report);
        report.tests = tests.len();
        let scans = self.parallel("files", &tests, |_: &mut Worker<'_>, test| {
            let input = scan(&test.input, true);
            let answer = test
                .answer
                .as_deref()
                .map(|answer| scan(answer, problem.kind == Kind::Batch))
                .transpose();
            (String::new(), input.and_then(|input| Ok((input, answer?))))
        });
        let mut inputs: BTreeMap<(String, [u8; 32]), &Test> = BTreeMap::new();
        let by_group = problem.scoring != Scoring::PassFail;
        for (test, scans) in tests.iter().zip(scans) {
            let (input, answer) = scans?;
            // If the problem has points, several groups may contain the same test.
            let group = if by_group {
                group_of(&problem, test)
            } else {
                String::new()
            };
            if test.arguments.is_empty() && test.files.is_none() {
                let same = inputs.entry((group, input.digest)).or_insert(test);
                if same.name != test.name {
                    let test_name = same.name.clone();
                    let fault = ValidationFault::SameInput { test: test_name };
                    report.add(Severity::Warning, &test.input, fault);
                }
            }
            let answer = answer.zip(test.answer.as_deref());
            for (scan, path) in std::iter::once((input, &*test.input)).chain(answer) {
                for (line, mistake) in scan.mistakes {
                    let fault = Fault::new(path, Severity::Warning, ToolFault::new(mistake));
                    report.faults.push(fault.at_line(line));
                }
            }
        }
        let tools = self.tools(&problem, &mut report)?;
        self.try_tests(&problem, &tests, &tools, &mut report)?;
        self.try_probes(&problem, &tools, &mut report)?;
        if let Some(unpacked) = &problem.unpacked {
            report.faults = report
                .faults
                .into_iter()
                .map(|fault| unpacked.fault(fault))
                .collect();
        }
        Ok(report)
    }

    /// Returns the tests whose files exist. Reports the others as faults.
    fn complete<'p>(&self, problem: &'p Problem, report: &mut Report) -> Vec<&'p Test> {
        let is_generated = |test: &Test| {
            problem.format == Format::Sim
                && (problem
                    .generators
                    .iter()
                    .any(|generation| generation.test == test.name)
                    || problem.directory.join("Sipfile").is_file())
        };
        problem
            .tests()
            .filter(|test| {
                let mut complete = true;
                for (kind, path) in [
                    (FileKind::Input, Some(&test.input)),
                    (FileKind::Answer, test.answer.as_ref()),
                ] {
                    let Some(path) = path.filter(|path| !path.is_file()) else {
                        continue;
                    };
                    let fault = ValidationFault::MissingFile {
                        kind,
                        test: test.name.clone(),
                        generated: is_generated(test),
                    };
                    report.add(Severity::Error, path, fault);
                    complete = false;
                }
                complete
            })
            .collect()
    }
}

/// Returns the name of a test's group.
fn group_of(problem: &Problem, test: &Test) -> String {
    let has = |tests: &[Test]| tests.iter().any(|other| other.name == test.name);
    problem
        .groups()
        .find(|group| has(&group.tests))
        .map(|group| group.name.clone())
        .unwrap_or_default()
}
