//! One job: its progress, its log of events and its answer.

use crate::core::ids;
use crate::core::queue::ClientId;
use crate::hex::hex;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Random bytes of an id, so that no client can guess another client's ids.
const ID_BYTES: usize = 12;

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

/// An idempotency key, with the client and the kind of job to which it belongs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pub client: ClientId,
    /// The kind of job.
    pub kind: JobKind,
    /// The key of the client's choice.
    pub key: String,
}

#[derive(Debug)]
pub struct Job<A, E> {
    /// The unique id.
    pub id: String,
    pub kind: JobKind,
    /// The client whose job it is.
    pub client: ClientId,
    /// The client's own name for the job.
    pub label: Option<String>,
    /// When the job began to wait.
    pub created: Instant,
    cancellation: CancellationToken,
    progress: Mutex<Progress<A, E>>,
    /// Counts the changes of phase.
    changes: watch::Sender<u64>,
    max_log_bytes: usize,
}

#[derive(Debug)]
pub(super) struct Progress<A, E> {
    pub(super) phase: Phase,
    pub(super) answer: Option<A>,
    pub(super) key: Option<Key>,
    events: VecDeque<Logged<E>>,
    pub(super) log_bytes: usize,
    next_event: u64,
}

/// An event with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged<E> {
    /// The number, from 1 on.
    pub id: u64,
    pub event: E,
    bytes: usize,
}

/// A part of a job's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPart<E> {
    pub events: Vec<Logged<E>>,
    /// Whether earlier events were removed because the log was full.
    pub has_gap: bool,
    /// Whether the log is complete, so that no more events follow.
    pub is_complete: bool,
}

impl<A, E> Job<A, E> {
    /// A new job, in the queue.
    pub(super) fn new(
        client: ClientId,
        kind: JobKind,
        label: Option<String>,
        max_log_bytes: usize,
    ) -> Job<A, E> {
        Job {
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
            max_log_bytes,
        }
    }

    pub(super) fn progress(&self) -> MutexGuard<'_, Progress<A, E>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn changed(&self) {
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

    /// Requests cancellation of the job.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Waits until cancellation of the job is requested.
    pub async fn cancelled(&self) {
        self.cancellation.cancelled().await;
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

pub fn new_id(kind: JobKind) -> String {
    let prefix = match kind {
        JobKind::Run => "r_",
        JobKind::Judging => "j_",
    };
    let mut bytes = [0; ID_BYTES];
    // getrandom(2) returns up to 256 bytes in one call, which no signal interrupts.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    ids::stamp(&mut bytes);
    format!("{prefix}{}", hex(&bytes))
}
