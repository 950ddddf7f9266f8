//! Compiles the hostile programs.

use crate::header::Program;
use millibox_tests::set_mode;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// A program that can be executed.
#[derive(Debug, Clone)]
pub enum Built {
    Executable(PathBuf),
    /// A source file, and the path of its interpreter in the world.
    Script {
        interpreter: &'static str,
        path: PathBuf,
    },
}

/// The reason why a program cannot be executed.
#[derive(Debug, Clone)]
pub enum Failure {
    /// The machine has no compiler or interpreter.
    Missing(String),
    /// The program has an error.
    Wrong(String),
}

/// The form of a compiled program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Executable,
    /// A shared object, which `launcher.c` runs.
    Library,
}

const FLAGS: [&str; 5] = ["-O1", "-Wall", "-Wextra", "-Werror", "-pthread"];

impl Form {
    fn flags(self) -> &'static [&'static str] {
        match self {
            Form::Executable => &[],
            Form::Library => &["-shared", "-fPIC"],
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Form::Executable => "",
            Form::Library => ".so",
        }
    }
}

/// Compiles a program once in each form. Reuses the product of an earlier run if its sources are
/// unchanged.
pub fn build(program: &Program, form: Form, directory: &Path) -> Result<Built, Failure> {
    let built = match form {
        Form::Executable => &program.executable,
        Form::Library => &program.library,
    };
    built
        .get_or_init(|| compile(program, form, directory))
        .clone()
}

/// Compiles the launcher, the program of templates. Hostile programs are copies of these templates.
pub fn launcher(directory: &Path) -> Result<PathBuf, Failure> {
    let source = include_str!("launcher.c");
    build_own("launcher", source, Form::Executable, directory)
}

/// Compiles the innocent program, which runs after each hostile program.
pub fn innocent(form: Form, directory: &Path) -> Result<PathBuf, Failure> {
    build_own("innocent", include_str!("innocent.c"), form, directory)
}

/// Compiles a program of the test itself.
fn build_own(name: &str, source: &str, form: Form, directory: &Path) -> Result<PathBuf, Failure> {
    let mut hasher = DefaultHasher::new();
    (source, FLAGS).hash(&mut hasher);
    let extension = form.extension();
    let target = directory.join(format!("{name}-{:016x}{extension}", hasher.finish()));
    if target.exists() {
        return Ok(target);
    }
    let wrong = |error: std::io::Error| Failure::Wrong(format!("{name}.c: {error}"));
    let scratch = tempfile::tempdir_in(directory).map_err(wrong)?;
    let (file, unfinished) = (scratch.path().join("source.c"), scratch.path().join("it"));
    std::fs::write(&file, source).map_err(wrong)?;
    run_compiler(
        Command::new("cc")
            .args(FLAGS)
            .args(form.flags())
            .arg("-o")
            .args([&unfinished, &file])
            .args(["-ldl", "-lrt"]),
        &file,
    )?;
    set_mode(&unfinished, 0o755);
    std::fs::rename(&unfinished, &target).map_err(wrong)?;
    Ok(target)
}

fn run_compiler(command: &mut Command, source: &Path) -> Result<(), Failure> {
    let output = command
        .output()
        .map_err(|error| Failure::Missing(format!("cannot run the C compiler cc: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(Failure::Wrong(format!("{}: {errors}", source.display())))
}

fn compile(program: &Program, form: Form, directory: &Path) -> Result<Built, Failure> {
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
    // The headers are those of the program's class, or of all programs.
    for name in text
        .lines()
        .filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'))
    {
        let in_class = Some(program.path.with_file_name(name)).filter(|path| path.exists());
        read(&in_class.unwrap_or_else(|| include.join(name)))?.hash(&mut hasher);
    }
    read(&include.join("hostile.h"))?.hash(&mut hasher);
    FLAGS.hash(&mut hasher);
    let target = directory.join(format!(
        "{}-{}-{:016x}{}",
        program.header.class,
        program.name,
        hasher.finish(),
        form.extension()
    ));
    if target.exists() {
        return Ok(Built::Executable(target));
    }
    let unfinished = directory.join(format!(
        "{}-{}.{}{}",
        program.header.class,
        program.name,
        std::process::id(),
        form.extension()
    ));
    run_compiler(
        Command::new("cc")
            .args(FLAGS)
            .args(form.flags())
            .arg("-I")
            .arg(include)
            .arg("-o")
            .args([&unfinished, &program.path]),
        &program.path,
    )?;
    set_mode(&unfinished, 0o755);
    std::fs::rename(&unfinished, &target).map_err(|error| wrong(&error))?;
    Ok(Built::Executable(target))
}

fn script(program: &Program, interpreter: &'static str) -> Result<Built, Failure> {
    if !Path::new(interpreter).exists() {
        return Err(Failure::Missing(format!("{interpreter} does not exist")));
    }
    Ok(Built::Script {
        interpreter,
        path: program.path.clone(),
    })
}

/// Compiles all programs in parallel, in both forms, and returns the errors.
pub fn all(programs: &[Program], directory: &Path) -> Vec<String> {
    let both = |program: &Program| {
        build(program, Form::Executable, directory)?;
        build(program, Form::Library, directory)
    };
    let error = |program: &Program| match both(program) {
        Ok(_) => None,
        // Only the machine that runs the program needs its interpreter.
        Err(Failure::Missing(_))
            if program.path.extension().is_some_and(|ending| ending != "c") =>
        {
            None
        }
        Err(Failure::Missing(why) | Failure::Wrong(why)) => Some(why),
    };
    let rest = Mutex::new(programs.iter());
    let next = || rest.lock().ok()?.next();
    let errors_of_thread = || {
        std::iter::from_fn(next)
            .filter_map(error)
            .collect::<Vec<_>>()
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|_| scope.spawn(errors_of_thread))
            .collect();
        let errors = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        let own = [
            launcher(directory),
            innocent(Form::Executable, directory),
            innocent(Form::Library, directory),
        ];
        let own = own.into_iter().filter_map(|built| match built {
            Ok(_) => None,
            Err(Failure::Missing(why) | Failure::Wrong(why)) => Some(why),
        });
        errors.flatten().chain(own).collect()
    })
}

/// The directory for executables: `MILLIBOX_HOSTILE_EXECUTABLES`, or a directory in target/ if this
/// user may write there, or a temporary directory.
pub fn directory() -> PathBuf {
    if let Some(directory) = std::env::var_os("MILLIBOX_HOSTILE_EXECUTABLES") {
        return directory.into();
    }
    let in_target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile");
    let writable = || {
        std::fs::create_dir_all(&in_target).is_ok()
            && tempfile::tempfile_in(&in_target).is_ok_and(|_| in_target.is_dir())
    };
    let directory = if writable() {
        in_target
    } else {
        std::env::temp_dir().join("millibox-hostile")
    };
    std::fs::create_dir_all(&directory).expect("a directory for executables");
    directory
}
