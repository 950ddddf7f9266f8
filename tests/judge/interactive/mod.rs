//! Interactive problems: the program that ends first decides, on any machine and under any load.
//!
//! Solution and interactor are both the program `puppet`, which follows the script in its
//! arguments.

mod ends;
mod judging;
mod streams;

use crate::setting::Data;
use millibox::{Backend, BackendChoice, Supervisor, World};
use millibox_judge::batch::{Case, Trial, Worker};
use millibox_judge::checker::custom::OutputValidator;
use millibox_judge::convention::ValidatorFailure;
use millibox_judge::failure::JudgeFailure;
use millibox_judge::interactive::{Mode, judge};
use millibox_judge::result::{Reason, TestResult};
use millibox_judge::verdict::Verdict;
use millibox_judge::verdict::Verdict::{MemoryLimit, RunTimeError, TimeLimit};
use millibox_languages::program::{Executable, Limits};
use millibox_languages::staging::StagedDirectory;
use millibox_package::Cause;
use millibox_package::model::Convention;
use std::sync::Arc;
use std::time::Duration;

pub const BOTH: [Mode; 2] = [Mode::Direct, Mode::Relay];
/// A delay that is clearly longer than the time between two events that count as simultaneous.
const LATER: &str = "sleep:400";
/// More bytes than a pipe holds.
pub const FLOOD: &str = "pour:3000000";
/// Makes the interactor wait for the end of the solution.
pub const WAIT: &str = "read-to-end";

/// Returns the interactor's failure, which is the reason for a judge error.
#[track_caller]
fn interactor_failure(result: &TestResult) -> ValidatorFailure {
    match (result.verdict, &result.reason) {
        (Verdict::JudgeError, Some(Reason::Interactor(failure))) => (**failure).clone(),
        _ => panic!("{result:?}"),
    }
}

/// Returns the judge's failure, which is the reason for a judge error.
#[track_caller]
fn judge_failure(result: &TestResult) -> Cause<JudgeFailure> {
    match (result.verdict, &result.reason) {
        (Verdict::JudgeError, Some(Reason::Judge(failure))) => failure.clone(),
        _ => panic!("{result:?}"),
    }
}

/// A supervisor, the puppet program and the test data.
pub struct Table {
    supervisor: Supervisor,
    puppet: Arc<tempfile::TempDir>,
    data: Data,
}

impl Table {
    pub fn new() -> Table {
        Table::with_slots(2)
    }

    fn with_slots(slots: usize) -> Table {
        let start =
            |backend| millibox_tests::start(Supervisor::builder().backend(backend).slots(slots));
        let mut supervisor = start(BackendChoice::Auto);
        if supervisor.info().backend() == Backend::Rlimit {
            supervisor = start(BackendChoice::Rlimit);
        }
        let puppet = millibox_tests::directory();
        let copy = puppet.path().join("puppet");
        millibox_tests::copy_executable(millibox_tests::executable("puppet"), &copy);
        Table {
            supervisor,
            puppet: Arc::new(puppet),
            data: Data::new(
                "1
", "1
",
            ),
        }
    }

    fn has_cgroups(&self) -> bool {
        self.supervisor.info().backend() != Backend::Rlimit
    }

    fn executable(&self, part: &[&str]) -> Executable {
        Executable {
            world: World::minimal().read_only(self.puppet.path(), "/judge/puppet"),
            argv: ["/judge/puppet/puppet"]
                .iter()
                .chain(part)
                .chain(&["--"])
                .map(Into::into)
                .collect(),
            env: Vec::new(),
            current_dir: "/".into(),
            processes: 0,
            memory: 0,
            prepare: None,
            is_prepared: false,
            suite: "puppet".to_owned(),
            files: self.puppet.clone(),
        }
    }

    fn interactor(&self, convention: Convention, part: &[&str]) -> Arc<OutputValidator> {
        self.interactor_of(convention, self.executable(part))
    }

    fn interactor_of(
        &self,
        convention: Convention,
        executable: Executable,
    ) -> Arc<OutputValidator> {
        let data = StagedDirectory::new(self.data.path(), self.supervisor.info().ids()).unwrap();
        Arc::new(OutputValidator {
            executable,
            convention,
            data,
            limits: limits(),
        })
    }

    /// Judges the test; the interactor receives one flag.
    fn judge(
        &self,
        mode: Mode,
        limits: &Limits,
        solution: &Executable,
        interactor: &Arc<OutputValidator>,
    ) -> TestResult {
        let Data { input, answer, .. } = &self.data;
        let case = Case {
            input,
            answer: Some(answer),
            arguments: &[],
            flags: &["flag".to_owned()],
        };
        let trial = Trial {
            executable: solution,
            case,
            limits,
        };
        judge(&mut Worker::new(&self.supervisor), &trial, interactor, mode)
    }

    fn play(&self, mode: Mode, solution: &[&str], interactor: &[&str]) -> TestResult {
        self.play_within(mode, &limits(), solution, interactor)
    }

    pub fn play_within(
        &self,
        mode: Mode,
        limits: &Limits,
        solution: &[&str],
        interactor: &[&str],
    ) -> TestResult {
        self.judge(
            mode,
            limits,
            &self.executable(solution),
            &self.interactor(Convention::Icpc, interactor),
        )
    }

    fn expect(
        &self,
        modes: &[Mode],
        solution: &[&str],
        interactor: &[&str],
        verdict: Verdict,
    ) -> Vec<TestResult> {
        let results: Vec<TestResult> = std::thread::scope(|scope| {
            let play = |&mode| scope.spawn(move || self.play(mode, solution, interactor));
            let threads: Vec<_> = modes.iter().map(play).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        for (result, mode) in results.iter().zip(modes) {
            assert_eq!(
                result.verdict, verdict,
                "{mode:?}, solution {solution:?}, interactor {interactor:?}: {result:?}"
            );
        }
        results
    }
}

pub fn limits() -> Limits {
    Limits {
        cpu_time: Duration::from_millis(300),
        real_time: Duration::from_millis(2000),
        memory: 64 << 20,
        output: 10 << 20,
        processes: 1,
    }
}

/// Ways to fail, each with the verdict on a solution that fails in this way.
fn failures(table: &Table) -> Vec<(&'static str, Verdict)> {
    let mut all = vec![
        ("exit:3", RunTimeError),
        ("signal:11", RunTimeError),
        ("signal:9", RunTimeError),
        ("spin:100000", TimeLimit),
        ("sleep:100000", TimeLimit),
    ];
    if table.has_cgroups() {
        all.push(("eat:100", MemoryLimit));
    } else {
        millibox_tests::skip("memory limits of a tree need cgroups");
    }
    all
}

const PIPE_FLOOD: &str = "pour:40000";
