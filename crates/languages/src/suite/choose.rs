//! Which suite sources are meant for.

use super::Suite;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Why no suite was chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct ChoiceError {
    why: String,
    unknown: bool,
}

impl ChoiceError {
    fn new(why: String) -> ChoiceError {
        ChoiceError {
            why,
            unknown: false,
        }
    }

    /// Whether nothing but the language is missing: there is no suite for it.
    pub fn is_unknown_language(&self) -> bool {
        self.unknown
    }
}

pub(super) fn named<'s>(all: &'s [Suite], name: &str) -> Result<&'s Suite, ChoiceError> {
    let wanted = name.trim().to_lowercase();
    let is = |suite: &&Suite| suite.name == wanted || suite.names.contains(&wanted);
    all.iter().find(is).ok_or_else(|| {
        let known = || {
            all.iter()
                .flat_map(|suite| suite.names.iter().chain([&suite.name]).map(String::as_str))
        };
        let meant = match nearest(&wanted, known()) {
            Some(name) => format!("; did you mean {name:?}?"),
            None => ".".to_owned(),
        };
        let names: Vec<&str> = all.iter().map(|suite| suite.name.as_str()).collect();
        let why = format!(
            "there is no language {name:?}{meant} Those there are: {}",
            names.join(", ")
        );
        ChoiceError { why, unknown: true }
    })
}

pub(super) fn by_sources<'s>(
    all: &'s [Suite],
    sources: &[PathBuf],
) -> Result<&'s Suite, ChoiceError> {
    let defaults = || all.iter().filter(|suite| suite.default);
    // A directory that says itself how it is built may hold sources of any language.
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
        if let Some(suite) = by_extension(defaults(), source)
            && !chosen.iter().any(|known| known.name == suite.name)
        {
            chosen.push(suite);
        }
    }
    match chosen[..] {
        [suite] => return Ok(suite),
        [] => {}
        _ => {
            let titles: Vec<&str> = chosen.iter().map(|suite| suite.title.as_str()).collect();
            return Err(ChoiceError::new(format!(
                "{}: their extensions speak for several languages ({}); leave the files of one",
                shown(sources),
                titles.join(", ")
            )));
        }
    }
    if let Some(suite) = sources
        .iter()
        .find_map(|source| by_shebang(defaults(), source))
    {
        return Ok(suite);
    }
    let extensions: Vec<&str> = all
        .iter()
        .filter(|suite| suite.default)
        .flat_map(|suite| suite.sources.extensions.iter().map(String::as_str))
        .collect();
    if sources.is_empty() {
        return Err(ChoiceError::new("there are no sources".to_owned()));
    }
    // Its extension is known, and its first line says that it is something else.
    if let Some((source, interpreter)) = sources.iter().find_map(|source| {
        let known = |suite: &Suite| {
            suite
                .sources
                .extensions
                .iter()
                .any(|known| source.extension() == Some(known.as_ref()))
        };
        Some((source, shebang(source).filter(|_| defaults().any(known))?))
    }) {
        let why = format!(
            "{}: its first line names {interpreter}, and there is no language for that; name \
             another, or leave that line out",
            source.file_name().unwrap_or_default().display()
        );
        return Err(ChoiceError { why, unknown: true });
    }
    let why = format!(
        "{}: neither extension nor first line tells the language; use one of the extensions {}",
        shown(sources),
        extensions.join(", ")
    );
    Err(ChoiceError { why, unknown: true })
}

/// If several suites know the extension, the first line decides, then their priority.
fn by_extension<'s>(suites: impl Iterator<Item = &'s Suite>, source: &Path) -> Option<&'s Suite> {
    let extension = source.extension()?.to_str()?;
    let knows = |suite: &&Suite| {
        suite
            .sources
            .extensions
            .iter()
            .any(|known| known == extension)
    };
    let foreign = |suite: &Suite| {
        let not_its = &suite.sources.foreign_shebangs;
        !not_its.is_empty()
            && shebang(source).is_some_and(|interpreter| not_its.contains(&interpreter))
    };
    let known: Vec<&Suite> = suites
        .filter(knows)
        .filter(|suite| !foreign(suite))
        .collect();
    match known[..] {
        [] | [_] => known.first().copied(),
        _ => by_shebang(known.iter().copied(), source).or_else(|| {
            known
                .iter()
                .copied()
                .rev()
                .max_by_key(|suite| suite.sources.priority)
        }),
    }
}

