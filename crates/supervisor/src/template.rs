//! Templates: a mount namespace prepared once for each world and copied for each run.
//!
//! A template is made by a process of its own, the *mounter*: a mount on a file system
//! that hangs (FUSE, NFS) hangs the mounter and the runs that want that world, and
//! nothing else; and when it is done only its mount namespace is left, as a descriptor.
//!
//! What a world asks for is split ([`plan`]): binds, directories, files and links go
//! into the template; a tmpfs that can be written and a procfs belong to one run, so the
//! template has only their mount points and pid1 mounts them in its copy. What is
//! mounted below such a tmpfs must come after it: the template holds it ready in a
//! *stage*, a tmpfs at the same mount point, which the run's own tmpfs then covers.
//!
//! In its copy, pid1's user namespace owns less than the template's did, so the kernel
//! locks all mounts together (mount_namespaces(7)): nobody inside can take one away and
//! look at what is beneath.

use crate::runner::RunMount;
use crate::sys::{Errno, calls};
use millibox_wire::path::{normal, shown};
use millibox_wire::{Located, Mount, Source, Step, World, WorldError, WorldProblem};
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, StatxAttributes, StatxFlags,
};
use rustix::mount::{
    FsMountFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    UnmountFlags,
};
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// An error of the mounter: step, errno, number of the mount among the world's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildError {
    pub step: Step,
    pub errno: Errno,
    pub object: usize,
}

/// What is done when.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// For the mounter, with the mount's number.
    template: Vec<(usize, TemplateMount)>,
    /// For pid1, with the mount's number. A staged bind's mount point is made by
    /// operations that [`Plan::run_mounts`] adds when the mounter has told its type.
    run: Vec<(usize, RunMount)>,
    /// Staged binds: index into `run` of their `FromStage`; whether their mount point is the
    /// host's.
    staged: Vec<(usize, bool)>,
    /// The template needs a visible procfs, or pid1 may not mount one.
    pub wants_procfs: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum TemplateMount {
    /// Carry out the world's operation as it is.
    AsAsked,
    /// Make the mount point only.
    MountPoint,
    /// Put the host's procfs there, for pid1 to cover.
    Procfs,
    /// Make the mount point and put a stage on it.
    Stage,
    /// Put the bind into the latest stage under this name.
    IntoStage(String),
}

