//! Language suites: what a language needs to be compiled and run, as data.
//!
//! A suite file (TOML) describes one language; docs/reference/suites.md explains each key. A file
//! with variants, such as the standards of C++, makes one [`Suite`] for each of them.
//!
//! | file | what |
//! | --- | --- |
//! | `builtin` | the files that come with the judge |
//! | `read` | a file's text to suites, with all its faults |
//! | `section` | tables of TOML, read so that one fault does not hide the others |
//! | `template` | `{placeholders}` in commands |
//! | `choose` | which suite sources are meant for |
//! | `linking` | static or dynamic programs |

mod builtin;
mod choose;
mod linking;
mod read;
mod section;
pub(crate) mod template;

pub use choose::ChoiceError;
pub use choose::nearest;
pub use linking::{Link, Linking};
pub use read::{Fault, Faults};

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// One language in one variant, ready to be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// What it is called in options and packages: `cpp20`.
    pub name: String,
    /// What people call it: `C++20`.
    pub title: String,
    /// The name in its file, which its variants have in common: `cpp`.
    pub language: String,
    /// Other names that mean it, in lower case.
    pub names: Vec<String>,
    /// What is taken if only the language is known.
    pub default: bool,
    /// Which sources are meant for it.
    pub sources: Sources,
    /// Programs of the system that its commands name. The first one's version is the suite's.
    pub tools: Vec<Tool>,
    /// Done once for a version of the tools; its product is shown to each compilation.
    pub prepare: Option<CompileStep>,
    /// How sources are compiled; none: they are the program.
    pub compile: Option<CompileStep>,
    /// How programs are linked; none: the suite says nothing of it.
    pub linking: Option<Linking>,
    /// How the program is run.
    pub run: Run,
    /// A program that adds numbers: what a suite that works can compile and run.
    pub example: Example,
    /// Text of the file. What was compiled with another one is compiled again.
    pub(crate) text: String,
    /// Placeholders that the variant fills.
    pub(crate) values: BTreeMap<String, String>,
}

/// Which sources are meant for a suite, and which of them is the main one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// Endings of files that are compiled, without the dot; case matters.
    pub extensions: Vec<String>,
    /// Endings of files that lie beside them.
    pub headers: Vec<String>,
    /// Whole names of files that tell the suite: `build`.
    pub files: Vec<String>,
    /// Interpreters that a first line `#!...` may name.
    pub shebangs: Vec<String>,
    /// Interpreters in a first line `#!` of sources that are of another language, for all their
    /// extension.
    pub foreign_shebangs: Vec<String>,
    /// Decides if several suites know an extension; the highest is taken.
    pub priority: i64,
    /// Main sources by their names without extension, the best first. Without one of these, the
    /// first source is the main one.
    pub main: Vec<String>,
}

/// A program of the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Name as on PATH, or an absolute path.
    pub program: String,
    /// Where it is looked for besides the system's directories and PATH.
    pub directories: Vec<String>,
    /// Debian packages that it comes with, as `apt install` takes them.
    pub package: String,
    /// Arguments that make it tell its version.
    pub version: Vec<String>,
    /// How its installation is found, if it lies outside of the system's directories.
    pub root: Root,
    /// What else mends its being out of reach.
    pub hint: Option<String>,
}

/// Where the installation lies that a tool belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    /// The executable is all.
    Alone,
    /// So many directories above the executable's.
    Above(usize),
    /// The tool prints it when started, outside of the sandbox, with these arguments.
    Printed(Vec<String>),
}

/// How sources are compiled: a command and its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileStep {
    pub(crate) command: Vec<String>,
    pub(crate) surroundings: Surroundings,
    /// What is the program afterwards.
    pub product: Product,
    /// CPU time.
    pub cpu_time: Duration,
    /// Memory, bytes.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u32,
    /// Bytes that it may leave in the output directory.
    pub output: u64,
}

/// What a compilation leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// What is in the output directory.
    Output,
    /// The sources themselves: compiling was only to find errors.
    Sources,
}

/// How a program is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub(crate) command: Vec<String>,
    pub(crate) surroundings: Surroundings,
    /// Memory of the language's own, beside what a problem allows; bytes.
    pub memory: u64,
    /// Processes and threads of the language's own.
    pub processes: u32,
    /// What is started.
    pub entry: EntryPoint,
}

/// What of the product is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryPoint {
    /// The file that the command names.
    File,
    /// The Java class with a main method.
    JavaClass,
}

