//! Finds the files of tests in directories, and reads single tests.

use super::group::{self, LEGACY_FILE, SUCCESSOR_FILE, Settings};
use super::header::Header;
use super::{generators, unread};
use crate::bound::words_cost;
use crate::fault::files::FileFault;
use crate::fault::icpc::DataFault;
use crate::fault::log::Log;
use crate::fault::text::{Excerpt, MakeHint, Suggestion};
use crate::model::{Format, Test};
use crate::programs::extension;
use crate::tree::{Kind, Tree};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Extensions of documentation and of programs that generate tests. Such files do not count as
/// strays.
const COMPANION_EXTENSIONS: [&str; 8] = ["md", "py", "sh", "c", "cc", "cpp", "java", "rs"];

/// Maximum number of stray files that are reported individually.
const MAX_LISTED_STRAYS: usize = 5;
/// Maximum length of a description.
const MAX_DESCRIPTION_BYTES: u64 = 64 << 10;

/// The extensions of a test's files. An extension comes before its own suffixes.
const EXTENSIONS: [&str; 19] = [
    ".in.statement",
    ".ans.statement",
    ".in.download",
    ".ans.download",
    ".in",
    ".ans",
    ".out",
    ".interaction",
    ".desc",
    ".hint",
    ".yaml",
    ".args",
    ".files",
    ".png",
    ".jpg",
    ".jpeg",
    ".svg",
    ".gif",
    ".pdf",
];

/// The files of one test by extension.
pub type Files<'a> = BTreeMap<&'a str, &'a str>;

/// Reads tests, and reports stray files at the end.
pub struct TestReader<'a> {
    tree: &'a Tree,
    header: &'a Header,
    log: &'a Log,
    /// Files that belong to no test, and the names that their author may have meant.
    strays: RefCell<Vec<(&'a str, Suggestion)>>,
}

/// The tests of a directory by name, and the names and paths of its subdirectories.
type Found<'a> = (BTreeMap<&'a str, Files<'a>>, Vec<(&'a str, &'a str)>);

