//! Chooses the suite for given sources.

use super::error::ChoiceError;
use super::model::{Suite, has_extension};
use super::similar::nearest;
use millibox_package::is_of_machine;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Maximum number of bytes that are read of a first line that begins with `#!`.
const MAX_SHEBANG_BYTES: u64 = 256;
/// Maximum number of bytes that are searched for marks.
const MAX_MARKED_BYTES: u64 = 1 << 20;

/// A source whose beginning may decide.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// A file, which is opened only if its content is needed.
    File(&'a Path),
    /// A name and a content.
    Content(&'a Path, &'a [u8]),
}

impl<'a> Source<'a> {
    fn path(self) -> &'a Path {
        match self {
            Source::File(path) | Source::Content(path, _) => path,
        }
    }

    /// Returns at most this many bytes from the beginning; none of a source that is not a
    /// regular file, or that does not exist.
    ///
    /// # Errors
    /// The machine has failed.
    fn beginning(self, bytes: u64) -> Result<Vec<u8>, ChoiceError> {
        match self {
            Source::File(path) => match beginning_of_file(path, bytes) {
                Err(error) if is_of_machine(&error) => Err(ChoiceError::NotRead {
                    source_file: path.to_owned(),
                    cause: error.into(),
                }),
                beginning => Ok(beginning.unwrap_or_default()),
            },
            Source::Content(_, content) => {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                Ok(content[..content.len().min(bytes)].to_vec())
            }
        }
    }
}

fn beginning_of_file(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let mut beginning = Vec::new();
    // Opening a FIFO or a device may block.
    if path.symlink_metadata()?.is_file() {
        let file = std::fs::File::open(path)?;
        file.take(bytes).read_to_end(&mut beginning)?;
    }
    Ok(beginning)
}

impl Suite {
    /// Returns the suite of a single source among these suites, by its extension and content. Case
    /// matters only if two suites have extensions that differ in case.
    ///
    /// ```
    /// use millibox_languages::suite::{Suite, Suites};
    /// use std::path::Path;
    ///
    /// let suites = Suites::builtin();
    /// let defaults = suites.iter().filter(|suite| suite.default);
    /// let suite = Suite::of_source(defaults, Path::new("A.CPP"), b"int main() {}");
    /// assert_eq!(suite.map(|suite| &suite.language[..]), Some("cpp"));
    /// ```
    pub fn of_source<'s>(
        suites: impl Iterator<Item = &'s Suite> + Clone,
        name: &Path,
        content: &[u8],
    ) -> Option<&'s Suite> {
        let source = Source::Content(name, content);
        match by_extension(suites.clone(), source).ok()? {
            None => by_shebang(suites, source).ok()?,
            suite => suite,
        }
    }
}

pub(super) fn named<'s>(all: &'s [Suite], name: &str) -> Result<&'s Suite, ChoiceError> {
    let wanted = name.trim().to_lowercase();
    let find = |name: &str| {
        let has = |suite: &&Suite| suite.name == name || suite.names.iter().any(|one| one == name);
        all.iter().find(has)
    };
    find(&wanted).ok_or_else(|| {
        let known = all
            .iter()
            .flat_map(|suite| suite.names.iter().chain([&suite.name]).map(String::as_str));
        // The list in the message contains only the names of suites, not their other names.
        let meant = nearest(&wanted, known).and_then(find);
        ChoiceError::UnknownName {
            name: name.to_owned(),
            nearest: meant.map(|suite| suite.name.clone()),
            known: all.iter().map(|suite| suite.name.clone()).collect(),
        }
    })
}

