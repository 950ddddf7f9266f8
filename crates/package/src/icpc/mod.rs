//! Reads the ICPC problem package format (`legacy`, `2023-07`, `2025-09`), and files of DOMjudge.
//!
//! | module | content |
//! | --- | --- |
//! | `header` | problem.yaml |
//! | `domjudge` | domjudge-problem.ini and .timelimit |
//! | `data` | tests and groups |
//! | `test_files` | the files of single tests |
//! | `group` | testdata.yaml and test_group.yaml |
//! | `grading` | settings of groups in problem.yaml |
//! | `points` | points of groups from version 2023-07 on |
//! | `submissions` | submissions and their expected verdicts |
//! | `tags` | the tags of DOMjudge in sources |
//! | `verdicts` | the verdicts that directory names imply |
//! | `claims` | submissions.yaml |
//! | `generators` | generators.yaml: how tests are generated |
//! | `unread` | warnings of files that are not read |
//! | `siblings` | the files beside generators.yaml |
//! | `numbering` | names of tests in generators.yaml |
//! | `command` | commands of generators: their seeds and placeholders |
//! | `edit` | writes a time limit into a package |

mod claims;
mod command;
mod data;
mod domjudge;
pub mod edit;
mod generators;
mod grading;
mod group;
mod header;
mod numbering;
mod points;
mod siblings;
mod submissions;
mod tags;
mod test_files;
mod unread;
mod verdicts;

use crate::fault::icpc::{GenerationFault, GroupFault, HeaderFault, ProgramFault};
use crate::fault::log::Log;
use crate::fault::text::Excerpt;
use crate::model::{
    CHECKTESTDATA, Checker, Convention, Expected, Format, Group, Kind, Problem, Program, Scoring,
    Submission,
};
use crate::programs::{self, program, programs};
use crate::tree::{self, Names, Tree};
use generators::Generations;
use group::GRADERS;
use header::Header;
use std::path::Path;

/// The purpose of reading a package.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// The package is judged, so its tests must exist.
    Judge,
    /// Missing tests will be generated.
    Generate,
    /// The package is judged, and the file of generators is checked as well.
    Validate,
}

/// Directories and files at the top level that judging needs.
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

/// Whether a name is allowed. The format allows letters, digits and `_.-`, and DOMjudge also allows
/// `+`.
fn allowed(name: &str) -> bool {
    name == ".timelimit"
        || name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.-+".contains(&byte))
}

/// Whether judging needs the file or directory at a path.
fn needed(path: &str) -> bool {
    let top = path.split('/').next().unwrap_or(path);
    NEEDED.contains(&top)
}

/// Reads the package. The result is valid only if the log has no error.
pub fn read(directory: &Path, label: String, purpose: Purpose, log: &Log) -> Problem {
    let mut tree = Tree::list(directory, &Names { allowed, needed }, log);
    unread::report(&tree, log);
    let mut header = header::read(&tree, log);
    let generations = match purpose {
        Purpose::Judge => Generations::default(),
        Purpose::Generate => generators::read(&mut tree, &header.constants, log),
        Purpose::Validate => generators::check(&tree, &header.constants, log),
    };
    let title = domjudge::read(&tree, &mut header, log);
    let later = later_feature(&tree, &header);
    if let Some(feature) = &later {
        let feature = feature.into();
        log.warning(header::FILE, HeaderFault::LaterFormat { feature });
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
    if let Some((place, path)) = &generations.solution {
        // The submission that generates the answers is the model solution.
        let model = |submission: &Submission| {
            submission.program.path == tree.path(path)
                && submission.expected == [Expected::Accepted]
        };
        match submissions.iter().position(model) {
            Some(index) => submissions[..=index].rotate_right(1),
            None => {
                let path = Excerpt::new(path);
                log.error(place, GenerationFault::Solution { path });
            }
        }
    }
    let include = include(&tree, log);
    for directory in ["static_validator", "static_validators"] {
        if tree.files(directory).next().is_some() {
            log.error(directory, GroupFault::StaticValidators { key: None });
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
        generators: generations.list,
        include,
        statement: None,
        constants: header.constants,
        warnings: Vec::new(),
        unpacked: None,
    }
}

/// Returns a file or directory that only later formats have, if the package is read as legacy
/// because it states no format.
fn later_feature(tree: &Tree, header: &Header) -> Option<String> {
    if header.format != Format::Legacy
        || header.version.is_some()
        || !header.sound
        || !tree.is_file(header::FILE)
    {
        return None;
    }
    // If problem.yaml requires an output validator, this directory is read in any format.
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

/// Returns the checker. If the package has features of `later` formats, unused validators are not
/// reported, because the cause is known.
fn checker(tree: &Tree, header: &Header, later: bool, log: &Log) -> Checker {
    // Each version has a different name for the directory. Packages for both versions use both
    // names.
    let mut found = Vec::new();
    for directory in ["output_validators", "output_validator"] {
        if directory == "output_validator" && has_source(tree, directory) {
            // In 2023-07, this directory itself may contain the files of the only validator.
            found.push(directory);
        } else {
            found.extend(programs(tree, directory));
        }
    }
    let custom = header.custom.unwrap_or(!found.is_empty());
    if !custom {
        // The author of a header with faults may have intended to use the validator.
        if let Some(first) = found.first().filter(|_| header.sound && !later) {
            log.warning(*first, ProgramFault::UnusedValidator);
        }
        if header.interactive || header.passes.is_some() {
            log.error("problem.yaml", ProgramFault::ValidatorRequired);
        }
        return Checker::Tokens;
    }
    match found[..] {
        [] => log.error("output_validators", ProgramFault::NoValidator),
        [_] => {}
        [first, ref others @ ..] => {
            let others = others.join(", ").into();
            log.error(first, ProgramFault::SeveralValidators { others });
        }
    }
    let program = program(tree, found.first().copied().unwrap_or("output_validators"));
    Checker::Custom {
        program,
        convention: Convention::Icpc,
    }
}

/// Returns the package's own grader, if a group uses it.
fn grader(tree: &Tree, root: &Group, log: &Log) -> Option<Program> {
    let found = programs(tree, GRADERS);
    let wanted = root.groups().any(|group| group.rules.grader.is_some());
    match found[..] {
        [] => {}
        _ if !wanted => log.warning(GRADERS, ProgramFault::UnusedGrader),
        [_] => {}
        [first, ref others @ ..] => {
            let others = others.join(", ").into();
            log.error(first, ProgramFault::SeveralGraders { others });
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

/// Returns the input validators. Files in the language checktestdata are validators as well.
fn input_validators(tree: &Tree, log: &Log) -> Vec<Program> {
    let mut found = Vec::new();
    for directory in ["input_validators", "input_format_validators"] {
        found.extend(
            programs(tree, directory)
                .into_iter()
                .map(|path| program(tree, path)),
        );
        for (name, path, _) in tree.children(directory) {
            match programs::extension(name) {
                Some(CHECKTESTDATA) => found.push(program(tree, path)),
                Some("viva") => log.warning(path, ProgramFault::UnsupportedValidator),
                _ => {}
            }
        }
    }
    found
}

fn include(tree: &Tree, log: &Log) -> Option<std::path::PathBuf> {
    for (_, path, kind) in tree.children("include") {
        if kind == tree::Kind::File {
            log.warning(path, ProgramFault::MisplacedInclude);
        }
    }
    let some = tree
        .children("include")
        .into_iter()
        .any(|(_, path, _)| tree.files(path).next().is_some());
    some.then(|| tree.path("include"))
}
