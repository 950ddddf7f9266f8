//! Headers that answers of the service's own interface and of the dialects have in common.

use crate::core::registry::{JobKind, new_id};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use std::time::Duration;

/// The id of the run; in the service's own interface, the id in `/v1/runs/{id}`.
pub const RUN_ID: HeaderName = HeaderName::from_static("millibox-run-id");
/// The outcome of the program, or the reason for its absence.
pub const OUTCOME: HeaderName = HeaderName::from_static("millibox-outcome");
/// The time in the queue in milliseconds.
pub const QUEUED_MS: HeaderName = HeaderName::from_static("millibox-queued-ms");

/// The content of the headers of an answer.
#[derive(Debug, Clone, Default)]
pub struct RunHeaders<'a> {
    /// The id; a new one if the client gave no id.
    pub id: Option<&'a str>,
    /// The outcome of the only program.
    pub outcome: Option<&'static str>,
    /// The time in the queue.
    pub queued: Option<Duration>,
}

impl RunHeaders<'_> {
    /// Adds the headers to an answer.
    pub fn add_to(&self, headers: &mut HeaderMap) {
        let made;
        let id = match self.id {
            Some(id) => id,
            None => {
                made = new_id(JobKind::Run);
                &made
            }
        };
        if let Ok(id) = HeaderValue::from_str(id) {
            headers.insert(RUN_ID, id);
        }
        if let Some(outcome) = self.outcome {
            headers.insert(OUTCOME, HeaderValue::from_static(outcome));
        }
        if let Some(queued) = self.queued {
            let queued = u64::try_from(queued.as_millis()).unwrap_or(u64::MAX);
            headers.insert(QUEUED_MS, queued.into());
        }
    }
}
