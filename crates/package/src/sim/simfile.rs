//! Simfile: what the judge needs of a package.

use super::config::{Config, Item};
use super::names;
use super::sipfile::{self, Sipfile};
use crate::bound::{Bound, MOST_SUBMISSIONS};
use crate::constants::Constants;
use crate::fault::{Log, Place};
use crate::keys::{number, seconds};
use crate::model::{
    Checker, Convention, Expected, Format, Group, Kind, Limits, Objective, Problem, Rules,
    ScoreMode, Scoring, Submission, Test,
};
use crate::programs::{extension, program};
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

const FILE: &str = "Simfile";
const MIB: u64 = 1 << 20;
/// Points that are split where the Simfile names none.
const POINTS: i64 = 100;
/// Part of the time limit up to which a test brings all its points.
const FULL_UNTIL: f64 = 2.0 / 3.0;

/// Whether Sim has a language for it.
pub fn is_source(path: &str) -> bool {
    matches!(
        extension(path),
        Some("c" | "cc" | "cpp" | "cxx" | "pas" | "py" | "rs" | "sh" | "bash")
    )
}

/// What is known of one test.
#[derive(Default)]
struct Found {
    /// Where the Simfile or the Sipfile names it.
    place: Option<Place>,
    input: Option<String>,
    answer: Option<String>,
    cpu_time: Option<Duration>,
    memory: Option<u64>,
    generated: bool,
}

struct Reader<'a> {
    tree: &'a Tree,
    config: Config<'a>,
    log: &'a Log,
    interactive: bool,
}

pub fn read(tree: &Tree, directory: &Path, sipfile: Option<Sipfile>, log: &Log) -> Problem {
    let text = tree.text(FILE, log).unwrap_or_default();
    let known = [
        "name",
        "label",
        "interactive",
        "statement",
        "checker",
        "solutions",
        "memory_limit",
        "limits",
        "scoring",
        "tests_files",
    ];
    let config = Config::read(&text, FILE, &known, log);
    let mut reader = Reader {
        tree,
        config,
        log,
        interactive: false,
    };
    reader.interactive = reader.interactive();
    let name = reader
        .config
        .text("name")
        .map(|item| item.text.clone())
        .unwrap_or_default();
    if name.is_empty() {
        log.error(FILE, "`name` is missing");
    }
    let label = reader
        .config
        .text("label")
        .map_or_else(|| label(&name), |item| item.text.clone());
    if let Some(item) = reader.config.text("statement")
        && !tree.is_file(&inside(&item.text))
    {
        log.warning(
            &item.place,
            format!("there is no statement {:?}", item.text),
        );
    }
    let memory = reader
        .config
        .text("memory_limit")
        .and_then(|item| reader.mebibytes(&item.text, &item.place));
    let checker = reader.checker();
    let submissions = reader.submissions();
    let made_later = sipfile.is_some();
    let sipfile = sipfile.unwrap_or_default();
    let tests = reader.tests(&sipfile, made_later, memory);
    let groups = reader.groups(tests);
    let points = || groups.iter().filter_map(|group| group.rules.points);
    let scoring = Scoring::Points {
        minimum: points()
            .map(|points| points.min(0.0))
            .fold(0.0, |sum, points| sum + points),
        maximum: points()
            .map(|points| points.max(0.0))
            .fold(0.0, |sum, points| sum + points),
        objective: Objective::Max,
    };
    let rules = Rules {
        stop_at_first_failure: false,
        ..Rules::default()
    };
    Problem {
        directory: directory.to_owned(),
        format: Format::Sim,
        version: None,
        name,
        label,
        kind: if reader.interactive {
            Kind::Interactive
        } else {
            Kind::Batch
        },
        checker,
        checker_flags: Vec::new(),
        grader: None,
        scoring,
        limits: Limits {
            cpu_time: sipfile.time_limit,
            memory,
            ..Limits::default()
        },
        root: Group {
            rules,
            groups,
            ..Group::default()
        },
        submissions,
        input_validators: Vec::new(),
        probes: Vec::new(),
        generators: sipfile.generations,
        include: None,
        constants: Constants::default(),
        warnings: Vec::new(),
        unpacked: None,
    }
}

/// The first three characters of the name that are no spaces.
fn label(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_graphic)
        .take(3)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// A path of a Simfile: whatever it says, it means something in the package.
