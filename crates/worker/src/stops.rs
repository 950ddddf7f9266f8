//! Stops work that runs in this process.

use millibox_judge::cancel::CancelToken;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The tokens of running work, by its id. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Stops(Arc<Mutex<HashMap<i64, CancelToken>>>);

impl Stops {
    /// The token of work that begins.
    pub fn begin(&self, id: i64) -> CancelToken {
        let token = CancelToken::new();
        self.tokens().insert(id, token.clone());
        token
    }

    /// Removes the token of work that has ended.
    pub fn end(&self, id: i64) {
        self.tokens().remove(&id);
    }

    /// Stops work, if it runs in this process.
    pub fn stop(&self, id: i64) {
        if let Some(token) = self.tokens().get(&id) {
            token.cancel();
        }
    }

    fn tokens(&self) -> MutexGuard<'_, HashMap<i64, CancelToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
