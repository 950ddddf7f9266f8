//! Threads that take judgements from the queue.
//!
//! Each worker has its own supervisor, with one CPU. The worker keeps its most recent problems
//! ready for use. A failure of the supervisor or of a package is never a verdict: the attempt
//! fails, the supervisor is replaced, and the judgement is tried again or becomes a fault.

use crate::archive::{self, ArchiveError};
use crate::cpus;
use crate::outcome;
use crate::stops::Stops;
use crate::turns::Turns;
use millibox::Builder;
use millibox_fleet::digest::Digest;
use millibox_fleet::queue::{Queue, Task};
use millibox_fleet::result::{Failure, FailureKind, Progress, Test, initial_verdict};
use millibox_judge::cancel::CancelToken;
use millibox_judge::judge::{
    self, Event, Judge, Machine, Options, PackageFault, PreparedProblem, SelectionError,
};
use millibox_judge::report::TestReport;
use millibox_judge::time_limit::MEASURING_CPU_TIME;
use millibox_languages::cache::Cache;
use millibox_languages::suite::Suites;
use millibox_package::model::Submission;
use std::collections::HashSet;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle as Thread;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

/// The maximum number of problems that a worker keeps ready.
const MAX_PROBLEMS: usize = 4;
/// How often a worker checks whether its judgement must make way for a contest.
const MAKE_WAY_INTERVAL: Duration = Duration::from_millis(500);
/// The pause after a lease could not be renewed.
const RENEWAL_PAUSE: Duration = Duration::from_secs(1);
/// The pause after a supervisor could not be started, or a failure that may last.
const RESTART_PAUSE: Duration = Duration::from_secs(5);
/// How often a worker that pauses checks whether it must end.
const END_INTERVAL: Duration = Duration::from_millis(100);

/// What all workers share.
#[derive(Debug)]
pub struct WorkerContext<Q> {
    /// The source of judgements.
    pub queue: Q,
    /// Stops judgements.
    pub stops: Stops,
    /// The turns of the workers on their CPUs.
    pub turns: Arc<Turns>,
    /// Starts supervisors.
    pub builder: Builder,
    /// The languages.
    pub suites: Suites,
    /// Compiled programs.
    pub cache: Cache,
    /// Runs the futures of the queue.
    pub handle: Handle,
    /// Whether the workers end when they have finished their judgements.
    pub is_ending: AtomicBool,
}

/// A problem that is ready to be judged. Its files exist as long as this value.
struct Ready {
    package: Digest,
    problem: PreparedProblem,
    initial: HashSet<String>,
    initial_tests: usize,
    _directory: tempfile::TempDir,
}

/// Why an attempt has no result.
#[derive(Debug, thiserror::Error)]
enum AttemptError {
    /// Another attempt would also fail.
    #[error("the problem cannot be judged: {0}")]
    Problem(ProblemFault),
    /// The machine is at fault.
    #[error(transparent)]
    Machine(#[from] MachineFault),
    /// The judgement was cancelled, or another worker has it now.
    #[error("the lease has ended")]
    Lost,
    /// The judgement waits again, because a submission to a contest comes first.
    #[error("a submission to a contest comes first")]
    MadeWay,
}

/// Why a problem cannot be judged.
#[derive(Debug, thiserror::Error)]
enum ProblemFault {
    /// The package contains errors.
    #[error(transparent)]
    Package(ArchiveError),
    /// The judge does not accept the package.
    #[error(transparent)]
    Judge(judge::PackageError),
}

/// Why the machine cannot judge.
#[derive(Debug, thiserror::Error)]
enum MachineFault {
    /// The package cannot be read.
    #[error(transparent)]
    Package(ArchiveError),
    /// The machine failed while the problem was prepared.
    #[error(transparent)]
    Judge(judge::PackageError),
    /// The source cannot be stored.
    #[error(transparent)]
    Source(#[from] std::io::Error),
    /// The source is no submission.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// The source has vanished.
    #[error("the source no longer exists")]
    NoSource,
    /// The name of the source is a path.
    #[error("the name of the source is not that of a file")]
    SourceName,
    /// The worker has panicked, as its log states.
    #[error("the worker failed on the submission, as its log describes")]
    Panic,
    /// The judge has failed, as its report states.
    #[error("{0}")]
    Report(String),
    /// The queue does not send the package, or does not accept the result.
    #[error(transparent)]
    Queue(Box<dyn Error + Send + Sync>),
}

impl MachineFault {
    /// Whether the next attempt may fail for the same reason. The other faults belong to one
    /// submission, or to the checker of one package, which must not delay others.
    fn may_last(&self) -> bool {
        match self {
            MachineFault::Package(_)
            | MachineFault::Judge(_)
            | MachineFault::Source(_)
            | MachineFault::Queue(_) => true,
            MachineFault::Selection(_)
            | MachineFault::NoSource
            | MachineFault::SourceName
            | MachineFault::Panic
            | MachineFault::Report(_) => false,
        }
    }
}

struct Worker<Q> {
    context: Arc<WorkerContext<Q>>,
    name: String,
    /// The index among all workers, from 0.
    index: usize,
    cpu: usize,
}

/// Starts a worker on a CPU; `index` is its index among all workers. The thread ends when
/// [`WorkerContext::is_ending`] is set and its judgement has ended.
///
/// # Errors
/// The thread cannot be started.
pub fn start<Q: Queue>(
    context: &Arc<WorkerContext<Q>>,
    index: usize,
    cpu: usize,
) -> std::io::Result<Thread<()>> {
    let worker = Worker {
        context: context.clone(),
        name: format!("judge-{}", index + 1),
        index,
        cpu,
    };
    let thread = std::thread::Builder::new().name(worker.name.clone());
    thread.spawn(move || worker.work())
}

impl<Q: Queue> Worker<Q> {
    fn work(&self) {
        cpus::pin(&[self.cpu]);
        while !self.is_ending() {
            match Machine::start(self.context.builder.clone(), Some(1), &[self.cpu]) {
                Ok(machine) => {
                    // The next attempts would fail, too, and make many judgements faults.
                    if self.work_with(&machine) {
                        self.pause();
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "cannot start a supervisor");
                    self.pause();
                }
            }
        }
    }

