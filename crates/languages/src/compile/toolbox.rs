//! The toolbox: the languages of some suites on one machine.

use super::availability::Availability;
use super::build::BuildResult;
use super::builder::Builder;
use super::captured::{self, CapturedRun, RunFailure};
use super::error::{BuildError, CompileError, InternalError, ToolsError, TrialError, first_line};
use super::executable::{check_program, executable, script};
use super::input::{Input, example};
use super::linked::{self, Linkage, Links};
use super::memo::Memo;
use super::messages::printable;
use super::options::{Compilation, Options};
use super::sources;
use super::supervisor_ref::SupervisorRef;
use super::tools::Tools;
use crate::cache::{Cache, Entry, Key, KeyBuilder};
use crate::files::SourceFile;
use crate::program::{Executable, Limits};
use crate::suite::{Library, Link, Product, Suite, Suites};
use millibox::{Outcome, Supervisor};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Input of every suite's example.
const EXAMPLE_INPUT: &[u8] = b"1 2\n-3\n40\n";
/// The sum of the numbers in the input.
const EXAMPLE_OUTPUT: &str = "40";
/// Limits of the example's run.
const EXAMPLE_LIMITS: Limits = Limits {
    cpu_time: Duration::from_secs(10),
    real_time: Duration::from_secs(30),
    memory: 256 << 20,
    output: 1 << 10,
    processes: 1,
};

/// The languages of some suites, compiled with one supervisor.
///
/// Threads may share a reference and compile at the same time. What the toolbox learns about a
/// language, such as the versions of its tools, stays valid for the life of the toolbox.
///
/// ```no_run
/// use millibox::Supervisor;
/// use millibox_languages::cache::Cache;
/// use millibox_languages::compile::{Options, Toolbox};
/// use millibox_languages::files::SourceFile;
/// use millibox_languages::suite::Suites;
///
/// let supervisor = Supervisor::start()?;
/// let toolbox = Toolbox::new(&supervisor, Suites::builtin(), Cache::of_user()?);
/// for suite in toolbox.suites().iter() {
///     println!("{}: {}", suite.title, toolbox.availability(suite));
/// }
/// let c = toolbox.suites().named("c")?;
/// let source = SourceFile::new("main.c", "int main(void) { return 0; }");
/// let compilation = toolbox.compile_files(c, vec![source], &Options::default());
/// print!("{}", compilation.messages);
/// let program = compilation.result?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Toolbox<'s> {
    suites: Suites,
    builder: Builder<'s>,
    links: Links,
    /// The compiled example of each suite.
    examples: Memo<Option<Executable>>,
}

impl<'s> Toolbox<'s> {
    /// Returns a toolbox that stores compiled programs in `cache`.
    pub fn new(supervisor: &'s Supervisor, suites: Suites, cache: Cache) -> Toolbox<'s> {
        Toolbox::with(SupervisorRef::Borrowed(supervisor), suites, cache)
    }

    /// Returns a toolbox that shares the supervisor.
    pub fn shared(supervisor: Arc<Supervisor>, suites: Suites, cache: Cache) -> Toolbox<'static> {
        Toolbox::with(SupervisorRef::Shared(supervisor), suites, cache)
    }