pub(super) fn by_sources<'s>(
    all: &'s [Suite],
    sources: &[PathBuf],
) -> Result<&'s Suite, ChoiceError> {
    let defaults = || all.iter().filter(|suite| suite.default);
    // A directory with a build script may contain sources of any language.
    let by_name = |suite: &&Suite| {
        let known = |path: &PathBuf| {
            suite
                .sources
                .files
                .iter()
                .any(|name| path.file_name() == Some(name.as_ref()))
        };
        sources.iter().any(known)
    };
    if let Some(suite) = defaults()
        .filter(by_name)
        .max_by_key(|suite| suite.sources.priority)
    {
        return Ok(suite);
    }
    let mut chosen: Vec<&Suite> = Vec::new();
    for source in sources {
        if let Some(suite) = by_extension(defaults(), Source::File(source))?
            && !chosen.iter().any(|known| known.name == suite.name)
        {
            chosen.push(suite);
        }
    }
    match chosen[..] {
        [suite] => return Ok(suite),
        [] => {}
        _ => {
            return Err(ChoiceError::SeveralLanguages {
                sources: sources.to_vec(),
                titles: chosen.iter().map(|suite| suite.title.clone()).collect(),
            });
        }
    }
    if sources.is_empty() {
        return Err(ChoiceError::NoSources);
    }
    let mut foreign = None;
    for source in sources {
        let Some(interpreter) = shebang(Source::File(source))? else {
            continue;
        };
        if let Some(suite) = with_shebang(defaults(), &interpreter) {
            return Ok(suite);
        }
        if defaults().any(|suite| has_extension(source, &suite.sources.extensions)) {
            foreign.get_or_insert(ChoiceError::ForeignInterpreter {
                source_file: source.clone(),
                interpreter,
            });
        }
    }
    if let Some(foreign) = foreign {
        return Err(foreign);
    }
    let extensions = defaults().flat_map(|suite| suite.sources.extensions.iter().cloned());
    Err(ChoiceError::UnknownSources {
        sources: sources.to_vec(),
        extensions: extensions.collect(),
    })
}

/// Chooses by extension. If several suites have the extension, the first line decides, then a line
/// that begins a clause, then the priority. An extension with the same case is preferred.
fn by_extension<'s>(
    suites: impl Iterator<Item = &'s Suite>,
    source: Source<'_>,
) -> Result<Option<&'s Suite>, ChoiceError> {
    let path = source.path();
    let Some(extension) = path.extension().and_then(|extension| extension.to_str()) else {
        return Ok(None);
    };
    let suites: Vec<&Suite> = suites
        .filter(|suite| has_extension(path, &suite.sources.extensions))
        .collect();
    let is_same = |suite: &&Suite| {
        suite
            .sources
            .extensions
            .iter()
            .any(|known| known == extension)
    };
    let any_same = suites.iter().any(is_same);
    let mut known = suites;
    known.retain(|suite| !any_same || is_same(suite));
    if known
        .iter()
        .any(|suite| !suite.sources.foreign_shebangs.is_empty())
        && let Some(interpreter) = shebang(source)?
    {
        known.retain(|suite| !suite.sources.foreign_shebangs.contains(&interpreter));
    }
    if let [] | [_] = known[..] {
        return Ok(known.first().copied());
    }
    if let Some(suite) = by_shebang(known.iter().copied(), source)? {
        return Ok(Some(suite));
    }
    if let Some(suite) = by_mark(&known, source)? {
        return Ok(Some(suite));
    }
    let suites = known.into_iter().rev();
    Ok(suites.max_by_key(|suite| suite.sources.priority))
}

/// Chooses by the marks of suites, if only one suite has a mark in the source.
fn by_mark<'s>(suites: &[&'s Suite], source: Source<'_>) -> Result<Option<&'s Suite>, ChoiceError> {
    if suites.iter().all(|suite| suite.sources.marks.is_empty()) {
        return Ok(None);
    }
    let bytes = source.beginning(MAX_MARKED_BYTES)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(suites.iter().copied().find(|suite| {
        let is_clause = |line: &str| suite.sources.marks.iter().any(|mark| begins(line, mark));
        text.lines().any(is_clause)
    }))
}

