//! Places that many hold at the same time, such as connections.
//!
//! A pool has a bound on all places and a share, the bound on the places of one key. If the pool is
//! full, the key with the most places loses the one that it has not used for the longest time. So a
//! key can use places that are free, but cannot take them from keys with fewer places. The holder
//! of a lost place ends its work when its token is cancelled.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Places that are divided among keys. A place weighs 1 at first and can grow.
#[derive(Debug)]
pub struct Pool<K> {
    bound: usize,
    share: usize,
    held: Arc<Mutex<Held<K>>>,
}

#[derive(Debug)]
struct Held<K> {
    /// The weight of all places.
    total: usize,
    /// The number of uses, which orders them.
    uses: u64,
    keys: HashMap<K, Holding>,
}

/// The places of a key.
#[derive(Debug, Default)]
struct Holding {
    weight: usize,
    places: HashMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    weight: usize,
    /// The number of its last use.
    used: u64,
    lost: CancellationToken,
}

/// A place, which is free again after the drop.
#[derive(Debug)]
pub struct Permit<K: Hash + Eq + Clone> {
    key: K,
    id: u64,
    bound: usize,
    share: usize,
    held: Arc<Mutex<Held<K>>>,
}

fn lock<K>(held: &Mutex<Held<K>>) -> MutexGuard<'_, Held<K>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Hash + Eq + Clone> Held<K> {
    fn weight(&self, key: &K) -> usize {
        self.keys.get(key).map_or(0, |holding| holding.weight)
    }

    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    fn heaviest(&self) -> Option<(K, usize)> {
        let keys = self.keys.iter();
        let heaviest = keys.max_by_key(|(_, holding)| holding.weight);
        heaviest.map(|(key, holding)| (key.clone(), holding.weight))
    }

    /// Makes room for a key that adds `by`. Returns false if no key has more than this key.
    fn make_room(&mut self, key: &K, by: usize, bound: usize) -> bool {
        while self.total + by > bound {
            match self.heaviest() {
                Some((heaviest, weight)) if weight > self.weight(key) + by => {
                    self.take_away(&heaviest);
                }
                _ => return false,
            }
        }
        true
    }

    /// Takes away the place of a key that was not used for the longest time.
    fn take_away(&mut self, key: &K) {
        let Some(holding) = self.keys.get(key) else {
            return;
        };
        let places = holding.places.iter();
        let oldest = places.min_by_key(|(_, slot)| slot.used).map(|(id, _)| *id);
        if let Some(slot) = oldest.and_then(|id| self.remove(key, id)) {
            slot.lost.cancel();
        }
    }

    fn remove(&mut self, key: &K, id: u64) -> Option<Entry> {
        let holding = self.keys.get_mut(key)?;
        let slot = holding.places.remove(&id)?;
        holding.weight -= slot.weight;
        self.total -= slot.weight;
        if holding.places.is_empty() {
            self.keys.remove(key);
        }
        Some(slot)
    }

    fn add(&mut self, key: &K, lost: CancellationToken) -> u64 {
        let id = self.next_use();
        let slot = Entry {
            weight: 1,
            used: id,
            lost,
        };
        let holding = self.keys.entry(key.clone()).or_default();
        holding.places.insert(id, slot);
        holding.weight += 1;
        self.total += 1;
        id
    }
}

impl<K: Hash + Eq + Clone> Pool<K> {
    /// A pool with a bound on the weight of all places and of those of one key.
    pub fn new(bound: usize, share: usize) -> Pool<K> {
        let held = Held {
            total: 0,
            uses: 0,
            keys: HashMap::new(),
        };
        Pool {
            bound,
            share,
            held: Arc::new(Mutex::new(held)),
        }
    }

    fn place(&self, key: K, id: u64) -> Permit<K> {
        Permit {
            key,
            id,
            bound: self.bound,
            share: self.share,
            held: self.held.clone(),
        }
    }

    /// Takes a place, whose loss cancels the token. Returns `None` if the key has its share, or if
    /// the pool is full and no key has more places.
    pub fn take(&self, key: K, lost: &CancellationToken) -> Option<Permit<K>> {
        let mut held = lock(&self.held);
        if held.weight(&key) >= self.share || !held.make_room(&key, 1, self.bound) {
            return None;
        }
        let id = held.add(&key, lost.clone());
        drop(held);
        Some(self.place(key, id))
    }

