//! Jobs by id: runs and judgings that are in flight, and the answers of those that have ended.
//!
//! A job has a log of events, which any number of readers follow from any place, and in the end one
//! answer, for which any number of callers wait. Answers are kept for a while. If they exceed a
//! bound, answers that a client has received are removed before others, and older ones before newer
//! ones.
//!
//! A client that repeats a request with the same idempotency key joins the job that the first
//! request began. The key lives as long as the job's answer.

use super::queue::ClientId;
use crate::tokens::hex;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Random bytes of an id, so that no client can guess the ids of another one.
const ID_BYTES: usize = 12;
/// The bytes that a job occupies in addition to its answer and its events.
const JOB_OVERHEAD_BYTES: usize = 1024;

/// The bounds of the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegistryBounds {
    /// How long an answer is kept.
    pub keep: Duration,
    /// Maximum size of all answers and events of ended jobs, in bytes.
    pub max_bytes: usize,
    /// Maximum size of the events of one job, in bytes. The oldest ones are removed first.
    pub max_log_bytes: usize,
}

/// The kind of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// A program run on its tests.
    Run,
    /// A submission judged on the tests of a problem.
    Judging,
}

/// The progress of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The job waits for a place.
    Queued,
    /// The job runs.
    Running,
    /// The job has its answer.
    Ended,
}

/// Jobs with answers of type `A` and events of type `E`. Cheap to clone.
#[derive(Debug)]
pub struct Registry<A, E> {
    shared: Arc<Shared<A, E>>,
}

impl<A, E> Clone for Registry<A, E> {
    fn clone(&self) -> Registry<A, E> {
        Registry {
            shared: self.shared.clone(),
        }
    }
}

#[derive(Debug)]
struct Shared<A, E> {
    bounds: RegistryBounds,
    state: Mutex<State<A, E>>,
}

#[derive(Debug)]
struct State<A, E> {
    jobs: HashMap<String, Arc<Job<A, E>>>,
    keys: HashMap<Key, Keyed>,
    /// Ended jobs whose answers were received, in the order of their ends.
    received: VecDeque<Ended>,
    /// Other ended jobs, in the order of their ends.
    kept: VecDeque<Ended>,
    bytes: usize,
}

#[derive(Debug)]
struct Ended {
    id: String,
    at: Instant,
    bytes: usize,
}

/// An idempotency key, with the client and the kind of job for which it stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// The client.
    pub client: ClientId,
    /// The kind of job.
    pub kind: JobKind,
    /// The key of the client's choice.
    pub key: String,
}

#[derive(Debug)]
struct Keyed {
    id: String,
    request: [u8; 32],
}

/// A key that already stands for another request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the idempotency key stands for another request, whose job is {id}")]
pub struct KeyConflict {
    /// The job of the other request.
    pub id: String,
}

/// The job of a request with a key.
#[derive(Debug)]
pub enum Begun<A, E> {
    /// The job is new, and the caller must carry it out.
    New(Arc<Job<A, E>>),
    /// An earlier request began the job.
    Joined(Arc<Job<A, E>>),
}

/// A job.
#[derive(Debug)]
pub struct Job<A, E> {
    /// The unique id.
    pub id: String,
    /// The kind.
    pub kind: JobKind,
    /// The client whose job it is.
    pub client: ClientId,
    /// The client's own name for the job.
    pub label: Option<String>,
    /// When the job began to wait.
    pub created: Instant,
    cancellation: CancellationToken,
    progress: Mutex<Progress<A, E>>,
    /// Counts the changes of the progress.
    changes: watch::Sender<u64>,
    max_log_bytes: usize,
}

#[derive(Debug)]
struct Progress<A, E> {
    phase: Phase,
    answer: Option<A>,
    key: Option<Key>,
    events: VecDeque<Logged<E>>,
    log_bytes: usize,
    next_event: u64,
}

/// An event with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged<E> {
    /// The number, from 1 on.
    pub id: u64,
    /// The event.
    pub event: E,
    bytes: usize,
}

/// A part of a job's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPart<E> {
    /// The events.
    pub events: Vec<Logged<E>>,
    /// Events before these were removed, because the log was full.
    pub has_gap: bool,
    /// No more events follow.
    pub is_complete: bool,
}

