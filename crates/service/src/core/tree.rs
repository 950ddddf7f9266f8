//! The whole working directory of a run as a tar archive, which can be put into another run.

use super::execution::OutputFileError;
use bytes::Bytes;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The size of a header and the unit of a file's size in an archive.
const BLOCK_BYTES: u64 = 512;

/// Archives the files, directories and symbolic links of a directory whose content is not trusted.
/// Other files, and those that cannot be read, are left out. No process may change the directory
/// during the call.
pub(super) fn read(directory: &OwnedFd, max_bytes: u64) -> Result<Bytes, OutputFileError> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut waiting = vec![PathBuf::new()];
    let mut total = 0_u64;
    while let Some(parent) = waiting.pop() {
        let listed = match open(directory, &parent, OFlags::DIRECTORY) {
            Err(Errno::ACCESS) => continue,
            opened => opened.map_err(unreadable)?,
        };
        for entry in Dir::read_from(&listed).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let path = parent.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
            let stat =
                rustix::fs::statat(&listed, name, AtFlags::SYMLINK_NOFOLLOW).map_err(unreadable)?;
            let kind = FileType::from_raw_mode(stat.st_mode);
            let length = match kind {
                FileType::RegularFile => u64::try_from(stat.st_size).unwrap_or(0),
                _ => 0,
            };
            total += BLOCK_BYTES + length.next_multiple_of(BLOCK_BYTES);
            if total > max_bytes {
                return Err(OutputFileError::TooLarge {
                    bytes: total,
                    max_bytes,
                });
            }
            let mut header = tar::Header::new_gnu();
            header.set_mtime(0);
            header.set_mode(stat.st_mode & 0o777);
            header.set_size(length);
            let appended = match kind {
                FileType::RegularFile => match open(directory, &path, OFlags::NONBLOCK) {
                    Err(Errno::ACCESS) => Ok(()),
                    opened => {
                        let file = std::fs::File::from(opened.map_err(unreadable)?);
                        header.set_entry_type(tar::EntryType::Regular);
                        builder.append_data(&mut header, &path, file.take(length))
                    }
                },
                FileType::Directory => {
                    header.set_entry_type(tar::EntryType::Directory);
                    // Without these bits, no file could be created in the directory.
                    header.set_mode(stat.st_mode & 0o777 | 0o700);
                    let appended = builder.append_data(&mut header, &path, std::io::empty());
                    waiting.push(path);
                    appended
                }
                FileType::Symlink => {
                    let target =
                        rustix::fs::readlinkat(&listed, name, Vec::new()).map_err(unreadable)?;
                    header.set_entry_type(tar::EntryType::Symlink);
                    let target = Path::new(std::ffi::OsStr::from_bytes(target.to_bytes()));
                    builder.append_link(&mut header, &path, target)
                }
                _ => Ok(()),
            };
            appended.map_err(failed)?;
        }
    }
    builder.into_inner().map(Bytes::from).map_err(failed)
}

/// Appends the entries of an archive created by [`read`] to another archive, below a directory that
/// is relative to the root.
pub(super) fn append(
    builder: &mut tar::Builder<impl Write>,
    bytes: &[u8],
    below: &Path,
) -> std::io::Result<()> {
    let mut archive = tar::Archive::new(bytes);
    for entry in archive.entries()? {
        let entry = entry?;
        let mut header = entry.header().clone();
        let path = below.join(entry.path()?);
        match entry.link_name()?.map(std::borrow::Cow::into_owned) {
            Some(target) => builder.append_link(&mut header, path, target)?,
            None => builder.append_data(&mut header, path, entry)?,
        }
    }
    Ok(())
}

/// Opens a file below the directory, without following any link.
fn open(directory: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    rustix::fs::openat2(
        directory,
        path,
        OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC | flags,
        Mode::empty(),
        ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV,
    )
}

fn unreadable(errno: Errno) -> OutputFileError {
    OutputFileError::Unreadable {
        errno: errno.raw_os_error(),
    }
}

fn failed(error: std::io::Error) -> OutputFileError {
    OutputFileError::Unreadable {
        errno: error.raw_os_error().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn directory_survives_archiving() {
        let from = tempfile::tempdir().unwrap();
        let long = "n".repeat(200);
        std::fs::create_dir_all(from.path().join("a/empty")).unwrap();
        std::fs::write(from.path().join("a").join(&long), b"content").unwrap();
        let program = from.path().join("program");
        std::fs::write(&program, b"#!/bin/sh").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        symlink("/etc/passwd", from.path().join("link")).unwrap();
        let directory: OwnedFd = std::fs::File::open(from.path()).unwrap().into();

        let bytes = read(&directory, 1 << 20).unwrap();
        let mut builder = tar::Builder::new(Vec::new());
        append(&mut builder, &bytes, Path::new("")).unwrap();
        let bytes = builder.into_inner().unwrap();
        let to = tempfile::tempdir().unwrap();
        tar::Archive::new(&bytes[..]).unpack(to.path()).unwrap();

        assert!(to.path().join("a/empty").is_dir());
        assert_eq!(
            std::fs::read(to.path().join("a").join(&long)).unwrap(),
            b"content"
        );
        let mode = std::fs::metadata(to.path().join("program"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
        let target = std::fs::read_link(to.path().join("link")).unwrap();
        assert_eq!(target, Path::new("/etc/passwd"));
    }

    #[test]
    fn directory_above_the_limit_is_refused() {
        let from = tempfile::tempdir().unwrap();
        std::fs::write(from.path().join("file"), vec![0; 5000]).unwrap();
        let directory: OwnedFd = std::fs::File::open(from.path()).unwrap().into();
        assert!(read(&directory, 6000).is_ok());
        assert!(matches!(
            read(&directory, 5000),
            Err(OutputFileError::TooLarge { .. })
        ));
    }
}
