//! The work that is left, the results so far, and their order for the observer.

use super::retry::RunLock;
use crate::failure::JudgeFailure;
use crate::report::{CompilationReport, SubmissionInfo};
use crate::scoring::{Grade, Grading, JudgedTest, Progress};
use millibox_languages::compile::{Compilation, CompileError};
use millibox_languages::program::Executable;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Receives the steps of judging, from any thread, but only one step at a time. The steps of one
/// submission are consecutive.
pub trait PoolObserver: Send {
    /// The compilation has ended. The steps that follow belong to this submission.
    fn begun(&mut self, about: &SubmissionInfo);
    /// The number of tests that have results. Tests may end in any order.
    fn judged(&mut self, tests: usize);
    /// More tests are settled.
    fn settled(&mut self, progress: &Progress<'_>);
    /// The result is final, or judging was interrupted.
    fn ended(&mut self, entry: &Entry<'_>);
}

/// A submission with its results so far.
pub struct Entry<'a> {
    pub about: SubmissionInfo,
    /// The reason if the submission could not be compiled.
    pub error: Option<CompileError>,
    pub progress: Progress<'a>,
    stage: Stage,
    /// Number of tests with results.
    judged: usize,
}

enum Stage {
    Waiting,
    Compiling,
    Runnable(Arc<Executable>),
    /// The result is final, or the submission has no program to run.
    Over,
}

/// Work for one thread. The first number identifies the submission.
pub(super) enum Task {
    Compile(usize),
    /// A test, identified by its number.
    Test(usize, usize, Arc<Executable>),
    /// The result of a group, from the package's own grader.
    Grade(usize, Grading),
}

/// The state that a [`Queue`] protects.
pub(super) struct State<'a, 't> {
    entries: Vec<Entry<'a>>,
    /// The observer knows the results of all submissions before this one.
    first: usize,
    /// The number of settled tests of `first` that the observer knows. `None` means that the
    /// observer does not know of this submission yet.
    reported_to: Option<usize>,
    /// Whether a thread has panicked. The other threads must not wait for its task.
    is_broken: bool,
    observer: &'t mut dyn PoolObserver,
}

/// The submissions of a pool, shared by its threads.
pub(super) struct Queue<'a, 't> {
    state: Mutex<State<'a, 't>>,
    changed: Condvar,
    /// Maximum number of submissions that are compiled or judged at the same time.
    window: usize,
    /// A thread holds this lock during every run and every compilation.
    pub lock: RunLock,
}

impl<'a, 't> Queue<'a, 't> {
    pub fn new(
        entries: Vec<Entry<'a>>,
        window: usize,
        observer: &'t mut dyn PoolObserver,
    ) -> Queue<'a, 't> {
        Queue {
            state: Mutex::new(State {
                entries,
                first: 0,
                reported_to: None,
                is_broken: false,
                observer,
            }),
            changed: Condvar::new(),
            window,
            lock: RunLock::default(),
        }
    }

    /// Returns a task for an idle thread. Waits while other threads may still add tasks. `None`
    /// means that no more tasks will follow.
    pub fn next_task(&self, is_stopped: impl Fn() -> bool) -> Option<Task> {
        let mut state = self.lock_state();
        loop {
            if state.is_broken || is_stopped() {
                return None;
            }
            let end = state.entries.len().min(state.first + self.window);
            if let Some(task) =
                (state.first..end).find_map(|number| state.entries[number].take(number))
            {
                return Some(task);
            }
            // The end of a compilation adds tasks, and so does the end of the first submission.
            let is_compiling = |entry: &Entry<'_>| matches!(entry.stage, Stage::Compiling);
            if end == state.entries.len() && !state.entries.iter().any(is_compiling) {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Changes the state and wakes all waiting threads.
    pub fn change(&self, change: impl FnOnce(&mut State<'a, 't>)) {
        change(&mut self.lock_state());
        self.changed.notify_all();
    }

    /// Returns all submissions after the threads have ended. If judging was interrupted, the
    /// function first ends the submission that the observer knows of.
    pub fn into_entries(self) -> Vec<Entry<'a>> {
        let mut state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if state.reported_to.take().is_some() {
            state.observer.ended(&state.entries[state.first]);
        }
        state.entries
    }

    fn lock_state(&self) -> MutexGuard<'_, State<'a, 't>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the other threads if its thread panics.
pub(super) struct PanicGuard<'s, 'a, 't>(pub &'s Queue<'a, 't>);

impl Drop for PanicGuard<'_, '_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.change(|state| state.is_broken = true);
        }
    }
}

