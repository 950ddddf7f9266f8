//! Replies to the requests of workers on other machines.
//!
//! The site subscribes to the requests of all workers. The message server checks that a worker
//! sends only under its own name (see the crate `millibox-fleet`), and the site checks in the
//! database that the worker is enabled, and that it holds the lease that its request names. Only
//! the holder of a lease receives a package, and only that of its judgement.
//!
//! A request for a task waits here until the queue has a task. Everything that the site keeps in
//! memory for workers can be lost: after a restart, the next requests are served as before.

use super::check::{self, CheckError};
use super::live::Change;
use super::queue::{self, Claimed, POLL_INTERVAL, QueueError};
use crate::app::App;
use crate::core::pool::{Permit, Pool};
use crate::core::time::Time;
use crate::db::fleet_worker::{self, FleetWorker};
use crate::db::judgement::{Held, Remote};
use crate::db::measurement;
use crate::db::probation;
use crate::processes::news::Report;
use async_nats::{Client, Message, Subscriber};
use futures_util::StreamExt;
use millibox_fleet::introduction::Introduction;
use millibox_fleet::message::{
    self, Claim, MAX_PART_BYTES, MessageError, Rejection, Reply, Request, Stop,
};
use millibox_fleet::name::WorkerName;
use millibox_fleet::queue::Lease;
use millibox_fleet::result::Test;
use millibox_fleet::subject;
use std::io::{self, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The requests that the site serves at the same time, of all workers and of one. A worker has one
/// request that waits for a task, and each of its up to 256 slots has one about its judgement, and
/// few more.
const REQUESTS: (usize, usize) = (16_384, 768);
/// The same for long requests, which are results and reports of progress. A worker whose request is
/// rejected repeats it.
const LONG_REQUESTS: (usize, usize) = (256, 32);
/// A request is long if it has more bytes.
const SHORT_BYTES: usize = 32 << 10;

/// Why the site cannot serve workers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The server does not accept the subscription.
    #[error("cannot subscribe to the requests of workers: {0}")]
    Subscribe(#[from] async_nats::SubscribeError),
}

/// Why a request is rejected.
#[derive(Debug, thiserror::Error)]
enum ServeError {
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error("cannot read a package: {0}")]
    Package(#[from] io::Error),
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error("the worker does not exist or is disabled")]
    Worker,
}

impl From<crate::db::DbError> for ServeError {
    fn from(error: crate::db::DbError) -> ServeError {
        ServeError::Queue(error.into())
    }
}

impl ServeError {
    fn rejection(&self) -> Rejection {
        match self {
            ServeError::Queue(_) | ServeError::Package(_) | ServeError::Check(_) => Rejection::Site,
            ServeError::Message(_) => Rejection::Request,
            ServeError::Worker => Rejection::Worker,
        }
    }
}

/// Serves workers until the process ends.
///
/// # Errors
/// The subscription fails.
pub async fn serve(app: Arc<App>, client: Client) -> Result<(), FleetError> {
    let group = subject::SITES.to_owned();
    let requests = client.queue_subscribe(subject::all_requests(), group);
    let requests = requests.await?;
    tokio::spawn(stop(app.clone(), client.clone()));
    tokio::spawn(reply_to_all(app, client, requests));
    Ok(())
}

/// The places of the requests that are being served. They bound the memory for the requests of one
/// worker to 56 MB, and those for the long requests of all workers to 256 MB.
struct Places {
    all: Pool<WorkerName>,
    long: Pool<WorkerName>,
}

impl Places {
    fn new() -> Places {
        Places {
            all: Pool::new(REQUESTS.0, REQUESTS.1),
            long: Pool::new(LONG_REQUESTS.0, LONG_REQUESTS.1),
        }
    }

    /// Takes places for a request of a worker, if it can have them.
    fn take(
        &self,
        worker: WorkerName,
        bytes: usize,
        lost: &CancellationToken,
    ) -> Option<(Permit<WorkerName>, Option<Permit<WorkerName>>)> {
        let place = self.all.take(worker.clone(), lost)?;
        let long = match bytes > SHORT_BYTES {
            true => Some(self.long.take(worker, lost)?),
            false => None,
        };
        Some((place, long))
    }
}

async fn reply_to_all(app: Arc<App>, client: Client, mut requests: Subscriber) {
    let places = Places::new();
    while let Some(request) = requests.next().await {
        // A request under a different subject has no reply.
        let Some(worker) = subject::worker_of_request(&request.subject) else {
            continue;
        };
        let lost = CancellationToken::new();
        let place = places.take(worker, request.payload.len(), &lost);
        let (app, client) = (app.clone(), client.clone());
        match place {
            Some(place) => {
                tokio::spawn(async move {
                    reply_to(&app, &client, &request, &lost).await;
                    drop(place);
                });
            }
            None => answer(&client, &request, &Reply::Rejected(Rejection::Busy)).await,
        }
    }
}

