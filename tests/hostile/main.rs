//! Hostile programs on the real kernel. Each must be held on every backend and under the profiles
//! that its header names.
//!
//! | file | content |
//! | --- | --- |
//! | `programs/CLASS/NAME.c` | one program for one property; the header states the expectation |
//! | `header` | parses the headers |
//! | `compile` | compiles the programs, once |
//! | `machine` | backends, supervisors, and the state of the host that must not change |
//! | `case` | one program on one backend under one profile |
//! | `scene` | the files, the world and the request of a case |
//! | `run` | runs a program, alone, as a pair, or beside a neighbour |
//! | `checks` | checks the result and the host after a run |
//! | `innocent` | the innocent run after each hostile program |
//! | `record` | the results of one run of these tests |
//! | `document` | `docs/hostile.json`: the results of all programs |
//! | `page` | `docs/hostile.md`: a summary of the document |
//!
//! `cargo test --test hostile NAME` runs the cases with NAME in `CLASS::PROGRAM::BACKEND::PROFILE`.
//! `::control` runs the program without its wall; the program must then succeed. `::copy` runs it
//! in a copy of a template (`launcher.c`). `::beside` runs `/bin/true` beside the program; these
//! runs must not fail.
//!
//! Two commands do not run any case:
//!
//! * `cargo test --test hostile -- compile` compiles all programs.
//! * `cargo test --test hostile -- update-docs [RECORD]...` writes `docs/hostile.json` and
//!   `docs/hostile.md`. It takes the results of the programs in the records from there, keeps the
//!   other results of `docs/hostile.json`, and updates all descriptions.
//!
//! Environment variables:
//!
//! | variable | meaning |
//! | --- | --- |
//! | `MILLIBOX_HOSTILE` | the directory of the programs; by default the one in the sources |
//! | `MILLIBOX_HOSTILE_EXECUTABLES` | the directory for executables |
//! | `MILLIBOX_HOSTILE_RECORD` | write the record of this run to this file |
//! | `MILLIBOX_HOSTILE_TABLE` | write the page to this file, and the JSON beside it |
//! | `MILLIBOX_HOSTILE_WITH` | a record of another machine, to be included in the page |
//! | `MILLIBOX_ROTATION` | `PART/PARTS`: run only this part of all cases |

mod case;
mod checks;
mod compile;
mod document;
mod header;
mod innocent;
mod machine;
mod page;
mod record;
mod run;
mod scene;

use case::{Case, CaseError};
use document::Document;
use header::{Control, Profile, Program};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use machine::{BackendKey, Machine};
use millibox_tests::skip_named;
use record::{Neighbours, Record, Results};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock};

/// The page of the documentation. The JSON file is beside it.
const PAGE: &str = "docs/hostile.md";

/// The results that the cases of this run add.
#[derive(Default)]
struct Collected {
    results: Mutex<Results>,
    neighbours: Mutex<Neighbours>,
    known_failures: Mutex<Vec<String>>,
}

fn main() -> ExitCode {
    let directory = std::env::var_os("MILLIBOX_HOSTILE").map(PathBuf::from);
    let directory =
        directory.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("hostile/programs"));
    let programs = match header::all(&directory) {
        Ok(programs) => Arc::new(programs),
        Err(error) => {
            let reason = format!("{} cannot be read here: {error}", directory.display());
            skip_named("hostile", &reason);
            return ExitCode::SUCCESS;
        }
    };
    let mut words = std::env::args().skip(1);
    let errors = match words.next().as_deref() {
        Some("compile") => Some(compile_all(&programs)),
        Some("update-docs") => {
            let records: Vec<PathBuf> = words.map(workspace).collect();
            let error = write_document(&programs, &records).err();
            Some(error.into_iter().collect())
        }
        _ => None,
    };
    if let Some(errors) = errors {
        errors.iter().for_each(|error| eprintln!("{error}"));
        return exit_code(errors.is_empty());
    }
    run_tests(&programs)
}

