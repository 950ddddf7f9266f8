//! Compiling submissions, checkers and all other programs, in the sandbox.
//!
//! A [`Toolbox`] finds the programs of the suites, tries them, and makes [`Executable`]s of
//! sources.
//!
//! | file | what |
//! | --- | --- |
//! | `tools` | the programs that a suite needs, found and tried |
//! | `sources` | sources, read from the host |
//! | `world` | what compilers and programs see |
//! | `build` | one compiler run: product, or why there is none |
//! | `linked` | static or dynamic programs |
//! | `captured` | one run with its output kept |
//! | `product` | what comes out of the sandbox, distrusted |
//! | `messages` | what the compiler said, made safe to be shown |
//! | `class` | which Java class is started |
//! | `memo` | things that are found out once |

mod build;
mod captured;
mod class;
mod lent;
mod linked;
mod memo;
mod messages;
mod product;
mod sources;
mod tools;
mod world;

pub use linked::{Fallback, Linkage};
pub use messages::MAX_MESSAGE_BYTES;
pub use sources::headers_in;
pub use tools::Availability;

use crate::cache::{Cache, Entry, Key, KeyBuilder};
use crate::files::{self, File, Store, StoreError, StoredFiles};
use crate::program::{self, Executable};
use crate::suite::template::Values;
use crate::suite::{CompileStep, EntryPoint, Link, Product, Suite, Suites};
use build::{BuildResult, Job};
use lent::Lent;
use memo::Memo;
use millibox::{Backend, Figures, Outcome, Supervisor};
use millibox_package::Constants;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tools::Tools;
use world::{EXECUTABLE, OUTPUT, PREPARED, PROGRAM, SOURCE};

/// Compiles, with one supervisor, the languages of some suites. Share it among threads by
/// reference: several compilations go on at once.
#[derive(Debug)]
pub struct Toolbox<'s> {
    supervisor: Lent<'s>,
    suites: Suites,
    cache: Cache,
    /// By language, as its variants use the same tools.
    tools: Memo<Result<Arc<Tools>, Availability>>,
    prepared: Memo<Result<Arc<TempDir>, String>>,
    /// By language: why its programs cannot be linked statically, if they cannot.
    links: Memo<Result<Option<Fallback>, String>>,
    /// By suite: whether it has ever compiled anything; if not, what came of its example.
    proven: Memo<Result<(), String>>,
    /// By suite: its example, compiled.
    examples: Memo<Result<Executable, String>>,
}

/// How a program is to be compiled, beside what its suite says.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// CPU time of the compiler, instead of the suite's.
    pub cpu_time: Option<Duration>,
    /// Memory of the compiler in bytes, instead of the suite's.
    pub memory: Option<u64>,
    /// Bytes that the program may have, instead of the suite's.
    pub output: Option<u64>,
    /// Headers that lie in the directories of the sources are shown to the compiler, too.
    pub headers_beside: bool,
    /// The main source or class by name, if there are several.
    pub main: Option<String>,
    /// Files of these directories, and of those in them, are added to the sources one directory
    /// after the other, in place of those of the same names.
    pub include: Vec<PathBuf>,
    /// What stands for its value in the sources and in the files of `include`.
    pub constants: Constants,
    /// It does so in those of `include` alone: the sources are not the package's.
    pub constants_in_include_only: bool,
    /// Symbolic links among the sources, and in `include`, are followed if they lead to somewhere
    /// below this directory.
    pub root: Option<PathBuf>,
    /// CPUs that the compiler is held on; none: those of the supervisor's slots.
    pub cpus: Vec<usize>,
}

/// What came of compiling.
#[derive(Debug)]
pub struct Compilation {
    /// What the compiler said, printable, at most [`MAX_MESSAGE_BYTES`] bytes and a note of what was
    /// cut.
    pub messages: String,
    /// It was compiled before; messages and figures are those of that time.
    pub from_cache: bool,
    /// What the compiler used; none if none was run.
    pub figures: Option<Figures>,
    /// The program, or why there is none.
    pub result: Result<Executable, CompileError>,
}