/// Sends a reply, if the request names a subject of its own worker for it.
async fn answer(client: &Client, request: &Message, reply: &Reply) {
    let Some(to) = &request.reply else { return };
    let worker = subject::worker_of_request(&request.subject);
    if !worker.is_some_and(|worker| subject::is_reply(&worker, to)) {
        tracing::warn!(subject = %request.subject, "a request names a wrong subject for its reply");
        return;
    }
    let encoded = message::encode(reply).or_else(|error| {
        tracing::error!(%error, "cannot send a reply");
        message::encode(&Reply::Rejected(Rejection::Site))
    });
    let Ok(encoded) = encoded else { return };
    // Without the reply, the worker sends its request again, or its lease ends.
    if let Err(error) = client.publish(to.clone(), encoded.into()).await {
        tracing::warn!(%error, "cannot send a reply");
    }
}

/// Serves a request. A request that waits for a task ends when its place is lost. All others are
/// short, and are finished, because pages must show what they have stored.
async fn reply_to(app: &App, client: &Client, request: &Message, lost: &CancellationToken) {
    let reply = served(app, request, lost).await.unwrap_or_else(|error| {
        if let ServeError::Queue(QueueError::Database(_)) = error {
            // Workers cannot renew their leases.
            app.queue.was_unreachable();
        }
        let rejection = error.rejection();
        match rejection {
            Rejection::Site => tracing::error!(%error, "cannot serve a worker"),
            _ => tracing::warn!(%error, subject = %request.subject, "a request is rejected"),
        }
        Reply::Rejected(rejection)
    });
    answer(client, request, &reply).await;
}

async fn served(
    app: &App,
    request: &Message,
    lost: &CancellationToken,
) -> Result<Reply, ServeError> {
    let name = subject::worker_of_request(&request.subject).ok_or(ServeError::Worker)?;
    let worker = fleet_worker::by_name(&app.db, name.as_str()).await?;
    let worker = worker.filter(|worker| worker.enabled);
    let worker = worker.ok_or(ServeError::Worker)?;
    match message::decode_request(&request.payload)? {
        Request::Claim(claim) => self::claim(app, &worker, &claim, lost).await,
        Request::Introduce(introduction) => introduce(app, &worker, &introduction).await,
        Request::WayUsed => {
            app.queue.way_used().await;
            Ok(Reply::Done)
        }
        request => of_lease(app, &worker, request).await,
    }
}

/// Stores what a worker says about itself, and that it runs.
async fn introduce(
    app: &App,
    worker: &FleetWorker,
    introduction: &Introduction,
) -> Result<Reply, ServeError> {
    let text = serde_json::to_string(introduction).map_err(MessageError::from)?;
    let mut tx = app.db.begin().await?;
    fleet_worker::introduce(&mut tx, worker.id, &text, Time::now()).await?;
    tx.commit_aside().await?;
    Ok(Reply::Done)
}

/// The next task, or no task after some time.
async fn claim(
    app: &App,
    worker: &FleetWorker,
    claim: &Claim,
    lost: &CancellationToken,
) -> Result<Reply, ServeError> {
    let languages = app
        .queue
        .toolchains()
        .accepted(&app.db, worker.id, &claim.languages);
    let languages = languages.await?;
    let remote = Remote {
        id: worker.id,
        classes: &claim.classes,
        languages: &languages,
    };
    let slot = format!("{}/{}", worker.name, claim.slot);
    let deadline = Instant::now() + Duration::from_millis(claim.wait_ms);
    if worker.probation_at.is_some() {
        return self::check(app, worker, claim, deadline, lost).await;
    }
    loop {
        let added = app.queue.added_for_fleet();
        tokio::pin!(added);
        added.as_mut().enable();
        let claimed = app.queue.claim_offered(&slot, &remote, &app.blobs).await?;
        if let Some(Claimed { task, change }) = claimed {
            // The results of an earlier attempt.
            app.live.forget(task.lease.judgement);
            if let Some(change) = change {
                app.live.changed(change);
            }
            return Ok(Reply::Task(Box::new(task)));
        }
        let now = Instant::now();
        if now >= deadline {
            return Ok(Reply::NoTask);
        }
        tokio::select! {
            () = added => {}
            () = tokio::time::sleep_until(deadline.min(now + POLL_INTERVAL)) => {}
            () = lost.cancelled() => return Ok(Reply::Rejected(Rejection::Busy)),
        }
    }
}

