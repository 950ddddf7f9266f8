//! All of a run's surroundings that do not depend on the program.

use crate::error::HOST_FILE_SYSTEM;
use crate::path::{normal, shown};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a program sees: files, ids, network, system calls.
///
/// Two runs with equal worlds share the prepared mount namespace (template), and
/// the second one's pid1 is prepared while the first one runs. Keep what differs
/// from run to run (arguments, descriptors, limits) out of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct World {
    /// Mount operations, in order, on a root that is at first an empty tmpfs,
    /// read-only once all are done.
    pub mounts: Vec<Mount>,
    /// User id inside; `None`: the same number as outside.
    pub uid: Option<u32>,
    /// Group id inside; `None`: the same number as outside.
    pub gid: Option<u32>,
    /// Network.
    pub network: Network,
    /// Classic BPF program as `struct sock_filter[]` bytes (seccomp(2)); `None`: no filter.
    pub seccomp: Option<Vec<u8>>,
}

/// A world as it travels: with what its sources were when the run was asked for.
///
/// A template holds on to files, not to their names. So that a file put in another's place (as
/// compilers, editors and package managers do) is seen by the next run, two worlds whose names lead
/// to different files are two.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Located {
    /// The world.
    pub world: World,
    /// What is known of each mount's source; of those missing at the end nothing is.
    pub sources: Vec<Source>,
}

impl Located {
    /// The encoding, from that of the world, which does not change from run to run.
    pub fn encoding(world: &[u8], sources: &Vec<Source>) -> Vec<u8> {
        [world, &crate::encode(sources)].concat()
    }
}

/// What a client knows of the source of a mount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The mount has no source, or it was not looked up.
    #[default]
    None,
    /// Which file or directory it is, for as long as that exists (stat(2): `st_dev`, `st_ino`).
    Is {
        /// Number of its file system.
        device: u64,
        /// Its number there.
        inode: u64,
    },
    /// Not to be had without perhaps waiting, or not to be had. The number is given once, so no
    /// other run shares the template.
    Unknown(u64),
}

/// Network of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// A network namespace without any interface that is up.
    #[default]
    None,
    /// A network namespace of the run's own, with its loopback interface up.
    Loopback,
}

/// One mount operation. Paths are absolute and mean the new root; a bind's
/// source is a path of the host, as the (unprivileged) supervisor sees it.
///
/// Directories on the way to a mount point, and the mount point itself, are made (mode 0755) where
/// they are missing and the file system there is the world's own, one of its tmpfses or what its
/// mounts hang in. On what is bound from the host nothing is made, not by `CreateDir` and its like
/// either. Paths are bytes: Linux's names need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mount {
    /// An empty tmpfs (tmpfs(5)), fresh for every run. Mounted nosuid, nodev.
    Tmpfs {
        /// Mount point.
        at: Vec<u8>,
        /// Size limit in bytes, rounded up to whole pages; `None`: none but the memory limit.
        size: Option<u64>,
        /// Inode limit, the root directory counted; `None`: none.
        inodes: Option<u64>,
        /// Mode of its root directory, at most 0o7777.
        mode: u32,
        /// Read-only: for hiding what is beneath.
        read_only: bool,
        /// Nothing on it can be executed.
        no_exec: bool,
    },
    /// A procfs (proc(5)) that shows the run's processes only. Read-only, noexec, nosuid, nodev.
    Proc {
        /// Mount point.
        at: Vec<u8>,
        /// Only the process directories (`subset=pid`, Linux 5.8), not the system's files.
        processes_only: bool,
    },
    /// A file or directory of the host. Always nosuid; nodev unless `device`.
    Bind {
        /// Path on the host.
        source: Vec<u8>,
        /// Mount point.
        at: Vec<u8>,
        /// Read-only, submounts too.
        read_only: bool,
        /// With all mounts below it.
        recursive: bool,
        /// Nothing on it can be executed, submounts too.
        no_exec: bool,
        /// If any component of `source` is a symbolic link, fail: for a source below a
        /// directory that an untrusted program could write to, for example an earlier run.
        /// Links in /proc that lead to what a process has open are never followed.
        no_follow: bool,
        /// `source` is a device node that must work (no nodev).
        device: bool,
    },
    /// A directory with the devices null, zero, full, random and urandom, and links fd, stdin,
    /// stdout and stderr to the run's own descriptors (which work if there is a procfs at /proc).
    Devices {
        /// The directory.
        at: Vec<u8>,
    },
    /// Makes a directory with exactly this mode; its being there already is an error.
    CreateDir {
        /// Where.
        path: Vec<u8>,
        /// At most 0o7777.
        mode: u32,
    },
    /// Makes an empty regular file with exactly this mode; its being there already is an error.
    CreateFile {
        /// Where.
        path: Vec<u8>,
        /// At most 0o7777.
        mode: u32,
    },
    /// Makes a symbolic link.
    Symlink {
        /// What the link says.
        target: Vec<u8>,
        /// Where it stands.
        path: Vec<u8>,
    },
    /// From here on `path`, which must be a mount point made by an earlier
    /// operation, is the root.
    NewRoot {
        /// The mount point.
        path: Vec<u8>,
    },
}

/// What the kernel counts for an inode (`BOGO_INODE_SIZE`, mm/shmem.c).
const INODE_BYTES: u64 = 1024;

impl Mount {
    /// A fresh, writable tmpfs of mode 1777 without limits of its own.
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

    /// A file or directory of the host, read-only, with all below it.
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

    /// A file or directory of the host that the run may write to as far as the
    /// supervisor's user may, with all below it.
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

    /// A device node of the host, usable.
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

    /// The path inside the new root that this operation is about.
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

    /// Checks what can be checked without asking the kernel.
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
            // The kernel keeps the size in pages and bytes in a signed long (shmem_parse_one(),
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

/// A world that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WorldError {
    /// The path of the mount that is wrong; `None` if it is not about a mount.
    pub path: Option<String>,
    /// What is wrong.
    pub problem: WorldProblem,
}

impl WorldError {
    /// An error about the mount at `path`.
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

/// What is wrong with a world.
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
    /// A tmpfs size of 0 means no limit to the kernel.
    #[error("to the kernel a size of 0 means no limit; set a larger one")]
    ZeroSize,
    /// An inode limit of 0 means no limit to the kernel.
    #[error("to the kernel an inode limit of 0 means no limit; set a larger one")]
    ZeroInodes,
    /// The kernel cannot hold the size.
    #[error("a size of {0} bytes is too large; for no limit omit it")]
    Size(u64),
    /// The kernel cannot hold the number of inodes.
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
    /// A new root comes after mounts that each run makes for itself.
    #[error("a new root must come before any writable tmpfs and any procfs")]
    NewRootTooLate,
    /// User or group id 2^32-1 means no id to the kernel.
    #[error(
        "{method}: to the kernel {} means no id; choose a smaller one, or omit it to use the \
         supervisor's",
        u32::MAX
    )]
    NoId {
        /// The method that set it.
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
        /// Its bytes.
        bytes: u64,
        /// The most bytes that are accepted.
        max_bytes: u64,
    },
    /// What each run has to mount takes too many bytes.
    #[error(
        "the mounts that each run makes take {bytes} bytes, and at most {max_bytes} are accepted; \
         use fewer mounts, or binds instead of tmpfs and procfs"
    )]
    RunMountsTooLong {
        /// Their bytes.
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
