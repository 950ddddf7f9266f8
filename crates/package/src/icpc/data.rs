//! Tests and groups of tests: what lies below `data`.

use super::generators;
use super::group::{self, Aggregation, MaxScore, Settings};
use super::header::Header;
use crate::bound::words_cost;
use crate::fault::{Log, Place, did_you_mean};
use crate::model::{Format, Group, Probe, ProbeKind, Rules, ScoreMode, Test};
use crate::tree::{Kind, Tree};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

const DATA: &str = "data";
const LEGACY: &str = "testdata.yaml";
const SUCCESSOR: &str = "test_group.yaml";
/// Tests of the package's own programs; the names in the plural are those of BAPCtools.
const PROBES: [(&str, ProbeKind); 6] = [
    ("data/invalid_input", ProbeKind::InvalidInput),
    ("data/invalid_inputs", ProbeKind::InvalidInput),
    ("data/invalid_output", ProbeKind::InvalidOutput),
    ("data/invalid_outputs", ProbeKind::InvalidOutput),
    ("data/valid_output", ProbeKind::ValidOutput),
    ("data/valid_outputs", ProbeKind::ValidOutput),
];
/// Points of `secret` that says nothing of them.
const DEFAULT_POINTS: f64 = 100.0;

/// Words about the tests, and what makes them: nobody takes these for tests.
const BESIDE: [&str; 8] = ["md", "py", "sh", "c", "cc", "cpp", "java", "rs"];

/// So many files that are no part of a test are named.
const STRAYS: usize = 5;

/// What makes up a test, longer ones first where one ends another.
const EXTENSIONS: [&str; 19] = [
    ".in.statement",
    ".ans.statement",
    ".in.download",
    ".ans.download",
    ".in",
    ".ans",
    ".out",
    ".interaction",
    ".desc",
    ".hint",
    ".yaml",
    ".args",
    ".files",
    ".png",
    ".jpg",
    ".jpeg",
    ".svg",
    ".gif",
    ".pdf",
];

pub struct Data {
    pub root: Group,
    pub probes: Vec<Probe>,
    /// Points that a submission can have.
    pub range: (f64, f64),
}

pub fn read(tree: &Tree, header: &Header, log: &Log) -> Data {
    let nothing = Data {
        root: Group::default(),
        probes: Vec::new(),
        range: (f64::NEG_INFINITY, f64::INFINITY),
    };
    if !tree.is_directory(DATA) {
        log.error(DATA, "there is no directory with test data");
        return nothing;
    }
    // Packages of drafts between the formats have groups of the legacy format.
    let legacy = header.format == Format::Legacy
        || tree
            .files(DATA)
            .any(|path| path.rsplit('/').next() == Some(LEGACY));
    let reader = Reader {
        tree,
        header,
        log,
        strays: RefCell::default(),
    };
    for (name, path, kind) in tree.children(DATA) {
        if kind == Kind::File && name.ends_with(".in") {
            log.error(path, "tests belong in data/sample or data/secret");
        } else if kind == Kind::Directory
            && !matches!(name, "sample" | "secret")
            && !is_for_validators(name)
        {
            let meant = did_you_mean(name, ["sample", "secret"]);
            log.warning(
                path,
                format!("not read: tests are in data/sample and data/secret{meant}"),
            );
        }
    }
    let settings = if legacy {
        reader.legacy_settings(DATA, &Settings::default())
    } else {
        Settings::default()
    };
    let mut data = if legacy {
        reader.legacy(&settings)
    } else {
        reader.successor(&settings)
    };
    for (directory, kind) in PROBES
        .iter()
        .filter(|(directory, _)| tree.is_directory(directory))
    {
        data.probes
            .extend(log.mildly(|| reader.probes(directory, *kind, &settings, legacy)));
    }
    reader.tell_strays();
    let secret = data
        .root
        .groups
        .iter()
        .filter(|group| !group.sample)
        .any(|group| group.all_tests().next().is_some());
    if data.root.all_tests().next().is_none() {
        let made = to_be_made(tree, "them");
        log.error(
            "data/secret",
            format!("there are no tests; each is a file NAME.in and a file NAME.ans{made}"),
        );
    } else if !secret {
        log.warning("data/secret", "there are no secret tests, only samples");
    }
    data
}

