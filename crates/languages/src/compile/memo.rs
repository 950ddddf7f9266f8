//! Values that are computed once. The first thread that needs a value computes it; other threads
//! wait for the result.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

#[derive(Debug)]
pub(super) struct Memo<T>(Mutex<HashMap<String, Arc<OnceLock<T>>>>);

impl<T> Default for Memo<T> {
    fn default() -> Memo<T> {
        Memo(Mutex::default())
    }
}

impl<T: Clone> Memo<T> {
    /// Returns the value with this name, and computes it if necessary.
    pub(super) fn get(&self, name: &str, compute: impl FnOnce() -> T) -> T {
        self.cell(name).get_or_init(compute).clone()
    }

    /// Whether the value with this name was computed.
    pub(super) fn has(&self, name: &str) -> bool {
        self.cell(name).get().is_some()
    }

    /// Sets the value with this name. An earlier value is kept.
    pub(super) fn set(&self, name: &str, value: T) {
        let _ = self.cell(name).set(value);
    }

    fn cell(&self, name: &str) -> Arc<OnceLock<T>> {
        let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match cells.get(name) {
            Some(cell) => cell.clone(),
            None => cells.entry(name.to_owned()).or_default().clone(),
        }
    }
}
