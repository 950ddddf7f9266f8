//! Changes of submissions and clarifications, for pages that follow them.
//!
//! A change identifies a submission, but has no content. The page requests its content again, and
//! this request checks what the viewer may see.

use crate::db::clarification::Clarification;
use millibox_fleet::result::Progress;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::broadcast;

/// The number of changes by which a slow reader may lag behind.
const BACKLOG: usize = 1024;

/// A submission has changed.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    /// The submission.
    pub submission: i64,
    /// Its author.
    pub user: i64,
    /// Its contest.
    pub contest: Option<i64>,
    /// The set with which it is judged again.
    pub rejudging: Option<i64>,
}

/// A clarification has changed. The streams of readers apply the visibility rule, and send no
/// content.
#[derive(Debug, Clone)]
pub struct Note {
    /// The contest.
    pub contest: i64,
    /// The clarification as it was and as it is.
    pub versions: Arc<[Clarification]>,
}

/// Distributes changes, and keeps the progress of running judgements.
#[derive(Debug)]
pub struct Live {
    changes: broadcast::Sender<Change>,
    jobs: broadcast::Sender<i64>,
    notes: broadcast::Sender<Note>,
    contests: broadcast::Sender<i64>,
    streams: AtomicU64,
    running: Mutex<HashMap<i64, Progress>>,
}

impl Live {
    /// A distributor without readers.
    pub fn new() -> Live {
        Live {
            changes: broadcast::Sender::new(BACKLOG),
            jobs: broadcast::Sender::new(BACKLOG),
            notes: broadcast::Sender::new(BACKLOG),
            contests: broadcast::Sender::new(BACKLOG),
            streams: AtomicU64::new(0),
            running: Mutex::default(),
        }
    }

    /// The changes from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Reports a change.
    pub fn changed(&self, change: Change) {
        // Without readers, there is nothing to do.
        let _ = self.changes.send(change);
    }

    /// The jobs that change from now on.
    pub fn subscribe_jobs(&self) -> broadcast::Receiver<i64> {
        self.jobs.subscribe()
    }

    /// Reports that a job has a new state or a new line in its log.
    pub fn job_changed(&self, id: i64) {
        // Without readers, there is nothing to do.
        let _ = self.jobs.send(id);
    }

    /// The clarifications that change from now on.
    pub fn subscribe_notes(&self) -> broadcast::Receiver<Note> {
        self.notes.subscribe()
    }

    /// Reports that a clarification is new or has changed.
    pub fn noted(&self, note: Note) {
        // Without readers, there is nothing to do.
        let _ = self.notes.send(note);
    }

    /// The contests whose rounds or participants change from now on.
    pub fn subscribe_contests(&self) -> broadcast::Receiver<i64> {
        self.contests.subscribe()
    }

    /// Reports that the staff has changed the rounds, problems or participants of a contest.
    pub fn contest_changed(&self, id: i64) {
        // Without readers, there is nothing to do.
        let _ = self.contests.send(id);
    }

    /// The number of a new stream.
    pub fn next_stream(&self) -> u64 {
        self.streams.fetch_add(1, Ordering::Relaxed)
    }

    /// The progress of a judgement, if it runs.
    pub fn progress(&self, judgement: i64) -> Option<Progress> {
        self.running().get(&judgement).cloned()
    }

    /// Stores the progress of a judgement.
    pub fn set_progress(&self, judgement: i64, progress: Progress) {
        self.running().insert(judgement, progress);
    }

    /// Removes the progress of a judgement.
    pub fn forget(&self, judgement: i64) {
        self.running().remove(&judgement);
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<i64, Progress>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
