//! `millibox problem`: what a problem setter does before anybody is judged.
//!
//! The work is the library's (`millibox_setter`); here are its command line and what is told
//! of it.
//!
//! | file | what |
//! | --- | --- |
//! | `options` | the command line |
//! | `progress` | what goes on, while it does |
//! | `print` | what came of it |

mod options;
mod print;
mod progress;

pub use options::Args;

use crate::PROGRAM;
use crate::failure::{Failure, complain, say};
use crate::judge;
use crate::judge::show::{self, Detail, On, Show};
use crate::shop::{Shop, can_be_package};
use crate::signals::Signals;
use millibox_judge::judge::{Event, Judge, Options};
use millibox_judge::report::{JudgeReport, counted};
use millibox_languages::cache::Cache;
use millibox_languages::compile::Toolbox;
use millibox_setter::{
    ProgramFault, Setter, SetterError, archive, clean, findings, generate, init, limits,
};
use options::Command;
use progress::Progress;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Something is wrong with the package.
const WRONG: u8 = 1;
/// The package cannot be read, or something failed that says nothing of it.
const FAILED: u8 = 2;

/// The whole subcommand.
pub fn main(args: &Args) -> Result<ExitCode, Failure> {
    let signals = Signals::catch(PROGRAM)?;
    if args
        .command
        .package()
        .is_some_and(|package| !can_be_package(package))
    {
        return Ok(ExitCode::from(FAILED));
    }
    let done = match &args.command {
        Command::Init(args) => begin(args, &signals),
        Command::Gen(args) => make(args, &signals),
        Command::Validate(args) => look(args, &signals),
        Command::Limits(args) => measure(args, &signals),
        Command::Test(args) => try_all(args, &signals),
        Command::Zip(args) => pack(args, &signals),
        Command::Clean(args) => tidy(args),
    };
    // The new archive is in its place: a signal came too late, and has ended nothing.
    if let (Command::Zip(_), Ok(0)) = (&args.command, &done) {
        return Ok(ExitCode::SUCCESS);
    }
    // What failed then failed for this.
    if let Some(status) = signals.ended("what ran was killed") {
        return Ok(status);
    }
    match done {
        Ok(status) => Ok(ExitCode::from(status)),
        Err(Stop::Failure(failure)) => Err(failure),
        Err(Stop::Setter(error)) => {
            let status = tell(error)?;
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

/// Why a subcommand did not come to its end.
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

fn tell(error: SetterError) -> Result<ExitCode, Failure> {
    let status = match error {
        SetterError::Request(why) => return Err(Failure::option(why.to_string())),
        SetterError::Programs(_) => WRONG,
        _ => FAILED,
    };
    let own = if let SetterError::Machine(_) = error {
        "millibox: "
    } else {
        ""
    };
    complain(format_args!("{own}{error}"));
    Ok(ExitCode::from(status))
}

/// Does something with a setter's tools; `lines`: each step is told.
fn work<T>(
    shop: &Shop,
    lines: bool,
    signals: &Signals,
    work: impl FnOnce(&Setter<'_>) -> Result<T, SetterError>,
) -> Result<T, Stop> {
    let progress = Progress::new(lines, signals);
    let toolbox = Toolbox::new(
        shop.machine.supervisor(),
        shop.suites.clone(),
        shop.cache.clone(),
    );
    let done = work(&Setter::new(shop.machine.supervisor(), &toolbox, &progress));
    let told = progress.finish();
    let done = done?;
    Ok(told.map(|()| done)?)
}

fn begin(args: &options::Init, signals: &Signals) -> Result<u8, Stop> {
    let options = init::Options {
        format: args.format.into(),
        name: args.name.clone(),
        interactive: args.interactive,
    };
    let make = |setter: Option<&Setter<'_>>| init::init(setter, &args.directory, &options);
    match args.no_gen {
        // Nothing is run, so nothing is asked of the machine.
        true => make(None)?,
        false => work(
            &Shop::open(&args.work, None, &[], signals)?,
            false,
            signals,
            |setter| make(Some(setter)),
        )?,
    }
    let directory = args.directory.display();
    say(format_args!(
        "{directory}: a package that works; change it to yours, and see `millibox problem --help`"
    ))?;
    Ok(0)
}

fn make(args: &options::Gen, signals: &Signals) -> Result<u8, Stop> {
    let options = generate::Options {
        tests: args.tests.clone(),
        all: args.all,
        check: args.check,
    };
    let shop = Shop::open(&args.work, None, &[], signals)?;
    let report = work(&shop, !args.json, signals, |setter| {
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
        "{changed} changed, {same} came out as before, {} up to date",
        report.current
    ))?;
    Ok(0)
}

/// Whether somebody who stands in a package seems to have named only a test.
fn lacks_package(args: &options::Gen) -> bool {
    let in_package = ["problem.yaml", "domjudge-problem.ini", "Simfile"]
        .iter()
        .any(|mark| Path::new(mark).is_file());
    in_package && args.tests.is_empty() && !args.package.exists()
}

fn look(args: &options::Validate, signals: &Signals) -> Result<u8, Stop> {
    let report = work(
        &Shop::open(&args.on.work, None, &[], signals)?,
        false,
        signals,
        |setter| setter.validate(&args.on.package),
    )?;
    match args.json {
        true => print::validation_json(&report)?,
        false => print::validation(&report)?,
    }
    Ok(if report.has_errors() { WRONG } else { 0 })
}

fn measure(args: &options::Limits, signals: &Signals) -> Result<u8, Stop> {
    let shop = Shop::open(&args.on.work, Some(1), &[], signals)?;
    let bar = show::bar();
    let mut tell = |event: Event<'_>| show::measuring(&bar, &event);
    let report = limits::limits(
        &shop.machine,
        shop.suites,
        shop.cache,
        &args.on.package,
        args.write,
        &mut tell,
    );
    bar.finish_and_clear();
    let report = report?;
    match args.json {
        true => print::json(&report)?,
        false => print::limits(&report)?,
    }
    Ok(0)
}

/// What `millibox judge` reports, and what was found besides.
#[derive(Serialize)]
struct Tested {
    #[serde(flatten)]
    report: JudgeReport,
    #[serde(flatten)]
    findings: findings::Findings,
}

fn try_all(args: &options::Test, signals: &Signals) -> Result<u8, Stop> {
    let problem = millibox_package::read(&args.on.package).map_err(SetterError::Package)?;
    let shop = Shop::open(&args.on.work, None, &[], signals)?;
    let judge = Judge::new(
        &shop.machine,
        shop.suites.clone(),
        shop.cache.clone(),
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
        On::Stdout,
        bar.clone(),
        shop.machine.clone(),
        names,
    );
    if !args.json {
        show.line(&judge::heading(&prepared, &shop.machine));
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
    let mut told = |event: Event<'_>| show::measuring(&bar, &event);
    let (suites, cache) = (shop.suites.clone(), shop.cache.clone());
    let findings = findings::examine(
        &shop.machine,
        suites,
        cache,
        &problem,
        &prepared,
        &report.submissions,
        &mut told,
    );
    if let (false, Ok(findings)) = (args.json, &findings) {
        show.line(&judge::summary(&report));
        findings.remarks.iter().for_each(|remark| show.line(remark));
    }
    show.finish()?;
    let findings = findings?;
    let status = match (report.failed(), report.unexpected().next()) {
        (true, _) => FAILED,
        (false, Some(_)) => WRONG,
        (false, None) => 0,
    };
    if args.json {
        print::json(&Tested { report, findings })?;
    }
    Ok(status)
}

fn pack(args: &options::Zip, signals: &Signals) -> Result<u8, Stop> {
    if !args.force {
        let report = work(
            &Shop::open(&args.on.work, None, &[], signals)?,
            false,
            signals,
            |setter| setter.validate(&args.on.package),
        )?;
        if report.has_errors() {
            print::validation(&report)?;
            complain(format_args!(
                "millibox: not packed, for these errors; --force packs it all the same"
            ));
            return Ok(WRONG);
        }
    }
    let problem =
        millibox_package::read_unfinished(&args.on.package).map_err(SetterError::Package)?;
    let output = match &args.output {
        Some(output) => output.clone(),
        // An archive's own place: it was unpacked to where nothing stays.
        None if problem.unpacked.is_some() => args.on.package.clone(),
        None => beside(&problem.directory)?,
    };
    let report = archive::pack(&problem, &args.on.package, &output, &|| {
        signals.caught().is_some()
    })?;
    if args.json {
        print::json(&report)?;
        return Ok(0);
    }
    for name in &report.left_out {
        say(format_args!("left out: {name} is not of the format"))?;
    }
    let (files, bytes) = (counted(report.files, "file"), counted(report.bytes, "byte"));
    say(format_args!("{}: {files}, {bytes}", report.path.display()))?;
    Ok(0)
}

/// `NAME.zip` beside the directory NAME.
fn beside(directory: &Path) -> Result<PathBuf, Failure> {
    let real = directory
        .canonicalize()
        .map_err(|error| Failure::option(format!("{}: {error}", directory.display())))?;
    let mut name = real.file_name().unwrap_or_default().to_owned();
    name.push(".zip");
    Ok(real.with_file_name(name))
}

#[derive(Serialize)]
struct Tidied {
    #[serde(flatten)]
    report: clean::Report,
    programs: usize,
}

fn tidy(args: &options::Clean) -> Result<u8, Stop> {
    let report = clean::clean(&args.package, &args.tests, args.dry_run)?;
    let mut programs = 0;
    if args.programs {
        let cache = Cache::of_user().map_err(Failure::option)?;
        programs = cache.clear(args.dry_run).map_err(Failure::sandbox)?;
    }
    if args.json {
        print::json(&Tidied { report, programs })?;
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
    report
        .kept
        .iter()
        .try_for_each(|path| say(format_args!("kept {path}: somebody has changed it")))?;
    if args.programs {
        say(format_args!(
            "{verb} {}",
            counted(programs, "compiled program")
        ))?;
    }
    if report.removed.is_empty() && report.kept.is_empty() {
        say("nothing here was made by `millibox problem gen`")?;
    }
    Ok(0)
}
