//! Why a request of this dialect has no results.

use super::model::{CommandFile, End};
use crate::core::execution::ExecutionError;
use crate::core::files::StoreError;
use crate::core::queue::Refusal;
use std::path::PathBuf;

/// Why a request is not carried out. Upstream answers with status 400.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The body is not a request.
    #[error(transparent)]
    Decode(#[from] serde_json::Error),
    /// The group is empty.
    #[error("no cmd provided")]
    NoCommand,
    /// A file has no source.
    #[error(
        "file type is not valid for cmd: it has no src, content, fileId, name and max, symlink, \
         streamIn or streamOut"
    )]
    FileType,
    /// A file is used where its type is not possible, such as a symbolic link as a descriptor.
    #[error("file type is not valid here: {file:?}")]
    FileUse { file: Box<CommandFile> },
    /// A file of the host that requests may not read.
    #[error("file ({}) does not under (/dev/null{})", .path.display(), list(.prefixes))]
    SourcePath {
        /// The file.
        path: PathBuf,
        /// The directories that requests may read.
        prefixes: Vec<PathBuf>,
    },
    /// A field that the service does not support.
    #[error("{field} is not supported by this service")]
    Unsupported { field: &'static str },
    /// A value above the maximum of the service.
    #[error("{field}: {value} exceeds {max}, the maximum of this service")]
    AboveLimit {
        field: &'static str,
        value: u64,
        /// The maximum.
        max: u64,
    },
}

fn list(prefixes: &[PathBuf]) -> String {
    prefixes.iter().fold(String::new(), |text, prefix| {
        format!("{text}, {}", prefix.display())
    })
}

/// Why a pipe cannot be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PipeError {
    /// The command does not exist.
    #[error("index out of range {}", .0.index)]
    Index(End),
    /// The descriptor has a number that a command cannot have.
    #[error("fd out of range {}", .0.fd)]
    Descriptor(End),
    /// The descriptor is a file or another pipe.
    #[error("fd {} of cmd {} is already in use", .0.fd, .0.index)]
    Occupied(End),
}

/// Why a request over a WebSocket is not started. The messages are those of upstream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BeginError {
    /// The request has no id.
    #[error("empty request id")]
    EmptyId,
    /// A request with this id is running.
    #[error("duplicated request id: {0}")]
    DuplicateId(String),
    /// The connection has reached the maximum number of requests.
    #[error("worker queue is full")]
    QueueFull,
}

/// Why a group has no results. Upstream answers with status 500.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// The request is not valid; the status is 400.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A stored file does not exist.
    #[error("file does not exists with id: {0:?}")]
    UnknownFile(String),
    /// A pipe is not valid.
    #[error("pipe: {0}")]
    Pipe(#[from] PipeError),
    /// The queue is full.
    #[error("worker queue is full")]
    QueueFull,
    /// The group was not admitted for another reason.
    #[error(transparent)]
    Refused(Refusal),
    /// A command was not executed because the service failed.
    #[error(transparent)]
    Execution(#[from] ExecutionError),
    /// The sandbox failed.
    #[error("{0}")]
    Sandbox(millibox::RunError),
    /// A file was not stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A system call failed.
    #[error("cannot {action}: {error}")]
    System {
        /// The action that failed.
        action: &'static str,
        /// The kernel's error.
        error: std::io::Error,
    },
}

impl GroupError {
    pub(super) fn system(action: &'static str) -> impl Fn(std::io::Error) -> GroupError {
        move |error| GroupError::System { action, error }
    }

    /// Whether the service failed rather than the request.
    pub fn is_service_failure(&self) -> bool {
        matches!(
            self,
            GroupError::Execution(_)
                | GroupError::Sandbox(_)
                | GroupError::Store(_)
                | GroupError::System { .. }
        )
    }
}

impl From<Refusal> for GroupError {
    fn from(refusal: Refusal) -> GroupError {
        match refusal {
            Refusal::QueueFull { .. } | Refusal::ShareUsed { .. } => GroupError::QueueFull,
            refusal => GroupError::Refused(refusal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_words_that_clients_know() {
        let texts = [
            RequestError::NoCommand.to_string(),
            GroupError::UnknownFile("ABC".to_owned()).to_string(),
            GroupError::QueueFull.to_string(),
            RequestError::SourcePath {
                path: "/etc/passwd".into(),
                prefixes: vec!["/srv".into()],
            }
            .to_string(),
        ];
        assert_eq!(
            texts,
            [
                "no cmd provided",
                "file does not exists with id: \"ABC\"",
                "worker queue is full",
                "file (/etc/passwd) does not under (/dev/null, /srv)",
            ]
        );
    }
}
