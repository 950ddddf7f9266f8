//! One sandboxed process: the program with its limits, and its report.

use super::budget::Budget;
use super::files::StoredFile;
use bytes::Bytes;
use millibox::explain::Explanation;
use millibox::{Figures, Outcome, Prepared, RunError, Start, World};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// One program to execute.
#[derive(Debug)]
pub struct Execution {
    /// The program: a path, or a name that is looked up in the `PATH` of the environment.
    pub program: OsString,
    /// The arguments, `argv[0]` included.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The files and other resources that the program sees. They must include the working
    /// directory.
    pub world: World,
    /// A prepared interpreter in the same world, of which the run becomes a copy. If no copy can be
    /// made, the program is executed instead.
    pub prepared: Option<Prepared>,
    /// The working directory.
    pub current_dir: OsString,
    /// Files that are put into the working directory, which must then be a tmpfs of the world.
    pub files: Vec<InputFile>,
    /// Standard input, output and error, and additional descriptors from 3 on.
    pub streams: Streams,
    /// Maximum size of all these files, in bytes.
    pub files_bytes: u64,
    /// Files of the working directory that are returned.
    pub outputs: Vec<OutputFile>,
    /// The bytes of captured streams and returned files that are kept. Executions of one request
    /// may share a budget.
    pub budget: Budget,
    pub limits: ExecutionLimits,
    /// Whether the run is traced, so that the report explains what the program lacked.
    pub explained: bool,
}

/// The limits of one execution. `None` means no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionLimits {
    /// CPU time of all processes.
    pub cpu_time: Option<Duration>,
    /// Time from start to end.
    pub real_time: Option<Duration>,
    /// Memory of all processes, with the files that they keep in tmpfs, in bytes.
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    pub processes: u32,
    /// The size of each file that the program writes, in bytes.
    pub file_bytes: Option<u64>,
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// Stack of one process, in bytes.
    pub stack_bytes: Option<u64>,
    /// Address space of one process, in bytes.
    pub address_space_bytes: Option<u64>,
    /// Data segment of one process, in bytes.
    pub data_bytes: Option<u64>,
}

/// A file for the working directory.
#[derive(Debug, Clone)]
pub struct InputFile {
    /// Relative to the working directory, or absolute.
    pub path: PathBuf,
    /// The kind of file to create, and its content.
    pub content: InputContent,
}

/// The kind of file that is created at a path.
#[derive(Debug, Clone)]
pub enum InputContent {
    /// A regular file with this mode.
    File {
        content: Content,
        /// The permission bits.
        mode: u32,
    },
    /// A symbolic link to this target.
    Symlink(PathBuf),
    /// The entries of a tar archive, as an [`OutputFile`] with the path [`WHOLE_DIRECTORY`] returns
    /// it. The entries are put into the working directory; the path of the file is not used.
    Archive(Bytes),
}

/// The path of an [`OutputFile`] that stands for everything in the working directory. The directory
/// is returned as a tar archive of files, directories and symbolic links.
pub const WHOLE_DIRECTORY: &str = ".";

/// Bytes, in memory or in a file. A run receives a copy, and never a descriptor of the file: it
/// could open the descriptor again, with the rights of its user, and change the file for others.
#[derive(Debug, Clone)]
pub enum Content {
    /// In memory.
    Bytes(Bytes),
    /// A stored file.
    Stored(StoredFile),
    /// A host file that the operator has allowed.
    Host(HostFile),
}

/// A regular file of the host.
#[derive(Debug, Clone)]
pub struct HostFile {
    path: PathBuf,
    pub(super) bytes: u64,
}

impl HostFile {
    /// A file that can be read.
    ///
    /// # Errors
    /// It cannot be opened, or is not a regular file.
    pub fn new(path: PathBuf) -> std::io::Result<HostFile> {
        let file = open_regular(&path)?;
        let bytes = file.metadata()?.len();
        Ok(HostFile { path, bytes })
    }

    /// Its size when it was found.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn open(&self) -> std::io::Result<std::fs::File> {
        open_regular(&self.path)
    }
}

fn open_regular(path: &Path) -> std::io::Result<std::fs::File> {
    let is_regular = path.metadata()?.is_file();
    let file = std::fs::File::open(path)?;
    if is_regular && file.metadata()?.is_file() {
        return Ok(file);
    }
    let kind = std::io::ErrorKind::InvalidInput;
    Err(std::io::Error::new(kind, "not a regular file"))
}

