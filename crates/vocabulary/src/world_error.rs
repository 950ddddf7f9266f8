//! The error of a world that is not valid.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The reason why the sandbox creates no path on a file system of the host, and the remedy.
pub(crate) const HOST_FILE_SYSTEM: &str = "this file system belongs to the host, and millibox \
    creates nothing there; create the path first, or choose another one";

/// The error of a world that is not valid.
///
/// ```
/// use millibox_vocabulary::{WorldError, WorldProblem};
/// let error = WorldError::at(b"/x", WorldProblem::PathHasDotDot);
/// assert_eq!(error.to_string(), "mount /x: the path must not contain ..");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WorldError {
    /// The path of the invalid mount; `None` if the problem does not concern a mount.
    pub path: Option<String>,
    /// The problem.
    pub problem: WorldProblem,
}

impl From<WorldProblem> for WorldError {
    fn from(problem: WorldProblem) -> WorldError {
        WorldError {
            path: None,
            problem,
        }
    }
}

impl fmt::Display for WorldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "mount {path}: {}", self.problem),
            None => self.problem.fmt(f),
        }
    }
}

impl std::error::Error for WorldError {}

/// A problem of a world.
///
/// ```
/// use millibox_vocabulary::WorldProblem;
/// assert_eq!(WorldProblem::Mode(0o10000).to_string(), "mode 10000 is above 7777");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum WorldProblem {
    /// The path is not absolute.
    #[error("the path must be absolute")]
    PathNotAbsolute,
    /// The path has a `..` component.
    #[error("the path must not contain ..")]
    PathHasDotDot,
    /// The path contains a NUL byte.
    #[error("the path must not contain a NUL byte")]
    PathHasNul,
    /// The mode has bits outside 7777.
    #[error("mode {0:o} is above 7777")]
    Mode(u32),
    /// The tmpfs size is 0, which the kernel interprets as no limit.
    #[error("the kernel interprets a size of 0 as no limit; set a larger size")]
    ZeroSize,
    /// The inode limit is 0, which the kernel interprets as no limit.
    #[error("the kernel interprets an inode limit of 0 as no limit; set a larger limit")]
    ZeroInodes,
    /// The kernel cannot store the size.
    #[error("a size of {0} bytes is too large; omit it for no limit")]
    Size(u64),
    /// The kernel cannot store the number of inodes.
    #[error("a limit of {0} inodes is too large; omit it for no limit")]
    Inodes(u64),
    /// The root cannot be a mount point.
    #[error("the root cannot be a mount point; mount it elsewhere and make that the new root")]
    MountPointIsRoot,
    /// The source of a bind is not absolute.
    #[error("the source {0} must be an absolute path")]
    SourceNotAbsolute(String),
    /// The source of a bind contains a NUL byte.
    #[error("the source {0} must not contain a NUL byte")]
    SourceHasNul(String),
    /// The target of a symbolic link contains a NUL byte.
    #[error("the target of the link must not contain a NUL byte")]
    TargetHasNul,
    /// The mount point is below a symbolic link that the world creates.
    #[error("{0} is a symbolic link of this world; name its target")]
    BelowLink(String),
    /// A procfs cannot be mounted below a tmpfs.
    #[error("a procfs below a tmpfs is not supported; mount it elsewhere")]
    ProcfsBelowTmpfs,
    /// More than one tmpfs has binds below it.
    #[error(
        "binds below more than one tmpfs are not supported; put them below one tmpfs, or elsewhere"
    )]
    BindsBelowTwoTmpfs,
    /// The path is on a file system of the host.
    #[error("{HOST_FILE_SYSTEM}")]
    OnHostFileSystem,
    /// A new root follows mounts that each run makes separately.
    #[error("a new root must come before any writable tmpfs and any procfs")]
    NewRootTooLate,
    /// The user or group id is 2^32-1, which the kernel interprets as no id.
    #[error(
        "the {name} of the world: the kernel interprets {} as no id; choose a smaller id, or omit \
         it to use the supervisor's",
        u32::MAX
    )]
    NoId {
        /// The name of the id: user id or group id.
        name: String,
    },
    /// The seccomp program is not valid.
    #[error("seccomp program: {0}")]
    Seccomp(String),
    /// The encoded world is too long.
    #[error(
        "the world takes {bytes} bytes, and at most {max_bytes} are accepted; use fewer mounts"
    )]
    TooLong {
        /// The length of the world in bytes.
        bytes: u64,
        /// The maximum number of bytes that are accepted.
        max_bytes: u64,
    },
    /// The encoded mounts of each run are too long.
    #[error(
        "the mounts that each run makes take {bytes} bytes, and at most {max_bytes} are accepted; \
         use fewer mounts, or binds instead of tmpfs and procfs"
    )]
    RunMountsTooLong {
        /// The length of these mounts in bytes.
        bytes: u64,
        /// The maximum number of bytes that are accepted.
        max_bytes: u64,
    },
    /// The bytes do not encode a world.
    #[error("{0}")]
    Malformed(String),
    /// millibox has a bug.
    #[error("internal error: {0}; please report it")]
    Internal(String),
}
