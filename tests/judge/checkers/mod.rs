//! Checkers: the built-in ones and programs of a package, including hostile programs.

mod conventions;
mod hostile;
mod staging;

use crate::setting::{Data, limits, script, subject, supervisor};
use millibox::Supervisor;
use millibox_judge::batch::Worker;
use millibox_judge::checker::CheckerInstance;
use millibox_judge::checker::custom::OutputValidator;
use millibox_judge::verdict::{TestResult, Verdict};
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

fn assert_judge_error(result: &TestResult, reason: &str) {
    assert_eq!(result.verdict, Verdict::JudgeError, "{result:?}");
    assert!(
        result.reason.starts_with("checker: ") && result.reason.contains(reason),
        "{}",
        result.reason
    );
    // A judge error still reports how the submission's run ended.
    assert!(result.run.is_some());
}
