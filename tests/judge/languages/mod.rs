//! Languages: compiling and running programs, including hostile sources.
//!
//! A language that cannot be used on this machine is counted as skipped.

mod cache;
mod compilers;
mod linking;
mod running;
mod sources;
mod tools;

use millibox::{Backend, BackendChoice, Outcome, Supervisor};
use millibox_languages::cache::Cache;
use millibox_languages::compile::{Compilation, CompileError, Options, Refusal, Toolbox};
use millibox_languages::program::{Executable, Limits};
use millibox_languages::suite::Suites;
use millibox_tests::{Output, pipe, run, skip};
use std::path::PathBuf;
use std::time::Duration;

const LIMITS: Limits = Limits {
    cpu_time: Duration::from_secs(10),
    real_time: Duration::from_secs(60),
    memory: 256 << 20,
    output: 1 << 20,
    processes: 1,
};

/// Returns the best available supervisor. Without cgroups, it uses the weaker backend.
fn supervisor() -> Supervisor {
    let supervisor = millibox_tests::supervisor();
    match supervisor.info().backend() {
        Backend::Rlimit => {
            millibox_tests::start(millibox_tests::builder().backend(BackendChoice::Rlimit))
        }
        _ => supervisor,
    }
}

fn toolbox(supervisor: &Supervisor) -> Toolbox<'_> {
    Toolbox::new(supervisor, Suites::builtin(), Cache::none())
}

/// Creates files in a new directory that, as usual, only the test's user can read.
fn files(all: &[(&str, &str)]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let directory = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (name, content) in all {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        paths.push(path);
    }
    (directory, paths)
}

/// Reports whether this machine can use a language. If it cannot, the language counts as skipped.
fn usable(toolbox: &Toolbox<'_>, language: &str) -> bool {
    let suite = toolbox.suites().named(language).unwrap();
    let availability = toolbox.availability(suite);
    if !availability.is_available() {
        // The test's name does not state which language was skipped.
        skip(&format!("{}: {availability}", suite.language));
    }
    availability.is_available()
}

fn compile_with(
    toolbox: &Toolbox<'_>,
    language: &str,
    all: &[(&str, &str)],
    options: &Options,
) -> Compilation {
    let suite = toolbox.suites().named(language).unwrap();
    let (_directory, paths) = files(all);
    toolbox.compile(suite, &paths, options)
}

fn compile(toolbox: &Toolbox<'_>, language: &str, all: &[(&str, &str)]) -> Compilation {
    compile_with(toolbox, language, all, &Options::default())
}

fn compiled(compilation: Compilation) -> Executable {
    compilation
        .result
        .unwrap_or_else(|error| panic!("{error}: {}", compilation.messages))
}

fn refused(compilation: &Compilation) -> &Refusal {
    match &compilation.result {
        Err(CompileError::Refused(refusal)) => refusal,
        other => panic!("{other:?}: {}", compilation.messages),
    }
}

fn run_with(
    supervisor: &Supervisor,
    executable: &Executable,
    limits: &Limits,
    stdin: &str,
) -> Output {
    let (read, write) = pipe();
    rustix::io::write(&write, stdin.as_bytes()).unwrap();
    drop(write);
    run(supervisor, &executable.request(limits, &[]).stdin(read))
}

/// Runs a program, which must exit with 0, and returns its output.
fn stdout_of(supervisor: &Supervisor, executable: &Executable, stdin: &str) -> String {
    let output = run_with(supervisor, executable, &LIMITS, stdin);
    assert_eq!(
        output.result.outcome,
        Outcome::Exited(0),
        "{}: {}",
        output.result,
        output.text()
    );
    output.text().trim().to_owned()
}

/// Compiles with a `build` script, which represents an arbitrary compiler.
fn build(toolbox: &Toolbox<'_>, script: &str) -> Compilation {
    build_with(toolbox, script, &Options::default())
}

fn build_with(toolbox: &Toolbox<'_>, script: &str, options: &Options) -> Compilation {
    let script = format!("#!/bin/sh\n{script}\n");
    compile_with(
        toolbox,
        "scripts",
        &[("build", &script), ("run", "#!/bin/sh\necho ran\n")],
        options,
    )
}
