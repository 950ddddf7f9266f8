//! The queue of judgements, which is a table of the database.
//!
//! Workers of this process use a [`SiteQueue`]. Workers on other machines send requests, and
//! `fleet` uses the [`DatabaseQueue`] for them.

use super::live::{Change, Live};
use super::offers::{Offer, Offers};
use super::toolchains::Toolchains;
use crate::blobs::Blobs;
use crate::core::time::Time;
use crate::core::verdict::Verdict;
use crate::db::judgement::{self, CONTEST, Held, Remote};
use crate::db::{Db, DbError, fault, measurement};
use crate::notifier::Notifier;
use crate::processes::news::{News, Report};
use crate::processes::outbox::Outbox;
use millibox_fleet::class::Class;
use millibox_fleet::digest::{Digest, DigestError};
use millibox_fleet::queue::{Lease, Queue, Task};
use millibox_fleet::result::{Failure, FailureKind, Outcome, Progress};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::futures::OwnedNotified;
use tokio::sync::{Mutex, Notify};

/// How long a worker may be silent before another worker may take its judgement.
pub const LEASE: Duration = Duration::from_secs(30);
/// The length of the first lease of a worker on another machine. The worker renews it when it
/// receives the task.
const FIRST_LEASE: Duration = Duration::from_secs(10);
/// How long a submission to a contest waits before it interrupts another judgement. An idle worker
/// claims it sooner.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often a worker looks for a judgement without being woken.
pub const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// A clock that differs by more from the time that has passed was set.
const MAX_CLOCK_STEP: Duration = Duration::from_secs(1);
/// How long a worker that has made way may take to claim its next judgement. A worker on another
/// machine may have ended meanwhile.
const MAKING_WAY: Duration = Duration::from_secs(10);

/// The queue in the database of the site.
#[derive(Debug, Clone)]
pub struct DatabaseQueue {
    db: Db,
    lease: Duration,
    added: Notifier,
    added_for_fleet: Arc<Notify>,
    /// How often judgements were added, or queued again.
    additions: Arc<AtomicU64>,
    offers: Arc<Mutex<Offers>>,
    /// For the workers of other processes.
    outbox: Outbox,
    steady: Arc<std::sync::Mutex<Steady>>,
    /// When workers have made way that have not claimed their next judgement.
    making_way: Arc<Mutex<Vec<Instant>>>,
    toolchains: Arc<Toolchains>,
}

/// Since when workers have been able to renew their leases, and the clock of the machine was not
/// set. The ends of leases are times of that clock.
#[derive(Debug)]
struct Steady {
    since: Instant,
    /// When this was last examined, by both clocks.
    examined: (Instant, Time),
}

impl Steady {
    fn new() -> Steady {
        Steady {
            since: Instant::now(),
            examined: (Instant::now(), Time::now()),
        }
    }

    /// Whether the state has lasted for some time.
    fn lasts_for(&mut self, time: Duration, now: Instant, clock: Time) -> bool {
        let (before, clock_before) = std::mem::replace(&mut self.examined, (now, clock));
        let expected = clock_before.after(now - before);
        if clock.0.abs_diff(expected.0) > MAX_CLOCK_STEP.as_micros() as u64 {
            self.since = now;
        }
        now - self.since >= time
    }
}

