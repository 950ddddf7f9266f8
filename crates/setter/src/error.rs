//! The errors of the setter's tools.
//!
//! The variant of a [`SetterError`] shows what is at fault: the package, the caller or the machine.

use millibox_judge::failure::JudgeFailure;
use millibox_judge::judge::PackageError;
use millibox_judge::report::verdict_words;
use millibox_judge::scoring::GroupReason;
use millibox_judge::tool::ToolFailure;
use millibox_judge::verdict::Verdict;
use millibox_languages::compile::{CompileError, Unavailable};
use millibox_languages::staging::StagingError;
use millibox_languages::suite::ChoiceError;
use millibox_package::Faults;
use millibox_package::edit::EditError;
use rustix::io::Errno;
use serde::{Serialize, Serializer};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use zip::result::ZipError;

/// Why a setter's tool failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetterError {
    /// The package cannot be read.
    #[error("{0}")]
    Package(Faults),
    /// Programs of the package do not behave as they should. There is at least one fault.
    #[error("{}", Lines(.0))]
    Programs(Vec<ProgramFault>),
    /// The caller's request cannot be fulfilled.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The machine, the sandbox or a file failed. The package is not to blame.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

impl From<JudgeFailure> for SetterError {
    fn from(failure: JudgeFailure) -> SetterError {
        SetterError::Machine(MachineError::Judge(failure))
    }
}

impl From<ProgramFault> for SetterError {
    fn from(fault: ProgramFault) -> SetterError {
        SetterError::Programs(vec![fault])
    }
}

struct Lines<'a>(&'a [ProgramFault]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            write!(f, "{}{fault}", if index > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

/// Why the caller's request cannot be fulfilled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The package is an archive, whose files cannot be changed.
    #[error("{} is an archive; unpack it, and name the directory", .0.display())]
    Archive(PathBuf),
    /// A pattern for test names is not valid.
    #[error(
        "{pattern:?} is not a valid pattern for test names: {reason} (at character {position})"
    )]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The parser's reason.
        reason: &'static str,
        /// The position of the error, counted from 1.
        position: usize,
    },
    /// A test does not exist.
    #[error("there is no test {name:?}{}", SpellingHint(.nearest))]
    NoSuchTest {
        /// The name.
        name: String,
        /// The most similar test name.
        nearest: Option<String>,
    },
    /// The directory for a new package is not empty.
    #[error("{}: the directory is not empty; name an empty or a new directory", .0.display())]
    NotEmpty(PathBuf),
    /// A title cannot be used.
    #[error("{0:?} is not a valid title; pass one line of text")]
    Title(String),
    /// Another process is working on the package.
    #[error("another `millibox problem` is working on {}; wait until it ends", .0.display())]
    Busy(PathBuf),
}

struct SpellingHint<'a>(&'a Option<String>);

impl fmt::Display for SpellingHint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, "; did you mean {name:?}?"),
            None => Ok(()),
        }
    }
}

/// A program of the package that does not behave as it should.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramFault {
    /// A program cannot be prepared.
    #[error("{}: {fault}", .program.display())]
    Build {
        /// The program.
        program: PathBuf,
        /// The reason.
        fault: BuildFault,
    },
    /// A file of a test cannot be generated.
    #[error("test {test}: cannot generate the {kind} with {by}{}: {fault}", Seed(.seed))]
    Make {
        /// The test.
        test: String,
        /// The file.
        kind: FileKind,
        /// The generator with its arguments, or the model solution.
        by: String,
        /// The generator's seed.
        seed: Option<u64>,
        /// The reason.
        fault: MakeFault,
    },
    /// An answer must be generated, but its test has no input.
    #[error("test {test}: there is no input {input}")]
    NoInput {
        /// The test.
        test: String,
        /// The input's path below the package.
        input: String,
    },
    /// An answer must be generated, but its test has its own files.
    #[error("test {0}: answers of tests with their own files cannot be generated")]
    TestWithFiles(String),
    /// Answers must be generated, but the package has no model solution.
    #[error(
        "there is no model solution to generate answers; add a submission that must be accepted"
    )]
    NoModelSolution,
    /// No submission can be measured, because none is required to be accepted.
    #[error("there is no submission to measure; add one that must be accepted")]
    NothingToMeasure,
    /// No submission can be measured, because submissions.yaml excludes all of them.
    #[error(
        "submissions.yaml excludes all submissions that must be accepted from measuring \
         (use_for_time_limit)"
    )]
    MeasuringExcluded,
    /// The package cannot be judged.
    #[error("{0}")]
    Package(PackageError),
    /// A submission that must be accepted cannot be compiled.
    #[error(
        "{submission} must be accepted but is not: {}, {error}",
        verdict_words(Verdict::CompileError)
    )]
    NotCompiled {
        /// The submission.
        submission: String,
        /// The reason.
        error: CompileError,
    },
    /// A submission that must be accepted is not accepted.
    #[error(
        "{submission} must be accepted but is not{}: {}{}",
        OnTest(.reason),
        verdict_words(*.verdict),
        Why(", ", .reason)
    )]
    NotAccepted {
        /// The submission.
        submission: String,
        /// The verdict.
        verdict: Verdict,
        /// The reason, which names the test or the group that decides.
        reason: Option<GroupReason>,
    },
}

