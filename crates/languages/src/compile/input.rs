//! The input of a compilation: sources, and which of them are compiled.

use super::error::Refusal;
use super::options::Options;
use crate::files::SourceFile;
use crate::suite::Suite;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Maximum total length in bytes of the names that one command receives as arguments. Linux allows
/// 2 MiB for arguments, environment and a pointer to each, if the stack limit is 8 MiB (execve(2)).
const MAX_ARGUMENT_BYTES: usize = 1 << 20;

/// The sources of a compilation.
pub(super) struct Input {
    pub(super) files: Vec<SourceFile>,
    /// Names of the files to compile.
    pub(super) compiled: Vec<PathBuf>,
    /// Name of the main file.
    pub(super) main: PathBuf,
}

impl Input {
    pub(super) fn new(
        files: Vec<SourceFile>,
        suite: &Suite,
        options: &Options,
    ) -> Result<Input, Refusal> {
        let names = compiled(&files, suite);
        let main = main_source(&names, suite, options.main.as_deref()).ok_or_else(|| {
            Refusal::OnlyHeaders {
                title: suite.title.clone(),
            }
        })?;
        let argument_bytes: usize = names
            .iter()
            .map(|name| name.as_os_str().len() + size_of::<usize>())
            .sum();
        if argument_bytes > MAX_ARGUMENT_BYTES {
            return Err(Refusal::NamesTooLong(names.len()));
        }
        let (main, compiled) = (
            main.to_owned(),
            names.into_iter().map(Path::to_owned).collect(),
        );
        Ok(Input {
            files,
            compiled,
            main,
        })
    }

    /// Returns the input for the suite's example.
    pub(super) fn example(suite: &Suite) -> Result<Input, Refusal> {
        Input::new(example(suite), suite, &Options::default())
    }
}

/// Returns the source of the suite's example.
pub(super) fn example(suite: &Suite) -> Vec<SourceFile> {
    let example = &suite.example;
    vec![SourceFile::new(&example.file, example.source.as_bytes())]
}

/// Returns the names of the files to compile: those with an extension of the suite. If no file has
/// such an extension, returns all files except headers.
pub(super) fn compiled<'f>(files: &'f [SourceFile], suite: &Suite) -> Vec<&'f Path> {
    let names = || files.iter().map(|file| file.name.as_path());
    let known: Vec<&Path> = names().filter(|name| suite.compiles(name)).collect();
    if known.is_empty() {
        names().filter(|name| !suite.is_header(name)).collect()
    } else {
        known
    }
}

/// Returns the main file among those to compile. If no name decides, a file with the suite's first
/// extension is preferred, because that is the extension of programs.
pub(super) fn main_source<'f>(
    compiled: &[&'f Path],
    suite: &Suite,
    wanted: Option<&str>,
) -> Option<&'f Path> {
    let known_as = |path: &Path| {
        suite
            .sources
            .extensions
            .iter()
            .position(|known| path.extension() == Some(known.as_ref()))
    };
    let called = |name: &str| {
        compiled
            .iter()
            .find(|path| path.as_os_str() == name || path.file_stem() == Some(name.as_ref()))
            .copied()
    };
    wanted
        .and_then(called)
        .or_else(|| suite.sources.main.iter().find_map(|name| called(name)))
        .or_else(|| compiled.iter().copied().min_by_key(|path| known_as(path)))
}

/// Returns the name as an argument that does not begin like an option or a response file (`@file`).
pub(super) fn argument(name: &Path) -> OsString {
    match name.as_os_str().as_bytes().first() {
        Some(b'-' | b'@' | b'+') => Path::new(".").join(name).into_os_string(),
        _ => name.as_os_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_does_not_begin_like_an_option() {
        assert_eq!(argument(Path::new("-o")), "./-o");
        assert_eq!(argument(Path::new("@x.c")), "./@x.c");
        assert_eq!(argument(Path::new("a b.c")), "a b.c");
    }
}
