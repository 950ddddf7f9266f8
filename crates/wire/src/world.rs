//! The environment of a run, without the program.

use crate::error::HOST_FILE_SYSTEM;
use crate::path::{normal, shown};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a program sees: files, ids, network, system calls.
///
/// Runs with equal worlds share the prepared mount namespace, the template, and the pid1 of the
/// second run is prepared while the first one runs. So a world should not contain what differs
/// between runs: arguments, descriptors and limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct World {
    /// The mount operations, in order. The root is an empty tmpfs at first, and becomes read-only
    /// after the last operation.
    pub mounts: Vec<Mount>,
    /// The user id inside; `None` for the same number as outside.
    pub uid: Option<u32>,
    /// The group id inside; `None` for the same number as outside.
    pub gid: Option<u32>,
    /// The network.
    pub network: Network,
    /// The seccomp program, as the bytes of a `struct sock_filter[]` (seccomp(2)); `None` for no
    /// program.
    pub seccomp: Option<Vec<u8>>,
    /// The program of which the runs in this world are copies; `None` if each run executes its own.
    pub prepare: Option<Prepare>,
}

/// A program that is started once, up to the point at which it announces that it is ready. Each run
/// is a copy of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepare {
    /// Path, arguments and environment. Each string ends with a NUL byte.
    #[serde(with = "serde_bytes")]
    pub strings: Vec<u8>,
    /// The number of arguments.
    pub arguments: u32,
    /// The number of environment strings.
    pub environment: u32,
    /// The time until it must be ready, in nanoseconds.
    pub real_time_ns: u64,
    /// The CPU time that it may use until then, in nanoseconds.
    pub cpu_time_ns: u64,
    /// The memory that it may use until then, in bytes. Backends with cgroups enforce it.
    pub memory: u64,
    /// The number of runs after which it is started anew.
    pub runs: u32,
    /// The age after which it is started anew, in nanoseconds.
    pub age_ns: u64,
}

/// The most bytes of arguments and environment of a prepared run, each string with its NUL.
pub const MAX_PREPARED_BYTES: usize = 64 << 10;

/// A world as it is sent, with the identities of its sources at the time of the request.
///
/// A template refers to files, not to their names. Compilers, editors and package managers replace
/// files by new ones, which the next run must see. So two worlds are different if their names lead
/// to different files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Located {
    /// The world.
    pub world: World,
    /// The identities of the sources of the mounts. Missing entries at the end are unknown.
    pub sources: Vec<Source>,
}

impl Located {
    /// Encodes a located world from the encoding of its world, which is the same for each run.
    pub fn encoding(world: &[u8], sources: &Vec<Source>) -> Vec<u8> {
        [world, &crate::encode(sources)].concat()
    }
}

/// The identity of the source of a mount, as far as the client knows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The mount has no source, or the client has not looked it up.
    #[default]
    None,
    /// The identity of an existing file or directory (stat(2): `st_dev`, `st_ino`).
    Is {
        /// The number of its file system.
        device: u64,
        /// The number of its inode.
        inode: u64,
    },
    /// The identity is not available, or only after an unbounded wait. The number is unique, so no
    /// other run shares the template.
    Unknown(u64),
}

/// The network of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// A network namespace in which no interface is up.
    #[default]
    None,
    /// A network namespace for this run, in which the loopback interface is up.
    Loopback,
}

