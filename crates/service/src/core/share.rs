//! The share of one holder in something that many holders use: a token or an address.
//!
//! There is one rule for all shared pools: a holder may have at most as much as stays free. So one
//! greedy holder gets half of a pool, and each further one half of the rest. A newcomer finds room.
//! A pool with only one possible holder is not divided.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The size of a pool, and whether several holders use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The most that all holders may have together.
    pub total: u64,
    /// Whether holders have shares. Otherwise, one holder may have everything.
    pub is_divided: bool,
}

impl Bound {
    /// Whether a holder that has `own` of the `used` part may take `more`.
    pub fn admits(self, used: u64, own: u64, more: u64) -> bool {
        // A holder may already have more than its share, because other holders have joined. It
        // may still do what needs nothing, such as a request without a body.
        if more == 0 {
            return true;
        }
        let used = used.saturating_add(more);
        // The first thing of a holder may be larger than its share.
        let is_own_share = own == 0 || own.saturating_add(more) <= self.total.saturating_sub(used);
        used <= self.total && (!self.is_divided || is_own_share)
    }
}

/// A pool of places. Cheap to clone: all clones are one pool.
#[derive(Debug)]
pub struct Pool<K: Eq + Hash + Clone> {
    shared: Arc<Shared<K>>,
}

impl<K: Eq + Hash + Clone> Clone for Pool<K> {
    fn clone(&self) -> Pool<K> {
        Pool {
            shared: self.shared.clone(),
        }
    }
}

#[derive(Debug)]
struct Shared<K> {
    bound: Bound,
    used: Mutex<Used<K>>,
}

#[derive(Debug)]
struct Used<K> {
    total: u64,
    by_holder: HashMap<K, u64>,
}

/// The places of one holder. Dropping the value frees them.
#[derive(Debug)]
pub struct Claim<K: Eq + Hash + Clone> {
    pool: Pool<K>,
    holder: K,
    amount: u64,
}

impl<K: Eq + Hash + Clone> Pool<K> {
    /// A pool of which nothing is used.
    pub fn new(bound: Bound) -> Pool<K> {
        let used = Used {
            total: 0,
            by_holder: HashMap::new(),
        };
        Pool {
            shared: Arc::new(Shared {
                bound,
                used: Mutex::new(used),
            }),
        }
    }

    fn used(&self) -> MutexGuard<'_, Used<K>> {
        self.shared
            .used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes this many places, or returns `None` if the holder's share does not allow that.
    pub fn take(&self, holder: K, amount: u64) -> Option<Claim<K>> {
        let mut place = Claim {
            pool: self.clone(),
            holder,
            amount: 0,
        };
        place.grow(amount).then_some(place)
    }
}

impl<K: Eq + Hash + Clone> Claim<K> {
    /// Takes more. Returns whether the holder's share allows that.
    pub fn grow(&mut self, more: u64) -> bool {
        let mut used = self.pool.used();
        let own = used.by_holder.get(&self.holder).copied().unwrap_or(0);
        if !self.pool.shared.bound.admits(used.total, own, more) {
            return false;
        }
        used.total += more;
        *used.by_holder.entry(self.holder.clone()).or_default() += more;
        drop(used);
        self.amount += more;
        true
    }
}

impl<K: Eq + Hash + Clone> Drop for Claim<K> {
    fn drop(&mut self) {
        if self.amount == 0 {
            return;
        }
        let mut used = self.pool.used();
        used.total -= self.amount;
        if let Some(own) = used.by_holder.get_mut(&self.holder) {
            *own -= self.amount;
            if *own == 0 {
                used.by_holder.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(total: u64, is_divided: bool) -> Pool<u32> {
        Pool::new(Bound { total, is_divided })
    }

    fn take_all(pool: &Pool<u32>, holder: u32) -> Vec<Claim<u32>> {
        std::iter::from_fn(|| pool.take(holder, 1)).collect()
    }

    #[test]
    fn greedy_holders_leave_room_for_newcomers() {
        let pool = pool(120, true);
        let greedy: Vec<usize> = {
            let places: Vec<_> = (0..4).map(|holder| take_all(&pool, holder)).collect();
            let counts = places.iter().map(Vec::len).collect();
            assert!(pool.take(9, 1).is_some());
            counts
        };
        assert_eq!(greedy, [60, 30, 15, 7]);
        assert_eq!(take_all(&pool, 1).len(), 60, "dropped places are free");
    }

    #[test]
    fn holder_beyond_its_share_may_take_nothing() {
        let pool = pool(120, true);
        let greedy = take_all(&pool, 1);
        let joined = pool.take(2, 60);
        assert!(joined.is_some() && pool.take(1, 1).is_none());
        assert!(pool.take(1, 0).is_some() && pool.take(3, 0).is_some());
        drop(greedy);
    }

    #[test]
    fn only_holder_may_have_everything() {
        let pool = pool(3, false);
        let mut place = pool.take(0, 2).unwrap();
        assert!(!place.grow(2) && place.grow(1));
        assert!(pool.take(0, 1).is_none());
        drop(place);
        assert!(pool.take(0, 3).is_some());
        assert!(pool.take(0, u64::MAX).is_none());
    }
}
