//! Finds the files that form one program.

use crate::model::Program;
use crate::tree::{Kind, Tree};

/// Extensions of files that accompany a program.
const COMPANION_EXTENSIONS: [&str; 10] = [
    "ctd", "h", "hh", "hpp", "hxx", "md", "pdf", "txt", "viva", "yaml",
];

/// Creates a program from a file, or from all files of a directory.
pub fn program(tree: &Tree, path: &str) -> Program {
    let sources = match tree.kind(path) {
        Some(Kind::Directory) => tree.files(path).map(|file| tree.path(file)).collect(),
        _ => vec![tree.path(path)],
    };
    Program {
        path: tree.path(path),
        sources,
        language: None,
        arguments: Vec::new(),
    }
}

/// Whether a file with this name can be a program of its own.
pub fn is_source(name: &str) -> bool {
    extension(name)
        .is_some_and(|extension| !COMPANION_EXTENSIONS.contains(&&*extension.to_ascii_lowercase()))
}

/// Whether a file with this name is a header of C or C++.
pub fn is_header(name: &str) -> bool {
    extension(name).is_some_and(|extension| {
        matches!(&*extension.to_ascii_lowercase(), "h" | "hh" | "hpp" | "hxx")
    })
}

/// Whether a file is a script: its first line names an interpreter.
pub fn is_script(tree: &Tree, path: &str) -> bool {
    tree.is_file(path) && tree.bytes(path, 2).is_ok_and(|bytes| bytes == b"#!")
}

/// Returns the paths of the programs in a directory of programs.
///
/// Each file and each directory in it is one program. There are two exceptions, in which the
/// directory itself is the program: it contains a script `build` or `run`, or it contains headers
/// and exactly one source. If there are headers and several sources, each source is one program
/// that uses the headers.
pub fn programs<'a>(tree: &'a Tree, directory: &'a str) -> Vec<&'a str> {
    let children = tree.children(directory);
    let files = || {
        children
            .iter()
            .filter(|(_, _, kind)| *kind == Kind::File)
            .map(|(name, ..)| *name)
    };
    let script = files().any(|name| matches!(name, "build" | "run"));
    let header = files().any(is_header);
    if script || header && files().filter(|name| is_source(name)).count() == 1 {
        return vec![directory];
    }
    let is_program = |name: &str, path: &str, kind| match kind {
        Kind::File => is_source(name) || extension(name).is_none() && is_script(tree, path),
        Kind::Directory => tree.files(path).next().is_some(),
    };
    children
        .into_iter()
        .filter(|(name, path, kind)| is_program(name, path, *kind))
        .map(|(_, path, _)| path)
        .collect()
}

pub fn extension(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(_, extension)| extension)
}