/// Whether a line begins a clause: with the mark itself, or with a head and the mark. A head is a
/// name in lower case, possibly with arguments in parentheses.
fn begins(line: &str, mark: &str) -> bool {
    let Some((head, _)) = line.split_once(mark) else {
        return false;
    };
    let head = head.trim();
    let (name, arguments) = head.split_at(head.find('(').unwrap_or(head.len()));
    let is_name = name.is_empty() && arguments.is_empty()
        || name.starts_with(|first: char| first.is_ascii_lowercase())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name && (arguments.is_empty() || arguments.ends_with(')')) && !arguments.contains('$')
}

fn by_shebang<'s>(
    suites: impl Iterator<Item = &'s Suite>,
    source: Source<'_>,
) -> Result<Option<&'s Suite>, ChoiceError> {
    let interpreter = shebang(source)?;
    Ok(interpreter.and_then(|interpreter| with_shebang(suites, &interpreter)))
}

fn with_shebang<'s>(
    mut suites: impl Iterator<Item = &'s Suite>,
    interpreter: &String,
) -> Option<&'s Suite> {
    suites.find(|suite| suite.sources.shebangs.contains(interpreter))
}

/// Returns the name of the interpreter in the first line: `python3` for
/// `#!/usr/bin/env -S python3 -u`.
fn shebang(source: Source<'_>) -> Result<Option<String>, ChoiceError> {
    let head = source.beginning(MAX_SHEBANG_BYTES)?;
    Ok(interpreter(&head))
}

