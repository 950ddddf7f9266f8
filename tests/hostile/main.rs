//! Hostile programs on the real kernel: each must be held, on every backend and under the profiles
//! that it names.
//!
//! | file | what |
//! | --- | --- |
//! | `programs/CLASS/NAME.c` | one program for one property, with what must happen written on top |
//! | `header` | reading that |
//! | `compile` | from sources to executables, once |
//! | `machine` | backends, supervisors, and a host that must come to no harm |
//! | `case` | one program on one backend under one profile |
//! | `table` | docs/hostile.md |
//!
//! `cargo test --test hostile NAME` runs those with NAME in `CLASS::PROGRAM::BACKEND::PROFILE`;
//! `::control` is the program without what holds it, when it must get through; `::beside` runs
//! `/bin/true` beside it, which must not fail. Variables of the environment, `MILLIBOX_HOSTILE`
//! and:
//!
//! | variable | what |
//! | --- | --- |
//! | (nothing more) | where the programs are, if that is not in the sources |
//! | `_EXECUTABLES` | where what is compiled is kept; the argument `compile` compiles all, and ends |
//! | `_TABLE` | the file to write the table to |
//! | `_RECORD` | the file to write to what came of each case, for the table of another run |
//! | `MILLIBOX_ROTATION` | `PART/PARTS`: run only this part of all cases |
//! | `_WITH` | such a file, of another machine, for the table of this run |

mod case;
mod compile;
mod header;
mod machine;
mod table;

use case::{Case, Trouble};
use header::{Profile, Program};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use machine::{BackendKey, Machine};
use millibox_tests::skip_named;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock};
use table::{Neighbours, Record, Results};

