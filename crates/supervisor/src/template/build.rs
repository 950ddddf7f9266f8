//! The mounter: builds the template of a world.

use super::plan::{Plan, TemplateMount};
use super::system::{self, Content};
use crate::sys::{Errno, calls};
use millibox_wire::path::normal;
use millibox_wire::{Located, Mount, Source, Step};
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, StatxAttributes, StatxFlags,
};
use rustix::mount::{
    FsMountFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    UnmountFlags,
};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// An error of the mounter. `object` is the index of the mount in the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildError {
    pub step: Step,
    pub errno: Errno,
    pub object: usize,
}

/// The mounter's report.
pub struct Built {
    /// For each staged bind, whether it is a directory.
    pub directories: Vec<bool>,
    /// The stage's device number; 0 without a stage.
    pub stage: u64,
}

/// Builds the template in the calling process, whose mount namespace becomes the template. The
/// process must not be needed afterwards.
pub fn build(located: &Located, plan: &Plan) -> Result<Built, BuildError> {
    let Located {
        world,
        sources: seen,
    } = located;
    let whole = |step: Step| {
        move |errno: rustix::io::Errno| BuildError {
            step,
            errno: errno.into(),
            object: usize::MAX,
        }
    };
    calls::unshare(libc::CLONE_NEWNS).map_err(|errno| BuildError {
        step: Step::Template,
        errno,
        object: usize::MAX,
    })?;
    // Later mounts of the host must not propagate to the runs (mount_namespaces(7)). They would
    // keep their own flags, and could be writable in a read-only world.
    rustix::mount::mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .map_err(whole(Step::Template))?;

    // Open all sources, and read the host's files, before a mount can hide them.
    let mut files: Vec<Vec<(String, Content)>> = Vec::with_capacity(world.mounts.len());
    let mut sources = Vec::with_capacity(world.mounts.len());
    for (object, mount) in world.mounts.iter().enumerate() {
        let errs = |(step, errno)| BuildError {
            step,
            errno,
            object,
        };
        files.push(match mount {
            Mount::Etc { home, .. } => system::etc_files(
                world
                    .uid
                    .unwrap_or_else(|| rustix::process::getuid().as_raw()),
                world
                    .gid
                    .unwrap_or_else(|| rustix::process::getgid().as_raw()),
                home,
            ),
            Mount::Proc {
                system: Some(files),
                ..
            } => system::proc_files(files),
            Mount::Sys { .. } => system::sys_files(),
            _ => Vec::new(),
        });
        sources.push(match mount {
            Mount::Bind { .. } => Some(
                detached_bind(mount, seen.get(object).copied().unwrap_or_default())
                    .map_err(errs)?,
            ),
            Mount::Tmpfs {
                read_only: true,
                mode,
                ..
            } => Some(detached_tmpfs(*mode).map_err(errs)?),
            Mount::Tmpfs { .. } => None,
            Mount::Proc { .. } => Some(hosts_procfs().map_err(errs)?),
            _ => None,
        });
    }

    let skeleton = detached_tmpfs_writable(0o755).map_err(whole(Step::Template))?;
    // pivot_root(2) needs a mounted root. The files that this mount on /proc hides are no longer
    // needed.
    rustix::mount::move_mount(
        skeleton.as_fd(),
        "",
        CWD,
        "/proc",
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )
    .map_err(whole(Step::Template))?;

    let copy = skeleton
        .as_fd()
        .try_clone_to_owned()
        .map_err(|_| whole(Step::Template)(rustix::io::Errno::MFILE))?;
    let mut root = Root::new(copy).map_err(whole(Step::Template))?;
    let mut stage: Option<Root> = None;
    let mut staged_directories = Vec::new();
    for (object, what) in &plan.template {
        let object = *object;
        let errs = |(step, errno)| BuildError {
            step,
            errno,
            object,
        };
        let mount = &world.mounts[object];
        let path = normal(mount.path()).unwrap_or_default();
        match what {
            TemplateMount::MountPoint => {
                root.directory(&path)
                    .map_err(|errno| errs((Step::MountPoint, errno)))?;
            }
            TemplateMount::Stage => {
                let at = root
                    .directory(&path)
                    .map_err(|errno| errs((Step::MountPoint, errno)))?;
                let new = detached_tmpfs_writable(0o755)
                    .map_err(|errno| errs((Step::Mount, errno.into())))?;
                attach(&new, at.as_fd()).map_err(|errno| errs((Step::Mount, errno)))?;
                stage = Some(Root::new(new).map_err(whole(Step::Template))?);
            }
            TemplateMount::IntoStage(name) => {
                let (Some(stage), Some(source)) = (&stage, &sources[object]) else {
                    return Err(errs((Step::Template, Errno(libc::EINVAL))));
                };
                let directory =
                    is_directory(source).map_err(|errno| errs((Step::MountSource, errno)))?;
                staged_directories.push(directory);
                let path = format!("/{name}");
                let at = stage
                    .node(path.as_bytes(), directory)
                    .map_err(|errno| errs((Step::MountPoint, errno)))?;
                attach(source, at.as_fd()).map_err(|errno| errs((Step::Mount, errno)))?;
            }
            TemplateMount::Procfs => {
                let at = root
                    .directory(&path)
                    .map_err(|errno| errs((Step::MountPoint, errno)))?;
                if let Some(source) = &sources[object] {
                    attach(source, at.as_fd()).map_err(|errno| errs((Step::Mount, errno)))?;
                }
                root.write(system::PROC_FILES.as_bytes(), &files[object])
                    .map_err(|errno| errs((Step::MountPoint, errno)))?;
            }
            TemplateMount::Unchanged => {
                if let Mount::NewRoot { .. } = mount {
                    root.change(&path)
                        .map_err(|errno| errs((Step::NewRoot, errno)))?;
                } else if let Mount::Etc { .. } | Mount::Sys { .. } = mount {
                    root.write(&path, &files[object])
                        .map_err(|errno| errs((Step::MountPoint, errno)))?;
                } else {
                    mount_unchanged(&root, mount, &path, sources[object].as_ref()).map_err(errs)?;
                }
            }
        }
    }

    // Skeleton and stage belong to millibox and are complete, so they become read-only. Otherwise a
    // run with writable mounts around the stage could reach the stage by another path and leave
    // files for the next run.
    for made in std::iter::once(&skeleton).chain(stage.as_ref().map(|stage| &stage.at)) {
        set_attributes(made, libc::MOUNT_ATTR_RDONLY, false).map_err(|errno| BuildError {
            step: Step::Template,
            errno,
            object: usize::MAX,
        })?;
    }
    pivot(root.at.as_fd()).map_err(whole(Step::NewRoot))?;
    Ok(Built {
        directories: staged_directories,
        stage: stage.map_or(0, |stage| stage.device),
    })
}

