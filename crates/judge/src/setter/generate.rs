//! Inputs from generators, answers from the model solution.
//!
//! All that is made waits beside the package's files until all of it is there and sound; then it is
//! put in place, all or nothing. What was made of the same things before is not made again. What a
//! person wrote is never replaced: a file that is there, and is not as the record says it was made.

use super::record::{Digest, Made, Record, content};
use super::replace::Replacement;
use super::work::{Job, PATIENT, all};
use super::{Asked, Setter, Trouble, below, unfinished};
use crate::batch::Worker;
use crate::program::{Executable, Limits};
use crate::report::counted;
use crate::staging::Staged;
use crate::suite::nearest;
use millibox::World;
use millibox_package::model::{Generation, Generator, Kind, Program, Test};
use millibox_package::{Constants, Fault, Problem, Severity};
use rustix::fs::{MemfdFlags, memfd_create};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the package is shown to lines for the shell.
const PACKAGE: &str = "/package";
/// Where those find programs.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What is to be made.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Names of tests, of directories of them, or patterns; none: all.
    pub tests: Vec<String>,
    /// Also what is there already, made of the same things.
    pub all: bool,
    /// Everything is made twice, what is there already, too, and must come out the same.
    pub check: bool,
}

impl Options {
    fn makes_all(&self) -> bool {
        self.all || self.check
    }
}

/// What was made.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Files, in the order of their tests: inputs, then answers.
    pub made: Vec<MadeFile>,
    /// Files that were there already, made of the same things.
    pub current: usize,
    /// What in the package its author may not have meant, and files that stay since a person wrote them.
    #[serde(skip)]
    pub warnings: Vec<Fault>,
}

/// A file that was made.
#[derive(Debug, Clone, Serialize)]
pub struct MadeFile {
    /// Path below the package.
    pub path: String,
    /// Name of its test.
    pub test: String,
    /// Who made it: generator and arguments, or the model solution.
    pub by: String,
    /// The seed that the generator was given.
    pub seed: Option<u64>,
    /// Its length.
    pub bytes: u64,
    /// Whether there was no such file, or one with other content.
    pub changed: bool,
}

/// A file to be made.
struct Task<'p> {
    test: &'p Test,
    /// Where it belongs, and where it is made.
    place: PathBuf,
    new: PathBuf,
    /// Digest of what it is made of.
    of: String,
    source: Source<'p>,
    by: String,
    seed: Option<u64>,
    /// An answer that a person wrote elsewhere.
    written: bool,
}

/// A file that was made, and that nobody's own is in the way of.
struct Ready<'p> {
    task: Task<'p>,
    digest: String,
    bytes: u64,
    /// Whether there was no such file, or one with other content.
    changed: bool,
}

/// What is being made: what there is, and where new files wait.
struct Making<'p> {
    problem: &'p Problem,
    /// The tests that are wanted.
    tests: Vec<&'p Test>,
    options: &'p Options,
    /// Before the record, whose directory it lies in and which removes that if nothing came of it.
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
        /// What its world shows beside its own files.
        _shown: Option<Arc<Staged>>,
    },
    Answer {
        executable: Executable,
        input: PathBuf,
    },
}

