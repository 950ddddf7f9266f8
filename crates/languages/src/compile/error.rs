//! Why a compilation did not produce a program.

use super::availability::Availability;
use super::captured::RunFailure;
use super::reach::ClosedPath;
use super::world::WorldError;
use crate::Cause;
use crate::files::{HostError, MAX_STORED_FILES, NameFault};
use crate::suite::{ChoiceError, Library};
use millibox::{RunError, RunResult};
use millibox_package::is_of_machine;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum total size of the sources, in MiB.
pub(super) const MAX_SOURCE_MIB: u64 = 64;
/// Maximum number of files in a directory of included files.
pub(super) const MAX_INCLUDED_FILES: usize = 10_000;
/// Maximum number of files that a compilation may leave.
pub(super) const MAX_PRODUCT_FILES: u64 = MAX_STORED_FILES as u64;

/// Why a compilation did not produce a program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The sources are wrong, which is a compile error.
    #[error(transparent)]
    Refused(Refusal),
    /// The compiler exceeded a limit with these sources, which is also a compile error.
    #[error("the compiler exceeded its {0}")]
    Limit(Limit),
    /// The language cannot be used on this machine. The error does not concern the sources.
    #[error(transparent)]
    Unavailable(Unavailable),
    /// The suite, a tool, the sandbox or the machine failed. The error does not concern the
    /// sources.
    #[error(transparent)]
    Internal(InternalError),
}

/// What is wrong with sources.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The list of sources is empty.
    #[error("there are no sources")]
    NoSources,
    /// The list of sources is too long.
    #[error("there are {0} sources, and at most {MAX_STORED_FILES} are allowed")]
    TooManySources(usize),
    /// A source is not usable.
    #[error("{}: {fault}", escaped(.path))]
    Source {
        /// The source.
        path: PathBuf,
        /// The reason.
        fault: SourceFault,
    },
    /// A source has a name that cannot be stored.
    #[error("a source: {name:?} {fault}")]
    SourceName {
        /// The name.
        name: PathBuf,
        /// The reason.
        fault: NameFault,
    },
    /// All sources are headers.
    #[error("there is nothing to compile as {title}: all sources are headers")]
    OnlyHeaders {
        /// Title of the suite.
        title: String,
    },
    /// The names of the sources exceed the limit for arguments.
    #[error("the names of {0} sources are too long for one command")]
    NamesTooLong(usize),
    /// The kernel rejects the command line, which contains the names of the sources (E2BIG).
    #[error("its files have too many names for one command")]
    CommandTooLong,
    /// The compiler exited with this status, which is not 0.
    #[error("the compiler exited with {0}")]
    Exited(i32),
    /// This signal killed the compiler.
    #[error("the compiler was killed by signal {0}")]
    Signaled(i32),
    /// A process of the compilation killed the shell that runs the compiler.
    #[error("its own processes ended the compilation ({0})")]
    EndedItself(Box<RunResult>),
    /// The product cannot be packed.
    #[error("the product of the compilation cannot be packed (tar {0})")]
    NotPacked(Box<RunResult>),
    /// The product cannot be used.
    #[error(transparent)]
    Product(#[from] ProductFault),
    /// The compiler wrote no program.
    #[error("the compiler wrote no program; if there are several sources, name the main one main")]
    NoProgram,
    /// The build wrote no executable file of this name.
    #[error("the build wrote no executable file {0}")]
    NoExecutable(String),
    /// No class has a main method.
    #[error("no class has a main method")]
    NoMainClass,
    /// Several classes have a main method, and no name selects one of them.
    #[error(
        "several classes have a main method ({}); name the class that should start Main",
        .0.join(", ")
    )]
    SeveralMainClasses(Vec<String>),
    /// The sources belong to no language, or to several.
    #[error(transparent)]
    Language(#[from] NoSuite),
    /// The sources are longer than the problem allows.
    #[error("its sources are {bytes} bytes long, but the problem allows {limit}")]
    CodeTooLong {
        /// The length of all sources.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
}

/// Why no suite was chosen for sources.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}{}", advice(*.can_be_named))]
#[non_exhaustive]
pub struct NoSuite {
    /// The reason.
    pub error: Box<ChoiceError>,
    /// Whether the message recommends naming the language of the sources.
    pub can_be_named: bool,
}

impl NoSuite {
    /// Creates the error. `can_be_named` states whether the user may name the language.
    pub fn new(error: ChoiceError, can_be_named: bool) -> NoSuite {
        NoSuite {
            error: Box::new(error),
            can_be_named,
        }
    }
}

/// The sources are wrong, unless they are in a language that this machine does not have, or the
/// machine failed to read them.
impl From<NoSuite> for CompileError {
    fn from(error: NoSuite) -> CompileError {
        match *error.error {
            ChoiceError::NotRead { source_file, cause } => InternalError::Source {
                path: source_file,
                action: SourceAction::Read,
                cause,
            }
            .into(),
            _ if error.error.is_unknown_language() => CompileError::Unavailable(error.into()),
            _ => CompileError::Refused(error.into()),
        }
    }
}

/// Why a source is not usable. The message follows the path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceFault {
    /// Commands and terminals would interpret the name.
    #[error("the name of a source must not contain braces or control characters; rename it")]
    Name,
    /// The path contains a symbolic link.
    #[error("it is a symbolic link, or lies behind one; pass the file itself")]
    Link,
    /// A symbolic link leads out of the root.
    #[error("it is a symbolic link that leads out of its package, or begins with /")]
    LinkOutside,
    /// The source is a directory, device, FIFO or socket.
    #[error("it is not a regular file")]
    NotRegular,
    /// The mode denies read access to the owner.
    #[error("its mode forbids even its owner to read it")]
    Mode,
    /// All sources together are too long.
    #[error("the sources are larger than {MAX_SOURCE_MIB} MiB in total")]
    TooLong,
    /// The source is too long with the values of constants filled in.
    #[error("{0}")]
    Constants(millibox_package::TooLong),
}

