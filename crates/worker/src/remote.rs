//! The site's queue, reached through a NATS server.
//!
//! Each method sends a request and waits for the reply. If a reply is lost, the request is sent
//! again: the site does everything at most once for each attempt. A request for a task is not sent
//! again, because its lease ends soon unless the worker renews it.

use crate::store::{Store, StoreError};
use async_nats::{Client, RequestError};
use millibox_fleet::class::Class;
use millibox_fleet::introduction::Introduction;
use millibox_fleet::message::{self, Claim, MessageError, Rejection, Reply, Request};
use millibox_fleet::name::WorkerName;
use millibox_fleet::queue::{Lease, Queue, Task};
use millibox_fleet::result::{Failure, Outcome, Progress, Verdict};
use millibox_fleet::subject;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::watch;

/// How long the site may wait for a task before it replies that it has none. A worker that ends
/// waits for this reply.
const CLAIM_WAIT_MS: u64 = 4000;
/// The pause after a request that has failed.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The pause after the site has rejected the worker itself.
const REJECTION_PAUSE: Duration = Duration::from_secs(10);
/// How often the worker introduces itself.
const INTRODUCTION_INTERVAL: Duration = Duration::from_secs(60);
/// How long a request is sent again that the site rejects, or that gives up a task.
const RETRY_TIME: Duration = Duration::from_secs(60);
/// How long a result is sent again, or the request for a package. While the site does not reply, no
/// lease ends.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Why the queue cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The server or the site does not reply.
    #[error("the site does not reply: {0}")]
    Request(#[from] RequestError),
    /// A message cannot be sent or read.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The site rejects the request.
    #[error(transparent)]
    Rejected(Rejection),
    /// The reply belongs to a different request.
    #[error("the site sends a reply of a different kind")]
    Reply,
    /// The package cannot be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The worker lost the lease while it loaded the package.
    #[error("the lease has ended")]
    Lost,
}

/// What a worker accepts.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The kinds of judgements.
    pub classes: Vec<Class>,
    /// The names of the installed languages.
    pub languages: Vec<String>,
}

/// The site's queue.
#[derive(Debug)]
pub struct RemoteQueue {
    client: Client,
    subject: String,
    accepted: Accepted,
    store: Store,
    handle: Handle,
    /// Held by the slot whose request waits for a task. The others wait for their turns, so the
    /// costs of an idle worker do not grow with its slots.
    claiming: tokio::sync::Mutex<()>,
    /// The number of requests for a task that have received none.
    declined: AtomicU64,
    /// The latest results of tests, for tasks that send them.
    shown: Mutex<HashMap<Lease, watch::Sender<Progress>>>,
    /// The last failure of a request for a task, so that the log contains it once.
    trouble: Mutex<Option<String>>,
}

impl RemoteQueue {
    /// The queue of the site to which a client is connected.
    pub fn new(client: Client, name: &WorkerName, accepted: Accepted, store: Store) -> RemoteQueue {
        RemoteQueue {
            client,
            subject: subject::request(name),
            accepted,
            store,
            handle: Handle::current(),
            claiming: tokio::sync::Mutex::default(),
            declined: AtomicU64::default(),
            shown: Mutex::default(),
            trouble: Mutex::default(),
        }
    }

    async fn send(&self, request: Vec<u8>) -> Result<Reply, RemoteError> {
        send(&self.client, &self.subject, request).await
    }