impl Setter<'_> {
    /// Makes inputs and answers.
    ///
    /// Inputs are made of tests that a Sipfile's `gen` or generators/generators.yaml names; answers of
    /// these, and of other tests that have none or one that the model solution made here and that is as it
    /// was made. Files that a person wrote or changed stay, and are warned of if something else would be made.
    ///
    /// # Errors
    /// The package cannot be read, a program fails or (if that is checked) does not do twice the same, or
    /// a file cannot be written. All files are then as before.
    pub fn generate(&self, package: &Path, options: &Options) -> Result<Report, Trouble> {
        let problem = unfinished(package)?;
        let tests = chosen(&problem, &options.tests)?;
        let record = Record::open(&problem.directory)?;
        let replacement = Replacement::begin(record.directory.join("new"))?;
        let report = Report { warnings: problem.warnings.clone(), ..Report::default() };
        let mut making = Making { problem: &problem, tests, options, record, replacement, report };

        let inputs = self.inputs(&mut making)?;
        let inputs = self.make("inputs", &mut making, inputs)?;
        // An input that stays is what its answer is made of.
        let new_inputs: BTreeMap<&str, (&Path, &str)> =
            inputs.iter().map(|ready| (&*ready.task.test.name, (&*ready.task.new, &*ready.digest))).collect();
        let answers = self.answers(&mut making, &new_inputs)?;
        let answers = self.make("answers", &mut making, answers)?;

        let Making { mut record, mut replacement, mut report, .. } = making;
        let mut content = record.content().clone();
        for Ready { task, digest, bytes, changed } in inputs.iter().chain(&answers) {
            let (path, bytes, changed) = (below(&problem, &task.place), *bytes, *changed);
            if changed {
                replacement.add(task.new.clone(), task.place.clone());
            }
            let made = Made { of: task.of.clone(), content: digest.clone(), written: task.written };
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
        content.directories.extend(replacement.missing().iter().map(|directory| below(&problem, directory)));
        let new = replacement.path();
        let place = record.write(content, &new)?;
        replacement.add(new, place);
        replacement.commit()?;
        Ok(report)
    }

    fn inputs<'p>(&self, making: &mut Making<'p>) -> Result<Vec<Task<'p>>, Trouble> {
        let Making { problem, tests, options, record, replacement, report } = making;
        let mut tasks = Vec::new();
        let mut programs: BTreeMap<&Path, Result<Executable, Vec<String>>> = BTreeMap::new();
        let mut shell = None;
        for test in tests {
            let Some(generation) = problem.generators.iter().find(|generation| generation.test == test.name) else {
                continue;
            };
            let of = self.digest(problem, generation)?;
            // What a line for the shell reads, nobody knows.
            let known = !matches!(generation.generator, Generator::Shell(_));
            let there = content(&test.input)?;
            if known && !options.makes_all() && record.is_current(&below(problem, &test.input), &of, there.as_deref()) {
                report.current += 1;
                continue;
            }
            let environment =
                vec![("SIP_TEST_NAME", test.name.clone()), ("SIP_TEST_SEED", generation.seed.to_string())];
            let arguments: Vec<OsString> = generation.arguments.iter().map(OsString::from).collect();
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
                    Source::Run { executable, arguments, environment, _shown: Some(staged) }
                }
                Generator::Program(program) => {
                    let executable = match programs.get(&*program.path) {
                        Some(executable) => executable,
                        None => {
                            let compiled = match self.compile(problem, program, Vec::new(), &Constants::default()) {
                                Err(Trouble::Programs(messages)) => Err(messages),
                                compiled => Ok(compiled?),
                            };
                            programs.entry(&program.path).or_insert(compiled)
                        }
                    };
                    let Ok(executable) = executable else { continue };
                    Source::Run { executable: executable.clone(), arguments, environment, _shown: None }
                }
            };
            let seed = matches!(source, Source::Run { .. }).then_some(generation.seed);
            let by = shown(problem, generation);
            let (place, new) = (test.input.clone(), replacement.path());
            tasks.push(Task { test, place, new, of, source, by, seed, written: false });
        }
        let failures: Vec<String> = programs.into_values().filter_map(Result::err).flatten().collect();
        if failures.is_empty() { Ok(tasks) } else { Err(Trouble::Programs(failures)) }
    }

    fn answers<'p>(
        &self,
        making: &mut Making<'p>,
        new_inputs: &BTreeMap<&str, (&Path, &str)>,
    ) -> Result<Vec<Task<'p>>, Trouble> {
        let Making { problem, tests, options, record, replacement, report } = making;
        let mut tasks = Vec::new();
        let mut model = None;
        let mut wrong = Vec::new();
        for test in tests {
            let Some(answer) = &test.answer else { continue };
            let path = below(problem, answer);
            let there = content(answer)?;
            let generation = problem.generators.iter().find(|generation| generation.test == test.name);
            let written = generation.and_then(|generation| generation.answer.as_ref());
            // A test that generators.yaml no longer names keeps the answer that stood there.
            let made = record.content().files.get(&path).filter(|made| generation.is_some() || !made.written);
            let ours = made.is_some_and(|made| Some(&made.content) == there.as_ref());
            let of = Digest::new("answer");
            let (of, source, by) = match written {
                Some(Generator::Text(text)) => (of.with(text), Source::Text(text), "generators.yaml".to_owned()),
                Some(Generator::Copy(from)) => {
                    let of = of.with(content(from)?.unwrap_or_default());
                    (of, Source::Copy(from), format!("copy of {}", below(problem, from)))
                }
                _ if problem.kind != Kind::Batch => {
                    if there.is_some() && !ours {
                        continue;
                    }
                    // The format wants a file; what the interactor needs to know stands in the input.
                    (of, Source::Text(""), "no answer".to_owned())
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
                        wrong.push(format!("test {}: there is no input {}", test.name, below(problem, &input)));
                        continue;
                    };
                    if test.files.is_some() {
                        wrong
                            .push(format!("test {}: answers of tests with files of their own are not made", test.name));
                        continue;
                    }
                    let (name, of_model, executable) = match &model {
                        Some(model) => model,
                        None => model.insert(self.model(problem)?),
                    };
                    let of = of.with(digest).with(of_model).with(test.arguments.join("\0"));
                    let source = Source::Answer { executable: executable.clone(), input };
                    (of, source, format!("model solution {name}"))
                }
            };
            let of = of.done();
            if !options.makes_all() && record.is_current(&path, &of, there.as_deref()) {
                report.current += 1;
                continue;
            }
            let (place, new, written) = (answer.clone(), replacement.path(), written.is_some());
            tasks.push(Task { test, place, new, of, source, by, seed: None, written });
        }
        if wrong.is_empty() { Ok(tasks) } else { Err(Trouble::Programs(wrong)) }
    }

    /// Makes all of them; those that have their places. Who wrote a file that is there is told that it stays.
    fn make<'p>(&self, what: &str, making: &mut Making<'p>, tasks: Vec<Task<'p>>) -> Result<Vec<Ready<'p>>, Trouble> {
        if tasks.is_empty() {
            return Ok(Vec::new());
        }
        let (problem, options) = (making.problem, making.options);
        let made = all(self.parallel(what, &tasks, |_: &mut Worker<'_>, task| {
            let made = self.make_one(problem, task, options.check).map_err(|trouble| match trouble {
                Trouble::Programs(why) => {
                    let seed = task.seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
                    let what = if task.place == task.test.input { "input" } else { "answer" };
                    let about = format!("test {}: its {what}, by {}{seed}", task.test.name, task.by);
                    Trouble::Programs(why.into_iter().map(|why| format!("{about}: {why}")).collect())
                }
                other => other,
            });
            let line = match &made {
                Ok((_, bytes)) => format!("{}: {}, {}", below(problem, &task.place), counted(*bytes, "byte"), task.by),
                Err(_) => format!("{}: failed", below(problem, &task.place)),
            };
            (line, made)
        }))?;
        let mut ready = Vec::new();
        for (task, (digest, bytes)) in tasks.into_iter().zip(made) {
            let there = content(&task.place)?;
            let changed = there.as_ref() != Some(&digest);
            let made = making.record.content().files.get(&below(problem, &task.place));
            if changed && there.is_some() && made.map(|made| &made.content) != there.as_ref() {
                let message = format!(
                    "stays: it is not as it was made here, so somebody wrote it; remove it to have it made anew ({})",
                    task.by
                );
                let (path, severity) = (task.place, Severity::Warning);
                making.report.warnings.push(Fault { path, line: None, column: None, severity, message, bound: None });
                continue;
            }
            ready.push(Ready { task, digest, bytes, changed });
        }
        Ok(ready)
    }

    fn make_one(&self, problem: &Problem, task: &Task<'_>, check: bool) -> Result<(String, u64), Trouble> {
        let failed = |error: &dyn std::fmt::Display| Trouble::file("write", &task.place, error);
        match &task.source {
            Source::Text(text) => std::fs::write(&task.new, text).map_err(|error| failed(&error))?,
            Source::Copy(from) => {
                let mut from = File::open(from).map_err(|error| Trouble::file("read", from, &error))?;
                let mut to = File::create(&task.new).map_err(|error| failed(&error))?;
                std::io::copy(&mut from, &mut to).map_err(|error| failed(&error))?;
            }
            Source::Run { .. } | Source::Answer { .. } => {
                let file = File::options().read(true).write(true).create_new(true).open(&task.new);
                let file = file.map_err(|error| failed(&error))?;
                self.write(problem, task, &file)?;
                if check {
                    let flags = MemfdFlags::CLOEXEC;
                    let again = memfd_create("millibox-again", flags)
                        .map_err(|errno| Trouble::Machine(format!("cannot make a file in memory: {errno}")))?;
                    let again = File::from(again);
                    self.write(problem, task, &again)?;
                    if let Some(at) = difference(&file, &again).map_err(|error| failed(&error))? {
                        return Err(Trouble::Programs(vec![format!(
                            "is not the same a second time, from byte {} on; make it depend on nothing but arguments, \
                             seed and input",
                            at + 1
                        )]));
                    }
                }
            }
        }
        let bytes = task.new.metadata().map_err(|error| failed(&error))?.len();
        if bytes == 0 && matches!(task.source, Source::Run { .. }) {
            return Err(Trouble::Programs(vec!["wrote nothing to its standard output".to_owned()]));
        }
        let digest = content(&task.new)?.ok_or_else(|| failed(&"it is gone"))?;
        Ok((digest, bytes))
    }

    /// Runs who makes the file.
    fn write(&self, problem: &Problem, task: &Task<'_>, output: &File) -> Result<(), Trouble> {
        let done = match &task.source {
            Source::Run { executable, arguments, environment, .. } => self.run(&Job {
                executable,
                world: &executable.world,
                arguments,
                environment,
                limits: &PATIENT,
                input: None,
                output,
            })?,
            Source::Answer { executable, input } => {
                let memory = task.test.memory.or(problem.limits.memory).unwrap_or(PATIENT.memory);
                let arguments: Vec<OsString> = task.test.arguments.iter().map(OsString::from).collect();
                self.run(&Job {
                    executable,
                    world: &executable.world,
                    arguments: &arguments,
                    environment: &[],
                    limits: &Limits { memory, ..PATIENT },
                    input: Some(&File::open(input).map_err(|error| Trouble::file("read", input, &error))?),
                    output,
                })?
            }
            Source::Text(_) | Source::Copy(_) => return Ok(()),
        };
        done.failure.map_or(Ok(()), |why| Err(Trouble::Programs(vec![why])))
    }

    /// Name of the model solution, digest of it, and it.
    pub(super) fn model(&self, problem: &Problem) -> Result<(String, String, Executable), Trouble> {
        let Some(model) = problem.model_solution() else {
            return Err(Trouble::Programs(vec![
                "there is no model solution to make answers; the first submission that must be accepted is it"
                    .to_owned(),
            ]));
        };
        let executable = self.compile_submission(problem, &model.program)?;
        let mut digest =
            Digest::new("model").with_program(&model.program, self.toolbox.suites(), &problem.directory)?;
        if problem.constants != Constants::default() {
            digest = digest.with(format!("{:?}", problem.constants));
        }
        Ok((model.name.clone(), digest.done(), executable))
    }

    /// Digest of all that an input is made of.
    fn digest(&self, problem: &Problem, generation: &Generation) -> Result<String, Trouble> {
        let digest = Digest::new("input").with(&generation.test).with(generation.seed.to_le_bytes());
        let digest = digest.with(generation.arguments.join("\0"));
        let digest = match &generation.generator {
            Generator::Program(program) => {
                digest.with("program").with_program(program, self.toolbox.suites(), &problem.directory)?
            }
            Generator::Shell(line) => digest.with("shell").with(line),
            Generator::Text(text) => digest.with("text").with(text),
            Generator::Copy(path) => digest.with("copy").with(content(path)?.unwrap_or_default()),
        };
        Ok(digest.with(format!("{:?}", problem.format)).done())
    }

    /// `sh -c`, to which the line is to be added, in the package's directory; and what keeps that.
    fn shell(&self, problem: &Problem) -> Result<(Executable, Arc<Staged>), Trouble> {
        let machine = |error: std::io::Error| Trouble::Machine(format!("a generator for the shell: {error}"));
        let staged = Staged::new(&problem.directory, self.supervisor.ids()).map_err(machine)?;
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

    fn compile_submission(&self, problem: &Problem, program: &Program) -> Result<Executable, Trouble> {
        let suite = self.toolbox.suites().for_sources(&program.sources, program.language.as_deref());
        let include = problem.include.as_ref().zip(suite.ok()).map(|(include, suite)| {
            let own = [&suite.name, &suite.language].map(|name| include.join(name));
            let own = own.into_iter().find(|directory| directory.is_dir());
            // The language's come later, in place of those for all languages.
            Some(include.join("default")).filter(|directory| directory.is_dir()).into_iter().chain(own).collect()
        });
        self.compile(problem, program, include.unwrap_or_default(), &problem.constants)
    }
}

