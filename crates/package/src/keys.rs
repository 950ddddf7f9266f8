//! A map of a YAML file whose keys are read one by one.
//!
//! A key that was read is known. In the end every other key gets a warning.

use crate::bound::{Bound, MOST_WORDS, words_cost};
use crate::fault::{Log, Place, did_you_mean};
use crate::yaml::{Node, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

const DAY: f64 = 86_400.0;

pub struct Keys<'a> {
    log: &'a Log,
    pub place: Place,
    entries: Vec<(&'a str, &'a Node, &'a Place)>,
    known: RefCell<Vec<&'static str>>,
}

impl<'a> Keys<'a> {
    /// `what` names the map in messages.
    pub fn of(node: &'a Node, what: &str, log: &'a Log) -> Option<Keys<'a>> {
        let Value::Mapping(pairs) = &node.value else {
            log.error(
                &node.place,
                format!(
                    "{what} must be a map of keys and values, not {}",
                    node.what()
                ),
            );
            return None;
        };
        let mut entries: Vec<(&str, &Node, &Place)> = Vec::new();
        let mut seen: HashMap<&str, &Place> = HashMap::new();
        for (key, value) in pairs {
            let Some(name) = key.text() else {
                log.error(
                    &key.place,
                    format!("a key must be a text, not {}", key.what()),
                );
                continue;
            };
            match seen.entry(name) {
                Entry::Occupied(first) => {
                    let line = first.get().line().unwrap_or_default();
                    log.error(
                        &key.place,
                        format!("key {name:?} stands here a second time, first in line {line}"),
                    );
                }
                Entry::Vacant(new) => {
                    new.insert(&key.place);
                    entries.push((name, value, &key.place));
                }
            }
        }
        Some(Keys {
            log,
            place: node.place.clone(),
            entries,
            known: RefCell::default(),
        })
    }

    /// Keys that have no meaning for judging.
    pub fn ignore(&self, keys: &[&'static str]) {
        self.known.borrow_mut().extend(keys);
    }

    /// The value of a key, unless it is missing or null.
    pub fn get(&self, key: &'static str) -> Option<&'a Node> {
        self.known.borrow_mut().push(key);
        self.entries
            .iter()
            .find(|(name, ..)| *name == key)
            .map(|(_, node, _)| *node)
            .filter(|node| !matches!(node.value, Value::Null))
    }

    pub fn text(&self, key: &'static str) -> Option<&'a str> {
        let node = self.get(key)?;
        let text = node.text();
        if text.is_none() {
            self.log.error(
                &node.place,
                format!("{key} must be a text, not {}", node.what()),
            );
        }
        text
    }

    /// One of these words.
    pub fn one_of<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let node = self.get(key)?;
        let found = node
            .text()
            .and_then(|text| words.iter().find(|(word, _)| *word == text));
        if found.is_none() {
            let choice = words
                .iter()
                .map(|(word, _)| *word)
                .collect::<Vec<_>>()
                .join(", ");
            self.log.error(
                &node.place,
                format!("{key} must be one of {choice}{}", shown(node)),
            );
        }
        found.map(|(_, value)| *value)
    }

    /// A finite number.
    pub fn number(&self, key: &'static str) -> Option<f64> {
        let node = self.get(key)?;
        let number = node.text().and_then(number);
        if number.is_none() {
            self.log.error(
                &node.place,
                format!("{key} must be a number{}", shown(node)),
            );
        }
        number
    }

    /// A number that is at least `least`.
    pub fn factor(&self, key: &'static str, least: f64) -> Option<f64> {
        let factor = self.number(key)?;
        if factor < least {
            self.log.error(
                &self.get(key)?.place,
                format!("{key} must be at least {least}, but is {factor}"),
            );
            return None;
        }
        Some(factor)
    }

    /// A number of seconds: more than 0, at most a day.
    pub fn seconds(&self, key: &'static str) -> Option<Duration> {
        let number = self.number(key)?;
        let seconds = seconds(number);
        if seconds.is_none() {
            let place = &self.get(key)?.place;
            self.log.error(
                place,
                format!("{key} must be more than 0 seconds and at most a day, but is {number}"),
            );
        }
        seconds
    }

    /// A whole number from `least` on, in units of this many.
    pub fn whole(&self, key: &'static str, least: u64, unit: u64) -> Option<u64> {
        let node = self.get(key)?;
        let whole = node
            .text()
            .and_then(|text| text.parse::<u64>().ok())
            .filter(|number| *number >= least);
        let product = whole.and_then(|number| number.checked_mul(unit));
        if product.is_none() {
            let message = match whole {
                Some(number) => format!("{key} is too great: {number}"),
                None => format!(
                    "{key} must be a whole number, at least {least}{}",
                    shown(node)
                ),
            };
            self.log.error(&node.place, message);
        }
        product
    }

    /// A list of words: a list of texts, or one text with words that spaces separate.
    pub fn words(&self, key: &'static str) -> Option<Vec<String>> {
        let node = self.get(key)?;
        match &node.value {
            Value::Text(text) => self.split(text, &node.place),
            _ => self.texts_of(key, node),
        }
    }

    /// The words of a text. `None` if they are too many; the log names the reason.
    fn split(&self, text: &str, place: &Place) -> Option<Vec<String>> {
        let words: Vec<String> = text
            .split_whitespace()
            .take(MOST_WORDS + 1)
            .map(str::to_owned)
            .collect();
        if words.len() > MOST_WORDS {
            self.log.exceeds(place, Bound::Words);
            return None;
        }
        self.log.takes(place, words_cost(&words)).then_some(words)
    }

    /// A list of texts; a single text counts as a list of one.
    pub fn texts(&self, key: &'static str) -> Option<Vec<String>> {
        let node = self.get(key)?;
        match &node.value {
            Value::Text(text) => Some(vec![text.clone()]),
            _ => self.texts_of(key, node),
        }
    }

    /// A list of texts.
    pub fn texts_of(&self, key: &str, node: &Node) -> Option<Vec<String>> {
        let Value::Sequence(nodes) = &node.value else {
            self.log.error(
                &node.place,
                format!("{key} must be a list of texts, not {}", node.what()),
            );
            return None;
        };
        let texts = nodes.iter().map(|node| {
            let text = node.text().map(str::to_owned);
            if text.is_none() {
                self.log.error(
                    &node.place,
                    format!(
                        "{key} must be a list of texts, but has {} in it",
                        node.what()
                    ),
                );
            }
            text
        });
        // All of them are read, for their faults.
        let texts: Vec<String> = texts
            .collect::<Vec<_>>()
            .into_iter()
            .collect::<Option<_>>()?;
        self.log
            .takes(&node.place, words_cost(&texts))
            .then_some(texts)
    }

    /// A map.
    pub fn map(&self, key: &'static str) -> Option<Keys<'a>> {
        Keys::of(self.get(key)?, key, self.log)
    }

    /// Keys that were not read, with their values.
    pub fn rest(&self) -> impl Iterator<Item = (&'a str, &'a Node, &'a Place)> {
        let known = self.known.borrow();
        self.entries
            .iter()
            .filter(|(name, ..)| !known.contains(name))
            .copied()
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Warns of keys that were not read.
    pub fn finish(self) {
        for (name, _, place) in self.rest() {
            // Suggestions for thousands of keys would not be read.
            let known = self.known.borrow();
            let meant = if self.log.is_full() {
                String::new()
            } else {
                did_you_mean(name, known.iter().copied())
            };
            self.log
                .warning(place, format!("unknown key {name:?}, not read{meant}"));
        }
    }
}

/// The kind of a value, for the end of a message.
pub fn shown(node: &Node) -> String {
    match node.text() {
        Some(text) => format!(", but is {text:?}"),
        None => format!(", not {}", node.what()),
    }
}

/// A number that is finite, written in decimal.
pub fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// A time that is more than 0 and at most a day.
pub fn seconds(number: f64) -> Option<Duration> {
    let time = Duration::try_from_secs_f64(number).ok()?;
    (!time.is_zero() && number <= DAY).then_some(time)
}