/// Why a program of the package cannot be prepared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildFault {
    /// The program's language is unknown.
    #[error("its language is unknown: {0}")]
    Language(ChoiceError),
    /// The compiler rejected the program.
    #[error("{error}{}{messages}", if .messages.is_empty() { "" } else { "\n" })]
    Rejected {
        /// The error.
        error: CompileError,
        /// The compiler's messages. They may be empty.
        messages: String,
    },
}

/// A file of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileKind {
    /// The input.
    #[error("input")]
    Input,
    /// The answer.
    #[error("answer")]
    Answer,
}

/// Why a program produced no usable file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MakeFault {
    /// The program failed.
    #[error("{0}")]
    Failed(ToolFailure),
    /// The program printed nothing.
    #[error("it wrote nothing to its standard output")]
    Empty,
    /// Two runs printed different files.
    #[error(
        "its output differs in a second run, from byte {byte} on; make it depend only on its \
         arguments, seed and input"
    )]
    Unstable {
        /// The position of the first difference, counted from 1.
        byte: u64,
    },
}

struct Seed<'a>(&'a Option<u64>);

impl fmt::Display for Seed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |seed| write!(f, ", seed {seed}"))
    }
}

/// The test that decides, if one does.
struct OnTest<'a>(&'a Option<GroupReason>);

impl fmt::Display for OnTest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(GroupReason::Test { test, .. }) => write!(f, " on test {test}"),
            _ => Ok(()),
        }
    }
}

/// The reason after a separator, without the test, which [`OnTest`] names.
struct Why<'a>(&'static str, &'a Option<GroupReason>);

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Why(separator, reason) = self;
        let reason: &dyn fmt::Display = match reason {
            None | Some(GroupReason::Test { reason: None, .. }) => return Ok(()),
            Some(GroupReason::Test {
                reason: Some(reason),
                ..
            }) => reason,
            Some(reason) => reason,
        };
        write!(f, "{separator}{reason}")
    }
}

/// Why the machine, the sandbox or a file failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The user stopped the work.
    #[error("the work was stopped")]
    Stopped,
    /// The judge or the sandbox failed.
    #[error(transparent)]
    Judge(JudgeFailure),
    /// A file or directory cannot be used.
    #[error("cannot {action} {}: {fault}", .path.display())]
    File {
        /// The action.
        action: FileAction,
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        fault: FileFault,
    },
    /// The compiler for one of the package's programs cannot run here.
    #[error("{}: {error}", .program.display())]
    Compiler {
        /// The program.
        program: PathBuf,
        /// The reason.
        error: CompileError,
    },
    /// The checker's data cannot be made readable for the sandbox. The error names the file.
    #[error(transparent)]
    CheckerData(StagingError),
    /// The world of a shell generator cannot be prepared.
    #[error("cannot prepare a shell generator: {0}")]
    Shell(FileFault),
    /// A submission could not be measured.
    #[error("{submission}{}{}", OnTest(.reason), Why(": ", .reason))]
    Measuring {
        /// The submission.
        submission: String,
        /// The reason for the judge error, which names the test or the group that decides.
        reason: Option<GroupReason>,
    },
    /// No submission can be measured on this machine.
    #[error("no submission that must be accepted can be measured here: {}", SkippedList(.0))]
    NoneMeasurable(Vec<SkippedSubmission>),
    /// The limits were written, but reading the package returned different limits.
    #[error(
        "the package does not state the limits after they were written, so its files were \
         restored: {0}"
    )]
    LimitsNotRead(LimitMismatch),
    /// The kernel returned no random numbers.
    #[error("cannot get random numbers from the kernel: {0}")]
    Random(Errno),
    /// The record of generated files cannot be encoded.
    #[error("cannot encode the record of generated files: {0}")]
    Record(serde_json::Error),
}

/// A submission whose language cannot be used here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkippedSubmission {
    /// Name of the submission.
    pub submission: String,
    /// The reason. Reports contain its message.
    #[serde(serialize_with = "message")]
    pub reason: Unavailable,
}

