//! Submissions in memory: those that wait or run and, for a limited time, those that have ended.
//!
//! Each client has a share of the waiting submissions and of the memory. If results need room, the
//! client whose submissions occupy the most memory loses its oldest results.

use super::model::Draft;
use super::status::Status;
use super::submission::{Submission, Verdict};
use crate::config::Judge0Config;
use crate::core::queue::ClientId;
use crate::core::share::Bound;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    max_queued: usize,
    max_bytes: usize,
    /// Whether several clients share the store.
    is_divided: bool,
    keep: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    submissions: HashMap<Arc<str>, Submission>,
    /// Tokens in the order of creation.
    created: VecDeque<Arc<str>>,
    clients: HashMap<ClientId, Part>,
    queued: usize,
    running: usize,
    bytes: usize,
    counts: Counts,
}

/// The submissions of a client.
#[derive(Debug, Default)]
struct Part {
    queued: usize,
    bytes: usize,
    /// Tokens in the order in which they ended; some may be deleted.
    ended: VecDeque<Arc<str>>,
}

/// The numbers of submissions that arrived and ended since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// All submissions.
    pub total: u64,
    /// By the day of their creation, in days since 1970.
    pub days: BTreeMap<u64, u64>,
    /// By the number of their language.
    pub languages: BTreeMap<u32, u64>,
    /// By their result.
    pub statuses: BTreeMap<Status, u64>,
}

/// The numbers of submissions in the store, and the memory that they occupy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Submissions that wait.
    pub queued: usize,
    /// Submissions that run.
    pub running: usize,
    /// Submissions in all states.
    pub total: usize,
    /// The bytes that they occupy.
    pub bytes: usize,
}

/// The store holds the maximum number of submissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the queue is full")]
pub struct Full;

/// Why a submission is not removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RemoveError {
    /// No submission has this token.
    #[error("no submission has this token")]
    Unknown,
    /// The submission has not ended.
    #[error("the submission has not ended")]
    NotEnded(Status),
}

impl Store {
    /// An empty store.
    pub fn new(config: &Judge0Config, is_divided: bool) -> Store {
        Store {
            shared: Arc::new(Shared {
                max_queued: config.max_queued,
                max_bytes: usize::try_from(config.max_bytes).unwrap_or(usize::MAX),
                keep: Duration::from_secs(config.keep_s),
                is_divided,
                state: Mutex::default(),
            }),
        }
    }

    /// The maximum number of waiting submissions.
    pub fn max_queued(&self) -> usize {
        self.shared.max_queued
    }

    /// The current figures of the store.
    pub fn load(&self) -> Load {
        let state = self.state();
        Load {
            queued: state.queued,
            running: state.running,
            total: state.submissions.len(),
            bytes: state.bytes,
        }
    }

    /// The figures since the start.
    pub fn counts(&self) -> Counts {
        self.state().counts.clone()
    }

    /// Whether this many more submissions of a client may wait.
    ///
    /// # Errors
    /// Too many submissions would wait.
    pub fn check_room(&self, client: ClientId, count: usize) -> Result<(), Full> {
        let state = self.state();
        let own = state.clients.get(&client).map_or(0, |part| part.queued);
        match self.admits(self.shared.max_queued, state.queued, own, count) {
            true => Ok(()),
            false => Err(Full),
        }
    }

    fn admits(&self, total: usize, used: usize, own: usize, more: usize) -> bool {
        let bound = Bound {
            total: total as u64,
            is_divided: self.shared.is_divided,
        };
        bound.admits(used as u64, own as u64, more as u64)
    }

