//! The runner of jobs.
//!
//! A thread leases one job after another. A job commits its changes together with its end, so a job
//! that was cancelled or runs a second time changes nothing. A job that a user stops keeps its keys
//! until its programs have ended, so no other job begins to change the same object before.
//!
//! | file | content |
//! | --- | --- |
//! | `packages` | adding problems and versions |
//! | `statements` | PDFs of statements in LaTeX |
//! | `limits` | time limits from the model solution |
//! | `removal` | merging and deleting |
//! | `similar` | comparing the sources of a contest |

mod limits;
pub mod packages;
mod removal;
mod similar;
mod statements;

use crate::app::App;
use crate::blobs::BlobError;
use crate::core::package::PackageError;
use crate::core::time::Time;
use crate::core::work::Work;
use crate::cpus;
use crate::db::job::{self, Job, NewJob, State};
use crate::db::{Db, DbError, Tx};
use millibox::Builder;
use millibox_judge::cancel::CancelToken;
use millibox_judge::judge::{Machine, MachineError};
use millibox_languages::cache::Cache;
use millibox_languages::suite::Suites;
use millibox_setter::SetterError;
use millibox_worker::turns::Turns;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;

/// How long a runner may be silent before another runner may take its job.
const LEASE: Duration = Duration::from_secs(60);
/// How often the runner looks for a job without being woken.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How often a job with a supervisor checks its token.
const CANCEL_INTERVAL: Duration = Duration::from_millis(100);
/// The pause after a failure to read the database.
const ERROR_PAUSE: Duration = Duration::from_secs(5);

