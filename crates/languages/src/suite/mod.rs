//! Language suites: how to compile and run each language, as data.
//!
//! A suite file (TOML) describes one language; `docs/reference/suites.md` explains each key. If a
//! file has variants, such as the standards of C++, each variant is a separate [`Suite`].
//!
//! | file | content |
//! | --- | --- |
//! | `model` | the types of a suite |
//! | `builtin` | the suite files of this crate |
//! | `read`, `command` | read the text of a file into suites, and report all its faults |
//! | `section` | readers for TOML tables that continue after a fault |
//! | `services` | names of the language in other execution services |
//! | `template` | `{placeholders}` in commands |
//! | `choose` | the suite for given sources |
//! | `linking` | static or dynamic linking |
//! | `similar` | suggestions for misspelt words |
//! | `error` | faults of suite files, and why no suite was chosen |

mod builtin;
mod choose;
mod command;
mod error;
mod linking;
mod model;
mod read;
mod section;
mod services;
mod shown;
mod similar;
pub(crate) mod template;

pub use error::{ChoiceError, Fault, FaultKind, Faults, Place, Suggestion};
pub use linking::{Link, Linking};
pub use model::{
    CompileStep, Completion, EntryPoint, Example, Library, Preparation, Product, Root, Run,
    SourceRules, Suite, Tool,
};
pub(crate) use model::{Surroundings, System, known_extension};
pub use services::{PistonName, Services};
pub use similar::nearest;

use std::path::{Path, PathBuf};

/// A set of suites in which each name has one meaning.
///
/// ```
/// use millibox_languages::suite::Suites;
/// use std::path::PathBuf;
///
/// let suites = Suites::builtin();
/// assert_eq!(suites.named("C++20").unwrap().name, "cpp20");
/// let sources = [PathBuf::from("tree.cc"), PathBuf::from("tree.h")];
/// assert_eq!(suites.for_sources(&sources, None)?.language, "cpp");
/// # Ok::<(), millibox_languages::suite::ChoiceError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Suites {
    all: Vec<Suite>,
}

impl Suites {
    /// Returns the suites of this crate.
    ///
    /// # Panics
    /// A suite file of this crate has a fault. The crate's tests check that no file has one.
    pub fn builtin() -> Suites {
        Suites::from_files(&[]).unwrap_or_else(|faults| panic!("{faults}"))
    }

    /// Returns the suites of this crate and those of the files `*.toml` in a directory. A language
    /// in the directory replaces the built-in language with the same `name`.
    ///
    /// # Errors
    /// The directory or a file cannot be read, or files have faults. The error lists all faults.
    pub fn with_directory(directory: &Path) -> Result<Suites, Faults> {
        let unreadable = |path: &Path, error: std::io::Error| {
            let mut faults = Faults::default();
            faults.add(&path.display().to_string(), 0, FaultKind::Read(error));
            faults
        };
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(|error| unreadable(directory, error))? {
            let path = entry.map_err(|error| unreadable(directory, error))?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                paths.push(path);
            }
        }
        // The order affects only the order of messages.
        paths.sort();
        let mut files = Vec::new();
        for path in paths {
            let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
            files.push((path.display().to_string(), text));
        }
        Suites::from_files(&files)
    }

    /// Returns the suites of this crate, changed by suite files. A file is a pair of its name, for
    /// messages, and its text. It adds a language, or replaces the built-in language with the same
    /// `name`.
    ///
    /// # Errors
    /// Files have faults. The error lists all faults.
    pub fn from_files(files: &[(String, String)]) -> Result<Suites, Faults> {
        let mut languages: Vec<(bool, read::Language)> = Vec::new();
        let mut faults = Faults::default();
        let builtin = builtin::FILES
            .iter()
            .map(|(name, text)| (true, *name, *text));
        for (builtin, file, text) in builtin.chain(
            files
                .iter()
                .map(|(name, text)| (false, &name[..], &text[..])),
        ) {
            match read::read(file, text) {
                Err(more) => faults.extend(more),
                Ok(new) => match languages
                    .iter_mut()
                    .find(|(_, known)| known.name == new.name)
                {
                    None => languages.push((builtin, new)),
                    Some(known) if known.0 => *known = (builtin, new),
                    Some((_, known)) => {
                        let kind = FaultKind::LanguageTaken {
                            name: new.name,
                            file: known.file.clone(),
                        };
                        faults.add(file, new.name_line, kind);
                    }
                },
            }
        }
        let languages: Vec<read::Language> = languages
            .into_iter()
            .map(|(_, language)| language)
            .collect();
        read::check_names(&languages, &mut faults);
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Suites {
            all: languages
                .into_iter()
                .flat_map(|language| language.suites)
                .collect(),
        })
    }

    /// Returns the suites of these languages only, named as in [`Suite::language`].
    #[must_use]
    pub fn with_languages(mut self, languages: &[String]) -> Suites {
        self.all.retain(|suite| languages.contains(&suite.language));
        self
    }

    /// Returns the suites with another default way of linking. Suites that support only one way do
    /// not change.
    #[must_use]
    pub fn with_linking(mut self, link: Link) -> Suites {
        self.all
            .iter_mut()
            .filter_map(|suite| suite.linking.as_mut())
            .for_each(|linking| linking.choose(link));
        self
    }

    /// Iterates over all suites, in the order of their files.
    pub fn iter(&self) -> impl Iterator<Item = &Suite> + Clone {
        self.all.iter()
    }

    /// Returns the suite with this name, ignoring case. The name of a language selects its default
    /// variant.
    ///
    /// # Errors
    /// [`ChoiceError::UnknownName`]: no suite has the name.
    pub fn named(&self, name: &str) -> Result<&Suite, ChoiceError> {
        choose::named(&self.all, name)
    }

    /// Returns the suite for these sources. If `hint`, the name of a language, is given, it
    /// decides. Otherwise whole file names decide, then extensions, then the first line if it
    /// begins with `#!`. A source is opened only to read its first line.
    ///
    /// # Errors
    /// No suite or more than one suite matches.
    pub fn for_sources(
        &self,
        sources: &[PathBuf],
        hint: Option<&str>,
    ) -> Result<&Suite, ChoiceError> {
        match hint {
            Some(hint) => choose::named(&self.all, hint),
            None => choose::by_sources(&self.all, sources),
        }
    }
}
