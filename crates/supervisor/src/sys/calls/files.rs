//! Files, directories and descriptors.

use super::{close, close_range};
use crate::sys::raw::syscall;
use crate::sys::{Errno, Result};
use core::ffi::CStr;

/// openat(2), always with `O_CLOEXEC`.
pub fn openat(dir: i32, path: &CStr, flags: i32, mode: u32) -> Result<i32> {
    open_with(dir, path, flags | libc::O_CLOEXEC, mode)
}

/// openat(2) of a file that stays open after an exec.
#[allow(dead_code, reason = "the library of prepared programs does not use it")]
pub fn openat_for_exec(dir: i32, path: &CStr, flags: i32) -> Result<i32> {
    open_with(dir, path, flags, 0)
}

fn open_with(dir: i32, path: &CStr, flags: i32, mode: u32) -> Result<i32> {
    // SAFETY: `path` is NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_openat,
            [
                dir as isize as usize,
                path.as_ptr() as usize,
                flags as usize,
                mode as usize,
                0,
            ],
        )
    }
    .map(|fd| fd as i32)
}

/// Moves a descriptor to the lowest free number above the standard descriptors, if that is lower
/// (fcntl(2), `F_DUPFD_CLOEXEC`). Returns its number.
pub fn move_down(fd: i32) -> Result<i32> {
    // SAFETY: all arguments are numbers.
    let lowest = unsafe {
        syscall(
            libc::SYS_fcntl,
            [fd as usize, libc::F_DUPFD_CLOEXEC as usize, 3, 0, 0],
        )
    }? as i32;
    let _ = close(lowest.max(fd));
    Ok(lowest.min(fd))
}

/// write(2) of all of `bytes` in one call, as control files require.
pub fn write(fd: i32, bytes: &[u8]) -> Result<()> {
    // SAFETY: pointer and length are those of a slice.
    let written = unsafe {
        syscall(
            libc::SYS_write,
            [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0],
        )
    }?;
    if written == bytes.len() {
        Ok(())
    } else {
        Err(Errno(libc::EIO))
    }
}

/// Opens a file, writes `bytes` in one call, and closes it.
pub fn write_file(dir: i32, path: &CStr, bytes: &[u8]) -> Result<()> {
    let fd = openat(dir, path, libc::O_WRONLY, 0)?;
    let answer = write(fd, bytes);
    let _ = close(fd);
    answer
}

/// pread(2) from the beginning of the file. Returns the filled part of `buffer`.
pub fn read_at_start(fd: i32, buffer: &mut [u8]) -> Result<&[u8]> {
    read_at(fd, buffer, 0)
}

/// pread(2). Returns the filled part of `buffer`.
pub fn read_at(fd: i32, buffer: &mut [u8], offset: usize) -> Result<&[u8]> {
    // SAFETY: pointer and length are those of a mutable slice.
    let read = unsafe {
        syscall(
            libc::SYS_pread64,
            [
                fd as usize,
                buffer.as_mut_ptr() as usize,
                buffer.len(),
                offset,
                0,
            ],
        )
    }?;
    Ok(buffer.get(..read).unwrap_or(&[]))
}

/// mkdirat(2)
pub fn mkdirat(dir: i32, path: &CStr, mode: u32) -> Result<()> {
    // SAFETY: `path` is NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_mkdirat,
            [
                dir as isize as usize,
                path.as_ptr() as usize,
                mode as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// unlinkat(2)
pub fn unlinkat(dir: i32, path: &CStr, flags: i32) -> Result<()> {
    // SAFETY: `path` is NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_unlinkat,
            [
                dir as isize as usize,
                path.as_ptr() as usize,
                flags as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// symlinkat(2)
pub fn symlinkat(target: &CStr, dir: i32, path: &CStr) -> Result<()> {
    // SAFETY: both strings are NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_symlinkat,
            [
                target.as_ptr() as usize,
                dir as isize as usize,
                path.as_ptr() as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// fchmodat(2)
pub fn chmodat(dir: i32, path: &CStr, mode: u32) -> Result<()> {
    // SAFETY: `path` is NUL-terminated.
    unsafe {
        syscall(
            libc::SYS_fchmodat,
            [
                dir as isize as usize,
                path.as_ptr() as usize,
                mode as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// chdir(2)
pub fn chdir(path: &CStr) -> Result<()> {
    // SAFETY: `path` is NUL-terminated.
    unsafe { syscall(libc::SYS_chdir, [path.as_ptr() as usize, 0, 0, 0, 0]) }.map(drop)
}

/// Whether a path exists, relative to the working directory (faccessat(2), `F_OK`).
pub fn exists(path: *const u8) -> bool {
    // SAFETY: the kernel returns EFAULT for an address that cannot be read.
    unsafe {
        syscall(
            libc::SYS_faccessat,
            [
                libc::AT_FDCWD as isize as usize,
                path as usize,
                libc::F_OK as usize,
                0,
                0,
            ],
        )
    }
    .is_ok()
}

/// The device and inode numbers of an open file (fstat(2); for `O_PATH` since Linux 3.6).
pub fn identity(fd: i32) -> Result<(u64, u64)> {
    // SAFETY: all zeros are a valid stat.
    let mut stat: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: the kernel writes one stat.
    unsafe {
        syscall(
            libc::SYS_fstat,
            [fd as usize, &raw mut stat as usize, 0, 0, 0],
        )
    }?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Whether a descriptor is readable or has hung up (poll(2)). Does not wait.
pub fn is_readable(fd: i32) -> bool {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    let zero = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel reads one pollfd and one timespec, and writes the pollfd.
    let ready = unsafe {
        syscall(
            libc::SYS_ppoll,
            [&raw mut poll as usize, 1, &raw const zero as usize, 0, 0],
        )
    };
    !matches!(ready, Ok(0))
}

/// Waits until one of two descriptors is readable or has hung up, but not longer than this time
/// (poll(2)). A signal ends the wait early. Returns the state of each descriptor.
pub fn wait_readable(fds: [i32; 2], timeout_ns: Option<u64>) -> [bool; 2] {
    let mut polls = fds.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    let timeout = timeout_ns.map(|ns| libc::timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    });
    let time = timeout
        .as_ref()
        .map_or(0, |time| core::ptr::from_ref(time) as usize);
    // SAFETY: the kernel reads two pollfds and at most one timespec, and writes the pollfds.
    let _ = unsafe {
        syscall(
            libc::SYS_ppoll,
            [polls.as_mut_ptr() as usize, polls.len(), time, 0, 0],
        )
    };
    polls.map(|poll| poll.revents != 0)
}

/// Closes those descriptors that are not -1, which stands for a missing one.
pub fn close_present(descriptors: impl IntoIterator<Item = i32>) {
    for fd in descriptors.into_iter().filter(|&fd| fd >= 0) {
        let _ = close(fd);
    }
}

/// Closes all descriptors that are not in `keep`. If this fails, the caller must exit, because the
/// open descriptors belong to other runners or to the client.
pub fn close_all_but(mut keep: Vec<i32>) -> Result<()> {
    keep.sort_unstable();
    let mut first = 0u32;
    for fd in keep {
        let fd = fd as u32;
        if fd > first {
            close_range(first, fd - 1, 0)?;
        }
        first = first.max(fd + 1);
    }
    close_range(first, u32::MAX, 0).map(drop)
}
