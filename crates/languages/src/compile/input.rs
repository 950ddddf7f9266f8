//! The input of a compilation: sources, and which of them are compiled.

use super::error::Refusal;
use super::java;
use super::options::Options;
use crate::files::SourceFile;
use crate::suite::{EntryPoint, Suite, known_extension};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Maximum total length in bytes of the names that one command receives as arguments. Linux allows
/// 2 MiB for arguments, environment and a pointer to each, if the stack limit is 8 MiB (execve(2)).
const MAX_ARGUMENT_BYTES: usize = 1 << 20;

/// Extension of Java sources, whose names the compiler checks.
const JAVA: &str = "java";
/// Maximum length in bytes of a class name that becomes the name of a file.
const MAX_CLASS_NAME_BYTES: usize = 200;

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
        let files = with_known_extensions(files, suite);
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
        let (mut main, mut compiled) = (
            main.to_owned(),
            names.into_iter().map(Path::to_owned).collect::<Vec<_>>(),
        );
        let mut files = files;
        for (old, new) in names_of_public_classes(&files, suite) {
            let files = files.iter_mut().map(|file| &mut file.name);
            for name in files.chain(&mut compiled).chain([&mut main]) {
                if *name == old {
                    name.clone_from(&new);
                }
            }
        }
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

/// Spells the extensions of sources as the suite does, because compilers do not know `.JAVA`. A
/// file keeps its name if another file has the new name.
fn with_known_extensions(mut files: Vec<SourceFile>, suite: &Suite) -> Vec<SourceFile> {
    let extensions = &suite.sources.extensions;
    for index in 0..files.len() {
        let name = &files[index].name;
        let Some(extension) = known_extension(name, extensions) else {
            continue;
        };
        if name.extension() == Some(extension.as_ref()) {
            continue;
        }
        let renamed = name.with_extension(extension);
        if files.iter().all(|file| file.name != renamed) {
            files[index].name = renamed;
        }
    }
    files
}

/// Returns the old and new names of Java sources that are not named after their public class. A
/// file keeps its name if another file has the new name.
fn names_of_public_classes(files: &[SourceFile], suite: &Suite) -> Vec<(PathBuf, PathBuf)> {
    let mut renamed: Vec<(PathBuf, PathBuf)> = Vec::new();
    if suite.run.entry == EntryPoint::File {
        return renamed;
    }
    let sources = files
        .iter()
        .filter(|file| file.name.extension() == Some(JAVA.as_ref()));
    for file in sources {
        let classes = java::classes(&file.bytes);
        let has_name =
            |class: &&java::TopLevelClass| file.name.file_stem() == Some(class.name.as_ref());
        let mut public = classes.iter().filter(|class| class.is_public);
        let Some(class) = public.next() else { continue };
        if class.name.len() > MAX_CLASS_NAME_BYTES
            || [class]
                .into_iter()
                .chain(public)
                .any(|class| has_name(&class))
        {
            continue;
        }
        let new = file.name.with_file_name(format!("{}.{JAVA}", class.name));
        let is_taken = files.iter().map(|file| &file.name).any(|name| *name == new)
            || renamed.iter().any(|(_, taken)| *taken == new);
        if !is_taken {
            renamed.push((file.name.clone(), new));
        }
    }
    renamed
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
pub fn main_source<'f>(
    compiled: &[&'f Path],
    suite: &Suite,
    wanted: Option<&str>,
) -> Option<&'f Path> {
    let known_as = |path: &Path| {
        let extensions = &suite.sources.extensions;
        let extension = known_extension(path, extensions)?;
        extensions.iter().position(|known| known == extension)
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
    fn extensions_of_sources_are_spelled_as_in_the_suite() {
        let suites = crate::suite::Suites::builtin();
        let java = suites.named("java").unwrap();
        let files = ["Main.JAVA", "B.java", "b.Java", "B.JAVA", "x.H"]
            .map(|name| SourceFile::new(name, ""))
            .to_vec();
        let input = Input::new(files, java, &Options::default()).unwrap();
        let names: Vec<&str> = input
            .files
            .iter()
            .filter_map(|file| file.name.to_str())
            .collect();
        assert_eq!(names, ["Main.java", "B.java", "b.java", "B.JAVA", "x.H"]);
        assert_eq!(input.main, Path::new("Main.java"));
    }

    #[test]
    fn java_sources_are_named_after_their_public_classes() {
        let suites = crate::suite::Suites::builtin();
        let input = |language: &str, files: &[(&str, &str)], main: Option<&str>| {
            let files = files
                .iter()
                .map(|(name, text)| SourceFile::new(name, text.as_bytes()));
            let options = Options {
                main: main.map(str::to_owned),
                ..Options::default()
            };
            let suite = suites.named(language).unwrap();
            let input = Input::new(files.collect(), suite, &options).unwrap();
            let names = input.compiled.iter().map(|name| name.display().to_string());
            (
                names.collect::<Vec<_>>().join(" "),
                input.main.display().to_string(),
            )
        };
        let java = |files: &[(&str, &str)], main| input("java", files, main);
        let shown = |names: &str, main: &str| (names.to_owned(), main.to_owned());
        let public = "package p; // public class No\npublic class Other { }";
        assert_eq!(
            java(&[("Main.java", public)], None),
            shown("Other.java", "Other.java")
        );
        assert_eq!(
            java(&[("d/x.JAVA", public)], None),
            shown("d/Other.java", "d/Other.java")
        );
        assert_eq!(
            java(
                &[("A.java", "class B {}"), ("test.java", public)],
                Some("test.java")
            ),
            shown("A.java Other.java", "Other.java")
        );
        // The compiler reports that the class exists twice.
        assert_eq!(
            java(&[("Other.java", public), ("Main.java", public)], None),
            shown("Other.java Main.java", "Main.java")
        );
        assert_eq!(
            java(&[("x.java", "class A {}")], None),
            shown("x.java", "x.java")
        );
        assert_eq!(
            input("kotlin", &[("main.kt", "public class Other")], None),
            shown("main.kt", "main.kt")
        );
    }

    #[test]
    fn argument_does_not_begin_like_an_option() {
        assert_eq!(argument(Path::new("-o")), "./-o");
        assert_eq!(argument(Path::new("@x.c")), "./@x.c");
        assert_eq!(argument(Path::new("a b.c")), "a b.c");
    }
}