/// A mount operation. Paths are absolute inside the new root. The source of a bind is a path of the
/// host, as the unprivileged supervisor sees it.
///
/// A missing mount point and the directories above it are created with mode 0755 if they lie on a
/// file system of the world: one of its tmpfses or its root. On file systems of the host nothing is
/// created, also not by `CreateDir`, `CreateFile` and `Symlink`. Paths are bytes, because names in
/// Linux need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mount {
    /// An empty tmpfs (tmpfs(5)), new for every run. Mounted nosuid and nodev.
    Tmpfs {
        /// The mount point.
        at: Vec<u8>,
        /// The size limit in bytes, rounded up to whole pages; `None` for only the memory limit.
        size: Option<u64>,
        /// The limit on inodes, including the root directory; `None` for no limit.
        inodes: Option<u64>,
        /// The mode of its root directory, at most 0o7777.
        mode: u32,
        /// Whether it is read-only, to hide a directory.
        read_only: bool,
        /// Whether its files cannot be executed.
        no_exec: bool,
    },
    /// A procfs (proc(5)) of the run's processes. Read-only, noexec, nosuid and nodev.
    Proc {
        /// The mount point.
        at: Vec<u8>,
        /// Whether it has only the directories of processes (`subset=pid`, Linux 5.8).
        processes_only: bool,
    },
    /// A file or directory of the host. Always nosuid; nodev unless `device` is set.
    Bind {
        /// The path on the host.
        source: Vec<u8>,
        /// The mount point.
        at: Vec<u8>,
        /// Whether it is read-only, including submounts.
        read_only: bool,
        /// Whether all mounts below it are included.
        recursive: bool,
        /// Whether its files cannot be executed, including those on submounts.
        no_exec: bool,
        /// Whether to fail if a component of `source` is a symbolic link. Set it if an untrusted
        /// program, such as an earlier run, could write to a directory above the source. Links in
        /// /proc to the open files of a process are never followed.
        no_follow: bool,
        /// Whether `source` is a device node that must work (no nodev).
        device: bool,
    },
    /// A directory with the devices null, zero, full, random and urandom, and the links fd, stdin,
    /// stdout and stderr to the run's own descriptors. The links need a procfs at /proc.
    Devices {
        /// The directory.
        at: Vec<u8>,
    },
    /// Creates a directory with exactly this mode. Fails if the path exists.
    CreateDir {
        /// The path of the directory.
        path: Vec<u8>,
        /// The mode, at most 0o7777.
        mode: u32,
    },
    /// Creates an empty regular file with exactly this mode. Fails if the path exists.
    CreateFile {
        /// The path of the file.
        path: Vec<u8>,
        /// The mode, at most 0o7777.
        mode: u32,
    },
    /// Creates a symbolic link.
    Symlink {
        /// The target of the link.
        target: Vec<u8>,
        /// The path of the link.
        path: Vec<u8>,
    },
    /// Makes `path` the root for the following operations. It must be a mount point of an earlier
    /// operation.
    NewRoot {
        /// The mount point.
        path: Vec<u8>,
    },
}

/// The bytes that the kernel counts for an inode (`BOGO_INODE_SIZE`, mm/shmem.c).
const INODE_BYTES: u64 = 1024;

impl Mount {
    /// A writable tmpfs of mode 1777 without its own limits, new for every run.
    pub fn tmpfs(at: impl Into<Vec<u8>>) -> Mount {
        Mount::Tmpfs {
            at: at.into(),
            size: None,
            inodes: None,
            mode: 0o1777,
            read_only: false,
            no_exec: false,
        }
    }

    /// A procfs of the run's processes.
    pub fn proc(at: impl Into<Vec<u8>>) -> Mount {
        Mount::Proc {
            at: at.into(),
            processes_only: false,
        }
    }

    /// A file or directory of the host with everything below it, read-only.
    pub fn read_only(source: impl Into<Vec<u8>>, at: impl Into<Vec<u8>>) -> Mount {
        Mount::Bind {
            source: source.into(),
            at: at.into(),
            read_only: true,
            recursive: true,
            no_exec: false,
            no_follow: false,
            device: false,
        }
    }

    /// A file or directory of the host with everything below it. The run may write to it as far as
    /// the supervisor's user may.
    pub fn read_write(source: impl Into<Vec<u8>>, at: impl Into<Vec<u8>>) -> Mount {
        Mount::Bind {
            source: source.into(),
            at: at.into(),
            read_only: false,
            recursive: true,
            no_exec: false,
            no_follow: false,
            device: false,
        }
    }

    /// A usable device node of the host.
    pub fn device(source: impl Into<Vec<u8>>, at: impl Into<Vec<u8>>) -> Mount {
        Mount::Bind {
            source: source.into(),
            at: at.into(),
            read_only: true,
            recursive: false,
            no_exec: true,
            no_follow: false,
            device: true,
        }
    }

    /// A directory with the devices null, zero, full, random and urandom.
    pub fn devices(at: impl Into<Vec<u8>>) -> Mount {
        Mount::Devices { at: at.into() }
    }

    /// A new directory with this mode.
    pub fn create_dir(path: impl Into<Vec<u8>>, mode: u32) -> Mount {
        let path = path.into();
        Mount::CreateDir { path, mode }
    }

