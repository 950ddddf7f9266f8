//! Hostile programs on the real kernel: each must be held, on every backend and under the profiles that it names.
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
//! `cargo test --test hostile NAME` runs those with NAME in `CLASS::PROGRAM::BACKEND::PROFILE`; `::control` is the
//! program without what holds it, when it must get through. `MILLIBOX_HOSTILE` says where the programs are, if that
//! is not in the sources; `MILLIBOX_HOSTILE_TABLE=FILE` writes the table.

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
use table::Results;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let directory = std::env::var_os("MILLIBOX_HOSTILE").map(PathBuf::from);
    let directory = directory.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("hostile/programs"));
    let programs = match header::all(&directory) {
        Ok(programs) => Arc::new(programs),
        Err(error) => {
            skip_named("hostile", &format!("{} cannot be read here: {error}", directory.display()));
            return ExitCode::SUCCESS;
        }
    };
    let (machine, backends, missing) = Machine::new();
    let machine = Arc::new(machine);
    if !arguments.list {
        for (backend, why) in missing {
            skip_named(&format!("hostile::{}", backend.name()), &why);
        }
    }
    let results: Arc<Mutex<Results>> = Arc::default();
    let failures: Arc<Mutex<Vec<String>>> = Arc::default();
    let mut trials = Vec::new();
    for index in 0..programs.len() {
        for (backend, profile, without) in ways(&programs[index], &backends) {
            let (programs, machine) = (programs.clone(), machine.clone());
            let (results, failures) = (results.clone(), failures.clone());
            let name = Case { program: &programs[index], backend, profile, without }.name();
            trials.push(Trial::ignorable_test(name, move || {
                let case = Case { program: &programs[index], backend, profile, without };
                one(&case, &machine, &results, &failures)
            }));
        }
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
        failures.iter().for_each(|failure| println!("    {failure}"));
    }
    for left in &left {
        println!("LEFT: {left}");
    }
    if !left.is_empty() || conclusion.has_failed() {
        return ExitCode::FAILURE;
    }
    if let Some(path) = std::env::var_os("MILLIBOX_HOSTILE_TABLE") {
        let results = results.lock().expect("no panic");
        let written = table::table(&programs, &backends, &results)
            .and_then(|text| std::fs::write(workspace(&path), text).map_err(|error| error.to_string()));
        if let Err(why) = written {
            println!("no table of {count} cases: {why}");
            return ExitCode::FAILURE;
        }
    }
    conclusion.exit_code()
}

/// A path that is relative is so to the workspace: cargo starts tests in their package.
fn workspace(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// In what ways a program is run: everywhere as it says, and once without what holds it.
fn ways(program: &Program, backends: &[BackendKey]) -> Vec<(BackendKey, Profile, Option<header::Control>)> {
    let mut ways = Vec::new();
    for backend in backends {
        ways.extend(program.header.profiles.iter().map(|profile| (*backend, *profile, None)));
    }
    if let (Some(control), Some(best)) = (program.header.control, backends.first()) {
        ways.push((*best, program.header.profiles.first().copied().unwrap_or(Profile::Default), Some(control)));
    }
    ways
}

fn one(
    case: &Case<'_>,
    machine: &Machine,
    results: &Mutex<Results>,
    failures: &Mutex<Vec<String>>,
) -> Result<Completion, Failed> {
    static SKIPPING: OnceLock<Mutex<()>> = OnceLock::new();
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
                failures.lock().expect("no panic").push(format!("{}: {why}", case.name()));
            }
            keep(Ok(held));
            Ok(Completion::Completed)
        }
        Err(Trouble::Skipped(why)) => {
            let _one = SKIPPING.get_or_init(Mutex::default).lock();
            skip_named(&case.name(), &why);
            keep(Err(why.clone()));
            Ok(Completion::ignored_with(why))
        }
        Err(Trouble::Failed(why)) => Err(Failed::from(why)),
    }
}