    /// Waits for [`RESTART_PAUSE`], or until the worker ends.
    fn pause(&self) {
        let end = Instant::now() + RESTART_PAUSE;
        while !self.is_ending() && Instant::now() < end {
            std::thread::sleep(END_INTERVAL);
        }
    }

    fn is_ending(&self) -> bool {
        self.context.is_ending.load(Ordering::SeqCst)
    }

    /// Judges until the machine must be replaced, or the worker ends. Returns whether the cause may
    /// last, as a full disk does.
    fn work_with(&self, machine: &Machine) -> bool {
        let (suites, cache) = (self.context.suites.clone(), self.context.cache.clone());
        let judge = Judge::new(machine, suites, cache, Options::default());
        let mut ready = Vec::new();
        let mut makes_way = false;
        while !self.is_ending() {
            let turn = self.context.turns.take(self.index);
            let task = self.claim();
            if std::mem::take(&mut makes_way) {
                self.context.handle.block_on(self.context.queue.way_used());
            }
            let Some(task) = task else {
                drop(turn);
                self.context.handle.block_on(self.context.queue.wait());
                continue;
            };
            // After a panic, the judge and the problems are not used again.
            let attempt = AssertUnwindSafe(|| self.attempt(&judge, &mut ready, &task));
            let result = catch_unwind(attempt)
                .unwrap_or_else(|_| Err(AttemptError::Machine(MachineFault::Panic)));
            let lasts = match &result {
                Err(AttemptError::Machine(fault)) => Some(fault.may_last()),
                _ => None,
            };
            makes_way = matches!(result, Err(AttemptError::MadeWay));
            if let Err(error) = result {
                self.give_up(&task, &error);
            }
            self.context.queue.ended(task.lease);
            if let Some(lasts) = lasts {
                return lasts;
            }
        }
        false
    }

    /// The next task, if the queue has one.
    fn claim(&self) -> Option<Task> {
        let WorkerContext { queue, handle, .. } = &*self.context;
        handle
            .block_on(queue.claim(&self.name))
            .inspect_err(|error| tracing::error!(%error, "cannot read the queue"))
            .ok()
            .flatten()
    }

    /// Ends an attempt without a result.
    fn give_up(&self, task: &Task, error: &AttemptError) {
        let (submission, attempt) = (task.submission, task.lease.attempt);
        tracing::warn!(submission, attempt, %error, "a submission was not judged");
        let kind = match error {
            AttemptError::Problem(_) => FailureKind::Package,
            AttemptError::Machine(_) => FailureKind::Machine,
            AttemptError::Lost | AttemptError::MadeWay => return,
        };
        let reason = error.to_string();
        let failure = Failure { kind, reason };
        let failed = self.context.queue.fail(task.lease, failure);
        if let Err(error) = self.context.handle.block_on(failed) {
            // The lease expires by itself.
            tracing::error!(%error, "cannot return a judgement to the queue");
        }
    }