    /// A new empty regular file with this mode.
    pub fn create_file(path: impl Into<Vec<u8>>, mode: u32) -> Mount {
        let path = path.into();
        Mount::CreateFile { path, mode }
    }

    /// A symbolic link at `path`.
    pub fn symlink(target: impl Into<Vec<u8>>, path: impl Into<Vec<u8>>) -> Mount {
        Mount::Symlink {
            target: target.into(),
            path: path.into(),
        }
    }

    /// Limits the bytes of a tmpfs. Other operations ignore the setting.
    ///
    /// ```
    /// use millibox_wire::Mount;
    /// let mount = Mount::tmpfs("/tmp").with_size(1 << 20).no_exec();
    /// assert!(matches!(mount, Mount::Tmpfs { size: Some(1_048_576), no_exec: true, .. }));
    /// ```
    #[must_use]
    pub fn with_size(mut self, bytes: u64) -> Mount {
        if let Mount::Tmpfs { size, .. } = &mut self {
            *size = Some(bytes);
        }
        self
    }

    /// Limits the inodes of a tmpfs, including its root. Other operations ignore the setting.
    #[must_use]
    pub fn with_inodes(mut self, count: u64) -> Mount {
        if let Mount::Tmpfs { inodes, .. } = &mut self {
            *inodes = Some(count);
        }
        self
    }

    /// Sets the mode of a tmpfs's root, or of a new file or directory. Other operations ignore the
    /// setting.
    #[must_use]
    pub fn with_mode(mut self, bits: u32) -> Mount {
        if let Mount::Tmpfs { mode, .. }
        | Mount::CreateDir { mode, .. }
        | Mount::CreateFile { mode, .. } = &mut self
        {
            *mode = bits;
        }
        self
    }

    /// Forbids the execution of files on a tmpfs or a bind mount. Other operations ignore the
    /// setting.
    #[must_use]
    pub fn no_exec(mut self) -> Mount {
        if let Mount::Tmpfs { no_exec, .. } | Mount::Bind { no_exec, .. } = &mut self {
            *no_exec = true;
        }
        self
    }

    /// Rejects symbolic links in the source of a bind mount. Other operations ignore the setting.
    #[must_use]
    pub fn no_follow(mut self) -> Mount {
        if let Mount::Bind { no_follow, .. } = &mut self {
            *no_follow = true;
        }
        self
    }

    /// Leaves out mounts below the source of a bind mount. Other operations ignore the setting.
    #[must_use]
    pub fn not_recursive(mut self) -> Mount {
        if let Mount::Bind { recursive, .. } = &mut self {
            *recursive = false;
        }
        self
    }

    /// Shows only process directories in a procfs. Other operations ignore the setting.
    #[must_use]
    pub fn processes_only(mut self) -> Mount {
        if let Mount::Proc { processes_only, .. } = &mut self {
            *processes_only = true;
        }
        self
    }

    /// The path inside the new root to which this operation applies.
    pub fn path(&self) -> &[u8] {
        match self {
            Mount::Tmpfs { at, .. }
            | Mount::Proc { at, .. }
            | Mount::Bind { at, .. }
            | Mount::Devices { at } => at,
            Mount::CreateDir { path, .. }
            | Mount::CreateFile { path, .. }
            | Mount::Symlink { path, .. }
            | Mount::NewRoot { path } => path,
        }
    }

    /// Checks everything that can be checked without the kernel.
    ///
    /// # Errors
    /// The kernel or the supervisor would reject the mount.
    pub fn check(&self) -> Result<(), WorldError> {
        let problem = self.problem();
        problem.map_or(Ok(()), |problem| Err(WorldError::at(self.path(), problem)))
    }

