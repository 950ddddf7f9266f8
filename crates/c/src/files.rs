//! A directory of the host for the files of a run.
//!
//! A sandboxed program controls the content of the directory, so it may contain links to other
//! files, pipes and devices. The functions open a name below the directory without following any
//! link (openat2(2)), and read only regular files.
#![allow(unsafe_code, reason = "the functions are exported by name")]

use crate::border::{self, Owned, checked, given, returned};
use crate::error::Error;
use millibox::Supervisor;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fchmod, fchown, fstat, mkdirat, openat2};
use rustix::io::Errno;
use rustix::process::{Gid, Uid, geteuid};
use std::ffi::{CString, OsStr, c_char, c_void};
use std::fs::File;
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tempfile::TempDir;

/// A temporary directory of the host for the files of programs, which the sandbox's unprivileged
/// user may read and write. Show it in a world with millibox_world_add_read_only or
/// millibox_world_add_read_write.
///
/// Only one thread at a time may use it, and no thread while a program that can write to it runs.
pub struct Files {
    directory: Owned<Directory>,
    path: CString,
}

struct Directory {
    /// Opened before any program could take away the permission to open it.
    open: OwnedFd,
    _temporary: TempDir,
}

impl Drop for Directory {
    fn drop(&mut self) {
        // The owner is this user, unless this user is root. If something cannot be removed, the
        // caller cannot do anything about it either.
        let _ = fchmod(&self.open, Mode::RWXU);
        // `TempDir` removes directories recursively, which fails for very deep ones.
        let _ = millibox_removal::empty(&self.open);
    }
}

/// Bytes that the caller frees.
pub struct Buffer {
    bytes: Vec<u8>,
}

impl Files {
    fn new() -> std::io::Result<Files> {
        let directory = tempfile::Builder::new().prefix("millibox-").tempdir()?;
        let path = CString::new(directory.path().as_os_str().as_bytes())?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = rustix::fs::open(directory.path(), flags, Mode::empty())?;
        // The directory is open already, because its new owner may rename it.
        give_to_sandbox(&open)?;
        Ok(Files {
            directory: Owned::new(Directory {
                open,
                _temporary: directory,
            }),
            path,
        })
    }

    fn open(&self, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mode = if flags.contains(OFlags::CREATE) {
            Mode::from_raw_mode(0o644)
        } else {
            Mode::empty()
        };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        openat2(&self.directory.open, name, flags, mode, resolve)
    }

    fn write(&self, name: &OsStr, bytes: &[u8], executable: bool) -> std::io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let file = match self.open(name, flags) {
            Err(Errno::NOENT) => {
                self.create_parents(name)?;
                self.open(name, flags)?
            }
            opened => opened?,
        };
        // Independent of the umask, because another user reads the file.
        fchmod(
            &file,
            Mode::from_raw_mode(if executable { 0o755 } else { 0o644 }),
        )?;
        File::from(file).write_all(bytes)
    }

    /// Creates the missing directories above a file. The sandbox's user may write to them, as to
    /// the directory itself.
    fn create_parents(&self, name: &OsStr) -> Result<(), Errno> {
        let parents: Vec<&Path> = Path::new(name).ancestors().skip(1).collect();
        for directory in parents.into_iter().rev() {
            let Some(new) = directory.file_name() else {
                continue;
            };
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            match self.open(directory.as_os_str(), flags) {
                Err(Errno::NOENT) => {}
                opened => {
                    opened?;
                    continue;
                }
            }
            let above = match directory.parent() {
                Some(above) if !above.as_os_str().is_empty() => above.as_os_str(),
                _ => OsStr::new("."),
            };
            mkdirat(self.open(above, flags)?, new, Mode::RWXU)?;
            let created = self.open(directory.as_os_str(), flags)?;
            // Independent of the umask.
            fchmod(&created, Mode::from_raw_mode(0o755))?;
            give_to_sandbox(&created)?;
        }
        Ok(())
    }

    fn read(&self, name: &OsStr, max_bytes: usize) -> std::io::Result<Vec<u8>> {
        let file = self.open(name, OFlags::RDONLY)?;
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(Errno::INVAL.into());
        }
        let mut bytes = Vec::new();
        let limit = u64::try_from(max_bytes)
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        File::from(file).take(limit).read_to_end(&mut bytes)?;
        if bytes.len() > max_bytes {
            return Err(Errno::FBIG.into());
        }
        Ok(bytes)
    }
}

