//! The queue of judgements, in the form that workers use.

use crate::core::time::Time;
use crate::core::verdict::Verdict;
use crate::db::judgement::{self, Failure, Outcome, Task};
use crate::db::{Db, DbError};
use crate::notifier::Notifier;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// How long a worker may be silent before another worker may take its judgement.
pub const LEASE: Duration = Duration::from_secs(30);

/// A judgement and the number of its lease.
#[derive(Debug, Clone, Copy)]
pub struct Lease {
    /// The judgement.
    pub judgement: i64,
    /// The attempt. A later attempt invalidates this one.
    pub attempt: i64,
}

impl Lease {
    /// The lease of a task.
    pub fn of(task: &Task) -> Lease {
        Lease {
            judgement: task.id,
            attempt: task.attempt,
        }
    }
}

/// A queue of judgements. The methods with a lease return false if the worker has lost the lease.
pub trait Queue: Send + Sync + 'static {
    /// Why the queue cannot be used.
    type Error: Error + Send + Sync;

    /// Leases the next judgement to a worker.
    fn claim(&self, worker: &str)
    -> impl Future<Output = Result<Option<Task>, Self::Error>> + Send;

    /// Renews a lease.
    fn renew(&self, lease: Lease) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Stores the initial verdict.
    fn set_initial(
        &self,
        lease: Lease,
        verdict: Verdict,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Stores the result and ends the lease.
    fn finish(
        &self,
        lease: Lease,
        outcome: &Outcome,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Ends the lease without a result.
    fn fail(
        &self,
        lease: Lease,
        failure: &Failure<'_>,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Whether submissions to contests wait, and no worker is idle.
    fn is_urgent(&self) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Queues a leased judgement again if a submission to a contest waits for its worker. The
    /// worker then ends the judging, claims the next judgement, and calls [`Queue::way_used`].
    fn make_way(&self, lease: Lease) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// The worker that has made way has claimed its next judgement.
    fn way_used(&self) -> impl Future<Output = ()> + Send;

    /// Waits until the queue may have judgements.
    fn wait(&self) -> impl Future<Output = ()> + Send;
}

/// The queue in the database of the site.
#[derive(Debug, Clone)]
pub struct DatabaseQueue {
    db: Db,
    added: Notifier,
    /// The workers that make way and have not claimed their next judgement.
    making_way: Arc<Mutex<i64>>,
}

/// How long a submission to a contest waits before it interrupts another judgement. An idle worker
/// claims it sooner.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often a worker looks for a judgement without being woken.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

impl DatabaseQueue {
    /// The queue of a database.
    pub fn new(db: Db) -> DatabaseQueue {
        DatabaseQueue {
            db,
            added: Notifier::default(),
            making_way: Arc::default(),
        }
    }

    /// The number of submissions to contests that no idle worker has claimed.
    async fn waiting(&self) -> Result<i64, DbError> {
        judgement::waiting_in_contests(&self.db, Time::now().before(PATIENCE)).await
    }

    /// Wakes a worker, because judgements were added.
    pub fn wake(&self) {
        self.added.notify();
    }
}

impl Queue for DatabaseQueue {
    type Error = DbError;

    async fn claim(&self, worker: &str) -> Result<Option<Task>, DbError> {
        judgement::claim(&self.db, worker, Time::now(), LEASE).await
    }

    async fn renew(&self, lease: Lease) -> Result<bool, DbError> {
        let until = Time::now().after(LEASE);
        judgement::renew(&self.db, lease.judgement, lease.attempt, until).await
    }

    async fn set_initial(&self, lease: Lease, verdict: Verdict) -> Result<bool, DbError> {
        judgement::set_initial(&self.db, lease.judgement, lease.attempt, verdict).await
    }

    async fn finish(&self, lease: Lease, outcome: &Outcome) -> Result<bool, DbError> {
        let now = Time::now();
        judgement::finish(&self.db, lease.judgement, lease.attempt, outcome, now).await
    }

    async fn fail(&self, lease: Lease, failure: &Failure<'_>) -> Result<bool, DbError> {
        let now = Time::now();
        judgement::fail(&self.db, lease.judgement, lease.attempt, failure, now).await
    }

    async fn is_urgent(&self) -> Result<bool, DbError> {
        Ok(self.waiting().await? > 0)
    }

    async fn make_way(&self, lease: Lease) -> Result<bool, DbError> {
        let mut making_way = self.making_way.lock().await;
        if self.waiting().await? <= *making_way {
            return Ok(false);
        }
        let makes_way = judgement::make_way(&self.db, lease.judgement, lease.attempt).await?;
        *making_way += i64::from(makes_way);
        Ok(makes_way)
    }

    async fn way_used(&self) {
        *self.making_way.lock().await -= 1;
    }

    async fn wait(&self) {
        // After the timeout, too, the worker looks for a judgement again.
        let _ = tokio::time::timeout(POLL_INTERVAL, self.added.notified()).await;
    }
}
