//! From sources to what can be executed.

use crate::header::Program;
use millibox_tests::share;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is executed.
#[derive(Debug, Clone)]
pub enum Built {
    /// An executable.
    Executable(PathBuf),
    /// A text, and the path of its interpreter in the world.
    Script {
        interpreter: &'static str,
        path: PathBuf,
    },
}

/// Why there is nothing to execute.
#[derive(Debug, Clone)]
pub enum Failure {
    /// The machine has no compiler or interpreter.
    Missing(String),
    /// The program's fault.
    Wrong(String),
}

const FLAGS: [&str; 5] = ["-O1", "-Wall", "-Wextra", "-Werror", "-pthread"];

/// Compiles a program, once, or takes what came of the same text before.
pub fn build(program: &Program, place: &Path) -> Result<Built, Failure> {
    program
        .built
        .get_or_init(|| compile(program, place))
        .clone()
}

fn compile(program: &Program, place: &Path) -> Result<Built, Failure> {
    let wrong = |what: &dyn std::fmt::Display| {
        Failure::Wrong(format!("{}: {what}", program.path.display()))
    };
    match program.path.extension().and_then(|ending| ending.to_str()) {
        Some("py") => return script(program, "/usr/bin/python3"),
        Some("sh") => return script(program, "/bin/sh"),
        _ => {}
    }
    let include = program
        .path
        .parent()
        .and_then(Path::parent)
        .unwrap_or(Path::new("."));
    let mut hasher = DefaultHasher::new();
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| wrong(&error));
    let text = read(&program.path)?;
    text.hash(&mut hasher);
    // What it has from its neighbours, or from all of them.
    for name in text
        .lines()
        .filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'))
    {
        let beside = Some(program.path.with_file_name(name)).filter(|path| path.exists());
        read(&beside.unwrap_or_else(|| include.join(name)))?.hash(&mut hasher);
    }
    read(&include.join("hostile.h"))?.hash(&mut hasher);
    FLAGS.hash(&mut hasher);
    let target = place.join(format!(
        "{}-{}-{:016x}",
        program.header.class,
        program.name,
        hasher.finish()
    ));
    if target.exists() {
        return Ok(Built::Executable(target));
    }
    let unfinished = place.join(format!(
        "{}-{}.{}",
        program.header.class,
        program.name,
        std::process::id()
    ));
    let output = Command::new("cc")
        .args(FLAGS)
        .arg("-I")
        .arg(include)
        .arg("-o")
        .args([&unfinished, &program.path])
        .output()
        .map_err(|error| Failure::Missing(format!("there is no C compiler: cc: {error}")))?;
    if !output.status.success() {
        return Err(wrong(&String::from_utf8_lossy(&output.stderr)));
    }
    share(&unfinished, 0o755);
    std::fs::rename(&unfinished, &target).map_err(|error| wrong(&error))?;
    Ok(Built::Executable(target))
}

fn script(program: &Program, interpreter: &'static str) -> Result<Built, Failure> {
    if !Path::new(interpreter).exists() {
        return Err(Failure::Missing(format!("there is no {interpreter}")));
    }
    Ok(Built::Script {
        interpreter,
        path: program.path.clone(),
    })
}

/// Compiles all that can be compiled; what is wrong, in words.
pub fn all(programs: &[Program], place: &Path) -> Vec<String> {
    let why = |program: &Program| match build(program, place) {
        Ok(_) => None,
        // An interpreter is wanted where it is run.
        Err(Failure::Missing(_))
            if program.path.extension().is_some_and(|ending| ending != "c") =>
        {
            None
        }
        Err(Failure::Missing(why) | Failure::Wrong(why)) => Some(why),
    };
    programs.iter().filter_map(why).collect()
}

/// Where executables are kept: where `MILLIBOX_HOSTILE_EXECUTABLES` says; below target/ if that is
/// ours; else in a temporary directory.
pub fn place() -> PathBuf {
    if let Some(place) = std::env::var_os("MILLIBOX_HOSTILE_EXECUTABLES") {
        return place.into();
    }
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile");
    let writable = || {
        std::fs::create_dir_all(&kept).is_ok()
            && tempfile::tempfile_in(&kept).is_ok_and(|_| kept.is_dir())
    };
    let place = if writable() {
        kept
    } else {
        std::env::temp_dir().join("millibox-hostile")
    };
    std::fs::create_dir_all(&place).expect("a directory for executables");
    place
}
