//! generators/generators.yaml: how tests are made.
//!
//! The format is that of BAPCtools, whose packages are many; docs/guide/problem.md says which part
//! of it is understood. What is not is a fault: a test that is silently not made would be missed
//! much later.

use crate::bound::{Bound, LONGEST_COMMAND, words_cost};
use crate::fault::{Log, Place, Severity, did_you_mean};
use crate::keys::Keys;
use crate::model::{Generation, Generator, Program};
use crate::programs::program;
use crate::tree::{Kind, Tree};
use crate::yaml::{self, Node, Value};
use sha2::{Digest, Sha512};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub const FILE: &str = "generators/generators.yaml";
const DIRECTORY: &str = "generators";
/// What stands for something else in a command.
const PLACEHOLDERS: [&str; 2] = ["{name}", "{seed}"];

/// What the file says.
#[derive(Default)]
pub struct Made {
    pub generations: Vec<Generation>,
    /// Path of the program that makes answers, if the file names it.
    pub solution: Option<(Place, String)>,
}

/// Reads the file, if there is one, and takes all inputs and answers that can be made for there.
pub fn read(tree: &mut Tree, log: &Log) -> Made {
    let made = all(tree, log, Severity::Error);
    for generation in &made.generations {
        tree.expect(&format!("data/{}.in", generation.test));
    }
    // The model solution answers what nobody has answered.
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

/// Reads the file, if there is one, for its faults alone, and for the model solution.
pub fn look(tree: &Tree, log: &Log) -> Made {
    let made = all(tree, log, Severity::Warning);
    let missing = made
        .generations
        .iter()
        .filter(|generation| !tree.is_file(&format!("data/{}.in", generation.test)));
    let missing: Vec<&str> = missing.map(|generation| &*generation.test).collect();
    match missing[..] {
        [] => {}
        [test] => log.warning(
            FILE,
            format!("test {test} is not there; `millibox problem gen` makes it"),
        ),
        [first, ref others @ ..] => {
            let others = others.len();
            let message = format!(
                "test {first} and {others} more are not there; `millibox problem gen` makes them"
            );
            log.warning(FILE, message);
        }
    }
    Made {
        generations: Vec::new(),
        ..made
    }
}

/// All that the file says. `unsupported`: how grave it is that something of it is not understood.
fn all(tree: &Tree, log: &Log, unsupported: Severity) -> Made {
    if tree.is_file(FILE)
        && let Some(text) = tree.text(FILE, log)
        && let Some(node) = yaml::parse(&text, &Place::file(FILE), log)
    {
        return file(tree, &node, log, unsupported);
    }
    Made::default()
}

fn file(tree: &Tree, node: &Node, log: &Log, unsupported: Severity) -> Made {
    let mut made = Made::default();
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
    let (together, seen) = (BTreeMap::new(), BTreeSet::new());
    let mut reader = Reader {
        tree,
        log,
        unsupported,
        together,
        beside: OnceCell::new(),
        seen,
        made: Vec::new(),
    };
    if let Some(map) = keys.map("generators") {
        for (name, node, place) in map.rest() {
            reader.together(name, node, place, &map);
        }
    }
    let salt = keys.text("random_salt").unwrap_or_default();
    match keys.get("data") {
        Some(data) => reader.directory(data, "", salt),
        None => log.error(&keys.place, "`data` is missing: the tests to be made"),
    }
    reader.unsupported(&keys, &["include"]);
    reader.not_made(&keys, &["testdata.yaml", "test_group.yaml", "visualizer"]);
    keys.ignore(&["version"]);
    // Keys may be other tools', as the format says; but who wrote one wrongly must hear of it.
    keys.finish();
    made.generations = reader.made;
    made
}

struct Reader<'a> {
    tree: &'a Tree,
    log: &'a Log,
    /// How grave it is that something is not understood.
    unsupported: Severity,
    /// Generators that are several files.
    together: BTreeMap<String, Program>,
    /// What lies beside the file, once it is needed.
    beside: OnceCell<Beside<'a>>,
    /// Names of tests and directories.
    seen: BTreeSet<String>,
    made: Vec<Generation>,
}

