//! Computes time limits from the model solution's times, and writes them into the package.

pub use super::error::SkippedSubmission;

use super::error::{FileAction, FileFault, LimitMismatch, MachineError, ProgramFault, file};
use super::record::Record;
use super::replace::Replacement;
use super::{SetterError, below, read_directory};
use millibox_judge::judge::{Judge, Machine, Observer, Options, PreparedProblem};
use millibox_judge::report::TestReport;
use millibox_judge::time_limit::{
    self, DEFAULT_FACTOR, DEFAULT_RESOLUTION, LimitPurpose, MEASURING_CPU_TIME,
};
use millibox_judge::verdict::Verdict;
use millibox_languages::cache::Cache;
use millibox_languages::compile::{CompileError, Unavailable};
use millibox_languages::suite::Suites;
use millibox_package::Problem;
use millibox_package::edit::{self, EditError};
use millibox_package::model::{Format, Submission};
use serde::Serialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The measured times and the limits computed from them.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The formula from which the limits were computed.
    pub formula: String,
    /// The limit of all tests, in seconds. `None` means that each test has its own limit.
    pub limit: Option<f64>,
    /// The limit of all tests that the package states, in seconds.
    pub stated: Option<f64>,
    /// The tests, in order.
    pub tests: Vec<TestTime>,
    /// Submissions that were not measured.
    pub skipped: Vec<SkippedSubmission>,
    /// Changed files, as paths below the package.
    pub written: Vec<String>,
}

/// The measurements of one test.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct TestTime {
    /// Name of the test.
    pub test: String,
    /// The slowest submission that was measured.
    pub submission: String,
    /// The submission's CPU time in seconds.
    pub time: f64,
    /// The maximum memory of all measured submissions, in bytes.
    pub memory: u64,
    /// The computed limit, in seconds.
    pub limit: f64,
    /// The limit that the package states for the test, in seconds.
    pub stated: Option<f64>,
}

/// The time and the memory that a submission needed for a test.
#[derive(Debug, Clone, Copy)]
pub struct Needed {
    /// CPU time.
    pub cpu_time: Duration,
    /// Peak memory, in bytes.
    pub memory: u64,
}

/// What measuring a submission has shown.
#[derive(Debug)]
pub enum Measured {
    /// What it needed for each test, by the test's name. It was accepted on all of them.
    Accepted(HashMap<String, Needed>),
    /// Its language cannot be used.
    Skipped(Unavailable),
}

/// Measures the time limits. With `write`, changes the package.
///
/// For a Sim package, this measures the model solution, and each test has its own limit. For an
/// ICPC package, this measures all submissions that must be accepted, and one limit applies to all
/// tests. Use a machine with one job, because tests that run at the same time affect each other.
/// Submissions whose language cannot be used here are skipped if others remain.
///
/// # Errors
/// The package cannot be judged, all submissions were skipped, a measured submission is not
/// accepted on some test, or a file cannot be written. In these cases the package is unchanged.
pub fn limits(
    machine: &Machine,
    suites: Suites,
    cache: Cache,
    package: &Path,
    write: bool,
    observer: Observer<'_>,
) -> Result<Report, SetterError> {
    let options = Options {
        time_limit: Some(MEASURING_CPU_TIME),
        ..Options::default()
    };
    let judge = Judge::new(machine, suites, cache, options);
    let mut prepared: Option<PreparedProblem> = None;
    limits_by(package, write, &mut |problem, submission| {
        let ready = match prepared.take() {
            Some(ready) => ready,
            None => judge
                .problem(problem.clone(), observer)
                .map_err(|error| SetterError::from(ProgramFault::Package(error)))?,
        };
        measured(&judge, prepared.insert(ready), submission, observer)
    })
}