impl<A: Clone, E: Clone> Registry<A, E> {
    /// An empty registry.
    pub fn new(bounds: RegistryBounds) -> Registry<A, E> {
        Registry {
            shared: Arc::new(Shared {
                bounds,
                state: Mutex::new(State {
                    jobs: HashMap::new(),
                    keys: HashMap::new(),
                    received: VecDeque::new(),
                    kept: VecDeque::new(),
                    bytes: 0,
                }),
            }),
        }
    }

    /// A new job.
    pub fn begin(&self, client: ClientId, kind: JobKind, label: Option<String>) -> Arc<Job<A, E>> {
        self.begin_in(&mut self.shared.state(), client, kind, label)
    }

    /// The job of a key. The digest of the request shows whether it is the same request.
    ///
    /// # Errors
    /// The key stands for another request.
    pub fn begin_keyed(
        &self,
        key: Key,
        request: [u8; 32],
        label: Option<String>,
    ) -> Result<Begun<A, E>, KeyConflict> {
        let mut state = self.shared.state();
        self.shared.remove_expired(&mut state);
        if let Some(keyed) = state.keys.get(&key) {
            if keyed.request != request {
                let id = keyed.id.clone();
                return Err(KeyConflict { id });
            }
            if let Some(job) = state.jobs.get(&keyed.id) {
                return Ok(Begun::Joined(job.clone()));
            }
        }
        let job = self.begin_in(&mut state, key.client, key.kind, label);
        job.progress().key = Some(key.clone());
        let id = job.id.clone();
        state.keys.insert(key, Keyed { id, request });
        Ok(Begun::New(job))
    }

    fn begin_in(
        &self,
        state: &mut State<A, E>,
        client: ClientId,
        kind: JobKind,
        label: Option<String>,
    ) -> Arc<Job<A, E>> {
        let job = Arc::new(Job {
            id: new_id(kind),
            kind,
            client,
            label,
            created: Instant::now(),
            cancellation: CancellationToken::new(),
            progress: Mutex::new(Progress {
                phase: Phase::Queued,
                answer: None,
                key: None,
                events: VecDeque::new(),
                log_bytes: 0,
                next_event: 1,
            }),
            changes: watch::Sender::new(0),
            max_log_bytes: self.shared.bounds.max_log_bytes,
        });
        state.jobs.insert(job.id.clone(), job.clone());
        job
    }

    /// A job by its id.
    pub fn job(&self, id: &str) -> Option<Arc<Job<A, E>>> {
        let mut state = self.shared.state();
        self.shared.remove_expired(&mut state);
        state.jobs.get(id).cloned()
    }

    /// Ends a job with its answer of this size. A job that has an answer keeps it.
    pub fn end(&self, job: &Job<A, E>, answer: A, bytes: usize) {
        let bytes = {
            let mut progress = job.progress();
            if progress.phase == Phase::Ended {
                return;
            }
            progress.phase = Phase::Ended;
            progress.answer = Some(answer);
            bytes + progress.log_bytes + job.id.len() + JOB_OVERHEAD_BYTES
        };
        {
            let mut state = self.shared.state();
            state.bytes += bytes;
            state.kept.push_back(Ended {
                id: job.id.clone(),
                at: Instant::now(),
                bytes,
            });
            self.shared.remove_expired(&mut state);
            self.shared.remove_excess(&mut state);
        }
        job.changed();
    }

    /// Lets the next request with the job's key begin a new job.
    pub fn release_key(&self, job: &Job<A, E>) {
        let key = job.progress().key.take();
        if let Some(key) = key {
            self.shared.state().keys.remove(&key);
        }
    }

    /// Records that a client has received the answer of the job that ended last, so that it is
    /// removed before others.
    pub fn mark_received(&self, job: &Job<A, E>) {
        let mut state = self.shared.state();
        // Nearly always it is the last one.
        let position = state.kept.iter().rposition(|ended| ended.id == job.id);
        if let Some(ended) = position.and_then(|position| state.kept.remove(position)) {
            state.received.push_back(ended);
        }
    }

    /// Removes a job without an answer, of which no client knows.
    pub fn forget(&self, job: &Job<A, E>) {
        self.release_key(job);
        self.shared.state().jobs.remove(&job.id);
    }

    /// Removes the answers that were kept long enough.
    pub fn remove_expired(&self) {
        self.shared.remove_expired(&mut self.shared.state());
    }

