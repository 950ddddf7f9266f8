//! The errors of storing files.

use crate::Cause;
use std::io;
use std::path::PathBuf;

/// Maximum length of a name in bytes. The path of the directory for temporary files and the name
/// must together be a valid path.
pub(super) const MAX_NAME_BYTES: usize = 1024;
/// Maximum number of parts in a name. The directories of a package are never nested more deeply, so
/// a test's files fit beside a program's files.
pub(super) const MAX_NAME_PARTS: usize = millibox_package::MAX_DEPTH;
/// Maximum number of files and directories in one directory.
pub const MAX_STORED_FILES: usize = 20_000;

/// Why a file cannot be stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// The name cannot be used, which is the fault of its author.
    #[error("{name:?} {fault}")]
    Name { name: PathBuf, fault: NameFault },
    /// The content exceeds the allowed number of bytes.
    #[error("more than {0} bytes")]
    TooLarge(u64),
    /// The content cannot be read from its origin.
    #[error(transparent)]
    Source(io::Error),
    /// The host's file system failed.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// The host's directory for temporary files cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot write to {}: {cause}; set TMPDIR to a directory with free space",
    .directory.display()
)]
#[non_exhaustive]
pub struct HostError {
    /// The directory.
    pub directory: PathBuf,
    /// The kernel's error.
    pub cause: Cause<io::Error>,
}

/// Why a name cannot be the name of a stored file. The message follows the name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameFault {
    /// The name is empty or absolute, or contains `.` or `..`.
    #[error("is not the name of a file below a directory")]
    NotBelow,
    /// The name has too many bytes or parts.
    #[error(
        "is too long: names can have at most {MAX_NAME_BYTES} bytes and {MAX_NAME_PARTS} parts"
    )]
    TooLong,
    /// The name has a file as one of its directories.
    #[error("lies below a file instead of a directory")]
    BelowFile,
    /// Another file or directory has the name.
    #[error("is the name of two files, or of a file and a directory")]
    Duplicate,
    /// The directory is full.
    #[error("exceeds the limit of {MAX_STORED_FILES} files and directories")]
    TooMany,
    /// The file system rejects the name.
    #[error("cannot be stored: {0}")]
    Rejected(Cause<io::Error>),
}

impl HostError {
    /// Converts the error of a step that fails only if the host fails.
    pub(crate) fn from_store(error: StoreError) -> HostError {
        match error {
            StoreError::Host(error) => error,
            other => HostError::new(io::Error::other(other)),
        }
    }

    pub(crate) fn new(error: io::Error) -> HostError {
        HostError {
            directory: std::env::temp_dir(),
            cause: error.into(),
        }
    }
}
