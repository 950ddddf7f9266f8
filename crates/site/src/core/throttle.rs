//! Bounds on how often something may be tried.

pub use millibox_web::network::{customer, network};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The maximum number of keys to remember. Expired keys are removed when there are more.
const MAX_KEYS: usize = 100_000;

/// Counts events for each key in windows of time.
#[derive(Debug)]
pub struct Throttle<K> {
    limit: u32,
    window: Duration,
    counts: Mutex<Counts<K>>,
}

/// For each key, the begin of its window and the number of events in it.
type Counts<K> = HashMap<K, (Instant, u32)>;

impl<K: Hash + Eq> Throttle<K> {
    /// Allows `limit` events of a key in each window.
    pub fn new(limit: u32, window: Duration) -> Throttle<K> {
        Throttle {
            limit,
            window,
            counts: Mutex::default(),
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts<K>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn delay_in(&self, counts: &Counts<K>, key: &K, now: Instant) -> Option<Duration> {
        let (begin, count) = counts.get(key)?;
        let left = (*begin + self.window).checked_duration_since(now)?;
        (*count >= self.limit && !left.is_zero()).then_some(left)
    }

    fn count_in(&self, counts: &mut Counts<K>, key: K, now: Instant) {
        if counts.len() >= MAX_KEYS {
            counts.retain(|_, (begin, _)| now < *begin + self.window);
        }
        let entry = counts.entry(key).or_insert((now, 0));
        if now >= entry.0 + self.window {
            *entry = (now, 0);
        }
        entry.1 += 1;
    }

    /// The time to wait before the next event of the key, if it must wait.
    pub fn delay(&self, key: &K, now: Instant) -> Option<Duration> {
        self.delay_in(&self.counts(), key, now)
    }

    /// Counts an event.
    pub fn count(&self, key: K, now: Instant) {
        self.count_in(&mut self.counts(), key, now);
    }

    /// Counts an event, or returns the time to wait before it. Of events at the same moment, no
    /// more than the limit are admitted.
    ///
    /// # Errors
    /// The key must wait.
    pub fn admit(&self, key: K, now: Instant) -> Result<(), Duration> {
        let mut counts = self.counts();
        if let Some(delay) = self.delay_in(&counts, &key, now) {
            return Err(delay);
        }
        self.count_in(&mut counts, key, now);
        Ok(())
    }

    /// Forgets the events of a key.
    pub fn forget(&self, key: &K) {
        self.counts().remove(key);
    }

    /// Forgets one event of a key.
    pub fn take_back(&self, key: &K) {
        if let Some((_, count)) = self.counts().get_mut(key) {
            *count = count.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_waits_for_the_end_of_its_window() {
        let throttle = Throttle::new(2, Duration::from_secs(10));
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        throttle.count("a", at(0));
        assert_eq!(throttle.delay(&"a", at(1)), None);
        throttle.count("a", at(1));
        assert_eq!(throttle.delay(&"a", at(3)), Some(Duration::from_secs(7)));
        assert_eq!(throttle.delay(&"b", at(3)), None);
        assert_eq!(throttle.delay(&"a", at(10)), None);
        throttle.count("a", at(10));
        assert_eq!(throttle.delay(&"a", at(11)), None);
        throttle.count("a", at(11));
        throttle.forget(&"a");
        assert_eq!(throttle.delay(&"a", at(12)), None);
        let admitted: Vec<_> = (0..3).map(|_| throttle.admit("c", at(20))).collect();
        assert_eq!(admitted, [Ok(()), Ok(()), Err(Duration::from_secs(10))]);
        throttle.take_back(&"c");
        let admitted: Vec<_> = (0..2).map(|_| throttle.admit("c", at(20))).collect();
        assert_eq!(admitted, [Ok(()), Err(Duration::from_secs(10))]);
    }
}
