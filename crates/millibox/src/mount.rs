//! Mount operations. Each kind with options has its own type, with the setters that apply to it.

use std::path::{Path, PathBuf};

/// A mount operation of a [`World`](crate::World). The associated functions create operations. For
/// kinds with options, they return a type with setters.
///
/// Paths are absolute inside the new root. The source of a bind is a path of the host, as the
/// unprivileged supervisor sees it. A missing mount point and missing parent directories are
/// created with mode 0755 if they lie on a file system of the world, that is, on its root or one of
/// its tmpfses. Nothing is created on file systems of the host.
///
/// ```
/// use millibox::{Mount, World};
///
/// let world = World::minimal()
///     .mount(Mount::read_only("/srv/tests", "/tests").no_follow())
///     .mount(Mount::tmpfs("/work").size_limit(64 << 20).no_exec())
///     .mount(Mount::create_dir("/work/out", 0o755))
///     .mount(Mount::proc("/proc").processes_only());
/// assert!(world.mounts().iter().any(|mount| mount.path().ends_with("out")));
/// ```
///
/// A setter of another kind does not compile:
///
/// ```compile_fail
/// millibox::Mount::proc("/proc").no_follow();
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mount {
    /// A file or directory of the host.
    Bind(BindMount),
    /// An empty tmpfs, new for every run.
    Tmpfs(TmpfsMount),
    /// A procfs of the run's processes.
    Proc(ProcMount),
    /// A directory with the devices null, zero, full, random and urandom, and the links fd, stdin,
    /// stdout and stderr to the run's own descriptors. The links need a procfs at /proc.
    #[non_exhaustive]
    Devices {
        /// The directory.
        at: PathBuf,
    },
    /// A directory with the configuration that programs expect in /etc. passwd, group, hosts,
    /// hostname and nsswitch.conf are written for the run: they name the run's user and the host
    /// `millibox`, and no account of the host. shadow cannot be opened. Some files without secrets,
    /// such as localtime, are copies of the host's.
    #[non_exhaustive]
    Etc {
        /// The directory.
        at: PathBuf,
        /// The home directory of the run's user.
        home: PathBuf,
    },
    /// A directory with files that state which CPUs the run may use, as sysfs does:
    /// devices/system/cpu/online, present and possible. They do not change while the run lives.
    #[non_exhaustive]
    Sys {
        /// The directory.
        at: PathBuf,
    },
    /// A devpts for pseudo-terminals, new for every run; see
    /// [`World::terminals`](crate::World::terminals).
    #[non_exhaustive]
    Terminals {
        /// The mount point of the devpts.
        at: PathBuf,
    },
    /// Creates a directory with exactly this mode. Fails if the path exists.
    #[non_exhaustive]
    CreateDir {
        /// The path of the directory.
        path: PathBuf,
        /// The mode, at most 0o7777.
        mode: u32,
    },
    /// Creates an empty regular file with exactly this mode. Fails if the path exists.
    #[non_exhaustive]
    CreateFile {
        /// The path of the file.
        path: PathBuf,
        /// The mode, at most 0o7777.
        mode: u32,
    },
    /// Creates a symbolic link.
    #[non_exhaustive]
    Symlink {
        /// The target of the link.
        target: PathBuf,
        /// The path of the link.
        path: PathBuf,
    },
    /// Makes `path` the root for the following operations. It must be a mount point of an earlier
    /// operation.
    #[non_exhaustive]
    NewRoot {
        /// The mount point.
        path: PathBuf,
    },
}

impl Mount {
    /// A file or directory of the host with everything below it, read-only.
    pub fn read_only(source: impl Into<PathBuf>, at: impl Into<PathBuf>) -> BindMount {
        BindMount {
            source: source.into(),
            at: at.into(),
            read_only: true,
            recursive: true,
            no_exec: false,
            no_follow: false,
            device: false,
        }
    }

    /// A file or directory of the host with everything below it. The run may write wherever the
    /// supervisor's user may write.
    pub fn read_write(source: impl Into<PathBuf>, at: impl Into<PathBuf>) -> BindMount {
        BindMount {
            read_only: false,
            ..Mount::read_only(source, at)
        }
    }

