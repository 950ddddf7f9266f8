//! Submissions judged in parallel: a thread for each CPU of the judge, which compiles or runs one
//! thing at a time there.
//!
//! Threads take what comes first: the next test of the first submission that has one that is
//! needed, or, if it has none, of the one after it, which was compiled meanwhile. So all CPUs have
//! work, also when a submission has but one test, or ends with its first. What is told is told in
//! order, as if there were one thread.

use super::Judge;
use super::machine::stay_on;
use super::prepare::{Prepared, Referee};
use super::pressure;
use crate::batch::{self, Case, Trial, Worker};
use crate::compile::{Compilation, CompileError, Toolbox};
use crate::failure::JudgeFailure;
use crate::feedback::Feedback;
use crate::interactive;
use crate::passes;
use crate::program::{Executable, Limits};
use crate::report::{CompilationReport, SubmissionInfo};
use crate::scoring::{Grade, Grading, JudgedTest, Progress};
use crate::verdict::{TestResult, Verdict};
use millibox::{Outcome, RunResult, Step};
use millibox_package::model::{Kind, Submission, Test};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::thread::Builder;
use std::time::Duration;

/// What is told, by any thread, one at a time: of one submission after the other.
pub(super) trait Told: Send {
    /// Its compilation is over; what follows is of this submission until it has ended.
    fn begun(&mut self, about: &SubmissionInfo);
    /// So many of its tests have been judged, in whatever order.
    fn judged(&mut self, tests: usize);
    /// Of more of its tests, all is known.
    fn settled(&mut self, progress: &Progress<'_>);
    /// All is known.
    fn ended(&mut self, entry: &Entry<'_>);
}

/// What is to be judged.
pub(super) struct Pool<'a, 'm> {
    pub judge: &'a Judge<'m>,
    pub prepared: &'a Prepared,
    /// Of each test.
    pub limits: &'a [Limits],
    pub fail_fast: bool,
    pub submissions: &'a [&'a Submission],
}

/// A submission on its way.
pub(super) struct Entry<'a> {
    pub about: SubmissionInfo,
    /// Why there is no program.
    pub error: Option<CompileError>,
    pub progress: Progress<'a>,
    stage: Stage,
    judged: usize,
}

enum Stage {
    Waiting,
    Compiling,
    Runnable(Arc<Executable>),
    /// All is known of it, or there is no program.
    Over,
}

enum Task {
    Compile(usize),
    Test(usize, usize, Arc<Executable>),
    /// A group's result, by the package's grader.
    Grade(usize, Grading),
}

struct State<'a, 't> {
    entries: Vec<Entry<'a>>,
    /// All before this one have been told to the end.
    first: usize,
    /// The first was begun to be told, with tests up to this one.
    told_to: Option<usize>,
    /// A thread has failed; the others must not wait for what it had taken.
    broken: bool,
    told: &'t mut dyn Told,
}

struct Shared<'a, 't> {
    state: Mutex<State<'a, 't>>,
    changed: Condvar,
    /// Submissions that are under way at a time.
    window: usize,
    /// Held by all that run something, or by one that is to run alone.
    alone: RwLock<()>,
}