/// Why the files that a compilation left cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProductFault {
    /// The archive of the files cannot be read.
    #[error("the product of the compilation cannot be read: {0}")]
    Unreadable(Cause<io::Error>),
    /// The compilation left too many files.
    #[error("the compilation left more than {MAX_PRODUCT_FILES} files")]
    TooManyFiles,
    /// A hard link has no target in the archive.
    #[error("the compilation left {0:?}, which is a hard link without a target")]
    DanglingLink(PathBuf),
    /// A file is neither regular nor a directory.
    #[error("the compilation left {0:?}, which is not a regular file")]
    NotRegular(PathBuf),
    /// A file has a name that cannot be stored.
    #[error("the compilation left a file: {name:?} {fault}")]
    Name {
        /// The name.
        name: PathBuf,
        /// The reason.
        fault: NameFault,
    },
}

/// A limit of a compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Limit {
    /// CPU time of all processes.
    #[error("CPU time limit ({} s)", .0.as_secs_f64())]
    CpuTime(Duration),
    /// Real time.
    #[error("real time limit ({} s)", .0.as_secs_f64())]
    RealTime(Duration),
    /// Memory in bytes.
    #[error("memory limit ({} MiB)", .0 >> 20)]
    Memory(u64),
    /// Size of the program, or of temporary files, in bytes.
    #[error(
        "output limit ({} MiB); an array whose initial values are not all zero is stored in the \
         program in full", .0 >> 20
    )]
    Output(u64),
    /// Size of the program in bytes, if the disk has less room than the suite allows.
    #[error(
        "output limit ({} MiB, all that the disk has room for); an array whose initial values are \
         not all zero is stored in the program in full", .0 >> 20
    )]
    Room(u64),
}

/// Why a language cannot be used on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// A tool is missing or cannot be reached.
    #[error(transparent)]
    Tools(#[from] ToolsError),
    /// The language is unknown.
    #[error(transparent)]
    Language(#[from] NoSuite),
}

/// The tools of a suite cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{title} cannot be used here: {availability}; try: {}", remedy(.availability))]
#[non_exhaustive]
pub struct ToolsError {
    /// Title of the suite.
    pub title: String,
    /// The state of the tools.
    pub availability: Box<Availability>,
}

/// A failure that does not concern the sources.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InternalError {
    /// A tool does not work.
    #[error(transparent)]
    Tools(#[from] ToolsError),
    /// The suite cannot compile its own example.
    #[error("{title} does not work here: {error}")]
    Suite {
        /// Title of the suite.
        title: String,
        /// The result of the example.
        error: Box<BuildError>,
    },
    /// The suite's step `prepare` failed.
    #[error("{title} could not be prepared: {error}")]
    Prepare {
        /// Title of the suite.
        title: String,
        /// The result of the step.
        error: Box<BuildError>,
    },
    /// The compilation needs the output of a step that was not executed yet.
    #[error("{title} is not prepared yet")]
    NotPrepared {
        /// Title of the suite.
        title: String,
        /// The step.
        library: Library,
    },
    /// A call of the operating system failed for a source or directory.
    #[error("{}: {}{cause}", escaped(.path), action.prefix())]
    Source {
        /// The source or directory.
        path: PathBuf,
        /// The failed step.
        action: SourceAction,
        /// The kernel's error.
        cause: Cause<io::Error>,
    },
    /// The sources have no directory in common.
    #[error("the sources have no directory in common")]
    NoCommonDirectory,
    /// A directory of included files contains too many files.
    #[error(
        "{}: has more than {MAX_INCLUDED_FILES} files; remove files, or links that multiply them",
        .0.display()
    )]
    TooManyIncluded(PathBuf),
    /// An included file is not usable.
    #[error(transparent)]
    Included(Box<Refusal>),
    /// Files cannot be stored on the host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The sandbox's user cannot reach the directory for temporary files.
    #[error("{0}, the sandbox's user; set TMPDIR to a directory that all users can reach")]
    TemporaryDirectory(ClosedPath),
    /// The world of a command cannot be described.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The sandbox failed.
    #[error(transparent)]
    Run(#[from] RunFailure),
    /// The compiler did not start, or the sandbox failed while it ran.
    #[error(transparent)]
    NotRun(Box<RunError>),
    /// The caller ended the compilation.
    #[error("the compilation was {0}")]
    Ended(Box<RunResult>),
    /// A compiled class cannot be read.
    #[error("cannot read a compiled class: {0}")]
    ReadProduct(Cause<io::Error>),
}

