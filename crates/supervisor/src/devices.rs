//! The devices of a world: null, zero, full, random, urandom, and links to the run's own
//! descriptors.
//!
//! Each mount of a template costs each run a few microseconds, because the kernel copies and
//! removes it. Root may create device nodes. So if root starts the supervisor, all devices of a
//! world are one mount: a small read-only tmpfs, created before privileges are dropped. Otherwise
//! the nodes of the host are bound one by one.

use crate::sys::calls;
use millibox_wire::{Located, Mount, Source};
use rustix::fs::{CWD, FileType, Mode};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount,
};
use std::os::fd::{AsFd, AsRawFd};

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
    for (name, minor) in NODES {
        let mode = Mode::from_raw_mode(0o666);
        rustix::fs::mknodat(
            &tmpfs,
            name,
            FileType::CharacterDevice,
            mode,
            rustix::fs::makedev(1, minor),
        )
        .ok()?;
        // The umask does not apply here.
        rustix::fs::chmodat(&tmpfs, name, mode, rustix::fs::AtFlags::empty()).ok()?;
        // A container may allow mknod(2) but not the use of the device.
        rustix::fs::openat(
            &tmpfs,
            name,
            rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC,
            Mode::empty(),
        )
        .ok()?;
    }
    for (name, target) in LINKS {
        rustix::fs::symlinkat(target, &tmpfs, name).ok()?;
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

/// Replaces each [`Mount::Devices`] by binds and links, or by a bind of the mount that [`make`] has
/// returned as `made`.
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
    for (index, mount) in mounts.into_iter().enumerate() {
        all_sources.push(sources.next().unwrap_or_default());
        let Mount::Devices { at } = mount else {
            all.push(mount);
            continue;
        };
        let at = normal(&at);
        let inside = |name: &str| [at.as_slice(), b"/", name.as_bytes()].concat();
        // Other mounts of the world below this path need mount points, which a read-only tmpfs
        // cannot provide.
        let others = paths
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index);
        let shared = others
            .map(|(_, path)| path)
            .any(|path| *path == at || crate::template::is_below(path, &at));
        match made {
            Some(place) if !shared && !moves => all.push(Mount::device(place, at)),
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
