//! A map of a YAML file whose keys are read one by one.
//!
//! A key that was read is known. At the end, a warning is issued for every other key.

use crate::bound::{Bound, MAX_WORDS, words_cost};
use crate::fault::log::{Log, Place};
use crate::fault::text::{Number, Suggestion, WordList};
use crate::fault::values::KeyFault;
use crate::yaml::{self, Node, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

const SECONDS_PER_DAY: f64 = 86_400.0;

#[non_exhaustive]
pub struct Keys<'a> {
    log: &'a Log,
    pub place: Place,
    entries: Vec<(&'a str, &'a Node, &'a Place)>,
    known: RefCell<Vec<&'static str>>,
}

impl<'a> Keys<'a> {
    /// Reads the keys of a map, which messages call `name`. `None` means that the node is not a map
    /// and that the log contains the fault.
    pub fn of(node: &'a Node, name: &str, log: &'a Log) -> Option<Keys<'a>> {
        let Value::Mapping(pairs) = &node.value else {
            let (name, found) = (name.into(), node.kind());
            log.error(&node.place, KeyFault::NotMap { name, found });
            return None;
        };
        let mut entries: Vec<(&str, &Node, &Place)> = Vec::new();
        let mut seen: HashMap<&str, &Place> = HashMap::new();
        for (key, value) in pairs {
            let Some(name) = key.text() else {
                let found = key.kind();
                log.error(&key.place, KeyFault::KeyNotText { found });
                continue;
            };
            match seen.entry(name) {
                Entry::Occupied(first) => {
                    let first_line = first.get().line().unwrap_or_default();
                    let key_name = name.into();
                    log.error(
                        &key.place,
                        KeyFault::Repeated {
                            key: key_name,
                            first_line,
                        },
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

    /// Whether the map has other keys than these.
    pub fn is_more_than(&self, keys: &[&str]) -> bool {
        self.entries.iter().any(|(name, ..)| !keys.contains(name))
    }

    /// Marks keys that have no meaning for judging as known.
    pub fn ignore(&self, keys: &[&'static str]) {
        self.known.borrow_mut().extend(keys);
    }

    /// Returns the value of a key, unless it is missing or null.
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
            let (key, found) = (key.into(), node.kind());
            self.log
                .error(&node.place, KeyFault::NotText { key, found });
        }
        text
    }

    /// Reads a word and returns the value that belongs to it. The words `true` and `false` stand
    /// for all spellings of the booleans.
    pub fn one_of<T: Copy>(&self, key: &'static str, words: &[(&'static str, T)]) -> Option<T> {
        let node = self.get(key)?;
        let found = node.text().and_then(|text| {
            let text = match yaml::boolean(text) {
                Some(true) => "true",
                Some(false) => "false",
                None => text,
            };
            words.iter().find(|(word, _)| *word == text)
        });
        if found.is_none() {
            let choices = WordList::new(words.iter().map(|(word, _)| *word));
            let fault = KeyFault::NotOneOf {
                key,
                choices,
                found: node.found(),
            };
            self.log.error(&node.place, fault);
        }
        found.map(|(_, value)| *value)
    }

    /// Reads a finite number.
    pub fn number(&self, key: &'static str) -> Option<f64> {
        let node = self.get(key)?;
        let number = node.text().and_then(yaml::number);
        if number.is_none() {
            let found = node.found();
            self.log
                .error(&node.place, KeyFault::NotNumber { key, found });
        }
        number
    }

    /// Reads a number that is at least `min`.
    pub fn factor(&self, key: &'static str, min: f64) -> Option<f64> {
        let factor = self.number(key)?;
        if factor < min {
            let (min, number) = (Number(min), Number(factor));
            let fault = KeyFault::TooSmall { key, min, number };
            self.log.error(&self.get(key)?.place, fault);
            return None;
        }
        Some(factor)
    }

    /// Reads a number of seconds: more than 0 and at most a day.
    pub fn seconds(&self, key: &'static str) -> Option<Duration> {
        let number = self.number(key)?;
        let seconds = seconds(number);
        if seconds.is_none() {
            let place = &self.get(key)?.place;
            let seconds = Number(number);
            self.log.error(place, KeyFault::NotTime { key, seconds });
        }
        seconds
    }

    /// Reads a whole number that is at least `min`, and multiplies it by `unit`.
    pub fn whole(&self, key: &'static str, min: u64, unit: u64) -> Option<u64> {
        let node = self.get(key)?;
        let whole = node
            .text()
            .and_then(yaml::whole)
            .filter(|number| *number >= min);
        let product = whole.and_then(|number| number.checked_mul(unit));
        if product.is_none() {
            let fault = match whole {
                Some(number) => KeyFault::TooLarge { key, number },
                None => KeyFault::NotWhole {
                    key,
                    min,
                    found: node.found(),
                },
            };
            self.log.error(&node.place, fault);
        }
        product
    }

    /// Reads a list of strings, or the words of one text.
    pub fn words(&self, key: &'static str) -> Option<Vec<String>> {
        let node = self.get(key)?;
        match &node.value {
            Value::Text(text) => self.split(text, &node.place),
            _ => self.texts_of(key, node),
        }
    }

    /// Splits a string into words. `None` means that they exceed a bound and that the log contains
    /// the fault.
    fn split(&self, text: &str, place: &Place) -> Option<Vec<String>> {
        let words: Vec<String> = text
            .split_whitespace()
            .take(MAX_WORDS + 1)
            .map(str::to_owned)
            .collect();
        if words.len() > MAX_WORDS {
            self.log.exceeds(place, Bound::Words);
            return None;
        }
        self.log.takes(place, words_cost(&words)).then_some(words)
    }

    /// Reads a list of strings. A single text counts as a list with one element.
    pub fn texts(&self, key: &'static str) -> Option<Vec<String>> {
        let node = self.get(key)?;
        match &node.value {
            Value::Text(text) => Some(vec![text.clone()]),
            _ => self.texts_of(key, node),
        }
    }

    /// Reads a list of strings.
    pub fn texts_of(&self, key: &str, node: &Node) -> Option<Vec<String>> {
        let Value::Sequence(nodes) = &node.value else {
            let (key, found) = (key.into(), node.kind());
            self.log
                .error(&node.place, KeyFault::NotTexts { key, found });
            return None;
        };
        let texts = nodes.iter().map(|node| {
            let text = node.text().map(str::to_owned);
            if text.is_none() {
                let (key, found) = (key.into(), node.kind());
                self.log
                    .error(&node.place, KeyFault::TextsContain { key, found });
            }
            text
        });
        // Read all strings before returning, so that all faults are found.
        let texts: Vec<String> = texts
            .collect::<Vec<_>>()
            .into_iter()
            .collect::<Option<_>>()?;
        self.log
            .takes(&node.place, words_cost(&texts))
            .then_some(texts)
    }

    /// Reads a map.
    pub fn map(&self, key: &'static str) -> Option<Keys<'a>> {
        Keys::of(self.get(key)?, key, self.log)
    }

    /// Returns the keys that were not read, with their values.
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
            // Suggestions for thousands of keys would take too long.
            let known = self.known.borrow();
            let suggestion = if self.log.is_full() {
                Suggestion::NONE
            } else {
                Suggestion::new(name, known.iter().copied())
            };
            let key = name.into();
            self.log
                .warning(place, KeyFault::Unknown { key, suggestion });
        }
    }
}

/// Parses a finite decimal number of a file that is not YAML.
pub fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Converts a time that is more than 0 and at most a day.
pub fn seconds(number: f64) -> Option<Duration> {
    let time = Duration::try_from_secs_f64(number).ok()?;
    (!time.is_zero() && number <= SECONDS_PER_DAY).then_some(time)
}