/// Why a job has failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The problem was deleted after the job was added.
    #[error("the problem no longer exists")]
    NoProblem,
    /// A version was added while the job changed the one before.
    #[error("the problem has a newer version; restart the job to change that one")]
    NewerVersion,
    /// The problem has no package.
    #[error("the package no longer exists")]
    NoPackage,
    /// The package has no place for the statement.
    #[error("the statement no longer exists")]
    NoStatement,
    /// The problem cannot be deleted.
    #[error("a contest uses the problem; remove it from its rounds first")]
    ProblemInUse,
    /// The statement cannot replace the one that the package names.
    #[error(
        "the package names the statement {}; upload a file with the same extension",
        .known.display()
    )]
    StatementExtension {
        /// The name of the file in the package.
        known: OsString,
    },
    /// The package contains errors or cannot be stored.
    #[error("{}", .0.lines())]
    Package(#[from] PackageError),
    /// The tools for problem setters reject the package.
    #[error("{0}")]
    Setter(#[from] SetterError),
    /// No supervisor can be started.
    #[error("{0}")]
    Machine(#[from] MachineError),
    /// A file cannot be stored.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The database has failed.
    #[error(transparent)]
    Database(#[from] DbError),
    /// A worker could not measure a submission.
    #[error("{submission} cannot be measured: {reason}")]
    Measuring {
        /// The name of the submission.
        submission: String,
        /// The reason.
        reason: String,
    },
    /// A file of the package cannot be read or written.
    #[error("a file of the package: {0}")]
    System(#[from] std::io::Error),
    /// The stored arguments are unreadable.
    #[error("the arguments: {0}")]
    Arguments(#[from] serde_json::Error),
    /// The job was cancelled, or another runner has it.
    #[error("the job was stopped")]
    Lost,
    /// The job has panicked.
    #[error("the site failed, as its log describes; report this")]
    Panic,
}

/// The maximum number of jobs of one user that wait.
pub const MAX_QUEUED: i64 = 20;

/// Adds a job within a transaction, unless the user already has an equal one that waits. Returns
/// the id; `None` if too many jobs of the user wait. After the commit, the caller notifies
/// `job_added`.
///
/// # Errors
/// The database rejects it.
pub async fn add(tx: &mut Tx, work: &Work, user: i64) -> Result<Option<i64>, DbError> {
    if let Some(id) = job::queued_like(tx, user, work.kind(), &args(work)).await? {
        return Ok(Some(id));
    }
    if job::queued_of(&mut *tx, user).await? >= MAX_QUEUED {
        return Ok(None);
    }
    insert(tx, work, user).await.map(Some)
}

/// Adds a job within a transaction. Returns the id.
///
/// # Errors
/// The database rejects it.
pub async fn insert(tx: &mut Tx, work: &Work, user: i64) -> Result<i64, DbError> {
    let new = NewJob {
        kind: work.kind(),
        args: &args(work),
        problem_id: work.problem(),
        contest_id: work.contest(),
        keys: &work.keys(),
        user,
    };
    job::insert(tx, &new, Time::now()).await
}

fn args(work: &Work) -> String {
    // Numbers and texts always have a form in JSON.
    serde_json::to_string(work).unwrap_or_default()
}

/// Runs jobs.
#[derive(Debug)]
pub struct JobRunner {
    /// The site.
    pub app: Arc<App>,
    /// Starts supervisors.
    pub builder: Builder,
    /// The languages.
    pub suites: Suites,
    /// Compiled programs.
    pub cache: Cache,
    /// Runs futures.
    pub handle: Handle,
    /// The CPUs on which jobs run, apart from measuring.
    pub cpus: Vec<usize>,
    /// The turns on the CPUs that judge, for measuring.
    pub turns: Arc<Turns>,
    /// Whether workers on other machines measure, because only they judge.
    pub measures_elsewhere: bool,
}

/// A job that runs.
struct Running<'r> {
    runner: &'r JobRunner,
    job: &'r Job,
    token: CancelToken,
}

/// Starts the runner. The runner ends with the process. Its unfinished job is queued again at the
/// next start.
///
/// # Errors
/// The thread cannot be started.
pub fn start(runner: JobRunner) -> std::io::Result<()> {
    let thread = std::thread::Builder::new().name("jobs".to_owned());
    thread.spawn(move || runner.work())?;
    Ok(())
}

impl JobRunner {
    fn work(&self) {
        cpus::pin(&self.cpus);
        loop {
            match self.handle.block_on(self.next()) {
                Ok(Some(job)) => self.run(&job),
                Ok(None) => {
                    let added = self.app.job_added.notified();
                    // After the timeout, too, the runner looks for a job again.
                    let wait = async { tokio::time::timeout(POLL_INTERVAL, added).await };
                    let _ = self.handle.block_on(wait);
                }
                Err(error) => {
                    tracing::error!(%error, "cannot read the jobs");
                    std::thread::sleep(ERROR_PAUSE);
                }
            }
        }
    }

    /// Does the next job, if one waits.
    #[cfg(test)]
    pub fn run_next(&self) -> Result<(), DbError> {
        if let Some(job) = self.handle.block_on(self.next())? {
            self.run(&job);
        }
        Ok(())
    }

    async fn next(&self) -> Result<Option<Job>, DbError> {
        let now = Time::now();
        job::expire(&self.app.db, now).await?;
        job::claim(&self.app.db, now, LEASE).await
    }

    fn run(&self, job: &Job) {
        let token = self.app.job_stops.begin(job.id);
        let renewing = self.renew(job, token.clone());
        let running = Running {
            runner: self,
            job,
            token,
        };
        running.say(format!("{}: attempt {}", job.kind.text(), job.attempt));
        let result = catch_unwind(AssertUnwindSafe(|| running.perform()));
        let result = result.unwrap_or(Err(JobError::Panic));
        drop(renewing);
        self.app.job_stops.end(job.id);
        if let Err(error) = result {
            running.say(error.to_string());
            if let Err(error) = self.handle.block_on(give_up(&self.app.db, job)) {
                // The lease expires by itself.
                tracing::error!(%error, "cannot end a job");
            }
        }
        self.app.live.job_changed(job.id);
    }

    /// Renews the lease until the future is aborted. Stops the job if a user has stopped it, or if
    /// the lease is lost.
    fn renew(&self, job: &Job, token: CancelToken) -> AbortOnDropHandle<()> {
        let (db, id, attempt) = (self.app.db.clone(), job.id, job.attempt);
        AbortOnDropHandle::new(self.handle.spawn(async move {
            loop {
                let mut pause = LEASE / 3;
                match job::renew(&db, id, attempt, Time::now().after(LEASE)).await {
                    Ok(Some(State::Running)) => {}
                    // The job keeps its keys until its programs have ended.
                    Ok(Some(_)) => token.cancel(),
                    Ok(None) => break token.cancel(),
                    Err(error) => {
                        tracing::warn!(%error, "cannot renew the lease of a job");
                        pause = ERROR_PAUSE;
                    }
                }
                tokio::time::sleep(pause).await;
            }
        }))
    }
}

/// Ends a job without its changes. Its programs have ended.
async fn give_up(db: &Db, job: &Job) -> Result<(), DbError> {
    let (mut tx, now) = (db.begin().await?, Time::now());
    if !job::stopped(&mut tx, job, now).await? {
        job::end(&mut tx, job, State::Failed, None, now).await?;
    }
    tx.commit().await
}

impl Running<'_> {
    fn app(&self) -> &App {
        &self.runner.app
    }

    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runner.handle.block_on(future)
    }

    /// Adds text to the log.
    fn say(&self, text: impl Into<String>) {
        let text: String = text.into();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let written = job::write(&self.app().db, self.job.id, &lines, Time::now());
        if let Err(error) = self.block_on(written) {
            tracing::warn!(%error, "cannot write the log of a job");
        }
        self.app().live.job_changed(self.job.id);
    }

    /// Works with a supervisor until the job is cancelled.
    fn until_stopped<T>(&self, machine: &Machine, work: impl FnOnce() -> T) -> T {
        self.until(machine, || false, work)
    }

    /// Works with a supervisor until the job is cancelled or `is_over`.
    fn until<T>(
        &self,
        machine: &Machine,
        is_over: impl Fn() -> bool + Send,
        work: impl FnOnce() -> T,
    ) -> T {
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let is_done = &is_done;
            scope.spawn(move || {
                while !is_done.load(Ordering::SeqCst) {
                    if self.token.is_cancelled() || is_over() {
                        return machine.stop();
                    }
                    std::thread::sleep(CANCEL_INTERVAL);
                }
            });
            let result = work();
            is_done.store(true, Ordering::SeqCst);
            result
        })
    }

    /// Fails if the job was cancelled.
    fn check(&self) -> Result<(), JobError> {
        if self.token.is_cancelled() {
            return Err(JobError::Lost);
        }
        Ok(())
    }

    /// Ends the job together with its changes. `page` is the page to show afterwards.
    async fn commit(&self, mut tx: Tx, page: &str) -> Result<(), JobError> {
        let now = Time::now();
        if !job::end(&mut tx, self.job, State::Done, Some(page), now).await? {
            return Err(JobError::Lost);
        }
        tx.commit().await?;
        Ok(())
    }

    fn perform(&self) -> Result<(), JobError> {
        let work: Work = serde_json::from_str(&self.job.args)?;
        match &work {
            Work::AddProblem {
                digest,
                file_name,
                visibility,
            } => self.add_problem(digest, file_name, *visibility),
            Work::AddVersion {
                problem,
                digest,
                file_name,
                note,
            } => self.add_version(*problem, digest, file_name, note),
            Work::ChangeStatement {
                problem,
                digest,
                file_name,
            } => self.change_statement(*problem, digest, file_name),
            Work::CompileStatements { problem } => self.compile_again(*problem),
            Work::ResetLimits { problem } => self.reset_limits(*problem),
            Work::MergeProblems {
                from,
                into,
                rejudge,
            } => self.merge_problems(*from, *into, *rejudge),
            Work::DeleteProblem { problem } => self.delete_problem(*problem),
            Work::DeleteContest { contest } => self.delete_contest(*contest),
            Work::DeleteRound { contest, round } => self.delete_round(*contest, *round),
            Work::DeleteRoundProblem {
                contest,
                round_problem,
            } => self.delete_round_problem(*contest, *round_problem),
            Work::CompareSources { contest } => self.compare_sources(*contest),
        }
    }
}