/// Calls pivot_root(2) so that the old root is stacked on the new one, and detaches the old root.
/// This needs no directory for the old root (pivot_root(2), NOTES).
fn pivot(root: BorrowedFd) -> rustix::io::Result<()> {
    rustix::process::fchdir(root)?;
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")
}

fn mount_unchanged(
    root: &Root,
    mount: &Mount,
    path: &[u8],
    source: Option<&OwnedFd>,
) -> Result<(), (Step, Errno)> {
    let making = |errno| (Step::MountPoint, errno);
    match (mount, source) {
        (Mount::Bind { .. }, Some(source)) => {
            let directory = is_directory(source).map_err(|errno| (Step::MountSource, errno))?;
            let at = root.node(path, directory).map_err(making)?;
            attach(source, at.as_fd()).map_err(|errno| (Step::Mount, errno))
        }
        (Mount::Tmpfs { .. }, Some(source)) => {
            let at = root.directory(path).map_err(making)?;
            attach(source, at.as_fd()).map_err(|errno| (Step::Mount, errno))
        }
        (Mount::CreateDir { mode, .. }, _) => {
            let (parent, name) = root.parent(path).map_err(making)?;
            rustix::fs::mkdirat(&parent, &name, Mode::from_raw_mode(0o700))
                .map_err(|e| making(e.into()))?;
            rustix::fs::chmodat(&parent, &name, Mode::from_raw_mode(*mode), AtFlags::empty())
                .map_err(|e| making(e.into()))
        }
        (Mount::CreateFile { mode, .. }, _) => {
            let (parent, name) = root.parent(path).map_err(making)?;
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::openat(&parent, &name, flags, Mode::from_raw_mode(0o600))
                .map_err(|e| making(e.into()))?;
            rustix::fs::chmodat(&parent, &name, Mode::from_raw_mode(*mode), AtFlags::empty())
                .map_err(|e| making(e.into()))
        }
        (Mount::Symlink { target, .. }, _) => {
            let (parent, name) = root.parent(path).map_err(making)?;
            rustix::fs::symlinkat(target.as_slice(), &parent, &name).map_err(|e| making(e.into()))
        }
        _ => Err((Step::Template, Errno(libc::EINVAL))),
    }
}

