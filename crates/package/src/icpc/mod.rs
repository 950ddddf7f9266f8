//! The ICPC problem package format: `legacy`, `2023-07`, `2025-09`, and what DOMjudge adds.
//!
//! | file | what |
//! | --- | --- |
//! | `header` | problem.yaml |
//! | `domjudge` | domjudge-problem.ini and .timelimit |
//! | `data` | tests and groups |
//! | `group` | testdata.yaml and test_group.yaml |
//! | `submissions` | submissions, and what is expected of them |
//! | `generators` | generators.yaml: how tests are made |
//! | `edit` | a time limit, written where it belongs |

mod data;
mod domjudge;
pub mod edit;
mod generators;
mod group;
mod header;
mod submissions;

use crate::Reading;
use crate::fault::{Log, did_you_mean};
use crate::model::{
    Checker, Convention, Expected, Format, Group, Kind, Problem, Program, Scoring, Submission,
};
use crate::programs::{self, program, programs};
use crate::tree::{self, Names, Tree};
use generators::Made;
use group::{GRADERS, NO_STATIC_VALIDATORS};
use header::Header;
use std::path::Path;

/// Top directories and files whose contents are judged, or judge.
const NEEDED: [&str; 11] = [
    "data",
    "domjudge-problem.ini",
    "graders",
    "include",
    "input_format_validators",
    "input_validators",
    "output_validator",
    "output_validators",
    "problem.yaml",
    "submissions",
    ".timelimit",
];

/// Top directories that are read, here or by `generators`.
const READ: [&str; 9] = [
    "data",
    "generators",
    "graders",
    "include",
    "input_format_validators",
    "input_validators",
    "output_validator",
    "output_validators",
    "submissions",
];
/// Top directories of the format, and of those who make packages, that nobody here reads.
const NOT_READ: [&str; 13] = [
    "answer_validator",
    "answer_validators",
    "attachments",
    "illustrations",
    "input_visualizer",
    "input_visualizers",
    "output_visualizer",
    "output_visualizers",
    "problem_statement",
    "solution",
    "statement",
    "static_validator",
    "static_validators",
];

/// Letters, digits and `_.-`, as the format says; `+`, as DOMjudge says.
fn allowed(name: &str) -> bool {
    name == ".timelimit"
        || name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.-+".contains(&byte))
}

fn needed(path: &str) -> bool {
    let top = path.split('/').next().unwrap_or(path);
    NEEDED.contains(&top)
}

/// Tells of directories that are not read, since their names are only much like those that are.
fn misspelt(tree: &Tree, log: &Log) {
    for (name, path, kind) in tree.children("") {
        if kind != tree::Kind::Directory || READ.contains(&name) || NOT_READ.contains(&name) {
            continue;
        }
        let meant = did_you_mean(name, READ);
        if !meant.is_empty() {
            log.warning(
                path,
                format!("not read: the format has no such directory{meant}"),
            );
        }
    }
}

/// Reads the package; what comes back counts only if the log has no error.
pub fn read(directory: &Path, label: String, reading: Reading, log: &Log) -> Problem {
    let mut tree = Tree::list(directory, &Names { allowed, needed }, log);
    let made = match reading {
        Reading::ToJudge => Made::default(),
        Reading::ToMake => generators::read(&mut tree, log),
        Reading::Whole => generators::look(&tree, log),
    };
    misspelt(&tree, log);
    let mut header = header::read(&tree, log);
    let title = domjudge::read(&tree, &mut header, log);
    let later = of_later_formats(&tree, &header);
    if let Some(what) = &later {
        let message = format!(
            "there is no problem_format_version, so this is read as legacy; but {what} is of later \
             formats: add problem_format_version: 2025-09"
        );
        log.warning(header::FILE, message);
    }
    let checker = checker(&tree, &header, later.is_some(), log);
    header.default_checker = matches!(checker, Checker::Tokens);
    if let Some(place) = &header.flags_place {
        group::check_flags(&header.flags, place, &header, log);
    }
    let data = data::read(&tree, &header, log);
    let grader = grader(&tree, &data.root, log);
    let input_validators = input_validators(&tree, log);
    let mut submissions = submissions::read(&tree, &header, log);
    if let Some((place, path)) = &made.solution {
        // Who makes the answers is the model.
        let model = |submission: &Submission| {
            submission.program.path == tree.path(path)
                && submission.expected == [Expected::Accepted]
        };
        match submissions.iter().position(model) {
            Some(index) => submissions[..=index].rotate_right(1),
            None => log.error(
                place,
                format!("solution: {path:?} is none of the submissions that must be accepted"),
            ),
        }
    }
    let include = include(&tree, log);
    for directory in ["static_validator", "static_validators"] {
        if tree.files(directory).next().is_some() {
            log.error(directory, NO_STATIC_VALIDATORS);
        }
    }
    let scoring = match header.scoring {
        true => Scoring::Points {
            minimum: data.range.0,
            maximum: data.range.1,
            objective: header.objective,
        },
        false => Scoring::PassFail,
    };
    let kind = match (header.passes, header.interactive) {
        (Some(passes), interactive) => Kind::MultiPass {
            passes,
            interactive,
        },
        (None, true) => Kind::Interactive,
        (None, false) => Kind::Batch,
    };
    Problem {
        directory: directory.to_owned(),
        format: header.format,
        version: header.version,
        name: header.name.or(title).unwrap_or_else(|| label.clone()),
        label,
        kind,
        checker,
        checker_flags: header.flags,
        scoring,
        grader,
        limits: header.limits,
        root: data.root,
        submissions,
        input_validators,
        probes: data.probes,
        generators: made.generations,
        include,
        constants: header.constants,
        warnings: Vec::new(),
        unpacked: None,
    }
}

