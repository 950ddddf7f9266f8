//! Tests judged in parallel: one thread for each CPU of the judge, one test at a time on each.

use super::machine::{Machine, stay_on};
use super::prepare::{Prepared, Referee};
use crate::batch::{self, Case, JudgeFailure, Worker};
use crate::interactive;
use crate::program::{Executable, Limits};
use crate::staging::{private_directory, stage};
use crate::verdict::{TestResult, Verdict};
use millibox::Supervisor;
use millibox_package::model::Test;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A test that was judged.
#[derive(Debug, Clone)]
pub struct Judged {
    /// What came of it.
    pub result: TestResult,
    /// The limits that it was judged with.
    pub limits: Limits,
    /// The CPU that it ran on.
    pub cpu: usize,
}

/// Which tests are judged, as results come. Tests are known by their places in the problem.
pub(super) trait Plan: Send {
    /// Whether a test is to be judged, as far as is known now. Once none of the tests before it is
    /// open, the answer is final.
    fn needs(&self, test: usize) -> bool;
    /// A result of a test, in any order.
    fn take(&mut self, test: usize, result: &TestResult);
}

/// What is told of the tests, by any thread, one at a time.
pub(super) trait Told: Send {
    /// So many are judged, in whatever order.
    fn judged(&mut self, tests: usize);
    /// The next test in order: judged, or not needed.
    fn next(&mut self, test: usize, judged: Option<&Judged>);
}

/// Everything that is judged in one go.
pub(super) struct Round<'a, 'm> {
    pub machine: &'m Machine,
    pub prepared: &'a Prepared,
    pub executable: &'a Executable,
    pub limits: &'a [Limits],
    pub mode: interactive::Mode,
}

struct State<'s, P> {
    plan: &'s mut P,
    told: &'s mut dyn Told,
    /// Of each test: whether a thread has taken it, and what came of it.
    taken: Vec<bool>,
    judged: Vec<Option<Judged>>,
    done: usize,
    /// Tests before this one have been told.
    next: usize,
}

impl<P: Plan> State<'_, P> {
    /// A test for a thread that has none.
    fn take(&mut self) -> Option<usize> {
        let test = (0..self.taken.len()).find(|test| !self.taken[*test] && self.plan.needs(*test))?;
        self.taken[test] = true;
        Some(test)
    }

    fn add(&mut self, test: usize, judged: Judged) {
        self.plan.take(test, &judged.result);
        self.judged[test] = Some(judged);
        self.done += 1;
        self.told.judged(self.done);
        self.tell();
    }

    /// Tells of those tests of which all is known.
    fn tell(&mut self) {
        while self.next < self.judged.len() {
            let test = self.next;
            if !self.plan.needs(test) {
                // It may have been judged before that was known.
                self.judged[test] = None;
            } else if self.judged[test].is_none() {
                return;
            }
            self.told.next(test, self.judged[test].as_ref());
            self.next += 1;
        }
    }
}

impl<'m> Round<'_, 'm> {
    /// Judges the tests that the plan needs. What comes back is what one thread would have found: what
    /// was judged and turned out not to be needed is forgotten.
    pub fn judge(&self, plan: &mut impl Plan, told: &mut dyn Told) -> Vec<Option<Judged>> {
        let tests: Vec<&Test> = self.prepared.problem.tests().collect();
        let (taken, judged) = (vec![false; tests.len()], vec![None; tests.len()]);
        let state = Mutex::new(State { plan, told, taken, judged, done: 0, next: 0 });
        let workers = self.machine.cpus().len().min(tests.len());
        std::thread::scope(|scope| {
            for &cpu in &self.machine.cpus()[..workers] {
                let (state, tests) = (&state, &tests);
                scope.spawn(move || {
                    stay_on(cpu);
                    self.work(cpu, tests, state);
                });
            }
        });
        let mut state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.tell();
        state.judged
    }

    fn work<P: Plan>(&self, cpu: usize, tests: &[&Test], state: &Mutex<State<'_, P>>) {
        let mut worker: Option<(usize, Worker<'m>)> = None;
        while !self.machine.is_stopped()
            && let Some(test) = lock(state).take()
        {
            let result = self.machine.attempt(
                |result: &TestResult| result.verdict == Verdict::JudgeError,
                |generation, supervisor| {
                    if worker.as_ref().is_none_or(|(known, _)| *known != generation) {
                        worker = Some((generation, Worker::new(supervisor).cpus([cpu])));
                    }
                    match &mut worker {
                        Some((_, worker)) => self.one(worker, supervisor, test, tests[test]),
                        None => TestResult::judge_error("a thread of the judge has no place to work"),
                    }
                },
            );
            if !self.machine.is_stopped() {
                lock(state).add(test, Judged { result, limits: self.limits[test], cpu });
            }
        }
    }

    fn one(&self, worker: &mut Worker<'m>, supervisor: &Supervisor, number: usize, test: &Test) -> TestResult {
        let case = Case::new(test, &self.prepared.problem.checker_flags);
        let with_files;
        let executable = match &self.prepared.files[number] {
            None => self.executable,
            Some(files) => match beside(self.executable, files.path(), supervisor) {
                Ok(executable) => {
                    with_files = executable;
                    &with_files
                }
                Err(failure) => return TestResult::judge_error(failure.to_string()),
            },
        };
        let limits = &self.limits[number];
        match &self.prepared.referee {
            Referee::Checker(checker) => batch::judge(worker, executable, &case, limits, checker),
            Referee::Interactor(interactor) => {
                interactive::judge(worker, executable, &case, limits, interactor, self.mode)
            }
        }
    }
}

/// The program with a test's files in its working directory, beside its own.
fn beside(executable: &Executable, files: &Path, supervisor: &Supervisor) -> Result<Executable, JudgeFailure> {
    let ids = supervisor.ids();
    let failed = |error: std::io::Error| JudgeFailure::new("put a test's files beside the program", &error);
    let directory = private_directory(ids).map_err(failed)?;
    for source in [executable.files.path(), files] {
        let source = source.canonicalize().map_err(failed)?;
        stage(&source, &source, directory.path(), ids).map_err(failed)?;
    }
    let world = executable.world.clone().read_only(directory.path(), &executable.current_dir);
    Ok(Executable { world, files: Arc::new(directory), ..executable.clone() })
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
