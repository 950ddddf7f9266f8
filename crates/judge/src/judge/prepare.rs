//! A package made ready: its programs compiled, its data where the sandbox can read it, its limits
//! known.
//!
//! Whatever makes judging impossible is found here, all of it at once, before any submission is
//! judged.

use super::{Judge, limits};
use crate::checker::{CheckerInstance, tokens};
use crate::compile::{CompileError, Options as CompileOptions};
use crate::grader::Grader;
use crate::program::{Executable, Limits};
use crate::scoring::{Plan, PlanError};
use crate::staging::Staged;
use crate::validator::{OutputValidator, checker_limits, data_directory};
use millibox_package::model::{Checker, Convention, Group, Problem, Program, Test};
use millibox_package::{Fault, Severity};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A problem that submissions can be judged on.
#[derive(Debug)]
pub struct Prepared {
    pub(super) problem: Problem,
    pub(super) plan: Plan,
    pub(super) referee: Referee,
    /// Makes results of groups, if any asks for one of the package's own.
    pub(super) grader: Option<Grader>,
    /// Of each test, in the order in which they are judged.
    pub(super) limits: Vec<Limits>,
    pub(super) files: Vec<Option<Staged>>,
    pub(super) time_limit: TimeLimit,
    pub(super) warnings: Vec<Fault>,
}

/// Who says what an output is worth.
#[derive(Debug)]
pub(super) enum Referee {
    Checker(CheckerInstance),
    Interactor(Arc<OutputValidator>),
}

/// Where the time limits of a problem come from.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeLimit {
    /// The caller's options.
    Option,
    /// The package.
    Package,
    /// Measured: this says how.
    Measured(String),
}

/// Why a package cannot be judged: everything that is in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unjudgeable {
    /// What is wrong, and where.
    pub faults: Vec<Fault>,
    /// What compilers said of the package's programs.
    pub messages: Vec<(PathBuf, String)>,
}