    fn attempt(
        &self,
        judge: &Judge<'_>,
        ready: &mut Vec<Ready>,
        task: &Task,
    ) -> Result<(), AttemptError> {
        let token = self.context.stops.begin(task.lease.judgement);
        let renewing = self.renew(task, token.clone());
        let making_way = self.make_way(task, token.clone());
        let judged = |judge: &Judge<'_>, ready: &mut Vec<Ready>| {
            let problem = self.prepare(judge, ready, task)?;
            self.judge(judge, problem, task, &token)
        };
        let result = match task.measures {
            false => judged(judge, ready),
            true => {
                let (suites, cache) = (self.context.suites.clone(), self.context.cache.clone());
                let options = Options {
                    time_limit: Some(MEASURING_CPU_TIME),
                    ..Options::default()
                };
                let judge = Judge::new(judge.machine(), suites, cache, options);
                judged(&judge, &mut Vec::new())
            }
        };
        drop(renewing);
        self.context.stops.end(task.lease.judgement);
        if !making_way.end(&self.context.handle) {
            return result;
        }
        if let Err(AttemptError::Machine(_)) = result {
            // The worker must replace its machine first.
            self.context.handle.block_on(self.context.queue.way_used());
            return result;
        }
        Err(AttemptError::MadeWay)
    }

    /// Ends the judging when a submission to a contest needs the worker. The judgement then waits
    /// again, so a result that comes at the same moment is not stored.
    fn make_way(&self, task: &Task, token: CancelToken) -> MakingWay {
        let (context, lease) = (self.context.clone(), task.lease);
        let (ended, mut is_ended) = tokio::sync::oneshot::channel::<()>();
        let makes_way = task.makes_way;
        let watching = self.context.handle.spawn(async move {
            if !makes_way {
                return false;
            }
            loop {
                tokio::select! {
                    _ = &mut is_ended => return false,
                    () = tokio::time::sleep(MAKE_WAY_INTERVAL) => {}
                }
                match context.queue.make_way(lease).await {
                    Ok(true) => {
                        token.cancel();
                        return true;
                    }
                    Ok(false) => {}
                    Err(error) => tracing::warn!(%error, "cannot read the queue"),
                }
            }
        });
        MakingWay { ended, watching }
    }

    /// Renews the lease until the future is aborted. Cancels the judging if the lease is lost.
    fn renew(&self, task: &Task, token: CancelToken) -> AbortOnDropHandle<()> {
        let (context, lease) = (self.context.clone(), task.lease);
        let interval = task.renewal_interval();
        // A process of the site that hangs must not use up the time in which another may reply.
        let patience = RENEWAL_PAUSE.max(interval / 2);
        AbortOnDropHandle::new(self.context.handle.spawn(async move {
            loop {
                // The first renewal notices a cancellation that happened before the token existed.
                let renewed = tokio::time::timeout(patience, context.queue.renew(lease)).await;
                let pause = match renewed {
                    Ok(Ok(true)) => interval,
                    Ok(Ok(false)) => break token.cancel(),
                    Ok(Err(error)) => {
                        tracing::warn!(%error, "cannot renew a lease");
                        RENEWAL_PAUSE
                    }
                    Err(_) => {
                        tracing::warn!("the queue does not renew a lease");
                        Duration::ZERO
                    }
                };
                tokio::time::sleep(pause).await;
            }
        }))
    }