/// Returns a detached copy of the source's mount, with its attributes set and verified.
///
/// The source must be the file that the client has `seen`. Otherwise later requests that refer to
/// the file that the client has seen would use this template.
fn detached_bind(mount: &Mount, seen: Source) -> Result<OwnedFd, (Step, Errno)> {
    let Mount::Bind {
        source,
        read_only,
        recursive,
        no_exec,
        no_follow,
        device,
        ..
    } = mount
    else {
        return Err((Step::Template, Errno(libc::EINVAL)));
    };
    // A run may have written the source, so the path must not lead through the open files or the
    // root of another process.
    let mut resolve = ResolveFlags::NO_MAGICLINKS;
    if *no_follow {
        resolve |= ResolveFlags::NO_SYMLINKS;
    }
    let found = rustix::fs::openat2(
        CWD,
        source.as_slice(),
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        resolve,
    )
    .map_err(|errno| (Step::MountSource, errno.into()))?;
    if let Source::Is { device, inode } = seen {
        let stat = rustix::fs::fstat(&found).map_err(|errno| (Step::MountSource, errno.into()))?;
        if (stat.st_dev, stat.st_ino) != (device, inode) {
            return Err((Step::MountSource, Errno(libc::ESTALE)));
        }
    }
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    if *recursive {
        flags |= OpenTreeFlags::AT_RECURSIVE;
    }
    let tree = rustix::mount::open_tree(&found, "", flags)
        .map_err(|errno| (Step::MountSource, errno.into()))?;
    let mut attributes = libc::MOUNT_ATTR_NOSUID;
    if !device {
        attributes |= libc::MOUNT_ATTR_NODEV;
    }
    if *read_only {
        attributes |= libc::MOUNT_ATTR_RDONLY;
    }
    if *no_exec {
        attributes |= libc::MOUNT_ATTR_NOEXEC;
    }
    set_attributes(&tree, attributes, *recursive)
        .map_err(|errno| (Step::MountAttributes, errno))?;
    // Read the attributes back, because the kernel may have set fewer than requested.
    let now = rustix::fs::fstatvfs(&tree)
        .map_err(|errno| (Step::MountAttributes, errno.into()))?
        .f_flag;
    let holds = now.contains(StatVfsMountFlags::NOSUID)
        && (!*read_only || now.contains(StatVfsMountFlags::RDONLY))
        && (!*no_exec || now.contains(StatVfsMountFlags::NOEXEC));
    if holds {
        Ok(tree)
    } else {
        Err((Step::MountAttributes, Errno(libc::EPERM)))
    }
}

/// Returns a read-only mount of the host's procfs. pid1 later mounts its own procfs over it.
fn hosts_procfs() -> Result<OwnedFd, (Step, Errno)> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = rustix::mount::open_tree(CWD, "/proc", flags)
        .map_err(|errno| (Step::MountSource, errno.into()))?;
    let attributes = libc::MOUNT_ATTR_RDONLY
        | libc::MOUNT_ATTR_NOSUID
        | libc::MOUNT_ATTR_NODEV
        | libc::MOUNT_ATTR_NOEXEC;
    set_attributes(&tree, attributes, true).map_err(|errno| (Step::MountAttributes, errno))?;
    Ok(tree)
}

fn set_attributes(tree: &OwnedFd, attributes: u64, recursive: bool) -> Result<(), Errno> {
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    calls::mount_setattr(tree.as_raw_fd(), c"", flags as u32, attributes)
}

/// Creates an empty read-only tmpfs, which hides a directory and is shared by all runs.
fn detached_tmpfs(mode: u32) -> Result<OwnedFd, (Step, Errno)> {
    let tmpfs = detached_tmpfs_writable(mode).map_err(|errno| (Step::Mount, errno.into()))?;
    set_attributes(
        &tmpfs,
        libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOEXEC,
        false,
    )
    .map_err(|errno| (Step::MountAttributes, errno))?;
    Ok(tmpfs)
}

fn detached_tmpfs_writable(mode: u32) -> rustix::io::Result<OwnedFd> {
    let context = rustix::mount::fsopen("tmpfs", rustix::mount::FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(&context, "mode", format!("{mode:o}"))?;
    rustix::mount::fsconfig_create(&context)?;
    rustix::mount::fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV,
    )
}

fn attach(mount: &OwnedFd, at: BorrowedFd) -> Result<(), Errno> {
    rustix::mount::move_mount(
        mount.as_fd(),
        "",
        at,
        "",
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH,
    )?;
    Ok(())
}

fn write_all(file: &OwnedFd, mut text: &[u8]) -> rustix::io::Result<()> {
    while !text.is_empty() {
        let written = rustix::io::write(file, text)?;
        text = text.get(written..).unwrap_or_default();
    }
    Ok(())
}