impl fmt::Display for Unjudgeable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            write!(f, "{}{fault}", if index > 0 { "\n" } else { "" })?;
            for line in self
                .messages
                .iter()
                .filter(|(path, _)| *path == fault.path)
                .flat_map(|(_, said)| said.lines())
            {
                write!(f, "\n    {line}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Unjudgeable {}

impl Unjudgeable {
    pub(super) fn new() -> Unjudgeable {
        Unjudgeable {
            faults: Vec::new(),
            messages: Vec::new(),
        }
    }

    pub(super) fn error(&mut self, path: &Path, message: impl Into<String>) {
        self.faults
            .push(fault(path, Severity::Error, message.into()));
    }
}

pub(super) fn fault(path: &Path, severity: Severity, message: String) -> Fault {
    Fault {
        path: path.to_owned(),
        line: None,
        column: None,
        severity,
        message,
        bound: None,
    }
}

impl Prepared {
    /// The problem, with those of its tests that are judged.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// How its tests make verdict and points.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Limits of each test, in the order of [`Problem::tests`].
    pub fn limits(&self) -> &[Limits] {
        &self.limits
    }

    /// Where the time limits come from.
    pub fn time_limit(&self) -> &TimeLimit {
        &self.time_limit
    }

    /// What the package's author may want to know: what was found in reading it, and since.
    pub fn warnings(&self) -> impl Iterator<Item = &Fault> {
        self.problem.warnings.iter().chain(&self.warnings)
    }
}

impl Judge<'_> {
    /// All but the time limits, which need measuring if nobody states them.
    pub(super) fn prepare(&self, mut problem: Problem) -> Result<Prepared, Unjudgeable> {
        let mut wrong = Unjudgeable::new();
        let place = problem.directory.clone();
        if let Some(pattern) = &self.options.tests {
            let all = problem.tests().count();
            choose(&mut problem.root, &|test| pattern.matches(&test.name));
            if problem.tests().next().is_none() {
                wrong.error(
                    &place,
                    format!("none of its {all} tests is called like {pattern}"),
                );
            }
        }
        let plan = match Plan::new(&problem) {
            Ok(plan) => Some(plan),
            // That nothing was chosen has been said.
            Err(PlanError::NoTests) if !wrong.faults.is_empty() => None,
            Err(refusal) => {
                wrong.error(&place, refusal.to_string());
                None
            }
        };
        for test in problem.tests() {
            check_test(&problem, test, &mut wrong);
        }
        let referee = self.referee(&problem, &mut wrong);
        let grader = problem.grader.as_ref().and_then(|program| {
            let executable = self.own_program(&problem, program, "grader", &mut wrong)?;
            Some(Grader {
                executable,
                limits: checker_limits(&problem.limits),
            })
        });
        let files = problem
            .tests()
            .map(|test| self.files_of(&problem, test, &mut wrong))
            .collect();
        match referee.zip(plan) {
            Some((referee, plan)) if wrong.faults.is_empty() => {
                let limits = problem
                    .tests()
                    .map(|test| limits::of_test(&problem, test, &self.options, None))
                    .collect();
                let time_limit = if self.options.time_limit.is_some() {
                    TimeLimit::Option
                } else {
                    TimeLimit::Package
                };
                Ok(Prepared {
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
            _ => Err(wrong),
        }
    }

    fn referee(&self, problem: &Problem, wrong: &mut Unjudgeable) -> Option<Referee> {
        let interactive = problem.kind.is_interactive();
        match &problem.checker {
            Checker::Custom {
                program,
                convention,
            } => {
                let custom = Arc::new(self.custom(problem, program, *convention, wrong)?);
                Some(match interactive {
                    true => Referee::Interactor(custom),
                    false => Referee::Checker(CheckerInstance::Custom(custom)),
                })
            }
            _ if interactive => {
                wrong.error(
                    &problem.directory,
                    "an interactive problem needs a program that talks to submissions",
                );
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
        wrong: &mut Unjudgeable,
    ) -> Option<OutputValidator> {
        let what = if problem.kind.is_interactive() {
            "interactor"
        } else {
            "checker"
        };
        let executable = self.own_program(problem, program, what, wrong)?;
        match OutputValidator::of_package(
            self.machine.supervisor(),
            executable,
            convention,
            problem,
        ) {
            Ok(custom) => Some(custom),
            Err(error) => {
                wrong.error(
                    &data_directory(problem),
                    format!("the sandbox cannot be shown this: {error}"),
                );
                None
            }
        }
    }

    /// A program of the package that judges, compiled.
    fn own_program(
        &self,
        problem: &Problem,
        program: &Program,
        what: &str,
        wrong: &mut Unjudgeable,
    ) -> Option<Executable> {
        let suite = match self
            .suites()
            .for_sources(&program.sources, program.language.as_deref())
        {
            Ok(suite) => suite,
            Err(error) => {
                wrong.error(
                    &program.path,
                    format!("this is the {what}, and its language is not known: {error}"),
                );
                return None;
            }
        };
        let root = Some(problem.directory.clone());
        let constants = problem.constants.clone();
        let options = CompileOptions {
            headers_beside: true,
            root,
            constants,
            ..CompileOptions::default()
        };
        let compilation = self.compile(suite, &program.sources, &options);
        let mut executable = match compilation.result {
            Ok(executable) => executable,
            Err(CompileError::Judge(why) | CompileError::Unavailable(why)) => {
                wrong.error(
                    &program.path,
                    format!("the {what} could not be compiled: {why}"),
                );
                return None;
            }
            Err(error) => {
                wrong.error(
                    &program.path,
                    format!("the {what} cannot be compiled: {error}"),
                );
                wrong
                    .messages
                    .push((program.path.clone(), compilation.messages));
                return None;
            }
        };
        executable
            .argv
            .extend(program.arguments.iter().map(Into::into));
        Some(executable)
    }

    fn files_of(&self, problem: &Problem, test: &Test, wrong: &mut Unjudgeable) -> Option<Staged> {
        let files = test.files.as_ref()?;
        match Staged::within(
            &problem.directory,
            files,
            self.machine.supervisor().info().ids(),
        ) {
            Ok(staged) => Some(staged),
            Err(error) => {
                wrong.error(
                    files,
                    format!(
                        "the sandbox cannot be shown the files of test {}: {error}",
                        test.name
                    ),
                );
                None
            }
        }
    }
}

/// Keeps the tests that are wanted.
fn choose(group: &mut Group, wanted: &impl Fn(&Test) -> bool) {
    group.tests.retain(wanted);
    for group in &mut group.groups {
        choose(group, wanted);
    }
}

/// That a test has what judging needs.
fn check_test(problem: &Problem, test: &Test, wrong: &mut Unjudgeable) {
    let made = "`millibox problem gen` makes it if the package says how";
    let missing = |path: &Path| !path.is_file();
    if missing(&test.input) {
        wrong.error(
            &test.input,
            format!("the input of test {} is not there; {made}", test.name),
        );
    }
    match &test.answer {
        Some(answer) if missing(answer) => {
            wrong.error(
                answer,
                format!("the answer of test {} is not there; {made}", test.name),
            );
        }
        None if !problem.kind.is_interactive() => {
            wrong.error(
                &test.input,
                format!("test {} has no answer to compare with; {made}", test.name),
            );
        }
        _ => {}
    }
    // Of a package that was read this has been told, where the flags stand.
    if let Checker::Tokens = problem.checker
        && let Err(why) = tokens::Options::parse(
            test.checker_flags
                .as_ref()
                .unwrap_or(&problem.checker_flags),
        )
    {
        wrong.error(
            &test.input,
            format!("flags of the default checker for test {}: {why}", test.name),
        );
    }
}