fn by_shebang<'s>(mut suites: impl Iterator<Item = &'s Suite>, source: &Path) -> Option<&'s Suite> {
    let interpreter = shebang(source)?;
    suites.find(|suite| suite.sources.shebangs.contains(&interpreter))
}

/// Name of the interpreter in the first line: `python3` of `#!/usr/bin/env -S python3 -u`.
fn shebang(source: &Path) -> Option<String> {
    let mut head = Vec::new();
    // A regular file only: opening another may wait for ever.
    if !source.symlink_metadata().ok()?.is_file() {
        return None;
    }
    std::fs::File::open(source)
        .ok()?
        .take(256)
        .read_to_end(&mut head)
        .ok()?;
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

fn shown(sources: &[PathBuf]) -> String {
    match sources {
        [] => String::new(),
        [one] => one.display().to_string(),
        [first, rest @ ..] => format!("{} and {} more", first.display(), rest.len()),
    }
}

/// The word that was probably meant.
pub fn nearest<'n>(word: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let tolerable = (word.chars().count() / 3).clamp(1, 3);
    known
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .filter(|(edits, _)| *edits <= tolerable)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::super::Suites;
    use super::*;

    fn chosen(sources: &[&str]) -> Result<String, String> {
        let sources: Vec<PathBuf> = sources.iter().map(PathBuf::from).collect();
        Suites::builtin()
            .for_sources(&sources, None)
            .map(|suite| suite.name.clone())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn names_of_languages_and_variants() {
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
        let error = named("pyhton3").unwrap_err().to_string();
        assert!(
            error.contains("did you mean \"python3\"?") && error.contains("cpp20"),
            "{error}"
        );
    }

    #[test]
    fn extensions_tell_and_headers_do_not() {
        assert_eq!(chosen(&["a.c"]).as_deref(), Ok("c17"));
        assert_eq!(chosen(&["a.C"]).as_deref(), Ok("cpp20"));
        assert_eq!(
            chosen(&["validate.h", "sub/validate.cc"]).as_deref(),
            Ok("cpp20")
        );
        assert_eq!(chosen(&["a.py", "notes.txt"]).as_deref(), Ok("python3"));
        assert!(
            chosen(&["a.h"])
                .unwrap_err()
                .contains("neither extension nor first line")
        );
        assert!(
            chosen(&["a.c", "b.py"])
                .unwrap_err()
                .contains("several languages (C17, Python 3)")
        );
        assert_eq!(chosen(&[]), Err("there are no sources".to_owned()));
    }

    #[test]
    fn scripts_tell_before_sources() {
        assert_eq!(
            chosen(&["p/solver.cpp", "p/build"]).as_deref(),
            Ok("scripts")
        );
        assert_eq!(chosen(&["p/run"]).as_deref(), Ok("scripts"));
    }

    #[test]
    fn first_lines_tell() {
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
                chosen(&[path.to_str().unwrap()]).as_deref(),
                Ok(suite),
                "{line}"
            );
        }
        std::fs::write(&path, "#!/usr/bin/env\n").unwrap();
        assert!(chosen(&[path.to_str().unwrap()]).is_err());
        // The extension is that of another version, too.
        let path = directory.path().join("solution.py");
        for (line, suite) in [
            ("#!/usr/bin/env python2\n", None),
            ("#!/usr/bin/pypy\n", Some("python3")),
        ] {
            std::fs::write(&path, line).unwrap();
            assert_eq!(
                chosen(&[path.to_str().unwrap()]).ok().as_deref(),
                suite,
                "{line}"
            );
        }
    }
}
