//! The devices of a world: null, zero, full, random, urandom, and links to the run's own
//! descriptors. A world with terminals also has the link ptmx. It has no device tty: the kernel
//! changes the times of its node when a terminal is used through it, and all runs would share the
//! node.
//!
//! Each mount of a template costs each run a few microseconds, because the kernel copies and
//! removes it. Root may create device nodes. So if root starts the supervisor, all devices of a
//! world are one mount of a small read-only tmpfs, created before privileges are dropped. It has a
//! directory for each [`Kind`] of world. Otherwise the nodes of the host are bound one by one.

use crate::sys::calls;
use millibox_wire::{Located, Mount, Source};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount,
};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Names and minor numbers of the devices. The major number is 1, "memory devices" (null(4),
/// full(4), random(4)).
const NODES: [(&str, u32); 5] = [
    ("null", 3),
    ("zero", 5),
    ("full", 7),
    ("random", 8),
    ("urandom", 9),
];
/// Names and targets of links. The links work if a procfs is mounted at /proc.
const LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// A kind of world, by what it mounts below its directory of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    /// The name of its directory in the tmpfs.
    name: &'static str,
    /// The mount points in the directory.
    mount_points: &'static [&'static str],
    has_terminals: bool,
}

/// The kinds of worlds with a directory in the tmpfs: minimal worlds, standard worlds, and those
/// with terminals.
const KINDS: [Kind; 3] = [
    Kind {
        name: "minimal",
        mount_points: &[],
        has_terminals: false,
    },
    Kind {
        name: "standard",
        mount_points: &["shm"],
        has_terminals: false,
    },
    Kind {
        name: "terminals",
        mount_points: &["shm", "pts"],
        has_terminals: true,
    },
];

/// Candidate mount points for the tmpfs in the supervisor's mount namespace: directories that exist
/// on most machines and that are not shown to programs.
const MOUNT_POINTS: [&str; 4] = [
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/sys/kernel/security",
    "/sys/fs/bpf",
];

/// Creates the tmpfs in a new mount namespace, in which this process stays. Returns its mount
/// point, or `None` if it cannot be created here.
pub fn make() -> Option<String> {
    calls::unshare(libc::CLONE_NEWNS).ok()?;
    // Mounts made here do not propagate to the host. Later mounts of the host still arrive here.
    mount_change(
        "/",
        MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC,
    )
    .ok()?;
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC).ok()?;
    fsconfig_set_string(&context, "mode", "755").ok()?;
    fsconfig_set_string(&context, "size", "64k").ok()?;
    fsconfig_create(&context).ok()?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let tmpfs = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes).ok()?;
    for kind in KINDS {
        let mode = Mode::from_raw_mode(0o755);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let make_directory = |at: &OwnedFd, name: &str| {
            rustix::fs::mkdirat(at, name, mode).ok()?;
            // The umask does not apply here.
            rustix::fs::chmodat(at, name, mode, AtFlags::empty()).ok()?;
            rustix::fs::openat(at, name, flags, Mode::empty()).ok()
        };
        let directory = make_directory(&tmpfs, kind.name)?;
        for node in NODES {
            make_node(&directory, node)?;
        }
        for (name, target) in LINKS {
            rustix::fs::symlinkat(target, &directory, name).ok()?;
        }
        for name in kind.mount_points {
            make_directory(&directory, name)?;
        }
        if kind.has_terminals {
            rustix::fs::symlinkat("pts/ptmx", &directory, "ptmx").ok()?;
        }
    }
    calls::mount_setattr(
        tmpfs.as_raw_fd(),
        c"",
        libc::AT_EMPTY_PATH as u32,
        libc::MOUNT_ATTR_RDONLY,
    )
    .ok()?;
    let attach = |place: &&str| {
        move_mount(
            tmpfs.as_fd(),
            "",
            CWD,
            *place,
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
        )
        .is_ok()
    };
    MOUNT_POINTS.into_iter().find(attach).map(str::to_owned)
}

