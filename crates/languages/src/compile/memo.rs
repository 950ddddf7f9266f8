//! Things that are found out once, by whoever needs them first, while all others who need them
//! wait.

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
    /// What is known under the name, or is found out now.
    pub(super) fn get(&self, name: &str, find_out: impl FnOnce() -> T) -> T {
        self.cell(name).get_or_init(find_out).clone()
    }

    /// What is known from now on, unless something is.
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