/// Splits a world's mounts between template and run.
pub fn plan(world: &World) -> Result<Plan, WorldError> {
    let mut plan = Plan::default();
    // Names of links below the run's own tmpfses so far.
    let mut links: Vec<Vec<u8>> = Vec::new();
    // Where something is mounted so far, and whether it is the host's.
    let mut mounted: Vec<(Vec<u8>, bool)> = Vec::new();
    // Mount points of the run's own tmpfses so far, with the number of the template
    // operation that makes each.
    let mut own: Vec<(Vec<u8>, usize)> = Vec::new();
    for (number, mount) in world.mounts.iter().enumerate() {
        mount.check()?;
        let wrong = |problem| WorldError::at(mount.path(), problem);
        let path = normal(mount.path()).map_err(wrong)?;
        let c_path = CString::new(path.clone()).map_err(|_| wrong(WorldProblem::PathHasNul))?;
        let stage = own
            .iter()
            .rev()
            .find(|(above, _)| is_below(&path, above))
            .map(|(_, at)| *at);
        // What it means would not be seen from its name, as it is here.
        if let Some(link) = links.iter().find(|link| is_below(&path, link)) {
            return Err(wrong(WorldProblem::BelowLink(shown(link))));
        }
        match mount {
            Mount::Tmpfs {
                size,
                inodes,
                mode,
                read_only: false,
                no_exec,
                ..
            } => {
                let mut options = format!("mode={mode:o}");
                if let Some(size) = size {
                    options.push_str(&format!(",size={size}"));
                }
                // tmpfs(5): 0 is "no limit" for both, so a size of 0 is refused by `check`.
                options.push_str(&format!(",nr_inodes={}", inodes.unwrap_or(0)));
                if size.is_none() {
                    options.push_str(",size=0");
                }
                if stage.is_some() {
                    make_parents(&mut plan, number, &path, &own, &mounted);
                    if !is_hosts(&path, &mounted) {
                        let path = c_path.clone();
                        plan.run.push((
                            number,
                            RunMount::CreateDir {
                                path,
                                mode: 0o755,
                                may_exist: true,
                            },
                        ));
                    }
                } else {
                    own.push((path.clone(), plan.template.len()));
                    plan.template.push((number, TemplateMount::MountPoint));
                }
                let options = CString::new(options).map_err(|_| internal("tmpfs options"))?;
                plan.run.push((
                    number,
                    RunMount::Tmpfs {
                        path: c_path,
                        options,
                        no_exec: *no_exec,
                    },
                ));
            }
            Mount::Proc { processes_only, .. } => {
                if stage.is_some() {
                    return Err(wrong(WorldProblem::ProcfsBelowTmpfs));
                }
                plan.wants_procfs = true;
                plan.template.push((number, TemplateMount::Procfs));
                let options = if *processes_only { c"subset=pid" } else { c"" };
                plan.run.push((
                    number,
                    RunMount::Proc {
                        path: c_path,
                        options: options.to_owned(),
                    },
                ));
            }
            Mount::Bind { .. } | Mount::Tmpfs { .. } if stage.is_some() => {
                let Some(at) = stage else { continue };
                let (owner, _) = plan.template[at];
                if plan.template[at].1 == TemplateMount::MountPoint {
                    plan.template[at].1 = TemplateMount::Stage;
                    let point = plan.run.iter().position(|(number, run)| {
                        *number == owner && matches!(run, RunMount::Tmpfs { .. })
                    });
                    let (Some(point), Some((above, _))) =
                        (point, own.iter().find(|(_, index)| *index == at))
                    else {
                        return Err(internal("a stage without its tmpfs"));
                    };
                    let above =
                        CString::new(above.clone()).map_err(|_| wrong(WorldProblem::PathHasNul))?;
                    plan.run.insert(
                        point,
                        (
                            owner,
                            RunMount::OpenStage {
                                path: above,
                                device: 0,
                            },
                        ),
                    );
                    plan.staged
                        .iter_mut()
                        .filter(|(index, _)| *index >= point)
                        .for_each(|(index, _)| *index += 1);
                }
                let name = plan.staged.len().to_string();
                make_parents(&mut plan, number, &path, &own, &mounted);
                let c_name = CString::new(name.clone())
                    .map_err(|_| internal("the name of a staged mount"))?;
                plan.template.push((number, TemplateMount::IntoStage(name)));
                plan.staged
                    .push((plan.run.len(), is_hosts(&path, &mounted)));
                plan.run.push((
                    number,
                    RunMount::FromStage {
                        name: c_name,
                        path: c_path,
                    },
                ));
            }
            Mount::CreateDir { .. } | Mount::CreateFile { .. } | Mount::Symlink { .. }
                if stage.is_some() && is_hosts(&path, &mounted) =>
            {
                return Err(wrong(WorldProblem::OnHostFileSystem));
            }
            Mount::CreateDir { mode, .. } if stage.is_some() => {
                make_parents(&mut plan, number, &path, &own, &mounted);
                plan.run.push((
                    number,
                    RunMount::CreateDir {
                        path: c_path,
                        mode: *mode,
                        may_exist: false,
                    },
                ));
            }
            Mount::CreateFile { mode, .. } if stage.is_some() => {
                make_parents(&mut plan, number, &path, &own, &mounted);
                plan.run.push((
                    number,
                    RunMount::CreateFile {
                        path: c_path,
                        mode: *mode,
                        may_exist: false,
                    },
                ));
            }
            Mount::Symlink { target, .. } if stage.is_some() => {
                let target =
                    CString::new(target.clone()).map_err(|_| wrong(WorldProblem::TargetHasNul))?;
                make_parents(&mut plan, number, &path, &own, &mounted);
                plan.run.push((
                    number,
                    RunMount::Symlink {
                        target,
                        path: c_path,
                    },
                ));
                links.push(path.clone());
            }
            // `devices::expand` has put something else in its place.
            Mount::Devices { .. } => return Err(internal("devices as one mount")),
            Mount::NewRoot { .. } => {
                if !plan.run.is_empty() {
                    return Err(wrong(WorldProblem::NewRootTooLate));
                }
                plan.template.push((number, TemplateMount::AsAsked));
            }
            Mount::Bind { .. }
            | Mount::Tmpfs { .. }
            | Mount::CreateDir { .. }
            | Mount::CreateFile { .. }
            | Mount::Symlink { .. } => plan.template.push((number, TemplateMount::AsAsked)),
        }
        match mount {
            Mount::Bind { .. } => mounted.push((path, true)),
            Mount::Tmpfs { .. } | Mount::Proc { .. } => mounted.push((path, false)),
            _ => {}
        }
    }
    // One stage is open at a time, so the binds of one must follow each other.
    let stages = plan
        .template
        .iter()
        .filter(|(_, what)| *what == TemplateMount::Stage)
        .count();
    if stages > 1 {
        return Err(WorldProblem::BindsBelowTwoTmpfs.into());
    }
    Ok(plan)
}

