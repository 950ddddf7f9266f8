//! The executors that a front end knows, and the choice among them.

use super::load::Announcement;
use crate::core::ids;
use millibox_fleet::name::WorkerName;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The interval at which the roster grows older.
pub const TICK: Duration = Duration::from_millis(250);
/// An executor that has announced nothing for this number of ticks is gone. Ticks of this process
/// are counted, and no time, so that a front end that was stopped does not lose its executors.
const MAX_AGE_TICKS: u32 = 12;
/// The maximum number of executors.
const MAX_EXECUTORS: usize = 1024;
/// How long a request waits for an executor after the last one has disappeared.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The executors.
#[derive(Debug)]
pub struct Roster {
    /// The digest of the own configuration.
    configuration: String,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    executors: BTreeMap<WorkerName, Known>,
    /// When there was an executor for the last time.
    latest: Instant,
    /// Counts choices, so that equal executors take turns.
    turn: u64,
}

#[derive(Debug, Clone)]
struct Known {
    load: Announcement,
    age: u32,
    /// Requests that were sent since the announcement.
    sent: u32,
    turn: u64,
}

/// An executor that was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    pub name: WorkerName,
    pub instance: u64,
}

/// What a request needs.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Executors that have failed the request.
    pub except: BTreeSet<WorkerName>,
    /// Tags of executors that have made the ids in the request.
    pub tags: Vec<ids::Tag>,
    /// The digest of a key that requests share if they must meet.
    pub key: Option<[u8; 32]>,
    /// Whether the request may run a program.
    pub runs: bool,
}

/// An executor as metrics show it.
#[derive(Debug, Clone)]
pub struct Shown {
    pub name: WorkerName,
    pub load: Announcement,
    /// Whether requests are sent to it.
    pub is_usable: bool,
}

