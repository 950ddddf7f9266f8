//! The environment of a run, without the program.

use crate::path::{normal, shown};
use crate::{WorldError, WorldProblem};
use serde::{Deserialize, Serialize};

/// Everything that a program sees: files, ids, network and system calls.
///
/// Runs with equal worlds share the prepared mount namespace, the template. The pid1 of the second
/// run is prepared during the first run. So a world should not contain values that differ between
/// runs: arguments, descriptors and limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct World {
    /// The mount operations, in order. The root is initially an empty tmpfs, and becomes read-only
    /// after the last operation.
    pub mounts: Vec<Mount>,
    /// The user id inside the sandbox; `None` for the same number as outside.
    pub uid: Option<u32>,
    /// The group id inside the sandbox; `None` for the same number as outside.
    pub gid: Option<u32>,
    /// The network.
    pub network: Network,
    /// The seccomp program, as the bytes of a `struct sock_filter[]` (seccomp(2)); `None` for no
    /// program.
    pub seccomp: Option<Vec<u8>>,
    /// The program of which the runs in this world are copies; `None` if each run executes its own
    /// program.
    pub prepare: Option<Prepare>,
}

/// A program that is started once and runs until it announces that it is ready. Each run is a copy
/// of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepare {
    /// Path, arguments and environment. Each string ends with a NUL byte.
    #[serde(with = "serde_bytes")]
    pub strings: Vec<u8>,
    /// The number of arguments.
    pub arguments: u32,
    /// The number of environment strings.
    pub environment: u32,
    /// The time within which the program must be ready, in nanoseconds.
    pub real_time_ns: u64,
    /// The CPU time that the program may use until it is ready, in nanoseconds.
    pub cpu_time_ns: u64,
    /// The memory that the program may use until it is ready, in bytes. Backends with cgroups
    /// enforce it.
    pub memory: u64,
    /// The number of runs after which the program is restarted.
    pub runs: u32,
    /// The age after which the program is restarted, in nanoseconds.
    pub age_ns: u64,
}

/// The maximum size of the arguments and environment of a prepared run in bytes, including the NUL
/// of each string.
pub const MAX_PREPARED_BYTES: usize = 64 << 10;

/// A world as it is sent, with the identities of its sources at the time of the request.
///
/// A template refers to files, not to their names. Compilers, editors and package managers replace
/// files with new ones, which the next run must see. So two worlds differ if their names lead to
/// different files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Located {
    /// The world.
    pub world: World,
    /// The identities of the mounts' sources. If entries at the end are missing, those identities
    /// are unknown.
    pub sources: Vec<Source>,
}

impl Located {
    /// Encodes a located world from the encoding of its world, which is the same for each run.
    pub fn encoding(world: &[u8], sources: &Vec<Source>) -> Vec<u8> {
        [world, &crate::encode(sources)].concat()
    }
}

/// The identity of the source of a mount, if the client knows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The mount has no source, or the client has not looked it up.
    #[default]
    None,
    /// The identity of an existing file or directory (stat(2): `st_dev`, `st_ino`).
    Is {
        /// The device number of its file system.
        device: u64,
        /// The number of its inode.
        inode: u64,
    },
    /// The identity is not available, or would be available only after an unbounded wait. The
    /// number is unique, so no other run shares the template.
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
/// A missing mount point and missing parent directories are created with mode 0755 if they lie on a
/// file system of the world, that is, on its root or one of its tmpfses. Nothing is created on file
/// systems of the host, not even by `CreateDir`, `CreateFile` and `Symlink`. Paths are bytes,
/// because names in Linux need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mount {
    /// An empty tmpfs (tmpfs(5)), new for every run. It is mounted nosuid and nodev.
    Tmpfs {
        /// The mount point.
        at: Vec<u8>,
        /// The size limit in bytes, rounded up to whole pages; `None` for the memory of the
        /// machine. The memory limit of the run applies in any case.
        size: Option<u64>,
        /// The limit on inodes, including the root directory; `None` for no limit.
        inodes: Option<u64>,
        /// The mode of its root directory, at most 0o7777.
        mode: u32,
        /// Whether the tmpfs is read-only. An empty read-only tmpfs hides a directory.
        read_only: bool,
        /// Whether the tmpfs is mounted noexec.
        no_exec: bool,
    },
    /// A procfs (proc(5)) of the run's processes. It is mounted read-only, noexec, nosuid and
    /// nodev.
    Proc {
        /// The mount point.
        at: Vec<u8>,
        /// Whether the procfs has only the directories of processes (`subset=pid`, Linux 5.8).
        processes_only: bool,
        /// The files that describe the machine, in a procfs that otherwise has only processes.
        system: Option<SystemFiles>,
    },
    /// A directory with the configuration that programs expect in /etc: names of users and hosts,
    /// written for the run, and copies of some of the host's files.
    Etc {
        /// The directory.
        at: Vec<u8>,
        /// The home directory of the run's user.
        home: Vec<u8>,
    },
    /// A directory with files that state which CPUs a run may use, as sysfs does.
    Sys {
        /// The directory.
        at: Vec<u8>,
    },
    /// A file or directory of the host. It is always mounted nosuid, and nodev unless `device` is
    /// set.
    Bind {
        /// The path on the host.
        source: Vec<u8>,
        /// The mount point.
        at: Vec<u8>,
        /// Whether the mount is read-only, including submounts.
        read_only: bool,
        /// Whether all mounts below the source are included.
        recursive: bool,
        /// Whether its files cannot be executed, including those on submounts.
        no_exec: bool,
        /// Whether to fail if a component of `source` is a symbolic link. Set this if an untrusted
        /// program, such as an earlier run, could write to a parent directory of the source. Links
        /// in /proc to the open files of a process are never followed.
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
    /// A devpts (pts(4)) for pseudo-terminals, new for every run, and beside it the link `ptmx` to
    /// its multiplexer.
    Terminals {
        /// The mount point of the devpts.
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

/// The files of a procfs that describe the machine, such as meminfo. They are written when the
/// template is built, and state what a run may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemFiles {
    /// The memory that meminfo states, in bytes; `None` for the memory of the machine.
    pub memory: Option<u64>,
}

/// The number of bytes that the kernel counts for an inode (`BOGO_INODE_SIZE`, mm/shmem.c).
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
            system: None,
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

    /// The path inside the new root to which this operation applies.
    pub fn path(&self) -> &[u8] {
        match self {
            Mount::Tmpfs { at, .. }
            | Mount::Proc { at, .. }
            | Mount::Bind { at, .. }
            | Mount::Devices { at }
            | Mount::Etc { at, .. }
            | Mount::Sys { at }
            | Mount::Terminals { at } => at,
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
            | Mount::Etc { .. }
            | Mount::Sys { .. }
            | Mount::Terminals { .. }
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
