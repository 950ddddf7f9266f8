//! Faults of suite files, and why no suite was chosen for sources.

use millibox_package::Cause;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// All faults of suite files. The message has one line for each fault.
#[derive(Debug, Default, thiserror::Error)]
pub struct Faults(pub Vec<Fault>);

/// A fault of a suite file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Fault {
    /// The file.
    pub file: String,
    /// The line, counted from 1. 0 means that the fault concerns the whole file.
    pub line: usize,
    /// The fault.
    pub kind: FaultKind,
}

/// What is wrong in a suite file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// The file or directory cannot be read.
    #[error("cannot read it: {0}")]
    Read(io::Error),
    /// The text is not TOML. The field is the TOML parser's message.
    #[error("{}", OneLine(.0))]
    Syntax(String),
    /// No key has this name.
    #[error("there is no key {key:?} {place}; {suggestion}")]
    UnknownKey {
        /// The key.
        key: String,
        /// Its table.
        place: Place,
        /// The keys of the table.
        suggestion: Suggestion,
    },
    /// A required key or table is missing.
    #[error("there must be a key {key:?} {place}")]
    MissingKey {
        /// The key.
        key: String,
        /// Its table.
        place: Place,
    },
    /// A required text is empty.
    #[error("{key:?} {place} is empty")]
    Empty {
        /// The key.
        key: String,
        /// Its table.
        place: Place,
    },
    /// A value has the wrong type.
    #[error("{key:?} {place} must be {expected}, but is of type {found}")]
    WrongType {
        /// The key.
        key: String,
        /// Its table.
        place: Place,
        /// The expected type, with its article.
        expected: &'static str,
        /// The TOML type of the value.
        found: &'static str,
    },
    /// A number is out of range.
    #[error("{key:?} {place} must be between {min} and {max}")]
    OutOfRange {
        /// The key.
        key: String,
        /// Its table.
        place: Place,
        /// The smallest allowed number.
        min: i64,
        /// The largest allowed number.
        max: i64,
    },
    /// A value is not one of the words that the key accepts.
    #[error("{key:?} {place} must be one of {}, not {found:?}", .known.join(", "))]
    UnknownWord {
        /// The key.
        key: String,
        /// Its table.
        place: Place,
        /// The accepted words.
        known: Vec<String>,
        /// The value.
        found: String,
    },
    /// The name of the language has characters that are not allowed.
    #[error("the name {0:?} is not valid; use lower-case letters, digits and + - _ . only")]
    NameCharacters(String),
    /// Another name is empty, or begins or ends with a space.
    #[error("the name {0:?} must neither be empty nor begin or end with a space")]
    NameSpaces(String),
    /// An extension begins with a dot. The dot is not part of the field.
    #[error("{key:?} must not begin with a dot: write {extension:?}")]
    ExtensionDot {
        /// The key.
        key: &'static str,
        /// The extension without the dot.
        extension: String,
    },
    /// Two suites have the same name.
    #[error("the name {name:?} already belongs to a suite of {file}; use another name")]
    NameTaken {
        /// The name.
        name: String,
        /// The file of the other suite.
        file: String,
    },
    /// The default variant has a table `services`.
    #[error("the names of the default variant belong in [services]")]
    DefaultServices,
    /// `[services]` has a name twice.
    #[error("[services] has {name:?} for {service} twice; remove one")]
    ServiceNameTwice {
        /// The service.
        service: &'static str,
        /// The name or number.
        name: String,
    },
    /// Two languages have the same name in `[services]`.
    #[error(
        "{name:?} for {service} already belongs to a suite of {file}; remove it from one of them"
    )]
    ServiceNameTaken {
        /// The service.
        service: &'static str,
        /// The name or number.
        name: String,
        /// The file of the other suite.
        file: String,
    },
    /// Two files describe the same language.
    #[error(
        "the language {name:?} is already described in {file}; give it another name or remove one \
         of them"
    )]
    LanguageTaken {
        /// The language.
        name: String,
        /// The other file.
        file: String,
    },
    /// `always` in `[linking]` is combined with other keys.
    #[error("\"always\" in [linking] excludes all other keys; remove them")]
    AlwaysWithOtherKeys,
    /// `[linking]` has arguments, but the command does not use them.
    #[error("[linking] has arguments, so the command in [compile] must have {{linking}} in it")]
    LinkingNotUsed,
    /// `root` of a tool has none of the valid forms.
    #[error(
        "\"root\" in [tool] must be \"..\", \"../..\" and so on (relative to the executable), \
         or the arguments that make the tool print its root"
    )]
    ToolRoot,
    /// The number of default variants is not one.
    #[error("{0} variants have default = true; exactly one must")]
    DefaultVariants(usize),
    /// A variant lacks a key of other variants.
    #[error("the variant {variant:?} has no key {key:?}, which other variants have")]
    VariantKey {
        /// The variant.
        variant: String,
        /// The key.
        key: String,
    },
    /// A command or variable uses an unknown placeholder. Names include their braces.
    #[error("there is no placeholder {name} here; {suggestion}")]
    UnknownPlaceholder {
        /// The placeholder.
        name: String,
        /// The placeholders that can be used here.
        suggestion: Suggestion,
    },
    /// A placeholder for several arguments is only part of an argument.
    #[error("{{{0}}} stands for several arguments and must be an argument by itself")]
    ListPlaceholder(String),
    /// No seccomp profile has this name.
    #[error("there is no seccomp profile {name:?}; the profiles are: {}", .known.join(", "))]
    SeccompProfile {
        /// The name.
        name: String,
        /// The existing profiles.
        known: Vec<String>,
    },
    /// A path to mount is not a valid pattern.
    #[error("{pattern:?} is not a valid pattern: {reason} (at character {position})")]
    MountPattern {
        /// The pattern.
        pattern: String,
        /// The pattern parser's reason.
        reason: &'static str,
        /// The character, counted from 0.
        position: usize,
    },
    /// A path to mount is relative or contains `..`.
    #[error("{0:?} must be an absolute path without \"..\"")]
    MountPath(String),
}