/// What a command sees beside its own files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Surroundings {
    pub(crate) system: System,
    /// Files and directories of the host, with patterns; those that are there.
    pub(crate) mounts: Vec<String>,
    pub(crate) proc: bool,
    /// Bytes of /tmp; 0: there is none.
    pub(crate) scratch: u64,
    pub(crate) env: BTreeMap<String, String>,
    /// Name of a seccomp profile.
    pub(crate) seccomp: String,
    /// Whether a limit on the address space means something to it.
    pub(crate) address_space: bool,
}

/// How much of the system is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum System {
    /// Programs and libraries.
    #[default]
    All,
    /// Libraries only.
    Libraries,
}

/// A program that reads whole numbers until its input ends, and writes their sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// Name of the source.
    pub file: String,
    /// The source.
    pub source: String,
}

/// All suites.
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
    /// Those that come with the judge.
    ///
    /// # Panics
    /// One of them is faulty, which the tests would have found.
    pub fn builtin() -> Suites {
        Suites::from_files(&[]).unwrap_or_else(|faults| panic!("{faults}"))
    }

    /// Those that come with the judge, and those of the directory's files `*.toml`. A language of
    /// the same `name` is replaced.
    ///
    /// # Errors
    /// The directory or a file cannot be read, or files have faults: all of them.
    pub fn with_directory(directory: &Path) -> Result<Suites, Faults> {
        let cannot = |path: &Path, error: std::io::Error| {
            Faults::file(path, format!("cannot read it: {error}"))
        };
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(|error| cannot(directory, error))? {
            let path = entry.map_err(|error| cannot(directory, error))?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                paths.push(path);
            }
        }
        // The order decides nothing but that of messages.
        paths.sort();
        let mut files = Vec::new();
        for path in paths {
            let text = std::fs::read_to_string(&path).map_err(|error| cannot(&path, error))?;
            files.push((path.display().to_string(), text));
        }
        Suites::from_files(&files)
    }

    /// Those that come with the judge, in which these files (name and text) replace or add
    /// languages.
    ///
    /// # Errors
    /// Files have faults: all of them.
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
                        let message = format!(
                            "the language {:?} is described in {} already; give it another name or \
                             remove one of them",
                            new.name, known.file
                        );
                        faults.add(file, new.name_line, message);
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

    /// The same suites, whose programs are linked this way where a suite has both.
    #[must_use]
    pub fn with_linking(mut self, link: Link) -> Suites {
        self.all
            .iter_mut()
            .filter_map(|suite| suite.linking.as_mut())
            .for_each(|linking| linking.choose(link));
        self
    }

    /// All of them, in the order of their files.
    pub fn iter(&self) -> impl Iterator<Item = &Suite> {
        self.all.iter()
    }

    /// The suite of this name, whatever its case. A language's name means its default variant.
    ///
    /// # Errors
    /// There is none; the error lists those there are.
    pub fn named(&self, name: &str) -> Result<&Suite, ChoiceError> {
        choose::named(&self.all, name)
    }

    /// The suite that these sources are meant for: by `hint`, a language's name, if there is one;
    /// else by whole names, extensions and the first line `#!`. Only for the latter is a source
    /// opened.
    ///
    /// # Errors
    /// There is no such suite, or several.
    pub fn for_sources(
        &self,
        sources: &[std::path::PathBuf],
        hint: Option<&str>,
    ) -> Result<&Suite, ChoiceError> {
        match hint {
            Some(hint) => choose::named(&self.all, hint),
            None => choose::by_sources(&self.all, sources),
        }
    }
}

impl Suite {
    /// Whether the file is compiled, rather than just there to be included.
    pub fn compiles(&self, file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default();
        let extension = file.extension().unwrap_or_default();
        self.sources
            .extensions
            .iter()
            .any(|known| extension == known.as_str())
            || self
                .sources
                .files
                .iter()
                .any(|known| name == known.as_str())
    }

    /// The file of the product that is executed; `None`: the suite runs a program of the system.
    pub(crate) fn own_program(&self) -> Option<&str> {
        match self.run.command.first()?.strip_prefix("{directory}/") {
            Some(name) if template::names(name).next().is_none() => Some(name),
            Some(_) => None,
            None => (self.compile.is_some() && self.run.command.first()? == "{executable}")
                .then_some("program"),
        }
    }

    /// Whether the file is one to be included by others.
    pub fn is_header(&self, file: &Path) -> bool {
        file.extension().is_some_and(|extension| {
            self.sources
                .headers
                .iter()
                .any(|known| extension == known.as_str())
        })
    }
}
