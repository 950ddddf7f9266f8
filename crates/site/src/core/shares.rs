//! Values that wait for a browser, in a bounded memory that their owners share.
//!
//! If the memory is full, an addition ends the oldest value of the owner with the most values. So
//! an owner can only displace others that use more of the memory.

use super::token::Token;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

type Digest = [u8; 32];

/// A change of a memory, for the memories of other processes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told<O, V> {
    /// A value was added.
    Added(Digest, O, V),
    /// A value was taken.
    Taken(Digest),
}

type Tell<O, V> = Box<dyn Fn(Told<O, V>) + Send + Sync>;

/// Values with an owner `O`, by the digests of their tokens.
pub struct Shares<O, V> {
    max: usize,
    lasts: Duration,
    values: Mutex<HashMap<Digest, (O, V, Instant)>>,
    tell: OnceLock<Tell<O, V>>,
}

impl<O, V> fmt::Debug for Shares<O, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shares")
            .field("max", &self.max)
            .field("lasts", &self.lasts)
            .finish_non_exhaustive()
    }
}

impl<O: Copy + Eq + Hash, V: Clone> Shares<O, V> {
    /// A memory for `max` values, each of which lasts for a time.
    pub fn new(max: usize, lasts: Duration) -> Shares<O, V> {
        Shares {
            max,
            lasts,
            values: Mutex::default(),
            tell: OnceLock::new(),
        }
    }

    /// Calls a function for each change from now on. Only the first such function is called.
    pub fn tell(&self, tell: impl Fn(Told<O, V>) + Send + Sync + 'static) {
        let _ = self.tell.set(Box::new(tell));
    }

    /// Applies a change in another process's memory.
    pub fn learn(&self, told: Told<O, V>, now: Instant) {
        match told {
            Told::Added(digest, owner, value) => self.insert(digest, owner, value, now),
            Told::Taken(digest) => {
                self.values().remove(&digest);
            }
        }
    }

    fn values(&self) -> MutexGuard<'_, HashMap<Digest, (O, V, Instant)>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a value. Returns its token.
    pub fn add(&self, owner: O, value: V, now: Instant) -> Token {
        let token = Token::random();
        if let Some(tell) = self.tell.get() {
            tell(Told::Added(token.digest(), owner, value.clone()));
        }
        self.insert(token.digest(), owner, value, now);
        token
    }

    fn insert(&self, digest: Digest, owner: O, value: V, now: Instant) {
        let mut values = self.values();
        values.retain(|_, (_, _, end)| now < *end);
        if values.len() >= self.max
            && let Some(digest) = displaced(&values)
        {
            values.remove(&digest);
        }
        values.insert(digest, (owner, value, now + self.lasts));
    }

    /// The value of a token, which stays.
    pub fn get(&self, token: &Token, now: Instant) -> Option<V> {
        let values = self.values();
        let (_, value, end) = values.get(&token.digest())?;
        (now < *end).then(|| value.clone())
    }

    /// Removes the value of a token, and returns it if its time has not ended.
    pub fn take(&self, token: &Token, now: Instant) -> Option<V> {
        let (_, value, end) = self.values().remove(&token.digest())?;
        if let Some(tell) = self.tell.get() {
            tell(Told::Taken(token.digest()));
        }
        (now < end).then_some(value)
    }

    /// Removes all values of an owner.
    pub fn remove_of(&self, owner: O) {
        self.values().retain(|_, (other, _, _)| *other != owner);
    }
}

/// The oldest value of the owner with the most values.
fn displaced<O: Copy + Eq + Hash, V>(values: &HashMap<Digest, (O, V, Instant)>) -> Option<Digest> {
    let mut counts: HashMap<O, usize> = HashMap::new();
    for (owner, _, _) in values.values() {
        *counts.entry(*owner).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count)?.0;
    let own = values.iter().filter(|(_, (owner, _, _))| *owner == most);
    let oldest = own.min_by_key(|(_, (_, _, end))| *end)?;
    Some(*oldest.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const LASTS: Duration = Duration::from_secs(10);

    #[test]
    fn two_memories_have_the_same_values() {
        let memories = [0, 1].map(|_| Arc::new(Shares::new(10, LASTS)));
        let other = memories[1].clone();
        let now = Instant::now();
        memories[0].tell(move |told| other.learn(told, now));
        let token = memories[0].add(1, "a", now);
        assert_eq!(memories[1].get(&token, now), Some("a"));
        assert_eq!(memories[0].take(&token, now), Some("a"));
        assert_eq!(memories[1].get(&token, now), None);
    }

    #[test]
    fn value_lasts_for_a_while_and_is_taken_once() {
        let shares = Shares::new(10, LASTS);
        let now = Instant::now();
        let token = shares.add(1, "a", now);
        assert_eq!(shares.get(&token, now), Some("a"));
        assert_eq!(shares.get(&Token::random(), now), None);
        assert_eq!(shares.get(&token, now + LASTS), None);
        assert_eq!(shares.take(&token, now), Some("a"));
        assert_eq!(shares.take(&token, now), None);
        let late = shares.add(1, "b", now);
        assert_eq!(shares.take(&late, now + LASTS), None);
    }

    #[test]
    fn crowd_displaces_its_own_values_and_not_those_of_others() {
        let shares = Shares::new(100, LASTS);
        let now = Instant::now();
        let quiet = [1, 2].map(|owner| shares.add(owner, owner, now));
        let crowd: Vec<Token> = (0..1000_u32)
            .map(|number| shares.add(3, 3, now + Duration::from_micros(number.into())))
            .collect();
        for token in &quiet {
            assert!(shares.get(token, now).is_some());
        }
        let left = crowd
            .iter()
            .filter(|token| shares.get(token, now).is_some());
        assert_eq!(left.count(), 98);
        assert!(shares.get(&crowd[999], now).is_some(), "the newest is kept");
        shares.remove_of(3);
        assert!(shares.get(&crowd[999], now).is_none());
        assert_eq!(shares.get(&quiet[0], now), Some(1));
    }
}