/// The tests that are meant, in the package's order; none named: all.
fn chosen<'p>(problem: &'p Problem, names: &[String]) -> Result<Vec<&'p Test>, Trouble> {
    let asked = Asked::of(names)?;
    let known: Vec<&str> = problem.tests().map(|test| &*test.name).collect();
    if let Some(name) = asked.vain(&known) {
        let meant = nearest(name, known.into_iter()).map(|near| format!("; did you mean {near:?}?"));
        return Err(Trouble::Asked(format!("there is no test {name:?}{}", meant.unwrap_or_default())));
    }
    Ok(problem.tests().filter(|test| asked.has(&test.name)).collect())
}

/// The generation as its author wrote it, more or less.
fn shown(problem: &Problem, generation: &Generation) -> String {
    let name = match &generation.generator {
        Generator::Program(program) => below(problem, &program.path),
        Generator::Shell(line) => format!("sh:{line}"),
        Generator::Text(_) => "generators.yaml".to_owned(),
        Generator::Copy(path) => format!("copy of {}", below(problem, path)),
    };
    std::iter::once(&name).chain(&generation.arguments).cloned().collect::<Vec<_>>().join(" ")
}

/// Where two files begin to differ.
fn difference(one: &File, other: &File) -> std::io::Result<Option<u64>> {
    let mut buffers = [vec![0; 64 << 10], vec![0; 64 << 10]];
    let mut at = 0;
    loop {
        let [mine, others] = &mut buffers;
        let (read, again) = (fill(one, mine, at)?, fill(other, others, at)?);
        let same = mine[..read].iter().zip(&others[..again]).take_while(|(a, b)| a == b).count();
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