/// The known submission for a worker on probation, when its check is due.
async fn check(
    app: &App,
    worker: &FleetWorker,
    claim: &Claim,
    deadline: Instant,
    lost: &CancellationToken,
) -> Result<Reply, ServeError> {
    let length = app.queue.lease();
    loop {
        let begun = probation::begin_check(&app.db, worker.id, Time::now(), length);
        if let Some(attempt) = begun.await? {
            let lease = check::lease(worker, attempt);
            match check::task(&app.blobs, lease, length, &claim.languages).await? {
                Some(task) => return Ok(Reply::Task(Box::new(task))),
                // Its failures can only be seen in its own languages.
                None => {
                    let ended =
                        probation::end_check(&app.db, worker.id, attempt, None, Time::now());
                    ended.await?;
                    return Ok(Reply::NoTask);
                }
            }
        }
        let now = Instant::now();
        if now >= deadline {
            return Ok(Reply::NoTask);
        }
        tokio::select! {
            () = tokio::time::sleep_until(deadline.min(now + POLL_INTERVAL)) => {}
            () = lost.cancelled() => return Ok(Reply::Rejected(Rejection::Busy)),
        }
    }
}

/// The reply to a request that names the lease of a check.
async fn of_check(app: &App, worker: &FleetWorker, request: Request) -> Result<Reply, ServeError> {
    let now = Time::now();
    let (db, id) = (&app.db, worker.id);
    let is_done = match request {
        Request::Part { offset, .. } => {
            let digest = check::digest(&app.blobs).await?;
            let bytes = part(app.blobs.path(&digest), offset).await?;
            return Ok(Reply::Part { bytes });
        }
        Request::Show { from, tests, .. } => {
            let tests = from.saturating_add(tests.len());
            return Ok(Reply::Shown { tests });
        }
        Request::Renew { lease } | Request::SetInitial { lease, .. } => {
            let until = now.after(app.queue.lease());
            probation::renew_check(db, id, lease.attempt, until).await?
        }
        Request::Finish { lease, outcome } => {
            let mistake = check::mistake(&outcome);
            probation::end_check(db, id, lease.attempt, mistake.as_deref(), now).await?
        }
        Request::Fail { lease, failure } => {
            let reason = Some(failure.reason.as_str());
            probation::end_check(db, id, lease.attempt, reason, now).await?
        }
        _ => false,
    };
    Ok(if is_done { Reply::Done } else { Reply::Lost })
}

/// The reply to a request that names the lease of a measurement.
async fn of_measurement(
    app: &App,
    worker: &FleetWorker,
    id: i64,
    request: Request,
) -> Result<Reply, ServeError> {
    let (db, own) = (&app.db, worker.id);
    let is_done = match request {
        Request::Part { lease, offset } => {
            let Some(digest) = measurement::held(db, id, lease.attempt, own).await? else {
                return Ok(Reply::Lost);
            };
            let bytes = part(app.blobs.path(&digest), offset).await?;
            return Ok(Reply::Part { bytes });
        }
        Request::Show { from, tests, .. } => {
            let tests = from.saturating_add(tests.len());
            return Ok(Reply::Shown { tests });
        }
        Request::Renew { lease } | Request::SetInitial { lease, .. } => {
            let until = Time::now().after(app.queue.lease());
            measurement::renew(db, id, lease.attempt, own, until).await?
        }
        Request::Finish { lease, outcome } => {
            let text = serde_json::to_string(&outcome).map_err(MessageError::from)?;
            measurement::finish(db, id, lease.attempt, own, &text).await?
        }
        Request::Fail { lease, failure } => {
            let (attempt, reason) = (lease.attempt, &failure.reason);
            let failed = measurement::fail(db, id, attempt, own, reason).await?;
            app.queue.wake();
            failed
        }
        Request::MakeWay { lease } => {
            app.queue.is_urgent(Some(own)).await?
                && measurement::make_way(db, id, lease.attempt, own).await?
        }
        _ => false,
    };
    Ok(if is_done { Reply::Done } else { Reply::Lost })
}