    /// A usable device node of the host.
    pub fn device(source: impl Into<PathBuf>, at: impl Into<PathBuf>) -> BindMount {
        BindMount {
            recursive: false,
            no_exec: true,
            device: true,
            ..Mount::read_only(source, at)
        }
    }

    /// A writable tmpfs of mode 1777 without its own limits, new for every run.
    pub fn tmpfs(at: impl Into<PathBuf>) -> TmpfsMount {
        TmpfsMount {
            at: at.into(),
            size: None,
            memory: None,
            inodes: None,
            mode: 0o1777,
            read_only: false,
            no_exec: false,
        }
    }

    /// A procfs (proc(5)) of the run's processes. It is mounted read-only, noexec, nosuid and
    /// nodev.
    pub fn proc(at: impl Into<PathBuf>) -> ProcMount {
        ProcMount {
            at: at.into(),
            processes_only: false,
            system: None,
        }
    }

    /// A directory with the configuration that programs expect in /etc. `home` is the home
    /// directory of the run's user.
    pub fn etc(at: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Mount {
        let (at, home) = (at.into(), home.into());
        Mount::Etc { at, home }
    }

    /// A directory with files that state which CPUs the run may use, as sysfs does.
    pub fn sys(at: impl Into<PathBuf>) -> Mount {
        Mount::Sys { at: at.into() }
    }

    /// A devpts for at most 16 pseudo-terminals, with the link ptmx beside it.
    pub fn terminals(at: impl Into<PathBuf>) -> Mount {
        Mount::Terminals { at: at.into() }
    }

    /// A directory with the devices null, zero, full, random and urandom.
    pub fn devices(at: impl Into<PathBuf>) -> Mount {
        Mount::Devices { at: at.into() }
    }

    /// A new directory with this mode.
    pub fn create_dir(path: impl Into<PathBuf>, mode: u32) -> Mount {
        let path = path.into();
        Mount::CreateDir { path, mode }
    }

    /// A new empty regular file with this mode.
    pub fn create_file(path: impl Into<PathBuf>, mode: u32) -> Mount {
        let path = path.into();
        Mount::CreateFile { path, mode }
    }

    /// A symbolic link at `path`.
    pub fn symlink(target: impl Into<PathBuf>, path: impl Into<PathBuf>) -> Mount {
        Mount::Symlink {
            target: target.into(),
            path: path.into(),
        }
    }

    /// Makes `path` the root for the following operations. It must be a mount point of an earlier
    /// operation.
    pub fn new_root(path: impl Into<PathBuf>) -> Mount {
        Mount::NewRoot { path: path.into() }
    }

    /// The path inside the new root to which this operation applies.
    pub fn path(&self) -> &Path {
        match self {
            Mount::Bind(BindMount { at, .. })
            | Mount::Tmpfs(TmpfsMount { at, .. })
            | Mount::Proc(ProcMount { at, .. })
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
}

/// A file or directory of the host in a world. It is always mounted nosuid, and nodev unless it is
/// a device.
///
/// ```
/// use millibox::{Mount, World};
///
/// let sources = Mount::read_only("/usr/src", "/src").not_recursive().no_exec();
/// assert_eq!(sources.source().to_str(), Some("/usr/src"));
/// let world = World::minimal().mount(sources);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindMount {
    pub(crate) source: PathBuf,
    pub(crate) at: PathBuf,
    pub(crate) read_only: bool,
    pub(crate) recursive: bool,
    pub(crate) no_exec: bool,
    pub(crate) no_follow: bool,
    pub(crate) device: bool,
}

impl BindMount {
    /// Makes the mount fail if a component of the source is a symbolic link. Set this if an
    /// untrusted program, such as an earlier run, could write to a parent directory of the source.
    /// Links in /proc to the open files of a process are never followed.
    #[must_use]
    pub fn no_follow(mut self) -> BindMount {
        self.no_follow = true;
        self
    }

    /// Forbids the execution of its files, including those on submounts.
    #[must_use]
    pub fn no_exec(mut self) -> BindMount {
        self.no_exec = true;
        self
    }

    /// Leaves out mounts below the source.
    #[must_use]
    pub fn not_recursive(mut self) -> BindMount {
        self.recursive = false;
        self
    }

    /// The path on the host.
    pub fn source(&self) -> &Path {
        &self.source
    }

    /// The mount point.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// Whether the mount is a device node, created by [`Mount::device`].
    pub fn is_device(&self) -> bool {
        self.device
    }

    /// Whether the mount is read-only, including submounts.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }
}

/// An empty tmpfs (tmpfs(5)) in a world, new for every run. It is mounted nosuid and nodev.
///
/// ```
/// use millibox::{Mount, Outcome, Request, Supervisor, World};
///
/// let Ok(supervisor) = Supervisor::start() else { return };
/// let world = World::minimal().mount(Mount::tmpfs("/work").size_limit(1 << 20));
/// let request = Request::new("/bin/sh")
///     .args(["-c", "head -c 2M /dev/zero > /work/large"])
///     .world(&world);
/// // The file system is full after one MiB.
/// assert_eq!(supervisor.run(&request).unwrap().wait().unwrap().outcome, Outcome::Exited(1));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TmpfsMount {
    pub(crate) at: PathBuf,
    pub(crate) size: Option<u64>,
    /// The size if `size` is `None`, from the memory limit of the world's runs.
    pub(crate) memory: Option<u64>,
    pub(crate) inodes: Option<u64>,
    pub(crate) mode: u32,
    pub(crate) read_only: bool,
    pub(crate) no_exec: bool,
}

impl TmpfsMount {
    /// Limits the size in bytes, rounded up to whole pages. The default is the memory that
    /// [`World::memory`](crate::World::memory) states, or the memory of the machine. The memory
    /// limit of the run applies in any case.
    #[must_use]
    pub fn size_limit(mut self, bytes: u64) -> TmpfsMount {
        self.size = Some(bytes);
        self
    }