    fn problem(&self) -> Option<WorldProblem> {
        let normal = match normal(self.path()) {
            Ok(normal) => normal,
            Err(problem) => return Some(problem),
        };
        match self {
            Mount::Tmpfs { mode, .. }
            | Mount::CreateDir { mode, .. }
            | Mount::CreateFile { mode, .. }
                if *mode > 0o7777 =>
            {
                Some(WorldProblem::Mode(*mode))
            }
            Mount::Tmpfs { size: Some(0), .. } => Some(WorldProblem::ZeroSize),
            Mount::Tmpfs {
                inodes: Some(0), ..
            } => Some(WorldProblem::ZeroInodes),
            // The kernel stores the size in pages and bytes in a signed long (shmem_parse_one(),
            // mm/shmem.c).
            Mount::Tmpfs {
                size: Some(size), ..
            } if i64::try_from(*size).is_err() => Some(WorldProblem::Size(*size)),
            Mount::Tmpfs {
                inodes: Some(inodes),
                ..
            } if *inodes > u64::MAX / INODE_BYTES => Some(WorldProblem::Inodes(*inodes)),
            Mount::Tmpfs { .. }
            | Mount::Proc { .. }
            | Mount::Bind { .. }
            | Mount::NewRoot { .. }
                if normal == b"/" =>
            {
                Some(WorldProblem::MountPointIsRoot)
            }
            Mount::Bind { source, .. } if source.first() != Some(&b'/') => {
                Some(WorldProblem::SourceNotAbsolute(shown(source)))
            }
            Mount::Bind { source, .. } if source.contains(&0) => {
                Some(WorldProblem::SourceHasNul(shown(source)))
            }
            _ => None,
        }
    }
}

/// The error of a world that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WorldError {
    /// The path of the invalid mount; `None` if the problem is not in a mount.
    pub path: Option<String>,
    /// The problem.
    pub problem: WorldProblem,
}

impl WorldError {
    /// Creates an error of the mount at `path`.
    pub fn at(path: &[u8], problem: WorldProblem) -> WorldError {
        WorldError {
            path: Some(shown(path)),
            problem,
        }
    }
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
    /// The mode has bits beyond 7777.
    #[error("mode {0:o} is above 7777")]
    Mode(u32),
    /// The tmpfs size is 0, which means no limit to the kernel.
    #[error("to the kernel a size of 0 means no limit; set a larger one")]
    ZeroSize,
    /// The inode limit is 0, which means no limit to the kernel.
    #[error("to the kernel an inode limit of 0 means no limit; set a larger one")]
    ZeroInodes,
    /// The kernel cannot store the size.
    #[error("a size of {0} bytes is too large; for no limit omit it")]
    Size(u64),
    /// The kernel cannot store the number of inodes.
    #[error("a limit of {0} inodes is too large; for no limit omit it")]
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
    #[error("{0} is a symbolic link of this world; name what it leads to")]
    BelowLink(String),
    /// A procfs cannot be mounted below a tmpfs.
    #[error("a procfs below a tmpfs is not supported; mount it elsewhere")]
    ProcfsBelowTmpfs,
    /// Only one tmpfs can have binds below it.
    #[error(
        "binds below more than one tmpfs are not supported; put them below one tmpfs, or elsewhere"
    )]
    BindsBelowTwoTmpfs,
    /// The path is on a file system of the host.
    #[error("{HOST_FILE_SYSTEM}")]
    OnHostFileSystem,
    /// A new root follows mounts that each run makes for itself.
    #[error("a new root must come before any writable tmpfs and any procfs")]
    NewRootTooLate,
    /// The user or group id is 2^32-1, which means no id to the kernel.
    #[error(
        "{method}: to the kernel {} means no id; choose a smaller one, or omit it to use the \
         supervisor's",
        u32::MAX
    )]
    NoId {
        /// The method that sets the id.
        method: String,
    },
    /// The seccomp program is not valid.
    #[error("seccomp program: {0}")]
    Seccomp(String),
    /// The world takes too many bytes.
    #[error(
        "the world takes {bytes} bytes, and at most {max_bytes} are accepted; use fewer mounts"
    )]
    TooLong {
        /// The number of its bytes.
        bytes: u64,
        /// The most bytes that are accepted.
        max_bytes: u64,
    },
    /// The mounts of each run take too many bytes.
    #[error(
        "the mounts that each run makes take {bytes} bytes, and at most {max_bytes} are accepted; \
         use fewer mounts, or binds instead of tmpfs and procfs"
    )]
    RunMountsTooLong {
        /// The number of their bytes.
        bytes: u64,
        /// The most bytes that are accepted.
        max_bytes: u64,
    },
    /// The bytes do not encode a world.
    #[error("{0}")]
    Malformed(String),
    /// millibox has a bug.
    #[error("internal error: {0}; please report it")]
    Internal(String),
}
