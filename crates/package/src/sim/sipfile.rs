//! Reads a Sipfile, which describes how tests are generated.

use super::config::{Config, Item};
use super::names::{self, RangeError};
use super::values::is_source;
use crate::bound::{Bound, MAX_TESTS, MAX_UTILS_SOURCES, words_cost};
use crate::fault::log::Log;
use crate::fault::sim::SipfileFault;
use crate::fault::text::Excerpt;
use crate::keys::{number, seconds};
use crate::model::{Generation, Generator};
use crate::programs::program;
use crate::tree::Tree;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

pub const FILE: &str = "Sipfile";

/// The content of a Sipfile.
#[derive(Default)]
#[non_exhaustive]
pub struct Sipfile {
    /// The time limit of tests without a limit in the Simfile.
    pub time_limit: Option<Duration>,
    /// Tests whose inputs are not generated.
    pub fixed: Vec<Item>,
    pub generations: Vec<Generation>,
}

/// Reads the Sipfile, or returns `None` if the package has none.
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
            let text = Excerpt::new(&item.text);
            log.error(&item.place, SipfileFault::TimeLimit { text });
        }
    }
    let seed = config.text("base_seed").map_or(0, |item| {
        item.text.parse().unwrap_or_else(|_| {
            let text = Excerpt::new(&item.text);
            log.error(&item.place, SipfileFault::Seed { text });
            0
        })
    });
    let mut seen = BTreeSet::new();
    // The number of tests that the file may still name.
    let mut left = MAX_TESTS;
    for item in config.array("static").unwrap_or_default() {
        let words = item.words();
        if let Some(word) = words.get(1) {
            let word = (*word).into();
            log.warning(&item.place, SipfileFault::AfterRange { word });
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
                let test = name.into();
                log.warning(&item.place, SipfileFault::RepeatedStatic { test });
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
            let range = Excerpt::new(&item.text);
            log.error(&item.place, SipfileFault::NoCommand { range });
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
            // Each test has its own copy of the command.
            if !log.takes(&item.place, cost + name.len()) {
                break 'items;
            }
            if !seen.insert(name.clone()) {
                let test = name.into();
                log.error(&item.place, SipfileFault::Repeated { test });
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

/// Returns the tests of a range. `None` means that their number or names exceed a bound and that
/// the log contains the fault.
fn tests(item: &Item, range: &str, most: usize, log: &Log) -> Option<Vec<String>> {
    let names = match names::range(range, most) {
        Ok(names) => names,
        Err(RangeError::Fault(fault)) => {
            let range = range.into();
            log.error(&item.place, SipfileFault::Range { range, fault });
            Vec::new()
        }
        Err(RangeError::Exceeds(bound)) => {
            log.exceeds(&item.place, bound);
            return None;
        }
    };
    for name in &names {
        if names::group(name).is_none() || name.contains('/') {
            let name = name.into();
            log.error(&item.place, SipfileFault::TestName { name });
        }
    }
    Some(
        names
            .into_iter()
            .filter(|name| names::group(name).is_some() && !name.contains('/'))
            .collect(),
    )
}

/// The generators of the package. Each name is looked up once.
struct Generators<'a> {
    tree: &'a Tree,
    log: &'a Log,
    /// The paths of the sources below `utils`, listed when they are first needed.
    sources: Option<Vec<&'a str>>,
    found: HashMap<String, Option<String>>,
}

impl Generators<'_> {
    /// Returns the generator of a command: a source with this path, or a source below `utils` whose
    /// path contains these letters. Any other command is a shell command.
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
                let path = self.find(name, item);
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

    fn find(&mut self, name: &str, item: &Item) -> Option<String> {
        if self.tree.is_file(name) {
            return Some(name.to_owned());
        }
        let (tree, log) = (self.tree, self.log);
        let is_generator = |path: &&str| !path.starts_with("utils/cache/") && is_source(path);
        let sources = self.sources.get_or_insert_with(|| {
            tree.files("utils")
                .filter(is_generator)
                .take(MAX_UTILS_SOURCES + 1)
                .collect()
        });
        if sources.len() > MAX_UTILS_SOURCES {
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
                let name = name.into();
                log.warning(&item.place, SipfileFault::ShellCommand { name });
                None
            }
            [first, second, ..] => {
                let fault = SipfileFault::AmbiguousGenerator {
                    name: name.into(),
                    first: first.into(),
                    second: second.into(),
                };
                log.error(&item.place, fault);
                Some(first.to_owned())
            }
        }
    }
}

/// Whether the path contains the letters in this order. The path's extension counts only if the
/// letters include a dot.
fn matches(letters: &str, path: &str) -> bool {
    let path = if letters.contains('.') {
        path
    } else {
        path.rsplit_once('.').map_or(path, |(stem, _)| stem)
    };
    let mut path = path.chars();
    letters.chars().all(|letter| path.any(|c| c == letter))
}

/// Splits a string into words. The character after a backslash is part of the word.
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

/// Sim's hash of a test's name. With the same seeds, generators produce the same tests as with
/// Sim's tool.
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
    fn arguments_keep_escaped_spaces() {
        assert_eq!(arguments(r"a  b\ c \\ d\"), ["a", "b c", "\\", "d\\"]);
        assert!(arguments("  ").is_empty());
    }

    #[test]
    fn matches_finds_letters_in_order() {
        assert!(matches("gen", "utils/gen.cpp"));
        assert!(matches("ugn", "utils/gen.cpp"));
        assert!(!matches("genc", "utils/gen.cpp"));
        assert!(matches("gen.c", "utils/gen.cpp"));
        assert!(!matches("neg", "utils/gen.cpp"));
    }

    #[test]
    fn hash_equals_that_of_sim() {
        // 257 * '1' + 'a' reversed: the last letter counts most.
        assert_eq!(hash("a1"), u64::from(b'1') * 257 + u64::from(b'a'));
        assert_eq!(hash(""), 0);
        assert!(hash(&"z".repeat(100)) < 71_777_214_294_589_669);
    }
}
