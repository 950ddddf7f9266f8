//! Compiles a package's programs and stages its data.
//!
//! This step finds all faults that make judging impossible, before any submission is judged.

use super::base::Judge;
use super::fault::{PackageError, PackageFault, PackageProblem, Role};
use super::limits;
use super::prepared::{PreparedProblem, Referee, TimeLimit};
use crate::checker::{CheckerInstance, tokens};
use crate::grader::Grader;
use crate::scoring::{Plan, PlanError};
use crate::validator::{OutputValidator, checker_limits, data_directory};
use millibox_languages::compile::{CompileError, Options as CompileOptions};
use millibox_languages::program::Executable;
use millibox_languages::staging::StagedDirectory;
use millibox_package::is_of_machine;
use millibox_package::model::{Checker, Convention, Group, Problem, Program, Test};
use std::path::Path;
use std::sync::Arc;

/// The faults that were found so far.
#[derive(Default)]
struct Faults(Vec<PackageFault>);

impl Faults {
    fn add(&mut self, path: &Path, problem: PackageProblem) {
        self.0.push(PackageFault::new(path, problem));
    }
}

impl Judge<'_> {
    /// Prepares everything except measured time limits.
    pub(super) fn prepare(&self, mut problem: Problem) -> Result<PreparedProblem, PackageError> {
        let mut faults = Faults::default();
        let place = problem.directory.clone();
        if let Some(pattern) = &self.options.tests {
            let tests = problem.tests().count();
            keep_tests(&mut problem.root, &|test| pattern.matches(&test.name));
            if problem.tests().next().is_none() {
                let pattern = pattern.clone();
                faults.add(&place, PackageProblem::NoMatchingTest { tests, pattern });
            }
        }
        let plan = match Plan::new(&problem) {
            Ok(plan) => Some(plan),
            // The fault of the pattern already explains this error.
            Err(PlanError::NoTests) if !faults.0.is_empty() => None,
            Err(error) => {
                faults.add(&place, error.into());
                None
            }
        };
        for test in problem.tests() {
            check_test(&problem, test, &mut faults);
        }
        let referee = self.referee(&problem, &mut faults);
        let grader = problem.grader.as_ref().and_then(|program| {
            let executable = self.own_program(&problem, program, Role::Grader, &mut faults)?;
            Some(Grader {
                executable,
                limits: checker_limits(&problem.limits),
            })
        });
        let files = problem
            .tests()
            .map(|test| self.files_of(&problem, test, &mut faults))
            .collect();
        match referee.zip(plan) {
            Some((referee, plan)) if faults.0.is_empty() => {
                let limits = problem
                    .tests()
                    .map(|test| limits::of_test(&problem, test, &self.options, None))
                    .collect();
                let time_limit = if self.options.time_limit.is_some() {
                    TimeLimit::Option
                } else {
                    TimeLimit::Package
                };
                Ok(PreparedProblem {
                    problem,
                    plan,
                    referee,
                    grader,
                    limits,
                    files,
                    time_limit,
                    warnings: Vec::new(),
                })
            }
            _ => Err(PackageError { faults: faults.0 }),
        }
    }

    fn referee(&self, problem: &Problem, faults: &mut Faults) -> Option<Referee> {
        let is_interactive = problem.kind.is_interactive();
        match &problem.checker {
            Checker::Custom {
                program,
                convention,
            } => {
                let custom = Arc::new(self.custom(problem, program, *convention, faults)?);
                Some(if is_interactive {
                    Referee::Interactor(custom)
                } else {
                    Referee::Checker(CheckerInstance::Custom(custom))
                })
            }
            _ if is_interactive => {
                faults.add(&problem.directory, PackageProblem::NoInteractor);
                None
            }
            Checker::Tokens => Some(Referee::Checker(CheckerInstance::tokens(problem.format))),
            Checker::Lines => Some(Referee::Checker(CheckerInstance::Lines)),
        }
    }

    /// The package's own checker or interactor.
    fn custom(
        &self,
        problem: &Problem,
        program: &Program,
        convention: Convention,
        faults: &mut Faults,
    ) -> Option<OutputValidator> {
        let role = if problem.kind.is_interactive() {
            Role::Interactor
        } else {
            Role::Checker
        };
        let executable = self.own_program(problem, program, role, faults)?;
        let supervisor = self.machine.supervisor();
        match OutputValidator::of_package(supervisor, executable, convention, problem) {
            Ok(custom) => Some(custom),
            Err(error) => {
                faults.add(&data_directory(problem), PackageProblem::Data(error));
                None
            }
        }
    }

    /// Compiles a checker, interactor or grader.
    fn own_program(
        &self,
        problem: &Problem,
        program: &Program,
        role: Role,
        faults: &mut Faults,
    ) -> Option<Executable> {
        let suite = match self
            .suites
            .for_sources(&program.sources, program.language.as_deref())
        {
            Ok(suite) => suite,
            Err(error) => {
                faults.add(&program.path, PackageProblem::Language { role, error });
                return None;
            }
        };
        let options = CompileOptions {
            headers_beside: true,
            root: Some(problem.directory.clone()),
            constants: problem.constants.clone(),
            ..CompileOptions::default()
        };
        let compilation = self.compile(suite, &program.sources, &options);
        match compilation.result {
            Ok(mut executable) => {
                executable
                    .argv
                    .extend(program.arguments.iter().map(Into::into));
                Some(executable)
            }
            Err(error) => {
                let fault = match error {
                    CompileError::Internal(_) | CompileError::Unavailable(_) => {
                        PackageProblem::NotCompiled { role, error }
                    }
                    error => PackageProblem::Rejected {
                        role,
                        error,
                        messages: compilation.messages,
                    },
                };
                faults.add(&program.path, fault);
                None
            }
        }
    }

    /// Returns the files that a test provides beside the program.
    fn files_of(
        &self,
        problem: &Problem,
        test: &Test,
        faults: &mut Faults,
    ) -> Option<StagedDirectory> {
        let files = test.files.as_ref()?;
        match StagedDirectory::within(
            &problem.directory,
            files,
            self.machine.supervisor().info().ids(),
        ) {
            Ok(staged) => Some(staged),
            Err(error) => {
                let test = test.name.clone();
                faults.add(files, PackageProblem::TestFiles { test, error });
                None
            }
        }
    }
}