/// Lets the sandbox's user write to a directory. Without root, that user is the caller.
fn give_to_sandbox(directory: &OwnedFd) -> Result<(), Errno> {
    if !geteuid().is_root() {
        return Ok(());
    }
    let (uid, gid) = Supervisor::UNPRIVILEGED_IDS;
    fchown(
        directory,
        Some(Uid::from_raw(uid)),
        Some(Gid::from_raw(gid)),
    )
}

/// Creates an empty directory below TMPDIR, or /tmp. The caller frees `*files` with
/// millibox_files_free.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn millibox_files_new(
    files: Option<&mut MaybeUninit<Option<Box<Files>>>>,
) -> Option<Box<Error>> {
    checked(|| {
        returned(files, "files", || {
            let files = Files::new();
            files
                .map(Some)
                .map_err(|error| Error::system("create a temporary directory", &error))
        })
    })
}

/// Removes the directory with everything in it, and frees the handle. NULL is allowed.
///
/// The depth of the directories and the permissions that a program has set do not matter. Free the
/// runs of programs that can write to the directory first.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_files_free(files: Option<Box<Files>>) {
    border::or((), || drop(files));
}

/// Returns the absolute path of the directory. It lives as long as the handle.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_files_path(files: Option<&Files>) -> *const c_char {
    files.map_or(c"".as_ptr(), |files| files.path.as_ptr())
}

/// Writes a file of the directory. `name` is a relative path, such as "file" or "a/b/file"; missing
/// directories are created, and the sandbox's user may write to them. An existing file is replaced.
///
/// Fails with MILLIBOX_CODE_SYSTEM, for example if a component of the path is a link.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn millibox_files_write(
    files: Option<&Files>,
    name: *const c_char,
    data: *const c_void,
    length: usize,
    executable: bool,
) -> Option<Box<Error>> {
    checked(|| {
        let files = given(files, "files")?;
        let name = given(border::string(name), "name")?;
        let bytes = given(border::buffer(data, length), "data")?;
        let written = files.write(name, bytes, executable);
        written.map_err(|error| failed("write", name, &error))
    })
}

/// Reads a regular file of the directory that has at most `max_bytes` bytes. `name` is a relative
/// path. No link is followed. The caller frees `*buffer` with millibox_buffer_free.
///
/// Fails with MILLIBOX_CODE_SYSTEM; millibox_error_errno is ENOENT if the file does not exist,
/// EFBIG if it is too long, ELOOP for a link, and EINVAL for a directory or another special file.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn millibox_files_read(
    files: Option<&Files>,
    name: *const c_char,
    max_bytes: usize,
    buffer: Option<&mut MaybeUninit<Option<Box<Buffer>>>>,
) -> Option<Box<Error>> {
    checked(|| {
        returned(buffer, "buffer", || {
            let files = given(files, "files")?;
            let name = given(border::string(name), "name")?;
            let bytes = files.read(name, max_bytes);
            let bytes = bytes.map_err(|error| failed("read", name, &error))?;
            Ok(Some(Buffer { bytes }))
        })
    })
}

fn failed(action: &str, name: &OsStr, error: &std::io::Error) -> Error {
    Error::system(&format!("{action} {}", name.to_string_lossy()), error)
}

/// Returns the bytes, and their number through `length`, which may be NULL. They do not end with
/// NUL, and live as long as the buffer.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_buffer_data(
    buffer: Option<&Buffer>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_void {
    let bytes = buffer.map_or(&[][..], |buffer| &buffer.bytes);
    if let Some(length) = length {
        length.write(bytes.len());
    }
    bytes.as_ptr().cast()
}

/// Frees a buffer. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_buffer_free(buffer: Option<Box<Buffer>>) {
    border::or((), || drop(buffer));
}
