//! Determines which inputs and answers to generate, and from which sources.

use super::workspace::{Source, Task, Workspace};
use crate::error::{FileFault, MachineError, ProgramFault};
use crate::record::{Digest, content};
use crate::{Setter, SetterError, below};
use millibox::World;
use millibox_languages::program::Executable;
use millibox_languages::staging::StagedDirectory;
use millibox_package::model::{Generation, Generator, Kind, Program};
use millibox_package::{Constants, Problem};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// Path of the package's directory in the world of a shell generator.
const PACKAGE: &str = "/package";
/// Search path of a shell generator.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

impl Setter<'_> {
    /// Returns the inputs to generate.
    pub(super) fn inputs<'p>(
        &self,
        workspace: &mut Workspace<'p>,
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
            // It is not known which files a shell generator reads.
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

    /// Returns the answers to generate. `new_inputs` contains the paths and digests of inputs that
    /// were just generated.
    pub(super) fn answers<'p>(
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
            // A test that generators.yaml no longer names keeps the answer that came from that
            // file.
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
                    // The format requires an answer file. The input contains everything that the
                    // interactor needs.
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

    /// Returns the model solution: its name, the digest of its sources, and the program.
    fn model(&self, problem: &Problem) -> Result<(String, String, Executable), SetterError> {
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

    /// Returns the digest of all sources of an input.
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

    /// Returns the program `sh -c` in the package's directory, without the command line to execute,
    /// and the staged package.
    fn shell(&self, problem: &Problem) -> Result<(Executable, Arc<StagedDirectory>), SetterError> {
        let failed = |fault: FileFault| SetterError::from(MachineError::Shell(fault));
        let staged = StagedDirectory::new(&problem.directory, self.supervisor.info().ids())
            .map_err(|error| failed(error.into()))?;
        let files =
            millibox_package::temporary::directory().map_err(|error| failed(error.into()))?;
        let executable = Executable {
            world: World::minimal().read_only(staged.path(), PACKAGE),
            argv: ["/bin/sh", "-c"].map(OsString::from).to_vec(),
            env: vec![("PATH".into(), SEARCH_PATH.into())],
            current_dir: PACKAGE.into(),
            processes: 0,
            memory: 0,
            prepare: None,
            is_prepared: false,
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
                // The language's own files come later and override those for all languages.
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

/// Formats a generation in the notation of the package.
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
