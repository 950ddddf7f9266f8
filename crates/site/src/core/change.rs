//! Changes that pages follow.

use crate::db::clarification::Clarification;
use serde::{Deserialize, Serialize};

/// A submission has changed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Note {
    /// The contest.
    pub contest: i64,
    /// The clarification as it was and as it is.
    pub versions: Vec<Clarification>,
}

/// What a stream of changes receives.
#[derive(Debug, Clone)]
pub enum Signal<T> {
    /// A change.
    Of(T),
    /// Changes may have been missed, so each reader must look again.
    Missed,
}

impl<T> Signal<T> {
    /// Whether a reader must look, because the change concerns it or changes were missed.
    pub fn concerns(&self, concerns: impl FnOnce(&T) -> bool) -> bool {
        match self {
            Signal::Of(change) => concerns(change),
            Signal::Missed => true,
        }
    }
}