/// Test data for the package's own programs.
fn is_for_validators(name: &str) -> bool {
    ["invalid_", "valid_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
        || name == "bad"
}

struct Reader<'a> {
    tree: &'a Tree,
    header: &'a Header,
    log: &'a Log,
    /// Files among the tests that are no part of one, and what may have been meant.
    strays: RefCell<Vec<(&'a str, String)>>,
}

/// Files of one test, by extension.
type Files<'a> = BTreeMap<&'a str, &'a str>;

impl<'a> Reader<'a> {
    fn legacy(&self, settings: &Settings) -> Data {
        let rules = settings.rules(self.header.scoring, true);
        let range = rules.range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let groups = ["data/sample", "data/secret"]
            .iter()
            .filter(|path| self.tree.is_directory(path));
        let groups = groups
            .map(|path| self.legacy_group(path, settings))
            .collect();
        Data {
            root: Group {
                rules,
                groups,
                ..Group::default()
            },
            probes: Vec::new(),
            range,
        }
    }

    fn legacy_settings(&self, directory: &str, above: &Settings) -> Settings {
        let files = [LEGACY, SUCCESSOR].map(|name| format!("{directory}/{name}"));
        if files.iter().all(|file| self.tree.is_file(file)) {
            self.log.error(
                &files[1],
                format!("beside {LEGACY}, of which this is the newer name; keep one"),
            );
        }
        // DOMjudge takes both names.
        let file = files
            .iter()
            .find(|file| self.tree.is_file(file))
            .unwrap_or(&files[0]);
        self.bounded(
            group::legacy(self.tree, file, above, self.header, self.log),
            directory,
        )
    }

    /// The settings of a directory; if the package has come to too much, none: each test would have
    /// a copy.
    fn bounded(&self, settings: Settings, directory: &str) -> Settings {
        if self.log.takes(directory, settings.cost()) {
            settings
        } else {
            Settings::default()
        }
    }

    /// A directory is a group, and so are those in it.
    fn legacy_group(&self, path: &'a str, above: &Settings) -> Group {
        let settings = self.legacy_settings(path, above);
        let groups = self
            .tree
            .children(path)
            .into_iter()
            .filter(|(name, _, kind)| *kind == Kind::Directory && !name.ends_with(".files"));
        let group = Group {
            name: below_data(path).to_owned(),
            sample: is_sample(path),
            rules: settings.rules(self.header.scoring, false),
            tests: self.tests(path, &settings, false),
            groups: groups
                .map(|(_, path, _)| self.legacy_group(path, &settings))
                .collect(),
        };
        if group.tests.is_empty() && group.groups.is_empty() && path.matches('/').count() > 1 {
            self.log.warning(path, "a group without tests");
        }
        group
    }

    fn successor(&self, above: &Settings) -> Data {
        let scoring = self.header.scoring;
        let mut groups = Vec::new();
        if self.tree.is_directory("data/sample") {
            let file = format!("data/sample/{SUCCESSOR}");
            let (settings, _) = group::successor(self.tree, &file, above, self.header, self.log);
            let settings = self.bounded(settings, "data/sample");
            groups.push(Group {
                name: "sample".to_owned(),
                sample: true,
                rules: Rules {
                    stop_at_first_failure: !scoring,
                    accept_score: scoring.then_some(0.0),
                    reject_score: scoring.then_some(0.0),
                    ..Rules::default()
                },
                tests: self.tests("data/sample", &settings, true),
                groups: Vec::new(),
            });
        }
        let mut range = (0.0, DEFAULT_POINTS);
        if self.tree.is_directory("data/secret") {
            let secret = self.secret(above);
            range.1 = secret.rules.points.unwrap_or(f64::INFINITY);
            groups.push(secret);
        }
        // A submission's points are those of `secret`.
        let rules = Rules {
            stop_at_first_failure: !scoring,
            ignore_sample: scoring,
            ..Rules::default()
        };
        Data {
            root: Group {
                rules,
                groups,
                ..Group::default()
            },
            probes: Vec::new(),
            range,
        }
    }

    /// Either groups, or tests.
    fn secret(&self, above: &Settings) -> Group {
        const SECRET: &str = "data/secret";
        let (settings, aggregation) = self.settings(SECRET, above);
        let directories: Vec<&str> = self
            .tree
            .children(SECRET)
            .into_iter()
            .filter(|(name, _, kind)| *kind == Kind::Directory && !name.ends_with(".files"))
            .map(|(_, path, _)| path)
            .collect();
        let is_group = |path: &&str| self.tree.is_file(&format!("{path}/{SUCCESSOR}"));
        let mut secret = Group {
            name: "secret".to_owned(),
            ..Group::default()
        };
        let mut aggregations = Vec::new();
        if directories.iter().any(is_group) {
            for path in directories {
                if !is_group(&path) {
                    self.log.error(
                        path,
                        format!("has no {SUCCESSOR}, but other directories beside it are groups"),
                    );
                    continue;
                }
                let (settings, aggregation) = self.settings(path, &settings);
                let tests = self.tests(path, &settings, true);
                if tests.is_empty() {
                    self.log.error(path, "a group without tests");
                }
                aggregations.push(aggregation);
                secret.groups.push(Group {
                    name: below_data(path).to_owned(),
                    tests,
                    ..Group::default()
                });
            }
            if let Some(test) = self.tests(SECRET, &settings, false).first() {
                let message = format!(
                    "data/secret has groups, so tests belong in one of them, also {}",
                    test.name
                );
                self.log.error(SECRET, message);
            }
        } else {
            secret.tests = self.tests(SECRET, &settings, true);
        }
        if self.header.scoring {
            self.points(&mut secret, &aggregation, &aggregations);
        }
        secret
    }

    fn settings(&self, directory: &str, above: &Settings) -> (Settings, Aggregation) {
        let file = format!("{directory}/{SUCCESSOR}");
        let (settings, aggregation) =
            group::successor(self.tree, &file, above, self.header, self.log);
        (self.bounded(settings, directory), aggregation)
    }

    /// Rules of `secret` and of the groups in it, in a scoring problem.
    fn points(&self, secret: &mut Group, own: &Aggregation, others: &[Aggregation]) {
        let bounded = own.max_score != Some(MaxScore::Unbounded);
        let mode = own.mode.unwrap_or(ScoreMode::Sum);
        let most = own.max_score.unwrap_or(MaxScore::Points(DEFAULT_POINTS));
        secret.rules = self.scoring_rules(own, mode, most, secret.tests.len());
        if own.require_pass.iter().any(|name| name != "sample") {
            self.log.error(
                &own.place,
                "require_pass of data/secret can only name sample",
            );
        }
        let names: Vec<String> = secret
            .groups
            .iter()
            .map(|group| group.name.clone())
            .collect();
        let places: HashMap<&str, usize> = names
            .iter()
            .enumerate()
            .map(|(at, name)| (&**name, at))
            .collect();
        let modes: Vec<ScoreMode> = others
            .iter()
            .map(|other| other.mode.unwrap_or(ScoreMode::PassFail))
            .collect();
        let mut sum = 0.0;
        for (index, (group, other)) in secret.groups.iter_mut().zip(others).enumerate() {
            let most = other.max_score.unwrap_or(MaxScore::Unbounded);
            match most {
                MaxScore::Points(points) => sum += points,
                MaxScore::Unbounded if bounded => {
                    let message =
                        "max_score is missing: a group may be unbounded only if data/secret is";
                    self.log.error(&other.place, message);
                }
                MaxScore::Unbounded => {}
            }
            if mode == ScoreMode::PassFail && modes[index] != ScoreMode::PassFail {
                self.log.error(
                    &other.place,
                    "score_aggregation must be pass-fail, as that of data/secret is",
                );
            }
            for name in &other.require_pass {
                let named = places.get(&**name).copied();
                match named {
                    _ if name == "sample" => {}
                    Some(named) if named < index && modes[named] == ScoreMode::PassFail => {}
                    Some(named) if named < index => {
                        let message = format!(
                            "require_pass: the score_aggregation of {name:?} must be pass-fail"
                        );
                        self.log.error(&other.require_place, message);
                    }
                    Some(_) => self.log.error(
                        &other.require_place,
                        format!("require_pass: {name:?} does not come before"),
                    ),
                    None => {
                        let known = names[..index].iter().map(String::as_str).chain(["sample"]);
                        let meant = if self.log.is_full() {
                            String::new()
                        } else {
                            did_you_mean(name, known)
                        };
                        self.log.error(
                            &other.require_place,
                            format!("require_pass: there is no group {name:?}{meant}"),
                        );
                    }
                }
            }
            group.rules = self.scoring_rules(other, modes[index], most, group.tests.len());
        }
        if let MaxScore::Points(most) = most
            && mode == ScoreMode::Sum
            && sum > most
        {
            let message = format!(
                "the groups have {sum} points together, more than the {most} of data/secret"
            );
            self.log.warning(&own.place, message);
        }
    }

    fn scoring_rules(
        &self,
        own: &Aggregation,
        mode: ScoreMode,
        most: MaxScore,
        tests: usize,
    ) -> Rules {
        let points = match most {
            MaxScore::Points(points) => Some(points),
            MaxScore::Unbounded => None,
        };
        if mode == ScoreMode::PassFail && points.is_none() {
            self.log.error(
                &own.place,
                "score_aggregation pass-fail needs a max_score that is not unbounded",
            );
        }
        let of_test = |points: f64| match mode {
            ScoreMode::Sum => points / tests.max(1) as f64,
            _ => points,
        };
        Rules {
            // One failure takes all that such a group could bring.
            stop_at_first_failure: mode != ScoreMode::Sum && tests > 0,
            score: mode,
            accept_score: points.filter(|_| mode != ScoreMode::PassFail).map(of_test),
            reject_score: Some(0.0),
            range: Some((0.0, points.unwrap_or(f64::INFINITY))),
            points,
            require_pass: own.require_pass.clone(),
            ..Rules::default()
        }
    }

    /// In a directory and below it. Settings are handed down, as those of groups.
    fn probes(
        &self,
        directory: &'a str,
        kind: ProbeKind,
        above: &Settings,
        legacy: bool,
    ) -> Vec<Probe> {
        let settings = match legacy {
            true => self.legacy_settings(directory, above),
            false => self.settings(directory, above).0,
        };
        let (found, directories) = self.found(directory);
        let mut probes = Vec::new();
        for (name, files) in &found {
            let output = files
                .get(".out")
                .filter(|path| self.tree.is_file(path))
                .map(|path| self.tree.path(path));
            let test = self.test(&format!("{directory}/{name}"), files, &settings);
            probes.extend(test.map(|test| Probe { kind, test, output }));
        }
        for (_, path) in directories {
            probes.extend(self.probes(path, kind, &settings, legacy));
        }
        probes
    }

    /// Files of each test in a directory, by the test's name, and the directories there.
    fn found(&self, directory: &'a str) -> (BTreeMap<&'a str, Files<'a>>, Vec<(&'a str, &'a str)>) {
        let mut found: BTreeMap<&'a str, Files<'a>> = BTreeMap::new();
        let mut directories = Vec::new();
        for (name, path, kind) in self.tree.children(directory) {
            if kind == Kind::Directory && !name.ends_with(".files") {
                directories.push((name, path));
            } else if !matches!(name, LEGACY | SUCCESSOR) {
                let part = EXTENSIONS
                    .iter()
                    .find_map(|part| Some((name.strip_suffix(part)?, *part)));
                match part.filter(|(name, _)| !name.is_empty()) {
                    Some((name, part)) => {
                        found.entry(name).or_default().insert(part, path);
                    }
                    None if crate::programs::extension(name)
                        .is_some_and(|part| BESIDE.contains(&part)) => {}
                    None => {
                        let meant =
                            name.rsplit_once('.')
                                .map_or_else(String::new, |(stem, extension)| {
                                    let meant = did_you_mean(
                                        &extension.to_ascii_lowercase(),
                                        ["in", "ans"],
                                    );
                                    // The whole name, as it should be.
                                    meant.replacen('"', &format!("\"{stem}."), 1)
                                });
                        self.strays.borrow_mut().push((path, meant));
                    }
                }
            }
        }
        (found, directories)
    }

    /// A test that is missing for its name is hardly noticed; but a directory full of notes is no
    /// more than told.
    fn tell_strays(&self) {
        let strays = self.strays.borrow();
        for (path, meant) in strays.iter().take(STRAYS) {
            self.log.warning(
                *path,
                format!("not read: no part of a test, which is NAME.in and NAME.ans{meant}"),
            );
        }
        if let Some((path, _)) = strays.get(STRAYS) {
            let more = strays.len() - STRAYS;
            self.log.warning(
                *path,
                format!("not read: no part of a test, and {more} such in all beside those told"),
            );
        }
    }

    /// Tests in a directory, and with `deep` in those below it, in order of their names.
    fn tests(&self, directory: &'a str, settings: &Settings, deep: bool) -> Vec<Test> {
        let (found, directories) = self.found(directory);
        let mut tests = Vec::new();
        for (name, files) in &found {
            let test = self.test(&format!("{directory}/{name}"), files, settings);
            if test.as_ref().is_some_and(|test| test.answer.is_none()) {
                let made = to_be_made(self.tree, "it");
                self.log.error(
                    files[".in"],
                    format!("an input without an answer; there is no {name}.ans{made}"),
                );
            }
            tests.extend(test);
        }
        for (name, path) in directories {
            if !deep {
                continue;
            }
            if found
                .get(name)
                .is_some_and(|files| files.contains_key(".in"))
            {
                self.log.error(
                    path,
                    format!("a directory and a test, {name}.in, must not have one name"),
                );
            }
            let file = format!("{path}/{SUCCESSOR}");
            if self.tree.is_file(&file) {
                self.log.error(
                    &file,
                    "a group within a group or within samples; there may be none",
                );
            }
            tests.extend(self.tests(path, settings, true));
        }
        // Those of directories that are no groups have their places among the others.
        tests.sort_by(|a, b| a.name.cmp(&b.name));
        tests
    }

    fn test(&self, path: &str, files: &Files<'_>, settings: &Settings) -> Option<Test> {
        let is_file = |part: &str| {
            files
                .get(part)
                .filter(|path| self.tree.is_file(path))
                .copied()
        };
        let legacy = self.header.format == Format::Legacy;
        let Some(input) = is_file(".in") else {
            if let Some(answer) = files.get(".ans") {
                self.log.error(
                    *answer,
                    format!("an answer without an input; there is no {}.in", last(path)),
                );
            }
            for part in [".args", ".files", ".yaml"] {
                if let Some(file) = files.get(part).filter(|_| !legacy) {
                    self.log.warning(
                        *file,
                        format!(
                            "not read: there is no {}.in that it could belong to",
                            last(path)
                        ),
                    );
                }
            }
            return None;
        };
        // Once the package has come to too much, nothing is copied any more.
        if !self.log.takes(input, 0) {
            return None;
        }
        let answer = is_file(".ans");
        let mut description = is_file(".desc").and_then(|file| self.words_of(file));
        let mut settings = settings.clone();
        let mut directory = None;
        if !legacy {
            if let Some(file) = is_file(".yaml") {
                let (own, said) = group::test(self.tree, file, &settings, self.header, self.log);
                settings = own;
                description = said.or(description);
            }
            // Drafts of the format had a file for them.
            if let Some(words) = is_file(".args").and_then(|file| self.tree.text(file, self.log)) {
                settings.arguments = Some(words.split_whitespace().map(str::to_owned).collect());
            }
            directory = files
                .get(".files")
                .filter(|path| self.tree.is_directory(path))
                .copied();
        }
        let own = if settings.checker_flags.is_some() {
            words_cost(&self.header.flags)
        } else {
            0
        };
        if !self.log.takes(input, settings.cost() + own) {
            return None;
        }
        let flags = settings
            .checker_flags
            .map(|flags| [self.header.flags.clone(), flags].concat());
        Some(Test {
            name: below_data(path).to_owned(),
            input: self.tree.path(input),
            answer: answer.map(|answer| self.tree.path(answer)),
            checker_flags: flags,
            input_flags: settings.input_flags.unwrap_or_default(),
            arguments: settings.arguments.unwrap_or_default(),
            files: directory.map(|path| self.tree.path(path)),
            description,
            ..Test::default()
        })
    }

    /// A file of words for people.
    fn words_of(&self, file: &str) -> Option<String> {
        const MOST: u64 = 64 << 10;
        match self.tree.bytes(file, MOST) {
            Ok(bytes) if !self.log.takes(file, bytes.len()) => None,
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).trim().to_owned()),
            Err(error) => {
                self.log
                    .warning(Place::file(file), format!("cannot be read: {error}"));
                None
            }
        }
    }
}

/// What to do about tests that are not there, in a package that says how they are made.
fn to_be_made(tree: &Tree, what: &str) -> String {
    let known = tree.is_file(generators::FILE);
    if known {
        format!("; `millibox problem gen` makes {what}")
    } else {
        String::new()
    }
}

fn below_data(path: &str) -> &str {
    path.strip_prefix("data/").unwrap_or(path)
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_sample(path: &str) -> bool {
    below_data(path).split('/').next() == Some("sample")
}