fn exit_code(success: bool) -> ExitCode {
    if success {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs the cases that the arguments select, and writes their results.
fn run_tests(programs: &Arc<Vec<Program>>) -> ExitCode {
    let arguments = Arguments::from_args();
    let (machine, backends, missing) = Machine::new();
    let machine = Arc::new(machine);
    if !arguments.list {
        for (backend, why) in missing {
            skip_named(&format!("hostile::{}", backend.name()), &why);
        }
    }
    let collected: Arc<Collected> = Arc::default();
    let mut trials = all_trials(programs, &machine, &backends, &collected);
    millibox_tests::keep_rotating_part(&mut trials);
    // A run that writes the document cannot require that the old document is complete.
    if std::env::var_os("MILLIBOX_HOSTILE_TABLE").is_none() {
        let programs = programs.clone();
        let name = "document::lists_every_program";
        trials.push(Trial::ignorable_test(name, move || {
            check_document(&programs)
        }));
    }
    let count = trials.len();
    let conclusion = libtest_mimic::run(&arguments, trials);
    let remains = machine.finish();
    if arguments.list {
        return conclusion.exit_code();
    }
    let failures = std::mem::take(&mut *collected.known_failures.lock().expect("no panic"));
    if !failures.is_empty() {
        println!("known failures: {}", failures.len());
        failures
            .iter()
            .for_each(|failure| println!("    {failure}"));
    }
    let tallies = machine.innocents.tallies();
    for (backend, tally) in &tallies {
        println!(
            "{}: {} innocent runs after {} hostile programs; {} differ from a fresh supervisor",
            backend.name(),
            tally.runs,
            tally.cases,
            tally.differences
        );
    }
    remains.iter().for_each(|what| println!("REMAINS: {what}"));
    if !remains.is_empty() || conclusion.has_failed() {
        return ExitCode::FAILURE;
    }
    let results = std::mem::take(&mut *collected.results.lock().expect("no panic"));
    let neighbours = std::mem::take(&mut *collected.neighbours.lock().expect("no panic"));
    let record = Record::of_this_machine(results, neighbours, tallies);
    if let Err(why) = write(programs, record) {
        println!("no results of {count} cases written: {why}");
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

/// A case without its program, which the tests share.
#[derive(Clone, Copy)]
struct Way {
    backend: BackendKey,
    profile: Profile,
    without: Option<Control>,
    copy: bool,
    beside: bool,
}

impl Way {
    fn of(self, program: &Program) -> Case<'_> {
        Case {
            program,
            backend: self.backend,
            profile: self.profile,
            without: self.without,
            copy: self.copy,
            beside: self.beside,
        }
    }
}

/// The tests of all programs.
fn all_trials(
    programs: &Arc<Vec<Program>>,
    machine: &Arc<Machine>,
    backends: &[BackendKey],
    collected: &Arc<Collected>,
) -> Vec<Trial> {
    let mut trials = Vec::new();
    for index in 0..programs.len() {
        for way in ways(&programs[index], backends) {
            let (programs, machine) = (programs.clone(), machine.clone());
            let collected = collected.clone();
            let name = way.of(&programs[index]).name();
            trials.push(Trial::ignorable_test(name, move || {
                let case = way.of(&programs[index]);
                if way.beside {
                    measure_neighbour(&case, &machine, &collected)
                } else {
                    run_case(&case, &machine, &collected)
                }
            }));
        }
    }
    trials
}

/// Returns the ways in which a program runs: on every backend under its profiles, as a copy of a
/// template and beside a neighbour, and once without its wall.
fn ways(program: &Program, backends: &[BackendKey]) -> Vec<Way> {
    let header = &program.header;
    let first = header.profiles.first().copied().unwrap_or(Profile::Default);
    let way = |backend: &BackendKey| Way {
        backend: *backend,
        profile: first,
        without: None,
        copy: false,
        beside: false,
    };
    let mut ways = Vec::new();
    for backend in backends {
        ways.extend(header.profiles.iter().map(|profile| Way {
            profile: *profile,
            ..way(backend)
        }));
    }
    if let (Some(control), Some(best)) = (header.control, backends.first()) {
        ways.push(Way {
            without: Some(control),
            ..way(best)
        });
    }
    ways.extend(backends.iter().map(|backend| Way {
        copy: true,
        ..way(backend)
    }));
    ways.extend(backends.iter().map(|backend| Way {
        beside: true,
        ..way(backend)
    }));
    ways
}

/// Compiles all programs and returns the errors.
fn compile_all(programs: &[Program]) -> Vec<String> {
    let directory = compile::directory();
    match std::fs::create_dir_all(&directory) {
        Ok(()) => compile::all(programs, &directory),
        Err(error) => vec![format!("{}: {error}", directory.display())],
    }
}

/// Updates the document with the results in records, and with the descriptions of the programs.
fn write_document(programs: &[Program], records: &[PathBuf]) -> Result<(), String> {
    let path = named("MILLIBOX_HOSTILE_TABLE").unwrap_or_else(|| workspace(PAGE));
    let mut document = Document::read(&path.with_extension("json"))?;
    for record in records {
        document.add(programs, Record::read(record)?);
    }
    document.refresh(programs);
    write_page(&document, &path)
}

/// Writes the page, and the document beside it.
fn write_page(document: &Document, path: &Path) -> Result<(), String> {
    let write = |path: &Path, text: String| {
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    write(&path.with_extension("json"), document.to_json()?)?;
    write(path, page::page(document))
}

/// Writes the record and the page of this run, if the environment requests them.
fn write(programs: &[Program], record: Record) -> Result<(), String> {
    if let Some(path) = named("MILLIBOX_HOSTILE_RECORD") {
        record.write(&path)?;
    }
    let Some(path) = named("MILLIBOX_HOSTILE_TABLE") else {
        return Ok(());
    };
    let mut records = vec![record];
    if let Some(other) = named("MILLIBOX_HOSTILE_WITH") {
        records.push(Record::read(&other)?);
    }
    write_page(&Document::new(programs, records)?, &path)
}

/// Checks that `docs/hostile.json` describes exactly the existing programs, and that
/// `docs/hostile.md` was generated from it.
fn check_document(programs: &[Program]) -> Result<Completion, Failed> {
    let path = workspace(PAGE);
    if let Err(error) = std::fs::read_dir(workspace("docs")) {
        let reason = format!("docs cannot be read here: {error}");
        skip_named("document::lists_every_program", &reason);
        return Ok(Completion::ignored_with(reason));
    }
    let page = std::fs::read_to_string(&path).map_err(|error| format!("{PAGE}: {error}"))?;
    let document = Document::read(&path.with_extension("json"))?;
    let differences = document.differences(programs);
    if !differences.is_empty() {
        let list = differences.join("; ");
        return Err(format!("docs/hostile.json and the programs differ: {list}").into());
    }
    if page != page::page(&document) {
        return Err(format!("{PAGE} was not generated from docs/hostile.json").into());
    }
    Ok(Completion::Completed)
}

/// The path that an environment variable contains.
fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(workspace)
}

/// Resolves a path relative to the workspace, because cargo starts tests in their package.
fn workspace(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn run_case(
    case: &Case<'_>,
    machine: &Machine,
    collected: &Collected,
) -> Result<Completion, Failed> {
    let outcome = case.run(machine);
    let keep = |result| {
        if case.without.is_none() && !case.copy {
            let key = (case.program.full_name(), case.backend, case.profile);
            collected
                .results
                .lock()
                .expect("no panic")
                .insert(key, result);
        }
    };
    match outcome {
        Ok(held) => {
            if let Some(why) = &held.known_failure {
                collected
                    .known_failures
                    .lock()
                    .expect("no panic")
                    .push(format!("{}: {why}", case.name()));
            }
            keep(Ok(held));
            Ok(Completion::Completed)
        }
        Err(CaseError::Skipped(why)) => {
            keep(Err(why.clone()));
            Ok(skipped(case, why))
        }
        Err(CaseError::Failed(why)) => Err(Failed::from(why)),
    }
}

fn measure_neighbour(
    case: &Case<'_>,
    machine: &Machine,
    collected: &Collected,
) -> Result<Completion, Failed> {
    match case.neighbour(machine) {
        Ok(longest) => {
            let key = (case.program.full_name(), case.backend);
            collected
                .neighbours
                .lock()
                .expect("no panic")
                .insert(key, longest.as_micros() as u64);
            Ok(Completion::Completed)
        }
        Err(CaseError::Skipped(why)) => Ok(skipped(case, why)),
        Err(CaseError::Failed(why)) => Err(Failed::from(why)),
    }
}

fn skipped(case: &Case<'_>, why: String) -> Completion {
    static SKIPPING: OnceLock<Mutex<()>> = OnceLock::new();
    let _one = SKIPPING.get_or_init(Mutex::default).lock();
    skip_named(&case.name(), &why);
    Completion::ignored_with(why)
}