fn make_node(directory: &OwnedFd, (name, minor): (&str, u32)) -> Option<()> {
    let mode = Mode::from_raw_mode(0o666);
    let device = rustix::fs::makedev(1, minor);
    rustix::fs::mknodat(directory, name, FileType::CharacterDevice, mode, device).ok()?;
    // The umask does not apply here.
    rustix::fs::chmodat(directory, name, mode, AtFlags::empty()).ok()?;
    // A container may allow mknod(2) but not the use of the device.
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::empty()).ok()?;
    Some(())
}

/// Replaces each [`Mount::Devices`] by binds and links, or by a bind of one directory in the tmpfs
/// that [`make`] has mounted at `made`. In the first case, also adds the link beside a
/// [`Mount::Terminals`].
pub fn expand(located: Located, made: Option<&str>) -> Located {
    let Located { mut world, sources } = located;
    let mounts = std::mem::take(&mut world.mounts);
    let mut sources = sources.into_iter();
    let normal = |path: &[u8]| millibox_wire::path::normal(path).unwrap_or_else(|_| path.to_vec());
    let paths: Vec<Vec<u8>> = mounts.iter().map(|mount| normal(mount.path())).collect();
    // After a new root, the paths of later mounts no longer refer to the same places.
    let moves = mounts
        .iter()
        .any(|mount| matches!(mount, Mount::NewRoot { .. }));
    let mut all = Vec::with_capacity(mounts.len());
    let mut all_sources = Vec::with_capacity(mounts.len());
    let needs_only_a_mount_point: Vec<bool> = mounts
        .iter()
        .map(|mount| {
            matches!(
                mount,
                Mount::Tmpfs { .. } | Mount::Bind { .. } | Mount::Terminals { .. }
            )
        })
        .collect();
    let terminals: Vec<Vec<u8>> = mounts
        .iter()
        .filter(|mount| matches!(mount, Mount::Terminals { .. }))
        .map(|mount| normal(mount.path()))
        .collect();
    // The directories that already have the link beside a devpts.
    let mut complete: Vec<Vec<u8>> = Vec::new();
    for (index, mount) in mounts.into_iter().enumerate() {
        all_sources.push(sources.next().unwrap_or_default());
        let at = match &mount {
            Mount::Devices { at } => normal(at),
            Mount::Terminals { at } => {
                let at = normal(at);
                let cut = at.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
                let (above, name) = (at[..cut].to_vec(), &at[cut..]);
                if !complete.contains(&above) {
                    all.push(Mount::Symlink {
                        target: [name.get(1..).unwrap_or_default(), b"/ptmx"].concat(),
                        path: [&above, b"/ptmx".as_slice()].concat(),
                    });
                    all_sources.push(Source::None);
                }
                all.push(mount);
                continue;
            }
            _ => {
                all.push(mount);
                continue;
            }
        };
        let inside = |name: &str| [at.as_slice(), b"/", name.as_bytes()].concat();
        // Other mounts of the world below this path need mount points, which a read-only tmpfs
        // cannot provide, except for those of its kind.
        let others = || {
            let others = paths.iter().enumerate();
            let others = others.filter(|(other, path)| {
                *other != index && (**path == at || crate::template::is_below(path, &at))
            });
            others.map(|(other, path)| (needs_only_a_mount_point[other], path))
        };
        let kind = KINDS.iter().find(|kind| {
            let is_there = |(is_enough, path): (bool, &Vec<u8>)| {
                let mut points = kind.mount_points.iter();
                is_enough && points.any(|name| *path == inside(name))
            };
            others().all(is_there) && terminals.contains(&inside("pts")) == kind.has_terminals
        });
        match (made, kind) {
            (Some(place), Some(kind)) if !moves => {
                all.push(Mount::device(format!("{place}/{}", kind.name), at.clone()));
                if kind.has_terminals {
                    complete.push(at);
                }
            }
            _ => {
                all.extend(
                    NODES.map(|(name, _)| Mount::device(format!("/dev/{name}"), inside(name))),
                );
                let link = |(name, target): (&str, &str)| Mount::Symlink {
                    target: target.into(),
                    path: inside(name),
                };
                all.extend(LINKS.map(link));
            }
        }
        all_sources.resize(all.len(), Source::None);
    }
    world.mounts = all;
    Located {
        world,
        sources: all_sources,
    }
}