/// Why a judgement cannot be given to a worker.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The database fails.
    #[error(transparent)]
    Database(#[from] DbError),
    /// The stored digest of a package is no digest.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// A package cannot be read.
    #[error("cannot read a package: {0}")]
    Package(#[from] io::Error),
}

/// A leased judgement, and what pages show of it.
#[derive(Debug)]
pub struct Claimed {
    /// The task.
    pub task: Task,
    /// The submission, unless the task measures.
    pub change: Option<Change>,
}

/// The first number of the leases of measurements, from which they count down. Judgements have
/// positive numbers, and the checks of workers small negative ones.
const MEASUREMENTS: i64 = -(1 << 40);

/// The measurement of a lease, if it is one.
pub fn measurement_of(lease: Lease) -> Option<i64> {
    (lease.judgement < MEASUREMENTS).then(|| MEASUREMENTS - lease.judgement)
}

impl DatabaseQueue {
    /// The queue of a database.
    pub fn new(db: Db, outbox: Outbox) -> DatabaseQueue {
        DatabaseQueue {
            db,
            outbox,
            steady: Arc::new(std::sync::Mutex::new(Steady::new())),
            lease: LEASE,
            added: Notifier::default(),
            added_for_fleet: Arc::default(),
            additions: Arc::default(),
            offers: Arc::default(),
            making_way: Arc::default(),
            toolchains: Arc::default(),
        }
    }

    /// The same queue with leases of a different length.
    pub fn with_lease(self, lease: Duration) -> DatabaseQueue {
        DatabaseQueue { lease, ..self }
    }

    /// The same queue with a rule for the languages of workers on other machines.
    pub fn with_toolchains(self, toolchains: Toolchains) -> DatabaseQueue {
        let toolchains = Arc::new(toolchains);
        DatabaseQueue { toolchains, ..self }
    }

    /// The languages in which workers on other machines judge.
    pub fn toolchains(&self) -> &Toolchains {
        &self.toolchains
    }

    /// The length of a lease.
    pub fn lease(&self) -> Duration {
        self.lease
    }

    fn first_lease(&self) -> Duration {
        self.lease.min(FIRST_LEASE)
    }

    /// Leases the next judgement to a worker of this process, or to a remote worker.
    ///
    /// # Errors
    /// The database or the package cannot be read.
    pub async fn claim(
        &self,
        worker: &str,
        remote: Option<&Remote<'_>>,
        blobs: &Blobs,
    ) -> Result<Option<Claimed>, QueueError> {
        let lease = match remote {
            Some(_) => self.first_lease(),
            None => self.lease,
        };
        let claimed = judgement::claim_for(&self.db, worker, remote, Time::now(), lease);
        let Some(claimed) = claimed.await? else {
            return match remote {
                Some(remote) if remote.classes.contains(&Class::Contest) => {
                    self.claim_measurement(remote, blobs).await
                }
                _ => Ok(None),
            };
        };
        let takes_contests = remote.is_none_or(|remote| remote.classes.contains(&Class::Contest));
        let change = Change {
            submission: claimed.submission_id,
            user: claimed.user_id,
            contest: claimed.contest_id,
            rejudging: claimed.rejudging_id,
        };
        let bytes = match remote {
            // If the file is missing, the worker cannot load it, and the attempt fails.
            Some(_) => tokio::fs::metadata(blobs.path(&claimed.digest))
                .await
                .map_or(0, |metadata| metadata.len()),
            None => 0,
        };
        let task = Task {
            lease: Lease {
                judgement: claimed.id,
                attempt: claimed.attempt,
            },
            lease_ms: u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX),
            submission: claimed.submission_id,
            makes_way: claimed.priority < CONTEST && takes_contests,
            measures: false,
            language: claimed.language,
            model_name: claimed.model_name,
            file_name: claimed.file_name,
            source: claimed.content,
            package: Digest::try_from(claimed.digest)?,
            package_bytes: bytes,
        };
        Ok(Some(Claimed {
            task,
            change: Some(change),
        }))
    }

    /// Leases a submission whose times are measured to a worker that judges contests, where its
    /// limits will apply.
    async fn claim_measurement(
        &self,
        remote: &Remote<'_>,
        blobs: &Blobs,
    ) -> Result<Option<Claimed>, QueueError> {
        let (lease, now) = (self.lease, Time::now());
        let expires = self.is_steady();
        let claimed =
            measurement::claim(&self.db, remote.id, remote.languages, now, lease, expires);
        let Some(claimed) = claimed.await? else {
            return Ok(None);
        };
        let metadata = tokio::fs::metadata(blobs.path(&claimed.digest)).await?;
        let task = Task {
            lease: Lease {
                judgement: MEASUREMENTS - claimed.id,
                attempt: claimed.attempt,
            },
            lease_ms: u64::try_from(lease.as_millis()).unwrap_or(u64::MAX),
            submission: 0,
            makes_way: true,
            measures: true,
            language: claimed.language,
            model_name: Some(claimed.model_name),
            file_name: claimed.file_name,
            source: claimed.content,
            package: Digest::try_from(claimed.digest)?,
            package_bytes: metadata.len(),
        };
        Ok(Some(Claimed { task, change: None }))
    }

    /// Like [`DatabaseQueue::claim`] for a worker on another machine, but does not look into the
    /// database if there was no judgement for the same offer just before.
    ///
    /// # Errors
    /// The database or the package cannot be read.
    pub async fn claim_offered(
        &self,
        worker: &str,
        remote: &Remote<'_>,
        blobs: &Blobs,
    ) -> Result<Option<Claimed>, QueueError> {
        let offer = Offer {
            classes: remote.classes.to_vec(),
            languages: remote.languages.to_vec(),
        };
        let mut offers = self.offers.lock().await;
        let added = self.additions.load(Ordering::SeqCst);
        if offers.is_declined(&offer, added, POLL_INTERVAL) {
            return Ok(None);
        }
        let claimed = self.claim(worker, Some(remote), blobs).await?;
        if claimed.is_none() {
            offers.decline(offer, added);
        }
        Ok(claimed)
    }

    /// The judgement of a lease, if this worker on another machine holds it.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn held(&self, lease: Lease, remote: i64) -> Result<Option<Held>, DbError> {
        judgement::held(&self.db, lease.judgement, lease.attempt, remote).await
    }

    /// Renews a lease.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn renew(&self, lease: Lease) -> Result<bool, DbError> {
        let until = Time::now().after(self.lease);
        judgement::renew(&self.db, lease.judgement, lease.attempt, until).await
    }

    /// Stores the initial verdict.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn set_initial(&self, lease: Lease, verdict: Verdict) -> Result<bool, DbError> {
        judgement::set_initial(&self.db, lease.judgement, lease.attempt, verdict).await
    }

    /// Stores the result and ends the lease.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn finish(&self, lease: Lease, outcome: Outcome) -> Result<bool, DbError> {
        let now = Time::now();
        let outcome = judgement::Outcome {
            initial_verdict: outcome.initial_verdict,
            verdict: outcome.verdict,
            score: outcome.score,
            max_score: outcome.max_score,
            cpu_time_ns: outcome.cpu_time_ns,
            memory_bytes: outcome.memory_bytes,
            as_expected: outcome.as_expected,
            // Texts and numbers always have a form in JSON.
            protocol: serde_json::to_string(&outcome.protocol).unwrap_or_default(),
        };
        judgement::finish(&self.db, lease.judgement, lease.attempt, &outcome, now).await
    }

    /// Ends the lease without a result.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn fail(&self, lease: Lease, failure: &Failure) -> Result<bool, DbError> {
        let now = Time::now();
        let failure = judgement::Failure {
            kind: match failure.kind {
                FailureKind::Package => fault::Kind::Package,
                FailureKind::Machine => fault::Kind::Machine,
            },
            reason: &failure.reason,
            has_ended: false,
        };
        let failed = judgement::fail(&self.db, lease.judgement, lease.attempt, &failure, now).await;
        // A different worker may judge it.
        self.wake();
        failed
    }

    /// Workers could not reach the site, or the site its database. Silent workers now have the time
    /// of a whole lease to renew it.
    pub fn was_unreachable(&self) {
        self.steady().since = Instant::now();
    }

    /// Queues the judgements of silent workers on other machines again, which cannot reach the site
    /// for long. Returns their number.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn give_back_silent(&self) -> Result<u64, DbError> {
        let count = judgement::give_back_silent(&self.db, Time::now()).await?;
        if count > 0 {
            self.wake();
        }
        Ok(count)
    }

    /// Whether workers have been able to renew their leases for the length of a lease.
    fn is_steady(&self) -> bool {
        let (lease, now) = (self.lease, Instant::now());
        self.steady().lasts_for(lease, now, Time::now())
    }

    fn steady(&self) -> std::sync::MutexGuard<'_, Steady> {
        self.steady.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the leases of silent workers. Returns their number. Ends none while workers have not
    /// been able to renew them for a whole lease, and none for that time after the clock of the
    /// machine was set.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn expire(&self) -> Result<u64, DbError> {
        if !self.is_steady() {
            return Ok(0);
        }
        let expired = judgement::expire(&self.db, Time::now(), self.first_lease()).await;
        let expired = expired.inspect_err(|_| self.was_unreachable())?;
        if expired > 0 {
            self.wake();
        }
        Ok(expired)
    }

    /// The submissions to contests that no idle worker has claimed, and which workers judge them.
    async fn urgent(&self) -> Result<Urgent, DbError> {
        let before = Time::now().before(PATIENCE);
        let waiting = judgement::waiting_in_contests(&self.db, before).await?;
        Ok(Urgent {
            remotes: self.toolchains.judged_by(&self.db, &waiting).await?,
            all: waiting.iter().map(|waiting| waiting.count).sum(),
        })
    }

    /// Whether submissions to contests wait that a worker judges, and no worker is idle. `remote`
    /// is `None` for a worker of this process.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn is_urgent(&self, remote: Option<i64>) -> Result<bool, DbError> {
        Ok(self.urgent().await?.for_worker(remote) > 0)
    }

    /// Queues a leased judgement again if a submission to a contest waits for its worker. The
    /// worker then claims its next judgement, and calls [`DatabaseQueue::way_used`].
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn make_way(&self, lease: Lease, remote: Option<i64>) -> Result<bool, DbError> {
        let mut making_way = self.making_way.lock().await;
        making_way.retain(|begin| begin.elapsed() < MAKING_WAY);
        let count = i64::try_from(making_way.len()).unwrap_or(i64::MAX);
        let urgent = self.urgent().await?;
        if urgent.for_worker(remote) <= count {
            return Ok(false);
        }
        let (judgement, attempt) = (lease.judgement, lease.attempt);
        let makes_way = judgement::make_way(&self.db, judgement, attempt, urgent.remotes.keys());
        let makes_way = makes_way.await?;
        if makes_way {
            self.additions.fetch_add(1, Ordering::SeqCst);
            making_way.push(Instant::now());
        }
        Ok(makes_way)
    }

    /// A worker that has made way has claimed its next judgement.
    pub async fn way_used(&self) {
        self.making_way.lock().await.pop();
    }

    /// Wakes a worker, because judgements were added.
    pub fn wake(&self) {
        self.outbox.put(News::JudgementsAdded);
        self.wake_here();
    }

    /// Wakes a worker, because another process has added judgements.
    pub fn wake_here(&self) {
        self.additions.fetch_add(1, Ordering::SeqCst);
        self.added.notify();
        self.added_for_fleet.notify_waiters();
    }

    /// Waits until the queue may have judgements.
    async fn wait(&self) {
        // After the timeout, too, the worker looks for a judgement again.
        let _ = tokio::time::timeout(POLL_INTERVAL, self.added.notified()).await;
    }

    /// Completes when judgements are added after this call.
    pub fn added_for_fleet(&self) -> OwnedNotified {
        self.added_for_fleet.clone().notified_owned()
    }
}