    /// The problem of a task, from the problems that are ready or from its package.
    fn prepare<'r>(
        &self,
        judge: &Judge<'_>,
        ready: &'r mut Vec<Ready>,
        task: &Task,
    ) -> Result<&'r Ready, AttemptError> {
        let found = ready.iter().position(|one| one.package == task.package);
        let one = match found {
            Some(index) => ready.remove(index),
            None => self.open(judge, task)?,
        };
        if ready.len() >= MAX_PROBLEMS {
            ready.remove(0);
        }
        ready.push(one);
        Ok(&ready[ready.len() - 1])
    }

    fn open(&self, judge: &Judge<'_>, task: &Task) -> Result<Ready, AttemptError> {
        let archive = self.context.queue.package(task);
        let archive = self.context.handle.block_on(archive);
        let archive = archive.map_err(|error| MachineFault::Queue(error.into()))?;
        let (problem, directory) =
            archive::open(&archive, "package.zip").map_err(|error| match error {
                ArchiveError::Faults(_) => AttemptError::Problem(ProblemFault::Package(error)),
                error => MachineFault::Package(error).into(),
            })?;
        let initial = || problem.groups().filter(|group| group.sample);
        let initial_tests = initial().map(|group| group.tests.len()).sum();
        let initial = initial().map(|group| group.name.clone()).collect();
        let problem = judge.problem(problem, &mut |_| ()).map_err(|mut error| {
            // A dead supervisor makes the programs of a package fail.
            let is_of_machine = judge.machine().supervisor().is_dead()
                || error.faults.iter().any(PackageFault::is_of_machine);
            let shown = |path: &Path| {
                path.strip_prefix(directory.path())
                    .unwrap_or(path)
                    .to_owned()
            };
            let faults = error.faults.into_iter();
            error.faults = faults.map(|fault| fault.map_paths(shown)).collect();
            match is_of_machine {
                true => MachineFault::Judge(error).into(),
                false => AttemptError::Problem(ProblemFault::Judge(error)),
            }
        })?;
        Ok(Ready {
            package: task.package.clone(),
            problem,
            initial,
            initial_tests,
            _directory: directory,
        })
    }

    fn judge(
        &self,
        judge: &Judge<'_>,
        ready: &Ready,
        task: &Task,
        token: &CancelToken,
    ) -> Result<(), AttemptError> {
        let directory = millibox_package::temporary::directory().map_err(MachineFault::from)?;
        if !task.has_safe_name() {
            return Err(MachineFault::SourceName.into());
        }
        let path = directory.path().join(&task.file_name);
        std::fs::write(&path, &task.source).map_err(MachineFault::from)?;
        let mut submission = choose(ready, &path, &task.language)?;
        if let Some(name) = &task.model_name {
            expect(&ready.problem, name, &mut submission);
        }
        let mut watcher = Watcher {
            worker: self,
            task,
            ready,
            progress: Progress {
                tests: Vec::new(),
                of: ready.problem.plan().len(),
            },
        };
        let report = judge.submission_until(&ready.problem, &submission, token, &mut |event| {
            watcher.observe(&event);
        });
        if token.is_cancelled() {
            return Err(AttemptError::Lost);
        }
        let outcome = outcome::outcome(&report, |group| ready.initial.contains(group))
            .ok_or_else(|| MachineFault::Report(outcome::fault(&report)))?;
        let finished = self.context.queue.finish(task.lease, outcome);
        match self.context.handle.block_on(finished) {
            Ok(true) => Ok(()),
            Ok(false) => Err(AttemptError::Lost),
            Err(error) => Err(MachineFault::Queue(error.into()).into()),
        }
    }
}

/// Checks whether a judgement must make way.
struct MakingWay {
    ended: tokio::sync::oneshot::Sender<()>,
    watching: JoinHandle<bool>,
}

impl MakingWay {
    /// Stops looking, and returns whether the judgement has made way.
    fn end(self, handle: &Handle) -> bool {
        // It may have ended by itself.
        let _ = self.ended.send(());
        handle.block_on(self.watching).unwrap_or(false)
    }
}

/// Follows a judging.
struct Watcher<'w, Q> {
    worker: &'w Worker<Q>,
    task: &'w Task,
    ready: &'w Ready,
    progress: Progress,
}

impl<Q: Queue> Watcher<'_, Q> {
    fn observe(&mut self, event: &Event<'_>) {
        let Event::Settled { progress } = event else {
            return;
        };
        let told = self.progress.tests.len();
        for index in told..progress.settled() {
            let report = TestReport::judged(progress, index);
            let initial = self.ready.initial.contains(&report.group);
            self.progress.tests.push(outcome::test(&report, initial));
        }
        self.report_initial(told);
        let queue = &self.worker.context.queue;
        queue.show(self.task.lease, &self.progress);
    }

    /// Stores the initial verdict when the last initial test has its result.
    fn report_initial(&self, told: usize) {
        let initial = |tests: &[Test]| tests.iter().filter(|test| test.initial).count();
        let all = self.ready.initial_tests;
        let tests = &self.progress.tests;
        if all == 0 || initial(tests) < all || initial(&tests[..told]) == all {
            return;
        }
        let is_fault = |test: &Test| test.initial && test.verdict.is_none() && test.is_failure;
        if tests.iter().any(is_fault) {
            return;
        }
        let verdict = initial_verdict(tests);
        let WorkerContext { queue, handle, .. } = &*self.worker.context;
        let stored = handle.block_on(queue.set_initial(self.task.lease, verdict));
        if let Err(error) = stored {
            // The verdict is stored again with the result.
            tracing::warn!(%error, "cannot store an initial verdict");
        }
    }
}

fn choose(ready: &Ready, path: &Path, language: &str) -> Result<Submission, MachineFault> {
    judge::choose(ready.problem.problem(), path, Some(language))?
        .pop()
        .ok_or(MachineFault::NoSource)
}

/// Sets the result that the package expects of its submission.
fn expect(problem: &PreparedProblem, name: &str, submission: &mut Submission) {
    let submissions = &problem.problem().submissions;
    if let Some(one) = submissions.iter().find(|one| one.name == name) {
        submission.expected.clone_from(&one.expected);
        submission.required.clone_from(&one.required);
        submission.score = one.score;
    }
}