fn message<S: Serializer>(error: &Unavailable, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

struct SkippedList<'a>(&'a [SkippedSubmission]);

impl fmt::Display for SkippedList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, skipped) in self.0.iter().enumerate() {
            let separator = if index > 0 { "; " } else { "" };
            write!(f, "{separator}{}: {}", skipped.submission, skipped.reason)?;
        }
        Ok(())
    }
}

/// How a package differs from the limits that were written to it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LimitMismatch {
    /// The package can no longer be read.
    #[error("{0}")]
    Unreadable(Faults),
    /// A test has another limit.
    #[error("test {test} has {}, not {written} s", SomeLimit(.found))]
    Test {
        /// The test.
        test: String,
        /// The limit that was read, in seconds.
        found: Option<f64>,
        /// The limit that was written, in seconds.
        written: f64,
    },
}

struct SomeLimit<'a>(&'a Option<f64>);

impl fmt::Display for SomeLimit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(limit) => write!(f, "a limit of {limit} s"),
            None => write!(f, "no limit"),
        }
    }
}

/// The operation on a file that failed. Its message follows "cannot".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileAction {
    /// Reading the file.
    #[error("read")]
    Read,
    /// Writing the file.
    #[error("write")]
    Write,
    /// Opening the file or directory.
    #[error("open")]
    Open,
    /// Removing the file or directory.
    #[error("remove")]
    Remove,
    /// Replacing the file.
    #[error("replace")]
    Replace,
    /// Editing the file.
    #[error("change")]
    Change,
    /// Packing the file.
    #[error("pack")]
    Pack,
    /// Looking up the file.
    #[error("find")]
    Find,
    /// Reading the file's metadata.
    #[error("read the metadata of")]
    Inspect,
    /// Reading the directory's entries.
    #[error("read the directory")]
    ReadDirectory,
    /// Creating the directory.
    #[error("create the directory")]
    CreateDirectory,
    /// Using the directory.
    #[error("use")]
    Use,
    /// Creating the new package.
    #[error("create the package")]
    CreatePackage,
    /// Making the file readable for the sandbox.
    #[error("stage")]
    Stage,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileFault {
    /// The error from the kernel.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The files cannot be made readable for the sandbox.
    #[error("{0}")]
    Staging(Box<StagingError>),
    /// The archive's writer failed.
    #[error("{0}")]
    Zip(ZipError),
    /// The file is a device, fifo, directory or link.
    #[error("it is not a regular file; {0}")]
    NotRegular(Remedy),
    /// The path is not a directory.
    #[error("it is not a directory; remove it")]
    NotDirectory,
    /// The path is a link to a file that does not exist.
    #[error("it is a symbolic link to a file that does not exist; name another path")]
    DanglingLink,
    /// Directories are nested too deeply.
    #[error("directories are nested deeper than {0}")]
    TooDeep(usize),
    /// A link leads out of the package.
    #[error("it leads to {}, outside the package", .0.display())]
    Outside(PathBuf),
    /// A name in the directory is not UTF-8.
    #[error("the name {0:?} is not UTF-8; rename the file")]
    NameNotUtf8(OsString),
    /// The archive is shorter than the bytes that were written to it.
    #[error("part of the archive was not written")]
    Incomplete,
    /// The file is too long.
    #[error("longer than {mebibytes} MiB; remove it")]
    TooLong {
        /// The limit in MiB.
        mebibytes: u64,
    },
    /// The record names a path outside the package.
    #[error("it names {0:?}, which is not a path in the package; remove this record")]
    PathOutside(String),
    /// A directory above the file is a link or a file.
    #[error("a directory above it is a symbolic link or not a directory; nothing was removed")]
    LinkAbove,
    /// The file vanished after it had been created.
    #[error("it has vanished")]
    Vanished,
    /// The file's text cannot be edited.
    #[error(transparent)]
    Edit(EditError),
}

impl From<StagingError> for FileFault {
    fn from(error: StagingError) -> FileFault {
        FileFault::Staging(Box::new(error))
    }
}

impl From<Errno> for FileFault {
    fn from(errno: Errno) -> FileFault {
        FileFault::Io(errno.into())
    }
}

/// What the user can do about a file that is not regular.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Remedy {
    /// Remove the file.
    #[error("remove it")]
    Remove,
    /// Name another path.
    #[error("name another path")]
    NameAnother,
}

/// Creates the error for a file or directory.
pub(super) fn file(action: FileAction, path: &Path, fault: impl Into<FileFault>) -> SetterError {
    MachineError::File {
        action,
        path: path.to_owned(),
        fault: fault.into(),
    }
    .into()
}