/// How many submissions to contests wait for a worker.
#[derive(Debug)]
struct Urgent {
    /// For each worker on another machine that judges some of them.
    remotes: HashMap<i64, i64>,
    /// For a worker of this process.
    all: i64,
}

impl Urgent {
    fn for_worker(&self, remote: Option<i64>) -> i64 {
        let of_remote = |id| self.remotes.get(&id).copied().unwrap_or(0);
        remote.map_or(self.all, of_remote)
    }
}

/// The queue for the workers of this process.
#[derive(Debug)]
pub struct SiteQueue {
    queue: DatabaseQueue,
    live: Arc<Live>,
    blobs: Blobs,
    /// How the names of its workers begin.
    prefix: String,
    running: std::sync::Mutex<HashMap<Lease, Change>>,
}

impl SiteQueue {
    /// The queue of a process, which has a name if several processes serve the site.
    pub fn new(
        queue: DatabaseQueue,
        live: Arc<Live>,
        blobs: Blobs,
        process: Option<&str>,
    ) -> SiteQueue {
        SiteQueue {
            prefix: process.map_or_else(String::new, judgement::workers_of),
            queue,
            live,
            blobs,
            running: std::sync::Mutex::default(),
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<Lease, Change>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue for SiteQueue {
    type Error = QueueError;

    async fn claim(&self, worker: &str) -> Result<Option<Task>, QueueError> {
        let worker = format!("{}{worker}", self.prefix);
        let claimed = self.queue.claim(&worker, None, &self.blobs).await?;
        let Some(Claimed { task, change }) = claimed else {
            return Ok(None);
        };
        if let Some(change) = change {
            self.running().insert(task.lease, change);
            self.live.changed(change);
        }
        Ok(Some(task))
    }

    async fn package(&self, task: &Task) -> Result<PathBuf, QueueError> {
        Ok(self.blobs.path(task.package.as_str()))
    }

    async fn renew(&self, lease: Lease) -> Result<bool, QueueError> {
        Ok(self.queue.renew(lease).await?)
    }

    async fn set_initial(&self, lease: Lease, verdict: Verdict) -> Result<bool, QueueError> {
        Ok(self.queue.set_initial(lease, verdict).await?)
    }

    fn show(&self, lease: Lease, progress: &Progress) {
        let known = self.live.progress(lease.judgement);
        let from = known.map_or(0, |known| known.tests.len());
        // A shorter report is that of a new attempt.
        let from = if from <= progress.tests.len() {
            from
        } else {
            0
        };
        self.live.add_progress(Report {
            judgement: lease.judgement,
            from,
            tests: progress.tests[from..].to_vec(),
            of: progress.of,
        });
        if let Some(change) = self.running().get(&lease) {
            self.live.changed(*change);
        }
    }

    async fn finish(&self, lease: Lease, outcome: Outcome) -> Result<bool, QueueError> {
        Ok(self.queue.finish(lease, outcome).await?)
    }

    async fn fail(&self, lease: Lease, failure: Failure) -> Result<bool, QueueError> {
        Ok(self.queue.fail(lease, &failure).await?)
    }

    async fn make_way(&self, lease: Lease) -> Result<bool, QueueError> {
        Ok(self.queue.make_way(lease, None).await?)
    }

    async fn way_used(&self) {
        self.queue.way_used().await;
    }

    fn ended(&self, lease: Lease) {
        self.live.forget(lease.judgement);
        if let Some(change) = self.running().remove(&lease) {
            self.live.changed(change);
        }
    }

    async fn wait(&self) {
        self.queue.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::fleet_worker;
    use crate::db::problem::Visibility;
    use crate::db::tests::{add_problem, add_user, add_worker, into_contest, submit, with_each};
    use crate::db::user::Role;
    use millibox_fleet::introduction::{Introduction, Toolchain};

    /// Introduces a worker that judges in one language.
    async fn introduce(db: &Db, worker: i64, class: Class, language: &str) {
        let introduction = Introduction {
            version: String::new(),
            slots: 1,
            classes: vec![class],
            toolchains: vec![Toolchain::new(language, "1")],
            calibration_ns: 1,
        };
        let text = serde_json::to_string(&introduction).unwrap();
        let mut tx = db.begin().await.unwrap();
        let stored = fleet_worker::introduce(&mut tx, worker, &text, Time::now());
        assert_eq!(stored.await.unwrap(), 1);
        tx.commit().await.unwrap();
    }

    #[test]
    fn judgement_makes_way_only_for_submissions_that_its_worker_judges() {
        with_each(async |db| {
            // A new queue does not know earlier introductions.
            let queue = || DatabaseQueue::new(db.clone(), Outbox::default());
            let ada = add_user(db, "ada", Role::User).await;
            let sum = add_problem(db, ada, Visibility::Public).await;
            for _ in 0..2 {
                submit(db, ada, sum, None).await;
            }
            let first = add_worker(db, "first").await;
            let second = add_worker(db, "second").await;
            let mut leases = Vec::new();
            let begin = Time::now();
            for (id, now) in [(first, begin), (second, begin.after(LEASE))] {
                let remote = Remote {
                    id,
                    classes: &Class::ALL,
                    languages: &["cpp20".to_owned()],
                };
                let task = judgement::claim_for(db, "slot", Some(&remote), now, LEASE).await;
                let task = task.unwrap().expect("a judgement");
                leases.push(Lease {
                    judgement: task.id,
                    attempt: task.attempt,
                });
            }
            let makes_way = async |index: usize, worker: i64| {
                let made = queue().make_way(leases[index], Some(worker)).await;
                made.unwrap()
            };
            introduce(db, first, Class::Contest, "cpp20").await;
            introduce(db, second, Class::Contest, "cpp20").await;
            assert!(!makes_way(1, second).await, "no submission waits");

            let (_, waiting) = submit(db, ada, sum, None).await;
            into_contest(db, waiting).await;
            assert!(!makes_way(0, first).await, "the other one has begun later");
            introduce(db, second, Class::Practice, "cpp20").await;
            assert!(!makes_way(1, second).await, "it judges no contests");
            introduce(db, first, Class::Contest, "java").await;
            introduce(db, second, Class::Contest, "java").await;
            for (index, worker) in [first, second].into_iter().enumerate() {
                assert!(
                    !makes_way(index, worker).await,
                    "no worker has the language"
                );
                assert!(!queue().is_urgent(Some(worker)).await.unwrap());
            }
            assert!(
                queue().is_urgent(None).await.unwrap(),
                "the site itself judges"
            );
            introduce(db, first, Class::Contest, "cpp20").await;
            assert!(queue().is_urgent(Some(first)).await.unwrap());
            assert!(
                makes_way(0, first).await,
                "the other worker could not judge it"
            );
        });
    }

    #[test]
    fn clock_that_was_set_ends_no_lease() {
        let lease = Duration::from_secs(30);
        let hour = Duration::from_secs(3600);
        let mut steady = Steady::new();
        let (mut now, mut clock) = (steady.since, steady.examined.1);
        let mut after = |passed: Duration, set_to: fn(Time) -> Time| {
            (now, clock) = (now + passed, set_to(clock.after(passed)));
            steady.lasts_for(lease, now, clock)
        };
        assert!(!after(lease / 2, |clock| clock));
        assert!(after(lease / 2, |clock| clock));
        // A slow correction of the clock is no step.
        assert!(after(lease, |clock| clock.before(Duration::from_millis(500))));
        assert!(!after(lease, |clock| clock.after(Duration::from_secs(3600))));
        assert!(!after(lease / 2, |clock| clock));
        assert!(after(lease / 2, |clock| clock));
        assert!(!after(hour, |clock| clock.before(Duration::from_secs(7200))));
        assert!(after(lease, |clock| clock));
    }
}
