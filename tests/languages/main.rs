//! Programs in every language: a sum, a run-time error, a memory limit, a time limit and a compile
//! error.
//!
//! | file | content |
//! | --- | --- |
//! | `NAME/runtime_error.*` | exits with a status other than 0, or dies of a signal |
//! | `NAME/memory.*` | allocates memory until a limit ends it |
//! | `NAME/loop.*` | runs until the time limit ends it |
//! | `NAME/compile_error.*` | is rejected; languages without a check before the run have none |
//!
//! `cargo test --test languages` compiles and runs only the sum, which is the suite's own example.
//! `cargo test --test languages -- --include-ignored` runs all programs; `make test-languages`
//! installs the languages first. A language that is not installed is skipped.
//!
//! `MILLIBOX_LANGUAGES` is the directory of the programs; the default is the one in the sources.
//! `MILLIBOX_ROTATION=PART/PARTS` runs one part of the languages; by default, all of them run.

use libtest_mimic::{Arguments, Failed, Trial};
use millibox::{Backend, BackendChoice, Outcome, Supervisor};
use millibox_languages::compile::{Compilation, CompileError, Options, Toolbox};
use millibox_languages::files::SourceFile;
use millibox_languages::program::Limits;
use millibox_languages::suite::{Suite, Suites};
use millibox_tests::{Output, keep_rotating_part, pipe, run, shared_cache, skip_named};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const CPU_TIME: Duration = Duration::from_secs(60);
/// Memory limit of the program that allocates endlessly, in addition to its run-time system's
/// needs.
const MEMORY_BYTES: u64 = 64 << 20;
/// CPU time limit of the program that never ends.
const LOOP_TIME: Duration = Duration::from_secs(1);
/// Real-time limit of that program, which only a waiting program can reach.
const LOOP_REAL_TIME: Duration = Duration::from_secs(300);

/// The languages of this machine. All tests share one supervisor.
struct Machine {
    supervisor: Arc<Supervisor>,
    toolbox: Toolbox<'static>,
}

#[derive(Debug, Clone, Copy)]
enum Case {
    Sum,
    RuntimeError,
    Memory,
    Loop,
    CompileError,
}

impl Case {
    const ALL: [Case; 5] = [
        Case::Sum,
        Case::RuntimeError,
        Case::Memory,
        Case::Loop,
        Case::CompileError,
    ];

    fn name(self) -> &'static str {
        match self {
            Case::Sum => "sum",
            Case::RuntimeError => "runtime_error",
            Case::Memory => "memory",
            Case::Loop => "loop",
            Case::CompileError => "compile_error",
        }
    }
}