    /// The number of jobs.
    pub fn len(&self) -> usize {
        self.shared.state().jobs.len()
    }

    /// Whether no job is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Cancels all jobs.
    pub fn cancel_all(&self) {
        for job in self.shared.state().jobs.values() {
            job.cancel();
        }
    }
}

impl<A, E> Shared<A, E> {
    fn state(&self) -> MutexGuard<'_, State<A, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove_expired(&self, state: &mut State<A, E>) {
        let is_expired = |ended: &Ended| ended.at.elapsed() > self.bounds.keep;
        while state.received.front().is_some_and(is_expired) {
            state.remove_oldest_received();
        }
        while state.kept.front().is_some_and(is_expired) {
            state.remove_oldest_kept();
        }
    }

    fn remove_excess(&self, state: &mut State<A, E>) {
        while state.bytes > self.bounds.max_bytes {
            if !state.remove_oldest_received() && !state.remove_oldest_kept() {
                return;
            }
        }
    }
}

impl<A, E> State<A, E> {
    fn remove_oldest_received(&mut self) -> bool {
        let oldest = self.received.pop_front();
        oldest.map(|ended| self.remove(&ended)).is_some()
    }

    fn remove_oldest_kept(&mut self) -> bool {
        let oldest = self.kept.pop_front();
        oldest.map(|ended| self.remove(&ended)).is_some()
    }

    fn remove(&mut self, ended: &Ended) {
        self.bytes -= ended.bytes;
        if let Some(job) = self.jobs.remove(&ended.id)
            && let Some(key) = job.progress().key.take()
        {
            self.keys.remove(&key);
        }
    }
}

impl<A, E> Job<A, E> {
    fn progress(&self) -> MutexGuard<'_, Progress<A, E>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// The progress of the job.
    pub fn phase(&self) -> Phase {
        self.progress().phase
    }

    /// Records that the job left the queue.
    pub fn start(&self) {
        let mut progress = self.progress();
        if progress.phase == Phase::Queued {
            progress.phase = Phase::Running;
        }
    }

    /// Requests the end of the job.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Waits until the end of the job is requested.
    pub async fn cancelled(&self) {
        self.cancellation.cancelled().await;
    }

    /// Whether the end of the job was requested.
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }
}

impl<A: Clone, E: Clone> Job<A, E> {
    /// Adds an event of this size to the log.
    pub fn log(&self, event: E, bytes: usize) {
        {
            let mut progress = self.progress();
            let id = progress.next_event;
            progress.next_event += 1;
            progress.log_bytes += bytes;
            progress.events.push_back(Logged { id, event, bytes });
            while progress.log_bytes > self.max_log_bytes {
                let Some(oldest) = progress.events.pop_front() else {
                    break;
                };
                progress.log_bytes -= oldest.bytes;
            }
        }
        self.changed();
    }

    /// The answer, if the job has ended.
    pub fn answer(&self) -> Option<A> {
        self.progress().answer.clone()
    }

    /// Waits for the answer.
    pub async fn ended(&self) -> A {
        let mut changes = self.changes.subscribe();
        loop {
            changes.borrow_and_update();
            if let Some(answer) = self.answer() {
                return answer;
            }
            // The sender lives as long as the job.
            let _ = changes.changed().await;
        }
    }

    /// Waits for events after the one with this number, or for the end of the job.
    pub async fn log_after(&self, last: u64) -> LogPart<E> {
        let mut changes = self.changes.subscribe();
        loop {
            changes.borrow_and_update();
            let part = self.log_part(last);
            if !part.events.is_empty() || part.is_complete {
                return part;
            }
            let _ = changes.changed().await;
        }
    }

    fn log_part(&self, last: u64) -> LogPart<E> {
        let progress = self.progress();
        let first = progress.next_event - progress.events.len() as u64;
        let wanted = last.saturating_add(1);
        let skipped = usize::try_from(wanted.saturating_sub(first)).unwrap_or(usize::MAX);
        LogPart {
            events: progress.events.iter().skip(skipped).cloned().collect(),
            has_gap: wanted < first,
            is_complete: progress.phase == Phase::Ended,
        }
    }
}

