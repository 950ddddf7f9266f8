//! Tests judged in parallel: one thread for each CPU of the judge, one test at a time on each.

use super::machine::{Machine, stay_on};
use super::prepare::{Prepared, Referee};
use crate::batch::{self, Case, JudgeFailure, Worker};
use crate::interactive;
use crate::program::{Executable, Limits};
use crate::scoring::{Judged, Progress};
use crate::staging::{private_directory, stage};
use crate::verdict::{TestResult, Verdict};
use millibox::Supervisor;
use millibox_package::model::Test;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is told of tests, by any thread, one at a time.
pub(super) trait Told: Send {
    /// So many have been judged, in whatever order.
    fn judged(&mut self, tests: usize);
    /// All is known of the next test in order.
    fn settled(&mut self, test: usize, progress: &Progress<'_>);
}

/// Everything that is judged in one go.
pub(super) struct Round<'a, 'm> {
    pub machine: &'m Machine,
    pub prepared: &'a Prepared,
    pub executable: &'a Executable,
    /// Of each test.
    pub limits: &'a [Limits],
    pub mode: interactive::Mode,
}

struct State<'s, 'p> {
    progress: &'s mut Progress<'p>,
    told: &'s mut dyn Told,
    /// Tests that have been judged.
    judged: usize,
    /// Tests that have been told of.
    settled: usize,
}

impl State<'_, '_> {
    fn record(&mut self, test: usize, judged: Judged) {
        self.progress.record(test, judged);
        self.judged += 1;
        self.told.judged(self.judged);
        self.tell();
    }

    fn tell(&mut self) {
        for test in self.settled..self.progress.settled() {
            self.told.settled(test, self.progress);
        }
        self.settled = self.progress.settled();
    }
}

impl<'m> Round<'_, 'm> {
    /// Judges the tests that are needed.
    pub fn judge(&self, progress: &mut Progress<'_>, told: &mut dyn Told) {
        let tests: Vec<&Test> = self.prepared.problem.tests().collect();
        let state = Mutex::new(State { progress, told, judged: 0, settled: 0 });
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
    }

    fn work(&self, cpu: usize, tests: &[&Test], state: &Mutex<State<'_, '_>>) {
        let mut worker: Option<(usize, Worker<'m>)> = None;
        while !self.machine.is_stopped()
            && let Some(test) = next(state)
        {
            let result = self.machine.attempt(
                |result: &TestResult| result.verdict == Verdict::JudgeError,
                |generation, supervisor| {
                    let (_, worker) = match worker.take() {
                        Some(known) if known.0 == generation => worker.insert(known),
                        // Files of a dead supervisor's runs are gone with its worker.
                        _ => worker.insert((generation, Worker::new(supervisor).cpus([cpu]))),
                    };
                    self.one(worker, supervisor, test, tests[test])
                },
            );
            // What ends because all is to end is no result.
            if !self.machine.is_stopped() {
                lock(state).record(test, Judged { result, limits: self.limits[test], cpus: vec![cpu] });
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

fn next(state: &Mutex<State<'_, '_>>) -> Option<usize> {
    lock(state).progress.next_test()
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