fn internal(what: &str) -> WorldError {
    WorldProblem::Internal(what.to_owned()).into()
}

impl Plan {
    /// pid1's operations, now that the mounter has told which staged binds are
    /// directories, and what device the stage is.
    pub fn run_mounts(self, staged_directories: &[bool], stage: u64) -> Vec<(u32, RunMount)> {
        let mut all = Vec::new();
        for (index, (number, mut mount)) in self.run.into_iter().enumerate() {
            let number = number as u32;
            if let RunMount::OpenStage { device, .. } = &mut mount {
                *device = stage;
            }
            if let RunMount::FromStage { path, .. } = &mount {
                let which = self.staged.iter().position(|(at, _)| *at == index);
                let directory = which
                    .and_then(|at| staged_directories.get(at))
                    .copied()
                    .unwrap_or(false);
                let hosts = which
                    .and_then(|at| self.staged.get(at))
                    .is_some_and(|(_, hosts)| *hosts);
                let path = path.clone();
                if directory && !hosts {
                    all.push((
                        number,
                        RunMount::CreateDir {
                            path,
                            mode: 0o755,
                            may_exist: true,
                        },
                    ));
                } else if !hosts {
                    all.push((
                        number,
                        RunMount::CreateFile {
                            path,
                            mode: 0o644,
                            may_exist: true,
                        },
                    ));
                }
            }
            all.push((number, mount));
        }
        all
    }
}

/// Directories between a run's own tmpfs and `path`, as far as they are not the host's.
fn make_parents(
    plan: &mut Plan,
    number: usize,
    path: &[u8],
    own: &[(Vec<u8>, usize)],
    mounted: &[(Vec<u8>, bool)],
) {
    let Some(above) = own
        .iter()
        .map(|(above, _)| above)
        .filter(|above| is_below(path, above))
        .max_by_key(|a| a.len())
    else {
        return;
    };
    for (at, _) in path
        .iter()
        .enumerate()
        .filter(|(at, byte)| **byte == b'/' && *at > above.len())
    {
        let path = &path[..at];
        if let (Ok(path), false) = (CString::new(path), is_hosts(path, mounted)) {
            plan.run.push((
                number,
                RunMount::CreateDir {
                    path,
                    mode: 0o755,
                    may_exist: true,
                },
            ));
        }
    }
}

/// Whether what has been mounted makes a path one of the host's: the latest mount above it is what
/// it lies on.
fn is_hosts(path: &[u8], mounted: &[(Vec<u8>, bool)]) -> bool {
    mounted
        .iter()
        .rev()
        .find(|(above, _)| is_below(path, above))
        .is_some_and(|(_, hosts)| *hosts)
}

/// Whether a normal path lies below another.
pub fn is_below(path: &[u8], above: &[u8]) -> bool {
    above == b"/" && path != b"/"
        || path
            .strip_prefix(above)
            .is_some_and(|rest| rest.first() == Some(&b'/'))
}

/// What the mounter tells.
pub struct Built {
    /// For each staged bind, whether it is a directory.
    pub directories: Vec<bool>,
    /// The stage's device number; 0: there is none.
    pub stage: u64,
}

