//! The changes since the last request of a program.
//!
//! Objects are divided into parts by their numbers. A token contains a short digest of each part as
//! the program last received it. The response contains the current content of the parts whose
//! digests differ, so the site needs no change log. The digest of a part also changes when an
//! object is deleted or hidden, or becomes visible merely with time. The site remembers only
//! digests, to avoid reading unchanged parts again, so tokens survive restarts.

use super::kept::Kept;
use crate::db::submission_part;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The least number of bits of a number inside its part.
const MIN_SHIFT: u8 = submission_part::SHIFT;
/// The greatest one.
const MAX_SHIFT: u8 = 30;
/// The maximum number of parts of one collection. With more objects, the parts become larger.
const MAX_PARTS: usize = 512;
/// The first byte of a token.
const VERSION: u8 = 2;
/// That of a token without balloons and prints.
const FIRST_VERSION: u8 = 1;

/// The beginning of a SHA-256. It is short, because a client that forges one harms only itself.
pub type Digest = [u8; 6];

/// The digests of the parts of a collection that a program has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    shift: u8,
    parts: BTreeMap<u32, Digest>,
}

/// The state of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    pub submissions: Known,
    pub clarifications: Known,
    /// Balloons, by the numbers of their participants.
    pub balloons: Known,
    pub prints: Known,
    /// The digest of the ranking's tag.
    ranking: Digest,
}

/// A part that replaces all objects with the numbers `from` to `to`.
#[derive(Debug, PartialEq, Eq)]
pub struct Part<T> {
    pub from: i64,
    pub to: i64,
    pub items: Vec<T>,
}

impl Default for Known {
    fn default() -> Known {
        Known {
            shift: MIN_SHIFT,
            parts: BTreeMap::new(),
        }
    }
}

/// The beginning of the SHA-256 of a content.
pub fn digest(content: &[u8]) -> Digest {
    let hash = Sha256::digest(content);
    std::array::from_fn(|at| hash[at])
}

/// The digest of the objects of a part; `None`: the part is empty.
pub fn digest_of<T: Serialize>(items: &[T]) -> Option<Digest> {
    let content = || serde_json::to_vec(items).unwrap_or_default();
    (!items.is_empty()).then(|| digest(&content()))
}

/// The part of a number.
pub fn part(id: i64, shift: u8) -> u32 {
    u32::try_from(id >> shift).unwrap_or(u32::MAX)
}

impl Known {
    /// Enlarges the parts. All parts are then sent again.
    fn grow(&mut self, shift: u8) {
        let by = shift - self.shift;
        let parts = self
            .parts
            .keys()
            .map(|part| (part >> by, Digest::default()));
        self.parts = parts.collect();
        self.shift = shift;
    }

    /// Makes the parts large enough for the objects that exist.
    fn fit(&mut self, ids: impl Iterator<Item = i64> + Clone) {
        let count = |shift| {
            let parts: BTreeSet<u32> = ids.clone().map(|id| part(id, shift)).collect();
            parts.len()
        };
        let shift = (self.shift..MAX_SHIFT).find(|shift| count(*shift) <= MAX_PARTS);
        let shift = shift.unwrap_or(MAX_SHIFT);
        if shift > self.shift {
            self.grow(shift);
        }
    }

    /// The parts that exist or that the program has, with the stamps of what is in them; `None`: no
    /// object exists there. The stamp of a part rises with each change.
    pub fn stamped(&mut self, stamps: &[submission_part::Part]) -> BTreeMap<u32, Option<i64>> {
        self.fit(stamps.iter().map(|one| one.range().0));
        let known = self.parts.keys().map(|key| (*key, None));
        let mut parts: BTreeMap<u32, Option<i64>> = known.collect();
        for one in stamps {
            let stamp = parts.entry(part(one.range().0, self.shift)).or_default();
            *stamp = Some(stamp.unwrap_or(0).saturating_add(one.stamp));
        }
        parts
    }

    /// The numbers of the objects in a part.
    pub fn range(&self, key: u32) -> (i64, i64) {
        let from = i64::from(key) << self.shift;
        (from, from + (1 << self.shift) - 1)
    }

    /// The bits of a number inside its part.
    pub fn shift(&self) -> u8 {
        self.shift
    }

    /// Whether the program has a part as it is now.
    pub fn has(&self, key: u32, now: Option<Digest>) -> bool {
        self.parts.get(&key).copied() == now
    }