/// The descriptors of a program.
#[derive(Debug, Default)]
pub struct Streams {
    /// Standard input.
    pub stdin: Input,
    /// Standard output.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
    /// Descriptors from 3 on.
    pub extra: Vec<Stream>,
    /// A terminal for all streams that request it, with the program in its foreground.
    pub terminal: bool,
}

/// A descriptor of a program.
#[derive(Debug)]
pub enum Stream {
    /// A stream that the program reads.
    Input(Input),
    /// A stream that the program writes.
    Output(Output),
}

/// A stream that the program reads.
#[derive(Debug, Default)]
pub enum Input {
    /// /dev/null.
    #[default]
    Empty,
    /// Bytes.
    Content(Content),
    /// A descriptor, such as the end of a pipe or a terminal.
    Descriptor(OwnedFd),
}

/// A stream that the program writes.
#[derive(Debug, Default)]
pub enum Output {
    /// /dev/null.
    #[default]
    Discard,
    /// The bytes are kept up to a limit.
    Capture(Capture),
    /// The bytes go to the captured stream with this number, in the order in which they are
    /// written.
    SameAs(usize),
    /// Bytes that the program can read, although the stream is for output.
    Content(Content),
    /// A descriptor, such as the end of a pipe or a terminal.
    Descriptor(OwnedFd),
}

/// How the bytes of a stream are kept.
#[derive(Debug, Clone)]
pub struct Capture {
    /// Maximum number of bytes that are kept.
    pub max_bytes: u64,
    /// What happens to a program that writes more.
    pub excess: Excess,
    /// The receiver of the bytes as they arrive, up to the limit.
    pub live: Option<Live>,
}

/// Passes on output while the program runs. Clones share the record of whether any output was
/// passed on.
#[derive(Debug, Clone)]
pub struct Live {
    sender: mpsc::Sender<Bytes>,
    is_used: Arc<AtomicBool>,
}

impl Live {
    /// Sends output to this channel.
    pub fn new(sender: mpsc::Sender<Bytes>) -> Live {
        Live {
            sender,
            is_used: Arc::default(),
        }
    }

    /// Passes on a piece of output. Without a listener, it is dropped.
    pub(super) async fn send(&self, bytes: Bytes) {
        self.is_used.store(true, Ordering::Relaxed);
        let _ = self.sender.send(bytes).await;
    }

    /// Whether a piece of output was passed on, which cannot be taken back.
    pub(super) fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }
}

/// What happens to a program that writes more than is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// The run ends, with output limit as its outcome.
    End,
    /// The rest is read and counted, and the program continues.
    Discard,
    /// The rest is read and counted up to this number of bytes. Then the run ends, with output
    /// limit as its outcome.
    EndAfter(u64),
}

/// The kept part of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes.
    pub bytes: Bytes,
    /// Number of bytes that the program wrote, as far as they were read.
    pub total: u64,
}

impl Captured {
    /// Whether the program wrote more than was kept.
    pub fn is_truncated(&self) -> bool {
        self.total > self.bytes.len() as u64
    }
}

/// A file of the working directory that is returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    /// Relative to the working directory.
    pub path: PathBuf,
    /// Maximum number of bytes that are returned.
    pub max_bytes: u64,
    /// Whether a larger file is returned in part instead of being refused.
    pub truncate: bool,
}

/// Why a file is not returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OutputFileError {
    /// The file does not exist.
    #[error("the file does not exist")]
    Missing,
    /// A directory, link, device or similar file.
    #[error("not a regular file")]
    NotRegular,
    /// The file is larger than the limit.
    #[error("the file has {bytes} bytes, and at most {max_bytes} are returned")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        max_bytes: u64,
    },
    /// The kernel refused to open or read the file.
    #[error("the file cannot be read: {}", std::io::Error::from_raw_os_error(*.errno))]
    Unreadable {
        /// The error number.
        errno: i32,
    },
}

#[derive(Debug, Clone)]
pub struct ReturnedFile {
    /// The requested file.
    pub path: PathBuf,
    /// The bytes that were read; present also with the error [`OutputFileError::TooLarge`] if the
    /// file is returned in part.
    pub bytes: Bytes,
    /// Why the file is not returned, or only in part.
    pub error: Option<OutputFileError>,
}

