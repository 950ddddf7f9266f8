//! Groups of commands and their results, in the form that all transports of the dialect share.

use bytes::Bytes;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Commands that run at the same time, and the pipes between them.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// The commands, at least one.
    pub commands: Vec<Command>,
    /// The pipes between them.
    pub pipes: Vec<PipeMapping>,
    /// The size of the request in bytes.
    pub size_bytes: usize,
}

/// One command of a group. Times are in nanoseconds and sizes in bytes.
#[derive(Debug, Clone, Default)]
pub struct Command {
    /// The program and its arguments.
    pub args: Vec<String>,
    /// The environment as `NAME=VALUE`.
    pub env: Vec<String>,
    /// The descriptors by number. `None` means that a pipe provides the descriptor.
    pub files: Vec<Option<CommandFile>>,
    /// Whether all descriptors are one terminal.
    pub tty: bool,
    /// Limit on CPU time. 0 is a limit of 0.
    pub cpu_limit: u64,
    /// Limit on real time. 0 selects the CPU-time limit.
    pub clock_limit: u64,
    /// Limit on memory. 0 is a limit of 0.
    pub memory_limit: u64,
    /// Limit on the stack. 0 means no separate limit.
    pub stack_limit: u64,
    /// Limit on processes and threads. 0 means the largest limit that the service allows.
    pub process_limit: u64,
    /// The CPUs to run on.
    pub cpu_set: String,
    /// Whether the memory limit also applies to the data segment.
    pub limits_data_segment: bool,
    /// Whether the memory limit also applies to the address space.
    pub limits_address_space: bool,
    /// Files that are put into the working directory.
    pub copy_in: BTreeMap<String, CommandFile>,
    /// Links that are put into the working directory after the files.
    pub symlinks: BTreeMap<String, String>,
    /// Files that are returned with their content.
    pub copy_out: Vec<CopyOut>,
    /// Files that are stored and returned by their id.
    pub copy_out_cached: Vec<CopyOut>,
    /// The largest size of a returned file. 0 is the default.
    pub copy_out_max: u64,
    /// Whether larger files are returned in part.
    pub truncates_copy_out: bool,
}

/// The source or destination of a descriptor or of a file in the working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandFile {
    /// A file of the host.
    Local(PathBuf),
    /// The content is in the request.
    Content(Bytes),
    /// A stored file.
    Stored(String),
    /// The output is collected.
    Collector {
        /// The name in the result.
        name: String,
        /// Maximum number of bytes that are collected.
        max: u64,
    },
    /// The client sends the input while the command runs.
    StreamIn,
    /// The client receives the output while the command runs.
    StreamOut,
}

/// A file of the working directory that is returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOut {
    /// Its path.
    pub name: String,
    /// Whether the file may be missing.
    pub is_optional: bool,
}

impl CopyOut {
    /// Parses a path with an optional `?` at its end.
    pub fn parse(text: &str) -> CopyOut {
        match text.strip_suffix('?') {
            Some(name) => CopyOut {
                name: name.to_owned(),
                is_optional: true,
            },
            None => CopyOut {
                name: text.to_owned(),
                is_optional: false,
            },
        }
    }
}

/// A descriptor of a command of the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// The index of the command.
    pub index: usize,
    /// The number of the descriptor.
    pub fd: usize,
}

/// A pipe between two commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipeMapping {
    /// The end that the writer uses.
    pub writer: End,
    /// The end that the reader uses.
    pub reader: End,
    /// Set if the service passes on the bytes.
    pub proxy: Option<Proxy>,
}

/// How the service passes on the bytes of a pipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// The name under which the writer's result contains a copy of the traffic. Empty means no
    /// copy.
    pub name: String,
    /// Maximum number of bytes that are copied.
    pub max: u64,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Exited with 0.
    Accepted,
    /// More memory than allowed.
    MemoryLimitExceeded,
    /// More CPU time or real time than allowed.
    TimeLimitExceeded,
    /// More output than allowed.
    OutputLimitExceeded,
    /// A file could not be put into the working directory or returned.
    FileError,
    /// Exited with a code other than 0.
    NonzeroExit,
    /// Ended by a signal.
    Signalled,
    /// Ended by a forbidden system call.
    DangerousSyscall,
    /// The command was not executed.
    InternalError,
}

