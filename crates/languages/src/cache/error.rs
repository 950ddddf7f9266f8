//! The errors of the cache.

use crate::Cause;
use std::io;
use std::path::PathBuf;

/// Why programs cannot be cached, or the cache cannot be emptied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The directory cannot be used.
    #[error(
        "cannot keep compiled programs in {}: {fault}; see --no-cache{}", .directory.display(),
        named_by(*.variable)
    )]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// The environment variable that determined the directory.
        variable: Option<&'static str>,
        /// The reason.
        fault: DirectoryFault,
    },
    /// A program cannot be removed.
    #[error("cannot empty {}: {cause}", .directory.display())]
    Clear {
        /// The directory of the cache.
        directory: PathBuf,
        /// The kernel's error.
        cause: Cause<io::Error>,
    },
}

/// Why a directory cannot hold a cache.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryFault {
    /// The directory cannot be created or inspected.
    #[error("{0}")]
    Io(Cause<io::Error>),
    /// Another user owns the directory or can write to it, or it is not a directory.
    #[error(
        "it must be a directory that user {user} owns and only this user can write to (chmod 700)"
    )]
    NotPrivate {
        /// The user id of this process.
        user: u32,
    },
    /// Another user can replace the directory.
    #[error("other users could replace it, because they can write to {}", .above.display())]
    Replaceable {
        /// A directory above the cache.
        above: PathBuf,
    },
}

fn named_by(variable: Option<&str>) -> String {
    variable.map_or_else(String::new, |variable| {
        format!(", or set XDG_CACHE_HOME to your own directory (the path comes from {variable})")
    })
}