impl InternalError {
    /// Whether the machine is at fault, so that a later attempt or another machine may succeed.
    pub fn is_of_machine(&self) -> bool {
        match self {
            InternalError::Source { cause, .. } => is_of_machine(cause),
            InternalError::NoCommonDirectory
            | InternalError::TooManyIncluded(_)
            | InternalError::Included(_)
            | InternalError::Ended(_) => false,
            _ => true,
        }
    }
}

/// A step of reading sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceAction {
    /// Make a path absolute.
    Resolve,
    /// Open a file.
    Open,
    /// Open a directory.
    OpenDirectory,
    /// List a directory.
    List,
    /// Inspect a file.
    Inspect,
    /// Read a file.
    Read,
}

/// A failed build, with the first line of the compiler's messages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}{}", continued(.message))]
#[non_exhaustive]
pub struct BuildError {
    /// The error.
    pub error: CompileError,
    /// The first line of the compiler's messages that is not blank.
    pub message: Option<String>,
}

/// Why the example of a suite does not work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrialError {
    /// The example cannot be compiled.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The sandbox failed while the example ran.
    #[error(transparent)]
    Run(#[from] RunFailure),
    /// The example failed or wrote a wrong sum.
    #[error(
        "its example {result}, and wrote {stdout:?} instead of {expected:?}{}", continued(.message)
    )]
    Output {
        /// The result of the run.
        result: Box<RunResult>,
        /// The standard output without surrounding space.
        stdout: String,
        /// The right output.
        expected: &'static str,
        /// The first line of the standard error.
        message: Option<String>,
    },
}

impl CompileError {
    /// Whether the sources are at fault, so that the result is a compile error.
    pub fn is_compile_error(&self) -> bool {
        matches!(self, CompileError::Refused(_) | CompileError::Limit(_))
    }

    /// The exit status of the compiler, if it failed by itself.
    pub fn exit_status(&self) -> Option<i32> {
        match self {
            CompileError::Refused(Refusal::Exited(status)) => Some(*status),
            _ => None,
        }
    }

    /// Replaces the path of each source or directory, so that messages show a path other than the
    /// one that was read.
    pub fn map_paths(&mut self, shown: impl Fn(&Path) -> PathBuf) {
        match self {
            CompileError::Refused(Refusal::Source { path, .. })
            | CompileError::Internal(
                InternalError::Source { path, .. } | InternalError::TooManyIncluded(path),
            ) => *path = shown(path),
            CompileError::Internal(InternalError::Included(refusal)) => {
                if let Refusal::Source { path, .. } = &mut **refusal {
                    *path = shown(path);
                }
            }
            CompileError::Refused(Refusal::Language(error))
            | CompileError::Unavailable(Unavailable::Language(error)) => {
                error.error.map_paths(shown);
            }
            _ => {}
        }
    }
}

impl From<Refusal> for CompileError {
    fn from(refusal: Refusal) -> CompileError {
        CompileError::Refused(refusal)
    }
}

impl From<InternalError> for CompileError {
    fn from(error: InternalError) -> CompileError {
        CompileError::Internal(error)
    }
}

impl ToolsError {
    /// Converts the failure to the error of a compilation. A missing tool is not a failure of the
    /// machine.
    pub(super) fn into_compile_error(self) -> CompileError {
        match *self.availability {
            Availability::Missing { .. } | Availability::Unreachable { .. } => {
                CompileError::Unavailable(self.into())
            }
            Availability::Available { .. } | Availability::Broken { .. } => {
                InternalError::from(self).into()
            }
        }
    }
}

impl BuildError {
    pub(crate) fn new(error: impl Into<CompileError>, messages: &str) -> BuildError {
        BuildError {
            error: error.into(),
            message: first_line(messages),
        }
    }
}

/// Returns the first line that is not blank.
pub(super) fn first_line(text: &str) -> Option<String> {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .map(str::to_owned)
}

impl SourceAction {
    fn prefix(self) -> &'static str {
        match self {
            SourceAction::Open => "cannot open it: ",
            SourceAction::OpenDirectory => "cannot open the directory: ",
            SourceAction::List => "cannot read the directory: ",
            SourceAction::Read => "cannot read it: ",
            SourceAction::Resolve | SourceAction::Inspect => "",
        }
    }
}

/// Returns the path without characters that could control a terminal.
fn escaped(path: &Path) -> impl fmt::Display {
    path.display().to_string().escape_debug().to_string()
}

fn advice(can_be_named: bool) -> &'static str {
    if can_be_named {
        "; or name the submission, and its language with --language"
    } else {
        ""
    }
}

fn remedy(availability: &Availability) -> String {
    availability
        .remedy()
        .map_or_else(String::new, ToString::to_string)
}

fn continued(message: &Option<String>) -> String {
    message
        .as_ref()
        .map_or_else(String::new, |message| format!(": {message}"))
}
