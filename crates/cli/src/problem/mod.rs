//! `millibox problem`: creates, checks and packs problem packages.
//!
//! The library (`millibox_setter`) does the work. This module contains its command line and output.
//!
//! | file | content |
//! | --- | --- |
//! | `options` | the command line |
//! | `progress` | output during the work |
//! | `print` | output of the results |

mod options;
mod print;
mod progress;

pub use options::Args;

use crate::PROGRAM;
use crate::failure::{Failure, complain, say};
use crate::judge;
use crate::judge::show::{self, Detail, Show, Stream};
use crate::judge_setup::{JudgeSetup, check_package_path};
use crate::signals::Signals;
use millibox_judge::judge::{Event, Judge, Options};
use millibox_judge::report::{JudgeReport, counted};
use millibox_languages::cache::Cache;
use millibox_languages::compile::Toolbox;
use millibox_setter::import::ImportError;
use millibox_setter::{
    ProgramFault, Setter, SetterError, archive, clean, findings, generate, import, init, limits,
};
use options::Command;
use progress::Progress;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Exit status if the package has errors.
const PACKAGE_ERROR_STATUS: u8 = 1;
/// Exit status if the package cannot be read, or a file or the sandbox failed.
const FAILED_STATUS: u8 = 2;

/// Runs the subcommand.
pub fn main(args: &Args) -> Result<ExitCode, Failure> {
    let signals = Signals::catch(PROGRAM)?;
    if let Some(Err(why)) = args.command.package().map(check_package_path) {
        complain(why);
        return Ok(ExitCode::from(FAILED_STATUS));
    }
    let done = match &args.command {
        Command::Init(args) => init_package(args, &signals),
        Command::Import(args) => import_package(args),
        Command::Gen(args) => generate_tests(args, &signals),
        Command::Validate(args) => validate_package(args, &signals),
        Command::Limits(args) => find_limits(args, &signals),
        Command::Test(args) => test_submissions(args, &signals),
        Command::Zip(args) => pack_archive(args, &signals),
        Command::Clean(args) => clean_package(args),
    };
    // A signal that arrives after the archive is complete has no effect.
    if let (Command::Zip(_), Ok(0)) = (&args.command, &done) {
        return Ok(ExitCode::SUCCESS);
    }
    // Any failure after the signal is a consequence of the signal.
    if let Some(status) = signals.ended("the running programs were killed") {
        return Ok(status);
    }
    match done {
        Ok(status) => Ok(ExitCode::from(status)),
        Err(Stop::Failure(failure)) => Err(failure),
        Err(Stop::Setter(error)) => {
            let status = report_error(error)?;
            if let Command::Gen(args) = &args.command
                && lacks_package(args)
            {
                let test = args.package.display();
                complain(format_args!(
                    "millibox: PACKAGE comes first, and tests after it: millibox problem gen . \
                     {test}"
                ));
            }
            Ok(status)
        }
    }
}

/// Why a subcommand failed.
enum Stop {
    Failure(Failure),
    Setter(SetterError),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failure(failure)
    }
}

impl From<SetterError> for Stop {
    fn from(error: SetterError) -> Stop {
        Stop::Setter(error)
    }
}

impl From<millibox::Error> for Stop {
    fn from(error: millibox::Error) -> Stop {
        Stop::Failure(error.into())
    }
}

fn report_error(error: SetterError) -> Result<ExitCode, Failure> {
    let status = match error {
        SetterError::Request(why) => return Err(Failure::option(why.to_string())),
        SetterError::Programs(_) => PACKAGE_ERROR_STATUS,
        _ => FAILED_STATUS,
    };
    let own = if let SetterError::Machine(_) = error {
        "millibox: "
    } else {
        ""
    };
    complain(format_args!("{own}{error}"));
    Ok(ExitCode::from(status))
}