    /// Limits the number of inodes, including the root directory. The default is no limit.
    #[must_use]
    pub fn inode_limit(mut self, inodes: u64) -> TmpfsMount {
        self.inodes = Some(inodes);
        self
    }

    /// Sets the mode of the root directory, at most 0o7777. The default is 0o1777.
    #[must_use]
    pub fn mode(mut self, mode: u32) -> TmpfsMount {
        self.mode = mode;
        self
    }

    /// Makes the tmpfs read-only. An empty read-only tmpfs hides a directory.
    #[must_use]
    pub fn read_only(mut self) -> TmpfsMount {
        self.read_only = true;
        self
    }

    /// Forbids the execution of its files.
    #[must_use]
    pub fn no_exec(mut self) -> TmpfsMount {
        self.no_exec = true;
        self
    }
}

/// A procfs (proc(5)) of the run's processes in a world. It is mounted read-only, noexec, nosuid
/// and nodev.
///
/// ```
/// use millibox::{Mount, World};
///
/// let world = World::minimal().mount(Mount::proc("/proc").processes_only());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcMount {
    pub(crate) at: PathBuf,
    pub(crate) processes_only: bool,
    pub(crate) system: Option<Option<u64>>,
}

impl ProcMount {
    /// Shows only the directories of processes (`subset=pid`, Linux 5.8).
    #[must_use]
    pub fn processes_only(mut self) -> ProcMount {
        self.processes_only = true;
        self
    }

    /// Shows the directories of processes, and files that describe the machine as the run may use
    /// it: cpuinfo, filesystems, loadavg, meminfo, stat, uptime, version and some of sys. They do
    /// not change while the run lives, and contain no load or times of the host. The links mounts
    /// and net lead to those of the process.
    ///
    /// meminfo states the memory of the machine, unless [`World::memory`](crate::World::memory)
    /// sets another value.
    #[must_use]
    pub fn system_files(mut self) -> ProcMount {
        self.processes_only = true;
        self.system = Some(None);
        self
    }
}

impl From<BindMount> for Mount {
    fn from(mount: BindMount) -> Mount {
        Mount::Bind(mount)
    }
}

impl From<TmpfsMount> for Mount {
    fn from(mount: TmpfsMount) -> Mount {
        Mount::Tmpfs(mount)
    }
}

impl From<ProcMount> for Mount {
    fn from(mount: ProcMount) -> Mount {
        Mount::Proc(mount)
    }
}
