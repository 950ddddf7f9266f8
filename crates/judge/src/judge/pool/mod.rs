//! The threads that judge submissions: one for each CPU of the machine. A thread compiles or runs
//! one thing at a time on its CPU.
//!
//! An idle thread starts the next test of the first submission that needs one. If that submission
//! has no test left, the thread starts a test of the next submission, which has been compiled in
//! the meantime. All CPUs therefore have work, even if a submission has only one test or ends at
//! its first test. The observer receives its reports in the order in which a single thread would
//! make them.
//!
//! | file | content |
//! | --- | --- |
//! | `queue` | the work that is left, the results so far, and their order for the observer |
//! | `runner` | judging one test, by the kind of the problem |
//! | `retry` | a second chance for tests that an overloaded machine may have delayed |

mod queue;
mod retry;
mod runner;

pub(super) use queue::{Entry, PoolObserver};

use super::base::Judge;
use super::machine::pin_thread;
use super::prepared::PreparedProblem;
use super::pressure;
use crate::batch::Worker;
use crate::cancel::CancelToken;
use crate::failure::JudgeFailure;
use crate::report::SubmissionInfo;
use crate::result::TestResult;
use crate::scoring::{Grade, Grading, JudgedTest, Progress};
use crate::verdict::Verdict;
use millibox_languages::program::{Executable, Limits};
use millibox_package::model::{Submission, Test};
use queue::{PanicGuard, Queue, Task};
use retry::judge_fairly;
use runner::TestRunner;
use std::thread::Builder;

/// The submissions to judge, and how to judge them.
pub(super) struct Pool<'a, 'p, 'm> {
    pub judge: &'a Judge<'m>,
    pub prepared: &'p PreparedProblem,
    /// The limits of each test.
    pub limits: &'a [Limits],
    pub fail_fast: bool,
    pub submissions: &'a [&'a Submission],
    pub token: &'a CancelToken,
}

/// The thread's worker, and the generation of its supervisor.
type ThreadWorker<'m> = Option<(usize, Worker<'m>)>;

impl<'p, 'm> Pool<'_, 'p, 'm> {
    /// Judges all submissions. If the machine is stopped or the token is cancelled, some results
    /// stay open.
    pub fn judge(&self, observer: &mut dyn PoolObserver) -> Vec<Entry<'p>> {
        let cpus = self.judge.machine.cpus();
        let entries = self
            .submissions
            .iter()
            .map(|submission| self.entry(submission))
            .collect();
        let queue = Queue::new(entries, cpus.len() + 1, observer);
        std::thread::scope(|scope| {
            let start = |&cpu: &usize| {
                let queue = &queue;
                let work = move || {
                    pin_thread(cpu);
                    let _guard = PanicGuard(queue);
                    self.work(cpu, queue);
                };
                Builder::new().spawn_scoped(scope, work).is_ok()
            };
            // If a limit on threads is reached (ulimit -u, pids.max), fewer threads do the work. If
            // none can be started, this thread does it.
            let started = cpus.iter().take_while(|cpu| start(cpu)).count();
            if let (0, Some(&cpu)) = (started, cpus.first()) {
                self.work(cpu, &queue);
            }
        });
        queue.into_entries()
    }

    fn entry(&self, submission: &Submission) -> Entry<'p> {
        let progress = Progress::new(&self.prepared.plan);
        let suite = self
            .judge
            .suite_of(submission)
            .ok()
            .map(|suite| suite.name.clone());
        let about = SubmissionInfo {
            suite,
            ..SubmissionInfo::from(submission)
        };
        let progress = if self.fail_fast {
            progress.fail_fast()
        } else {
            progress
        };
        Entry::new(about, progress)
    }

    fn is_stopped(&self) -> bool {
        self.token.is_cancelled() || self.judge.machine.is_stopped()
    }

    /// Discards a result that stopping the machine may have caused.
    fn unless_stopped<T>(&self, result: T) -> Option<T> {
        Some(result).filter(|_| !self.is_stopped())
    }

    /// Executes tasks until none is left. An interrupted task also changes the state, which wakes
    /// the waiting threads.
    fn work(&self, cpu: usize, queue: &Queue<'_, '_>) {
        let tests: Vec<&Test> = self.prepared.problem.tests().collect();
        let mut worker = None;
        while let Some(task) = queue.next_task(|| self.is_stopped()) {
            match task {
                Task::Compile(number) => {
                    let _shared = queue.lock.shared();
                    let compilation = self.judge.compile_submission(
                        &self.prepared.problem,
                        self.submissions[number],
                        vec![cpu],
                    );
                    let compilation = self.unless_stopped(compilation);
                    queue.change(|state| state.compiled(number, compilation));
                }
                Task::Test(number, test, executable) => {
                    let judged = self.test(cpu, queue, &mut worker, &executable, test, tests[test]);
                    let judged = self.unless_stopped(judged);
                    queue.change(|state| state.judged(number, test, judged));
                }
                Task::Grade(number, grading) => {
                    let _shared = queue.lock.shared();
                    let graded = self.unless_stopped(self.grade(cpu, &grading));
                    queue.change(|state| state.graded(number, grading.group, graded));
                }
            }
        }
    }

    fn test(
        &self,
        cpu: usize,
        queue: &Queue<'_, '_>,
        worker: &mut ThreadWorker<'m>,
        executable: &Executable,
        number: usize,
        test: &Test,
    ) -> JudgedTest {
        let machine = self.judge.machine;
        let runner = TestRunner {
            prepared: self.prepared,
            limits: self.limits,
            mode: self.judge.options.mode,
        };
        let mut once = || {
            machine.attempt(
                |result: &TestResult| result.verdict == Verdict::JudgeError,
                |generation, supervisor| {
                    let new = || {
                        Worker::new(supervisor)
                            .cpus([cpu])
                            .cancelled_by(self.token.clone())
                            .unpacked(self.prepared.problem.unpacked.clone())
                    };
                    let (_, worker) = match worker.take() {
                        Some(known) if known.0 == generation => worker.insert(known),
                        _ => worker.insert((generation, new())),
                    };
                    let toolbox = self.judge.toolbox(generation, supervisor);
                    runner.judge(worker, toolbox, executable, number, test)
                },
            )
        };
        let limits = self.limits[number];
        let result = judge_fairly(
            &queue.lock,
            &limits,
            || self.is_stopped(),
            || pressure::during(&mut once),
        );
        JudgedTest {
            result,
            limits,
            enforced_memory: executable.memory_limit(&limits),
            cpus: vec![cpu],
        }
    }

    fn grade(&self, cpu: usize, grading: &Grading) -> Result<Grade, JudgeFailure> {
        let grader = self.prepared.grader.as_ref();
        let grader = grader.ok_or(JudgeFailure::NoGrader)?;
        self.judge.machine.attempt(Result::is_err, |_, supervisor| {
            grader.grade_until(supervisor, &[cpu], grading, self.token)
        })
    }
}