impl Status {
    /// The text in JSON answers.
    pub fn text(self) -> &'static str {
        match self {
            Status::Accepted => "Accepted",
            Status::MemoryLimitExceeded => "Memory Limit Exceeded",
            Status::TimeLimitExceeded => "Time Limit Exceeded",
            Status::OutputLimitExceeded => "Output Limit Exceeded",
            Status::FileError => "File Error",
            Status::NonzeroExit => "Nonzero Exit Status",
            Status::Signalled => "Signalled",
            Status::DangerousSyscall => "Dangerous Syscall",
            Status::InternalError => "Internal Error",
        }
    }
}

/// How the handling of a file failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileErrorKind {
    /// A source cannot be opened.
    CopyInOpenFile,
    /// A file cannot be created.
    CopyInCreateFile,
    /// The content does not fit.
    CopyInCopyContent,
    /// A file to return cannot be opened.
    CopyOutOpen,
    /// A file to return is a directory, a link or a special file.
    CopyOutNotRegularFile,
    /// A file to return is too large.
    CopyOutSizeExceeded,
    /// A file to return cannot be stored.
    CopyOutCreateFile,
    /// A file to return cannot be read.
    CopyOutCopyContent,
    /// A collector received more than its maximum.
    CollectSizeExceeded,
}

impl FileErrorKind {
    /// The text in JSON answers.
    pub fn text(self) -> &'static str {
        match self {
            FileErrorKind::CopyInOpenFile => "CopyInOpenFile",
            FileErrorKind::CopyInCreateFile => "CopyInCreateFile",
            FileErrorKind::CopyInCopyContent => "CopyInCopyContent",
            FileErrorKind::CopyOutOpen => "CopyOutOpen",
            FileErrorKind::CopyOutNotRegularFile => "CopyOutNotRegularFile",
            FileErrorKind::CopyOutSizeExceeded => "CopyOutSizeExceeded",
            FileErrorKind::CopyOutCreateFile => "CopyOutCreateFile",
            FileErrorKind::CopyOutCopyContent => "CopyOutCopyContent",
            FileErrorKind::CollectSizeExceeded => "CollectSizeExceeded",
        }
    }
}

/// A file that was not put into the working directory, or not returned completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The file.
    pub name: String,
    /// What is wrong.
    pub kind: FileErrorKind,
    /// The cause.
    pub message: String,
}

/// The result of one command. Times are in nanoseconds and sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandResult {
    /// How it ended.
    pub status: Status,
    /// The outcome in the service's own words, if the command was executed.
    pub outcome: Option<&'static str>,
    /// The exit code, or the number of the signal.
    pub exit_status: i32,
    /// Why the command was not executed. Empty if it was.
    pub error: String,
    /// CPU time.
    pub time: u64,
    /// The highest memory use.
    pub memory: u64,
    /// Real time.
    pub run_time: u64,
    /// The highest number of processes, if it is known.
    pub process_peak: u64,
    /// Contents of collectors and returned files.
    pub files: BTreeMap<String, Bytes>,
    /// Ids of stored files.
    pub file_ids: BTreeMap<String, String>,
    /// Errors of individual files.
    pub file_errors: Vec<FileError>,
}

impl CommandResult {
    /// The result of a command that was not executed.
    pub fn not_executed(status: Status, error: impl ToString) -> CommandResult {
        CommandResult {
            status,
            outcome: None,
            exit_status: 0,
            error: error.to_string(),
            time: 0,
            memory: 0,
            run_time: 0,
            process_peak: 0,
            files: BTreeMap::new(),
            file_ids: BTreeMap::new(),
            file_errors: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_out_with_question_mark_is_optional() {
        let copy_out = CopyOut::parse("a.txt?");
        assert_eq!((&copy_out.name[..], copy_out.is_optional), ("a.txt", true));
        assert!(!CopyOut::parse("a?b").is_optional);
    }
}