impl<'a> TestReader<'a> {
    pub fn new(tree: &'a Tree, header: &'a Header, log: &'a Log) -> TestReader<'a> {
        TestReader {
            tree,
            header,
            log,
            strays: RefCell::default(),
        }
    }

    /// Finds the tests of a directory and its subdirectories.
    pub fn found(&self, directory: &'a str) -> Found<'a> {
        let mut found: BTreeMap<&'a str, Files<'a>> = BTreeMap::new();
        let mut directories = Vec::new();
        for (name, path, kind) in self.tree.children(directory) {
            if kind == Kind::Directory && !name.ends_with(".files") {
                directories.push((name, path));
            } else if !matches!(name, LEGACY_FILE | SUCCESSOR_FILE) {
                let part = EXTENSIONS
                    .iter()
                    .find_map(|part| Some((name.strip_suffix(part)?, *part)));
                match part.filter(|(name, _)| !name.is_empty()) {
                    Some((name, part)) => {
                        found.entry(name).or_default().insert(part, path);
                    }
                    None if extension(name)
                        .is_some_and(|part| COMPANION_EXTENSIONS.contains(&part)) => {}
                    None => self.strays.borrow_mut().push((path, similar(name))),
                }
            }
        }
        (found, directories)
    }

    /// Reports stray files: the first few by name, and only the number of the others. Without this
    /// report, a misspelt name would remove a test without notice.
    pub fn report_strays(&self) {
        let strays = self.strays.borrow();
        for (path, suggestion) in strays.iter().take(MAX_LISTED_STRAYS) {
            let suggestion = suggestion.clone();
            self.log.warning(*path, DataFault::Stray { suggestion });
        }
        if let Some((path, _)) = strays.get(MAX_LISTED_STRAYS) {
            let more = strays.len() - MAX_LISTED_STRAYS - 1;
            let fault = match more {
                0 => DataFault::Stray {
                    suggestion: Suggestion::NONE,
                },
                more => DataFault::MoreStrays { more },
            };
            self.log.warning(*path, fault);
        }
    }

    /// Reads the tests of a directory, sorted by name. With `deep`, also reads those of its
    /// subdirectories.
    pub fn tests(&self, directory: &'a str, settings: &Settings, deep: bool) -> Vec<Test> {
        let (found, directories) = self.found(directory);
        let mut tests = Vec::new();
        for (name, files) in &found {
            let test = self.test(&format!("{directory}/{name}"), files, settings);
            if test.as_ref().is_some_and(|test| test.answer.is_none()) {
                let fault = DataFault::NoAnswer {
                    name: Excerpt::new(name),
                    hint: make_hint(self.tree, MakeHint::One),
                };
                self.log.error(files[".in"], fault);
            }
            tests.extend(test);
        }
        for (name, path) in directories {
            if !deep {
                continue;
            }
            if found
                .get(name)
                .is_some_and(|files| files.contains_key(".in"))
            {
                let name = name.into();
                self.log.error(path, DataFault::SameName { name });
            }
            let file = format!("{path}/{SUCCESSOR_FILE}");
            if self.tree.is_file(&file) {
                self.log.error(&file, DataFault::NestedGroup);
            }
            tests.extend(self.tests(path, settings, true));
        }
        // Tests in directories that are not groups are sorted among the others.
        tests.sort_by(|a, b| a.name.cmp(&b.name));
        tests
    }

    /// Reads the test with this path (without extension). Returns `None` if the test is incomplete.
    pub fn test(&self, path: &str, files: &Files<'_>, settings: &Settings) -> Option<Test> {
        let is_file = |part: &str| {
            files
                .get(part)
                .filter(|path| self.tree.is_file(path))
                .copied()
        };
        let legacy = self.header.format == Format::Legacy;
        let Some(input) = is_file(".in") else {
            if let Some(answer) = files.get(".ans") {
                let name = last(path).into();
                self.log.error(*answer, DataFault::NoInput { name });
            }
            for part in [".args", ".files", ".yaml"] {
                if let Some(file) = files.get(part) {
                    let name = last(path).into();
                    self.log.warning(*file, DataFault::NoTest { name });
                }
            }
            return None;
        };
        // If the package exceeds the bound on text, nothing more is copied.
        if !self.log.takes(input, 0) {
            return None;
        }
        let answer = is_file(".ans");
        let mut description = is_file(".desc").and_then(|file| self.description(file));
        let mut settings = settings.clone();
        let mut directory = None;
        if legacy {
            for part in [".args", ".files", ".yaml"] {
                if let Some(file) = files.get(part) {
                    self.log.warning(*file, DataFault::OfLaterFormat);
                }
            }
        } else {
            if let Some(file) = is_file(".yaml") {
                let (own, own_description) =
                    group::test(self.tree, file, &settings, self.header, self.log);
                settings = own;
                description = own_description.or(description);
            }
            // Drafts of the format had a file for the arguments.
            if let Some(words) = is_file(".args").and_then(|file| self.tree.text(file, self.log)) {
                settings.arguments = Some(words.split_whitespace().map(str::to_owned).collect());
            }
            directory = files
                .get(".files")
                .filter(|path| self.tree.is_directory(path))
                .copied();
        }
        let own = if settings.checker_flags.is_some() {
            words_cost(&self.header.flags)
        } else {
            0
        };
        if !self.log.takes(input, settings.cost() + own) {
            return None;
        }
        let flags = settings
            .checker_flags
            .map(|flags| [self.header.flags.clone(), flags].concat());
        Some(Test {
            name: below_data(path).to_owned(),
            input: self.tree.path(input),
            answer: answer.map(|answer| self.tree.path(answer)),
            checker_flags: flags,
            input_flags: settings.input_flags.unwrap_or_default(),
            arguments: settings.arguments.unwrap_or_default(),
            files: directory.map(|path| self.tree.path(path)),
            description,
            ..Test::default()
        })
    }

    /// Reads the text of a description.
    fn description(&self, file: &str) -> Option<String> {
        match self.tree.bytes(file, MAX_DESCRIPTION_BYTES) {
            Ok(bytes) if !self.log.takes(file, bytes.len()) => None,
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).trim().to_owned()),
            Err(error) => {
                self.log.warning(file, FileFault::Unreadable(error.into()));
                None
            }
        }
    }
}

/// Returns the name that the author of a stray file may have meant.
fn similar(name: &str) -> Suggestion {
    let settings = unread::similar_file(name, &[LEGACY_FILE, SUCCESSOR_FILE]);
    if settings.word().is_some() {
        return settings;
    }
    let of_test = name.rsplit_once('.').map(|(stem, extension)| {
        Suggestion::new(&extension.to_ascii_lowercase(), ["in", "ans"])
            .map(|extension| format!("{stem}.{extension}"))
    });
    of_test.unwrap_or_default()
}

/// Returns the hint if the package describes how its tests are generated.
pub fn make_hint(tree: &Tree, hint: MakeHint) -> MakeHint {
    if tree.is_file(generators::FILE) {
        hint
    } else {
        MakeHint::None
    }
}

/// Returns the path below `data`.
pub fn below_data(path: &str) -> &str {
    path.strip_prefix("data/").unwrap_or(path)
}

/// Returns the last name of a path.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a path belongs to the samples.
pub fn is_sample(path: &str) -> bool {
    below_data(path).split('/').next() == Some("sample")
}