/// Runs a task with a setter's tools. If `lines` is true, each step is printed.
fn work<T>(
    setup: &JudgeSetup,
    lines: bool,
    signals: &Signals,
    work: impl FnOnce(&Setter<'_>) -> Result<T, SetterError>,
) -> Result<T, Stop> {
    let progress = Progress::new(lines, signals);
    let toolbox = Toolbox::new(
        setup.machine.supervisor(),
        setup.suites.clone(),
        setup.cache.clone(),
    );
    let done = work(&Setter::new(
        setup.machine.supervisor(),
        &toolbox,
        &progress,
    ));
    let printed = progress.finish();
    let done = done?;
    Ok(printed.map(|()| done)?)
}

fn init_package(args: &options::Init, signals: &Signals) -> Result<u8, Stop> {
    let options = init::Options {
        format: args.format.into(),
        name: args.name.clone(),
        interactive: args.interactive,
    };
    let make = |setter: Option<&Setter<'_>>| init::init(setter, &args.directory, &options);
    match args.no_gen {
        // Without generators, no program runs, so no machine is needed.
        true => make(None)?,
        false => work(
            &JudgeSetup::open(&args.work, None, &[], signals)?,
            false,
            signals,
            |setter| make(Some(setter)),
        )?,
    }
    let directory = args.directory.display();
    say(format_args!(
        "{directory}: created a working package; adapt it, and see `millibox problem --help`"
    ))?;
    Ok(0)
}

fn import_package(args: &options::Import) -> Result<u8, Stop> {
    let directory = args.directory.display();
    let imported = match import::import(&args.package, &args.directory) {
        Ok(imported) => imported,
        Err(error) => {
            complain(format_args!(
                "millibox: {}: {error}",
                args.package.display()
            ));
            let is_package = matches!(
                error,
                ImportError::Foreign(_) | ImportError::Unknown | ImportError::Faults(_)
            );
            return Ok(if is_package {
                PACKAGE_ERROR_STATUS
            } else {
                FAILED_STATUS
            });
        }
    };
    let conversion = imported.conversion;
    say(format_args!(
        "{directory}: converted {:?} from {}, with {}",
        conversion.title,
        conversion.format,
        counted(conversion.tests, "test")
    ))?;
    for loss in &conversion.losses {
        say(format_args!("not taken over: {loss}"))?;
    }
    for warning in &imported.warnings {
        say(format_args!("warning: {warning}"))?;
    }
    say(format_args!(
        "check the package with `millibox problem validate {directory}` and `millibox problem test \
         {directory}`"
    ))?;
    Ok(0)
}

fn generate_tests(args: &options::Gen, signals: &Signals) -> Result<u8, Stop> {
    let options = generate::Options {
        tests: args.tests.clone(),
        all: args.all,
        check: args.check,
    };
    let setup = JudgeSetup::open(&args.work, None, &[], signals)?;
    let report = work(&setup, !args.json, signals, |setter| {
        setter.generate(&args.package, &options)
    })?;
    if args.json {
        print::generation_json(&report)?;
        return Ok(0);
    }
    report
        .warnings
        .iter()
        .for_each(|warning| complain(format_args!("{warning}")));
    let changed = report.made.iter().filter(|made| made.changed).count();
    let same = report.made.len() - changed;
    let changed = counted(changed, "file");
    say(format_args!(
        "{changed} changed, {same} unchanged, {} up to date",
        report.current
    ))?;
    Ok(0)
}

/// Whether the current directory is a package and the user seems to have named only a test.
fn lacks_package(args: &options::Gen) -> bool {
    let in_package = ["problem.yaml", "domjudge-problem.ini", "Simfile"]
        .iter()
        .any(|mark| Path::new(mark).is_file());
    in_package && args.tests.is_empty() && !args.package.exists()
}

fn validate_package(args: &options::Validate, signals: &Signals) -> Result<u8, Stop> {
    let report = work(
        &JudgeSetup::open(&args.target.work, None, &[], signals)?,
        false,
        signals,
        |setter| setter.validate(&args.target.package),
    )?;
    match args.json {
        true => print::validation_json(&report)?,
        false => print::validation(&report)?,
    }
    Ok(if report.has_errors() {
        PACKAGE_ERROR_STATUS
    } else {
        0
    })
}

fn find_limits(args: &options::Limits, signals: &Signals) -> Result<u8, Stop> {
    let setup = JudgeSetup::open(&args.target.work, Some(1), &[], signals)?;
    let bar = show::bar();
    let mut on_event = |event: Event<'_>| show::measuring(&bar, &event);
    let report = limits::limits(
        &setup.machine,
        setup.suites,
        setup.cache,
        &args.target.package,
        args.write,
        &mut on_event,
    );
    bar.finish_and_clear();
    let report = report?;
    match args.json {
        true => print::json(&report)?,
        false => print::limits(&report)?,
    }
    Ok(0)
}

/// The report of `millibox judge`, with the findings of `test`.
#[derive(Serialize)]
struct TestReport {
    #[serde(flatten)]
    report: JudgeReport,
    #[serde(flatten)]
    findings: findings::Findings,
}

fn test_submissions(args: &options::Test, signals: &Signals) -> Result<u8, Stop> {
    let problem = millibox_package::read(&args.target.package).map_err(SetterError::Package)?;
    let setup = JudgeSetup::open(&args.target.work, None, &[], signals)?;
    let judge = Judge::new(
        &setup.machine,
        setup.suites.clone(),
        setup.cache.clone(),
        Options::default(),
    );
    let began = Instant::now();
    let bar = show::bar();
    let prepared = match judge.problem(problem.clone(), &mut |event| show::measuring(&bar, &event))
    {
        Ok(prepared) => prepared,
        Err(why) => {
            bar.finish_and_clear();
            return Err(SetterError::from(ProgramFault::Package(why)).into());
        }
    };
    let names = problem
        .submissions
        .iter()
        .map(|submission| submission.name.as_str());
    let mut show = Show::new(
        prepared.plan(),
        Detail::Lines,
        Stream::Stdout,
        bar.clone(),
        setup.machine.clone(),
        names,
    );
    if !args.json {
        show.line(&judge::heading(&prepared, &setup.machine));
    }
    let judged = judge.submissions(
        &prepared,
        &problem.submissions,
        &mut |event| match args.json {
            true => show::measuring(&bar, &event),
            false => show.event(event),
        },
    );
    let report = judge.report(&prepared, judged, began);
    let mut on_event = |event: Event<'_>| show::measuring(&bar, &event);
    let (suites, cache) = (setup.suites.clone(), setup.cache.clone());
    let findings = findings::examine(
        &setup.machine,
        suites,
        cache,
        &problem,
        &prepared,
        &report.submissions,
        &mut on_event,
    );
    if let (false, Ok(findings)) = (args.json, &findings) {
        show.line(&judge::summary(&report));
        findings.remarks.iter().for_each(|remark| show.line(remark));
    }
    show.finish()?;
    let findings = findings?;
    let status = match (report.failed(), report.unexpected().next()) {
        (true, _) => FAILED_STATUS,
        (false, Some(_)) => PACKAGE_ERROR_STATUS,
        (false, None) => 0,
    };
    if args.json {
        print::json(&TestReport { report, findings })?;
    }
    Ok(status)
}

fn pack_archive(args: &options::Zip, signals: &Signals) -> Result<u8, Stop> {
    if !args.force {
        let report = work(
            &JudgeSetup::open(&args.target.work, None, &[], signals)?,
            false,
            signals,
            |setter| setter.validate(&args.target.package),
        )?;
        if report.has_errors() {
            print::validation(&report)?;
            complain(format_args!(
                "millibox: not packed because of these errors; --force packs the package anyway"
            ));
            return Ok(PACKAGE_ERROR_STATUS);
        }
    }
    let problem =
        millibox_package::read_unfinished(&args.target.package).map_err(SetterError::Package)?;
    let output = match &args.output {
        Some(output) => output.clone(),
        // The package is an archive, which was unpacked to a temporary directory: replace the
        // archive.
        None if problem.unpacked.is_some() => args.target.package.clone(),
        None => archive_path(&problem.directory)?,
    };
    let report = archive::pack(&problem, &args.target.package, &output, &|| {
        signals.caught().is_some()
    })?;
    if args.json {
        print::json(&report)?;
        return Ok(0);
    }
    for name in &report.left_out {
        say(format_args!(
            "left out: {name} does not belong to the format"
        ))?;
    }
    let (files, bytes) = (counted(report.files, "file"), counted(report.bytes, "byte"));
    say(format_args!("{}: {files}, {bytes}", report.path.display()))?;
    Ok(0)
}

/// `NAME.zip` beside the directory NAME.
fn archive_path(directory: &Path) -> Result<PathBuf, Failure> {
    let real = directory
        .canonicalize()
        .map_err(|error| Failure::option(format!("{}: {error}", directory.display())))?;
    let mut name = real.file_name().unwrap_or_default().to_owned();
    name.push(".zip");
    Ok(real.with_file_name(name))
}

#[derive(Serialize)]
struct CleanReport {
    #[serde(flatten)]
    report: clean::Report,
    programs: usize,
}

fn clean_package(args: &options::Clean) -> Result<u8, Stop> {
    let report = clean::clean(&args.package, &args.tests, args.dry_run)?;
    let mut programs = 0;
    if args.programs {
        let cache = Cache::of_user().map_err(Failure::option)?;
        programs = cache.clear(args.dry_run).map_err(Failure::sandbox)?;
    }
    if args.json {
        print::json(&CleanReport { report, programs })?;
        return Ok(0);
    }
    let verb = if args.dry_run {
        "would remove"
    } else {
        "removed"
    };
    report
        .removed
        .iter()
        .try_for_each(|path| say(format_args!("{verb} {path}")))?;
    report.kept.iter().try_for_each(|path| {
        say(format_args!(
            "kept {path}: it was changed after gen created it"
        ))
    })?;
    if args.programs {
        say(format_args!(
            "{verb} {}",
            counted(programs, "compiled program")
        ))?;
    }
    if report.removed.is_empty() && report.kept.is_empty() {
        say("no file here was created by `millibox problem gen`")?;
    }
    Ok(0)
}