    /// Adds a waiting submission.
    ///
    /// # Errors
    /// Too many submissions wait, or there is no room in memory.
    pub fn insert(
        &self,
        token: String,
        client: ClientId,
        draft: Draft,
    ) -> Result<Submission, Full> {
        let submission = Submission::new(token, client, draft);
        let mut state = self.state();
        state.remove_expired(self.shared.keep);
        // A submission that is rejected anyway must not cost any results.
        let queued = state.clients.get(&client).map_or(0, |part| part.queued);
        if !self.admits(self.shared.max_queued, state.queued, queued, 1) {
            return Err(Full);
        }
        state.make_room(submission.size(), self.shared.max_bytes);
        let size = submission.size();
        let has_bytes = |state: &State| {
            let own = state.clients.get(&client).map_or(0, |part| part.bytes);
            self.admits(self.shared.max_bytes, state.bytes, own, size)
        };
        // Results of the client itself make room for its new submissions.
        while !has_bytes(&state) {
            let part = state.clients.get_mut(&client);
            let oldest = part.and_then(|part| part.ended.pop_front());
            state.forget(&oldest.ok_or(Full)?);
        }
        state.queued += 1;
        state.bytes += size;
        let part = state.clients.entry(client).or_default();
        part.queued += 1;
        part.bytes += size;
        state.counts.total += 1;
        *state
            .counts
            .days
            .entry(day(submission.created_at))
            .or_default() += 1;
        let language = submission.draft.language.id;
        *state.counts.languages.entry(language).or_default() += 1;
        state.created.push_back(submission.token.clone());
        state
            .submissions
            .insert(submission.token.clone(), submission.clone());
        Ok(submission)
    }

    /// Records that the submission has left the queue.
    pub fn start(&self, token: &str) {
        let mut guard = self.state();
        let state = &mut *guard;
        if let Some(submission) = state.submissions.get_mut(token)
            && submission.status() == Status::InQueue
        {
            submission.started_at = Some(SystemTime::now());
            let client = submission.client;
            state.leave_queue(client);
            state.running += 1;
        }
    }

    /// Records that the submission has ended. Returns it with its result.
    pub fn finish(&self, token: &str, verdict: Verdict) -> Option<Submission> {
        let mut guard = self.state();
        let state = &mut *guard;
        let submission = state.submissions.get_mut(token)?;
        let (status, client) = (submission.status(), submission.client);
        if status.is_final() {
            return Some(submission.clone());
        }
        *state.counts.statuses.entry(verdict.status).or_default() += 1;
        let size = verdict.size();
        submission.finished_at = Some(SystemTime::now());
        submission.verdict = Some(Arc::new(verdict));
        let submission = submission.clone();
        match status {
            Status::InQueue => state.leave_queue(client),
            _ => state.running -= 1,
        }
        state.bytes += size;
        let part = state.clients.entry(client).or_default();
        part.bytes += size;
        part.ended.push_back(submission.token.clone());
        state.make_room(0, self.shared.max_bytes);
        Some(submission)
    }

    /// A submission.
    pub fn get(&self, token: &str) -> Option<Submission> {
        let mut state = self.state();
        state.remove_expired(self.shared.keep);
        state.submissions.get(token).cloned()
    }

    /// Submissions in the order of creation, the latest first, and their total number.
    pub fn page(&self, skip: usize, count: usize) -> (Vec<Submission>, usize) {
        let mut state = self.state();
        state.remove_expired(self.shared.keep);
        let tokens = state.created.iter().rev();
        let page = tokens
            .filter_map(|token| state.submissions.get(token))
            .skip(skip)
            .take(count)
            .cloned()
            .collect();
        (page, state.submissions.len())
    }

    /// Removes a submission that has ended.
    ///
    /// # Errors
    /// No submission has this token, or it has not ended.
    pub fn remove(&self, token: &str) -> Result<Submission, RemoveError> {
        let mut state = self.state();
        let submission = state.submissions.get(token).ok_or(RemoveError::Unknown)?;
        let status = submission.status();
        if !status.is_final() {
            return Err(RemoveError::NotEnded(status));
        }
        state.forget(token).ok_or(RemoveError::Unknown)
    }