fn main() -> ExitCode {
    let directory = std::env::var_os("MILLIBOX_HOSTILE").map(PathBuf::from);
    let directory =
        directory.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("hostile/programs"));
    let programs = match header::all(&directory) {
        Ok(programs) => Arc::new(programs),
        Err(error) => {
            skip_named(
                "hostile",
                &format!("{} cannot be read here: {error}", directory.display()),
            );
            return ExitCode::SUCCESS;
        }
    };
    if std::env::args().nth(1).as_deref() == Some("compile") {
        let place = compile::place();
        let wrong = match std::fs::create_dir_all(&place) {
            Ok(()) => compile::all(&programs, &place),
            Err(error) => vec![format!("{}: {error}", place.display())],
        };
        wrong.iter().for_each(|wrong| eprintln!("{wrong}"));
        return if wrong.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    let arguments = Arguments::from_args();
    let (machine, backends, missing) = Machine::new();
    let machine = Arc::new(machine);
    if !arguments.list {
        for (backend, why) in missing {
            skip_named(&format!("hostile::{}", backend.name()), &why);
        }
    }
    let results: Arc<Mutex<Results>> = Arc::default();
    let neighbours: Arc<Mutex<Neighbours>> = Arc::default();
    let failures: Arc<Mutex<Vec<String>>> = Arc::default();
    let mut trials = Vec::new();
    for index in 0..programs.len() {
        for (backend, profile, without) in ways(&programs[index], &backends) {
            let (programs, machine) = (programs.clone(), machine.clone());
            let (results, failures) = (results.clone(), failures.clone());
            let name = Case {
                program: &programs[index],
                backend,
                profile,
                without,
                beside: false,
            }
            .name();
            trials.push(Trial::ignorable_test(name, move || {
                let case = Case {
                    program: &programs[index],
                    backend,
                    profile,
                    without,
                    beside: false,
                };
                one(&case, &machine, &results, &failures)
            }));
        }
        for backend in backends.iter().copied() {
            let (programs, machine, neighbours) =
                (programs.clone(), machine.clone(), neighbours.clone());
            let profile = programs[index]
                .header
                .profiles
                .first()
                .copied()
                .unwrap_or(Profile::Default);
            let name = Case {
                program: &programs[index],
                backend,
                profile,
                without: None,
                beside: true,
            }
            .name();
            trials.push(Trial::ignorable_test(name, move || {
                let case = Case {
                    program: &programs[index],
                    backend,
                    profile,
                    without: None,
                    beside: true,
                };
                beside(&case, &machine, &neighbours)
            }));
        }
    }
    if let Some((part, parts)) = rotation() {
        println!(
            "part {part} of {parts} of {} cases (see .ci/rotation)",
            trials.len()
        );
        let mut index = 0;
        trials.retain(|_| {
            index += 1;
            index % parts == part
        });
    }
    let count = trials.len();
    let conclusion = libtest_mimic::run(&arguments, trials);
    let left = machine.finish();
    if arguments.list {
        return conclusion.exit_code();
    }
    let failures = failures.lock().expect("no panic");
    if !failures.is_empty() {
        println!("known failures: {}", failures.len());
        failures
            .iter()
            .for_each(|failure| println!("    {failure}"));
    }
    for left in &left {
        println!("LEFT: {left}");
    }
    if !left.is_empty() || conclusion.has_failed() {
        return ExitCode::FAILURE;
    }
    let results = std::mem::take(&mut *results.lock().expect("no panic"));
    let neighbours = std::mem::take(&mut *neighbours.lock().expect("no panic"));
    if let Err(why) = write(&programs, Record::of_here(results, neighbours)) {
        println!("nothing written of {count} cases: {why}");
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

/// The part of all cases that `MILLIBOX_ROTATION` selects: `PART/PARTS`. Without it, all cases run.
fn rotation() -> Option<(usize, usize)> {
    let text = std::env::var("MILLIBOX_ROTATION")
        .ok()
        .filter(|text| !text.is_empty())?;
    let parsed = text.split_once('/').and_then(|(part, parts)| {
        Some((part.parse().ok()?, parts.parse().ok()?)).filter(|(part, parts)| part < parts)
    });
    Some(parsed.unwrap_or_else(|| panic!("MILLIBOX_ROTATION={text} is not PART/PARTS, as 0/4")))
}

/// Writes the table and the record, as far as they are wanted.
fn write(programs: &[Program], here: Record) -> Result<(), String> {
    let named = |name: &str| std::env::var_os(name).map(workspace);
    let failed =
        |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    if let Some(path) = named("MILLIBOX_HOSTILE_RECORD") {
        let text = serde_json::to_string(&here).map_err(|error| failed(&path, &error))?;
        std::fs::write(&path, text + "\n").map_err(|error| failed(&path, &error))?;
    }
    let Some(path) = named("MILLIBOX_HOSTILE_TABLE") else {
        return Ok(());
    };
    let mut records = vec![here];
    if let Some(other) = named("MILLIBOX_HOSTILE_WITH") {
        let text = std::fs::read_to_string(&other).map_err(|error| failed(&other, &error))?;
        records.push(serde_json::from_str(&text).map_err(|error| failed(&other, &error))?);
    }
    let text = table::table(programs, &records)?;
    std::fs::write(&path, text).map_err(|error| failed(&path, &error))
}

/// A path that is relative is so to the workspace: cargo starts tests in their package.
fn workspace(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// In what ways a program is run: everywhere as it says, and once without what holds it.
fn ways(
    program: &Program,
    backends: &[BackendKey],
) -> Vec<(BackendKey, Profile, Option<header::Control>)> {
    let mut ways = Vec::new();
    for backend in backends {
        ways.extend(
            program
                .header
                .profiles
                .iter()
                .map(|profile| (*backend, *profile, None)),
        );
    }
    if let (Some(control), Some(best)) = (program.header.control, backends.first()) {
        ways.push((
            *best,
            program
                .header
                .profiles
                .first()
                .copied()
                .unwrap_or(Profile::Default),
            Some(control),
        ));
    }
    ways
}

fn one(
    case: &Case<'_>,
    machine: &Machine,
    results: &Mutex<Results>,
    failures: &Mutex<Vec<String>>,
) -> Result<Completion, Failed> {
    let key = (case.program.full_name(), case.backend, case.profile);
    let outcome = case.run(machine);
    let keep = |result| {
        if case.without.is_none() {
            results.lock().expect("no panic").insert(key, result);
        }
    };
    match outcome {
        Ok(held) => {
            if let Some(why) = &held.known_failure {
                failures
                    .lock()
                    .expect("no panic")
                    .push(format!("{}: {why}", case.name()));
            }
            keep(Ok(held));
            Ok(Completion::Completed)
        }
        Err(Trouble::Skipped(why)) => {
            keep(Err(why.clone()));
            Ok(skipped(case, why))
        }
        Err(Trouble::Failed(why)) => Err(Failed::from(why)),
    }
}

fn beside(
    case: &Case<'_>,
    machine: &Machine,
    neighbours: &Mutex<Neighbours>,
) -> Result<Completion, Failed> {
    match case.neighbour(machine) {
        Ok(longest) => {
            let key = (case.program.full_name(), case.backend);
            neighbours
                .lock()
                .expect("no panic")
                .insert(key, longest.as_micros() as u64);
            Ok(Completion::Completed)
        }
        Err(Trouble::Skipped(why)) => Ok(skipped(case, why)),
        Err(Trouble::Failed(why)) => Err(Failed::from(why)),
    }
}

fn skipped(case: &Case<'_>, why: String) -> Completion {
    static SKIPPING: OnceLock<Mutex<()>> = OnceLock::new();
    let _one = SKIPPING.get_or_init(Mutex::default).lock();
    skip_named(&case.name(), &why);
    Completion::ignored_with(why)
}
