//! The types of a suite.

use super::linking::Linking;
use super::services::Services;
use super::template;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// One variant of a language.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suite {
    /// Name in options and packages, such as `cpp20`.
    pub name: String,
    /// Display name, such as `C++20`.
    pub title: String,
    /// Name of the language, which its variants share, such as `cpp`.
    pub language: String,
    /// Other names, in lower case.
    pub names: Vec<String>,
    /// Whether the name of the language selects this variant.
    pub default: bool,
    /// Which sources belong to the suite.
    pub sources: SourceRules,
    /// Programs of the system that the commands use. The version of the first tool is the suite's
    /// version.
    pub tools: Vec<Tool>,
    /// A step that runs once for each version of the tools. Compilations see its output.
    pub prepare: Option<CompileStep>,
    /// A more complete form of the step `prepare`, for the sources that need it.
    pub complete: Option<Completion>,
    /// How sources are compiled. `None` means that the sources are the program.
    pub compile: Option<CompileStep>,
    /// How programs are linked. `None` means that the suite does not choose.
    pub linking: Option<Linking>,
    /// How the program runs.
    pub run: Run,
    /// Names of the language in other execution services. Only the default variant has any.
    pub services: Services,
    /// A program that adds numbers, with which the suite is tested.
    pub example: Example,
    /// Text of the suite file. A cached program is valid only as long as this text does not change.
    pub(crate) text: String,
    /// Values of the variant's own placeholders.
    pub(crate) values: BTreeMap<String, String>,
}

/// Which sources belong to a suite, and which of them is the main source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceRules {
    /// Extensions of files that are compiled, without the dot. Case matters only if two suites have
    /// extensions that differ in case.
    pub extensions: Vec<String>,
    /// Extensions of headers, without the dot.
    pub headers: Vec<String>,
    /// Names of files that identify the suite, such as `build`.
    pub files: Vec<String>,
    /// Interpreters that identify the suite if a first line that begins with `#!` names them.
    pub shebangs: Vec<String>,
    /// Interpreters that exclude the suite if a first line that begins with `#!` names them,
    /// although the extension matches.
    pub foreign_shebangs: Vec<String>,
    /// Words that identify the suite among those with the same extension, if a line has one as the
    /// start of a clause.
    pub marks: Vec<String>,
    /// Decides which suite is used if several have an extension. The highest priority wins.
    pub priority: i64,
    /// Names of main sources without extension, in order of preference. If no source has one of
    /// these names, the first source is the main source.
    pub main: Vec<String>,
}

/// A program of the system.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tool {
    /// Name of the program, or its absolute path.
    pub program: String,
    /// Whether the program can be executed. If not, it is a file of other programs, such as a Java
    /// archive, and has no version.
    pub executable: bool,
    /// Directories to search in addition to the system's directories and PATH.
    pub directories: Vec<String>,
    /// Debian packages that contain the tool, as arguments of `apt install`.
    pub package: String,
    /// Arguments that make the tool print its version.
    pub version: Vec<String>,
    /// Location of the installation, if it is outside the system's directories.
    pub root: Root,
    /// Another remedy, for a tool that the sandbox cannot reach.
    pub hint: Option<String>,
}

/// The location of a tool's installation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Root {
    /// The installation is only the executable.
    Alone,
    /// The installation is this number of directories above the executable.
    Above(usize),
    /// With these arguments, the tool prints the path when it runs outside the sandbox.
    Printed(Vec<String>),
}

/// A command that compiles sources, and its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompileStep {
    pub(crate) command: Vec<String>,
    pub(crate) surroundings: Surroundings,
    /// Which files make up the program afterwards.
    pub product: Product,
    /// CPU time limit.
    pub cpu_time: Duration,
    /// Memory limit in bytes.
    pub memory: u64,
    /// Maximum number of processes and threads.
    pub processes: u32,
    /// Maximum size of the output directory in bytes.
    pub output: u64,
}

/// A step that takes the place of the step `prepare` for sources that need more than that step
/// provides.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completion {
    /// The step.
    pub step: CompileStep,
    /// The compiler's message about a source that needs the output of this step.
    pub when: String,
}

/// The step whose output a compilation uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Library {
    /// `prepare`.
    Common,
    /// `complete`.
    Complete,
}

/// The result of a compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Product {
    /// The files in the output directory.
    Output,
    /// The sources. The compiler only checks them.
    Sources,
}

/// How a program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Run {
    pub(crate) command: Vec<String>,
    pub(crate) surroundings: Surroundings,
    /// Memory of the language's run-time system in bytes, added to the limit of the program.
    pub memory: u64,
    /// Processes and threads of the language's run-time system, added to the limit of the program.
    pub processes: u32,
    /// The program or class that the command starts.
    pub entry: EntryPoint,
    /// How the interpreter can be prepared once for many runs. `None` means that this is not
    /// possible.
    pub preparation: Option<Preparation>,
}

/// How an interpreter is prepared once for many runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preparation {
    /// A Python interpreter with modules that it imports beforehand.
    Python {
        /// The modules, with their submodules.
        modules: Vec<String>,
    },
}

/// What a command starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryPoint {
    /// The file that the command names.
    File,
    /// The Java class with a main method.
    JavaClass,
    /// All classes of Java tests, which the command finds by itself.
    JavaTests,
}

/// What a command sees in addition to its own files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Surroundings {
    pub(crate) system: System,
    /// Files and directories of the host. They may be patterns. Paths without a match are ignored.
    pub(crate) mounts: Vec<String>,
    pub(crate) proc: bool,
    /// Size of /tmp in bytes. 0 means that the command has no /tmp.
    pub(crate) scratch: u64,
    pub(crate) env: BTreeMap<String, String>,
    /// Name of a seccomp profile.
    pub(crate) seccomp: String,
    /// Whether the command works with a limit on its address space.
    pub(crate) address_space: bool,
}

/// The part of the system that a command sees.
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
#[non_exhaustive]
pub struct Example {
    /// Name of the source file.
    pub file: String,
    /// Text of the source file.
    pub source: String,
}

impl Suite {
    /// Whether the file is compiled. Other files are only included.
    pub fn compiles(&self, file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default();
        let rules = &self.sources;
        has_extension(file, &rules.extensions) || rules.files.iter().any(|known| name == &known[..])
    }

    /// Whether the file is a header.
    pub fn is_header(&self, file: &Path) -> bool {
        has_extension(file, &self.sources.headers)
    }

    /// Returns the file of the product that runs, or `None` if the suite runs a program of the
    /// system.
    pub(crate) fn own_program(&self) -> Option<&str> {
        match self.run.command.first()?.strip_prefix("{directory}/") {
            Some(name) if template::names(name).next().is_none() => Some(name),
            Some(_) => None,
            None => (self.compile.is_some() && self.run.command.first()? == "{executable}")
                .then_some("program"),
        }
    }
}

pub(crate) fn has_extension(file: &Path, extensions: &[String]) -> bool {
    known_extension(file, extensions).is_some()
}

/// Returns the file's extension as the list spells it. A spelling with the same case is preferred.
pub(crate) fn known_extension<'e>(file: &Path, extensions: &'e [String]) -> Option<&'e str> {
    let extension = file.extension()?.to_str()?;
    let same = || extensions.iter().find(|known| *known == extension);
    let similar = || {
        extensions
            .iter()
            .find(|known| known.eq_ignore_ascii_case(extension))
    };
    same().or_else(similar).map(String::as_str)
}
