//! Mounts.

use crate::sys::Result;
use crate::sys::raw::syscall;
use core::ffi::CStr;

/// mount(2)
pub fn mount(
    source: &CStr,
    target: &CStr,
    kind: &CStr,
    flags: libc::c_ulong,
    data: &CStr,
) -> Result<()> {
    // SAFETY: all strings are NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_mount,
            [
                source.as_ptr() as usize,
                target.as_ptr() as usize,
                kind.as_ptr() as usize,
                flags as usize,
                data.as_ptr() as usize,
            ],
        )
    }
    .map(drop)
}

/// open_tree(2), Linux 5.2
pub fn open_tree(dir: i32, path: &CStr, flags: u32) -> Result<i32> {
    // SAFETY: `path` is NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_open_tree,
            [
                dir as isize as usize,
                path.as_ptr() as usize,
                flags as usize,
                0,
                0,
            ],
        )
    }
    .map(|fd| fd as i32)
}

/// move_mount(2) of the mount of descriptor `from` to path `to` relative to `dir`, Linux 5.2
pub fn move_mount(from: i32, dir: i32, to: &CStr, flags: u32) -> Result<()> {
    // SAFETY: both paths are NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_move_mount,
            [
                from as usize,
                c"".as_ptr() as usize,
                dir as isize as usize,
                to.as_ptr() as usize,
                (libc::MOVE_MOUNT_F_EMPTY_PATH | flags) as usize,
            ],
        )
    }
    .map(drop)
}

/// mount_setattr(2), Linux 5.12
pub fn mount_setattr(dir: i32, path: &CStr, flags: u32, set: u64) -> Result<()> {
    let attributes = libc::mount_attr {
        attr_set: set,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: `path` is NUL-terminated, and `attributes` has the size that is passed.
    unsafe {
        syscall(
            libc::SYS_mount_setattr,
            [
                dir as isize as usize,
                path.as_ptr() as usize,
                flags as usize,
                &raw const attributes as usize,
                size_of::<libc::mount_attr>(),
            ],
        )
    }
    .map(drop)
}
