//! Work that only a few can do at the same time, such as hashing passwords.
//!
//! All others wait. The groups of keys take turns, and in each group its keys, so a key that sends
//! a hundred requests delays another one by a single turn. A group has no two turns in succession
//! while another group waits, even if that group came later. A key may have a few turns at the same
//! time, and a few requests that wait. If too many wait, the key with the most loses its latest
//! request.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// A key with the group to which it belongs.
pub trait Key: Clone + Eq + Hash {
    /// The groups that take turns.
    type Group: PartialEq;
    /// Returns the group of the key.
    fn group(&self) -> Self::Group;
}

impl Key for super::party::Party {
    type Group = super::party::Party;

    fn group(&self) -> Self::Group {
        self.clone()
    }
}

/// Why a request has no turn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaneError {
    /// Too many requests wait, those of this key or all together.
    #[error("too many requests wait")]
    Full,
    /// A thread panicked.
    #[error("a thread failed: {0}")]
    Thread(#[from] tokio::task::JoinError),
}

/// The bounds of a lane.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The maximum number of turns at the same time.
    pub turns: usize,
    /// The maximum number of turns of one key at the same time.
    pub turns_of_key: usize,
    /// The maximum number of requests that wait.
    pub waiting: usize,
    /// The maximum number of requests of one key that wait.
    pub waiting_of_key: usize,
}

/// A queue in which groups take turns, and in each group its keys.
#[derive(Debug)]
pub struct Lane<K: Key> {
    bounds: Bounds,
    state: Arc<Mutex<State<K>>>,
}

impl<K: Key> Clone for Lane<K> {
    fn clone(&self) -> Lane<K> {
        Lane {
            bounds: self.bounds,
            state: self.state.clone(),
        }
    }
}

struct State<K: Key> {
    running: HashMap<K, usize>,
    /// The sum of `running`.
    turns: usize,
    /// The groups and keys that wait, in the order of their next turns.
    groups: VecDeque<(K::Group, Members<K>)>,
    /// The group that has had the latest turn.
    latest: Option<K::Group>,
    waiting: usize,
    next_id: u64,
}

type Members<K> = VecDeque<(K, VecDeque<Waiter<K>>)>;

struct Waiter<K: Key> {
    id: u64,
    sender: oneshot::Sender<Turn<K>>,
}

impl<K: Key> std::fmt::Debug for State<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (turns, waiting) = (self.turns, self.waiting);
        write!(f, "{turns} turns, {waiting} waiting")
    }
}

/// A turn, which ends with the drop.
#[derive(Debug)]
pub struct Turn<K: Key> {
    key: K,
    lane: Lane<K>,
}

fn count<K: Key>(members: &Members<K>) -> usize {
    members.iter().map(|(_, waiters)| waiters.len()).sum()
}

impl<K: Key> State<K> {
    fn members(&self, group: &K::Group) -> Option<&Members<K>> {
        let mut groups = self.groups.iter();
        groups.find(|(one, _)| one == group).map(|(_, it)| it)
    }

    fn waiting_of(&self, key: &K) -> usize {
        let members = self.members(&key.group()).into_iter().flatten();
        let own = members.filter(|(one, _)| one == key);
        own.map(|(_, waiters)| waiters.len()).sum()
    }

    /// Removes the latest request of the key with the most, in the group with the most. Returns
    /// false if that is the key of a newcomer.
    fn make_room(&mut self, newcomer: &K) -> bool {
        let (own, own_key) = (newcomer.group(), self.waiting_of(newcomer) + 1);
        let own_count = self.members(&own).map_or(0, count) + 1;
        let heaviest = self.groups.iter_mut().max_by_key(|(group, members)| {
            let is_own = *group == own;
            (count(members) + usize::from(is_own), is_own)
        });
        let Some((group, members)) = heaviest else {
            return false;
        };
        let is_own = *group == own;
        if !is_own && count(members) <= own_count {
            return false;
        }
        let longest = members.iter_mut().max_by_key(|(_, it)| it.len());
        match longest {
            Some((_, waiters)) if !is_own || waiters.len() > own_key => {
                waiters.pop_back();
                self.waiting -= 1;
                true
            }
            _ => false,
        }
    }

    fn add(&mut self, key: K, waiter: Waiter<K>) {
        self.waiting += 1;
        let group = key.group();
        let at = self.groups.iter().position(|(one, _)| *one == group);
        let at = at.unwrap_or_else(|| {
            self.groups.push_back((group, VecDeque::new()));
            self.groups.len() - 1
        });
        let members = &mut self.groups[at].1;
        match members.iter_mut().find(|(one, _)| *one == key) {
            Some((_, waiters)) => waiters.push_back(waiter),
            None => members.push_back((key, VecDeque::from([waiter]))),
        }
    }

