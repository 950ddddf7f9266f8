//! Jobs by id: runs and judgings that are in flight, and the answers of those that have ended.
//!
//! A job has a log of events and, once it has ended, one answer. Any number of readers can follow
//! the log from any position, and any number of callers can wait for the answer. Answers are kept
//! for a while. If they exceed a bound, the client whose answers occupy the most memory loses some:
//! those that it has received before others, and older answers before newer ones. So no client can
//! displace the answers of a more modest one.
//!
//! A client that repeats a request with the same idempotency key joins the job that the first
//! request began. The key is kept as long as the job's answer.

mod job;

pub use job::{Job, JobKind, Key, Logged, Phase, new_id};

use super::queue::ClientId;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The bytes that a job occupies in addition to its answer and its events.
const JOB_OVERHEAD_BYTES: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegistryBounds {
    /// How long an answer is kept.
    pub keep: Duration,
    /// Maximum size of all answers and events of ended jobs, in bytes.
    pub max_bytes: usize,
    /// Maximum size of the events of one job, in bytes. The oldest ones are removed first.
    pub max_log_bytes: usize,
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
    clients: HashMap<ClientId, Kept>,
    bytes: usize,
}

/// The ended jobs of a client.
#[derive(Debug, Default)]
struct Kept {
    /// Those whose answers were received, in the order in which they ended.
    received: VecDeque<Ended>,
    /// The others, in the order in which they ended.
    waiting: VecDeque<Ended>,
    bytes: usize,
}

#[derive(Debug)]
struct Ended {
    id: String,
    at: Instant,
    bytes: usize,
}

#[derive(Debug)]
struct Keyed {
    id: String,
    request: [u8; 32],
}

/// A key that already belongs to another request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the idempotency key belongs to another request, whose job is {id}")]
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

impl<A: Clone, E: Clone> Registry<A, E> {
    /// An empty registry.
    pub fn new(bounds: RegistryBounds) -> Registry<A, E> {
        Registry {
            shared: Arc::new(Shared {
                bounds,
                state: Mutex::new(State {
                    jobs: HashMap::new(),
                    keys: HashMap::new(),
                    clients: HashMap::new(),
                    bytes: 0,
                }),
            }),
        }
    }

    /// Begins a new job.
    pub fn begin(&self, client: ClientId, kind: JobKind, label: Option<String>) -> Arc<Job<A, E>> {
        self.begin_in(&mut self.shared.state(), client, kind, label)
    }

    /// The job of a key. The digest shows whether the key belongs to the same request.
    ///
    /// # Errors
    /// The key belongs to another request.
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
        let max_log_bytes = self.shared.bounds.max_log_bytes;
        let job = Arc::new(Job::new(client, kind, label, max_log_bytes));
        state.jobs.insert(job.id.clone(), job.clone());
        job
    }

    /// A job by its id.
    pub fn job(&self, id: &str) -> Option<Arc<Job<A, E>>> {
        let mut state = self.shared.state();
        self.shared.remove_expired(&mut state);
        state.jobs.get(id).cloned()
    }

    /// Ends a job with an answer of this size. A job that already has an answer keeps that answer.
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
            let kept = state.clients.entry(job.client).or_default();
            kept.bytes += bytes;
            kept.waiting.push_back(Ended {
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

    /// Records that a client has received the answer for an ended job, so that it is removed before
    /// others.
    pub fn mark_received(&self, job: &Job<A, E>) {
        let mut state = self.shared.state();
        // The job is nearly always the one that ended last.
        let Some(kept) = state.clients.get_mut(&job.client) else {
            return;
        };
        let position = kept.waiting.iter().rposition(|ended| ended.id == job.id);
        if let Some(ended) = position.and_then(|position| kept.waiting.remove(position)) {
            kept.received.push_back(ended);
        }
    }

    /// Removes a job that has no answer and that no client knows.
    pub fn forget(&self, job: &Job<A, E>) {
        self.release_key(job);
        self.shared.state().jobs.remove(&job.id);
    }

    /// Removes the answers that were kept long enough.
    pub fn remove_expired(&self) {
        self.shared.remove_expired(&mut self.shared.state());
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
        let clients: Vec<ClientId> = state.clients.keys().copied().collect();
        for client in clients {
            while let Some(expired) = state.clients.get_mut(&client).and_then(|kept| {
                pop_if(&mut kept.received, is_expired)
                    .or_else(|| pop_if(&mut kept.waiting, is_expired))
            }) {
                state.remove(client, &expired);
            }
        }
    }

    fn remove_excess(&self, state: &mut State<A, E>) {
        while state.bytes > self.bounds.max_bytes {
            let heaviest = state.clients.iter_mut().max_by_key(|(_, kept)| kept.bytes);
            let removed = heaviest.and_then(|(client, kept)| {
                let received = kept.received.pop_front();
                Some((*client, received.or_else(|| kept.waiting.pop_front())?))
            });
            let Some((client, ended)) = removed else {
                return;
            };
            state.remove(client, &ended);
        }
    }
}

fn pop_if(queue: &mut VecDeque<Ended>, is_removed: impl Fn(&Ended) -> bool) -> Option<Ended> {
    queue
        .front()
        .is_some_and(is_removed)
        .then(|| queue.pop_front())?
}

impl<A, E> State<A, E> {
    fn remove(&mut self, client: ClientId, ended: &Ended) {
        self.bytes -= ended.bytes;
        if let Some(kept) = self.clients.get_mut(&client) {
            kept.bytes -= ended.bytes;
            if kept.bytes == 0 {
                self.clients.remove(&client);
            }
        }
        if let Some(job) = self.jobs.remove(&ended.id)
            && let Some(key) = job.progress().key.take()
        {
            self.keys.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::job::LogPart;
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
        assert!(registry.shared.state().jobs.is_empty());
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

    #[test]
    fn greedy_client_loses_its_own_answers() {
        // Two answers fit.
        let registry = registry(HOUR, 2 * (JOB_OVERHEAD_BYTES + 1000));
        let end = |client| {
            let job = registry.begin(client, JobKind::Run, None);
            registry.end(&job, "answer", 900);
            job.id.clone()
        };
        let modest = end(1);
        let greedy = [end(2), end(2), end(2)];
        assert!(registry.job(&modest).is_some());
        let kept = greedy.map(|id| registry.job(&id).is_some());
        assert_eq!(kept, [false, false, true]);
    }
}
