//! Compiles validators and the checker, and runs them on the tests.

use super::checktestdata;
use super::fault::{ACCEPTED_STATUS, CheckerFailure, Refusal, ValidationFault};
use super::report::{FoundFaults, Report};
use crate::error::{FileAction, MachineError, ProgramFault, file};
use crate::{Setter, SetterError, below};
use millibox_judge::batch::{Case, Worker};
use millibox_judge::checker::custom::{OutputValidator, checker_limits};
use millibox_judge::checker::{CheckResult, CheckerInstance};
use millibox_judge::failure::JudgeFailure;
use millibox_judge::tool::{ToolResult, ToolRun, memory_file};
use millibox_judge::verdict::Verdict;
use millibox_languages::program::{Executable, Limits};
use millibox_languages::staging::StagedDirectory;
use millibox_package::model::{Checker, Format, Kind, Program, Test};
use millibox_package::{Fault, Problem, Severity, ToolFault};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// The programs that examine each test: validators for its input, and the checker for its answer.
pub struct Tools<'a> {
    pub validators: Vec<(&'a Program, InputValidator)>,
    pub checker: Option<CheckerInstance>,
    limits: Limits,
}

/// An input validator, ready to run.
pub enum InputValidator {
    /// A program that runs in the sandbox.
    Executable(Box<Executable>),
    /// A program for an interpreter in this process. The interpreter bounds time and memory and
    /// opens no files.
    Checktestdata(millibox_checktestdata::Program),
}

