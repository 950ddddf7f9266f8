//! Sipfile: how the package's tests are made.

use super::config::{Config, Item};
use super::names::{self, RangeError};
use crate::bound::{Bound, MOST_TESTS, MOST_UTILS, words_cost};
use crate::fault::Log;
use crate::keys::{number, seconds};
use crate::model::{Generation, Generator};
use crate::programs::program;
use crate::tree::Tree;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

pub const FILE: &str = "Sipfile";

/// What a Sipfile says.
#[derive(Default)]
pub struct Sipfile {
    /// Time limit of tests for which the Simfile has none.
    pub time_limit: Option<Duration>,
    /// Tests whose inputs nobody makes.
    pub fixed: Vec<Item>,
    pub generations: Vec<Generation>,
}

/// Reads the Sipfile; `None`: there is none.
pub fn read(tree: &Tree, log: &Log) -> Option<Sipfile> {
    if !tree.is_file(FILE) {
        return None;
    }
    let mut sipfile = Sipfile::default();
    let Some(text) = tree.text(FILE, log) else {
        return Some(sipfile);
    };
    let known = ["default_time_limit", "base_seed", "static", "gen"];
    let config = Config::read(&text, FILE, &known, log);
    if let Some(item) = config.text("default_time_limit") {
        sipfile.time_limit = number(&item.text).and_then(seconds);
        if sipfile.time_limit.is_none() {
            let message = "default_time_limit must be more than 0 seconds and at most a day";
            log.error(&item.place, format!("{message}, but is {:?}", item.text));
        }
    }
    let seed = config.text("base_seed").map_or(0, |item| {
        item.text.parse().unwrap_or_else(|_| {
            log.error(
                &item.place,
                format!(
                    "base_seed must be a whole number below 2^64, but is {:?}",
                    item.text
                ),
            );
            0
        })
    });
    let mut seen = BTreeSet::new();
    // Tests that may still be named.
    let mut left = MOST_TESTS;
    for item in config.array("static").unwrap_or_default() {
        let words = item.words();
        if let Some(word) = words.get(1) {
            log.warning(
                &item.place,
                format!("not read: {word:?} after the range of tests"),
            );
        }
        let Some(range) = words.first() else { continue };
        let Some(names) = tests(item, range, left, log) else {
            break;
        };
        left -= names.len();
        for name in names {
            if seen.insert(name.clone()) {
                sipfile.fixed.push(Item {
                    place: item.place.clone(),
                    text: name,
                });
            } else {
                log.warning(&item.place, format!("test {name:?} stands twice in static"));
            }
        }
    }
    let mut generators = Generators {
        tree,
        log,
        sources: None,
        found: HashMap::new(),
    };
    'items: for item in config.array("gen").unwrap_or_default() {
        let Some((range, command)) = item.text.split_once(char::is_whitespace) else {
            log.error(
                &item.place,
                format!("there is no generator after {:?}", item.text),
            );
            continue;
        };
        let command = command.trim();
        let Some(names) = tests(item, range, left, log) else {
            break;
        };
        left -= names.len();
        let (generator, arguments) = generators.of(command, item);
        let cost = words_cost(&arguments) + generator.cost();
        for name in names {
            // Each test has a command of its own.
            if !log.takes(&item.place, cost + name.len()) {
                break 'items;
            }
            if !seen.insert(name.clone()) {
                log.error(
                    &item.place,
                    format!("test {name:?} has been named before, in gen or in static"),
                );
                continue;
            }
            let seed = hash(&name) ^ seed;
            let (generator, arguments) = (generator.clone(), arguments.clone());
            sipfile.generations.push(Generation {
                test: name,
                generator,
                arguments,
                seed,
                answer: None,
            });
        }
    }
    Some(sipfile)
}

/// The tests of a range; `None`: the file names too many, or too long ones, and the log says so.
fn tests(item: &Item, range: &str, most: usize, log: &Log) -> Option<Vec<String>> {
    let names = match names::range(range, most) {
        Ok(names) => names,
        Err(RangeError::Wrong(error)) => {
            log.error(
                &item.place,
                format!("{range:?} is no range of tests: {error}"),
            );
            Vec::new()
        }
        Err(RangeError::Exceeds(bound)) => {
            log.exceeds(&item.place, bound);
            return None;
        }
    };
    for name in &names {
        if names::group(name).is_none() || name.contains('/') {
            log.error(
                &item.place,
                format!(
                    "{name:?} is no test: a name ends in the number of its group, perhaps with \
                    letters after it"
                ),
            );
        }
    }
    Some(
        names
            .into_iter()
            .filter(|name| names::group(name).is_some() && !name.contains('/'))
            .collect(),
    )
}