    /// Removes a request that no longer waits.
    fn leave(&mut self, key: &K, id: u64) {
        let group = key.group();
        let Some((_, members)) = self.groups.iter_mut().find(|(one, _)| *one == group) else {
            return;
        };
        if let Some((_, waiters)) = members.iter_mut().find(|(one, _)| one == key) {
            let before = waiters.len();
            waiters.retain(|waiter| waiter.id != id);
            self.waiting -= before - waiters.len();
        }
        members.retain(|(_, waiters)| !waiters.is_empty());
        self.groups.retain(|(_, members)| !members.is_empty());
    }

    /// Begins the next turn, if a request waits that may have it.
    fn begin(&mut self, bounds: Bounds) -> Option<(K, Waiter<K>)> {
        if self.turns >= bounds.turns {
            return None;
        }
        let running = &self.running;
        let may = |key: &K| running.get(key).is_none_or(|it| *it < bounds.turns_of_key);
        let member_of = |members: &Members<K>| {
            let mut members = members.iter();
            members.position(|(key, it)| !it.is_empty() && may(key))
        };
        let is_latest = |group: &K::Group| self.latest.as_ref() == Some(group);
        let mut places = self
            .groups
            .iter()
            .enumerate()
            .filter_map(|(at, (group, it))| {
                let member = member_of(it)?;
                Some((is_latest(group), at, member))
            });
        let first = places.next()?;
        let (_, at, member) = match first.0 {
            true => places.next().unwrap_or(first),
            false => first,
        };
        let (group, mut members) = self.groups.remove(at)?;
        let (key, mut waiters) = members.remove(member)?;
        let waiter = waiters.pop_front()?;
        if !waiters.is_empty() {
            members.push_back((key.clone(), waiters));
        }
        if !members.is_empty() {
            self.groups.push_back((group, members));
        }
        self.latest = Some(key.group());
        self.waiting -= 1;
        self.turns += 1;
        *self.running.entry(key.clone()).or_default() += 1;
        Some((key, waiter))
    }

    fn end(&mut self, key: &K) {
        self.turns -= 1;
        if let Some(running) = self.running.get_mut(key) {
            *running -= 1;
            if *running == 0 {
                self.running.remove(key);
            }
        }
    }
}

/// A request that waits, until the drop.
struct Waiting<'l, K: Key> {
    lane: &'l Lane<K>,
    key: K,
    id: u64,
}

impl<K: Key> Drop for Waiting<'_, K> {
    fn drop(&mut self) {
        self.lane.state().leave(&self.key, self.id);
    }
}

