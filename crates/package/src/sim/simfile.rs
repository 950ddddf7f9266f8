//! Reads a Simfile, which contains the settings that the judge needs.

use super::config::Config;
use super::points::groups;
use super::sipfile::Sipfile;
use super::test_files::TestReader;
use super::values::{MIB, SIMFILE, inside, is_source, mebibytes};
use crate::bound::{Bound, MAX_SUBMISSIONS};
use crate::constants::Constants;
use crate::fault::log::Log;
use crate::fault::sim::SimfileFault;
use crate::fault::text::Excerpt;
use crate::model::{
    Checker, Convention, Expected, Format, Group, Kind, Limits, Objective, Problem, Rules, Scoring,
    Submission,
};
use crate::programs::program;
use crate::tree::Tree;
use std::collections::BTreeSet;
use std::path::Path;

struct Reader<'a> {
    tree: &'a Tree,
    config: Config<'a>,
    log: &'a Log,
    interactive: bool,
}

/// Reads the package. `sipfile` is the content of the Sipfile, if the package has one.
pub fn read(tree: &Tree, directory: &Path, sipfile: Option<Sipfile>, log: &Log) -> Problem {
    let text = tree.text(SIMFILE, log).unwrap_or_default();
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
    let config = Config::read(&text, SIMFILE, &known, log);
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
        log.error(SIMFILE, SimfileFault::NoName);
    }
    let label = reader
        .config
        .text("label")
        .map_or_else(|| label(&name), |item| item.text.clone());
    let mut statement = None;
    if let Some(item) = reader.config.text("statement") {
        if tree.is_file(&inside(&item.text)) {
            statement = Some(directory.join(inside(&item.text)));
        } else {
            let path = Excerpt::new(&item.text);
            log.warning(&item.place, SimfileFault::NoStatement { path });
        }
    }
    let memory = reader
        .config
        .text("memory_limit")
        .and_then(|item| mebibytes(&item.text, &item.place, log));
    let checker = reader.checker();
    let submissions = reader.submissions();
    let has_sipfile = sipfile.is_some();
    let sipfile = sipfile.unwrap_or_default();
    let tests = TestReader {
        tree,
        config: &reader.config,
        log,
        interactive: reader.interactive,
        has_sipfile,
        memory,
    };
    let groups = groups(tests.tests(&sipfile), &reader.config, log);
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
        statement,
        constants: Constants::default(),
        warnings: Vec::new(),
        unpacked: None,
    }
}

/// Makes a label from the first three graphic ASCII characters of the name.
fn label(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_graphic)
        .take(3)
        .map(|c| c.to_ascii_lowercase())
        .collect()
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
                let text = Excerpt::new(&item.text);
                self.log
                    .error(&item.place, SimfileFault::Interactive { text });
                false
            }
        }
    }

    /// Returns the named checker, or otherwise the source in `check` or `checker` with the shortest
    /// path.
    fn checker(&self) -> Checker {
        let path = match self.config.text("checker") {
            Some(item) => {
                let path = inside(&item.text);
                if !self.tree.is_file(&path) {
                    let path = Excerpt::new(&item.text);
                    self.log
                        .error(&item.place, SimfileFault::NoChecker { path });
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
                self.log.error(SIMFILE, SimfileFault::CheckerRequired);
            }
            return Checker::Lines;
        };
        let source = self.tree.bytes(&path, MIB).unwrap_or_default();
        if String::from_utf8_lossy(&source).contains("testlib.h") {
            self.log.warning(&path, SimfileFault::TestlibChecker);
        }
        Checker::Custom {
            program: program(self.tree, &path),
            convention: Convention::Sim,
        }
    }

    /// Returns the named submissions, of which the first is the model solution, and then all other
    /// sources.
    fn submissions(&self) -> Vec<Submission> {
        let mut paths: Vec<String> = Vec::new();
        let mut named = BTreeSet::new();
        for item in self.config.array("solutions").unwrap_or_default() {
            let path = inside(&item.text);
            if !self.tree.is_file(&path) {
                let path = Excerpt::new(&item.text);
                self.log
                    .error(&item.place, SimfileFault::NoSolution { path });
            } else if !named.insert(path.clone()) {
                let path = Excerpt::new(&item.text);
                self.log
                    .warning(&item.place, SimfileFault::RepeatedSolution { path });
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
                self.log.error(SIMFILE, SimfileFault::NoSolutions);
            }
            // If no model solution is named, the submission with the shortest path is the model
            // solution.
            others.sort_by_key(|path| path.len());
            let rest = others.len().min(1);
            others[rest..].sort_unstable();
        }
        paths.extend(others.into_iter().map(str::to_owned));
        if paths.len() > MAX_SUBMISSIONS {
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
}