fn inside(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

impl Reader<'_> {
    fn interactive(&self) -> bool {
        let Some(item) = self.config.text("interactive") else {
            return false;
        };
        match &*item.text.to_ascii_lowercase() {
            "true" | "on" | "1" => true,
            "false" | "off" | "0" => false,
            _ => {
                self.log.error(
                    &item.place,
                    format!("interactive must be true or false, but is {:?}", item.text),
                );
                false
            }
        }
    }

    fn mebibytes(&self, text: &str, place: &Place) -> Option<u64> {
        let bytes = text
            .parse::<u64>()
            .ok()
            .filter(|number| *number > 0)
            .and_then(|number| number.checked_mul(MIB));
        if bytes.is_none() {
            self.log.error(
                place,
                format!(
                    "a memory limit must be a whole number of MiB, more than 0, but is {text:?}"
                ),
            );
        }
        bytes
    }

    /// The one that is named, else the first in `check` or `checker`, by length of its path.
    fn checker(&self) -> Checker {
        let path = match self.config.text("checker") {
            Some(item) => {
                let path = inside(&item.text);
                if !self.tree.is_file(&path) {
                    self.log
                        .error(&item.place, format!("there is no checker {:?}", item.text));
                }
                Some(path)
            }
            None => {
                let sources = self
                    .tree
                    .files("check")
                    .chain(self.tree.files("checker"))
                    .filter(|path| is_source(path));
                sources.min_by_key(|path| path.len()).map(str::to_owned)
            }
        };
        let Some(path) = path else {
            if self.interactive {
                self.log.error(
                    FILE,
                    "an interactive problem needs a checker, and there is none in \
                    check/ or checker/",
                );
            }
            return Checker::Lines;
        };
        let source = self.tree.bytes(&path, MIB).unwrap_or_default();
        if String::from_utf8_lossy(&source).contains("testlib.h") {
            let message =
                "seems to be a testlib checker; Sim's print OK or WRONG, a percentage, a comment";
            self.log.warning(&path, message);
        }
        Checker::Custom {
            program: program(self.tree, &path),
            convention: Convention::Sim,
        }
    }

    /// Those that are named, the first of which is the model, then all other sources that can be
    /// one.
    fn submissions(&self) -> Vec<Submission> {
        let mut paths: Vec<String> = Vec::new();
        let mut named = BTreeSet::new();
        for item in self.config.array("solutions").unwrap_or_default() {
            let path = inside(&item.text);
            if !self.tree.is_file(&path) {
                self.log
                    .error(&item.place, format!("there is no solution {:?}", item.text));
            } else if !named.insert(path.clone()) {
                self.log.warning(
                    &item.place,
                    format!("solution {:?} stands here twice", item.text),
                );
            } else {
                paths.push(path);
            }
        }
        let elsewhere =
            |path: &&str| !matches!(path.split('/').next(), Some("check" | "checker" | "utils"));
        let sources = self
            .tree
            .files("")
            .filter(|path| is_source(path))
            .filter(elsewhere);
        let mut others: Vec<&str> = sources.filter(|path| !named.contains(*path)).collect();
        if paths.is_empty() {
            if others.is_empty()
                && self
                    .config
                    .array("solutions")
                    .unwrap_or_default()
                    .is_empty()
            {
                self.log.error(
                    FILE,
                    "there is no solution: none in `solutions`, no other source",
                );
            }
            // Without a model by name, it is the one with the shortest.
            others.sort_by_key(|path| path.len());
            let rest = others.len().min(1);
            others[rest..].sort_unstable();
        }
        paths.extend(others.into_iter().map(str::to_owned));
        if paths.len() > MOST_SUBMISSIONS {
            self.log.exceeds("", Bound::Submissions);
        }
        let submission = |(index, path): (usize, &String)| Submission {
            name: path.clone(),
            program: program(self.tree, path),
            expected: if index == 0 {
                vec![Expected::Accepted]
            } else {
                Vec::new()
            },
            required: Vec::new(),
            score: None,
            for_time_limit: true,
        };
        paths.iter().enumerate().map(submission).collect()
    }

    /// Tests by name: those that Simfile and Sipfile name, and those whose files are there.
    fn tests(&self, sipfile: &Sipfile, made_later: bool, memory: Option<u64>) -> Vec<Test> {
        let mut tests: BTreeMap<String, Found> = BTreeMap::new();
        for item in self.config.array("limits").unwrap_or_default() {
            self.limit(item, &mut tests);
        }
        self.files_there(&mut tests);
        for item in self.config.array("tests_files").unwrap_or_default() {
            self.files_named(item, &mut tests);
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
            self.log.error(
                FILE,
                "there are no tests: none in `limits`, no files NAME.in",
            );
        }
        let finish = |(name, found)| self.test(name, found, made_later, memory);
        tests.into_iter().filter_map(finish).collect()
    }

    /// `TEST SECONDS [MIB]`
    fn limit(&self, item: &Item, tests: &mut BTreeMap<String, Found>) {
        let words = item.words();
        let Some((&name, rest)) = words.split_first() else {
            return;
        };
        if names::group(name).is_none() {
            let message =
                "a test's name ends in the number of its group, perhaps with letters after it";
            return self.log.error(
                &item.place,
                format!("limits: {name:?} is no test: {message}"),
            );
        }
        if let Some(word) = rest.get(2) {
            self.log.error(
                &item.place,
                format!("limits: {word:?} after the limits of test {name:?}"),
            );
        }
        let cpu_time = rest.first().and_then(|word| number(word)).and_then(seconds);
        if cpu_time.is_none() {
            let is = rest
                .first()
                .map_or_else(|| "is missing".to_owned(), |word| format!("is {word:?}"));
            let message = format!(
                "limits: the time limit of test {name:?} {is}; it must be more than 0 seconds and \
                 at most a day"
            );
            self.log.error(&item.place, message);
        }
        let memory = rest
            .get(1)
            .and_then(|word| self.mebibytes(word, &item.place));
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
            let line = first.line().unwrap_or_default();
            self.log.error(
                &item.place,
                format!("limits: test {name:?} stands here a second time, first in line {line}"),
            );
        }
    }

    /// `NAME.in` and `NAME.out`, wherever they lie but with programs.
    fn files_there(&self, tests: &mut BTreeMap<String, Found>) {
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
                self.log.warning(
                    path,
                    "not read: a test's name ends in the number of its group, perhaps with letters \
                     after it",
                );
                continue;
            }
            let found = tests.entry(name.to_owned()).or_default();
            let part = if extension == "in" {
                &mut found.input
            } else {
                &mut found.answer
            };
            if let Some(first) = part.replace(path.to_owned()) {
                self.log.warning(
                    path,
                    format!("test {name:?} has {first}, too; this one is taken"),
                );
            }
        }
    }

    /// `TEST IN [OUT]`
    fn files_named(&self, item: &Item, tests: &mut BTreeMap<String, Found>) {
        let words = item.words();
        let (Some(&name), wanted) = (words.first(), if self.interactive { 2 } else { 3 }) else {
            return;
        };
        if words.len() != wanted {
            let message = if self.interactive {
                "an interactive problem's test has an input file, and no other"
            } else {
                "a test has an input file and an answer file"
            };
            return self.log.error(
                &item.place,
                format!("tests_files: test {name:?}: {message}"),
            );
        }
        if names::group(name).is_none() {
            let message =
                "a test's name ends in the number of its group, perhaps with letters after it";
            return self.log.error(
                &item.place,
                format!("tests_files: {name:?} is no test: {message}"),
            );
        }
        let found = tests.entry(name.to_owned()).or_default();
        found.place.get_or_insert_with(|| item.place.clone());
        let mut parts = [&mut found.input, &mut found.answer].into_iter();
        for (word, part) in words[1..].iter().zip(&mut parts) {
            let path = inside(word);
            if !self.tree.is_file(&path) {
                self.log
                    .error(&item.place, format!("tests_files: there is no {word:?}"));
            }
            *part = Some(path);
        }
    }

    fn test(
        &self,
        name: String,
        found: Found,
        made_later: bool,
        memory: Option<u64>,
    ) -> Option<Test> {
        let place = found
            .place
            .clone()
            .unwrap_or_else(|| Place::file(found.input.as_deref().unwrap_or(FILE)));
        // Where Sim's tool puts them.
        let (inputs, answers) = if self.tree.is_directory("tests") {
            ("tests", "tests")
        } else {
            ("in", "out")
        };
        let input = match found.input {
            Some(input) => input,
            None if found.generated => format!("{inputs}/{name}.in"),
            None => {
                match (&found.place, &found.answer) {
                    (None, Some(answer)) => self.log.error(
                        answer,
                        format!("an answer without an input; there is no {name}.in"),
                    ),
                    _ => self.log.error(
                        &place,
                        format!("test {name:?} has no input; there is no {name}.in"),
                    ),
                }
                return None;
            }
        };
        let answer = match (self.interactive, found.answer) {
            (true, _) => None,
            (false, Some(answer)) => Some(answer),
            (false, None) => {
                if !made_later {
                    let place = if found.place.is_some() {
                        place.clone()
                    } else {
                        Place::file(&input)
                    };
                    self.log.error(
                        &place,
                        format!("test {name:?} has no answer; there is no {name}.out"),
                    );
                } else if !found.generated {
                    self.log.warning(
                        &place,
                        format!(
                            "test {name:?} has no answer yet; the model solution must make one"
                        ),
                    );
                }
                Some(format!("{answers}/{name}.out"))
            }
        };
        if found.memory.is_none() && memory.is_none() && self.config.text("memory_limit").is_none()
        {
            // Once for all of them.
            self.log.error(
                FILE,
                "`memory_limit` is missing, and not every test has a limit of its own",
            );
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

    /// Groups with their tests and points, in order.
    fn groups(&self, tests: Vec<Test>) -> Vec<Group> {
        let mut by_name: HashMap<String, Vec<Test>> = HashMap::new();
        for test in tests {
            let name = names::group(&test.name).unwrap_or("0").to_owned();
            by_name.entry(name).or_default().push(test);
        }
        let mut groups: Vec<Group> = by_name
            .into_iter()
            .map(|(name, tests)| Group {
                name,
                tests,
                ..Group::default()
            })
            .collect();
        groups.sort_by(|a, b| names::group_order(&a.name).cmp(&names::group_order(&b.name)));
        let points = match self.config.array("scoring") {
            Some(items) => self.points(items, &groups),
            None => split(&groups),
        };
        for group in &mut groups {
            group
                .tests
                .sort_by(|a, b| names::test_order(&a.name).cmp(&names::test_order(&b.name)));
            group.sample = group.name == "0";
            group.rules = Rules {
                // Initial tests are there to be seen, all of them.
                stop_at_first_failure: !group.sample,
                score: ScoreMode::Minimum,
                points: Some(points.get(&group.name).copied().unwrap_or(0) as f64),
                time_graded_from: Some(FULL_UNTIL),
                ..Rules::default()
            };
        }
        groups
    }

    /// `GROUP POINTS`
    fn points(&self, items: &[Item], groups: &[Group]) -> BTreeMap<String, i64> {
        let mut points = BTreeMap::new();
        let names: BTreeSet<&str> = groups.iter().map(|group| &*group.name).collect();
        for item in items {
            let words = item.words();
            let [group, number] = words[..] else {
                self.log.error(
                    &item.place,
                    format!("scoring: {:?} is not a group and its points", item.text),
                );
                continue;
            };
            if !group.bytes().all(|byte| byte.is_ascii_digit()) {
                self.log.error(
                    &item.place,
                    format!("scoring: {group:?} is no group; groups are numbers"),
                );
                continue;
            }
            let group = names::plain(group).to_owned();
            let Ok(number) = number.parse::<i32>() else {
                self.log.error(
                    &item.place,
                    format!(
                        "scoring: the points of group {group} must be a whole number, not \
                        {number:?}"
                    ),
                );
                continue;
            };
            if !names.contains(&*group) {
                self.log
                    .error(&item.place, format!("scoring: group {group} has no tests"));
            }
            if points.insert(group.clone(), i64::from(number)).is_some() {
                self.log.error(
                    &item.place,
                    format!("scoring: group {group} stands here a second time"),
                );
            }
        }
        for group in groups
            .iter()
            .filter(|group| group.name != "0" && !points.contains_key(&group.name))
        {
            let place = self
                .config
                .place("scoring")
                .cloned()
                .unwrap_or_else(|| Place::file(FILE));
            self.log.error(
                &place,
                format!("scoring: group {} has no points", group.name),
            );
        }
        points
    }
}

/// Points for groups other than 0; what does not divide goes to the last ones.
fn split(groups: &[Group]) -> BTreeMap<String, i64> {
    let mut groups: Vec<&Group> = groups.iter().filter(|group| group.name != "0").collect();
    groups.reverse();
    let mut left = POINTS;
    let mut points = BTreeMap::new();
    while let Some(group) = groups.pop() {
        let share = left / (groups.len() as i64 + 1);
        left -= share;
        points.insert(group.name.clone(), share);
    }
    points
}
