//! Makes an executable from a product: its command line, environment and world.

use super::class::{self, MainClass};
use super::error::{CompileError, InternalError, Refusal};
use super::input::{Input, argument};
use super::java;
use super::options::Options;
use super::placeholders::{environment, values};
use super::tools::Tools;
use super::world::{EXECUTABLE, PROGRAM, world};
use crate::files::StoredFiles;
use crate::program::Executable;
use crate::suite::template::Values;
use crate::suite::{EntryPoint, Preparation, Run, Suite};
use millibox::Prepare;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// Checks that the product contains the program that the suite runs.
pub(super) fn check_program(suite: &Suite, files: &StoredFiles) -> Result<(), Refusal> {
    match suite.own_program() {
        Some(EXECUTABLE) if !files.has_executable(Path::new(EXECUTABLE)) => Err(Refusal::NoProgram),
        Some(name) if !files.has_executable(Path::new(name)) => {
            Err(Refusal::NoExecutable(name.to_owned()))
        }
        _ => Ok(()),
    }
}

/// Makes an executable from a product.
pub(super) fn executable(
    suite: &Suite,
    tools: &Tools,
    input: &Input,
    files: StoredFiles,
    options: &Options,
    can_limit_memory: bool,
) -> Result<Executable, CompileError> {
    let run = &suite.run;
    let mut values = values(suite, tools);
    values.set("executable", format!("{PROGRAM}/{EXECUTABLE}"));
    values.set("directory", PROGRAM);
    values.set("main", started(&input.main));
    // The value is known only when the program runs.
    values.set("memory_mib", "{memory_mib}");
    if run.entry == EntryPoint::JavaClass {
        values.set("class", main_class(&files, suite, input, options)?);
    }
    let program = program(suite, tools, &values, files, can_limit_memory)?;
    let world = program.world.read_only(program.files.path(), PROGRAM);
    Ok(Executable { world, ..program })
}

/// Makes an executable from a source that is neither checked nor stored. Each run finds the source
/// under the name `main` in its working directory.
pub(super) fn script(
    suite: &Suite,
    tools: &Tools,
    main: &Path,
    files: StoredFiles,
    can_limit_memory: bool,
) -> Result<Executable, CompileError> {
    let mut values = values(suite, tools);
    values.set("directory", ".");
    values.set("main", started(main));
    values.set("memory_mib", "{memory_mib}");
    let program = program(suite, tools, &values, files, can_limit_memory)?;
    Ok(Executable {
        current_dir: ".".into(),
        ..program
    })
}

/// Returns the main source as an argument of its interpreter. The argument has a directory, because
/// programs find their other files by the directory in `$0`, `__FILE__` or `argv[0]`.
fn started(main: &Path) -> OsString {
    match argument(main) {
        name if main.is_absolute() || name.as_encoded_bytes().starts_with(b"./") => name,
        name => Path::new(".").join(name).into_os_string(),
    }
}

/// Makes an executable with these values in its command line. Its world does not contain its files.
fn program(
    suite: &Suite,
    tools: &Tools,
    values: &Values,
    files: StoredFiles,
    can_limit_memory: bool,
) -> Result<Executable, CompileError> {
    let run = &suite.run;
    let argv = values.fill_all(&run.command);
    Ok(Executable {
        world: world(&run.surroundings, &tools.roots).map_err(InternalError::from)?,
        env: environment(&[], &run.surroundings, values),
        current_dir: PROGRAM.into(),
        processes: run.processes,
        memory: if can_limit_memory {
            run.memory
        } else {
            u64::MAX
        },
        prepare: prepare(run, &argv),
        is_prepared: false,
        argv,
        suite: suite.name.clone(),
        files: Arc::new(files.directory),
    })
}

/// Returns the interpreter with the options that precede the program in its command.
fn prepare(run: &Run, argv: &[OsString]) -> Option<Prepare> {
    let Preparation::Python { modules } = run.preparation.as_ref()?;
    let main = run.command.iter().position(|word| word == "{main}")?;
    let (interpreter, options) = argv.get(..main)?.split_first()?;
    let prepare = Prepare::python(interpreter, modules);
    Some(options.iter().fold(prepare, Prepare::option))
}

/// Returns the name of the class to start.
fn main_class(
    files: &StoredFiles,
    suite: &Suite,
    input: &Input,
    options: &Options,
) -> Result<String, CompileError> {
    let mut mains: Vec<MainClass> = Vec::new();
    for file in &files.files {
        let is_class = file
            .name
            .extension()
            .is_some_and(|extension| extension == "class");
        if is_class && file.length <= class::MAX_CLASS_FILE_BYTES {
            let bytes = std::fs::read(files.directory.path().join(&file.name))
                .map_err(|error| InternalError::ReadProduct(error.into()))?;
            mains.extend(class::main_class(&bytes));
        }
    }
    Ok(choose_main_class(mains, suite, input, options)?)
}

/// Chooses one of the classes with a main method.
fn choose_main_class(
    mut mains: Vec<MainClass>,
    suite: &Suite,
    input: &Input,
    options: &Options,
) -> Result<String, Refusal> {
    // Newer versions of Java have other forms of the method. They count only if no class has the
    // classic form.
    if mains.iter().any(|main| main.classic) {
        mains.retain(|main| main.classic);
    }
    mains.sort();
    let named = |wanted: &str| {
        let is = |main: &&MainClass| {
            main.class == wanted || main.class.rsplit('.').next() == Some(wanted)
        };
        mains.iter().find(is)
    };
    let by_name = || {
        let source = input.main.file_stem().and_then(|stem| stem.to_str());
        let names = suite.sources.main.iter().map(String::as_str).chain(source);
        options
            .main
            .as_deref()
            .into_iter()
            .chain(names)
            .find_map(named)
    };
    // Like `java FILE`, prefer the class that a single source declares first.
    let declared = || {
        let main = input.files.iter().find(|file| file.name == input.main)?;
        let is_java = input.main.extension() == Some("java".as_ref());
        let is_single = is_java && input.compiled.len() == 1;
        let classes = is_single.then(|| java::classes(&main.bytes))?;
        classes.iter().find_map(|class| named(&class.name))
    };
    match &mains[..] {
        [] => Err(Refusal::NoMainClass),
        [one] => Ok(one.class.clone()),
        several => by_name()
            .or_else(declared)
            .map(|main| main.class.clone())
            .ok_or_else(|| {
                Refusal::SeveralMainClasses(several.iter().map(|main| main.class.clone()).collect())
            }),
    }
}