/// Builds the template in the calling process, which must not be needed afterwards:
/// its mount namespace is the template.
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
    // What the host mounts later must not come to the runs (mount_namespaces(7)): it would bring
    // its own flags, and be writable in a world that is to be read.
    rustix::mount::mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .map_err(whole(Step::Template))?;

    // All sources are opened before anything is mounted that might hide them.
    let mut sources = Vec::with_capacity(world.mounts.len());
    for (object, mount) in world.mounts.iter().enumerate() {
        let errs = |(step, errno)| BuildError {
            step,
            errno,
            object,
        };
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
    // It must hang somewhere to be pivoted to; what it hides there is of no use any more.
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
    let mut root = Root::of_ours(copy).map_err(whole(Step::Template))?;
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
                stage = Some(Root::of_ours(new).map_err(whole(Step::Template))?);
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
            }
            TemplateMount::AsAsked => {
                if let Mount::NewRoot { .. } = mount {
                    root.change(&path)
                        .map_err(|errno| errs((Step::NewRoot, errno)))?;
                } else {
                    as_asked(&root, mount, &path, sources[object].as_ref()).map_err(errs)?;
                }
            }
        }
    }

    // Skeleton and stage are ours; all that is in them has been made. Where runs can write around
    // the stage one might find it at another place, and leave something for the next.
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
        stage: stage.map_or(0, |stage| stage.ours),
    })
}

/// pivot_root(2) with the old root stacked on the new one, then let go (the way that
/// needs no directory for the old root: pivot_root(2), NOTES).
fn pivot(root: BorrowedFd) -> rustix::io::Result<()> {
    rustix::process::fchdir(root)?;
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")
}

fn as_asked(
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

/// A copy of the source's mount, with its attributes set and read back, attached nowhere. The
/// source must be what the client has `seen`: else the template would be used for runs that are
/// asked for when it is that again.
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
    // A run may have written what is there: no path leads through somebody's open files or root.
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
    // What was asked for is read back.
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

/// The host's procfs, for pid1 to cover; nothing could be done with it even if it were not.
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

/// An empty tmpfs for hiding things: read-only, the same for all runs.
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

fn is_directory(fd: &OwnedFd) -> Result<bool, Errno> {
    let stat = rustix::fs::fstat(fd)?;
    Ok(rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory)
}

/// The root of a world while it is built.
struct Root {
    at: OwnedFd,
    /// The device number of the file system that is ours. What is missing on others is not made:
    /// they are the host's.
    ours: u64,
}

impl Root {
    fn of_ours(at: OwnedFd) -> rustix::io::Result<Root> {
        let ours = rustix::fs::fstat(&at)?.st_dev;
        Ok(Root { at, ours })
    }

    /// Another directory becomes the root: what is mounted there.
    fn change(&mut self, path: &[u8]) -> Result<(), Errno> {
        let at = self.open(path, OFlags::DIRECTORY)?;
        let statx = rustix::fs::statx(&at, "", AtFlags::EMPTY_PATH, StatxFlags::empty())?;
        if !statx.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
            return Err(Errno(libc::EINVAL));
        }
        self.at = at;
        Ok(())
    }

    /// Opens a path, however its symbolic links point (openat2(2)).
    fn open(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        Ok(rustix::fs::openat2(
            &self.at,
            path,
            OFlags::PATH | OFlags::CLOEXEC | flags,
            Mode::empty(),
            ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS,
        )?)
    }

    /// The directory that `path`, which is to be made, lies in, made if need be, and the last
    /// component.
    ///
    /// `EXDEV`: that directory is the host's, and could be written.
    fn parent(&self, path: &[u8]) -> Result<(OwnedFd, Vec<u8>), Errno> {
        let cut = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let name = path.get(cut + 1..).unwrap_or_default().to_vec();
        if name.is_empty() {
            return Err(Errno(libc::EEXIST));
        }
        let above = self.directory(path.get(..cut.max(1)).unwrap_or(b"/"))?;
        if rustix::fs::fstat(&above)?.st_dev == self.ours {
            return Ok((above, name));
        }
        // What making it would say, but for the last.
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

    /// A directory; it and those above it are made where they are missing.
    fn directory(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        match self.open(path, OFlags::DIRECTORY) {
            Err(Errno(libc::ENOENT)) if path != b"/" => {}
            answer => return answer,
        }
        let (above, name) = self.parent(path)?;
        rustix::fs::mkdirat(&above, &name, Mode::from_raw_mode(0o755))?;
        self.open(path, OFlags::DIRECTORY)
    }

    /// A mount point of the fitting type, made if it is missing.
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