/// A new id.
pub fn new_id(kind: JobKind) -> String {
    let prefix = match kind {
        JobKind::Run => "r_",
        JobKind::Judging => "j_",
    };
    let mut bytes = [0; ID_BYTES];
    // The kernel gives up to 256 bytes at once, without interruption.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    format!("{prefix}{}", hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry(keep: Duration, max_bytes: usize) -> Registry<&'static str, u32> {
        Registry::new(RegistryBounds {
            keep,
            max_bytes,
            max_log_bytes: 10,
        })
    }

    fn key(client: ClientId) -> Key {
        Key {
            client,
            kind: JobKind::Run,
            key: "k".to_owned(),
        }
    }

    const HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn waiting_callers_receive_the_answer() {
        let registry = registry(HOUR, 1 << 20);
        let job = registry.begin(1, JobKind::Run, None);
        assert_eq!(job.phase(), Phase::Queued);
        let waiting = tokio::spawn({
            let job = job.clone();
            async move { job.ended().await }
        });
        job.start();
        assert_eq!(job.phase(), Phase::Running);
        registry.end(&job, "answer", 6);
        registry.end(&job, "another", 7);
        assert_eq!(waiting.await.unwrap(), "answer");
        assert_eq!(registry.job(&job.id).unwrap().answer(), Some("answer"));
    }

    #[test]
    fn same_key_joins_and_another_request_conflicts() {
        let registry = registry(HOUR, 1 << 20);
        let Ok(Begun::New(job)) = registry.begin_keyed(key(1), [1; 32], None) else {
            panic!("the key is new");
        };
        let Ok(Begun::Joined(joined)) = registry.begin_keyed(key(1), [1; 32], None) else {
            panic!("the key is known");
        };
        assert_eq!(joined.id, job.id);
        let conflict = registry.begin_keyed(key(1), [2; 32], None).unwrap_err();
        assert_eq!(conflict.id, job.id);
        let other = registry.begin_keyed(key(2), [2; 32], None);
        assert!(matches!(other, Ok(Begun::New(_))));
        registry.release_key(&job);
        let again = registry.begin_keyed(key(1), [2; 32], None);
        assert!(matches!(again, Ok(Begun::New(_))));
    }

    #[test]
    fn expired_and_excess_answers_are_removed_received_ones_first() {
        let registry = registry(HOUR, 2 * JOB_OVERHEAD_BYTES + 200);
        let jobs: Vec<_> = (0..3)
            .map(|_| registry.begin(1, JobKind::Run, None))
            .collect();
        registry.end(&jobs[0], "kept", 4);
        registry.end(&jobs[1], "received", 8);
        registry.mark_received(&jobs[1]);
        registry.end(&jobs[2], "last", 4);
        assert!(registry.job(&jobs[0].id).is_some());
        assert!(registry.job(&jobs[1].id).is_none());
        assert!(registry.job(&jobs[2].id).is_some());

        let registry = self::registry(Duration::ZERO, 1 << 20);
        let Ok(Begun::New(job)) = registry.begin_keyed(key(1), [1; 32], None) else {
            panic!("the key is new");
        };
        registry.end(&job, "short-lived", 0);
        std::thread::sleep(Duration::from_millis(2));
        assert!(registry.job(&job.id).is_none());
        assert!(registry.is_empty());
        let again = registry.begin_keyed(key(1), [2; 32], None);
        assert!(matches!(again, Ok(Begun::New(_))));
    }

    #[tokio::test]
    async fn log_is_read_from_any_place_and_names_gaps() {
        let registry = registry(HOUR, 1 << 20);
        let job = registry.begin(1, JobKind::Run, None);
        for number in 1..=3 {
            job.log(number, 4);
        }
        let events = |part: &LogPart<u32>| -> Vec<(u64, u32)> {
            part.events
                .iter()
                .map(|logged| (logged.id, logged.event))
                .collect()
        };
        let all = job.log_after(0).await;
        assert_eq!(events(&all), [(2, 2), (3, 3)]);
        assert!(all.has_gap && !all.is_complete);
        let rest = job.log_after(2).await;
        assert_eq!((events(&rest), rest.has_gap), (vec![(3, 3)], false));
        registry.end(&job, "answer", 0);
        let end = job.log_after(3).await;
        assert!(end.events.is_empty() && end.is_complete && !end.has_gap);
    }
}