impl<'a> Reader<'a> {
    fn together(&mut self, name: &str, node: &Node, place: &Place, map: &Keys<'_>) {
        let Some(files) = map.texts_of(name, node) else {
            return;
        };
        let mut sources = Vec::new();
        for file in &files {
            let path = format!("{DIRECTORY}/{file}");
            if !self.tree.is_file(&path) {
                return self
                    .log
                    .error(place, format!("generator {name:?}: there is no {path}"));
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
                self.together.insert(name.to_owned(), program);
            }
            None => self
                .log
                .error(place, format!("generator {name:?} has no files")),
        }
    }

    /// A map of names and tests, or a list of such maps, which are numbered.
    fn directory(&mut self, node: &Node, prefix: &str, salt: &str) {
        match &node.value {
            Value::Mapping(_) => {
                let Some(keys) = Keys::of(node, "data", self.log) else {
                    return;
                };
                for (name, node, place) in keys.rest() {
                    self.entry(name, node, place, prefix, salt);
                }
            }
            Value::Sequence(entries) => {
                let digits = entries.len().to_string().len();
                for (index, entry) in entries.iter().enumerate() {
                    let Some(keys) = Keys::of(entry, "a test in a list", self.log) else {
                        continue;
                    };
                    let pairs: Vec<_> = keys.rest().collect();
                    let [(name, node, place)] = pairs[..] else {
                        self.log.error(
                            &entry.place,
                            "in a list each test is a map of its own: `- name: command`",
                        );
                        continue;
                    };
                    if is_directory(node) {
                        let message =
                            "directories are not numbered here; write them in a map, not in a list";
                        self.log.add(self.unsupported, place, message.to_owned());
                        continue;
                    }
                    let number = format!("{:0digits$}", index + 1);
                    let name = if name.is_empty() {
                        number
                    } else {
                        format!("{number}-{name}")
                    };
                    self.entry(&name, node, place, prefix, salt);
                }
            }
            Value::Null => {}
            Value::Text(_) => self.log.error(
                &node.place,
                "data must be a map or a list of tests, not a text",
            ),
        }
    }

    fn entry(&mut self, name: &str, node: &Node, place: &Place, prefix: &str, salt: &str) {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-+".contains(&byte);
        if name.is_empty() || name.starts_with(['.', '-']) || !name.bytes().all(allowed) {
            let message =
                "names have letters, digits and _ . - + only, and do not begin with . or -";
            return self
                .log
                .error(place, format!("{name:?} is no name of a test: {message}"));
        }
        let path = format!("{prefix}{name}");
        let top = prefix.is_empty();
        if top && !matches!(name, "sample" | "secret") {
            let meant = did_you_mean(name, ["sample", "secret"]);
            let message = format!("not made: only tests in sample and secret are{meant}");
            return self.log.warning(place, format!("{name}: {message}"));
        }
        if !self.seen.insert(path.clone()) {
            return self
                .log
                .error(place, format!("test {path} has been named before"));
        }
        if top || is_directory(node) {
            let Some(keys) = Keys::of(node, "a directory of tests", self.log) else {
                return;
            };
            self.not_made(&keys, &["testdata.yaml", "test_group.yaml"]);
            self.unsupported(&keys, &["include", "solution"]);
            let salt = keys.text("random_salt").unwrap_or(salt);
            if let Some(data) = keys.get("data") {
                self.directory(data, &format!("{path}/"), salt);
            }
            keys.finish();
            return;
        }
        // Once the package has come to too much, nothing is copied any more.
        if !self.log.takes(place, path.len()) {
            return;
        }
        if let Some(made) = self.test(&path, node, place, salt)
            && self
                .log
                .takes(place, words_cost(&made.arguments) + made.cost())
        {
            self.made.push(made);
        }
    }

    fn test(&self, test: &str, node: &Node, place: &Place, salt: &str) -> Option<Generation> {
        if let Some(command) = node.text() {
            let (generator, arguments, seed) = self.command(test, command, &node.place, salt)?;
            return Some(Generation {
                test: test.to_owned(),
                generator,
                arguments,
                seed,
                answer: None,
            });
        }
        if matches!(node.value, Value::Null) {
            self.log.error(
                place,
                format!("test {test} has no command; leave it out if its files are there already"),
            );
            return None;
        }
        let keys = Keys::of(node, "a test", self.log)?;
        self.unsupported(&keys, &["count", "solution", "match", "yaml"]);
        self.not_made(&keys, &["desc", "hint", "visualizer"]);
        let made = self.test_of(test, &keys, place, salt);
        keys.finish();
        made
    }