/// Why there is no program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The compiler found the source faulty: a compile error.
    #[error("{0}")]
    Refused(String),
    /// The compiler took too much of something with this source: a compile error, too.
    #[error("the compiler exceeded its {0}")]
    Limit(Limit),
    /// The language is not known, not installed, or out of the sandbox's reach; nothing is said of
    /// the source.
    #[error("{0}")]
    Unavailable(String),
    /// Suite, tools, sandbox or machine failed; nothing is said of the source.
    #[error("{0}")]
    Judge(String),
}

/// What a compilation had too much of, with the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    /// CPU time of the compiler and all that it started.
    #[error("CPU time limit ({} s)", .0.as_secs_f64())]
    CpuTime(Duration),
    /// Real time.
    #[error("real time limit ({} s)", .0.as_secs_f64())]
    RealTime(Duration),
    /// Bytes of memory.
    #[error("memory limit ({} MiB)", .0 >> 20)]
    Memory(u64),
    /// Bytes of the program, or of temporary files.
    #[error("output limit ({} MiB); an array that does not begin as all zeros is in the program in \
        full", .0 >> 20)]
    Output(u64),
    /// The same, where the disk has too little room for what the suite allows.
    #[error(
        "output limit ({} MiB, all that the disk has room for); an array that does not begin as \
         all zeros is in the program in full", .0 >> 20
    )]
    Room(u64),
}

/// What the example adds up, and what must come of it.
const EXAMPLE: (&[u8], &str) = (b"1 2\n-3\n40\n", "40");
/// Bytes that a program may have however little room the disk has.
const MIN_OUTPUT_BYTES: u64 = 64 << 20;
/// The part of the disk's room that one program may take beyond that, so that a few cannot fill it.
const ROOM_DIVISOR: u64 = 8;
/// Bytes of the names that one command may have as arguments. Linux allows 2 MiB for arguments and
/// environment, with a pointer for each, where the stack may have 8 MiB (execve(2)).
const MAX_ARGUMENT_BYTES: usize = 1 << 20;

/// Limits of the example's run.
const EXAMPLE_LIMITS: program::Limits = program::Limits {
    cpu_time: Duration::from_secs(10),
    real_time: Duration::from_secs(30),
    memory: 256 << 20,
    output: 1 << 10,
    processes: 1,
};

/// Sources and what they say, before anything is compiled.
struct Input {
    files: Vec<File>,
    /// Names of those that are compiled.
    compiled: Vec<PathBuf>,
    main: PathBuf,
}

impl<'s> Toolbox<'s> {
    /// One that keeps what it compiles in `cache`.
    pub fn new(supervisor: &'s Supervisor, suites: Suites, cache: Cache) -> Toolbox<'s> {
        Toolbox::lent(Lent::Borrowed(supervisor), suites, cache)
    }

    /// The same with a supervisor that the toolbox shares.
    pub fn shared(supervisor: Arc<Supervisor>, suites: Suites, cache: Cache) -> Toolbox<'static> {
        Toolbox::lent(Lent::Shared(supervisor), suites, cache)
    }