fn interpreter(head: &[u8]) -> Option<String> {
    let line = head
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line
        .split_whitespace()
        .map(|word| word.rsplit('/').next().unwrap_or(word));
    match words.next()? {
        "env" => words
            .find(|word| !word.starts_with('-') && !word.contains('='))
            .map(str::to_owned),
        interpreter => Some(interpreter.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Suites;
    use super::*;

    fn choose(sources: &[&str]) -> Result<String, ChoiceError> {
        let sources: Vec<PathBuf> = sources.iter().map(PathBuf::from).collect();
        Suites::builtin()
            .for_sources(&sources, None)
            .map(|suite| suite.name.clone())
    }

    #[test]
    fn named_with_other_name_or_case_returns_suite() {
        let suites = Suites::builtin();
        let named = |name: &str| suites.named(name).map(|suite| suite.name.as_str());
        for (name, suite) in [
            ("c", "c17"),
            ("C11", "c11"),
            ("C++", "cpp20"),
            ("cpp", "cpp20"),
            ("c++14", "cpp14"),
            ("Python 3", "python3"),
            ("py", "python3"),
            ("node", "javascript"),
            (" go ", "go"),
            ("JavaScript", "javascript"),
        ] {
            assert_eq!(named(name), Ok(suite), "{name}");
        }
        let Err(ChoiceError::UnknownName { nearest, known, .. }) = named("pyhton3") else {
            panic!("pyhton3 names a suite")
        };
        assert_eq!(nearest.as_deref(), Some("python3"));
        assert!(known.contains(&"cpp20".to_owned()));
        for (wrong, meant) in [("pyhton", Some("python3")), ("x", None)] {
            match named(wrong) {
                Err(ChoiceError::UnknownName { nearest, known, .. }) => {
                    assert_eq!(nearest.as_deref(), meant, "{wrong}");
                    assert!(nearest.is_none_or(|name| known.contains(&name)), "{wrong}");
                }
                other => panic!("{wrong}: {other:?}"),
            }
        }
    }

    #[test]
    fn extension_chooses_suite_and_headers_do_not() {
        let suite = |name: &str| Ok(name.to_owned());
        assert_eq!(choose(&["a.c"]), suite("c17"));
        assert_eq!(choose(&["a.C"]), suite("cpp20"));
        assert_eq!(choose(&["validate.h", "sub/validate.cc"]), suite("cpp20"));
        assert_eq!(choose(&["a.py", "notes.txt"]), suite("python3"));
        for (name, chosen) in [
            ("A.CPP", "cpp20"),
            ("Main.JAVA", "java"),
            ("x.Py", "python3"),
            ("a.Rs", "rust"),
            ("A.C", "cpp20"),
        ] {
            assert_eq!(choose(&[name]), suite(chosen), "{name}");
        }
        assert!(matches!(
            choose(&["a.h"]),
            Err(ChoiceError::UnknownSources { .. })
        ));
        let Err(ChoiceError::SeveralLanguages { titles, .. }) = choose(&["a.c", "b.py"]) else {
            panic!("C and Python are one language")
        };
        assert_eq!(titles, ["C17", "Python 3"]);
        assert_eq!(choose(&[]), Err(ChoiceError::NoSources));
    }

    #[test]
    fn source_that_the_machine_cannot_read_has_no_language() {
        // The kernel reports EIO.
        let path = "/proc/self/mem";
        assert!(matches!(
            choose(&[path]),
            Err(ChoiceError::NotRead { source_file, .. }) if source_file == Path::new(path)
        ));
    }

    #[test]
    fn build_script_takes_precedence_over_extension() {
        let scripts = || Ok("scripts".to_owned());
        assert_eq!(choose(&["p/solver.cpp", "p/build"]), scripts());
        assert_eq!(choose(&["p/run"]), scripts());
    }

    #[test]
    fn clauses_distinguish_prolog_from_perl() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("main.pl");
        for (text, suite) in [
            ("main :-\n    write(1).\n", "prolog"),
            ("% sum\n:- initialization(main).\nmain :- halt.\n", "prolog"),
            ("add(X, Y, Z) :- Z is X + Y.\n", "prolog"),
            ("greeting --> [hello], name.\n", "prolog"),
            ("?- write(1).\n", "prolog"),
            ("print 1;\n", "perl"),
            ("use strict;\nmy $x = <STDIN> ? 1:-1;\n", "perl"),
            ("print f($x) ? f(1):-1;\n", "perl"),
            ("# main :- halt.\nprint ':-';\n", "perl"),
            ("#!/usr/bin/perl\nmain :- halt.\n", "perl"),
            ("#!/usr/bin/swipl\nfact(1).\n", "prolog"),
            ("", "perl"),
        ] {
            std::fs::write(&path, text).unwrap();
            let chosen = choose(&[path.to_str().unwrap()]);
            assert_eq!(chosen.as_deref(), Ok(suite), "{text}");
            let suites = Suites::builtin();
            let chosen = Suite::of_source(suites.iter(), Path::new("MAIN.PL"), text.as_bytes());
            assert_eq!(chosen.map(|suite| &suite.name[..]), Some(suite), "{text}");
        }
    }

    #[test]
    fn first_line_chooses_suite() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("solution");
        for (line, suite) in [
            ("#!/usr/bin/python3 -u\n", "python3"),
            ("#!/usr/bin/env -S PYTHONUTF8=1 python3", "python3"),
            ("#! /bin/sh\n", "bash"),
            ("#!/usr/bin/env node\n", "javascript"),
        ] {
            std::fs::write(&path, line).unwrap();
            assert_eq!(
                choose(&[path.to_str().unwrap()]).as_deref(),
                Ok(suite),
                "{line}"
            );
        }
        std::fs::write(&path, "#!/usr/bin/env\n").unwrap();
        assert!(choose(&[path.to_str().unwrap()]).is_err());
        // Python 2 has the same extension.
        let path = directory.path().join("solution.py");
        for (line, suite) in [
            ("#!/usr/bin/env python2\n", None),
            ("#!/usr/bin/pypy\n", Some("python3")),
        ] {
            std::fs::write(&path, line).unwrap();
            assert_eq!(
                choose(&[path.to_str().unwrap()]).ok().as_deref(),
                suite,
                "{line}"
            );
        }
    }
}