impl<'a> Entry<'a> {
    pub(super) fn new(about: SubmissionInfo, progress: Progress<'a>) -> Entry<'a> {
        Entry {
            about,
            error: None,
            progress,
            stage: Stage::Waiting,
            judged: 0,
        }
    }

    fn take(&mut self, number: usize) -> Option<Task> {
        match &self.stage {
            Stage::Waiting => {
                self.stage = Stage::Compiling;
                Some(Task::Compile(number))
            }
            Stage::Runnable(executable) => {
                // Grading comes first, because later groups wait for it.
                if let Some(grading) = self.progress.next_grading() {
                    return Some(Task::Grade(number, grading));
                }
                let test = self.progress.next_test()?;
                Some(Task::Test(number, test, executable.clone()))
            }
            Stage::Compiling | Stage::Over => None,
        }
    }
}

impl State<'_, '_> {
    /// Records the end of a compilation. `None` means that it was interrupted.
    pub fn compiled(&mut self, number: usize, compilation: Option<Compilation>) {
        let entry = &mut self.entries[number];
        entry.stage = Stage::Over;
        if let Some(Compilation {
            messages,
            from_cache,
            figures,
            result,
            ..
        }) = compilation
        {
            // The figures of an earlier compilation do not belong in this report.
            let figures = figures.filter(|_| !from_cache);
            entry.about.compilation = Some(CompilationReport {
                messages,
                from_cache,
                figures,
            });
            match result {
                Ok(executable) => entry.stage = Stage::Runnable(Arc::new(executable)),
                Err(error) => entry.error = Some(error),
            }
            self.report();
        }
    }

    /// Records the result of a test. `None` means that the test was interrupted.
    pub fn judged(&mut self, number: usize, test: usize, judged: Option<JudgedTest>) {
        let Some(judged) = judged else { return };
        let entry = &mut self.entries[number];
        entry.progress.record(test, judged);
        entry.judged += 1;
        self.advance(number);
    }

    /// Records a grader's answer. `None` means that the grader was interrupted.
    pub fn graded(
        &mut self,
        number: usize,
        group: usize,
        graded: Option<Result<Grade, JudgeFailure>>,
    ) {
        let Some(graded) = graded else { return };
        self.entries[number].progress.grade(group, graded);
        self.advance(number);
    }

    fn advance(&mut self, number: usize) {
        let entry = &mut self.entries[number];
        if entry.progress.is_finished() {
            // This drops the program's files after the last run.
            entry.stage = Stage::Over;
        }
        self.report();
    }

    /// Reports to the observer what is known of the first submission that is not final, and of the
    /// submissions after it.
    fn report(&mut self) {
        while let Some(entry) = self.entries.get(self.first) {
            if matches!(entry.stage, Stage::Waiting | Stage::Compiling) {
                return;
            }
            if self.reported_to.is_none() {
                self.observer.begun(&entry.about);
            }
            self.observer.judged(entry.judged);
            let settled = entry.progress.settled();
            if self.reported_to.unwrap_or(0) < settled {
                self.observer.settled(&entry.progress);
            }
            if entry.error.is_none() && !entry.progress.is_finished() {
                self.reported_to = Some(settled);
                return;
            }
            self.observer.ended(entry);
            self.reported_to = None;
            self.first += 1;
        }
    }
}