impl<'a> Pool<'a, '_> {
    /// Judges them all, or, if the machine is stopped, as far as that goes.
    pub fn judge(&self, told: &mut dyn Told) -> Vec<Entry<'a>> {
        let cpus = self.judge.machine.cpus();
        let shared = Shared {
            state: Mutex::new(State {
                entries: self
                    .submissions
                    .iter()
                    .map(|submission| self.entry(submission))
                    .collect(),
                first: 0,
                told_to: None,
                broken: false,
                told,
            }),
            changed: Condvar::new(),
            window: cpus.len() + 1,
            alone: RwLock::new(()),
        };
        std::thread::scope(|scope| {
            let start = |&cpu: &usize| {
                let shared = &shared;
                let work = move || {
                    stay_on(cpu);
                    let _alarm = Alarm(shared);
                    self.work(cpu, shared);
                };
                Builder::new().spawn_scoped(scope, work).is_ok()
            };
            // Where there are no more threads to be had (ulimit -u, pids.max), fewer do the same;
            // if there is none, we.
            let started = cpus.iter().take_while(|cpu| start(cpu)).count();
            if let (0, Some(&cpu)) = (started, cpus.first()) {
                self.work(cpu, &shared);
            }
        });
        let mut state = shared
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        // If it was interrupted, what was begun to be told is ended.
        if state.told_to.take().is_some() {
            state.told.ended(&state.entries[state.first]);
        }
        state.entries
    }

    fn entry(&self, submission: &Submission) -> Entry<'a> {
        let progress = Progress::new(&self.prepared.plan);
        let suite = self
            .judge
            .suite_of(submission)
            .ok()
            .map(|suite| suite.name.clone());
        Entry {
            about: SubmissionInfo {
                suite,
                ..SubmissionInfo::from(submission)
            },
            error: None,
            progress: if self.fail_fast {
                progress.fail_fast()
            } else {
                progress
            },
            stage: Stage::Waiting,
            judged: 0,
        }
    }

    fn work(&self, cpu: usize, shared: &Shared<'_, '_>) {
        let machine = self.judge.machine;
        let tests: Vec<&Test> = self.prepared.problem.tests().collect();
        let mut worker: Option<(usize, Worker<'_>)> = None;
        while let Some(task) = shared.task(|| machine.is_stopped()) {
            match task {
                Task::Compile(number) => {
                    let _not_alone = beside_others(&shared.alone);
                    let compilation = self.judge.compile_submission(
                        &self.prepared.problem,
                        self.submissions[number],
                        vec![cpu],
                    );
                    // What ends because all is to end says nothing.
                    let compilation = Some(compilation).filter(|_| !machine.is_stopped());
                    shared.change(|state| state.compiled(number, compilation));
                }
                Task::Test(number, test, executable) => {
                    let mut once = || {
                        machine.attempt(
                            |result: &TestResult| result.verdict == Verdict::JudgeError,
                            |generation, supervisor| {
                                let (_, worker) = match worker.take() {
                                    Some(known) if known.0 == generation => worker.insert(known),
                                    _ => worker
                                        .insert((generation, Worker::new(supervisor).cpus([cpu]))),
                                };
                                let toolbox = self.judge.toolbox(generation, supervisor);
                                self.test(worker, toolbox, &executable, test, tests[test])
                            },
                        )
                    };
                    let once = || pressure::during(&mut once);
                    let mut result = fairly(
                        &shared.alone,
                        &self.limits[test],
                        || machine.is_stopped(),
                        once,
                    );
                    if result.verdict == Verdict::JudgeError {
                        result.reason = self.prepared.problem.shown_in(result.reason);
                    }
                    let limits = self.limits[test];
                    let enforced_memory = executable.memory_limit(&limits);
                    let judged = JudgedTest {
                        result,
                        limits,
                        enforced_memory,
                        cpus: vec![cpu],
                    };
                    let judged = Some(judged).filter(|_| !machine.is_stopped());
                    shared.change(|state| state.judged(number, test, judged));
                }
                Task::Grade(number, grading) => {
                    let _not_alone = beside_others(&shared.alone);
                    let graded = machine.attempt(Result::is_err, |_, supervisor| {
                        match &self.prepared.grader {
                            Some(grader) => grader
                                .grade(supervisor, &[cpu], &grading)
                                .map_err(|failure| failure.to_string()),
                            None => Err("there is none".to_owned()),
                        }
                    });
                    // Who waits for a change is told, also that there is nothing more to come.
                    let graded = Some(graded).filter(|_| !machine.is_stopped());
                    shared.change(|state| {
                        if let Some(graded) = graded {
                            state.graded(number, grading.group, graded);
                        }
                    });
                }
            }
        }
    }

    fn test(
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
                    return TestResult::judge_error(
                        JudgeFailure::step(crate::failure::Step::PlaceTestFiles, error).to_string(),
                    );
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
                Referee::Interactor(interactor) => interactive::judge_pass(
                    worker,
                    trial,
                    interactor,
                    self.judge.options.mode,
                    feedback,
                ),
            };
            if cannot_be_executed(&result) && is_machine_fit(worker, toolbox, trial) {
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

/// Whether the kernel has refused to execute the submission. What came of that is a judge error so
/// far.
fn cannot_be_executed(result: &TestResult) -> bool {
    let outcome = result.run.as_ref().map(|run| &run.outcome);
    matches!(outcome, Some(Outcome::NotStarted(error)) if error.step == Step::Exec)
}

/// Whether a program of the same language that is known to be good can be executed in the
/// submission's place. The errno does not tell: ENOENT may be an interpreter that the submission
/// made up, or a C library that the machine lacks; EACCES an interpreter without x permission, or a
/// directory for temporary files on a noexec mount.
fn is_machine_fit(worker: &Worker<'_>, toolbox: &Toolbox<'_>, trial: &Trial<'_>) -> bool {
    let suite = toolbox.suites().named(&trial.executable.suite);
    suite.is_ok_and(|suite| {
        toolbox.starts_example(suite, trial.limits, &trial.arguments(), &worker.cpus)
    })
}

/// The result of a submission that is itself the reason why it cannot be executed.
fn broken(result: TestResult) -> TestResult {
    let reason = result
        .run
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    TestResult {
        verdict: Verdict::RunTimeError,
        reason,
        comment: String::new(),
        score: None,
        ..result
    }
}

impl<'a, 't> Shared<'a, 't> {
    /// Something to do for a thread that has nothing, waited for if there may be more later; none:
    /// all is taken, or all is to end.
    fn task(&self, is_stopped: impl Fn() -> bool) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if state.broken || is_stopped() {
                return None;
            }
            let end = state.entries.len().min(state.first + self.window);
            if let Some(task) =
                (state.first..end).find_map(|number| state.entries[number].take(number))
            {
                return Some(task);
            }
            // More to do comes of what is compiled now, and of the end of the first.
            let more = |entry: &Entry<'_>| matches!(entry.stage, Stage::Compiling);
            if end == state.entries.len() && !state.entries.iter().any(more) {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn change(&self, change: impl FnOnce(&mut State<'a, 't>)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<'a, 't>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Judges a test `once`, and once more, alone, if its real-time limit ended it on a machine that
/// had too few CPUs: it may not have slept but waited. What comes of that counts. `once` says of
/// the machine what [`pressure::during`] does.
fn fairly(
    alone: &RwLock<()>,
    limits: &Limits,
    is_stopped: impl Fn() -> bool,
    mut once: impl FnMut() -> (TestResult, Option<f64>),
) -> TestResult {
    let (first, overload) = {
        let _not_alone = beside_others(alone);
        once()
    };
    if !is_ended_by_real_time(&first, limits) || overload.is_none() || is_stopped() {
        return first;
    }
    // While this is held, no other thread runs anything.
    let _alone = alone.write().unwrap_or_else(PoisonError::into_inner);
    let (mut again, overload) = once();
    if is_ended_by_real_time(&again, limits)
        && let Some(part) = overload
    {
        again.comment = format!(
            "twice, and the machine was overloaded: something waited for a CPU in {:.0} % of that \
             time",
            part * 100.0
        );
    }
    again
}

/// While this is held, nothing is run alone.
fn beside_others(alone: &RwLock<()>) -> RwLockReadGuard<'_, ()> {
    alone.read().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a submission had CPU time left when its time was over.
fn is_ended_by_real_time(result: &TestResult, limits: &Limits) -> bool {
    let has_time_left = |run: &RunResult| {
        let used = run
            .figures
            .cpu_user_ns
            .saturating_add(run.figures.cpu_system_ns);
        run.outcome != Outcome::CpuTimeLimit && Duration::from_nanos(used) <= limits.cpu_time
    };
    result.verdict == Verdict::TimeLimit && result.run.as_ref().is_some_and(has_time_left)
}

/// Wakes the others if its thread panics.
struct Alarm<'s, 'a, 't>(&'s Shared<'a, 't>);

impl Drop for Alarm<'_, '_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.change(|state| state.broken = true);
        }
    }
}

impl Entry<'_> {
    fn take(&mut self, number: usize) -> Option<Task> {
        match &self.stage {
            Stage::Waiting => {
                self.stage = Stage::Compiling;
                Some(Task::Compile(number))
            }
            Stage::Runnable(executable) => {
                // First, for what comes after it waits.
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
    /// `None`: it was interrupted.
    fn compiled(&mut self, number: usize, compilation: Option<Compilation>) {
        let entry = &mut self.entries[number];
        entry.stage = Stage::Over;
        if let Some(Compilation {
            messages,
            from_cache,
            figures,
            result,
        }) = compilation
        {
            // Those of a compiler that ran another time are nothing to this report.
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
            self.tell();
        }
    }

    fn judged(&mut self, number: usize, test: usize, judged: Option<JudgedTest>) {
        let Some(judged) = judged else { return };
        let entry = &mut self.entries[number];
        entry.progress.record(test, judged);
        entry.judged += 1;
        self.known_more(number);
    }

    fn graded(&mut self, number: usize, group: usize, graded: Result<Grade, String>) {
        self.entries[number].progress.grade(group, graded);
        self.known_more(number);
    }

    fn known_more(&mut self, number: usize) {
        let entry = &mut self.entries[number];
        if entry.progress.is_finished() {
            // Its files go with the last run of it.
            entry.stage = Stage::Over;
        }
        self.tell();
    }

    /// Tells what is known by now of the first that was not told to the end, and of those after it.
    fn tell(&mut self) {
        while let Some(entry) = self.entries.get(self.first) {
            if matches!(entry.stage, Stage::Waiting | Stage::Compiling) {
                return;
            }
            if self.told_to.is_none() {
                self.told.begun(&entry.about);
            }
            self.told.judged(entry.judged);
            let settled = entry.progress.settled();
            if self.told_to.unwrap_or(0) < settled {
                self.told.settled(&entry.progress);
            }
            if entry.error.is_none() && !entry.progress.is_finished() {
                self.told_to = Some(settled);
                return;
            }
            self.told.ended(entry);
            self.told_to = None;
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millibox::{Backend, Figures};
    use std::cell::Cell;

    const LIMITS: Limits = Limits {
        cpu_time: Duration::from_secs(1),
        real_time: Duration::from_secs(5),
        memory: 1 << 20,
        output: 1 << 20,
        processes: 1,
    };

    /// A test's result, that used so much CPU time.
    fn result(verdict: Verdict, outcome: Outcome, cpu_ms: u64) -> TestResult {
        let figures = Figures {
            cpu_user_ns: cpu_ms * 1_000_000,
            ..Figures::default()
        };
        let run = RunResult {
            outcome,
            exit_code: None,
            signal: None,
            figures,
            ended_ns: None,
            backend: Backend::Rlimit,
        };
        TestResult {
            verdict,
            run: Some(run),
            ..TestResult::judge_error("")
        }
    }

    /// What counts of what comes of it once and once more, and how often it was judged.
    fn fairly(all: [(TestResult, Option<f64>); 2], is_stopped: bool) -> (TestResult, usize) {
        let (alone, times) = (RwLock::new(()), Cell::new(0));
        let once = || {
            // The second time nobody else may run anything, and before that anybody.
            assert_eq!(alone.try_read().is_err(), times.get() == 1);
            times.set(times.get() + 1);
            all[times.get() - 1].clone()
        };
        (
            super::fairly(&alone, &LIMITS, || is_stopped, once),
            times.get(),
        )
    }

    #[test]
    fn what_may_have_waited_is_judged_once_more() {
        let slept = || result(Verdict::TimeLimit, Outcome::RealTimeLimit, 10);
        let fine = || result(Verdict::Accepted, Outcome::Exited(0), 10);
        let (counts, times) = fairly([(slept(), Some(0.9)), (fine(), Some(0.9))], false);
        assert_eq!(
            (counts.verdict, counts.comment.as_str(), times),
            (Verdict::Accepted, "", 2)
        );
        let (counts, times) = fairly([(slept(), Some(0.9)), (slept(), Some(0.875))], false);
        assert_eq!((counts.verdict, times), (Verdict::TimeLimit, 2));
        assert!(
            counts
                .comment
                .contains("overloaded: something waited for a CPU in 88 %"),
            "{}",
            counts.comment
        );
        // It was left alone then, and slept.
        let (counts, times) = fairly([(slept(), Some(0.9)), (slept(), None)], false);
        assert_eq!(
            (counts.verdict, counts.comment.as_str(), times),
            (Verdict::TimeLimit, "", 2)
        );
    }

    #[test]
    fn what_has_not_waited_is_judged_once() {
        let nothing_else = || (TestResult::judge_error("nobody asks for it"), None);
        for (first, overload, is_stopped) in [
            // It sleeps, and the machine is not overloaded.
            (
                result(Verdict::TimeLimit, Outcome::RealTimeLimit, 10),
                None,
                false,
            ),
            // All is to end.
            (
                result(Verdict::TimeLimit, Outcome::RealTimeLimit, 10),
                Some(0.9),
                true,
            ),
            // It computed, as the limit said or a little later than that.
            (
                result(Verdict::TimeLimit, Outcome::CpuTimeLimit, 999),
                Some(0.9),
                false,
            ),
            (
                result(Verdict::TimeLimit, Outcome::RealTimeLimit, 1001),
                Some(0.9),
                false,
            ),
            (
                result(Verdict::TimeLimit, Outcome::Exited(0), 1001),
                Some(0.9),
                false,
            ),
            // No time limit.
            (
                result(Verdict::Accepted, Outcome::Exited(0), 10),
                Some(0.9),
                false,
            ),
            (
                result(Verdict::JudgeError, Outcome::Killed, 10),
                Some(0.9),
                false,
            ),
        ] {
            let (counts, times) = fairly([(first.clone(), overload), nothing_else()], is_stopped);
            assert_eq!(
                (counts.verdict, counts.comment.as_str(), times),
                (first.verdict, "", 1),
                "{first:?}"
            );
        }
    }
}