    /// Takes a place in any case. If the pool is full, the key with the most places loses one, even
    /// if it is the same key.
    pub fn replace(&self, key: K, lost: &CancellationToken) -> Permit<K> {
        let mut held = lock(&self.held);
        if held.weight(&key) >= self.share {
            held.take_away(&key);
        }
        while held.total >= self.bound {
            match held.heaviest() {
                Some((heaviest, _)) => held.take_away(&heaviest),
                None => break,
            }
        }
        let id = held.add(&key, lost.clone());
        drop(held);
        self.place(key, id)
    }
}

impl<K: Hash + Eq + Clone> Permit<K> {
    /// Marks the place as used now.
    pub fn touch(&self) {
        let mut held = lock(&self.held);
        let now = held.next_use();
        let holding = held.keys.get_mut(&self.key);
        if let Some(slot) = holding.and_then(|holding| holding.places.get_mut(&self.id)) {
            slot.used = now;
        }
    }

    /// Lets the place weigh more. Returns false if the place was lost or cannot grow, as in
    /// [`Pool::take`].
    pub fn grow(&self, by: usize) -> bool {
        let mut held = lock(&self.held);
        if held.weight(&self.key) + by > self.share || !held.make_room(&self.key, by, self.bound) {
            return false;
        }
        let Some(holding) = held.keys.get_mut(&self.key) else {
            return false;
        };
        let Some(slot) = holding.places.get_mut(&self.id) else {
            return false;
        };
        slot.weight += by;
        holding.weight += by;
        held.total += by;
        true
    }
}

impl<K: Hash + Eq + Clone> Drop for Permit<K> {
    fn drop(&mut self) {
        // A lost place is already removed.
        lock(&self.held).remove(&self.key, self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(pool: &Pool<char>, key: char) -> Option<(Permit<char>, CancellationToken)> {
        let lost = CancellationToken::new();
        Some((pool.take(key, &lost)?, lost))
    }

    #[test]
    fn key_has_its_share_which_becomes_free() {
        let pool = Pool::new(8, 2);
        let mut held: Vec<_> = (0..3).map(|_| taken(&pool, 'a')).collect();
        let is_taken: Vec<bool> = held.iter().map(Option::is_some).collect();
        assert_eq!(is_taken, [true, true, false]);
        assert!(taken(&pool, 'b').is_some());
        held.remove(0);
        let again = taken(&pool, 'a');
        assert!(again.is_some() && taken(&pool, 'a').is_none());
        drop((held, again));
        let held = lock(&pool.held);
        assert!(held.keys.is_empty() && held.total == 0);
    }

    #[test]
    fn full_pool_takes_places_from_the_key_with_the_most() {
        let pool = Pool::new(8, 8);
        let greedy: Vec<_> = (0..8).filter_map(|_| taken(&pool, 'g')).collect();
        assert!(taken(&pool, 'g').is_none(), "no key has more");
        // The first place was used last.
        greedy[0].0.touch();
        let modest: Vec<_> = (0..5).map_while(|_| taken(&pool, 'm')).collect();
        assert_eq!(modest.len(), 4, "both have the same number");
        let lost = |held: &[(_, CancellationToken)]| -> Vec<usize> {
            let tokens = held.iter().enumerate();
            let lost = tokens.filter(|(_, (_, lost))| lost.is_cancelled());
            lost.map(|(number, _)| number).collect()
        };
        assert_eq!(lost(&greedy), [1, 2, 3, 4]);
        assert!(lost(&modest).is_empty());
        drop(greedy);
        assert_eq!(lock(&pool.held).total, 4);
        assert!(taken(&pool, 'g').is_some());
    }

    #[test]
    fn replacing_always_finds_a_place() {
        let pool = Pool::new(4, 4);
        let replaced = |key| {
            let lost = CancellationToken::new();
            (pool.replace(key, &lost), lost)
        };
        let crowd: Vec<_> = "aabc".chars().map(replaced).collect();
        let newest = replaced('a');
        let lost: Vec<bool> = crowd.iter().map(|(_, lost)| lost.is_cancelled()).collect();
        assert_eq!(lost, [true, false, false, false]);
        assert!(!newest.1.is_cancelled());
        assert_eq!(lock(&pool.held).total, 4);
    }

    #[test]
    fn heavy_place_is_lost_when_a_light_one_grows() {
        let pool = Pool::new(100, 60);
        let (greedy, lost) = taken(&pool, 'g').unwrap();
        assert!(greedy.grow(59) && !greedy.grow(1), "the share");
        let (other, _) = taken(&pool, 'o').unwrap();
        assert!(other.grow(30));
        let (modest, _) = taken(&pool, 'm').unwrap();
        assert!(!lost.is_cancelled() && modest.grow(20) && lost.is_cancelled());
        assert!(!greedy.grow(1), "a lost place");
        let held = lock(&pool.held);
        assert_eq!(held.total, 52);
    }
}
