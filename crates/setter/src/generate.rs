//! Makes inputs with generators, and answers with the model solution.
//!
//! New files wait beside the package's files until all of them exist and are sound. Then all of
//! them are put in place, or none. A file that was made from the same sources before is not made
//! again. A file that a person wrote is never replaced: one that exists and differs from the
//! record.

use super::error::{FileAction, FileFault, FileKind, MachineError, MakeFault, ProgramFault, file};
use super::programs::{SETTER_LIMITS, all};
use super::record::{Digest, Record, RecordedFile, content};
use super::replace::Replacement;
use super::selection::TestSelection;
use super::{RequestError, Setter, SetterError, below, read_directory};
use millibox::World;
use millibox_judge::batch::Worker;
use millibox_judge::report::counted;
use millibox_judge::tool::{ToolRun, memory_file};
use millibox_languages::program::{Executable, Limits};
use millibox_languages::staging::StagedDirectory;
use millibox_languages::suite::nearest;
use millibox_package::model::{Generation, Generator, Kind, Program, Test};
use millibox_package::{Constants, Fault, Problem, Severity};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The package's directory in the world of a shell generator.
const PACKAGE: &str = "/package";
/// The search path of a shell generator.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Options of [`Setter::generate`].
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Names of tests or directories of tests, or patterns. An empty list selects all tests.
    pub tests: Vec<String>,
    /// Also make files that exist and were made from the same sources.
    pub all: bool,
    /// Make every file twice, also those that exist. Both runs must give the same bytes.
    pub check: bool,
}

impl Options {
    fn makes_all(&self) -> bool {
        self.all || self.check
    }
}

/// The files that were made.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Files, in the order of their tests: inputs, then answers.
    pub made: Vec<MadeFile>,
    /// Number of files that existed already and were made from the same sources.
    pub current: usize,
    /// Warnings of the package, and files that stay because a person wrote them.
    #[serde(skip)]
    pub warnings: Vec<Fault>,
}

/// A made file.
#[derive(Debug, Clone, Serialize)]
pub struct MadeFile {
    /// Path below the package.
    pub path: String,
    /// Name of its test.
    pub test: String,
    /// The generator with its arguments, or the model solution.
    pub by: String,
    /// The generator's seed.
    pub seed: Option<u64>,
    /// Its length.
    pub bytes: u64,
    /// Whether the file is new or has new content.
    pub changed: bool,
}

/// A file to make.
struct Task<'p> {
    test: &'p Test,
    /// The file's path in the package, and the path where it is made.
    place: PathBuf,
    new: PathBuf,
    /// Digest of its sources.
    sources: String,
    source: Source<'p>,
    by: String,
    seed: Option<u64>,
    /// Whether a person wrote this answer elsewhere.
    written: bool,
}

/// A made file that may be put in place.
struct PendingFile<'p> {
    task: Task<'p>,
    digest: String,
    bytes: u64,
    /// Whether the file is new or has new content.
    changed: bool,
}

/// The state of the work.
struct Workspace<'p> {
    problem: &'p Problem,
    /// The selected tests.
    tests: Vec<&'p Test>,
    options: &'p Options,
    /// Declared before the record, so that it is dropped first. It lies in the record's directory,
    /// which the record removes if nothing was made.
    replacement: Replacement,
    record: Record,
    report: Report,
}