/// A table of a suite file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The keys before the first table.
    Top,
    /// The table with this header.
    Table(String),
}

/// Help for a name that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Suggestion {
    /// The name that was probably meant. Keys are quoted.
    Nearest(String),
    /// All names that exist.
    Known(Vec<String>),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.kind),
            line => write!(f, "{}:{line}: {}", self.file, self.kind),
        }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            write!(f, "{}{fault}", if index == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Top => f.write_str("at the top of the file"),
            Place::Table(name) => write!(f, "in [{name}]"),
        }
    }
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Suggestion::Nearest(name) => write!(f, "did you mean {name}?"),
            Suggestion::Known(names) => write!(f, "use one of {}", names.join(", ")),
        }
    }
}

/// The lines of a string, joined by semicolons.
struct OneLine<'t>(&'t str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, line) in self.0.trim().lines().enumerate() {
            write!(f, "{}{line}", if index == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl Faults {
    pub(super) fn add(&mut self, file: &str, line: usize, kind: FaultKind) {
        self.0.push(Fault {
            file: file.to_owned(),
            line,
            kind,
        });
    }

    pub(super) fn extend(&mut self, more: Faults) {
        self.0.extend(more.0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Why no suite was chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// No suite has the name.
    #[error(
        "there is no language {name:?}{} The languages are: {}", SpellingHint(.nearest),
        .known.join(", ")
    )]
    UnknownName {
        /// The name.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
        /// The names of all suites.
        known: Vec<String>,
    },
    /// The list of sources is empty.
    #[error("there are no sources")]
    NoSources,
    /// The sources belong to several languages.
    #[error(
        "{}: their extensions belong to several languages ({}); keep the files of only one",
        PathList(.sources), .titles.join(", ")
    )]
    SeveralLanguages {
        /// The sources.
        sources: Vec<PathBuf>,
        /// Titles of the suites.
        titles: Vec<String>,
    },
    /// The extension is known, but the first line names an interpreter of no language.
    #[error(
        "{}: its first line names {interpreter}, which belongs to no language; name another \
         interpreter, or remove the line", name(.source_file)
    )]
    ForeignInterpreter {
        /// The source.
        source_file: PathBuf,
        /// Name of the interpreter.
        interpreter: String,
    },
    /// Neither names nor first lines of the sources identify a language.
    #[error(
        "{}: neither the extension nor the first line identifies the language; use one \
         of the extensions {}",
        PathList(.sources), .extensions.join(", ")
    )]
    UnknownSources {
        /// The sources.
        sources: Vec<PathBuf>,
        /// The extensions of all languages.
        extensions: Vec<String>,
    },
    /// The machine failed to read a source.
    #[error("{}: cannot read it: {cause}", .source_file.display())]
    NotRead {
        /// The source.
        source_file: PathBuf,
        /// The kernel's error.
        cause: Cause<io::Error>,
    },
}

impl ChoiceError {
    /// Replaces the path of each source, so that messages show a path other than the one that was
    /// read.
    pub fn map_paths(&mut self, shown: impl Fn(&Path) -> PathBuf) {
        match self {
            ChoiceError::SeveralLanguages { sources, .. }
            | ChoiceError::UnknownSources { sources, .. } => {
                sources.iter_mut().for_each(|path| *path = shown(path));
            }
            ChoiceError::NotRead { source_file, .. } => *source_file = shown(source_file),
            ChoiceError::UnknownName { .. }
            | ChoiceError::NoSources
            | ChoiceError::ForeignInterpreter { .. } => {}
        }
    }

    /// Whether the sources are in a language that has no suite.
    pub fn is_unknown_language(&self) -> bool {
        match self {
            ChoiceError::UnknownName { .. }
            | ChoiceError::ForeignInterpreter { .. }
            | ChoiceError::UnknownSources { .. } => true,
            ChoiceError::NoSources
            | ChoiceError::SeveralLanguages { .. }
            | ChoiceError::NotRead { .. } => false,
        }
    }
}

struct SpellingHint<'n>(&'n Option<String>);

impl fmt::Display for SpellingHint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, "; did you mean {name:?}?"),
            None => f.write_str("."),
        }
    }
}

/// The first path, and the number of the others.
struct PathList<'p>(&'p [PathBuf]);

impl fmt::Display for PathList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            [one] => write!(f, "{}", one.display()),
            [first, rest @ ..] => write!(f, "{} and {} more", first.display(), rest.len()),
        }
    }
}

fn name(path: &Path) -> std::path::Display<'_> {
    Path::new(path.file_name().unwrap_or_default()).display()
}