fn measured(
    judge: &Judge<'_>,
    problem: &PreparedProblem,
    submission: &Submission,
    observer: Observer<'_>,
) -> Result<Measured, SetterError> {
    let name = &submission.name;
    let progress = match judge.results(problem, submission, observer) {
        Ok(progress) => progress,
        Err(CompileError::Unavailable(reason)) => return Ok(Measured::Skipped(reason)),
        Err(error) => return Err(not_compiled(name, error)),
    };
    let result = progress.submission();
    match result.verdict {
        Some(Verdict::Accepted) => {}
        None => return Err(MachineError::Stopped.into()),
        Some(verdict) => {
            let (submission, reason) = (name.clone(), result.reason.clone());
            return Err(match verdict {
                Verdict::JudgeError => MachineError::Measuring { submission, reason }.into(),
                _ => ProgramFault::NotAccepted {
                    submission,
                    verdict,
                    reason,
                }
                .into(),
            });
        }
    }
    let tests = problem.problem().tests().enumerate();
    let needed = tests.filter_map(|(index, test)| {
        let seen = TestReport::judged(&progress, index);
        let (time, figures) = (seen.cpu_time_ns()?, seen.figures.as_ref()?);
        let needed = Needed {
            cpu_time: Duration::from_nanos(time),
            memory: figures.peak_memory_bytes,
        };
        Some((test.name.clone(), needed))
    });
    Ok(Measured::Accepted(needed.collect()))
}

/// Like [`limits`], but `measure` judges a submission without the package's time limits, for
/// example on another machine.
///
/// # Errors
/// `measure` fails, all submissions were skipped, or a file cannot be read or written. In these
/// cases the package is unchanged.
pub fn limits_by(
    package: &Path,
    write: bool,
    measure: &mut dyn FnMut(&Problem, &Submission) -> Result<Measured, SetterError>,
) -> Result<Report, SetterError> {
    let problem = if write {
        read_directory(package)
    } else {
        read(package)
    }?;
    let submissions: Vec<Submission> = match problem.format {
        Format::Sim => problem.model_solution().into_iter().cloned().collect(),
        Format::Legacy | Format::Icpc2023 => problem
            .submissions
            .iter()
            .filter(|submission| submission.is_measured())
            .cloned()
            .collect(),
    };
    if submissions.is_empty() {
        return Err(match problem.model_solution() {
            None => ProgramFault::NothingToMeasure.into(),
            Some(_) => ProgramFault::MeasuringExcluded.into(),
        });
    }
    let mut tests: Vec<TestTime> = problem
        .tests()
        .map(|test| TestTime {
            test: test.name.clone(),
            submission: String::new(),
            time: 0.0,
            memory: 0,
            limit: 0.0,
            stated: test
                .cpu_time
                .or(problem.limits.cpu_time)
                .map(|limit| limit.as_secs_f64()),
        })
        .collect();
    let mut skipped = Vec::new();
    for submission in &submissions {
        let name = &submission.name;
        let needed = match measure(&problem, submission)? {
            Measured::Accepted(needed) => needed,
            Measured::Skipped(reason) => {
                skipped.push(SkippedSubmission {
                    submission: name.clone(),
                    reason,
                });
                continue;
            }
        };
        for test in &mut tests {
            let Some(needed) = needed.get(&test.test) else {
                continue;
            };
            let time = needed.cpu_time.as_secs_f64();
            test.memory = test.memory.max(needed.memory);
            if time >= test.time {
                (test.time, test.submission) = (time, name.clone());
            }
        }
    }
    if skipped.len() == submissions.len() {
        return Err(MachineError::NoneMeasurable(skipped).into());
    }
    let mut report = Report {
        skipped,
        ..computed(&problem, tests)
    };
    if write {
        report.written = self::write(package, &problem, &report)?;
    }
    Ok(report)
}

/// Returns the error for a submission without a program.
fn not_compiled(submission: &str, error: CompileError) -> SetterError {
    if error.is_compile_error() {
        let submission = submission.to_owned();
        return ProgramFault::NotCompiled { submission, error }.into();
    }
    MachineError::Compiler {
        program: submission.into(),
        error,
    }
    .into()
}

fn read(package: &Path) -> Result<Problem, SetterError> {
    millibox_package::read(package).map_err(SetterError::Package)
}

fn computed(problem: &Problem, mut tests: Vec<TestTime>) -> Report {
    let stated = problem.limits.cpu_time.map(|limit| limit.as_secs_f64());
    if problem.format == Format::Sim {
        for test in &mut tests {
            test.limit = time_limit::sim(Duration::from_secs_f64(test.time), LimitPurpose::Setting)
                .as_secs_f64();
        }
        let formula = format!(
            "{}; t: the model solution's time",
            time_limit::sim_formula(LimitPurpose::Setting)
        );
        return Report {
            formula,
            limit: None,
            stated,
            tests,
            skipped: Vec::new(),
            written: Vec::new(),
        };
    }
    let factor = problem.limits.from_accepted.unwrap_or(DEFAULT_FACTOR);
    let resolution = problem.limits.resolution.unwrap_or(DEFAULT_RESOLUTION);
    let slowest = Duration::from_secs_f64(tests.iter().map(|test| test.time).fold(0.0, f64::max));
    let limit = time_limit::icpc(slowest, factor, resolution).as_secs_f64();
    let resolution = resolution.as_secs_f64();
    for test in &mut tests {
        test.limit = limit;
    }
    let formula = format!(
        "{factor} t, rounded up to a multiple of {resolution} s; t: the slowest accepted \
         submission's time"
    );
    Report {
        formula,
        limit: Some(limit),
        stated,
        tests,
        skipped: Vec::new(),
        written: Vec::new(),
    }
}

