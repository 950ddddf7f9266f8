//! Changes of submissions and clarifications, for pages that follow them.
//!
//! A change identifies a submission, but has no content. The page requests its content again, and
//! this request checks what the viewer may see.

pub use crate::core::change::{Change, Note, Signal};
use crate::processes::news::{News, Report};
use crate::processes::outbox::Outbox;
use millibox_fleet::result::Progress;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use tokio::sync::broadcast;

/// The number of changes by which a slow reader may lag behind.
const BACKLOG: usize = 1024;
/// The maximum number of judgements whose progress is kept. The end of one may have been missed.
const MAX_RUNNING: usize = 10_000;

/// Distributes changes, and keeps the progress of running judgements.
#[derive(Debug)]
pub struct Live {
    /// For the pages of other processes.
    outbox: Outbox,
    changes: broadcast::Sender<Signal<Change>>,
    jobs: broadcast::Sender<Signal<i64>>,
    notes: broadcast::Sender<Signal<Note>>,
    contests: broadcast::Sender<Signal<i64>>,
    streams: AtomicU64,
    running: Mutex<HashMap<i64, Progress>>,
}

impl Live {
    /// A distributor without readers, which passes changes on to other processes.
    pub fn new(outbox: Outbox) -> Live {
        Live {
            outbox,
            changes: broadcast::Sender::new(BACKLOG),
            jobs: broadcast::Sender::new(BACKLOG),
            notes: broadcast::Sender::new(BACKLOG),
            contests: broadcast::Sender::new(BACKLOG),
            streams: AtomicU64::new(0),
            running: Mutex::default(),
        }
    }

    /// The changes from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Signal<Change>> {
        self.changes.subscribe()
    }

    /// Reports a change.
    pub fn changed(&self, change: Change) {
        self.outbox.put(News::Change(change));
        send(&self.changes, change);
    }

    /// The jobs that change from now on.
    pub fn subscribe_jobs(&self) -> broadcast::Receiver<Signal<i64>> {
        self.jobs.subscribe()
    }

    /// Reports that a job has a new state or a new line in its log.
    pub fn job_changed(&self, id: i64) {
        self.outbox.put(News::Job(id));
        send(&self.jobs, id);
    }

    /// The clarifications that change from now on.
    pub fn subscribe_notes(&self) -> broadcast::Receiver<Signal<Note>> {
        self.notes.subscribe()
    }

    /// Reports that a clarification is new or has changed.
    pub fn noted(&self, note: Note) {
        self.outbox.put(News::Note(note.clone()));
        send(&self.notes, note);
    }

    /// The contests whose rounds or participants change from now on.
    pub fn subscribe_contests(&self) -> broadcast::Receiver<Signal<i64>> {
        self.contests.subscribe()
    }

    /// Reports that the staff has changed the rounds, problems or participants of a contest.
    pub fn contest_changed(&self, id: i64) {
        self.outbox.put(News::Contest(id));
        send(&self.contests, id);
    }

    /// The number of a new stream.
    pub fn next_stream(&self) -> u64 {
        self.streams.fetch_add(1, Ordering::Relaxed)
    }

    /// The progress of a judgement, if it runs.
    pub fn progress(&self, judgement: i64) -> Option<Progress> {
        self.running().get(&judgement).cloned()
    }

    /// Adds results of tests to the progress of a judgement. Returns the number of results that are
    /// known; see [`Progress::add`].
    pub fn add_progress(&self, report: Report) -> usize {
        if self.outbox.is_open() {
            self.outbox.put(News::Progress(report.clone()));
        }
        self.add_reported(report)
    }

    fn add_reported(&self, report: Report) -> usize {
        let mut running = self.running();
        if running.len() >= MAX_RUNNING {
            running.clear();
        }
        let progress = running.entry(report.judgement).or_default();
        progress.add(report.from, report.tests, report.of)
    }

    /// Removes the progress of a judgement.
    pub fn forget(&self, judgement: i64) {
        self.outbox.put(News::JudgementEnded(judgement));
        self.running().remove(&judgement);
    }

    /// Passes on news of another process to the pages of this one, if they concern pages.
    pub fn learn(&self, news: News) {
        match news {
            News::Change(change) => send(&self.changes, change),
            News::Job(id) => send(&self.jobs, id),
            News::Note(note) => send(&self.notes, note),
            News::Contest(id) => send(&self.contests, id),
            News::Progress(report) => {
                self.add_reported(report);
            }
            News::JudgementEnded(judgement) => {
                self.running().remove(&judgement);
            }
            News::Missed => {
                // Without readers, there is nothing to do.
                let _ = self.changes.send(Signal::Missed);
                let _ = self.jobs.send(Signal::Missed);
                let _ = self.notes.send(Signal::Missed);
                let _ = self.contests.send(Signal::Missed);
                // The ends of judgements may have been missed. Others report all tests again.
                self.running().clear();
            }
            _ => {}
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<i64, Progress>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn send<T>(readers: &broadcast::Sender<Signal<T>>, change: T) {
    // Without readers, there is nothing to do.
    let _ = readers.send(Signal::Of(change));
}