impl<K: Key> Lane<K> {
    /// Creates a lane with these bounds.
    pub fn new(bounds: Bounds) -> Lane<K> {
        let state = State {
            running: HashMap::new(),
            turns: 0,
            groups: VecDeque::new(),
            latest: None,
            waiting: 0,
            next_id: 0,
        };
        Lane {
            bounds,
            state: Arc::new(Mutex::new(state)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn of a key.
    ///
    /// # Errors
    /// Too many requests wait.
    pub async fn turn(&self, key: K) -> Result<Turn<K>, LaneError> {
        let (sender, receiver) = oneshot::channel();
        let id = {
            let mut state = self.state();
            let is_full = state.turns >= self.bounds.turns && state.waiting >= self.bounds.waiting;
            if state.waiting_of(&key) >= self.bounds.waiting_of_key
                || (is_full && !state.make_room(&key))
            {
                return Err(LaneError::Full);
            }
            state.next_id += 1;
            let id = state.next_id;
            state.add(key.clone(), Waiter { id, sender });
            id
        };
        let _waiting = Waiting {
            lane: self,
            key,
            id,
        };
        self.advance();
        receiver.await.map_err(|_| LaneError::Full)
    }

    /// Does work in a turn, on a thread that may block. The turn lasts as long as the work, even if
    /// the caller no longer waits.
    ///
    /// # Errors
    /// Too many requests wait, or the work panics.
    pub async fn run<T>(
        &self,
        key: K,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, LaneError>
    where
        T: Send + 'static,
        K: Send + 'static,
        K::Group: Send,
    {
        self.turn(key).await?.run(work).await
    }

    fn advance(&self) {
        loop {
            let begun = self.state().begin(self.bounds);
            let Some((key, waiter)) = begun else {
                return;
            };
            let lane = self.clone();
            // If the request no longer waits, the drop of its turn begins the next one.
            let _ = waiter.sender.send(Turn { key, lane });
        }
    }
}

impl<K: Key + Send + 'static> Turn<K>
where
    K::Group: Send,
{
    /// Does work on a thread that may block. The turn lasts as long as the work.
    ///
    /// # Errors
    /// The work panics.
    pub async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, LaneError> {
        let work = move || {
            let result = work();
            drop(self);
            result
        };
        Ok(tokio::task::spawn_blocking(work).await?)
    }
}

impl<K: Key> Drop for Turn<K> {
    fn drop(&mut self) {
        self.lane.state().end(&self.key);
        self.lane.advance();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::pin::pin;

    /// A key in the group of its first letter.
    impl Key for String {
        type Group = char;

        fn group(&self) -> char {
            self.chars().next().unwrap_or_default()
        }
    }

    fn lane(turns: usize, waiting: usize, waiting_of_key: usize) -> Lane<String> {
        Lane::new(Bounds {
            turns,
            turns_of_key: 1,
            waiting,
            waiting_of_key,
        })
    }

    /// Returns the order in which requests have their turns, after a first turn of a different key.
    async fn order(lane: &Lane<String>, names: &[&str]) -> Vec<String> {
        let first = lane.turn("first".to_owned()).await.unwrap();
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let mut tasks = Vec::new();
        for name in names {
            let (lane, sender, name) = (lane.clone(), sender.clone(), (*name).to_owned());
            tasks.push(tokio::spawn(async move {
                if let Ok(turn) = lane.turn(name.clone()).await {
                    sender.send(name).unwrap();
                    drop(turn);
                }
            }));
            tokio::task::yield_now().await;
        }
        drop((first, sender));
        let mut order = Vec::new();
        while let Some(name) = receiver.recv().await {
            order.push(name);
        }
        order
    }

    #[tokio::test]
    async fn groups_and_their_keys_take_turns() {
        let names = ["a1", "a1", "a1", "a2", "b1", "c1", "c1"];
        let order = order(&lane(1, 100, 100), &names).await;
        assert_eq!(order, ["a1", "b1", "c1", "a2", "c1", "a1", "a1"]);
    }

    #[tokio::test]
    async fn group_that_has_had_the_latest_turn_lets_a_newcomer_pass() {
        let names = ["first", "first", "b1"];
        let order = order(&lane(1, 100, 100), &names).await;
        assert_eq!(order, ["b1", "first", "first"]);
    }

    #[tokio::test]
    async fn full_lane_loses_the_latest_request_of_the_key_with_the_most() {
        let names = ["a1", "a2", "a2", "a2", "b1", "c1", "a2"];
        let order = order(&lane(1, 4, 100), &names).await;
        assert_eq!(order, ["a1", "b1", "c1", "a2"]);
        let order = self::order(&lane(1, 100, 2), &["a1", "a1", "a1", "b1"]).await;
        assert_eq!(order, ["a1", "b1", "a1"], "the bound of one key");
    }

    #[tokio::test]
    async fn key_has_one_turn_although_others_are_free() {
        let lane = lane(3, 100, 100);
        let first = lane.turn("a1".to_owned()).await.unwrap();
        let mut second = pin!(lane.turn("a1".to_owned()));
        assert!(second.as_mut().now_or_never().is_none());
        let other = lane.turn("b1".to_owned()).await.unwrap();
        drop(first);
        let second = second.await.unwrap();
        drop((second, other));
        let state = lane.state();
        assert!(state.turns == 0 && state.running.is_empty() && state.groups.is_empty());
    }

    #[tokio::test]
    async fn abandoned_request_leaves_and_its_turn_ends() {
        let lane = lane(1, 1, 1);
        let first = lane.turn("a1".to_owned()).await.unwrap();
        {
            let mut abandoned = pin!(lane.turn("b1".to_owned()));
            assert!(abandoned.as_mut().now_or_never().is_none());
            assert!(lane.turn("c1".to_owned()).await.is_err());
        }
        let mut waiting = Box::pin(lane.turn("c1".to_owned()));
        assert!(waiting.as_mut().now_or_never().is_none());
        // The turn begins, but the request is abandoned before it sees this.
        drop(first);
        assert_eq!(lane.state().turns, 1);
        drop(waiting);
        assert_eq!(lane.state().turns, 0);
        assert!(lane.turn("d1".to_owned()).await.is_ok());
    }
}