/// The result of an execution.
#[derive(Debug, Clone)]
pub struct ExecutionReport {
    /// How the run ended.
    pub outcome: Outcome,
    /// Exit code of the first process, if it exited.
    pub exit_code: Option<i32>,
    /// Signal that ended the first process, if one did.
    pub signal: Option<i32>,
    /// What the run used.
    pub figures: Figures,
    /// The captured streams by descriptor number; those that were not captured are empty.
    pub captured: Vec<Captured>,
    /// The requested files.
    pub outputs: Vec<ReturnedFile>,
    /// How the program was started.
    pub start: Start,
    /// How many times the run was started: 2 if the sandbox failed the first time.
    pub attempts: u32,
    /// What the program lacked, if the execution asked for it and the program was executed.
    pub explanation: Option<Box<Explanation>>,
}

impl ExecutionReport {
    /// What the program wrote to standard output.
    pub fn stdout(&self) -> &Captured {
        &self.captured[1]
    }

    /// What the program wrote to standard error.
    pub fn stderr(&self) -> &Captured {
        &self.captured[2]
    }

    /// The party at fault if the run did not succeed.
    pub fn blame(&self) -> Blame {
        Blame::of(&self.outcome)
    }
}

/// The party at fault if a run did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The program. Only its failures may count against a submission.
    Program,
    /// The request cannot be executed, or the caller ended the run.
    Request,
    /// The service or the sandbox; a retry may succeed.
    Service,
}

impl Blame {
    /// The party at fault for an outcome. A run that exited with 0 is attributed to the program.
    pub fn of(outcome: &Outcome) -> Blame {
        match outcome {
            Outcome::NotStarted(_) | Outcome::Cancelled | Outcome::Killed => Blame::Request,
            Outcome::SandboxError(_) => Blame::Service,
            _ => Blame::Program,
        }
    }
}

/// Why an execution has no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecutionError {
    /// The request is not valid.
    #[error(transparent)]
    Request(#[from] millibox::Mistakes<millibox::RequestMistake>),
    /// The supervisor cannot be started, or it ended twice during the run.
    #[error(transparent)]
    Sandbox(millibox::Error),
    /// A file of the request cannot be put into the working directory.
    #[error("cannot put the files into the working directory: {0}")]
    Files(FilesError),
    /// A system call of the service failed.
    #[error("cannot {action}: {error}")]
    System {
        /// The action that failed.
        action: &'static str,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// The service cannot execute programs with files, because `millibox-stage` was not found.
    #[error(
        "runs with files need the program millibox-stage beside millibox; install it with \
         `make install`"
    )]
    NoStage,
}

/// Why the files of a run were not put in place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilesError {
    /// A step in the sandbox failed.
    #[error("{step}: {}", errno_text(*.errno))]
    Step {
        /// The step that failed.
        step: &'static str,
        /// The error number.
        errno: Option<i32>,
    },
    /// The path of a file cannot be stored in an archive.
    #[error("the path {0:?} cannot be used")]
    Path(PathBuf),
    /// All files together are larger than the working directory.
    #[error("the files have {bytes} bytes; the working directory holds {max_bytes}")]
    TooLarge {
        /// The sum of their sizes.
        bytes: u64,
        /// The size of the working directory.
        max_bytes: u64,
    },
    /// There are more files than the working directory can hold.
    #[error("{count} files are more than the {max_count} that the working directory holds")]
    TooMany {
        /// Their number.
        count: u64,
        /// The number that the working directory holds.
        max_count: u64,
    },
}

impl ExecutionError {
    pub(crate) fn system(action: &'static str) -> impl Fn(std::io::Error) -> ExecutionError {
        move |error| ExecutionError::System { action, error }
    }

    /// The party at fault for the error.
    pub fn blame(&self) -> Blame {
        match self {
            ExecutionError::Request(_) | ExecutionError::Files(_) => Blame::Request,
            _ => Blame::Service,
        }
    }
}

/// The error of a run as the sandbox reports it.
pub fn run_error(outcome: &Outcome) -> Option<&RunError> {
    match outcome {
        Outcome::NotStarted(error) | Outcome::SandboxError(error) => Some(error),
        _ => None,
    }
}

fn errno_text(errno: Option<i32>) -> String {
    match errno {
        Some(errno) => std::io::Error::from_raw_os_error(errno).to_string(),
        None => "unknown error".to_owned(),
    }
}