fn is_directory(fd: &OwnedFd) -> Result<bool, Errno> {
    let stat = rustix::fs::fstat(fd)?;
    Ok(rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory)
}

/// The maximum number of attempts to open a path while files are renamed or mounts change. An
/// attempt takes microseconds.
const OPEN_ATTEMPTS: usize = 10_000;

/// The root of a world during its construction.
struct Root {
    at: OwnedFd,
    /// The device number of the file system that millibox has created. Missing files are created
    /// only there, because other file systems belong to the host.
    device: u64,
}

impl Root {
    fn new(at: OwnedFd) -> rustix::io::Result<Root> {
        let device = rustix::fs::fstat(&at)?.st_dev;
        Ok(Root { at, device })
    }

    /// Changes the root to the mount at `path`.
    fn change(&mut self, path: &[u8]) -> Result<(), Errno> {
        let at = self.open(path, OFlags::DIRECTORY)?;
        let statx = rustix::fs::statx(&at, "", AtFlags::EMPTY_PATH, StatxFlags::empty())?;
        if !statx.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
            return Err(Errno(libc::EINVAL));
        }
        self.at = at;
        Ok(())
    }

    /// Opens a path. Symbolic links are resolved inside the root (openat2(2)).
    fn open(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let open = || {
            rustix::fs::openat2(
                &self.at,
                path,
                OFlags::PATH | OFlags::CLOEXEC | flags,
                Mode::empty(),
                ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS,
            )
        };
        // EAGAIN means that a file was renamed or a mount changed somewhere on the machine in the
        // meantime, so the kernel cannot determine where the `..` of a link leads (handle_dots in
        // fs/namei.c).
        let mut opened = open();
        for _ in 1..OPEN_ATTEMPTS {
            if !matches!(opened, Err(rustix::io::Errno::AGAIN)) {
                break;
            }
            opened = open();
        }
        Ok(opened?)
    }

    /// Returns the parent directory of a new `path` and the last component of the path. The
    /// directory is created if necessary.
    ///
    /// The error is `EXDEV` if the directory belongs to the host and is writable.
    fn parent(&self, path: &[u8]) -> Result<(OwnedFd, Vec<u8>), Errno> {
        let cut = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let name = path.get(cut + 1..).unwrap_or_default().to_vec();
        if name.is_empty() {
            return Err(Errno(libc::EEXIST));
        }
        let above = self.directory(path.get(..cut.max(1)).unwrap_or(b"/"))?;
        if rustix::fs::fstat(&above)?.st_dev == self.device {
            return Ok((above, name));
        }
        // Creation would report the same error, except for EXDEV.
        Err(Errno(
            match rustix::fs::statat(&above, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => libc::EEXIST,
                Err(_)
                    if rustix::fs::fstatvfs(&above)?
                        .f_flag
                        .contains(StatVfsMountFlags::RDONLY) =>
                {
                    libc::EROFS
                }
                Err(_) => libc::EXDEV,
            },
        ))
    }

    /// Opens a directory. Missing directories on the way are created.
    fn directory(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        match self.open(path, OFlags::DIRECTORY) {
            Err(Errno(libc::ENOENT)) if path != b"/" => {}
            answer => return answer,
        }
        let (above, name) = self.parent(path)?;
        rustix::fs::mkdirat(&above, &name, Mode::from_raw_mode(0o755))?;
        self.open(path, OFlags::DIRECTORY)
    }

    /// Writes files below a directory. Files that exist are kept.
    fn write(&self, at: &[u8], files: &[(String, Content)]) -> Result<(), Errno> {
        for (name, content) in files {
            let path = [at, b"/", name.as_bytes()].concat();
            let (above, name) = self.parent(&path)?;
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let create = |mode| rustix::fs::openat(&above, &name, flags, Mode::from_raw_mode(mode));
            let written = match content {
                Content::Link(target) => rustix::fs::symlinkat(target.as_slice(), &above, &name),
                Content::Text(text) => create(0o444).and_then(|file| write_all(&file, text)),
                Content::Unreadable => create(0).map(drop),
            };
            match written {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Opens a mount point of the requested type, and creates it if necessary.
    fn node(&self, path: &[u8], directory: bool) -> Result<OwnedFd, Errno> {
        if directory {
            return self.directory(path);
        }
        match self.open(path, OFlags::empty()) {
            Err(Errno(libc::ENOENT)) => {}
            Ok(there) if is_directory(&there)? => return Err(Errno(libc::EISDIR)),
            answer => return answer,
        }
        let (above, name) = self.parent(path)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        rustix::fs::openat(&above, &name, flags, Mode::from_raw_mode(0o644))?;
        self.open(path, OFlags::empty())
    }
}
