//! The current files at the sources of mounts.

use crate::Mount;
use millibox_wire::Source;
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags, makedev, openat2, stat, statx,
};
use rustix::io::Errno;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of attempts to look up a source before it counts as not cached by the kernel. A
/// look-up takes one or two microseconds, while preparing another world takes a thousand.
const LOOK_UP_ATTEMPTS: usize = 64;

/// The file to which a mount's source currently leads, if the kernel has cached the path. A hanging
/// file system (FUSE, NFS) must not block the caller. The mounter of the world examines sources
/// that the kernel has not cached or that cannot be examined here.
pub fn find(mount: &Mount) -> Source {
    let Mount::Bind(bind) = mount else {
        return Source::None;
    };
    let path = bind.source();
    let resolve = if bind.no_follow {
        ResolveFlags::NO_SYMLINKS
    } else {
        ResolveFlags::NO_MAGICLINKS
    };
    let look_up = || {
        openat2(
            CWD,
            path,
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            resolve | ResolveFlags::CACHED,
        )
    };
    // EAGAIN means that the kernel has not cached the path, or that a mount was added or removed
    // somewhere on the machine in the meantime (mount_lock in fs/namespace.c), which is frequent
    // here.
    let mut found = look_up();
    for _ in 1..LOOK_UP_ATTEMPTS {
        if !matches!(found, Err(Errno::AGAIN)) {
            break;
        }
        found = look_up();
    }
    let found = match found {
        Ok(found) => statx(
            found,
            "",
            AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC,
            StatxFlags::INO,
        )
        .map(|seen| {
            (
                makedev(seen.stx_dev_major, seen.stx_dev_minor),
                seen.stx_ino,
            )
        }),
        // The kernel is older than Linux 5.12, or a seccomp program restricts this process.
        Err(Errno::NOSYS | Errno::INVAL | Errno::PERM) => {
            stat(path).map(|seen| (seen.st_dev, seen.st_ino))
        }
        Err(errno) => Err(errno),
    };
    match found {
        Ok((device, inode)) => Source::Is { device, inode },
        Err(_) => {
            static NEXT: AtomicU64 = AtomicU64::new(0);
            Source::Unknown(NEXT.fetch_add(1, Ordering::Relaxed))
        }
    }
}
