//! Bounds on what one user or one network keeps open at the same time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of places that each key has taken.
type Counts<K> = Mutex<HashMap<K, usize>>;

/// Places for each key.
#[derive(Debug)]
pub struct Places<K> {
    limit: usize,
    counts: Arc<Counts<K>>,
}

/// A taken place, which is free again after the drop.
#[derive(Debug)]
pub struct Place<K: Hash + Eq> {
    key: K,
    counts: Arc<Counts<K>>,
}

fn lock<K>(counts: &Counts<K>) -> MutexGuard<'_, HashMap<K, usize>> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Hash + Eq + Clone> Places<K> {
    /// Gives each key `limit` places.
    pub fn new(limit: usize) -> Places<K> {
        Places {
            limit,
            counts: Arc::default(),
        }
    }

    /// Takes a place. Returns `None` if all places of the key are taken.
    pub fn take(&self, key: K) -> Option<Place<K>> {
        let mut counts = lock(&self.counts);
        let count = counts.get(&key).copied().unwrap_or(0);
        if count >= self.limit {
            return None;
        }
        counts.insert(key.clone(), count + 1);
        drop(counts);
        Some(Place {
            key,
            counts: self.counts.clone(),
        })
    }
}

impl<K: Hash + Eq> Drop for Place<K> {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_has_its_own_places_which_become_free() {
        let places = Places::new(2);
        let mut taken: Vec<_> = (0..3).map(|_| places.take("a")).collect();
        let is_taken: Vec<bool> = taken.iter().map(Option::is_some).collect();
        assert_eq!(is_taken, [true, true, false]);
        assert!(places.take("b").is_some());
        taken.remove(0);
        let again = places.take("a");
        assert!(again.is_some() && places.take("a").is_none());
        drop((taken, again));
        assert!(lock(&places.counts).is_empty());
    }
}
