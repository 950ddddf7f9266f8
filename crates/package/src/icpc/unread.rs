//! Warns of files and directories that are not read, which their authors may have misspelt.
//!
//! The reader of tests reports the files below `data/sample` and `data/secret`, and the reader of
//! submissions those below `submissions`.

use super::group::{LEGACY_FILE, SUCCESSOR_FILE};
use super::header::{self, Header};
use super::{claims, domjudge, generators};
use crate::fault::icpc::{DataFault, ProgramFault};
use crate::fault::log::Log;
use crate::fault::text::Suggestion;
use crate::model::Format;
use crate::programs::{self, extension, is_header, is_source};
use crate::tree::{Kind, Tree};

/// Directories at the top level that are read.
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
/// Known directories at the top level that have no meaning for judging. Static validators are
/// reported separately.
const NOT_READ: [&str; 16] = [
    "answer_validator",
    "answer_validators",
    "answer_validators_format",
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
    "visualizer",
    "visualizers",
];
/// Directories of programs.
const PROGRAMS: [&str; 5] = [
    "graders",
    "input_format_validators",
    "input_validators",
    "output_validator",
    "output_validators",
];
/// Maximum number of files that are reported individually in one directory.
const MAX_LISTED: usize = 20;

/// Warns of unread files and directories everywhere except in the tests and the submissions.
pub fn report(tree: &Tree, log: &Log) {
    top(tree, log);
    for directory in PROGRAMS {
        programs_of(tree, directory, log);
    }
    if !tree.is_file(generators::FILE) {
        for (name, path, kind) in tree.children("generators") {
            if kind == Kind::File && matches!(extension(name), Some("yaml" | "yml")) {
                let suggestion = Suggestion::of("generators.yaml");
                log.warning(path, ProgramFault::UnknownFile { suggestion });
            }
        }
    }
}

/// Warns of unread files and directories beside problem.yaml.
fn top(tree: &Tree, log: &Log) {
    let files = [header::FILE, domjudge::INI];
    let places = [
        (LEGACY_FILE, "data/testdata.yaml"),
        (SUCCESSOR_FILE, "data/test_group.yaml"),
        ("submissions.yaml", claims::FILE),
        ("generators.yaml", generators::FILE),
    ];
    for (name, path, kind) in tree.children("") {
        match kind {
            Kind::Directory if READ.contains(&name) || NOT_READ.contains(&name) => {}
            Kind::Directory => {
                let suggestion = Suggestion::new(name, READ);
                log.warning(path, ProgramFault::UnknownDirectory { suggestion });
            }
            Kind::File if files.contains(&name) || is_document(name) => {}
            Kind::File => {
                let place = places.iter().find(|(file, _)| *file == name);
                let suggestion = match place {
                    Some((_, place)) => Suggestion::of(place),
                    None => similar_file(name, &files),
                };
                log.warning(path, ProgramFault::UnknownFile { suggestion });
            }
        }
    }
}

/// Returns the known file with a similar name: the extension may be missing or different, and case
/// does not matter.
pub fn similar_file(name: &str, known: &[&'static str]) -> Suggestion {
    let lower = name.to_ascii_lowercase();
    let stem = |name: &str| name.split('.').next().unwrap_or_default().replace('-', "_");
    let same = |file: &&&str| {
        let (found, wanted) = (stem(&lower), stem(file));
        found == wanted || found.replace('_', "") == wanted.replace('_', "")
    };
    match known.iter().find(same) {
        Some(file) => Suggestion::of(file),
        None => Suggestion::new(&lower, known.iter().copied()),
    }
}

/// Whether a file is documentation, or belongs to a tool that builds or stores the package.
/// DOMjudge also has the statement here.
fn is_document(name: &str) -> bool {
    const STEMS: [&str; 6] = [
        "readme",
        "license",
        "licence",
        "copying",
        "changelog",
        "makefile",
    ];
    const EXTENSIONS: [&str; 9] = [
        "md", "tex", "pdf", "html", "txt", "png", "jpg", "svg", "zip",
    ];
    let lower = name.to_ascii_lowercase();
    let stem = lower.split('.').next().unwrap_or_default();
    // DOMjudge reads `.timelimit`.
    lower.starts_with('.')
        || STEMS.contains(&stem)
        || stem != "problem_yaml"
            && extension(&lower).is_some_and(|extension| EXTENSIONS.contains(&extension))
}

/// Warns of files in a directory of programs that are neither programs nor belong to one.
fn programs_of(tree: &Tree, directory: &str, log: &Log) {
    let found = programs::programs(tree, directory);
    if found.contains(&directory) {
        return;
    }
    let unread = tree
        .children(directory)
        .into_iter()
        .filter(|(name, path, kind)| {
            *kind == Kind::File
                && !is_source(name)
                && !is_header(name)
                && !is_document(name)
                && !matches!(extension(name), Some("ctd" | "viva"))
                && !found.contains(path)
        });
    for (_, path, _) in unread.take(MAX_LISTED) {
        log.warning(path, ProgramFault::NotProgram);
    }
}

/// Warns of unread files and directories directly in `data`. `is_read` returns whether a directory
/// of this name is read.
pub fn report_data(tree: &Tree, header: &Header, is_read: impl Fn(&str) -> bool, log: &Log) {
    let settings = match header.format {
        Format::Legacy => [LEGACY_FILE, SUCCESSOR_FILE],
        _ => [SUCCESSOR_FILE, LEGACY_FILE],
    };
    for (name, path, kind) in tree.children("data") {
        match kind {
            Kind::File if name.ends_with(".in") => log.error(path, DataFault::MisplacedTest),
            Kind::File if settings.contains(&name) || is_document(name) => {}
            Kind::File => {
                let suggestion = similar_file(name, &settings);
                log.warning(path, ProgramFault::UnknownFile { suggestion });
            }
            Kind::Directory if is_read(name) => {}
            Kind::Directory => {
                let suggestion = Suggestion::new(name, ["sample", "secret"]);
                log.warning(path, DataFault::UnknownDirectory { suggestion });
            }
        }
    }
}
