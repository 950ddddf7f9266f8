//! Finds the tests of a package: their files, and the limits that the Simfile states.

use super::config::{Config, Item};
use super::names;
use super::sipfile::{self, Sipfile};
use super::values::{SIMFILE, inside, mebibytes};
use crate::fault::log::{Log, Place};
use crate::fault::sim::SimfileFault;
use crate::fault::text::Excerpt;
use crate::keys::{number, seconds};
use crate::model::Test;
use crate::tree::Tree;
use std::collections::BTreeMap;
use std::time::Duration;

/// The known properties of one test.
#[derive(Default)]
struct Found {
    /// The place in the Simfile or Sipfile that names the test.
    place: Option<Place>,
    input: Option<String>,
    answer: Option<String>,
    cpu_time: Option<Duration>,
    memory: Option<u64>,
    generated: bool,
}

/// Reads the tests of a package.
#[non_exhaustive]
pub struct TestReader<'a> {
    pub tree: &'a Tree,
    pub config: &'a Config<'a>,
    pub log: &'a Log,
    pub interactive: bool,
    /// Whether the package has a Sipfile, so that answers may be generated later.
    pub has_sipfile: bool,
    /// The memory limit of all tests.
    pub memory: Option<u64>,
}

impl TestReader<'_> {
    /// Returns the tests by name: those that the Simfile and Sipfile name, and those with files.
    pub fn tests(&self, sipfile: &Sipfile) -> Vec<Test> {
        let mut tests: BTreeMap<String, Found> = BTreeMap::new();
        for item in self.config.array("limits").unwrap_or_default() {
            self.read_limit(item, &mut tests);
        }
        self.find_files(&mut tests);
        for item in self.config.array("tests_files").unwrap_or_default() {
            self.named_files(item, &mut tests);
        }
        for item in &sipfile.fixed {
            tests
                .entry(item.text.clone())
                .or_default()
                .place
                .get_or_insert_with(|| item.place.clone());
        }
        for generation in &sipfile.generations {
            let found = tests.entry(generation.test.clone()).or_default();
            found.generated = true;
            found
                .place
                .get_or_insert_with(|| Place::file(sipfile::FILE));
        }
        if tests.is_empty() {
            self.log.error(SIMFILE, SimfileFault::NoTests);
        }
        let finish = |(name, found)| self.test(name, found);
        tests.into_iter().filter_map(finish).collect()
    }

    /// Reads an item `TEST SECONDS [MIB]` of `limits`.
    fn read_limit(&self, item: &Item, tests: &mut BTreeMap<String, Found>) {
        let words = item.words();
        let Some((&name, rest)) = words.split_first() else {
            return;
        };
        if names::group(name).is_none() {
            return self.report_name("limits", name, &item.place);
        }
        if let Some(word) = rest.get(2) {
            let fault = SimfileFault::AfterLimits {
                word: (*word).into(),
                test: name.into(),
            };
            self.log.error(&item.place, fault);
        }
        let cpu_time = rest.first().and_then(|word| number(word)).and_then(seconds);
        if cpu_time.is_none() {
            let fault = SimfileFault::TimeLimit {
                test: name.into(),
                text: rest.first().map(|word| Excerpt::new(word)),
            };
            self.log.error(&item.place, fault);
        }
        let memory = rest
            .get(1)
            .and_then(|word| mebibytes(word, &item.place, self.log));
        let place = Some(item.place.clone());
        if let Some(Found {
            place: Some(first), ..
        }) = tests.insert(
            name.to_owned(),
            Found {
                place,
                cpu_time,
                memory,
                ..Found::default()
            },
        ) {
            let fault = SimfileFault::RepeatedLimits {
                test: name.into(),
                first_line: first.line().unwrap_or_default(),
            };
            self.log.error(&item.place, fault);
        }
    }

    /// Finds `NAME.in` and `NAME.out` in all directories, except those of programs.
    fn find_files(&self, tests: &mut BTreeMap<String, Found>) {
        for path in self.tree.files("") {
            let top = path.split('/').next().unwrap_or_default();
            if matches!(top, "utils" | "check" | "checker" | "prog" | "doc") && path.contains('/') {
                continue;
            }
            let file = path.rsplit('/').next().unwrap_or(path);
            let Some((name, extension)) = file.rsplit_once('.') else {
                continue;
            };
            if extension != "in" && (extension != "out" || self.interactive) {
                continue;
            }
            if names::group(name).is_none() {
                self.log.warning(path, SimfileFault::FileName);
                continue;
            }
            let found = tests.entry(name.to_owned()).or_default();
            let part = if extension == "in" {
                &mut found.input
            } else {
                &mut found.answer
            };
            if let Some(first) = part.replace(path.to_owned()) {
                let fault = SimfileFault::SecondFile {
                    test: name.into(),
                    other: first.into(),
                };
                self.log.warning(path, fault);
            }
        }
    }

    /// Reads an item `TEST INPUT [ANSWER]` of `tests_files`.
    fn named_files(&self, item: &Item, tests: &mut BTreeMap<String, Found>) {
        let words = item.words();
        let (Some(&name), wanted) = (words.first(), if self.interactive { 2 } else { 3 }) else {
            return;
        };
        if words.len() != wanted {
            let test = name.into();
            let fault = if self.interactive {
                SimfileFault::InteractiveFiles { test }
            } else {
                SimfileFault::Files { test }
            };
            return self.log.error(&item.place, fault);
        }
        if names::group(name).is_none() {
            return self.report_name("tests_files", name, &item.place);
        }
        let found = tests.entry(name.to_owned()).or_default();
        found.place.get_or_insert_with(|| item.place.clone());
        let mut parts = [&mut found.input, &mut found.answer].into_iter();
        for (word, part) in words[1..].iter().zip(&mut parts) {
            let path = inside(word);
            if !self.tree.is_file(&path) {
                let path = (*word).into();
                self.log.error(&item.place, SimfileFault::NoFile { path });
            }
            *part = Some(path);
        }
    }

    fn report_name(&self, key: &'static str, name: &str, place: &Place) {
        let name = name.into();
        self.log.error(place, SimfileFault::TestName { key, name });
    }

    fn test(&self, name: String, found: Found) -> Option<Test> {
        let place = found
            .place
            .clone()
            .unwrap_or_else(|| Place::file(found.input.as_deref().unwrap_or(SIMFILE)));
        // Sim's tool writes generated files to these directories.
        let (inputs, answers) = if self.tree.is_directory("tests") {
            ("tests", "tests")
        } else {
            ("in", "out")
        };
        let input = match found.input {
            Some(input) => input,
            None if found.generated => format!("{inputs}/{name}.in"),
            None => {
                let test = Excerpt::from(name);
                match (&found.place, &found.answer) {
                    (None, Some(answer)) => {
                        let fault = SimfileFault::AnswerWithoutInput { test };
                        self.log.error(answer, fault);
                    }
                    _ => self.log.error(&place, SimfileFault::NoInput { test }),
                }
                return None;
            }
        };
        let answer = match (self.interactive, found.answer) {
            (true, _) => None,
            (false, Some(answer)) => Some(answer),
            (false, None) => {
                let test = Excerpt::new(&name);
                if !self.has_sipfile {
                    let place = if found.place.is_some() {
                        place.clone()
                    } else {
                        Place::file(&input)
                    };
                    self.log.error(&place, SimfileFault::NoAnswer { test });
                } else if !found.generated {
                    self.log.warning(&place, SimfileFault::NoAnswerYet { test });
                }
                Some(format!("{answers}/{name}.out"))
            }
        };
        let has_limit = found.memory.is_some()
            || self.memory.is_some()
            || self.config.text("memory_limit").is_some();
        if !has_limit {
            // Identical faults are reported once.
            self.log.error(SIMFILE, SimfileFault::NoMemoryLimit);
        }
        Some(Test {
            input: self.tree.path(&input),
            answer: answer.map(|answer| self.tree.path(&answer)),
            cpu_time: found.cpu_time,
            memory: found.memory,
            name,
            ..Test::default()
        })
    }
}