    /// Returns a part for the program, which has it from then on.
    pub fn part<T>(
        &mut self,
        key: u32,
        items: Vec<T>,
        now: Option<Digest>,
        room: &mut usize,
    ) -> Part<T> {
        match now {
            Some(now) => self.parts.insert(key, now),
            None => self.parts.remove(&key),
        };
        *room = room.saturating_sub(items.len().max(1));
        let (from, to) = self.range(key);
        Part { from, to, items }
    }

    /// The parts that differ from those of the program, until about `room` objects are found. The
    /// program has them from then on. `room` is 0 afterwards if further parts may differ.
    pub fn changed<T: Serialize>(
        &mut self,
        items: Vec<(i64, T)>,
        room: &mut usize,
    ) -> Vec<Part<T>> {
        self.fit(items.iter().map(|(id, _)| *id));
        let mut present: BTreeMap<u32, Vec<T>> = BTreeMap::new();
        for (id, item) in items {
            present.entry(part(id, self.shift)).or_default().push(item);
        }
        for key in self.parts.keys() {
            present.entry(*key).or_default();
        }
        let mut changed = Vec::new();
        for (key, items) in present {
            let now = digest_of(&items);
            if self.has(key, now) {
                continue;
            }
            if *room == 0 {
                return changed;
            }
            changed.push(self.part(key, items, now, room));
        }
        changed
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.shift);
        let count = u16::try_from(self.parts.len()).unwrap_or(u16::MAX);
        bytes.extend(count.to_be_bytes());
        for (key, digest) in self.parts.iter().take(count.into()) {
            bytes.extend(key.to_be_bytes());
            bytes.extend(digest);
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<Known> {
        let [shift, high, low] = take(bytes)?;
        if !(MIN_SHIFT..=MAX_SHIFT).contains(&shift) {
            return None;
        }
        let mut parts = BTreeMap::new();
        for _ in 0..u16::from_be_bytes([high, low]) {
            let key = u32::from_be_bytes(take(bytes)?);
            parts.insert(key, take(bytes)?);
        }
        Some(Known { shift, parts })
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

impl State {
    /// The token of a program in this state.
    pub fn token(&self) -> String {
        let mut bytes = vec![VERSION];
        self.submissions.write(&mut bytes);
        self.clarifications.write(&mut bytes);
        bytes.extend(self.ranking);
        self.balloons.write(&mut bytes);
        self.prints.write(&mut bytes);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The state of the program with a token; `None` if the token is malformed.
    pub fn of_token(token: &str) -> Option<State> {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let mut bytes = bytes.as_slice();
        let [version] = take(&mut bytes)?;
        let mut state = State {
            submissions: Known::read(&mut bytes)?,
            clarifications: Known::read(&mut bytes)?,
            ranking: take(&mut bytes)?,
            ..State::default()
        };
        if version != FIRST_VERSION {
            state.balloons = Known::read(&mut bytes)?;
            state.prints = Known::read(&mut bytes)?;
        }
        ([FIRST_VERSION, VERSION].contains(&version) && bytes.is_empty()).then_some(state)
    }

    /// Returns the tag of the ranking if the program has a different one, and records that the
    /// program has it.
    pub fn ranking(&mut self, tag: String) -> Option<String> {
        let now = digest(tag.as_bytes());
        let before = std::mem::replace(&mut self.ranking, now);
        (before != now).then_some(tag)
    }
}

/// A collection of parts whose digests are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    pub contest: i64,
    /// The bits of a number inside its part.
    pub shift: u8,
    /// The viewer with the digest of the rules that determine what the viewer sees; `None`: the
    /// staff, which sees everything.
    pub viewer: Option<(i64, Digest)>,
}

/// The digests of the parts that a viewer sees, with the stamps that the parts had.
#[derive(Debug)]
pub struct Memory {
    places: Mutex<Kept<Place, Remembered>>,
    /// How often a part was read.
    #[cfg(test)]
    pub readings: std::sync::atomic::AtomicU64,
}

/// Stamps and digests by part.
type Remembered = HashMap<u32, (i64, Option<Digest>)>;

impl Memory {
    /// Remembers the digests of at most `max` places.
    pub fn new(max: usize) -> Memory {
        Memory {
            places: Mutex::new(Kept::new(max)),
            #[cfg(test)]
            readings: std::sync::atomic::AtomicU64::default(),
        }
    }

    fn places(&self) -> MutexGuard<'_, Kept<Place, Remembered>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The digest of a part with this stamp, if it is remembered.
    pub fn recall(&self, place: &Place, key: u32, stamp: i64) -> Option<Option<Digest>> {
        let mut places = self.places();
        let (known, digest) = places.get(place)?.get(&key)?;
        (*known == stamp).then_some(*digest)
    }

    /// Remembers the digest of a part that was read.
    pub fn remember(&self, place: &Place, key: u32, stamp: i64, digest: Option<Digest>) {
        let mut places = self.places();
        let parts = places.entry(*place, Remembered::new);
        parts.insert(key, (stamp, digest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program: the objects by their numbers, and its token.
    #[derive(Default)]
    struct Program {
        items: BTreeMap<i64, u64>,
        token: String,
    }

    impl Program {
        /// Sends one request. Returns whether there is more, and the number of objects.
        fn ask(&mut self, site: &BTreeMap<i64, u64>, room: usize) -> (bool, usize) {
            let mut state = match self.token.as_str() {
                "" => State::default(),
                token => State::of_token(token).expect("a token"),
            };
            let items = site.iter().map(|(id, value)| (*id, (*id, *value)));
            let mut room = room;
            let parts = state.submissions.changed(items.collect(), &mut room);
            let mut received = 0;
            for part in parts {
                self.items
                    .retain(|id, _| !(part.from..=part.to).contains(id));
                received += part.items.len();
                self.items.extend(part.items);
            }
            self.token = state.token();
            (room == 0, received)
        }
    }

    /// Generates the next number (xorshift).
    fn next(seed: &mut u64) -> u64 {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed
    }

    #[test]
    fn program_has_what_the_site_has_after_any_history() {
        let mut seed = 88_172_645_463_325_252;
        for step in [1, 40, 3_000] {
            let (mut site, mut program) = (BTreeMap::new(), Program::default());
            for round in 0..60 {
                for _ in 0..next(&mut seed) % 60 {
                    let id = i64::try_from(next(&mut seed) % 900).unwrap() * step + 1;
                    match next(&mut seed) % 3 {
                        0 => site.remove(&id),
                        _ => site.insert(id, next(&mut seed)),
                    };
                }
                // The site also changes between the parts of an answer.
                let (more, received) = program.ask(&site, 50);
                assert!(received < 50 + (1 << 14), "{received}");
                if round % 3 == 0 || !more {
                    while program.ask(&site, 50).0 {}
                    assert_eq!(program.items, site, "step {step}, round {round}");
                    let token = program.token.clone();
                    assert_eq!(program.ask(&site, 50), (false, 0));
                    assert_eq!(program.token, token);
                }
            }
        }
    }

    #[test]
    fn answers_and_tokens_are_bounded() {
        let site: BTreeMap<i64, u64> = (1..70_000).map(|id| (id, 7)).collect();
        let mut program = Program::default();
        while {
            let (more, received) = program.ask(&site, 500);
            assert!(received <= 500 + 512, "{received}");
            more
        } {}
        assert_eq!(program.items.len(), site.len());
        assert!(program.token.len() < 8_000, "{}", program.token.len());
    }

    #[test]
    fn tokens_of_the_first_version_are_accepted() {
        let mut state = State::default();
        state.submissions.changed(vec![(1, "x")], &mut 9);
        state.ranking("\"a\"".to_owned());
        let mut bytes = vec![1];
        state.submissions.write(&mut bytes);
        state.clarifications.write(&mut bytes);
        bytes.extend(state.ranking);
        let token = URL_SAFE_NO_PAD.encode(bytes);
        assert_eq!(State::of_token(&token), Some(state));
    }

    #[test]
    fn malformed_tokens_are_refused() {
        let mut state = State::default();
        state
            .submissions
            .changed(vec![(1, "x"), (900, "y")], &mut 9);
        state.balloons.changed(vec![(7, "red")], &mut 9);
        state.prints.changed(vec![(8, "text")], &mut 9);
        assert_eq!(state.ranking("\"a\"".to_owned()).as_deref(), Some("\"a\""));
        assert_eq!(state.ranking("\"a\"".to_owned()), None);
        let token = state.token();
        assert_eq!(State::of_token(&token), Some(state));
        let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
        for end in 0..bytes.len() {
            assert_eq!(
                State::of_token(&URL_SAFE_NO_PAD.encode(&bytes[..end])),
                None
            );
        }
        for (at, value) in [(0, 0), (0, 1), (0, 3), (1, 0), (1, 255)] {
            let mut wrong = bytes.clone();
            wrong[at] = value;
            assert_eq!(State::of_token(&URL_SAFE_NO_PAD.encode(wrong)), None);
        }
        assert_eq!(State::of_token("not a token!"), None);
        assert_eq!(State::of_token(&format!("{token}AAAA")), None);
    }
}
