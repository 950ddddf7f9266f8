//! Judges one test, depending on the kind of the problem.

use super::super::prepared::{PreparedProblem, Referee};
use crate::batch::{self, Case, Trial, Worker};
use crate::failure::{JudgeFailure, RunFault};
use crate::feedback::Feedback;
use crate::interactive::{self, Mode};
use crate::passes;
use crate::result::{Reason, TestResult};
use crate::verdict::Verdict;
use millibox::{Outcome, RunResult, Step as RunStep};
use millibox_languages::compile::Toolbox;
use millibox_languages::program::{Executable, Limits};
use millibox_package::model::{Kind, Test};

/// Judges the tests of one problem.
pub(super) struct TestRunner<'a> {
    pub prepared: &'a PreparedProblem,
    /// The limits of each test.
    pub limits: &'a [Limits],
    pub mode: Mode,
}

impl TestRunner<'_> {
    /// Judges a submission on the test with this number.
    pub fn judge(
        &self,
        worker: &mut Worker<'_>,
        toolbox: &Toolbox<'_>,
        executable: &Executable,
        number: usize,
        test: &Test,
    ) -> TestResult {
        let case = Case::new(test, &self.prepared.problem.checker_flags);
        let with_files;
        let executable = match &self.prepared.files[number] {
            None => executable,
            Some(files) => match executable.beside(files.path(), worker.supervisor.info().ids()) {
                Ok(executable) => {
                    with_files = executable;
                    &with_files
                }
                Err(error) => {
                    return worker.judge_error(JudgeFailure::TestFiles(error));
                }
            },
        };
        let trial = Trial {
            executable,
            case,
            limits: &self.limits[number],
        };
        let pass = |worker: &mut Worker<'_>, trial: &Trial<'_>, feedback: Option<&Feedback>| {
            let result = match &self.prepared.referee {
                Referee::Checker(checker) => batch::judge_pass(worker, trial, checker, feedback),
                Referee::Interactor(interactor) => {
                    interactive::judge_pass(worker, trial, interactor, self.mode, feedback)
                }
            };
            if is_exec_refused(&result) && is_machine_fit(worker, toolbox, trial) {
                broken(result)
            } else {
                result
            }
        };
        match self.prepared.problem.kind {
            Kind::MultiPass { passes, .. } => {
                passes::judge(worker, &trial, passes, |worker, trial, feedback| {
                    pass(worker, trial, Some(feedback))
                })
            }
            Kind::Batch | Kind::Interactive => pass(worker, &trial, None),
        }
    }
}

/// Whether the kernel refused to execute the submission. This is a judge error at first.
fn is_exec_refused(result: &TestResult) -> bool {
    let outcome = result.run.as_ref().map(|run| &run.outcome);
    matches!(outcome, Some(Outcome::NotStarted(error)) if error.step == RunStep::Exec)
}

/// Whether a program in the same language that is known to work runs in place of the submission.
///
/// The errno does not show whether the submission or the machine is at fault. ENOENT may mean that
/// the submission names an interpreter that does not exist, or that the machine lacks a C library.
/// EACCES may mean that an interpreter has no x permission, or that the directory for temporary
/// files is on a noexec mount.
fn is_machine_fit(worker: &Worker<'_>, toolbox: &Toolbox<'_>, trial: &Trial<'_>) -> bool {
    let suite = toolbox.suites().named(&trial.executable.suite);
    suite.is_ok_and(|suite| {
        toolbox.starts_example(suite, trial.limits, &trial.arguments(), &worker.cpus)
    })
}

/// Returns a run-time error as the result of a submission that cannot be executed through its own
/// fault.
fn broken(result: TestResult) -> TestResult {
    let ended = |run: &RunResult| Reason::Run(RunFault::Ended(Box::new(run.clone())));
    TestResult {
        verdict: Verdict::RunTimeError,
        reason: result.run.as_ref().map(ended),
        comment: String::new(),
        score: None,
        ..result
    }
}
