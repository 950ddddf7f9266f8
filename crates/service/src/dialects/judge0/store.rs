//! Submissions in memory: those that wait or run and, for a limited time, those that have ended.

use super::model::Draft;
use super::status::Status;
use super::submission::{Submission, Verdict};
use crate::config::Judge0Config;
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
    keep: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    submissions: HashMap<Arc<str>, Submission>,
    /// Tokens in the order of creation.
    created: VecDeque<Arc<str>>,
    /// Tokens in the order in which they ended; some may be deleted.
    ended: VecDeque<Arc<str>>,
    queued: usize,
    running: usize,
    bytes: usize,
    counts: Counts,
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
    pub fn new(config: &Judge0Config) -> Store {
        Store {
            shared: Arc::new(Shared {
                max_queued: config.max_queued,
                max_bytes: usize::try_from(config.max_bytes).unwrap_or(usize::MAX),
                keep: Duration::from_secs(config.keep_s),
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

    /// Whether this many more submissions may wait.
    ///
    /// # Errors
    /// Too many submissions would wait.
    pub fn check_room(&self, count: usize) -> Result<(), Full> {
        if self.state().queued.saturating_add(count) > self.shared.max_queued {
            return Err(Full);
        }
        Ok(())
    }

    /// Adds a waiting submission.
    ///
    /// # Errors
    /// Too many submissions wait, or there is no room in memory.
    pub fn insert(&self, token: String, draft: Draft) -> Result<Submission, Full> {
        let submission = Submission::new(token, draft);
        let mut state = self.state();
        state.remove_expired(self.shared.keep);
        state.make_room(submission.size(), self.shared.max_bytes);
        let has_bytes = state.bytes.saturating_add(submission.size()) <= self.shared.max_bytes;
        if state.queued >= self.shared.max_queued || !has_bytes {
            return Err(Full);
        }
        state.queued += 1;
        state.bytes += submission.size();
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
            state.queued -= 1;
            state.running += 1;
        }
    }

    /// Records that the submission has ended. Returns it with its result.
    pub fn finish(&self, token: &str, verdict: Verdict) -> Option<Submission> {
        let mut guard = self.state();
        let state = &mut *guard;
        let submission = state.submissions.get_mut(token)?;
        match submission.status() {
            Status::InQueue => state.queued -= 1,
            Status::Processing => state.running -= 1,
            _ => return Some(submission.clone()),
        }
        *state.counts.statuses.entry(verdict.status).or_default() += 1;
        state.bytes += verdict.size();
        submission.finished_at = Some(SystemTime::now());
        submission.verdict = Some(Arc::new(verdict));
        let submission = submission.clone();
        state.make_room(0, self.shared.max_bytes);
        state.ended.push_back(submission.token.clone());
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
    /// Removes the oldest ended submissions until there is room.
    fn make_room(&mut self, bytes: usize, max_bytes: usize) {
        while self.bytes.saturating_add(bytes) > max_bytes {
            let Some(token) = self.ended.pop_front() else {
                return;
            };
            self.forget(&token);
        }
    }

    fn remove_expired(&mut self, keep: Duration) {
        while let Some(token) = self.ended.front() {
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
            if let Some(token) = self.ended.pop_front() {
                self.forget(&token);
            }
        }
    }

    fn forget(&mut self, token: &str) -> Option<Submission> {
        let submission = self.submissions.remove(token)?;
        match submission.status() {
            Status::InQueue => self.queued -= 1,
            Status::Processing => self.running -= 1,
            _ => {}
        }
        self.bytes -= submission.size();
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

    fn store(max_queued: usize, max_bytes: u64, keep_s: u64) -> Store {
        Store::new(&Judge0Config {
            max_queued,
            keep_s,
            max_bytes,
            delete: false,
        })
    }

    fn insert(store: &Store, token: &str) -> Result<Submission, Full> {
        let fields = json!({ "source_code": "12345", "language_id": 43 });
        let rules = Rules {
            languages: &Languages::new(&[]),
            receivers: &Receivers::default(),
        };
        let draft = Draft::parse(fields.as_object().unwrap(), false, rules).unwrap();
        store.insert(token.to_owned(), draft)
    }

    fn accepted() -> Verdict {
        Verdict::new(Status::Accepted)
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
        assert_eq!(store.check_room(1), Err(Full));
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
    fn results_expire() {
        let store = store(10, 1 << 20, 0);
        insert(&store, "a").unwrap();
        insert(&store, "b").unwrap();
        store.finish("a", accepted());
        std::thread::sleep(Duration::from_millis(5));
        assert!(store.get("a").is_none() && store.get("b").is_some());
    }
}