/// Generators of the package, which are looked for once for each name.
struct Generators<'a> {
    tree: &'a Tree,
    log: &'a Log,
    /// Paths of the sources below `utils`, once they are needed.
    sources: Option<Vec<&'a str>>,
    found: HashMap<String, Option<String>>,
}

impl Generators<'_> {
    /// A source of the package by its path, or by letters of its path below `utils`; else a
    /// command.
    fn of(&mut self, command: &str, item: &Item) -> (Generator, Vec<String>) {
        if let Some(line) = command.strip_prefix("sh:") {
            return (Generator::Shell(line.to_owned()), Vec::new());
        }
        let (name, rest) = command
            .split_once(char::is_whitespace)
            .unwrap_or((command, ""));
        let path = match self.found.get(name) {
            Some(path) => path.clone(),
            None => {
                let path = self.look(name, item);
                self.found.insert(name.to_owned(), path.clone());
                path
            }
        };
        match path {
            Some(path) => (
                Generator::Program(program(self.tree, &path)),
                arguments(rest),
            ),
            None => (Generator::Shell(command.to_owned()), Vec::new()),
        }
    }

    fn look(&mut self, name: &str, item: &Item) -> Option<String> {
        if self.tree.is_file(name) {
            return Some(name.to_owned());
        }
        let (tree, log) = (self.tree, self.log);
        let is_source =
            |path: &&str| !path.starts_with("utils/cache/") && super::simfile::is_source(path);
        let sources = self.sources.get_or_insert_with(|| {
            tree.files("utils")
                .filter(is_source)
                .take(MOST_UTILS + 1)
                .collect()
        });
        if sources.len() > MOST_UTILS {
            log.exceeds(&item.place, Bound::Utils);
            return None;
        }
        let matching: Vec<&str> = sources
            .iter()
            .copied()
            .filter(|path| matches(name, path))
            .take(2)
            .collect();
        match matching[..] {
            [path] => Some(path.to_owned()),
            [] => {
                let message = format!(
                    "no source below utils matches {name:?}; taken for a command of the shell, \
                     which"
                );
                log.warning(
                    &item.place,
                    format!("{message} is better written sh:{name}"),
                );
                None
            }
            [first, second, ..] => {
                log.error(
                    &item.place,
                    format!(
                        "the generator {name:?} may be {first} or {second}; write the whole path"
                    ),
                );
                Some(first.to_owned())
            }
        }
    }
}

/// Whether the letters stand in the path, in this order: in the path without its extension, unless
/// there is a dot among them.
fn matches(letters: &str, path: &str) -> bool {
    let path = if letters.contains('.') {
        path
    } else {
        path.rsplit_once('.').map_or(path, |(stem, _)| stem)
    };
    let mut path = path.chars();
    letters.chars().all(|letter| path.any(|c| c == letter))
}

/// Words; a backslash makes the next character one of the word.
fn arguments(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\\' => word
                .get_or_insert_default()
                .push(letters.next().unwrap_or('\\')),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Sim's hash of a test's name, so that seeds, and with them tests, are those that Sim's tool
/// makes.
fn hash(name: &str) -> u64 {
    // (p - 1) * 257 + 255 is below 2^64.
    name.bytes().rev().fold(0, |hash, byte| {
        (hash * 257 + u64::from(byte)) % 71_777_214_294_589_669
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_backslashes() {
        assert_eq!(arguments(r"a  b\ c \\ d\"), ["a", "b c", "\\", "d\\"]);
        assert!(arguments("  ").is_empty());
    }

    #[test]
    fn letters_of_a_path() {
        assert!(matches("gen", "utils/gen.cpp"));
        assert!(matches("ugn", "utils/gen.cpp"));
        assert!(!matches("genc", "utils/gen.cpp"));
        assert!(matches("gen.c", "utils/gen.cpp"));
        assert!(!matches("neg", "utils/gen.cpp"));
    }

    #[test]
    fn the_hash_is_sims() {
        // 257 * '1' + 'a' reversed: the last letter counts most.
        assert_eq!(hash("a1"), u64::from(b'1') * 257 + u64::from(b'a'));
        assert_eq!(hash(""), 0);
        assert!(hash(&"z".repeat(100)) < 71_777_214_294_589_669);
    }
}