/// Writes the limits and reads the package again. If the package then states other limits, restores
/// the files. Returns the changed files.
fn write(package: &Path, problem: &Problem, report: &Report) -> Result<Vec<String>, SetterError> {
    let record = Record::open(&problem.directory)?;
    let mut changes: Vec<(PathBuf, String, String)> = Vec::new();
    let mut change = |name: &str,
                      edit: &dyn Fn(&str) -> Result<String, EditError>|
     -> Result<bool, SetterError> {
        let path = problem.directory.join(name);
        let old = match std::fs::read_to_string(&path) {
            Ok(old) => old,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(file(FileAction::Read, &path, error)),
        };
        let new =
            edit(&old).map_err(|error| file(FileAction::Change, &path, FileFault::Edit(error)))?;
        changes.push((path, old, new));
        Ok(true)
    };
    match report.limit {
        None => {
            let limits: Vec<(String, Duration)> = report
                .tests
                .iter()
                .map(|test| (test.test.clone(), Duration::from_secs_f64(test.limit)))
                .collect();
            change("Simfile", &|text| edit::simfile_limits(text, &limits))?;
        }
        Some(limit) => {
            let limit = Duration::from_secs_f64(limit);
            let text = |name: &str| {
                std::fs::read_to_string(problem.directory.join(name)).unwrap_or_default()
            };
            // Change each file that states a limit, because they must agree. If none does, write to
            // problem.yaml, which every reader reads.
            let (yaml, ini) = ("problem.yaml", "domjudge-problem.ini");
            let in_yaml = edit::yaml_has_time_limit(&text(yaml));
            let in_ini = edit::ini_has_time_limit(&text(ini));
            let written =
                (in_yaml || !in_ini) && change(yaml, &|text| edit::yaml_time_limit(text, limit))?;
            if in_ini || !written {
                change(ini, &|text| Ok(edit::ini_time_limit(text, limit)))?;
            }
            change(".timelimit", &|_| Ok(format!("{}\n", edit::seconds(limit))))?;
        }
    }
    changes.retain(|(_, old, new)| old != new);
    let put = |which: fn(&(PathBuf, String, String)) -> &str| {
        let mut replacement = Replacement::begin(record.directory.join("new"))?;
        for change in &changes {
            let new = replacement.path();
            let failed = |error: std::io::Error| file(FileAction::Write, &change.0, error);
            std::fs::write(&new, which(change)).map_err(failed)?;
            let permissions = change.0.metadata().map_err(failed)?.permissions();
            std::fs::set_permissions(&new, permissions).map_err(failed)?;
            replacement.add(new, change.0.clone());
        }
        replacement.commit()
    };
    put(|(_, _, new)| new)?;
    if let Err(mismatch) = check_written(package, report) {
        put(|(_, old, _)| old)?;
        return Err(MachineError::LimitsNotRead(mismatch).into());
    }
    Ok(changes
        .iter()
        .map(|(path, ..)| below(problem, path))
        .collect())
}

/// Checks that the package states the report's limits.
fn check_written(package: &Path, report: &Report) -> Result<(), LimitMismatch> {
    let problem = millibox_package::read_unfinished(package).map_err(LimitMismatch::Unreadable)?;
    for test in &report.tests {
        let limit = problem
            .test(&test.test)
            .and_then(|test| test.cpu_time.or(problem.limits.cpu_time));
        let found = limit.map(|limit| limit.as_secs_f64());
        if found.is_none_or(|found| (found - test.limit).abs() > 1e-6) {
            return Err(LimitMismatch::Test {
                test: test.test.clone(),
                found,
                written: test.limit,
            });
        }
    }
    Ok(())
}
