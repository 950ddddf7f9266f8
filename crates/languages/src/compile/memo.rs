//! Values that are computed once. The first thread that needs a value computes it; other threads
//! wait for the result.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Memo<T>(Mutex<HashMap<String, Cell<T>>>);

/// A value, and when it was computed.
type Cell<T> = Arc<OnceLock<(T, Instant)>>;

impl<T> Default for Memo<T> {
    fn default() -> Memo<T> {
        Memo(Mutex::default())
    }
}

impl<T: Clone> Memo<T> {
    /// Returns the value with this name, and computes it if necessary.
    pub(super) fn get(&self, name: &str, compute: impl FnOnce() -> T) -> T {
        let cell = self.cell(name);
        let (value, _) = cell.get_or_init(|| (compute(), Instant::now()));
        value.clone()
    }

    /// Sets the value with this name. An earlier value is kept.
    pub(super) fn set(&self, name: &str, value: T) {
        let _ = self.cell(name).set((value, Instant::now()));
    }

    fn cell(&self, name: &str) -> Cell<T> {
        let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match cells.get(name) {
            Some(cell) => cell.clone(),
            None => cells.entry(name.to_owned()).or_default().clone(),
        }
    }
}

impl<T: Clone, E: Clone> Memo<Result<T, E>> {
    /// Returns the value with this name, and computes it if necessary. A failure counts for this
    /// time only.
    pub(super) fn get_again(
        &self,
        name: &str,
        failure_lasts: Duration,
        compute: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.forget_failure(name, failure_lasts);
        self.get(name, compute)
    }

    /// The value with this name, if it was computed. An older failure does not count.
    pub(super) fn known(&self, name: &str, failure_lasts: Duration) -> Option<Result<T, E>> {
        self.forget_failure(name, failure_lasts);
        self.cell(name).get().map(|(value, _)| value.clone())
    }

    fn forget_failure(&self, name: &str, failure_lasts: Duration) {
        let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_old = |cell: &Cell<Result<T, E>>| {
            let found = cell.get();
            found.is_some_and(|(value, at)| value.is_err() && at.elapsed() >= failure_lasts)
        };
        if cells.get(name).is_some_and(is_old) {
            cells.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_counts_for_a_time_and_success_forever() {
        let memo = Memo::default();
        let long = Duration::from_secs(3600);
        let get = |lasts, value| memo.get_again("a", lasts, || value);
        assert_eq!(get(long, Err("first")), Err("first"));
        assert_eq!(get(long, Ok(1)), Err("first"));
        assert_eq!(memo.known("a", long), Some(Err("first")));
        assert_eq!(memo.known("a", Duration::ZERO), None);
        assert_eq!(get(Duration::ZERO, Err("second")), Err("second"));
        assert_eq!(get(Duration::ZERO, Ok(2)), Ok(2));
        assert_eq!(get(Duration::ZERO, Err("third")), Ok(2));
        assert_eq!(memo.known("a", Duration::ZERO), Some(Ok(2)));
    }
}
