//! The reasons for which a request is not admitted.

use super::MIN_RETRY_AFTER;
use std::time::Duration;

/// Why a request was not admitted. No part of it ran.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The queue is full.
    #[error("the queue is full: {queued} requests are waiting")]
    QueueFull {
        /// Requests that wait.
        queued: usize,
        /// When a retry is likely to succeed.
        retry_after: Duration,
    },
    /// The client's share of the queue is used up.
    #[error("this client has {queued} requests waiting, which is its maximum")]
    ShareUsed {
        /// The client's requests that wait.
        queued: usize,
        /// When a retry is likely to succeed.
        retry_after: Duration,
    },
    /// The request waited for the maximum time.
    #[error("no slot became free within {} ms", .waited.as_millis())]
    TimedOut {
        /// How long it waited.
        waited: Duration,
        /// When a retry is likely to succeed.
        retry_after: Duration,
    },
    /// The libraries of a language are being compiled, which happens once.
    #[error("{title} is being prepared")]
    Preparing {
        /// Title of the language.
        title: String,
        /// When a retry is likely to succeed.
        retry_after: Duration,
    },
    /// The service is shutting down.
    #[error("the service is shutting down")]
    Draining,
    /// The memory limit exceeds the memory that all running requests together may use.
    #[error("a memory limit of {memory_bytes} bytes exceeds the {max_bytes} bytes of this service")]
    TooMuchMemory {
        /// The memory limit of the request.
        memory_bytes: u64,
        /// The memory that all running requests together may use.
        max_bytes: u64,
    },
    /// The files and outputs of the request exceed the memory that requests may hold in the
    /// service.
    #[error(
        "the files and outputs of this request may need {bytes} bytes of the service's memory, \
         which is more than the {max_bytes} bytes of `requests.held_bytes`; use smaller files, \
         lower output limits or fewer tests"
    )]
    TooLarge {
        /// The memory that the request may need.
        bytes: u64,
        /// The memory that all requests together may hold.
        max_bytes: u64,
    },
}

impl Refusal {
    /// When a retry is likely to succeed, if ever.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Refusal::QueueFull { retry_after, .. }
            | Refusal::ShareUsed { retry_after, .. }
            | Refusal::TimedOut { retry_after, .. }
            | Refusal::Preparing { retry_after, .. } => Some(*retry_after),
            Refusal::Draining => Some(MIN_RETRY_AFTER),
            Refusal::TooMuchMemory { .. } | Refusal::TooLarge { .. } => None,
        }
    }

    /// Whether the request itself is too large, so that no retry can succeed.
    pub fn is_final(&self) -> bool {
        self.retry_after().is_none()
    }
}