fn main() -> ExitCode {
    let directory = std::env::var_os("MILLIBOX_LANGUAGES").map(PathBuf::from);
    let directory =
        directory.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("languages"));
    let suites = Suites::builtin();
    let mut trials = Vec::new();
    let mut suites: Vec<_> = suites.iter().filter(|suite| suite.default).collect();
    keep_rotating_part(&mut suites);
    for suite in suites {
        // A directory of scripts has no language.
        let cases = match suite.language.as_str() {
            "scripts" => &Case::ALL[..1],
            _ => &Case::ALL[..],
        };
        for case in cases {
            let (case, suite, directory) = (*case, suite.clone(), directory.clone());
            let name = format!("{}::{}", suite.language, case.name());
            let is_long = !matches!(case, Case::Sum);
            let trial = Trial::test(name.clone(), move || test(&name, &suite, case, &directory));
            trials.push(trial.with_ignored_flag(is_long));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Runs one case, or reports its language as skipped.
fn test(name: &str, suite: &Suite, case: Case, directory: &Path) -> Result<(), Failed> {
    let machine = machine();
    let availability = machine.toolbox.availability(suite);
    if !availability.is_available() {
        let reason = match availability.remedy() {
            Some(remedy) => format!("{}: {availability}; try: {remedy}", suite.language),
            None => format!("{}: {availability}", suite.language),
        };
        skip_named(name, &reason);
        return Ok(());
    }
    match case {
        Case::Sum => machine
            .toolbox
            .try_out(suite)
            .map_err(|error| error.to_string().into()),
        Case::CompileError => check_compile_error(machine, suite, directory),
        Case::RuntimeError => {
            let output = output(
                machine,
                suite,
                case,
                directory,
                &Limits::for_cpu_time(CPU_TIME),
            )?;
            match output.result.outcome {
                Outcome::Exited(1..) | Outcome::Signaled(_) => Ok(()),
                _ => Err(unexpected(&output)),
            }
        }
        Case::Memory => {
            let mut limits = Limits::for_cpu_time(CPU_TIME);
            limits.memory = MEMORY_BYTES;
            let output = output(machine, suite, case, directory, &limits)?;
            match output.result.outcome {
                // A run-time system may have its own limit, and report exceeding it as an error.
                Outcome::MemoryLimit | Outcome::Exited(1..) | Outcome::Signaled(_) => Ok(()),
                _ => Err(unexpected(&output)),
            }
        }
        Case::Loop => {
            let mut limits = Limits::for_cpu_time(CPU_TIME);
            (limits.cpu_time, limits.real_time) = (LOOP_TIME, LOOP_REAL_TIME);
            let output = output(machine, suite, case, directory, &limits)?;
            match output.result.outcome {
                Outcome::CpuTimeLimit => Ok(()),
                _ => Err(unexpected(&output)),
            }
        }
    }
}

fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let supervisor = millibox_tests::supervisor();
        // Without cgroups, the weaker backend limits more of the resources that languages need.
        let supervisor = Arc::new(match supervisor.info().backend() {
            Backend::Rlimit => {
                millibox_tests::start(millibox_tests::builder().backend(BackendChoice::Rlimit))
            }
            _ => supervisor,
        });
        let toolbox = Toolbox::shared(supervisor.clone(), Suites::builtin(), shared_cache());
        Machine {
            supervisor,
            toolbox,
        }
    })
}

/// Returns the text of a case's program, or `None` if the language has none.
fn source(suite: &Suite, case: Case, directory: &Path) -> Result<Option<SourceFile>, Failed> {
    let file = Path::new(&suite.example.file);
    let extension = file.extension().unwrap_or_default();
    let path = directory
        .join(&suite.language)
        .join(case.name())
        .with_extension(extension);
    match std::fs::read_to_string(&path) {
        // Some languages require names that match the name of the file.
        Ok(text) => Ok(Some(SourceFile::new(&suite.example.file, text))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display()).into()),
    }
}

fn compile(machine: &Machine, suite: &Suite, source: SourceFile) -> Compilation {
    let options = Options::default();
    machine.toolbox.compile_files(suite, vec![source], &options)
}

fn output(
    machine: &Machine,
    suite: &Suite,
    case: Case,
    directory: &Path,
    limits: &Limits,
) -> Result<Output, Failed> {
    let Some(source) = source(suite, case, directory)? else {
        return Err(format!("there is no program {}", case.name()).into());
    };
    let Compilation {
        result, messages, ..
    } = compile(machine, suite, source);
    let program = result.map_err(|error| Failed::from(format!("{error}: {messages}")))?;
    // sed runs its program once for each line.
    let (stdin, write) = pipe();
    rustix::io::write(&write, b"1\n").map_err(|error| error.to_string())?;
    drop(write);
    let request = program.request(limits, &[]).stdin(stdin);
    Ok(run(&machine.supervisor, &request))
}

fn unexpected(output: &Output) -> Failed {
    format!("the program {}: {}", output.result, output.text()).into()
}

fn check_compile_error(machine: &Machine, suite: &Suite, directory: &Path) -> Result<(), Failed> {
    match (
        source(suite, Case::CompileError, directory)?,
        &suite.compile,
    ) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err("there is no program that the compiler rejects".into()),
        (Some(_), None) => Err("the suite has no step that rejects programs".into()),
        (Some(source), Some(_)) => {
            let Compilation {
                result, messages, ..
            } = compile(machine, suite, source);
            match result {
                Err(CompileError::Refused(_)) if !messages.trim().is_empty() => Ok(()),
                Err(CompileError::Refused(_)) => Err("the compiler has no message".into()),
                Err(error) => Err(format!("{error}: {messages}").into()),
                Ok(_) => Err("the compiler accepted the program".into()),
            }
        }
    }
}
