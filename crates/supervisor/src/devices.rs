//! The devices of a world: null, zero, full, random, urandom, and links to the run's own
//! descriptors.
//!
//! Every mount of a template costs each run a few microseconds, as it is copied and taken apart
//! again. Root may make device nodes, so started by root all of a world's devices are one
//! mount: a small read-only tmpfs, made before privileges are dropped. Everybody else binds the
//! host's nodes one by one.

use crate::sys::calls;
use millibox_wire::{Located, Mount, Source};
use rustix::fs::{CWD, FileType, Mode};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount,
};
use std::os::fd::{AsFd, AsRawFd};

/// Name, minor number (their major number is 1: "memory devices", null(4), full(4), random(4)).
const NODES: [(&str, u32); 5] = [
    ("null", 3),
    ("zero", 5),
    ("full", 7),
    ("random", 8),
    ("urandom", 9),
];
/// Name, what the link says. They work if there is a procfs at /proc.
const LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// Where the tmpfs may hang in the supervisor's mount namespace: directories that are there on
/// most machines and that nobody would show to a program.
const PLACES: [&str; 4] = [
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/sys/kernel/security",
    "/sys/fs/bpf",
];

/// Makes the tmpfs, in a mount namespace that we make for it and stay in. Its place, or `None`
/// if it cannot be made here.
pub fn make() -> Option<String> {
    calls::unshare(libc::CLONE_NEWNS).ok()?;
    // What is mounted here stays here; what the host mounts later still comes.
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
        // Whatever the umask is.
        rustix::fs::chmodat(&tmpfs, name, mode, rustix::fs::AtFlags::empty()).ok()?;
        // A container may forbid the device although it let us make the node.
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
    PLACES.into_iter().find(attach).map(str::to_owned)
}

/// Puts binds and links in place of every [`Mount::Devices`]; `made` is what [`make`] answered.
pub fn expand(located: Located, made: Option<&str>) -> Located {
    let Located { mut world, sources } = located;
    let mounts = std::mem::take(&mut world.mounts);
    let mut sources = sources.into_iter();
    let normal = |path: &[u8]| millibox_wire::path::normal(path).unwrap_or_else(|_| path.to_vec());
    let paths: Vec<Vec<u8>> = mounts.iter().map(|mount| normal(mount.path())).collect();
    // What comes after a new root is found by another path.
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
        // What else the world wants there could not be made in a tmpfs that is read-only.
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