/// Removes the tests that are not wanted.
fn keep_tests(group: &mut Group, is_wanted: &impl Fn(&Test) -> bool) {
    group.tests.retain(is_wanted);
    for group in &mut group.groups {
        keep_tests(group, is_wanted);
    }
}

/// Checks that a test has the files that judging needs.
fn check_test(problem: &Problem, test: &Test, faults: &mut Faults) {
    let name = || test.name.clone();
    // If the machine fails to find a file, it also fails to open it for a run.
    let is_missing = |path: &Path| match path.metadata() {
        Ok(metadata) => !metadata.is_file(),
        Err(error) => !is_of_machine(&error),
    };
    if is_missing(&test.input) {
        faults.add(&test.input, PackageProblem::NoInput { test: name() });
    }
    match &test.answer {
        Some(answer) if is_missing(answer) => {
            faults.add(answer, PackageProblem::NoAnswerFile { test: name() });
        }
        None if !problem.kind.is_interactive() => {
            faults.add(&test.input, PackageProblem::NoAnswer { test: name() });
        }
        _ => {}
    }
    // The package reader checks the flags where it finds them, but a problem may also come from
    // another source.
    let flags = test
        .checker_flags
        .as_ref()
        .unwrap_or(&problem.checker_flags);
    if let Checker::Tokens = problem.checker
        && let Err(error) = tokens::Options::parse(flags)
    {
        faults.add(
            &test.input,
            PackageProblem::Flags {
                test: name(),
                error,
            },
        );
    }
}