enum Source<'p> {
    Text(&'p str),
    Copy(&'p Path),
    Run {
        executable: Executable,
        arguments: Vec<OsString>,
        environment: Vec<(&'static str, String)>,
        /// Keeps the staged files that its world shows.
        _shown: Option<Arc<StagedDirectory>>,
    },
    Answer {
        executable: Executable,
        input: PathBuf,
    },
}

impl Setter<'_> {
    /// Makes inputs and answers.
    ///
    /// Inputs are made for tests that a Sipfile's `gen` or generators/generators.yaml names.
    /// Answers are made for these tests, and for others without an answer or with an unchanged
    /// answer that the model solution made here. Files that a person wrote or changed stay. If this
    /// would make something different, it reports a warning.
    ///
    /// # Errors
    /// The package cannot be read, a program fails or gives different bytes in a second run (if
    /// that is checked), or a file cannot be written. The package's files are then unchanged.
    pub fn generate(&self, package: &Path, options: &Options) -> Result<Report, SetterError> {
        let problem = read_directory(package)?;
        let tests = chosen(&problem, &options.tests)?;
        let record = Record::open(&problem.directory)?;
        let replacement = Replacement::begin(record.directory.join("new"))?;
        let report = Report {
            warnings: problem.warnings.clone(),
            ..Report::default()
        };
        let mut workspace = Workspace {
            problem: &problem,
            tests,
            options,
            record,
            replacement,
            report,
        };

        let inputs = self.inputs(&mut workspace)?;
        let inputs = self.make("inputs", &mut workspace, inputs)?;
        // The answer to an input that stays is made from that input.
        let new_inputs: BTreeMap<&str, (&Path, &str)> = inputs
            .iter()
            .map(|ready| (&*ready.task.test.name, (&*ready.task.new, &*ready.digest)))
            .collect();
        let answers = self.answers(&mut workspace, &new_inputs)?;
        let answers = self.make("answers", &mut workspace, answers)?;

        let Workspace {
            mut record,
            mut replacement,
            mut report,
            ..
        } = workspace;
        let mut content = record.content().clone();
        for PendingFile {
            task,
            digest,
            bytes,
            changed,
        } in inputs.iter().chain(&answers)
        {
            let (path, bytes, changed) = (below(&problem, &task.place), *bytes, *changed);
            if changed {
                replacement.add(task.new.clone(), task.place.clone());
            }
            let made = RecordedFile {
                sources: task.sources.clone(),
                content: digest.clone(),
                written: task.written,
            };
            content.files.insert(path.clone(), made);
            report.made.push(MadeFile {
                path,
                test: task.test.name.clone(),
                by: task.by.clone(),
                seed: task.seed,
                bytes,
                changed,
            });
        }
        if report.made.is_empty() {
            return Ok(report);
        }
        content.directories.extend(
            replacement
                .missing()
                .iter()
                .map(|directory| below(&problem, directory)),
        );
        let new = replacement.path();
        let place = record.write(content, &new)?;
        replacement.add(new, place);
        replacement.commit()?;
        Ok(report)
    }

    fn inputs<'p>(&self, workspace: &mut Workspace<'p>) -> Result<Vec<Task<'p>>, SetterError> {
        let Workspace {
            problem,
            tests,
            options,
            record,
            replacement,
            report,
        } = workspace;
        let mut tasks = Vec::new();
        let mut programs: BTreeMap<&Path, Result<Executable, Vec<ProgramFault>>> = BTreeMap::new();
        let mut shell = None;
        for test in tests {
            let Some(generation) = problem
                .generators
                .iter()
                .find(|generation| generation.test == test.name)
            else {
                continue;
            };
            let sources = self.digest(problem, generation)?;
            // The files that a shell generator reads are unknown.
            let known = !matches!(generation.generator, Generator::Shell(_));
            let there = content(&test.input)?;
            if known
                && !options.makes_all()
                && record.is_current(&below(problem, &test.input), &sources, there.as_deref())
            {
                report.current += 1;
                continue;
            }
            let environment = vec![
                ("SIP_TEST_NAME", test.name.clone()),
                ("SIP_TEST_SEED", generation.seed.to_string()),
            ];
            let arguments: Vec<OsString> =
                generation.arguments.iter().map(OsString::from).collect();
            let source = match &generation.generator {
                Generator::Text(text) => Source::Text(text),
                Generator::Copy(path) => Source::Copy(path),
                Generator::Shell(line) => {
                    let executable = match &shell {
                        Some(executable) => executable,
                        None => shell.insert(self.shell(problem)?),
                    };
                    let (mut executable, staged) = executable.clone();
                    executable.argv.push(line.into());
                    Source::Run {
                        executable,
                        arguments,
                        environment,
                        _shown: Some(staged),
                    }
                }
                Generator::Program(program) => {
                    let executable = match programs.get(&*program.path) {
                        Some(executable) => executable,
                        None => {
                            let compiled = match self.compile(
                                problem,
                                program,
                                Vec::new(),
                                &Constants::default(),
                            ) {
                                Err(SetterError::Programs(faults)) => Err(faults),
                                compiled => Ok(compiled?),
                            };
                            programs.entry(&program.path).or_insert(compiled)
                        }
                    };
                    let Ok(executable) = executable else { continue };
                    Source::Run {
                        executable: executable.clone(),
                        arguments,
                        environment,
                        _shown: None,
                    }
                }
            };
            let seed = matches!(source, Source::Run { .. }).then_some(generation.seed);
            let by = shown(problem, generation);
            let (place, new) = (test.input.clone(), replacement.path());
            tasks.push(Task {
                test,
                place,
                new,
                sources,
                source,
                by,
                seed,
                written: false,
            });
        }
        let faults: Vec<ProgramFault> = programs
            .into_values()
            .filter_map(Result::err)
            .flatten()
            .collect();
        if faults.is_empty() {
            Ok(tasks)
        } else {
            Err(SetterError::Programs(faults))
        }
    }

    fn answers<'p>(
        &self,
        workspace: &mut Workspace<'p>,
        new_inputs: &BTreeMap<&str, (&Path, &str)>,
    ) -> Result<Vec<Task<'p>>, SetterError> {
        let Workspace {
            problem,
            tests,
            options,
            record,
            replacement,
            report,
        } = workspace;
        let mut tasks = Vec::new();
        let mut model = None;
        let mut faults = Vec::new();
        for test in tests {
            let Some(answer) = &test.answer else { continue };
            let path = below(problem, answer);
            let there = content(answer)?;
            let generation = problem
                .generators
                .iter()
                .find(|generation| generation.test == test.name);
            let written = generation.and_then(|generation| generation.answer.as_ref());
            // A test that generators.yaml no longer names keeps the answer from there.
            let made = record
                .content()
                .files
                .get(&path)
                .filter(|made| generation.is_some() || !made.written);
            let ours = made.is_some_and(|made| Some(&made.content) == there.as_ref());
            let sources = Digest::new("answer");
            let (sources, source, by) = match written {
                Some(Generator::Text(text)) => (
                    sources.with(text),
                    Source::Text(text),
                    "generators.yaml".to_owned(),
                ),
                Some(Generator::Copy(from)) => {
                    let sources = sources.with(content(from)?.unwrap_or_default());
                    (
                        sources,
                        Source::Copy(from),
                        format!("copy of {}", below(problem, from)),
                    )
                }
                _ if problem.kind != Kind::Batch => {
                    if there.is_some() && !ours {
                        continue;
                    }
                    // The format requires a file. The input holds what the interactor needs.
                    (sources, Source::Text(""), "no answer".to_owned())
                }
                _ => {
                    if generation.is_none() && there.is_some() && !ours {
                        continue;
                    }
                    let (input, digest) = match new_inputs.get(&*test.name) {
                        Some((input, digest)) => ((*input).to_owned(), Some((*digest).to_owned())),
                        None => (test.input.clone(), content(&test.input)?),
                    };
                    let Some(digest) = digest else {
                        let input = below(problem, &input);
                        faults.push(ProgramFault::NoInput {
                            test: test.name.clone(),
                            input,
                        });
                        continue;
                    };
                    if test.files.is_some() {
                        faults.push(ProgramFault::TestWithFiles(test.name.clone()));
                        continue;
                    }
                    let (name, of_model, executable) = match &model {
                        Some(model) => model,
                        None => model.insert(self.model(problem)?),
                    };
                    let sources = sources
                        .with(digest)
                        .with(of_model)
                        .with(test.arguments.join("\0"));
                    let source = Source::Answer {
                        executable: executable.clone(),
                        input,
                    };
                    (sources, source, format!("model solution {name}"))
                }
            };
            let sources = sources.done();
            if !options.makes_all() && record.is_current(&path, &sources, there.as_deref()) {
                report.current += 1;
                continue;
            }
            let (place, new, written) = (answer.clone(), replacement.path(), written.is_some());
            tasks.push(Task {
                test,
                place,
                new,
                sources,
                source,
                by,
                seed: None,
                written,
            });
        }
        if faults.is_empty() {
            Ok(tasks)
        } else {
            Err(SetterError::Programs(faults))
        }
    }

    /// Makes the files and returns those that may be put in place. Warns of files that stay because
    /// a person wrote them.
    fn make<'p>(
        &self,
        what: &str,
        workspace: &mut Workspace<'p>,
        tasks: Vec<Task<'p>>,
    ) -> Result<Vec<PendingFile<'p>>, SetterError> {
        if tasks.is_empty() {
            return Ok(Vec::new());
        }
        let (problem, options) = (workspace.problem, workspace.options);
        let made = all(self.parallel(what, &tasks, |_: &mut Worker<'_>, task| {
            let made = self
                .make_one(problem, task, options.check)
                .map_err(|error| error.about(task));
            let line = match &made {
                Ok((_, bytes)) => format!(
                    "{}: {}, {}",
                    below(problem, &task.place),
                    counted(*bytes, "byte"),
                    task.by
                ),
                Err(_) => format!("{}: failed", below(problem, &task.place)),
            };
            (line, made)
        }))?;
        let mut ready = Vec::new();
        for (task, (digest, bytes)) in tasks.into_iter().zip(made) {
            let there = content(&task.place)?;
            let changed = there.as_ref() != Some(&digest);
            let made = workspace
                .record
                .content()
                .files
                .get(&below(problem, &task.place));
            if changed && there.is_some() && made.map(|made| &made.content) != there.as_ref() {
                let message = format!(
                    "stays, because a person wrote or changed it; remove it, and it is made again \
                     ({})",
                    task.by
                );
                let (path, severity) = (task.place, Severity::Warning);
                workspace.report.warnings.push(Fault {
                    path,
                    line: None,
                    column: None,
                    severity,
                    message,
                    bound: None,
                });
                continue;
            }
            ready.push(PendingFile {
                task,
                digest,
                bytes,
                changed,
            });
        }
        Ok(ready)
    }

    /// Makes one file and returns its digest and length.
    fn make_one(
        &self,
        problem: &Problem,
        task: &Task<'_>,
        check: bool,
    ) -> Result<(String, u64), MakeError> {
        let failed = |error: std::io::Error| file(FileAction::Write, &task.place, error);
        match &task.source {
            Source::Text(text) => std::fs::write(&task.new, text).map_err(failed)?,
            Source::Copy(from) => {
                let mut from =
                    File::open(from).map_err(|error| file(FileAction::Read, from, error))?;
                let mut to = File::create(&task.new).map_err(failed)?;
                std::io::copy(&mut from, &mut to).map_err(failed)?;
            }
            Source::Run { .. } | Source::Answer { .. } => {
                let output = File::options()
                    .read(true)
                    .write(true)
                    .create_new(true)
                    .open(&task.new);
                let output = output.map_err(failed)?;
                self.write(problem, task, &output)?;
                if check {
                    let again = memory_file().map_err(SetterError::from)?;
                    self.write(problem, task, &again)?;
                    if let Some(at) = difference(&output, &again).map_err(failed)? {
                        return Err(MakeFault::Unstable { byte: at + 1 }.into());
                    }
                }
            }
        }
        let bytes = task.new.metadata().map_err(failed)?.len();
        if bytes == 0 && matches!(task.source, Source::Run { .. }) {
            return Err(MakeFault::Empty.into());
        }
        let digest = content(&task.new)?
            .ok_or_else(|| file(FileAction::Write, &task.place, FileFault::Vanished))?;
        Ok((digest, bytes))
    }

    /// Runs the program that makes the file.
    fn write(&self, problem: &Problem, task: &Task<'_>, output: &File) -> Result<(), MakeError> {
        let result = match &task.source {
            Source::Run {
                executable,
                arguments,
                environment,
                ..
            } => self.run(&ToolRun {
                executable,
                world: &executable.world,
                arguments,
                environment,
                limits: &SETTER_LIMITS,
                input: None,
                output,
            }),
            Source::Answer { executable, input } => {
                let memory = task
                    .test
                    .memory
                    .or(problem.limits.memory)
                    .unwrap_or(SETTER_LIMITS.memory);
                let arguments: Vec<OsString> =
                    task.test.arguments.iter().map(OsString::from).collect();
                self.run(&ToolRun {
                    executable,
                    world: &executable.world,
                    arguments: &arguments,
                    environment: &[],
                    limits: &Limits {
                        memory,
                        ..SETTER_LIMITS
                    },
                    input: Some(
                        &File::open(input).map_err(|error| file(FileAction::Read, input, error))?,
                    ),
                    output,
                })
            }
            Source::Text(_) | Source::Copy(_) => return Ok(()),
        };
        let result = result.map_err(SetterError::from)?;
        result
            .failure
            .map_or(Ok(()), |failure| Err(MakeFault::Failed(failure).into()))
    }

    /// The model solution: its name, the digest of its sources, and the program.
    pub(super) fn model(
        &self,
        problem: &Problem,
    ) -> Result<(String, String, Executable), SetterError> {
        let Some(model) = problem.model_solution() else {
            return Err(ProgramFault::NoModelSolution.into());
        };
        let executable = self.compile_submission(problem, &model.program)?;
        let mut digest = Digest::new("model").with_program(
            &model.program,
            self.toolbox.suites(),
            &problem.directory,
        )?;
        if problem.constants != Constants::default() {
            digest = digest.with(format!("{:?}", problem.constants));
        }
        Ok((model.name.clone(), digest.done(), executable))
    }

    /// Digest of all sources of an input.
    fn digest(&self, problem: &Problem, generation: &Generation) -> Result<String, SetterError> {
        let digest = Digest::new("input")
            .with(&generation.test)
            .with(generation.seed.to_le_bytes());
        let digest = digest.with(generation.arguments.join("\0"));
        let digest = match &generation.generator {
            Generator::Program(program) => digest.with("program").with_program(
                program,
                self.toolbox.suites(),
                &problem.directory,
            )?,
            Generator::Shell(line) => digest.with("shell").with(line),
            Generator::Text(text) => digest.with("text").with(text),
            Generator::Copy(path) => digest.with("copy").with(content(path)?.unwrap_or_default()),
        };
        Ok(digest.with(format!("{:?}", problem.format)).done())
    }

    /// The program `sh -c` in the package's directory, without its line, and the staged package.
    fn shell(&self, problem: &Problem) -> Result<(Executable, Arc<StagedDirectory>), SetterError> {
        let machine = |error: std::io::Error| SetterError::from(MachineError::Shell(error));
        let staged = StagedDirectory::new(&problem.directory, self.supervisor.ids())
            .map_err(|error| machine(error.into()))?;
        let files = millibox_package::temporary::directory().map_err(machine)?;
        let executable = Executable {
            world: World::minimal().read_only(staged.path(), PACKAGE),
            argv: ["/bin/sh", "-c"].map(OsString::from).to_vec(),
            env: vec![("PATH".into(), SEARCH_PATH.into())],
            current_dir: PACKAGE.into(),
            processes: 0,
            memory: 0,
            suite: "sh".to_owned(),
            files: Arc::new(files),
        };
        Ok((executable, Arc::new(staged)))
    }

    fn compile_submission(
        &self,
        problem: &Problem,
        program: &Program,
    ) -> Result<Executable, SetterError> {
        let suite = self
            .toolbox
            .suites()
            .for_sources(&program.sources, program.language.as_deref());
        let include = problem
            .include
            .as_ref()
            .zip(suite.ok())
            .map(|(include, suite)| {
                let own = [&suite.name, &suite.language].map(|name| include.join(name));
                let own = own.into_iter().find(|directory| directory.is_dir());
                // The language's own files come later and replace those for all languages.
                Some(include.join("default"))
                    .filter(|directory| directory.is_dir())
                    .into_iter()
                    .chain(own)
                    .collect()
            });
        self.compile(
            problem,
            program,
            include.unwrap_or_default(),
            &problem.constants,
        )
    }
}