/// What only later formats have, in a package that does not say its format and so is read as
/// legacy.
fn of_later_formats(tree: &Tree, header: &Header) -> Option<String> {
    if header.format != Format::Legacy
        || header.version.is_some()
        || !header.sound
        || !tree.is_file(header::FILE)
    {
        return None;
    }
    // Who asks for an output validator gets this one, too.
    let validator = Some("output_validator").filter(|_| header.custom != Some(true));
    let directory = validator
        .into_iter()
        .chain(["statement"])
        .find(|directory| tree.is_directory(directory));
    let group = || {
        tree.files("data")
            .find(|path| path.rsplit('/').next() == Some("test_group.yaml"))
    };
    directory
        .map(|directory| format!("{directory}/"))
        .or_else(|| group().map(str::to_owned))
}

/// `later`: it has been said that the package is of another version than it says.
fn checker(tree: &Tree, header: &Header, later: bool, log: &Log) -> Checker {
    // Each version has its own name for the directory; packages of both use both.
    let mut found = Vec::new();
    for directory in ["output_validators", "output_validator"] {
        if directory == "output_validator" && has_source(tree, directory) {
            // In 2023-07 there is one validator, whose files may lie right here.
            found.push(directory);
        } else {
            found.extend(programs(tree, directory));
        }
    }
    let custom = header.custom.unwrap_or(!found.is_empty());
    if !custom {
        // Of a header that is not understood nobody knows what it says.
        if let Some(first) = found.first().filter(|_| header.sound && !later) {
            let message = "not used, since `validation` in problem.yaml is not `custom`";
            log.warning(*first, message);
        }
        if header.interactive || header.passes.is_some() {
            log.error(
                "problem.yaml",
                "an interactive or multi-pass problem needs an output validator of its own",
            );
        }
        return Checker::Tokens;
    }
    match found[..] {
        [] => log.error(
            "output_validators",
            "there is no output validator, but problem.yaml asks for one",
        ),
        [_] => {}
        [first, ref others @ ..] => {
            let others = others.join(", ");
            log.error(
                first,
                format!("one output validator is supported, but there is also {others}"),
            );
        }
    }
    let program = program(tree, found.first().copied().unwrap_or("output_validators"));
    Checker::Custom {
        program,
        convention: Convention::Icpc,
    }
}

/// The grader of the package's own, if a group asks for it.
fn grader(tree: &Tree, root: &Group, log: &Log) -> Option<Program> {
    let found = programs(tree, GRADERS);
    let wanted = root.groups().any(|group| group.rules.grader.is_some());
    match found[..] {
        [] => {}
        _ if !wanted => log.warning(
            GRADERS,
            "not used, since no testdata.yaml says `grading: custom`",
        ),
        [_] => {}
        [first, ref others @ ..] => {
            log.error(
                first,
                format!(
                    "there may be one grader, but there is also {}",
                    others.join(", ")
                ),
            );
        }
    }
    found
        .first()
        .filter(|_| wanted)
        .map(|path| program(tree, path))
}

fn has_source(tree: &Tree, directory: &str) -> bool {
    let children = tree.children(directory);
    children
        .iter()
        .any(|(name, _, kind)| *kind == tree::Kind::File && programs::is_source(name))
}

fn input_validators(tree: &Tree, log: &Log) -> Vec<Program> {
    let mut found = Vec::new();
    for directory in ["input_validators", "input_format_validators"] {
        found.extend(
            programs(tree, directory)
                .into_iter()
                .map(|path| program(tree, path)),
        );
        for (name, path, _) in tree.children(directory) {
            if matches!(programs::extension(name), Some("ctd" | "viva")) {
                log.warning(
                    path,
                    "checktestdata and VIVA files are not supported; inputs are not checked by it",
                );
            }
        }
    }
    found
}

fn include(tree: &Tree, log: &Log) -> Option<std::path::PathBuf> {
    for (name, path, kind) in tree.children("include") {
        if kind == tree::Kind::File {
            log.warning(
                path,
                format!(
                    "not used: files to include belong in include/LANGUAGE, not beside ({name})"
                ),
            );
        }
    }
    let some = tree
        .children("include")
        .into_iter()
        .any(|(_, path, _)| tree.files(path).next().is_some());
    some.then(|| tree.path("include"))
}