impl Setter<'_> {
    /// Compiles the validators and the checker. Reports those that cannot be compiled as faults.
    pub(super) fn tools<'a>(
        &self,
        problem: &'a Problem,
        report: &mut Report,
    ) -> Result<Tools<'a>, SetterError> {
        let mut compile = |program: &Program| match self.compile(
            problem,
            program,
            Vec::new(),
            &problem.constants,
        ) {
            Ok(executable) => Ok(Some(executable)),
            Err(SetterError::Programs(faults)) => {
                for fault in faults {
                    // The report names the program as the fault's file.
                    let fault = match fault {
                        ProgramFault::Build { fault, .. } => ValidationFault::Build(fault),
                        other => ValidationFault::Program(other),
                    };
                    report.add(Severity::Error, &program.path, fault);
                }
                Ok(None)
            }
            Err(other) => Err(other),
        };
        let (mut validators, mut checktestdata_faults) = (Vec::new(), Vec::new());
        for program in &problem.input_validators {
            if program.is_checktestdata() {
                match checktestdata::parse(checktestdata::read(program)?, &problem.constants) {
                    Ok(parsed) => validators.push((program, InputValidator::Checktestdata(parsed))),
                    Err(fault) => checktestdata_faults.push((program, fault)),
                }
            } else if let Some(executable) = compile(program)? {
                validators.push((program, InputValidator::Executable(Box::new(executable))));
            }
        }
        // A grader needs the results of a submission, so this only checks that it can be compiled.
        if let Some(grader) = &problem.grader {
            compile(grader)?;
        }
        let checker = match &problem.checker {
            Checker::Tokens => Some(CheckerInstance::tokens(problem.format)),
            Checker::Lines => Some(CheckerInstance::Lines),
            Checker::Custom {
                program,
                convention,
            } => match compile(program)? {
                Some(executable) => {
                    let custom = OutputValidator::of_package(
                        self.supervisor,
                        executable,
                        *convention,
                        problem,
                    )
                    .map_err(|error| SetterError::from(MachineError::CheckerData(error)))?;
                    Some(CheckerInstance::Custom(Arc::new(custom)))
                }
                None => None,
            },
        };
        if problem.format != Format::Sim && problem.input_validators.is_empty() {
            let directory = problem.directory.join("input_validators");
            report.add(
                Severity::Warning,
                &directory,
                ValidationFault::NoInputValidator,
            );
        }
        for (program, fault) in checktestdata_faults {
            let (line, fault) = *fault;
            let fault = Fault::new(&program.path, Severity::Error, ToolFault::new(fault));
            report.faults.push(fault.at_line(line));
        }
        // An interactive problem has no output to check, and a multi-pass problem has several.
        let checker = checker.filter(|_| problem.kind == Kind::Batch);
        Ok(Tools {
            validators,
            checker,
            limits: checker_limits(&problem.limits),
        })
    }

    /// Runs the validators on all inputs, and the checker on all answers.
    pub(super) fn try_tests(
        &self,
        problem: &Problem,
        tests: &[&Test],
        tools: &Tools<'_>,
        report: &mut Report,
    ) -> Result<(), SetterError> {
        let all = self.parallel("inputs and answers", tests, |worker, test| {
            let mut faults = Vec::new();
            let tried = self
                .refusals(problem, test, tools, true)
                .map(|refusals| {
                    for (program, refusal) in refusals {
                        let program = below(problem, &program.path);
                        let fault = ValidationFault::InputRejected { program, refusal };
                        faults.push((Severity::Error, test.input.clone(), fault));
                    }
                })
                .and_then(|()| self.check_answer(worker, problem, test, tools, &mut faults));
            (String::new(), tried.map(|()| faults))
        });
        report.add_all(all)?;
        report.validations = tools.validators.len() * tests.len();
        report.answers = if tools.checker.is_some() {
            tests.len()
        } else {
            0
        };
        Ok(())
    }

    /// Returns the validators that reject a test's input, with their reasons. Unless `all` is set,
    /// stops at the first one.
    pub(super) fn refusals<'t>(
        &self,
        problem: &Problem,
        test: &Test,
        tools: &Tools<'t>,
        all: bool,
    ) -> Result<Vec<(&'t Program, Refusal)>, SetterError> {
        let ids = self.supervisor.info().ids();
        let files = test.files.as_deref().map(|files| {
            StagedDirectory::within(&problem.directory, files, ids)
                .map_err(|error| file(FileAction::Stage, files, error))
        });
        let files = files.transpose()?;
        let mut refusals = Vec::new();
        for (program, validator) in &tools.validators {
            let executable = match validator {
                InputValidator::Executable(executable) => executable,
                InputValidator::Checktestdata(parsed) => {
                    let refusal = checktestdata::check(parsed, &test.input)?;
                    refusals.extend(refusal.map(|refusal| (*program, refusal)));
                    if !all && !refusals.is_empty() {
                        break;
                    }
                    continue;
                }
            };
            let beside = |files: &StagedDirectory| {
                let placed = executable.beside(files.path(), ids);
                placed.map_err(JudgeFailure::TestFiles)
            };
            let with_files = files.as_ref().map(beside).transpose()?;
            let executable = with_files.as_ref().unwrap_or(executable);
            // In the ICPC format, the submission's arguments follow the validator's own.
            let flags = test.input_flags.of(program).iter().chain(&test.arguments);
            let done = self.validator(executable, flags, &test.input, tools)?;
            refusals.extend(refusal_of(done).map(|refusal| (*program, refusal)));
            if !all && !refusals.is_empty() {
                break;
            }
        }
        Ok(refusals)
    }

    fn validator<'f>(
        &self,
        executable: &Executable,
        flags: impl Iterator<Item = &'f String>,
        input: &Path,
        tools: &Tools<'_>,
    ) -> Result<ToolResult, SetterError> {
        let opened = File::open(input).map_err(|error| file(FileAction::Read, input, error))?;
        let arguments: Vec<_> = flags.map(Into::into).collect();
        Ok(self.run(&ToolRun {
            executable,
            world: &executable.world,
            arguments: &arguments,
            environment: &[],
            limits: &tools.limits,
            input: Some(&opened),
            output: &memory_file()?,
        })?)
    }

    /// Checks the judges' answer as if a submission had written it.
    fn check_answer(
        &self,
        worker: &mut Worker<'_>,
        problem: &Problem,
        test: &Test,
        tools: &Tools<'_>,
        faults: &mut FoundFaults,
    ) -> Result<(), SetterError> {
        let (Some(checker), Some(path)) = (&tools.checker, &test.answer) else {
            return Ok(());
        };
        match self.check(worker, problem, test, path, checker)? {
            Checked::Accepted => {}
            Checked::Failed(failure) => {
                let fault = ValidationFault::CheckerFailsOnAnswer(failure);
                faults.push((Severity::Error, path.clone(), fault));
            }
            Checked::Rejected { comment } => {
                let fault = ValidationFault::AnswerRejected { comment };
                // In the ICPC formats, the form of answers may differ from that of outputs.
                let own = matches!(problem.checker, Checker::Custom { .. })
                    && problem.format != Format::Sim;
                let severity = if own {
                    Severity::Warning
                } else {
                    Severity::Error
                };
                faults.push((severity, path.clone(), fault));
            }
        }
        Ok(())
    }

    /// Checks a file as if a submission had written it.
    pub(super) fn check(
        &self,
        worker: &mut Worker<'_>,
        problem: &Problem,
        test: &Test,
        path: &Path,
        checker: &CheckerInstance,
    ) -> Result<Checked, SetterError> {
        // A file that cannot be read is not a failure of the checker.
        File::open(path).map_err(|error| file(FileAction::Read, path, error))?;
        let case = Case::new(test, &problem.checker_flags);
        Ok(match checker.check_file(worker, &case, path) {
            Ok(CheckResult { answer, .. }) => match (answer.failure, answer.verdict) {
                (Some(failure), _) => Checked::Failed(CheckerFailure::Answer {
                    failure,
                    comment: answer.comment.trim().to_owned(),
                }),
                (None, Verdict::Accepted) => Checked::Accepted,
                (None, _) => Checked::Rejected {
                    comment: answer.comment.trim().to_owned(),
                },
            },
            Err(mut failure) => {
                failure.map_paths(|path| problem.shown(path));
                Checked::Failed(CheckerFailure::Judge(failure.into()))
            }
        })
    }
}

/// The checker's result on a file.
pub(super) enum Checked {
    Accepted,
    Rejected { comment: String },
    Failed(CheckerFailure),
}

/// Reads a validator's result. Returns `None` if the validator accepted the input.
fn refusal_of(result: ToolResult) -> Option<Refusal> {
    match (result.exit_code, result.failure) {
        (Some(ACCEPTED_STATUS), _) => None,
        (Some(_), Some(failure)) => Some(Refusal::Rejected(failure)),
        (None, Some(failure)) => Some(Refusal::Failed(failure)),
        (_, None) => Some(Refusal::ExitedWithZero),
    }
}