/// Why a file was not made: a fault of its program, or an error that is not about the file.
enum MakeError {
    Fault(MakeFault),
    Other(SetterError),
}

impl MakeError {
    fn about(self, task: &Task<'_>) -> SetterError {
        let fault = match self {
            MakeError::Fault(fault) => fault,
            MakeError::Other(error) => return error,
        };
        let kind = if task.place == task.test.input {
            FileKind::Input
        } else {
            FileKind::Answer
        };
        let (test, by, seed) = (task.test.name.clone(), task.by.clone(), task.seed);
        ProgramFault::Make {
            test,
            kind,
            by,
            seed,
            fault,
        }
        .into()
    }
}

impl From<MakeFault> for MakeError {
    fn from(fault: MakeFault) -> MakeError {
        MakeError::Fault(fault)
    }
}

impl From<SetterError> for MakeError {
    fn from(error: SetterError) -> MakeError {
        MakeError::Other(error)
    }
}

/// The selected tests in the package's order.
fn chosen<'p>(problem: &'p Problem, names: &[String]) -> Result<Vec<&'p Test>, SetterError> {
    let selection = TestSelection::new(names)?;
    let known: Vec<&str> = problem.tests().map(|test| &*test.name).collect();
    if let Some(name) = selection.first_unmatched(&known) {
        let nearest = nearest(name, known.into_iter()).map(str::to_owned);
        return Err(RequestError::NoSuchTest {
            name: name.to_owned(),
            nearest,
        }
        .into());
    }
    Ok(problem
        .tests()
        .filter(|test| selection.contains(&test.name))
        .collect())
}

/// A generation, nearly as its author wrote it.
fn shown(problem: &Problem, generation: &Generation) -> String {
    let name = match &generation.generator {
        Generator::Program(program) => below(problem, &program.path),
        Generator::Shell(line) => format!("sh:{line}"),
        Generator::Text(_) => "generators.yaml".to_owned(),
        Generator::Copy(path) => format!("copy of {}", below(problem, path)),
    };
    std::iter::once(&name)
        .chain(&generation.arguments)
        .cloned()
        .collect::<Vec<_>>()
        .join(" ")
}

/// The position of the first difference of two files.
fn difference(one: &File, other: &File) -> std::io::Result<Option<u64>> {
    let mut buffers = [vec![0; 64 << 10], vec![0; 64 << 10]];
    let mut at = 0;
    loop {
        let [left, right] = &mut buffers;
        let (read, again) = (fill(one, left, at)?, fill(other, right, at)?);
        let same = left[..read]
            .iter()
            .zip(&right[..again])
            .take_while(|(a, b)| a == b)
            .count();
        if same < read.max(again) {
            return Ok(Some(at + same as u64));
        }
        if read == 0 {
            return Ok(None);
        }
        at += read as u64;
    }
}

fn fill(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], at + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
