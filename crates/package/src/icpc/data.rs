//! Reads tests and groups of tests below `data`.

use super::group::{self, Aggregation, LEGACY_FILE, SUCCESSOR_FILE, Settings};
use super::header::Header;
use super::points::{self, DEFAULT_POINTS};
use super::test_files::{TestReader, below_data, is_sample, make_hint};
use super::unread;
use crate::fault::icpc::DataFault;
use crate::fault::log::Log;
use crate::fault::text::{Excerpt, MakeHint};
use crate::model::{Format, Group, Probe, ProbeKind, Rules};
use crate::tree::{Kind, Tree};

const DATA: &str = "data";
/// Directories with tests of the package's own programs. BAPCtools uses the plural names.
const PROBES: [(&str, ProbeKind); 6] = [
    ("data/invalid_input", ProbeKind::InvalidInput),
    ("data/invalid_inputs", ProbeKind::InvalidInput),
    ("data/invalid_output", ProbeKind::InvalidOutput),
    ("data/invalid_outputs", ProbeKind::InvalidOutput),
    ("data/valid_output", ProbeKind::ValidOutput),
    ("data/valid_outputs", ProbeKind::ValidOutput),
];

/// The content of `data`.
pub struct Data {
    pub root: Group,
    pub probes: Vec<Probe>,
    /// The range of points that a submission can have.
    pub range: (f64, f64),
}

pub fn read(tree: &Tree, header: &Header, log: &Log) -> Data {
    let nothing = Data {
        root: Group::default(),
        probes: Vec::new(),
        range: (f64::NEG_INFINITY, f64::INFINITY),
    };
    if !tree.is_directory(DATA) {
        log.error(DATA, DataFault::NoDirectory);
        return nothing;
    }
    // Packages for drafts between the two formats have groups of the legacy format.
    let legacy = header.format == Format::Legacy
        || tree
            .files(DATA)
            .any(|path| path.rsplit('/').next() == Some(LEGACY_FILE));
    let reader = Reader {
        tree,
        header,
        log,
        tests: TestReader::new(tree, header, log),
    };
    let is_read = |name: &str| {
        matches!(name, "sample" | "secret")
            || PROBES
                .iter()
                .any(|(directory, _)| below_data(directory) == name)
    };
    unread::report_data(tree, header, is_read, log);
    let settings = if legacy {
        reader.legacy_settings(DATA, &Settings::default())
    } else {
        // The format does not mention this file. Tools of problem setters read it.
        reader.settings(DATA, &Settings::default()).0
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
    reader.tests.report_strays();
    let secret = data
        .root
        .groups
        .iter()
        .filter(|group| !group.sample)
        .any(|group| group.all_tests().next().is_some());
    if data.root.all_tests().next().is_none() {
        let hint = make_hint(tree, MakeHint::Several);
        log.error("data/secret", DataFault::NoTests { hint });
    } else if !secret {
        log.warning("data/secret", DataFault::OnlySamples);
    }
    data
}

struct Reader<'a> {
    tree: &'a Tree,
    header: &'a Header,
    log: &'a Log,
    tests: TestReader<'a>,
}

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
        let files = [LEGACY_FILE, SUCCESSOR_FILE].map(|name| format!("{directory}/{name}"));
        if files.iter().all(|file| self.tree.is_file(file)) {
            self.log.error(&files[1], DataFault::TwoSettings);
        }
        // DOMjudge accepts either name.
        let file = files
            .iter()
            .find(|file| self.tree.is_file(file))
            .unwrap_or(&files[0]);
        let settings = group::legacy(self.tree, file, above, self.header, self.log);
        self.bounded(settings.replaced_by(&self.header.grading), directory)
    }

    /// Returns the settings of a directory. Returns no settings if the package exceeds the bound on
    /// text, because each test has a copy of them.
    fn bounded(&self, settings: Settings, directory: &str) -> Settings {
        if self.log.takes(directory, settings.cost()) {
            settings
        } else {
            Settings::default()
        }
    }

    /// Reads a group of the legacy format. Each directory in it is a group as well.
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
            tests: self.tests.tests(path, &settings, false),
            groups: groups
                .map(|(_, path, _)| self.legacy_group(path, &settings))
                .collect(),
        };
        if group.tests.is_empty() && group.groups.is_empty() && path.matches('/').count() > 1 {
            self.log.warning(path, DataFault::EmptyGroup);
        }
        group
    }

    fn successor(&self, above: &Settings) -> Data {
        let scoring = self.header.scoring;
        let mut groups = Vec::new();
        if self.tree.is_directory("data/sample") {
            let file = format!("data/sample/{SUCCESSOR_FILE}");
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
                tests: self.tests.tests("data/sample", &settings, true),
                groups: Vec::new(),
            });
        }
        let mut range = (0.0, DEFAULT_POINTS);
        if self.tree.is_directory("data/secret") {
            let secret = self.secret(above);
            range.1 = secret.rules.points.unwrap_or(f64::INFINITY);
            groups.push(secret);
        }
        // A submission's points are the points of `secret`.
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

    /// Reads the group `secret`, which has either groups or tests.
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
        let is_group = |path: &&str| self.tree.is_file(&format!("{path}/{SUCCESSOR_FILE}"));
        let mut secret = Group {
            name: "secret".to_owned(),
            ..Group::default()
        };
        let mut aggregations = Vec::new();
        if directories.iter().any(is_group) {
            for path in directories {
                if !is_group(&path) {
                    self.log.error(path, DataFault::NotGroup);
                    continue;
                }
                let (settings, aggregation) = self.settings(path, &settings);
                let tests = self.tests.tests(path, &settings, true);
                if tests.is_empty() {
                    self.log.error(path, DataFault::EmptyGroup);
                }
                aggregations.push(aggregation);
                secret.groups.push(Group {
                    name: below_data(path).to_owned(),
                    tests,
                    ..Group::default()
                });
            }
            if let Some(test) = self.tests.tests(SECRET, &settings, false).first() {
                let test = Excerpt::new(&test.name);
                self.log.error(SECRET, DataFault::TestBesideGroups { test });
            }
        } else {
            secret.tests = self.tests.tests(SECRET, &settings, true);
        }
        if self.header.scoring {
            points::set_rules(&mut secret, &aggregation, &aggregations, self.log);
        }
        secret
    }

    fn settings(&self, directory: &str, above: &Settings) -> (Settings, Aggregation) {
        let file = format!("{directory}/{SUCCESSOR_FILE}");
        let (settings, aggregation) =
            group::successor(self.tree, &file, above, self.header, self.log);
        (self.bounded(settings, directory), aggregation)
    }

    /// Reads the probes in a directory and below it. Directories inherit settings in the same way
    /// as groups.
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
        let (found, directories) = self.tests.found(directory);
        let mut probes = Vec::new();
        for (name, files) in &found {
            let output = files
                .get(".out")
                .filter(|path| self.tree.is_file(path))
                .map(|path| self.tree.path(path));
            let test = self
                .tests
                .test(&format!("{directory}/{name}"), files, &settings);
            probes.extend(test.map(|test| Probe { kind, test, output }));
        }
        for (_, path) in directories {
            probes.extend(self.probes(path, kind, &settings, legacy));
        }
        probes
    }
}
