//! Reads generators/generators.yaml, which describes how tests are generated.
//!
//! The format is that of BAPCtools, which many packages use. docs/reference/generators.md lists the
//! supported part. Unsupported content is a warning, because a test that was silently not generated
//! would be noticed only much later.

use super::command::{PLACEHOLDERS, line, seed, unknown_placeholders, with_seed};
use super::numbering::{
    Count, NOT_GENERATED, counts, is_directory, not_generated, not_used, numbered, numbered_tests,
};
use super::siblings::{DIRECTORY, Siblings};
use crate::bound::{Bound, MAX_COMMAND_BYTES, words_cost};
use crate::constants::Constants;
use crate::fault::icpc::GenerationFault;
use crate::fault::log::{Log, Place};
use crate::fault::text::Suggestion;
use crate::keys::Keys;
use crate::model::{Generation, Generator, Program};
use crate::programs::program;
use crate::tree::Tree;
use crate::yaml::{self, Node, Value};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

pub const FILE: &str = "generators/generators.yaml";

#[derive(Default)]
pub struct Generations {
    pub list: Vec<Generation>,
    /// The program that generates answers, if the file names one: its place in the file and its
    /// path.
    pub solution: Option<(Place, String)>,
}

/// Reads the file, if it exists. Adds to the tree all inputs and answers that can be generated.
pub fn read(tree: &mut Tree, constants: &Constants, log: &Log) -> Generations {
    let made = all(tree, constants, log);
    for generation in &made.list {
        tree.expect(&format!("data/{}.in", generation.test));
    }
    // The model solution generates missing answers.
    let inputs = ["data/sample", "data/secret"].map(|directory| {
        tree.files(directory)
            .filter_map(|path| path.strip_suffix(".in"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    for name in inputs.into_iter().flatten() {
        tree.expect(&format!("{name}.ans"));
    }
    made
}

/// Reads the file, if it exists, to find its faults and its model solution.
pub fn check(tree: &Tree, constants: &Constants, log: &Log) -> Generations {
    let made = all(tree, constants, log);
    let missing = made
        .list
        .iter()
        .filter(|generation| !tree.is_file(&format!("data/{}.in", generation.test)));
    let missing: Vec<&str> = missing.map(|generation| &*generation.test).collect();
    match missing[..] {
        [] => {}
        [test] => {
            let test = test.into();
            log.warning(FILE, GenerationFault::MissingTest { test });
        }
        [first, ref others @ ..] => {
            let (test, others) = (first.into(), others.len());
            log.warning(FILE, GenerationFault::MissingTests { test, others });
        }
    }
    Generations {
        list: Vec::new(),
        ..made
    }
}

fn all(tree: &Tree, constants: &Constants, log: &Log) -> Generations {
    if tree.is_file(FILE)
        && let Some(text) = tree.text(FILE, log)
        && let Some(node) = yaml::parse(&text, &Place::file(FILE), log)
    {
        return file(tree, &node, constants, log);
    }
    Generations::default()
}

fn file(tree: &Tree, node: &Node, constants: &Constants, log: &Log) -> Generations {
    let mut made = Generations::default();
    let Some(keys) = Keys::of(node, "generators.yaml", log) else {
        return made;
    };
    if let Some(path) = keys.text("solution") {
        let place = keys
            .get("solution")
            .map_or(&keys.place, |node| &node.place)
            .clone();
        made.solution = Some((place, path.trim_start_matches('/').to_owned()));
    }
    let (generators, seen) = (BTreeMap::new(), BTreeSet::new());
    let mut reader = Reader {
        tree,
        log,
        constants,
        generators,
        siblings: OnceCell::new(),
        seen,
        named: HashMap::new(),
        numbers: numbered_tests(node),
        next_number: 0,
        numbered: None,
        made: Vec::new(),
    };
    if let Some(map) = keys.map("generators") {
        for (name, node, place) in map.rest() {
            reader.add_generator(name, node, place, &map);
        }
    }
    let salt = keys.text("random_salt").unwrap_or_default();
    match keys.get("data") {
        Some(data) => reader.directory(data, "", salt),
        None => log.error(&keys.place, GenerationFault::NoData),
    }
    reader.warn(&keys, &["include", "retries", "visualizer"], not_used);
    reader.warn(&keys, &["testdata.yaml", "test_group.yaml"], not_generated);
    keys.ignore(&["version"]);
    keys.finish();
    made.list = reader.made;
    made
}

struct Reader<'a> {
    tree: &'a Tree,
    log: &'a Log,
    /// Constants that commands may contain.
    constants: &'a Constants,
    /// Generators that consist of several files, by name.
    generators: BTreeMap<String, Program>,
    /// The files beside generators.yaml, listed when they are first needed.
    siblings: OnceCell<Siblings<'a>>,
    seen: BTreeSet<String>,
    /// The tests that each key names, as ranges of `made`.
    named: HashMap<String, Vec<Range<usize>>>,
    /// The number of tests in all lists.
    numbers: usize,
    /// The number of the last test in a list.
    next_number: usize,
    /// The name of the current list entry.
    numbered: Option<String>,
    made: Vec<Generation>,
}

impl<'a> Reader<'a> {
    fn add_generator(&mut self, name: &str, node: &Node, place: &Place, map: &Keys<'_>) {
        let Some(files) = map.texts_of(name, node) else {
            return;
        };
        let mut sources = Vec::new();
        for file in &files {
            let path = format!("{DIRECTORY}/{file}");
            if !self.tree.is_file(&path) {
                let (name, path) = (name.into(), path.into());
                self.log
                    .error(place, GenerationFault::NoSource { name, path });
                return;
            }
            if !self.log.takes(place, path.len()) {
                return;
            }
            sources.push(self.tree.path(&path));
        }
        match sources.first().cloned() {
            Some(path) => {
                let program = Program {
                    path,
                    sources,
                    language: None,
                    arguments: Vec::new(),
                };
                self.generators.insert(name.to_owned(), program);
            }
            None => {
                let name = name.into();
                self.log.error(place, GenerationFault::NoSources { name });
            }
        }
    }

    /// Reads the tests of a directory: a map of names and tests, or a list of such maps. Tests
    /// are numbered consecutively across the file's lists, and directories within each list.
    fn directory(&mut self, node: &Node, prefix: &str, salt: &str) {
        match &node.value {
            Value::Mapping(_) => {
                let Some(keys) = Keys::of(node, "data", self.log) else {
                    return;
                };
                // BAPCtools reads the entries of `data` itself in this order, and all others in the
                // order of their names. The order decides about the numbers in lists.
                let mut entries: Vec<_> = keys.rest().collect();
                match prefix {
                    "" => entries.sort_by_key(|(name, ..)| *name != "sample"),
                    _ => entries.sort_by_key(|(name, ..)| *name),
                }
                for (name, node, place) in entries {
                    let known = self.made.len();
                    self.entry(name, node, place, prefix, salt);
                    self.remember(name, known);
                }
            }
            Value::Sequence(entries) => self.list(entries, prefix, salt),
            Value::Null => {}
            Value::Text(_) => {
                let found = node.kind();
                self.log.error(&node.place, GenerationFault::Data { found });
            }
        }
    }

    fn list(&mut self, entries: &[Node], prefix: &str, salt: &str) {
        let directories = entries
            .iter()
            .filter_map(|entry| match &entry.value {
                Value::Mapping(pairs) => Some(pairs),
                _ => None,
            })
            .flatten()
            .filter(|(_, node)| is_directory(node))
            .count();
        let mut next_directory = 1;
        for entry in entries {
            let Some(keys) = Keys::of(entry, "a test in a list", self.log) else {
                continue;
            };
            let pairs: Vec<_> = keys.rest().collect();
            let [(name, node, place)] = pairs[..] else {
                self.log.error(&entry.place, GenerationFault::ListEntry);
                continue;
            };
            let known = self.made.len();
            if is_directory(node) {
                let name = numbered(name, next_directory, directories);
                next_directory += 1;
                self.entry(&name, node, place, prefix, salt);
            } else {
                self.numbered = Some(name.to_owned());
                self.entry(name, node, place, prefix, salt);
                self.numbered = None;
            }
            self.remember(name, known);
        }
    }

    /// Remembers the tests that a key names, for `include`. `known` is the number of tests before
    /// the key.
    fn remember(&mut self, key: &str, known: usize) {
        let tests = known..self.made.len();
        self.named.entry(key.to_owned()).or_default().push(tests);
    }

    fn entry(&mut self, name: &str, node: &Node, place: &Place, prefix: &str, salt: &str) {
        let path = format!("{prefix}{name}");
        let top = prefix.is_empty();
        if top && !matches!(name, "sample" | "secret") {
            let fault = GenerationFault::UnknownDirectory {
                name: name.into(),
                suggestion: Suggestion::new(name, ["sample", "secret"]),
            };
            return self.log.warning(place, fault);
        }
        if top || is_directory(node) {
            if !self.takes(prefix, name, place) {
                return;
            }
            let Some(keys) = Keys::of(node, "a directory of tests", self.log) else {
                return;
            };
            self.warn(&keys, &["testdata.yaml", "test_group.yaml"], not_generated);
            self.warn(&keys, &["retries", "solution", "visualizer"], not_used);
            let salt = keys.text("random_salt").unwrap_or(salt);
            if let Some(node) = keys.get("include") {
                let names = keys.texts("include").unwrap_or_default();
                self.include(&names, &path, &node.place);
            }
            if let Some(data) = keys.get("data") {
                self.directory(data, &format!("{path}/"), salt);
            }
            keys.finish();
            return;
        }
        let counts = match counts(node) {
            Ok(counts) => counts,
            Err(count) => {
                let found = count.found();
                return self
                    .log
                    .error(&count.place, GenerationFault::Count { found });
            }
        };
        for count in counts {
            let name = match self.numbered.clone() {
                Some(name) => {
                    self.next_number += 1;
                    numbered(&name, self.next_number, self.numbers)
                }
                None => name.to_owned(),
            };
            let name = format!("{name}{}", count.suffix);
            if !self.takes(prefix, &name, place) {
                return;
            }
            let path = format!("{prefix}{name}");
            if let Some(made) = self.test(&path, node, place, salt, &count)
                && self
                    .log
                    .takes(place, words_cost(&made.arguments) + made.cost())
            {
                self.made.push(made);
            }
        }
    }

    /// Checks the name of a test or directory, and that it is new.
    fn takes(&mut self, prefix: &str, name: &str, place: &Place) -> bool {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-+".contains(&byte);
        if name.is_empty() || name.starts_with(['.', '-']) || !name.bytes().all(allowed) {
            let name = name.into();
            self.log.error(place, GenerationFault::Name { name });
            return false;
        }
        let path = format!("{prefix}{name}");
        // If the package exceeds the bound on text, nothing more is copied.
        if !self.log.takes(place, path.len()) {
            return false;
        }
        if !self.seen.insert(path.clone()) {
            let test = path.into();
            self.log.error(place, GenerationFault::Repeated { test });
            return false;
        }
        true
    }

    /// Adds tests that earlier keys name to a directory.
    fn include(&mut self, names: &[String], directory: &str, place: &Place) {
        for name in names {
            let tests = match self.named.get(name).map(Vec::as_slice) {
                Some([tests]) => tests.clone(),
                found => {
                    let fault = GenerationFault::Include {
                        name: name.into(),
                        found: found.map_or(0, <[_]>::len),
                    };
                    self.log.error(place, fault);
                    continue;
                }
            };
            for index in tests {
                let included = &self.made[index];
                let last = included.test.rsplit('/').next().unwrap_or_default();
                let last = last.to_owned();
                let cost = words_cost(&included.arguments) + included.cost();
                let prefix = format!("{directory}/");
                if !self.log.takes(place, cost) || !self.takes(&prefix, &last, place) {
                    return;
                }
                let included = self.made[index].clone();
                self.made.push(Generation {
                    test: prefix + &last,
                    ..included
                });
            }
        }
    }

    fn test(
        &self,
        test: &str,
        node: &Node,
        place: &Place,
        salt: &str,
        count: &Count,
    ) -> Option<Generation> {
        if let Some(command) = node.text() {
            // The old form of `copy`.
            if let Some(path) = command.strip_suffix(".in") {
                return self.copy(test, path, None, place);
            }
            let (generator, arguments, seed) =
                self.command(test, command, &node.place, salt, count)?;
            return Some(Generation {
                test: test.to_owned(),
                generator,
                arguments,
                seed,
                answer: None,
            });
        }
        if matches!(node.value, Value::Null) {
            let test = test.into();
            self.log.warning(place, GenerationFault::NoCommand { test });
            return None;
        }
        let keys = Keys::of(node, "a test", self.log)?;
        keys.ignore(&["count"]);
        self.warn(
            &keys,
            &["match", "retries", "solution", "visualizer"],
            not_used,
        );
        self.warn(&keys, &NOT_GENERATED, not_generated);
        let made = self.test_of(test, &keys, place, salt, count);
        keys.finish();
        made
    }

    fn test_of(
        &self,
        test: &str,
        keys: &Keys<'_>,
        place: &Place,
        salt: &str,
        count: &Count,
    ) -> Option<Generation> {
        let generation = |generator, arguments, seed, answer| {
            Some(Generation {
                test: test.to_owned(),
                generator,
                arguments,
                seed,
                answer,
            })
        };
        let salt = keys.text("random_salt").unwrap_or(salt);
        let answer = keys.text("ans").map(|text| Generator::Text(line(text)));
        let sources = ["generate", "in", "copy"]
            .iter()
            .filter(|key| keys.get(key).is_some())
            .count();
        if sources == 0 && (keys.get("in.statement").is_some() || keys.get("interaction").is_some())
        {
            // Such a sample exists only in the statement.
            return None;
        }
        if sources != 1 {
            let test = test.into();
            self.log
                .error(place, GenerationFault::NotOneSource { test });
            return None;
        }
        if let Some(command) = keys.text("generate") {
            let place = keys.get("generate").map_or(place, |node| &node.place);
            let (generator, arguments, seed) = self.command(test, command, place, salt, count)?;
            return generation(generator, arguments, seed, answer);
        }
        if let Some(text) = keys.text("in") {
            return generation(Generator::Text(line(text)), Vec::new(), 0, answer);
        }
        self.copy(test, keys.text("copy")?, answer, place)
    }

    /// Returns a test whose files are copied from a path below `generators`.
    fn copy(
        &self,
        test: &str,
        path: &str,
        answer: Option<Generator>,
        place: &Place,
    ) -> Option<Generation> {
        let path = format!("{DIRECTORY}/{}", path.trim_start_matches("./"));
        let input = format!("{path}.in");
        if !self.tree.is_file(&input) {
            let path = input.into();
            self.log
                .error(place, GenerationFault::NoCopySource { path });
            return None;
        }
        let other = format!("{path}.ans");
        let copied = || {
            self.tree
                .is_file(&other)
                .then(|| Generator::Copy(self.tree.path(&other)))
        };
        Some(Generation {
            test: test.to_owned(),
            generator: Generator::Copy(self.tree.path(&input)),
            arguments: Vec::new(),
            seed: 0,
            answer: answer.or_else(copied),
        })
    }

    /// Warns of keys.
    fn warn(
        &self,
        keys: &Keys<'_>,
        names: &[&'static str],
        fault: fn(&'static str) -> GenerationFault,
    ) {
        for key in names {
            if let Some(node) = keys.get(key) {
                self.log.warning(&node.place, fault(key));
            }
        }
    }

    /// Reads a command `GENERATOR ARGUMENT...`. It may contain `{name}` any number of times, and
    /// `{seed}` or `{seed:NUMBER}` once. The seed depends on the command before these are replaced.
    fn command(
        &self,
        test: &str,
        text: &str,
        place: &Place,
        salt: &str,
        count: &Count,
    ) -> Option<(Generator, Vec<String>, u64)> {
        let Ok(filled) = self.constants.fill(text.as_bytes(), MAX_COMMAND_BYTES) else {
            self.log.exceeds(place, Bound::Command);
            return None;
        };
        let filled = filled.and_then(|filled| String::from_utf8(filled).ok());
        let mut text = filled.unwrap_or_else(|| text.to_owned());
        if !count.suffix.is_empty() && text.len() <= MAX_COMMAND_BYTES {
            text = text.replace("{count}", &count.value.to_string());
        }
        let text = text.trim();
        if text.len() > MAX_COMMAND_BYTES {
            self.log.exceeds(place, Bound::Command);
            return None;
        }
        let mut words = text.split_whitespace();
        let Some(name) = words.next() else {
            self.log.error(place, GenerationFault::EmptyCommand);
            return None;
        };
        let program = self.program(name, place)?;
        let seed = match count.value {
            1 => seed(salt, text),
            value => seed(&format!("{salt}:{}", value - 1), text),
        };
        let mut seeds = 0;
        for placeholder in words.clone().flat_map(unknown_placeholders) {
            if placeholder == "{count}" {
                self.log.warning(place, GenerationFault::CountPlaceholder);
                continue;
            }
            let fault = GenerationFault::UnknownPlaceholder {
                placeholder: placeholder.into(),
                suggestion: Suggestion::new(placeholder, PLACEHOLDERS),
            };
            self.log.warning(place, fault);
        }
        let last = test.rsplit('/').next().unwrap_or(test);
        let arguments = words
            .map(|word| with_seed(word, seed, &mut seeds).replace("{name}", last))
            .collect();
        if seeds > 1 {
            self.log.error(place, GenerationFault::RepeatedSeed);
        }
        Some((Generator::Program(program), arguments, seed))
    }

    /// Finds a program: one of `generators`, a file with or without its extension, or a directory.
    fn program(&self, name: &str, place: &Place) -> Option<Program> {
        if let Some(program) = self.generators.get(name) {
            return Some(program.clone());
        }
        let path = format!("{DIRECTORY}/{}", name.trim_start_matches("./"));
        if self.tree.kind(&path).is_some() && !path.contains("/../") {
            return Some(program(self.tree, &path));
        }
        let siblings = self.siblings.get_or_init(|| Siblings::of(self.tree));
        let found = siblings.stems.get(name).map_or(&[][..], Vec::as_slice);
        match *found {
            [path] => return Some(program(self.tree, path)),
            [] => {
                let names = siblings.names.iter().copied();
                let suggestion = if self.log.is_full() {
                    Suggestion::NONE
                } else {
                    Suggestion::new(name, names)
                };
                let name = name.into();
                self.log
                    .error(place, GenerationFault::NoGenerator { name, suggestion });
            }
            [first, second, ..] => {
                let fault = GenerationFault::AmbiguousGenerator {
                    name: name.into(),
                    first: first.into(),
                    second: second.into(),
                };
                self.log.error(place, fault);
            }
        }
        None
    }
}