    /// One that is a map.
    fn test_of(
        &self,
        test: &str,
        keys: &Keys<'_>,
        place: &Place,
        salt: &str,
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
        let ways = ["generate", "in", "copy"]
            .iter()
            .filter(|key| keys.get(key).is_some())
            .count();
        if ways != 1 {
            self.log.error(
                place,
                format!("test {test} needs one of `generate`, `in` and `copy`"),
            );
            return None;
        }
        if let Some(command) = keys.text("generate") {
            let place = keys.get("generate").map_or(place, |node| &node.place);
            let (generator, arguments, seed) = self.command(test, command, place, salt)?;
            return generation(generator, arguments, seed, answer);
        }
        if let Some(text) = keys.text("in") {
            return generation(Generator::Text(line(text)), Vec::new(), 0, answer);
        }
        let path = format!("{DIRECTORY}/{}", keys.text("copy")?);
        let input = format!("{path}.in");
        if !self.tree.is_file(&input) {
            self.log.error(place, format!("copy: there is no {input}"));
            return None;
        }
        let other = format!("{path}.ans");
        let copied = || {
            self.tree
                .is_file(&other)
                .then(|| Generator::Copy(self.tree.path(&other)))
        };
        generation(
            Generator::Copy(self.tree.path(&input)),
            Vec::new(),
            0,
            answer.or_else(copied),
        )
    }

    fn unsupported(&self, keys: &Keys<'_>, names: &[&'static str]) {
        for name in names {
            if let Some(node) = keys.get(name) {
                self.log.add(
                    self.unsupported,
                    &node.place,
                    format!("`{name}` is not supported here"),
                );
            }
        }
    }

    fn not_made(&self, keys: &Keys<'_>, names: &[&'static str]) {
        for name in names {
            if let Some(node) = keys.get(name) {
                self.log.warning(
                    &node.place,
                    format!("{name} is not made from this; write the file"),
                );
            }
        }
    }

    /// `generator argument...`, with `{seed}` or `{seed:NUMBER}` in it at most once, and `{name}`.
    /// The seed is that of the command as it is written.
    fn command(
        &self,
        test: &str,
        text: &str,
        place: &Place,
        salt: &str,
    ) -> Option<(Generator, Vec<String>, u64)> {
        let text = text.trim();
        if text.len() > LONGEST_COMMAND {
            self.log.exceeds(place, Bound::Command);
            return None;
        }
        let mut words = text.split_whitespace();
        let Some(name) = words.next() else {
            self.log.error(
                place,
                "here should be a command: a generator and its arguments",
            );
            return None;
        };
        let program = self.program(name, place)?;
        let seed = seed(salt, text);
        let mut places = 0;
        for placeholder in words.clone().flat_map(unknown) {
            if placeholder == "{count}" {
                self.log.add(
                    self.unsupported,
                    place,
                    "{count}: `count` is not supported here".to_owned(),
                );
                continue;
            }
            let meant = did_you_mean(placeholder, PLACEHOLDERS);
            let message = "is given to the generator as it stands: here are only {name}, {seed} \
                and {seed:NUMBER}";
            self.log
                .warning(place, format!("{placeholder} {message}{meant}"));
        }
        let last = test.rsplit('/').next().unwrap_or(test);
        let arguments = words
            .map(|word| with_seed(word, seed, &mut places).replace("{name}", last))
            .collect();
        if places > 1 {
            self.log
                .error(place, "{seed} stands in this command more than once");
        }
        Some((Generator::Program(program), arguments, seed))
    }

    /// By a name of `generators`, of a file, of a directory, or of a file without its extension.
    fn program(&self, name: &str, place: &Place) -> Option<Program> {
        if let Some(program) = self.together.get(name) {
            return Some(program.clone());
        }
        let path = format!("{DIRECTORY}/{}", name.trim_start_matches("./"));
        if self.tree.kind(&path).is_some() && !path.contains("/../") {
            return Some(program(self.tree, &path));
        }
        let beside = self.beside.get_or_init(|| Beside::of(self.tree));
        let found = beside.stems.get(name).map_or(&[][..], Vec::as_slice);
        match *found {
            [path] => return Some(program(self.tree, path)),
            [] => {
                let names = beside.names.iter().copied();
                let meant = if self.log.is_full() {
                    String::new()
                } else {
                    did_you_mean(name, names)
                };
                self.log.error(
                    place,
                    format!("there is no generator {name:?} in {DIRECTORY}{meant}"),
                );
            }
            [first, second, ..] => {
                self.log.error(
                    place,
                    format!("{name:?} may be {first} or {second}; write its extension, too"),
                );
            }
        }
        None
    }
}

