//! Removes directory trees that untrusted programs wrote.
//!
//! A program can nest directories more deeply than a recursive removal has stack or descriptors
//! for, and can take away the permissions that a removal needs. [`empty`] moves nested directories
//! up before it removes them, and restores the permissions of directories that the caller owns.
//!
//! No function follows a link, so a program that still runs cannot lead a removal out of the
//! directory. It can only make the removal fail.
//!
//! ```
//! let directory = tempfile::tempdir()?;
//! std::fs::create_dir_all(directory.path().join("a/b/c"))?;
//! millibox_removal::empty(std::fs::File::open(directory.path())?)?;
//! assert_eq!(std::fs::read_dir(directory.path())?.count(), 0);
//! # Ok::<(), std::io::Error>(())
//! ```
#![forbid(unsafe_code)]

use rustix::fs::{AtFlags, Dir, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Flags for opening a directory itself, and not the target of a link.
const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Removes everything in an open directory, but not the directory itself. Needs a constant amount
/// of stack and a constant number of descriptors.
///
/// # Errors
/// An entry cannot be removed, for example because it belongs to a different user, or because a
/// program is still creating entries. Everything else may have been removed. End such programs
/// first: a program that creates entries as fast as they are removed delays the end.
pub fn empty(directory: impl AsFd) -> rustix::io::Result<()> {
    let directory = directory.as_fd();
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
                    let _ = open_directory(inner.as_fd(), &below);
                    move_up(inner.as_fd(), &below, directory, &mut moved)?;
                }
            }
            rustix::fs::unlinkat(directory, &*name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Opens a directory for reading, and gives its owner all permissions, which a program may have
/// taken away.
///
/// # Errors
/// The name is not that of a directory, or the directory belongs to a different user and cannot be
/// read.
pub fn open_directory(directory: impl AsFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    let open = |from: BorrowedFd<'_>, name: &CStr, flags| {
        rustix::fs::openat(from, name, DIRECTORY | flags, Mode::empty())
    };
    let opened = match open(directory.as_fd(), name, OFlags::RDONLY) {
        Err(Errno::ACCESS) => {
            // chmod(2) on the name could follow a link that has just replaced the directory.
            let path = open(directory.as_fd(), name, OFlags::PATH)?;
            rustix::fs::chmod(format!("/proc/self/fd/{}", path.as_raw_fd()), Mode::RWXU)?;
            open(path.as_fd(), c".", OFlags::RDONLY)?
        }
        opened => opened?,
    };
    match rustix::fs::fchmod(&opened, Mode::RWXU) {
        // The directory of a different user may be readable and empty.
        Err(Errno::PERM) => Ok(opened),
        changed => changed.map(|()| opened),
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, fchmod, mkdirat, openat};
    use tempfile::TempDir;

    /// Directories inside each other, all with this mode. Their paths are longer than PATH_MAX, so
    /// each one is created through the descriptor of its parent.
    fn nested(depth: u32, mode: Mode) -> (TempDir, OwnedFd) {
        let directory = tempfile::tempdir().unwrap();
        let top = openat(CWD, directory.path(), DIRECTORY, Mode::empty()).unwrap();
        let mut outer = top.try_clone().unwrap();
        for level in 0..depth {
            // The removal moves directories to names such as this one.
            for name in [c"directory", c"moved-1"] {
                mkdirat(&outer, name, Mode::RWXU).unwrap();
                let file = openat(&outer, name, DIRECTORY, Mode::empty()).unwrap();
                openat(
                    file,
                    c"file",
                    OFlags::CREATE | OFlags::WRONLY,
                    Mode::empty(),
                )
                .unwrap();
            }
            let inner = openat(&outer, c"directory", DIRECTORY, Mode::empty()).unwrap();
            if level != 0 {
                fchmod(&outer, mode).unwrap();
            }
            outer = inner;
        }
        fchmod(&outer, mode).unwrap();
        (directory, top)
    }

    fn assert_empty(directory: &TempDir) {
        let left = std::fs::read_dir(directory.path()).unwrap();
        let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn deep_directories_without_permissions_are_removed() {
        let (directory, top) = nested(5000, Mode::empty());
        empty(&top).unwrap();
        assert_empty(&directory);
    }

    #[test]
    fn links_are_removed_and_not_followed() {
        let (outside, top_outside) = nested(1, Mode::RUSR);
        let (directory, top) = nested(1, Mode::RWXU);
        for name in ["link", "directory/link", "moved-1/link"] {
            std::os::unix::fs::symlink(outside.path(), directory.path().join(name)).unwrap();
        }
        empty(&top).unwrap();
        assert_empty(&directory);
        let mode = rustix::fs::stat(outside.path().join("directory"))
            .unwrap()
            .st_mode;
        assert_eq!(Mode::from_raw_mode(mode), Mode::RUSR);
        empty(&top_outside).unwrap();
    }

    #[test]
    fn link_in_place_of_a_directory_is_not_opened() {
        let (outside, _) = nested(1, Mode::RWXU);
        let (directory, top) = nested(1, Mode::RWXU);
        std::os::unix::fs::symlink(outside.path(), directory.path().join("link")).unwrap();
        let opened = open_directory(&top, c"link");
        assert!(
            matches!(opened, Err(Errno::NOTDIR | Errno::LOOP)),
            "{opened:?}"
        );
        empty(&top).unwrap();
    }
}