    fn lent(supervisor: Lent<'s>, suites: Suites, cache: Cache) -> Toolbox<'s> {
        Toolbox {
            supervisor,
            suites,
            cache,
            tools: Memo::default(),
            prepared: Memo::default(),
            links: Memo::default(),
            proven: Memo::default(),
            examples: Memo::default(),
        }
    }

    /// Its suites.
    pub fn suites(&self) -> &Suites {
        &self.suites
    }

    /// Whether the suite's tools are there and can be started in the sandbox. Tried once for a
    /// language.
    pub fn availability(&self, suite: &Suite) -> Availability {
        match self.tools(suite) {
            Ok(tools) => Availability::Available {
                version: tools.version.clone(),
            },
            Err(why) => why,
        }
    }

    /// Compiles and runs the suite's example.
    ///
    /// # Errors
    /// What does not work, and what was said.
    pub fn try_out(&self, suite: &Suite) -> Result<(), String> {
        let compilation = self.compile_files(suite, &example(suite), &Options::default());
        let executable = compilation
            .result
            .map_err(|error| with_first_line(&error, &compilation.messages))?;
        let request = executable.request(&EXAMPLE_LIMITS, &[]);
        let captured = captured::run(&self.supervisor, request, EXAMPLE.0, EXAMPLE_LIMITS.output)?;
        let said = String::from_utf8_lossy(&captured.stdout).trim().to_owned();
        if captured.result.outcome == Outcome::Exited(0) && said == EXAMPLE.1 {
            return Ok(());
        }
        let messages = messages::printable(&captured.stderr, captured.stderr_total);
        let first = messages.lines().next().unwrap_or_default();
        Err(format!(
            "its example {}, and wrote {said:?} instead of {:?}: {first}",
            captured.result, EXAMPLE.1
        ))
    }

    /// Returns whether the suite's example starts with these limits. If it does, the machine can
    /// run programs of this language, and a program that cannot be executed is broken itself.
    pub fn starts_example(
        &self,
        suite: &Suite,
        limits: &program::Limits,
        arguments: &[OsString],
        cpus: &[usize],
    ) -> bool {
        let example = self.examples.get(&suite.name, || {
            let compilation = self.compile_files(suite, &example(suite), &Options::default());
            compilation.result.map_err(|error| error.to_string())
        });
        let Ok(example) = example else { return false };
        let request = example.request(limits, arguments);
        let request = match cpus {
            [] => request,
            cpus => request.cpus(cpus.iter().copied()),
        };
        let captured = captured::run(&self.supervisor, request, EXAMPLE.0, EXAMPLE_LIMITS.output);
        captured.is_ok_and(|captured| match captured.result.outcome {
            Outcome::NotStarted(_)
            | Outcome::SandboxError(_)
            | Outcome::Cancelled
            | Outcome::Killed => false,
            Outcome::Exited(_)
            | Outcome::Signaled(_)
            | Outcome::RealTimeLimit
            | Outcome::CpuTimeLimit
            | Outcome::MemoryLimit
            | Outcome::OutputLimit => true,
        })
    }

    /// Makes a program of sources. They are read now and not needed afterwards.
    ///
    /// Their names, as the compiler sees them and speaks of them, are those below the directory
    /// that they have in common. Only regular files are read, and no symbolic links are followed
    /// there but those that [`Options::root`] allows.
    pub fn compile(&self, suite: &Suite, sources: &[PathBuf], options: &Options) -> Compilation {
        let in_sources = (!options.constants_in_include_only).then_some(&options.constants);
        let root = options.root.as_deref();
        let files = sources::read(sources, suite, options.headers_beside, root)
            .and_then(|files| sources::fill(files, in_sources).map_err(CompileError::Refused))
            .and_then(|files| {
                let mut include = options.include.iter();
                include
                    .try_fold(files, |files, next| {
                        sources::include(files, next, &options.constants, root)
                    })
                    .map_err(CompileError::Judge)
            });
        match files {
            Ok(files) => self.compile_files(suite, &files, options),
            Err(why) => Compilation::none(why),
        }
    }

    /// Makes a program of a source that is neither checked nor stored: each run finds it under the
    /// name `main` in its working directory. All such programs see the same world, so their runs
    /// share what is prepared. `None`: the language is compiled.
    ///
    /// # Errors
    /// The language cannot be used here.
    pub fn script(&self, suite: &Suite, main: &Path) -> Option<Result<Executable, CompileError>> {
        let is_compiled = suite
            .compile
            .as_ref()
            .is_some_and(|compile| compile.product != Product::Sources);
        (!is_compiled).then(|| {
            let tools = self
                .tools(suite)
                .map_err(|why| CompileError::Unavailable(why.to_string()))?;
            let mut values = values(suite, &tools);
            values.set("directory", ".");
            values.set("main", sources::argument(main));
            values.set("memory_mib", "{memory_mib}");
            let store = self.store().map_err(CompileError::Judge)?;
            let program = self.program(suite, &tools, &values, store.finish())?;
            Ok(Executable {
                current_dir: ".".into(),
                ..program
            })
        })
    }

    fn compile_files(&self, suite: &Suite, files: &[File], options: &Options) -> Compilation {
        let tools = match self.tools(suite) {
            Ok(tools) => tools,
            Err(why) => {
                let remedy = why.remedy().unwrap_or_default();
                let says = format!("{} cannot be used here: {why}; try: {remedy}", suite.title);
                return Compilation::none(match why {
                    Availability::Missing { .. } | Availability::Unreachable { .. } => {
                        CompileError::Unavailable(says)
                    }
                    Availability::Available { .. } | Availability::Broken { .. } => {
                        CompileError::Judge(says)
                    }
                });
            }
        };
        let input = match Input::new(files, suite, options) {
            Ok(input) => input,
            Err(why) => return Compilation::none(CompileError::Refused(why)),
        };
        let linked = match self.linked(suite, &tools) {
            Ok(linked) => linked,
            Err(why) => return Compilation::none(CompileError::Judge(why)),
        };
        let key = program_key(
            suite,
            &tools,
            &input,
            options,
            linked.as_ref().map(|linked| linked.link),
        );
        let cached = suite
            .compile
            .as_ref()
            .and_then(|_| self.cache.get(&key, || self.store().ok()));
        let from_cache = cached.is_some();
        let (mut messages, figures, is_doubtful, product) = match cached {
            Some(entry) => (entry.messages, entry.figures, false, Ok(entry.files)),
            None => {
                let BuildResult {
                    messages,
                    figures,
                    files,
                    is_doubtful,
                } = self.build_linked(suite, &tools, &input, options, linked.as_ref());
                let files = files.map(|files| {
                    let entry = Entry {
                        messages: messages.clone(),
                        figures,
                        files,
                    };
                    if suite.compile.is_some() {
                        self.cache.put(&key, &entry);
                    }
                    entry.files
                });
                (messages, figures, is_doubtful, files)
            }
        };
        let product = product.and_then(|files| check_program(suite, files));
        let result = match product {
            Ok(files) => self.executable(suite, &tools, &input, files, options),
            Err(error @ (CompileError::Judge(_) | CompileError::Unavailable(_))) => Err(error),
            // A compiler that works for no source has not refused this one.
            Err(error) => match self.prove(suite, &tools, is_doubtful) {
                Ok(()) => Err(error),
                Err(why) => Err(CompileError::Judge(format!(
                    "{} does not work here: {why}",
                    suite.title
                ))),
            },
        };
        if result.is_ok()
            && let Some(fallback) = linked.and_then(|linked| linked.fallback)
        {
            messages.insert_str(0, &fallback.note());
        }
        Compilation {
            messages,
            from_cache,
            figures,
            result,
        }
    }

    fn tools(&self, suite: &Suite) -> Result<Arc<Tools>, Availability> {
        self.tools.get(&suite.language, || {
            tools::find(&self.supervisor, suite).map(Arc::new)
        })
    }

    /// Whether the suite can compile anything at all; `afresh`: that it once could is not enough.
    fn prove(&self, suite: &Suite, tools: &Tools, afresh: bool) -> Result<(), String> {
        let prove = || {
            let input = Input::new(&example(suite), suite, &Options::default())?;
            let link = suite.linking.as_ref().map(|_| Link::Dynamic);
            let built = self.build_unproven(suite, tools, &input, &Options::default(), link);
            built
                .files
                .map(|_| ())
                .map_err(|error| with_first_line(&error, &built.messages))
        };
        if afresh {
            prove()
        } else {
            self.proven.get(&suite.name, prove)
        }
    }

    fn build(
        &self,
        suite: &Suite,
        tools: &Tools,
        input: &Input,
        options: &Options,
        link: Option<Link>,
    ) -> BuildResult {
        let built = self.build_unproven(suite, tools, input, options, link);
        if built.files.is_ok() {
            self.proven.set(&suite.name, Ok(()));
        }
        built
    }

    fn build_unproven(
        &self,
        suite: &Suite,
        tools: &Tools,
        input: &Input,
        options: &Options,
        link: Option<Link>,
    ) -> BuildResult {
        let Some(compile) = &suite.compile else {
            let files = self.stored(&input.files);
            return BuildResult {
                messages: String::new(),
                figures: None,
                files,
                is_doubtful: false,
            };
        };
        let prepared = match suite
            .prepare
            .as_ref()
            .map(|prepare| self.prepared(suite, prepare, tools))
            .transpose()
        {
            Ok(prepared) => prepared,
            Err(why) => return BuildResult::failed(why),
        };
        let source = match self.stored(&input.files) {
            Ok(source) => source,
            Err(error) => {
                return BuildResult {
                    files: Err(error),
                    ..BuildResult::failed(String::new())
                };
            }
        };
        let mut values = values(suite, tools);
        values.set("executable", format!("{OUTPUT}/{EXECUTABLE}"));
        values.set("main", sources::argument(&input.main));
        if let (Some(linking), Some(link)) = (&suite.linking, link) {
            values.set_linking(linking.arguments(link));
        }
        values.set_sources(
            input
                .compiled
                .iter()
                .map(|name| sources::argument(name))
                .collect(),
        );
        let mut shown = vec![(source.directory.path(), SOURCE)];
        shown.extend(prepared.iter().map(|prepared| (prepared.path(), PREPARED)));
        let mut built = match self.job(compile, tools, values, &shown, options) {
            Ok(job) => self.run(&job),
            Err(why) => return BuildResult::failed(why),
        };
        if compile.product == Product::Sources && built.files.is_ok() {
            built.files = Ok(source);
        }
        built
    }

    /// What is made once for a version of the tools.
    fn prepared(
        &self,
        suite: &Suite,
        prepare: &CompileStep,
        tools: &Tools,
    ) -> Result<Arc<TempDir>, String> {
        self.prepared.get(&suite.name, || {
            let key = KeyBuilder::new()
                .with("prepared")
                .with(&suite.text)
                .with(&suite.name)
                .with(&tools.identity)
                .key();
            let files = match self.cache.get(&key, || self.store().ok()) {
                Some(entry) => entry.files,
                None => {
                    let job = self.job(
                        prepare,
                        tools,
                        values(suite, tools),
                        &[],
                        &Options::default(),
                    )?;
                    let BuildResult {
                        messages,
                        figures,
                        files,
                        ..
                    } = self.run(&job);
                    let files = files.map_err(|error| {
                        format!(
                            "{} could not be prepared: {}",
                            suite.title,
                            with_first_line(&error, &messages)
                        )
                    })?;
                    let entry = Entry {
                        messages,
                        figures,
                        files,
                    };
                    self.cache.put(&key, &entry);
                    entry.files
                }
            };
            Ok(Arc::new(files.directory))
        })
    }

    fn run(&self, job: &Job) -> BuildResult {
        match self.store() {
            Ok(store) => build::build(&self.supervisor, job, store),
            Err(why) => BuildResult::failed(why),
        }
    }

    /// `shown`: directories of the host and where they are seen; the first is the working
    /// directory.
    fn job(
        &self,
        compile: &CompileStep,
        tools: &Tools,
        mut values: Values,
        shown: &[(&Path, &'static str)],
        options: &Options,
    ) -> Result<Job, String> {
        let memory = options.memory.unwrap_or(compile.memory);
        values.set("memory_mib", (memory >> 20).to_string());
        let wanted = options.output.unwrap_or(compile.output);
        let output = allowed_output(wanted, files::free_bytes());
        let mut world = world::world(&compile.surroundings, &tools.roots)?;
        for (directory, at) in shown {
            world = world.read_only(directory, at);
        }
        let mut env = vec![
            ("PATH".into(), tools::SEARCH_PATH.into()),
            ("LC_ALL".into(), "C.UTF-8".into()),
        ];
        set_variables(
            &mut env,
            compile
                .surroundings
                .env
                .iter()
                .map(|(name, value)| (name.into(), values.fill(value))),
        );
        Ok(Job {
            world,
            command: values.fill_all(&compile.command),
            env,
            current_dir: shown.first().map_or(OUTPUT, |(_, at)| at),
            cpus: options.cpus.clone(),
            limits: build::Limits {
                cpu_time: options.cpu_time.unwrap_or(compile.cpu_time),
                memory: self
                    .can_limit_memory(compile.surroundings.address_space)
                    .then_some(memory),
                output,
                little_room: output < wanted,
                processes: compile.processes,
            },
        })
    }

    /// Without cgroups memory is limited as address space, which some languages reserve without
    /// measure.
    fn can_limit_memory(&self, address_space: bool) -> bool {
        address_space || self.supervisor.backend() != Backend::Rlimit
    }

    fn executable(
        &self,
        suite: &Suite,
        tools: &Tools,
        input: &Input,
        files: StoredFiles,
        options: &Options,
    ) -> Result<Executable, CompileError> {
        let run = &suite.run;
        let mut values = values(suite, tools);
        values.set("executable", format!("{PROGRAM}/{EXECUTABLE}"));
        values.set("directory", PROGRAM);
        values.set("main", sources::argument(&input.main));
        // Only a run knows how much it may have.
        values.set("memory_mib", "{memory_mib}");
        if run.entry == EntryPoint::JavaClass {
            values.set("class", main_class(&files, suite, input, options)?);
        }
        let program = self.program(suite, tools, &values, files)?;
        let world = program.world.read_only(program.files.path(), PROGRAM);
        Ok(Executable { world, ..program })
    }

    /// The program with these values in its command line. Its world does not show its files.
    fn program(
        &self,
        suite: &Suite,
        tools: &Tools,
        values: &Values,
        files: StoredFiles,
    ) -> Result<Executable, CompileError> {
        let run = &suite.run;
        let world = world::world(&run.surroundings, &tools.roots).map_err(CompileError::Judge)?;
        let mut env = vec![("PATH".into(), tools::SEARCH_PATH.into())];
        set_variables(
            &mut env,
            run.surroundings
                .env
                .iter()
                .map(|(name, value)| (name.into(), values.fill(value))),
        );
        Ok(Executable {
            world,
            argv: values.fill_all(&run.command),
            env,
            current_dir: PROGRAM.into(),
            processes: run.processes,
            memory: if self.can_limit_memory(run.surroundings.address_space) {
                run.memory
            } else {
                u64::MAX
            },
            suite: suite.name.clone(),
            files: Arc::new(files.directory),
        })
    }

    /// A new directory of the host, for files that the sandbox is to read. The error is the host's.
    fn store(&self) -> Result<Store, String> {
        let ids = self.supervisor.ids();
        let store = Store::new(ids).map_err(|error| error.to_string())?;
        match tools::find_closed(store.path(), ids) {
            None => Ok(store),
            Some(why) => Err(format!(
                "{why}, which is the sandbox's; set TMPDIR to a directory that all can reach"
            )),
        }
    }

    /// The same with these files, which belong to the submission.
    fn stored(&self, files: &[File]) -> Result<StoredFiles, CompileError> {
        let mut store = self.store().map_err(CompileError::Judge)?;
        match store.add_all(files) {
            Ok(()) => Ok(store.finish()),
            Err(error @ StoreError::Name { .. }) => {
                Err(CompileError::Refused(format!("a source: {error}")))
            }
            Err(error) => Err(CompileError::Judge(error.to_string())),
        }
    }
}

impl Input {
    fn new(files: &[File], suite: &Suite, options: &Options) -> Result<Input, String> {
        let compiled = sources::compiled(files, suite);
        let main =
            sources::main_source(&compiled, suite, options.main.as_deref()).ok_or_else(|| {
                format!(
                    "there is nothing to compile as {}: all sources are headers",
                    suite.title
                )
            })?;
        if compiled
            .iter()
            .map(|name| name.as_os_str().len() + size_of::<usize>())
            .sum::<usize>()
            > MAX_ARGUMENT_BYTES
        {
            return Err(format!(
                "the names of {} sources are too long for one command",
                compiled.len()
            ));
        }
        let (main, compiled) = (
            main.to_owned(),
            compiled.into_iter().map(Path::to_owned).collect(),
        );
        Ok(Input {
            files: files.to_vec(),
            compiled,
            main,
        })
    }
}

impl Compilation {
    /// A compilation that failed before the compiler ran.
    pub fn none(why: CompileError) -> Compilation {
        Compilation {
            messages: String::new(),
            from_cache: false,
            figures: None,
            result: Err(why),
        }
    }
}

/// Bytes that a program may have whose suite allows `wanted`, where so many can be written to the
/// disk.
fn allowed_output(wanted: u64, room: u64) -> u64 {
    wanted.min((room / ROOM_DIVISOR).max(MIN_OUTPUT_BYTES))
}

/// Placeholders that all commands have.
fn values(suite: &Suite, tools: &Tools) -> Values {
    let mut values = Values::default();
    for (name, value) in &suite.values {
        values.set(name, value);
    }
    for (name, path) in &tools.paths {
        values.set(name, path);
    }
    values.set("output", OUTPUT);
    values.set("source", SOURCE);
    values.set("prepared", PREPARED);
    values
}

/// Sets variables, the suite's in place of ours.
fn set_variables(
    env: &mut Vec<(OsString, OsString)>,
    more: impl Iterator<Item = (OsString, OsString)>,
) {
    for (name, value) in more {
        env.retain(|(known, _)| *known != name);
        env.push((name, value));
    }
}

/// All that a program is made of.
fn program_key(
    suite: &Suite,
    tools: &Tools,
    input: &Input,
    options: &Options,
    link: Option<Link>,
) -> Key {
    let mut builder = KeyBuilder::new()
        .with("program")
        .with(&suite.text)
        .with(&suite.name)
        .with(&tools.identity);
    builder = builder.with(format!(
        "{:?} {:?} {:?}",
        options.cpu_time, options.memory, options.output
    ));
    builder = builder.with(link.map_or_else(String::new, |link| link.to_string()));
    builder = builder.with(input.main.as_os_str().as_encoded_bytes());
    for file in &input.files {
        builder = builder
            .with(file.name.as_os_str().as_encoded_bytes())
            .with([u8::from(file.executable)])
            .with(&file.bytes);
    }
    builder.key()
}

fn example(suite: &Suite) -> [File; 1] {
    let crate::suite::Example { file, source } = &suite.example;
    [File {
        name: file.into(),
        executable: false,
        bytes: source.as_bytes().to_vec(),
    }]
}

fn with_first_line(error: &CompileError, messages: &str) -> String {
    match messages.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => format!("{error}: {line}"),
        None => error.to_string(),
    }
}

/// Whether the product has what the suite runs.
fn check_program(suite: &Suite, files: StoredFiles) -> Result<StoredFiles, CompileError> {
    let why = match suite.own_program() {
        Some(EXECUTABLE) if !files.has_executable(Path::new(EXECUTABLE)) => {
            "the compiler made no program; if there are several sources, call the main one main"
                .to_owned()
        }
        Some(name) if !files.has_executable(Path::new(name)) => {
            format!("there is no executable file {name} when all is built")
        }
        _ => return Ok(files),
    };
    Err(CompileError::Refused(why))
}

/// The class to be started, of those that have a main method.
fn main_class(
    files: &StoredFiles,
    suite: &Suite,
    input: &Input,
    options: &Options,
) -> Result<String, CompileError> {
    let mut mains: Vec<class::MainClass> = Vec::new();
    for file in &files.files {
        let is_class = file
            .name
            .extension()
            .is_some_and(|extension| extension == "class");
        if is_class && file.length <= class::MAX_CLASS_FILE_BYTES {
            let bytes =
                std::fs::read(files.directory.path().join(&file.name)).map_err(|error| {
                    CompileError::Judge(format!("cannot read what was compiled: {error}"))
                })?;
            mains.extend(class::main_class(&bytes));
        }
    }
    choose_main_class(mains, suite, input, options).map_err(CompileError::Refused)
}

fn choose_main_class(
    mut mains: Vec<class::MainClass>,
    suite: &Suite,
    input: &Input,
    options: &Options,
) -> Result<String, String> {
    // Only if there is none of them can a newer Java's other forms be meant.
    if mains.iter().any(|main| main.classic) {
        mains.retain(|main| main.classic);
    }
    mains.sort();
    let called = |wanted: &str| {
        let is = |main: &&class::MainClass| {
            main.class == wanted || main.class.rsplit('.').next() == Some(wanted)
        };
        mains.iter().find(is)
    };
    let by_name = || {
        let source = input
            .main
            .file_stem()
            .and_then(|stem| stem.to_str())
            .into_iter();
        let names = suite.sources.main.iter().map(String::as_str).chain(source);
        options
            .main
            .as_deref()
            .into_iter()
            .chain(names)
            .find_map(called)
    };
    match &mains[..] {
        [] => Err("no class has a main method".to_owned()),
        [one] => Ok(one.class.clone()),
        several => by_name().map(|main| main.class.clone()).ok_or_else(|| {
            let names: Vec<&str> = several.iter().map(|main| main.class.as_str()).collect();
            format!(
                "several classes have a main method ({}); name the one to be started Main",
                names.join(", ")
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowed_output_little_room_allows_a_part_of_it() {
        let mib = |number: u64| number << 20;
        assert_eq!(allowed_output(mib(576), mib(100_000)), mib(576));
        assert_eq!(allowed_output(mib(576), mib(4000)), mib(500));
        assert_eq!(allowed_output(mib(576), mib(100)), MIN_OUTPUT_BYTES);
        assert_eq!(allowed_output(mib(576), 0), MIN_OUTPUT_BYTES);
        assert_eq!(allowed_output(mib(4), 0), mib(4));
    }
}