/// What lies beside generators.yaml.
struct Beside<'a> {
    names: Vec<&'a str>,
    /// Paths of files by their names without extension.
    stems: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Beside<'a> {
    fn of(tree: &'a Tree) -> Beside<'a> {
        let mut beside = Beside {
            names: Vec::new(),
            stems: HashMap::new(),
        };
        for (name, path, kind) in tree.children(DIRECTORY) {
            beside.names.push(name);
            if let Some((stem, extension)) = name.rsplit_once('.')
                && kind == Kind::File
                && extension != "yaml"
            {
                beside.stems.entry(stem).or_default().push(path);
            }
        }
        beside
    }
}

/// Whether the node describes tests rather than one.
fn is_directory(node: &Node) -> bool {
    let Value::Mapping(pairs) = &node.value else {
        return false;
    };
    pairs.iter().any(|(key, _)| key.text() == Some("data"))
}

/// A text of a test is at least one whole line.
fn line(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') {
        text.to_owned()
    } else {
        format!("{text}\n")
    }
}

/// The seed that BAPCtools gives to this command: the last 31 bits of its SHA-512.
fn seed(salt: &str, command: &str) -> u64 {
    let digest = Sha512::new()
        .chain_update(salt)
        .chain_update(command)
        .finalize();
    let last = digest[digest.len() - 4..]
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte));
    last & 0x7fff_ffff
}

fn with_seed(word: &str, seed: u64, places: &mut usize) -> String {
    let mut done = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once("{seed") {
        done.push_str(before);
        let digits = after.strip_prefix(':').map_or(after, |after| {
            after.trim_start_matches(|c: char| c.is_ascii_digit())
        });
        match digits.strip_prefix('}') {
            Some(behind) => {
                done.push_str(&seed.to_string());
                *places += 1;
                rest = behind;
            }
            None => {
                done.push_str("{seed");
                rest = after;
            }
        }
    }
    done + rest
}

/// What looks like a placeholder and is none: a word in braces, perhaps with something after a
/// colon.
fn unknown(word: &str) -> impl Iterator<Item = &str> {
    // Longer ones are none, so that a word is gone through once.
    const LONGEST: usize = 64;
    word.match_indices('{').filter_map(|(from, _)| {
        let length = word.as_bytes()[from + 1..]
            .iter()
            .take(LONGEST)
            .position(|byte| *byte == b'}')?;
        let inner = &word[from + 1..from + 1 + length];
        let (name, rest) = inner.split_once(':').unwrap_or((inner, ""));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_word =
            name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.bytes().all(plain);
        let known =
            inner == "name" || name == "seed" && rest.bytes().all(|byte| byte.is_ascii_digit());
        (is_word && !known).then(|| &word[from..from + inner.len() + 2])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_stand_in_words() {
        let mut places = 0;
        assert_eq!(with_seed("a{seed}b", 7, &mut places), "a7b");
        assert_eq!(with_seed("seed={seed:12}", 7, &mut places), "seed=7");
        assert_eq!(places, 2);
        assert_eq!(with_seed("{seed", 7, &mut places), "{seed");
        assert_eq!(with_seed("{seedling}{", 7, &mut places), "{seedling}{");
        assert_eq!(places, 2);
    }

    #[test]
    fn placeholders_that_are_none() {
        let unknown = |word| unknown(word).collect::<Vec<_>>();
        assert_eq!(unknown("{sed}x{name}{Seed}"), ["{sed}", "{Seed}"]);
        assert_eq!(unknown("{seed:x}{name:1}"), ["{seed:x}", "{name:1}"]);
        assert!(unknown("{seed}{seed:12}{name}{}{1,2}{\"a\":1}{}}{{ö}{a").is_empty());
    }

    #[test]
    fn a_seed_is_the_commands_hash() {
        // FIPS 180-2, appendix C.1: the digest of "abc" ends in a54ca49f.
        assert_eq!(seed("", "abc"), 0xa54c_a49f & 0x7fff_ffff);
        assert_eq!(seed("a", "bc"), seed("", "abc"));
    }
}
