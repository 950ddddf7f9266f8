//! Removes everything that a program left in its feedback directory.

use rustix::fs::{AtFlags, Dir, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Removes everything in a directory. The function first moves nested directories up, so it needs a
/// constant amount of stack and a constant number of descriptors.
pub(super) fn empty(directory: BorrowedFd<'_>) -> rustix::io::Result<()> {
    let mut moved = 0u64;
    loop {
        let names = names(directory)?;
        if names.is_empty() {
            return Ok(());
        }
        for name in names {
            if remove_shallow(directory, &name)? {
                continue;
            }
            let inner = open_directory(directory, &name)?;
            for below in self::names(inner.as_fd())? {
                if !remove_shallow(inner.as_fd(), &below)? {
                    // Moving a directory rewrites its `..`, which needs write permission.
                    let _ = allow(inner.as_fd(), &below);
                    move_up(inner.as_fd(), &below, directory, &mut moved)?;
                }
            }
            rustix::fs::unlinkat(directory, &*name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Removes a file or an empty directory. Returns false for a directory that is not empty.
fn remove_shallow(directory: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<bool> {
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        // POSIX specifies PERM for directories.
        Err(Errno::ISDIR | Errno::PERM) => {
            match rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
                removed => removed.map(|()| true),
            }
        }
        Err(Errno::NOENT) => Ok(true),
        removed => removed.map(|()| true),
    }
}

fn move_up(
    from: BorrowedFd<'_>,
    name: &CStr,
    to: BorrowedFd<'_>,
    count: &mut u64,
) -> rustix::io::Result<()> {
    loop {
        *count += 1;
        let target = format!("moved-{count}");
        match rustix::fs::renameat_with(from, name, to, target, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            moved => return moved,
        }
    }
}

/// Opens a directory. The run must have ended.
pub(super) fn open_directory(
    directory: BorrowedFd<'_>,
    name: &CStr,
) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    // The run may have removed all permissions of the owner, and the owner may be the judge.
    allow(directory, name)?;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}

/// Gives the owner of a directory all permissions. The run has ended, so the entry cannot change.
fn allow(directory: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<()> {
    rustix::fs::chmodat(directory, name, Mode::RWXU, AtFlags::empty())
}

fn names(directory: BorrowedFd<'_>) -> rustix::io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}
