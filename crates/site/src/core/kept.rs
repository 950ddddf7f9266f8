//! A small cache whose least recently used value makes room for the next one. Many different
//! values for one visitor do not evict those that others use.

use std::collections::HashMap;
use std::hash::Hash;

/// Values by key, up to a number.
#[derive(Debug)]
pub struct Kept<K, V> {
    max: usize,
    uses: u64,
    values: HashMap<K, (u64, V)>,
}

impl<K: Hash + Eq + Clone, V> Kept<K, V> {
    /// Keeps at most `max` values.
    pub fn new(max: usize) -> Kept<K, V> {
        Kept {
            max,
            uses: 0,
            values: HashMap::new(),
        }
    }

    /// The value of a key, which is used now.
    pub fn get(&mut self, key: &K) -> Option<&mut V> {
        let (used, value) = self.values.get_mut(key)?;
        self.uses += 1;
        *used = self.uses;
        Some(value)
    }

    /// Keeps a value.
    pub fn insert(&mut self, key: K, value: V) {
        if !self.values.contains_key(&key) {
            self.make_room();
        }
        self.uses += 1;
        self.values.insert(key, (self.uses, value));
    }

    /// The value of a key, which is used now. A missing value is added.
    pub fn entry(&mut self, key: K, new: impl FnOnce() -> V) -> &mut V {
        if !self.values.contains_key(&key) {
            self.make_room();
        }
        self.uses += 1;
        let (used, value) = self.values.entry(key).or_insert_with(|| (0, new()));
        *used = self.uses;
        value
    }

    fn make_room(&mut self) {
        if self.values.len() < self.max {
            return;
        }
        let oldest = self.values.iter().min_by_key(|(_, (used, _))| *used);
        if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
            self.values.remove(&oldest);
        }
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.values.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_in_use_survives_many_others() {
        let mut kept = Kept::new(3);
        kept.insert(0, "popular");
        for number in 1..100 {
            assert_eq!(kept.get(&0), Some(&mut "popular"));
            kept.insert(number, "other");
        }
        assert!(kept.get(&99).is_some() && kept.get(&98).is_some());
        assert!(kept.get(&97).is_none() && kept.values.len() == 3);
    }
}