/// The reply to a request that names a lease.
async fn of_lease(app: &App, worker: &FleetWorker, request: Request) -> Result<Reply, ServeError> {
    let lease = match &request {
        Request::Part { lease, .. }
        | Request::Renew { lease }
        | Request::SetInitial { lease, .. }
        | Request::Show { lease, .. }
        | Request::Finish { lease, .. }
        | Request::Fail { lease, .. }
        | Request::MakeWay { lease } => *lease,
        Request::Introduce(_) | Request::Claim(_) | Request::WayUsed => {
            return Ok(Reply::Rejected(Rejection::Request));
        }
    };
    if let Some(id) = queue::measurement_of(lease) {
        return of_measurement(app, worker, id, request).await;
    }
    if check::is_check(worker, lease) {
        return of_check(app, worker, request).await;
    }
    // An attempt belongs to the same worker until it ends, so the worker cannot change after this.
    let Some(held) = app.queue.held(lease, worker.id).await? else {
        return Ok(Reply::Lost);
    };
    let change = change(&held);
    let is_done = match request {
        Request::Part { offset, .. } => {
            let path = app.blobs.path(&held.digest);
            let bytes = part(path, offset).await?;
            return Ok(Reply::Part { bytes });
        }
        Request::Show {
            from, tests, of, ..
        } => return Ok(show(app, lease, change, from, tests, of)),
        Request::Renew { .. } => app.queue.renew(lease).await?,
        Request::SetInitial { verdict, .. } => {
            let stored = app.queue.set_initial(lease, verdict).await?;
            app.live.changed(change);
            stored
        }
        Request::Finish { outcome, .. } => {
            let stored = app.queue.finish(lease, *outcome).await?;
            ended(app, lease, change);
            stored
        }
        Request::Fail { failure, .. } => {
            let (attempt, reason) = (lease.attempt, &failure.reason);
            let (submission, worker) = (held.submission_id, &worker.name);
            tracing::warn!(
                submission,
                attempt,
                worker,
                reason,
                "a submission was not judged"
            );
            let failed = app.queue.fail(lease, &failure).await?;
            ended(app, lease, change);
            failed
        }
        Request::MakeWay { .. } => {
            let makes_way = app.queue.make_way(lease, Some(worker.id)).await?;
            if makes_way {
                ended(app, lease, change);
            }
            makes_way
        }
        Request::Introduce(_) | Request::Claim(_) | Request::WayUsed => false,
    };
    Ok(if is_done { Reply::Done } else { Reply::Lost })
}

fn change(held: &Held) -> Change {
    Change {
        submission: held.submission_id,
        user: held.user_id,
        contest: held.contest_id,
        rejudging: held.rejudging_id,
    }
}

fn ended(app: &App, lease: Lease, change: Change) {
    app.live.forget(lease.judgement);
    app.live.changed(change);
}

/// Shows the results of tests.
fn show(
    app: &App,
    lease: Lease,
    change: Change,
    from: usize,
    tests: Vec<Test>,
    of: usize,
) -> Reply {
    let shown = app.live.add_progress(Report {
        judgement: lease.judgement,
        from,
        tests,
        of,
    });
    app.live.changed(change);
    Reply::Shown { tests: shown }
}

/// The part of a file that begins at `offset`.
async fn part(path: PathBuf, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = tokio::fs::File::open(path).await?;
    file.seek(SeekFrom::Start(offset)).await?;
    let mut bytes = Vec::new();
    file.take(MAX_PART_BYTES as u64)
        .read_to_end(&mut bytes)
        .await?;
    Ok(bytes)
}

/// Sends messages that stop cancelled judgements. A worker that misses the message notices at its
/// next renewal that it has lost the lease.
async fn stop(app: Arc<App>, client: Client) {
    let mut cancelled = app.subscribe_cancelled();
    loop {
        match cancelled.recv().await {
            Ok(judgement) => {
                app.live.forget(judgement);
                if let Err(error) = send_stop(&app, &client, judgement).await {
                    tracing::warn!(%error, "cannot stop a judgement");
                }
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// Why a judgement cannot be stopped by a message.
#[derive(Debug, thiserror::Error)]
enum StopError {
    #[error(transparent)]
    Database(#[from] crate::db::DbError),
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Publish(#[from] async_nats::PublishError),
}

async fn send_stop(app: &App, client: &Client, judgement: i64) -> Result<(), StopError> {
    let Some(worker) = fleet_worker::of_judgement(&app.db, judgement).await? else {
        return Ok(());
    };
    let Ok(name) = worker.name.parse() else {
        return Ok(());
    };
    let encoded = message::encode(&Stop { judgement })?;
    client.publish(subject::stop(&name), encoded.into()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_requests_of_a_worker_have_few_places() {
        let (places, lost) = (Places::new(), CancellationToken::new());
        let [one, other] = ["one", "other"].map(|name| name.parse::<WorkerName>().unwrap());
        let take = |worker: &WorkerName, bytes| places.take(worker.clone(), bytes, &lost);
        let mut held = Vec::new();
        for _ in 0..LONG_REQUESTS.1 {
            held.push(take(&one, SHORT_BYTES + 1).expect("a place"));
        }
        for _ in 0..REQUESTS.1 {
            assert!(take(&one, SHORT_BYTES + 1).is_none());
        }
        assert!(
            take(&one, SHORT_BYTES).is_some(),
            "rejected requests hold no place"
        );
        assert!(take(&other, SHORT_BYTES + 1).is_some());
        held.pop();
        assert!(take(&one, SHORT_BYTES + 1).is_some());
    }
}