    fn with(supervisor: SupervisorRef<'s>, suites: Suites, cache: Cache) -> Toolbox<'s> {
        Toolbox {
            suites,
            builder: Builder::new(supervisor, cache),
            links: Links::default(),
            examples: Memo::default(),
        }
    }

    /// The suites.
    pub fn suites(&self) -> &Suites {
        &self.suites
    }

    /// Checks whether the tools of the suite exist and start in the sandbox. The first call for a
    /// language runs the tools.
    pub fn availability(&self, suite: &Suite) -> Availability {
        match self.builder.tools(suite) {
            Ok(tools) => Availability::Available {
                version: tools.version.clone(),
            },
            Err(unavailable) => unavailable,
        }
    }

    /// The suites whose tools exist and start in the sandbox, with the version of the first tool of
    /// each. Runs the tools, like [`Toolbox::availability`].
    pub fn installed(&self) -> impl Iterator<Item = (&Suite, String)> {
        self.suites.iter().filter_map(|suite| {
            let availability = self.availability(suite);
            Some((suite, availability.version()?.to_owned()))
        })
    }

    /// Returns how the suite's programs are linked on this machine, or `None` if the suite does not
    /// choose. The first call for a language may compile its example.
    ///
    /// # Errors
    /// [`CompileError::Unavailable`] or [`CompileError::Internal`]: the suite cannot be used.
    pub fn linking(&self, suite: &Suite) -> Result<Option<Linkage>, CompileError> {
        let tools = self.tools(suite)?;
        Ok(self.links.linkage(&self.builder, suite, &tools)?)
    }

    /// Executes a step that prepares the suite, unless it was executed before. Has no effect if the
    /// suite does not have the step.
    ///
    /// # Errors
    /// The step failed, or the language cannot be used here.
    pub fn prepare(&self, suite: &Suite, library: Library) -> Result<(), CompileError> {
        let tools = self.tools(suite)?;
        self.builder.prepare(suite, &tools, library, false)?;
        Ok(())
    }

    /// Compiles and runs the example of the suite.
    ///
    /// # Errors
    /// The example cannot be compiled or run, or writes a wrong sum.
    pub fn try_out(&self, suite: &Suite) -> Result<(), TrialError> {
        let compilation = self.compile_checked(suite, example(suite), &Options::default());
        let program = compilation
            .result
            .map_err(|error| BuildError::new(error, &compilation.messages))?;
        let captured = self.run_example(&program, &EXAMPLE_LIMITS, &[], &[])?;
        let stdout = String::from_utf8_lossy(&captured.stdout).trim().to_owned();
        if captured.result.outcome == Outcome::Exited(0) && stdout == EXAMPLE_OUTPUT {
            return Ok(());
        }
        let messages = printable(&captured.stderr, captured.stderr_total);
        Err(TrialError::Output {
            result: Box::new(captured.result),
            stdout,
            expected: EXAMPLE_OUTPUT,
            message: first_line(&messages),
        })
    }

    /// Returns whether the example of the suite starts with these limits, arguments and CPUs. If it
    /// does, this machine can run programs of the language. If another program does not start, that
    /// program is at fault.
    pub fn starts_example(
        &self,
        suite: &Suite,
        limits: &Limits,
        arguments: &[OsString],
        cpus: &[usize],
    ) -> bool {
        let program = self.examples.get(&suite.name, || {
            self.compile_checked(suite, example(suite), &Options::default())
                .result
                .ok()
        });
        let Some(program) = program else { return false };
        self.run_example(&program, limits, arguments, cpus)
            .is_ok_and(|captured| {
                matches!(
                    captured.result.outcome,
                    Outcome::Exited(_)
                        | Outcome::Signaled(_)
                        | Outcome::RealTimeLimit
                        | Outcome::CpuTimeLimit
                        | Outcome::MemoryLimit
                        | Outcome::OutputLimit
                )
            })
    }

    fn run_example(
        &self,
        program: &Executable,
        limits: &Limits,
        arguments: &[OsString],
        cpus: &[usize],
    ) -> Result<CapturedRun<Vec<u8>>, RunFailure> {
        let request = program.request(limits, arguments);
        let request = match cpus {
            [] => request,
            cpus => request.cpus(cpus.iter().copied()),
        };
        let supervisor = &self.builder.supervisor;
        captured::run(supervisor, request, EXAMPLE_INPUT, EXAMPLE_LIMITS.output)
    }

    /// Compiles source files of the host. The files are read before the call returns and are not
    /// needed afterwards.
    ///
    /// The compiler sees the sources by their paths relative to the directory that they have in
    /// common. Only regular files are read. [`Options::root`] allows symbolic links.
    ///
    /// An error is in [`Compilation::result`].
    pub fn compile(&self, suite: &Suite, sources: &[PathBuf], options: &Options) -> Compilation {
        let root = options.root.as_deref();
        sources::read(sources, suite, options.headers_beside, root)
            .map_or_else(Compilation::failed, |files| {
                self.compile_with_options(suite, files, options)
            })
    }

    /// Makes a program from a source that is neither checked nor stored. Each run finds the source
    /// under the name `main` in its working directory. All such programs have the same world, so
    /// their runs share its template. Returns `None` if the language is compiled.
    ///
    /// # Errors
    /// The language cannot be used here.
    pub fn script(&self, suite: &Suite, main: &Path) -> Option<Result<Executable, CompileError>> {
        let is_compiled = suite
            .compile
            .as_ref()
            .is_some_and(|compile| compile.product != Product::Sources);
        (!is_compiled).then(|| {
            let tools = self.tools(suite)?;
            let files = self.builder.store()?.finish();
            let address_space = suite.run.surroundings.address_space;
            let can_limit_memory = self.builder.can_limit_memory(address_space);
            script(suite, &tools, main, files, can_limit_memory)
        })
    }

    /// Compiles sources in memory. The compiler sees them by their names. The option
    /// `headers_beside` has no effect.
    ///
    /// An error is in [`Compilation::result`].
    pub fn compile_files(
        &self,
        suite: &Suite,
        files: Vec<SourceFile>,
        options: &Options,
    ) -> Compilation {
        match sources::check(&files) {
            Ok(()) => self.compile_with_options(suite, files, options),
            Err(refusal) => Compilation::failed(refusal),
        }
    }

    /// Fills in constants, adds included files and compiles.
    fn compile_with_options(
        &self,
        suite: &Suite,
        files: Vec<SourceFile>,
        options: &Options,
    ) -> Compilation {
        let complete = || {
            let files = match options.constants_in_include_only {
                true => files,
                false => sources::fill(files, &options.constants)?,
            };
            options.include.iter().try_fold(files, |files, directory| {
                let root = options.root.as_deref();
                sources::include(files, directory, &options.constants, root)
            })
        };
        match complete() {
            Ok(files) => self.compile_checked(suite, files, options),
            Err(error) => Compilation::failed(error),
        }
    }

    fn compile_checked(
        &self,
        suite: &Suite,
        files: Vec<SourceFile>,
        options: &Options,
    ) -> Compilation {
        let tools = match self.tools(suite) {
            Ok(tools) => tools,
            Err(error) => return Compilation::failed(error),
        };
        let input = match Input::new(files, suite, options) {
            Ok(input) => input,
            Err(refusal) => return Compilation::failed(refusal),
        };
        let linkage = match self.links.linkage(&self.builder, suite, &tools) {
            Ok(linkage) => linkage,
            Err(error) => return Compilation::failed(error),
        };
        let link = linkage.as_ref().map(|linkage| linkage.link);
        let key = program_key(suite, &tools, &input, options, link);
        let cache = &self.builder.cache;
        let cached = suite
            .compile
            .as_ref()
            .and_then(|_| cache.get(&key, || self.builder.store().ok()));
        let from_cache = cached.is_some();
        let (mut messages, figures, is_doubtful, product) = match cached {
            Some(entry) => (entry.messages, entry.figures, false, Ok(entry.files)),
            None => {
                let BuildResult {
                    messages,
                    figures,
                    files,
                    is_doubtful,
                } = linked::build(
                    &self.builder,
                    suite,
                    &tools,
                    &input,
                    options,
                    linkage.as_ref(),
                );
                let files = files.map(|files| {
                    let entry = Entry {
                        messages: messages.clone(),
                        figures,
                        files,
                    };
                    if suite.compile.is_some() {
                        cache.put(&key, &entry);
                    }
                    entry.files
                });
                (messages, figures, is_doubtful, files)
            }
        };
        let product = product.and_then(|files| {
            check_program(suite, &files)?;
            Ok(files)
        });
        let result = match product {
            Ok(files) => {
                let address_space = suite.run.surroundings.address_space;
                let can_limit_memory = self.builder.can_limit_memory(address_space);
                executable(suite, &tools, &input, files, options, can_limit_memory)
            }
            Err(error) if !error.is_compile_error() => Err(error),
            // If the compiler cannot compile the example either, the source is not at fault.
            Err(error) => match self.builder.prove(suite, &tools, is_doubtful) {
                Ok(()) => Err(error),
                Err(example_error) => Err(InternalError::Suite {
                    title: suite.title.clone(),
                    error: Box::new(example_error),
                }
                .into()),
            },
        };
        if result.is_ok()
            && let Some(fallback) = linkage.and_then(|linkage| linkage.fallback)
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

    fn tools(&self, suite: &Suite) -> Result<Arc<Tools>, CompileError> {
        self.builder.tools(suite).map_err(|availability| {
            ToolsError {
                title: suite.title.clone(),
                availability: Box::new(availability),
            }
            .into_compile_error()
        })
    }
}

/// Returns the cache key of a program: a digest of everything that the program depends on.
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
        .with(&tools.identity)
        .with(format!(
            "{:?} {:?} {:?}",
            options.cpu_time, options.memory, options.output
        ))
        .with(link.map_or_else(String::new, |link| link.to_string()))
        .with(format!("{:?}", options.arguments))
        .with(input.main.as_os_str().as_encoded_bytes());
    for file in &input.files {
        builder = builder
            .with(file.name.as_os_str().as_encoded_bytes())
            .with([u8::from(file.executable)])
            .with(&file.bytes);
    }
    builder.key()
}