    /// Sends a request until a reply arrives or it is too late.
    async fn insist(&self, request: Vec<u8>, patience: Duration) -> Result<bool, RemoteError> {
        let begin = Instant::now();
        loop {
            match self.send(request.clone()).await.and_then(held) {
                Err(error) if is_temporary(&error) && begin.elapsed() < patience => {
                    tracing::warn!(%error, "a request is sent again");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                result => return result,
            }
        }
    }

    async fn claimed(&self, worker: &str) -> Result<Option<Task>, RemoteError> {
        let claim = Claim {
            slot: worker.to_owned(),
            classes: self.accepted.classes.clone(),
            languages: self.accepted.languages.clone(),
            wait_ms: CLAIM_WAIT_MS,
        };
        match self.send(message::encode(&Request::Claim(claim))?).await? {
            Reply::Task(task) => Ok(Some(*task)),
            Reply::NoTask => Ok(None),
            _ => Err(RemoteError::Reply),
        }
    }

    /// Writes a failure to the log unless it is the last one.
    fn note(&self, trouble: Option<String>) {
        let mut last = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        match (&trouble, &*last) {
            (Some(new), old) if old.as_ref() != Some(new) => {
                tracing::warn!(error = new, "cannot request a task; trying again");
            }
            (None, Some(_)) => tracing::info!("the site replies again"),
            _ => {}
        }
        *last = trouble;
    }

    async fn load(&self, task: &Task) -> Result<PathBuf, RemoteError> {
        self.store.keep(task.lease, &task.package);
        if let Some(path) = self.store.get(&task.package)? {
            return Ok(path);
        }
        let begin = Instant::now();
        let mut package = self.store.begin(&task.package, task.package_bytes)?;
        while package.written() < task.package_bytes {
            let request = message::encode(&Request::Part {
                lease: task.lease,
                offset: package.written(),
            })?;
            match self.send(request).await {
                Ok(Reply::Part { bytes }) if bytes.is_empty() => break,
                Ok(Reply::Part { bytes }) => package.add(&bytes)?,
                Ok(Reply::Lost) => return Err(RemoteError::Lost),
                Ok(_) => return Err(RemoteError::Reply),
                Err(error) if is_temporary(&error) && begin.elapsed() < patience(&error) => {
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(package.finish()?)
    }
}

/// Introduces the worker to the site repeatedly, as long as the process runs. The site may have
/// been away, or may have lost what it knew.
pub async fn introduce(client: Client, name: WorkerName, introduction: Introduction) {
    let subject = subject::request(&name);
    let request = match message::encode(&Request::Introduce(Box::new(introduction))) {
        Ok(request) => request,
        Err(error) => return tracing::error!(%error, "the worker cannot introduce itself"),
    };
    loop {
        // The requests for tasks report that the site does not reply.
        let sent = send(&client, &subject, request.clone()).await;
        let pause = match sent.as_ref().err().is_some_and(is_temporary) {
            true => RETRY_PAUSE,
            false => INTRODUCTION_INTERVAL,
        };
        tokio::time::sleep(pause).await;
    }
}

async fn send(client: &Client, subject: &str, request: Vec<u8>) -> Result<Reply, RemoteError> {
    let reply = client.request(subject.to_owned(), request.into()).await?;
    match message::decode(&reply.payload)? {
        Reply::Rejected(rejection) => Err(RemoteError::Rejected(rejection)),
        reply => Ok(reply),
    }
}

fn held(reply: Reply) -> Result<bool, RemoteError> {
    match reply {
        Reply::Done => Ok(true),
        Reply::Lost => Ok(false),
        _ => Err(RemoteError::Reply),
    }
}

/// Whether the same request may succeed later.
fn is_temporary(error: &RemoteError) -> bool {
    matches!(
        error,
        RemoteError::Request(_) | RemoteError::Rejected(Rejection::Busy | Rejection::Site)
    )
}

/// How long the request for a package is sent again after this failure.
fn patience(error: &RemoteError) -> Duration {
    match error {
        RemoteError::Request(_) => PATIENCE,
        // The site may have lost the package.
        _ => RETRY_TIME,
    }
}

/// Sends results of tests, the latest first, until the judgement has ended. Results that arrive
/// while a request waits for its reply are sent together.
async fn show(
    client: Client,
    subject: String,
    lease: Lease,
    mut latest: watch::Receiver<Progress>,
) {
    let mut sent = 0;
    while latest.changed().await.is_ok() {
        loop {
            let request = {
                let progress = latest.borrow_and_update();
                let tests = message::next_tests(&progress.tests, sent);
                if tests.is_empty() {
                    break;
                }
                Request::Show {
                    lease,
                    from: sent,
                    tests: tests.to_vec(),
                    of: progress.of,
                }
            };
            let Ok(request) = message::encode(&request) else {
                return;
            };
            match send(&client, &subject, request).await {
                // The site may have been started again, so that it shows nothing yet.
                Ok(Reply::Shown { tests }) => sent = tests,
                // The results of tests are also in the result of the judgement.
                Ok(_) => return,
                Err(_) => break,
            }
        }
    }
}

impl Queue for RemoteQueue {
    type Error = RemoteError;

    async fn claim(&self, worker: &str) -> Result<Option<Task>, RemoteError> {
        let declined = self.declined.load(Ordering::SeqCst);
        let claiming = self.claiming.lock().await;
        if self.declined.load(Ordering::SeqCst) != declined {
            // So that a slot that must end notices it.
            return Ok(None);
        }
        let claimed = self.claimed(worker).await;
        if !matches!(claimed, Ok(Some(_))) {
            self.declined.fetch_add(1, Ordering::SeqCst);
        }
        drop(claiming);
        self.note(claimed.as_ref().err().map(ToString::to_string));
        match &claimed {
            Ok(_) => {}
            Err(RemoteError::Rejected(Rejection::Worker | Rejection::Request)) => {
                tokio::time::sleep(REJECTION_PAUSE).await;
            }
            Err(_) => tokio::time::sleep(RETRY_PAUSE).await,
        }
        Ok(claimed.unwrap_or_default())
    }

    async fn package(&self, task: &Task) -> Result<PathBuf, RemoteError> {
        self.load(task).await
    }

    async fn renew(&self, lease: Lease) -> Result<bool, RemoteError> {
        let request = message::encode(&Request::Renew { lease })?;
        self.send(request).await.and_then(held)
    }

    async fn set_initial(&self, lease: Lease, verdict: Verdict) -> Result<bool, RemoteError> {
        let request = message::encode(&Request::SetInitial { lease, verdict })?;
        // It is stored again with the result.
        self.send(request).await.and_then(held)
    }

    fn show(&self, lease: Lease, progress: &Progress) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = shown.entry(lease).or_insert_with(|| {
            let (sender, receiver) = watch::channel(Progress::default());
            let (client, subject) = (self.client.clone(), self.subject.clone());
            self.handle.spawn(show(client, subject, lease, receiver));
            sender
        });
        sender.send_replace(progress.clone());
    }

    async fn finish(&self, lease: Lease, outcome: Outcome) -> Result<bool, RemoteError> {
        let request = message::encode_finish(lease, outcome)?;
        self.insist(request, PATIENCE).await
    }

    async fn fail(&self, lease: Lease, mut failure: Failure) -> Result<bool, RemoteError> {
        let reason = millibox_fleet::result::cut(&failure.reason, message::MAX_REASON_BYTES);
        failure.reason = reason.to_owned();
        let request = Request::Fail { lease, failure };
        self.insist(message::encode(&request)?, RETRY_TIME).await
    }

    async fn make_way(&self, lease: Lease) -> Result<bool, RemoteError> {
        let request = message::encode(&Request::MakeWay { lease })?;
        self.send(request).await.and_then(held)
    }

    async fn way_used(&self) {
        let Ok(request) = message::encode(&Request::WayUsed) else {
            return;
        };
        // The site forgets soon by itself that the worker has made way.
        let _ = self.send(request).await;
    }

    fn ended(&self, lease: Lease) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.remove(&lease);
        self.store.release(lease);
    }

    async fn wait(&self) {
        // A request for a task waits at the site.
    }
}
