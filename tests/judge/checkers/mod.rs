//! Checkers: the built-in ones and programs of a package, including hostile programs.

mod conventions;
mod hostile;
mod staging;

use crate::setting::{Data, limits, script, subject, supervisor};
use millibox::{Outcome, Supervisor};
use millibox_judge::batch::Worker;
use millibox_judge::checker::CheckerInstance;
use millibox_judge::checker::custom::OutputValidator;
use millibox_judge::convention::{AnswerFault, Limit, ValidatorFailure};
use millibox_judge::result::{Reason, TestResult};
use millibox_judge::verdict::Verdict;
use millibox_languages::program::Executable;
use millibox_package::model::{self, Convention};
use std::sync::Arc;

/// Judges a submission that answers "42\n" to "6 7\n" with a custom checker. The judges' answer is
/// "42\n" as well.
struct Scene<'a> {
    worker: Worker<'a>,
    data: Data,
    checker: CheckerInstance,
}

impl<'a> Scene<'a> {
    fn new(
        supervisor: &'a Supervisor,
        executable: Executable,
        convention: Convention,
    ) -> Scene<'a> {
        Scene::limited(
            supervisor,
            executable,
            convention,
            &model::Limits::default(),
        )
    }

    fn limited(
        supervisor: &'a Supervisor,
        executable: Executable,
        convention: Convention,
        limits: &model::Limits,
    ) -> Scene<'a> {
        let data = Data::new("6 7\n", "42\n");
        let custom = OutputValidator::new(supervisor, executable, convention, data.path(), limits)
            .expect("a checker");
        let checker = CheckerInstance::Custom(Arc::new(custom));
        Scene {
            worker: Worker::new(supervisor),
            data,
            checker,
        }
    }

    fn judge(&mut self, flags: &[&str]) -> TestResult {
        let arguments = ["open", "/absent", "/judge/data/1.ans", "/judge/test/output"];
        self.data.judge(
            &mut self.worker,
            &subject(),
            &arguments,
            &limits(),
            &self.checker,
            flags,
        )
    }
}

fn icpc(text: &str) -> TestResult {
    let supervisor = supervisor();
    let mut scene = Scene::new(&supervisor, script(text), Convention::Icpc);
    scene.judge(&[])
}

/// Returns the checker's failure, which is the reason for a judge error.
#[track_caller]
fn failure(result: &TestResult) -> ValidatorFailure {
    // A judge error still reports how the submission's run ended.
    assert!(result.run.is_some());
    match (result.verdict, &result.reason) {
        (Verdict::JudgeError, Some(Reason::Checker(failure))) => (**failure).clone(),
        _ => panic!("{result:?}"),
    }
}

/// Asserts that this fault of the checker is the reason for a judge error.
#[track_caller]
fn assert_judge_error(result: &TestResult, fault: impl Into<AnswerFault>) {
    assert_eq!(failure(result).fault, fault.into(), "{result:?}");
}

/// Asserts that the checker's run ended in this way, without an answer.
#[track_caller]
fn assert_checker_ended(result: &TestResult, is_expected: impl Fn(&Outcome) -> bool) {
    let fault = failure(result).fault;
    assert!(
        matches!(&fault, AnswerFault::Ended(run) if is_expected(&run.outcome)),
        "{fault:?}"
    );
}

/// Asserts that the checker reached a limit, which a key in problem.yaml raises.
#[track_caller]
fn assert_checker_limited(
    result: &TestResult,
    outcome: Outcome,
    limit: Limit,
    key: Option<&'static str>,
) {
    match failure(result).fault {
        AnswerFault::LimitReached {
            run,
            limit: reached,
            key: named,
        } => assert_eq!((run.outcome, reached, named), (outcome, limit, key)),
        fault => panic!("{fault:?}"),
    }
}