    /// Removes a submission that has not ended and never will.
    pub fn abandon(&self, token: &str) {
        let mut state = self.state();
        let submission = state.submissions.get(token);
        if submission.is_some_and(|submission| !submission.status().is_final()) {
            state.forget(token);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn leave_queue(&mut self, client: ClientId) {
        self.queued -= 1;
        if let Some(part) = self.clients.get_mut(&client) {
            part.queued -= 1;
        }
    }

    /// Removes the oldest results of the heaviest client until there is room.
    fn make_room(&mut self, bytes: usize, max_bytes: usize) {
        while self.bytes.saturating_add(bytes) > max_bytes {
            // A client without results has nothing to remove.
            let parts = self.clients.values_mut();
            let parts = parts.filter(|part| !part.ended.is_empty());
            let heaviest = parts.max_by_key(|part| part.bytes);
            let Some(token) = heaviest.and_then(|part| part.ended.pop_front()) else {
                return;
            };
            self.forget(&token);
        }
    }

    fn remove_expired(&mut self, keep: Duration) {
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        for client in clients {
            self.remove_expired_of(client, keep);
        }
    }

    fn remove_expired_of(&mut self, client: ClientId, keep: Duration) {
        while let Some(token) = self.clients.get(&client).and_then(|it| it.ended.front()) {
            let finished_at = self
                .submissions
                .get(token)
                .and_then(|submission| submission.finished_at);
            let is_fresh = finished_at.is_some_and(|finished_at| {
                // A clock that was set back does not expire anything.
                finished_at.elapsed().is_ok_and(|age| age <= keep) || finished_at.elapsed().is_err()
            });
            if is_fresh {
                return;
            }
            let part = self.clients.get_mut(&client);
            if let Some(token) = part.and_then(|part| part.ended.pop_front()) {
                self.forget(&token);
            }
        }
    }

    fn forget(&mut self, token: &str) -> Option<Submission> {
        let submission = self.submissions.remove(token)?;
        match submission.status() {
            Status::InQueue => self.leave_queue(submission.client),
            Status::Processing => self.running -= 1,
            _ => {}
        }
        self.bytes -= submission.size();
        if let Some(part) = self.clients.get_mut(&submission.client) {
            part.bytes -= submission.size();
            if part.bytes == 0 {
                self.clients.remove(&submission.client);
            }
        }
        // Old submissions are removed first, so the search is short.
        if let Some(at) = self.created.iter().position(|known| **known == *token) {
            self.created.remove(at);
        }
        Some(submission)
    }
}

/// Days since 1970.
pub fn day(time: SystemTime) -> u64 {
    let age = time.duration_since(SystemTime::UNIX_EPOCH);
    age.map_or(0, |age| age.as_secs() / (24 * 60 * 60))
}

#[cfg(test)]
mod tests {
    use super::super::callbacks::Receivers;
    use super::super::languages::Languages;
    use super::super::model::Rules;
    use super::*;
    use serde_json::json;

    fn divided(max_queued: usize, max_bytes: u64, keep_s: u64, is_divided: bool) -> Store {
        let config = Judge0Config {
            max_queued,
            keep_s,
            max_bytes,
            delete: false,
        };
        Store::new(&config, is_divided)
    }

    fn store(max_queued: usize, max_bytes: u64, keep_s: u64) -> Store {
        divided(max_queued, max_bytes, keep_s, false)
    }

    fn insert(store: &Store, token: &str) -> Result<Submission, Full> {
        insert_for(store, 0, token)
    }

    fn insert_for(store: &Store, client: ClientId, token: &str) -> Result<Submission, Full> {
        let fields = json!({ "source_code": "12345", "language_id": 43 });
        let rules = Rules {
            languages: &Languages::new(&[]),
            receivers: &Receivers::default(),
        };
        let draft = Draft::parse(fields.as_object().unwrap(), false, rules).unwrap();
        store.insert(token.to_owned(), client, draft)
    }

    fn accepted() -> Verdict {
        Verdict::new(Status::Accepted)
    }

    #[test]
    fn rejected_submission_removes_no_results() {
        let size = insert(&store(1, 1 << 20, 60), "x").unwrap().size();
        // There is no room for a third submission beside the result.
        let max_bytes = 2 * size + accepted().size();
        let store = store(1, max_bytes as u64, 60);
        insert(&store, "a").unwrap();
        store.finish("a", accepted());
        insert(&store, "b").unwrap();
        for token in ["c", "d", "e"] {
            assert!(insert(&store, token).is_err());
        }
        assert!(store.get("a").is_some());
    }

    #[test]
    fn submission_goes_through_its_states() {
        let store = store(2, 1 << 20, 60);
        insert(&store, "a").unwrap();
        assert_eq!(store.get("a").unwrap().status(), Status::InQueue);
        assert_eq!(
            store.remove("a").unwrap_err(),
            RemoveError::NotEnded(Status::InQueue)
        );
        store.start("a");
        assert_eq!(store.get("a").unwrap().status(), Status::Processing);
        assert_eq!((store.load().queued, store.load().running), (0, 1));
        store.finish("a", accepted());
        // A second result changes nothing.
        store.finish("a", Verdict::internal_error("late"));
        assert_eq!(store.get("a").unwrap().status(), Status::Accepted);
        assert_eq!((store.load().queued, store.load().running), (0, 0));
        store.remove("a").unwrap();
        assert_eq!(store.remove("a").unwrap_err(), RemoveError::Unknown);
        assert_eq!((store.load().total, store.load().bytes), (0, 0));
        assert_eq!(store.counts().total, 1);
        assert_eq!(store.counts().statuses[&Status::Accepted], 1);
    }

    #[test]
    fn waiting_submissions_are_bounded_and_abandoned_ones_make_room() {
        let store = store(2, 1 << 20, 60);
        insert(&store, "a").unwrap();
        insert(&store, "b").unwrap();
        assert_eq!(insert(&store, "c").unwrap_err(), Full);
        assert_eq!(store.check_room(0, 1), Err(Full));
        store.abandon("a");
        insert(&store, "c").unwrap();
        let tokens = |(page, total): (Vec<Submission>, usize)| {
            let tokens: Vec<_> = page.iter().map(|it| it.token.to_string()).collect();
            (tokens, total)
        };
        assert_eq!(tokens(store.page(0, 1)), (vec!["c".to_owned()], 2));
        assert_eq!(tokens(store.page(1, 5)), (vec!["b".to_owned()], 2));
    }

    #[test]
    fn oldest_results_make_room_but_unfinished_submissions_stay() {
        let store = store(10, 3000, 60);
        insert(&store, "a").unwrap();
        insert(&store, "b").unwrap();
        assert_eq!(insert(&store, "c").unwrap_err(), Full);
        store.finish("a", accepted());
        insert(&store, "c").unwrap();
        assert!(store.get("a").is_none() && store.get("b").is_some());
    }

    #[test]
    fn greedy_client_fills_only_its_share_and_loses_its_own_results() {
        let queue = divided(4, 1 << 20, 60, true);
        for token in ["a", "b"] {
            insert_for(&queue, 1, token).unwrap();
        }
        assert_eq!(insert_for(&queue, 1, "c").unwrap_err(), Full);
        insert_for(&queue, 2, "d").unwrap();
        let results = divided(10, 4 * 1200, 60, true);
        let finish = |client, token: &str, bytes: usize| {
            insert_for(&results, client, token).unwrap();
            let mut verdict = accepted();
            verdict.stdout = vec![0; bytes].into();
            results.finish(token, verdict);
        };
        finish(2, "modest", 0);
        finish(1, "first", 1000);
        finish(1, "second", 1000);
        let is_kept = |token| results.get(token).is_some();
        assert_eq!(
            ["modest", "first", "second"].map(is_kept),
            [true, false, true]
        );
    }

    #[test]
    fn results_expire() {
        let store = store(10, 1 << 20, 0);
        insert(&store, "a").unwrap();
        insert(&store, "b").unwrap();
        store.finish("a", accepted());
        std::thread::sleep(Duration::from_millis(5));
        assert!(store.get("a").is_none() && store.get("b").is_some());
    }
}