impl Roster {
    /// A roster without executors, for a configuration with this digest.
    pub fn new(configuration: String) -> Roster {
        Roster {
            configuration,
            state: Mutex::new(State {
                executors: BTreeMap::new(),
                latest: Instant::now(),
                turn: 0,
            }),
            changed: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an announcement. Returns whether an earlier process of the same name is gone.
    pub fn announce(&self, name: WorkerName, load: Announcement) -> bool {
        let mut state = self.state();
        let known = state.executors.get(&name);
        if known.is_none() && state.executors.len() >= MAX_EXECUTORS {
            return false;
        }
        let is_replaced = known.is_some_and(|known| known.load.instance != load.instance);
        if known.is_none() && load.configuration != self.configuration {
            tracing::warn!(
                executor = %name,
                "this executor has a different version or configuration, so it is not used"
            );
        }
        let known = Known {
            turn: known.map_or(0, |known| known.turn),
            load,
            age: 0,
            sent: 0,
        };
        state.executors.insert(name, known);
        drop(state);
        self.changed.notify_waiters();
        is_replaced
    }

    /// Lets all executors grow older. Returns those that are gone.
    pub fn tick(&self) -> Vec<WorkerName> {
        let mut state = self.state();
        let state = &mut *state;
        if !state.executors.is_empty() {
            state.latest = Instant::now();
        }
        for known in state.executors.values_mut() {
            known.age += 1;
        }
        let mut gone = Vec::new();
        state.executors.retain(|name, known| {
            let is_gone = known.age > MAX_AGE_TICKS;
            if is_gone {
                gone.push(name.clone());
            }
            !is_gone
        });
        gone
    }

    fn is_usable(&self, known: &Known) -> bool {
        known.load.configuration == self.configuration && !known.load.is_draining
    }

    /// The best executor for a request, if there is one.
    ///
    /// Runs and files are known only to the executor that has them. While that executor announces
    /// itself, no different one receives a request for them, even if the request has failed.
    pub fn choose(&self, wanted: &Wanted) -> Option<Chosen> {
        let mut state = self.state();
        // An executor that drains still has its jobs and files.
        let owner = state.executors.iter().find(|(name, known)| {
            !wanted.tags.is_empty()
                && known.load.configuration == self.configuration
                && wanted.tags.contains(&ids::tag(name.as_str()))
        });
        let usable = || {
            let all = state.executors.iter();
            all.filter(|(_, known)| self.is_usable(known))
        };
        let is_left = |(name, _): &(&WorkerName, &Known)| !wanted.except.contains(*name);
        let best = match (owner, &wanted.key) {
            (Some(owner), _) => Some(owner).filter(is_left),
            (None, Some(key)) => usable()
                .max_by_key(|(name, _)| ids::weight(name.as_str(), key))
                .filter(is_left),
            (None, None) => usable()
                .filter(is_left)
                .min_by(|(_, one), (_, other)| compare(one, other)),
        };
        let name = best.map(|(name, _)| name.clone())?;
        state.turn += 1;
        let turn = state.turn;
        let known = state.executors.get_mut(&name)?;
        known.turn = turn;
        known.sent = known.sent.saturating_add(u32::from(wanted.runs));
        let instance = known.load.instance;
        Some(Chosen { name, instance })
    }

    /// Like [`Roster::choose`], but waits for an executor if there has been one just now.
    pub async fn choose_soon(&self, wanted: &Wanted) -> Option<Chosen> {
        let end = self.state().latest + PATIENCE;
        loop {
            let changed = self.changed.notified();
            if let Some(chosen) = self.choose(wanted) {
                return Some(chosen);
            }
            if tokio::time::timeout_at(end.into(), changed).await.is_err() {
                return None;
            }
        }
    }

    /// All executors.
    pub fn shown(&self) -> Vec<Shown> {
        let state = self.state();
        let shown = state.executors.iter().map(|(name, known)| Shown {
            name: name.clone(),
            load: known.load.clone(),
            is_usable: self.is_usable(known),
        });
        shown.collect()
    }
}

/// The order of executors: those with room in their queue, then the shortest expected wait, then
/// the smallest load, then the one whose turn is longest ago.
fn compare(one: &Known, other: &Known) -> Ordering {
    let key = |known: &Known| {
        let Announcement {
            slots,
            running,
            queued,
            rate,
            ..
        } = known.load;
        let (slots, busy) = (f64::from(slots), f64::from(running) + f64::from(queued));
        let busy = busy + f64::from(known.sent);
        // Without a measurement, a run is assumed to take a second.
        let rate = if rate > 0.0 { rate } else { slots };
        let wait = (busy + 1.0 - slots).max(0.0) / rate;
        let is_full = known.load.is_full();
        (is_full, wait, busy / slots, known.turn)
    };
    let (one, other) = (key(one), key(other));
    one.0
        .cmp(&other.0)
        .then(one.1.total_cmp(&other.1))
        .then(one.2.total_cmp(&other.2))
        .then(one.3.cmp(&other.3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(running: u32, queued: u32) -> Announcement {
        Announcement {
            instance: 1,
            configuration: "c".to_owned(),
            slots: 2,
            running,
            queued,
            max_queued: 4,
            rate: 0.0,
            is_draining: false,
        }
    }

    fn name(text: &str) -> WorkerName {
        text.parse().unwrap()
    }

    fn runs() -> Wanted {
        Wanted {
            runs: true,
            ..Wanted::default()
        }
    }

    fn chosen(roster: &Roster, wanted: &Wanted) -> Option<String> {
        roster.choose(wanted).map(|chosen| chosen.name.to_string())
    }

    #[test]
    fn requests_go_to_the_executor_with_the_shortest_wait() {
        let roster = Roster::new("c".to_owned());
        roster.announce(name("a"), load(2, 1));
        roster.announce(name("b"), load(0, 0));
        let found: Vec<_> = (0..6).map(|_| chosen(&roster, &runs()).unwrap()).collect();
        // What was sent since the announcement counts.
        assert_eq!(found[..3], ["b", "b", "b"]);
        assert!(found[3..].contains(&"a".to_owned()));
        // A fast executor with a longer queue may be better.
        let fast = Announcement {
            rate: 100.0,
            ..load(2, 3)
        };
        roster.announce(name("a"), fast);
        roster.announce(name("b"), load(2, 1));
        assert_eq!(chosen(&roster, &runs()).unwrap(), "a");
        // Unless it is full.
        let full = Announcement {
            rate: 100.0,
            ..load(2, 4)
        };
        roster.announce(name("a"), full);
        assert_eq!(chosen(&roster, &runs()).unwrap(), "b");
    }

    #[test]
    fn executor_that_is_silent_drains_or_differs_is_not_used() {
        let roster = Roster::new("c".to_owned());
        let draining = Announcement {
            is_draining: true,
            ..load(0, 0)
        };
        let different = Announcement {
            configuration: "d".to_owned(),
            ..load(0, 0)
        };
        roster.announce(name("a"), draining);
        roster.announce(name("b"), different);
        assert_eq!(chosen(&roster, &runs()), None);
        roster.announce(name("c"), load(2, 4));
        assert_eq!(chosen(&roster, &runs()).unwrap(), "c");
        let except = Wanted {
            except: BTreeSet::from([name("c")]),
            ..Wanted::default()
        };
        assert_eq!(chosen(&roster, &except), None);
        let gone: Vec<_> = (0..=MAX_AGE_TICKS).flat_map(|_| roster.tick()).collect();
        assert_eq!(gone, [name("a"), name("b"), name("c")]);
        assert_eq!(chosen(&roster, &runs()), None);
    }

    #[test]
    fn ids_name_their_executor_even_while_it_drains_and_keys_always_meet() {
        let roster = Roster::new("c".to_owned());
        let draining = Announcement {
            is_draining: true,
            ..load(2, 4)
        };
        roster.announce(name("a"), draining);
        roster.announce(name("b"), load(0, 0));
        roster.announce(name("c"), load(0, 0));
        let wanted = Wanted {
            tags: vec![ids::tag("a")],
            ..Wanted::default()
        };
        assert_eq!(chosen(&roster, &wanted).unwrap(), "a");
        let wanted = Wanted {
            key: Some([7; 32]),
            runs: true,
            ..Wanted::default()
        };
        let first = chosen(&roster, &wanted);
        assert!((0..10).all(|_| chosen(&roster, &wanted) == first));
    }

    #[test]
    fn executor_with_the_run_or_the_files_is_not_replaced_while_it_announces_itself() {
        let roster = Roster::new("c".to_owned());
        for one in ["a", "b"] {
            roster.announce(name(one), load(0, 0));
        }
        let by_id = |except: &[&str]| Wanted {
            tags: vec![ids::tag("a")],
            except: except.iter().map(|one| name(one)).collect(),
            ..Wanted::default()
        };
        let by_key = |except: &[&str]| Wanted {
            key: Some([7; 32]),
            except: except.iter().map(|one| name(one)).collect(),
            ..Wanted::default()
        };
        let home = chosen(&roster, &by_key(&[])).unwrap();
        let other = if home == "a" { "b" } else { "a" };
        assert_eq!(chosen(&roster, &by_id(&["a"])), None);
        assert_eq!(chosen(&roster, &by_key(&[&home])), None);
        // After the end of the executor, the others may respond.
        for _ in 0..=MAX_AGE_TICKS {
            roster.tick();
            roster.announce(name(other), load(0, 0));
        }
        assert_eq!(chosen(&roster, &by_key(&[&home])).unwrap(), other);
    }
}
