//! The user behind a change.

use std::sync::{Arc, Mutex, PoisonError};

/// The user of a request, which the extractor of sessions or a sign-in sets.
#[derive(Debug, Clone, Default)]
pub struct Actor(Arc<Mutex<Option<(i64, String)>>>);

impl Actor {
    /// Sets the user.
    pub fn set(&self, id: i64, login: &str) {
        let mut user = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *user = Some((id, login.to_owned()));
    }

    /// The user, if one was set.
    pub fn get(&self) -> Option<(i64, String)> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
