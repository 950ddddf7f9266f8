//! The feedback directory, in which a checker or interactor leaves files for the judge.
//!
//! An untrusted program wrote everything in it. The judge opens nothing by a path that could lead
//! out of it, and reads regular files only. The judge can remove it at any depth and with any
//! modes.

use millibox::Handle;
use millibox_languages::staging::{Ids, private_directory, same_user};
use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Uid};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The directory in which feedback directories are made, one after another.
///
/// A world binds it as writable, so all runs of one checker share that world. See
/// [`Feedback::NAME`].
#[derive(Debug)]
pub struct FeedbackPlace {
    directory: TempDir,
    open: Arc<OwnedFd>,
    ids: Ids,
}

impl FeedbackPlace {
    /// A place for runs of the sandbox's user: [`millibox::Supervisor::ids`].
    ///
    /// # Errors
    /// The directory cannot be made, or the sandbox's user cannot reach it.
    pub fn new(ids: Ids) -> Result<FeedbackPlace, FeedbackError> {
        let directory =
            private_directory(ids).map_err(|error| FeedbackError::Staging(error.to_string()))?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let open = rustix::fs::open(directory.path(), flags, Mode::empty()).map_err(|errno| {
            FeedbackError::Open {
                path: directory.path().to_owned(),
                errno,
            }
        })?;
        Ok(FeedbackPlace {
            directory,
            open: Arc::new(open),
            ids,
        })
    }

    /// The path that a world binds.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Makes an empty directory for one run: [`Feedback::NAME`] below [`FeedbackPlace::path`].
    ///
    /// A place has one feedback directory at a time. This removes what an earlier one left.
    ///
    /// # Errors
    /// The directory cannot be made, or an earlier one cannot be removed.
    pub fn fresh(&self) -> Result<Feedback, FeedbackError> {
        let failed = |errno: Errno| FeedbackError::Create {
            place: self.path().to_owned(),
            errno,
        };
        restore_access(&self.open, self.ids);
        let make = || rustix::fs::mkdirat(&self.open, Feedback::NAME, Mode::RWXU);
        match make() {
            Err(Errno::EXIST) => {
                empty(self.open.as_fd()).map_err(failed)?;
                make().map_err(failed)?;
            }
            made => made.map_err(failed)?,
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let directory =
            rustix::fs::openat(&self.open, Feedback::NAME, flags, Mode::empty()).map_err(failed)?;
        if !same_user(self.ids) {
            let (uid, gid) = (Uid::from_raw(self.ids.0), Gid::from_raw(self.ids.1));
            rustix::fs::fchown(&directory, Some(uid), Some(gid)).map_err(failed)?;
        }
        Ok(Feedback {
            place: self.open.clone(),
            ids: self.ids,
            directory,
        })
    }
}

/// Why a feedback directory or a file in it cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeedbackError {
    /// The directory for temporary files is unusable. The text says why.
    #[error("{0}")]
    Staging(String),
    /// The place cannot be opened.
    #[error("cannot open {}: {errno}", .path.display())]
    Open {
        /// The place.
        path: PathBuf,
        /// The kernel's answer.
        errno: Errno,
    },
    /// A feedback directory cannot be made.
    #[error("cannot make a feedback directory in {}: {errno}", .place.display())]
    Create {
        /// The place.
        place: PathBuf,
        /// The kernel's answer.
        errno: Errno,
    },
    /// A file cannot be read.
    #[error("cannot read {file}: {errno}")]
    Read {
        /// The file.
        file: String,
        /// The kernel's answer.
        errno: Errno,
    },
    /// A fifo, link, device or directory stands where a file is expected.
    #[error("{file} is not a regular file")]
    NotRegular {
        /// The file.
        file: String,
    },
    /// A file cannot be removed.
    #[error("cannot remove {file}: {errno}")]
    Remove {
        /// The file.
        file: String,
        /// The kernel's answer.
        errno: Errno,
    },
}

impl From<FeedbackError> for io::Error {
    fn from(error: FeedbackError) -> io::Error {
        io::Error::other(error)
    }
}

/// Restores the judge's access to a place. If the sandbox's user is the judge's user, a run owns
/// the place as well and may have removed permissions.
fn restore_access(place: &OwnedFd, ids: Ids) {
    if same_user(ids) {
        // If this fails, the next operation reports the error.
        let _ = rustix::fs::fchmod(place, Mode::RWXU);
    }
}

impl Drop for FeedbackPlace {
    fn drop(&mut self) {
        // The removal by `TempDir` descends recursively. It would fail where the depth exceeds the
        // limit on open descriptors.
        restore_access(&self.open, self.ids);
        let _ = empty(self.open.as_fd());
    }
}

/// A directory for one run, writable by the sandbox's user. It is removed when dropped.
#[derive(Debug)]
pub struct Feedback {
    place: Arc<OwnedFd>,
    ids: Ids,
    /// Opened before the run, so a replacement that the run puts at its path has no effect.
    directory: OwnedFd,
}

impl Feedback {
    /// Name of the directory in its [`FeedbackPlace`].
    pub const NAME: &str = "feedback";

    /// Reads the first `limit` bytes of a file. Returns `None` if there is no such file. The run
    /// must have ended.
    ///
    /// # Errors
    /// The name belongs to something other than a regular file, or the file cannot be read.
    pub fn read(&self, name: &str, limit: usize) -> Result<Option<Vec<u8>>, FeedbackError> {
        let Some(file) = self.open(name)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(file, limit as u64), &mut bytes).map_err(
            |error| FeedbackError::Read {
                file: name.to_owned(),
                errno: Errno::from_io_error(&error).unwrap_or(Errno::IO),
            },
        )?;
        Ok(Some(bytes))
    }

    /// Opens a file for reading. Returns `None` if there is no such file. The run must have ended.
    ///
    /// # Errors
    /// The name belongs to something other than a regular file, or the file cannot be opened.
    pub fn open(&self, name: &str) -> Result<Option<File>, FeedbackError> {
        let failed = |errno: Errno| FeedbackError::Read {
            file: name.to_owned(),
            errno,
        };
        // NONBLOCK, because opening a fifo would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let file = loop {
            match rustix::fs::openat2(&self.directory, name, flags, Mode::empty(), resolve) {
                Ok(file) => break file,
                Err(Errno::NOENT) => return Ok(None),
                // A rename elsewhere raced with the path walk; openat2(2) asks callers to retry.
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(failed(errno)),
            }
        };
        let status = rustix::fs::fstat(&file).map_err(failed)?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(FeedbackError::NotRegular {
                file: name.to_owned(),
            });
        }
        Ok(Some(File::from(file)))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// The file does not exist or cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), FeedbackError> {
        rustix::fs::unlinkat(&self.directory, name, AtFlags::empty()).map_err(|errno| {
            FeedbackError::Remove {
                file: name.to_owned(),
                errno,
            }
        })
    }
}

/// Interval at which a running program's directory is checked. In one interval, the program can
/// exceed its limit by what it can write in that time.
pub(crate) const WATCH_INTERVAL: Duration = Duration::from_millis(20);
/// Number of files and directories that a program may leave.
const MAX_ENTRIES: usize = 1000;
/// Depth of directories that a program may leave.
const MAX_DEPTH: usize = 16;
/// Bytes and files that must stay free on the file system for other users.
const MIN_FREE: (u64, u64) = (64 << 20, 1000);

/// Watches a running program's feedback directory, so that the program cannot fill the disk.
///
/// The limit on a file's length does not bound the number of files. A deleted file that is still
/// open takes space that only the file system sees, so the watch also checks the free space.
#[derive(Debug)]
pub(crate) struct Watch<'f> {
    feedback: &'f Feedback,
    bytes: u64,
    min_free: (u64, u64),
    due: Instant,
    excess: Option<Excess>,
}

/// What a program left too much of in its feedback directory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Excess {
    /// The file system is almost full.
    #[error(
        "its feedback directory is on a disk that is almost full ({} MiB and {files} files are \
         free); free some space, or set TMPDIR to a directory on another disk", .bytes >> 20
    )]
    DiskFull {
        /// Free bytes.
        bytes: u64,
        /// Free files.
        files: u64,
    },
    /// The files are too large.
    #[error("left more than {0} bytes in its feedback directory")]
    Bytes(u64),
    /// There are too many files.
    #[error("left more than {0} files in its feedback directory")]
    Files(usize),
    /// Directories are nested too deeply.
    #[error("nested directories more than {0} deep in its feedback directory")]
    Depth(usize),
    /// The directory cannot be examined.
    #[error("its feedback directory cannot be examined: {0}")]
    Unreadable(Errno),
}

impl<'f> Watch<'f> {
    /// Watches a program that may leave `bytes` bytes.
    pub(crate) fn new(feedback: &'f Feedback, bytes: u64) -> Watch<'f> {
        Watch {
            feedback,
            bytes,
            min_free: MIN_FREE,
            due: Instant::now() + WATCH_INTERVAL,
            excess: None,
        }
    }

    /// Ends the run if it has left too much. Checks at most once per [`WATCH_INTERVAL`].
    pub(crate) fn check(&mut self, run: &Handle) {
        if Instant::now() < self.due || self.excess.is_some() {
            return;
        }
        self.excess = self.excess_now(false);
        self.due = Instant::now() + WATCH_INTERVAL;
        if self.excess.is_some() {
            run.kill();
        }
    }

    /// Returns what the run left too much of. The run must have ended.
    pub(crate) fn finish(mut self) -> Option<Excess> {
        self.excess.take().or_else(|| self.excess_now(true))
    }

    fn excess_now(&self, over: bool) -> Option<Excess> {
        if let Ok(system) = rustix::fs::fstatvfs(&self.feedback.directory) {
            let (bytes, files) = (
                system.f_bavail.saturating_mul(system.f_frsize),
                system.f_favail,
            );
            // Some file systems report neither blocks nor files.
            let is_full = (system.f_blocks > 0 && bytes < self.min_free.0)
                || (system.f_files > 0 && files < self.min_free.1);
            if is_full {
                return Some(Excess::DiskFull { bytes, files });
            }
        }
        let mut usage = Usage::default();
        if over {
            restore_access(&self.feedback.place, self.feedback.ids);
        }
        // Count from the place on: if the sandbox's user is the judge's user, a run can also leave
        // files beside the directory.
        match count(self.feedback.place.as_fd(), 0, over, &mut usage) {
            _ if usage.bytes > self.bytes => Some(Excess::Bytes(self.bytes)),
            // The feedback directory itself is one entry.
            _ if usage.entries > MAX_ENTRIES + 1 => Some(Excess::Files(MAX_ENTRIES)),
            _ if usage.too_deep => Some(Excess::Depth(MAX_DEPTH)),
            Ok(()) => None,
            Err(errno) => Some(Excess::Unreadable(errno)),
        }
    }
}

#[derive(Debug, Default)]
struct Usage {
    bytes: u64,
    entries: usize,
    too_deep: bool,
}

/// Counts what is below a directory and stops when it is too much. While the run is not `over`,
/// entries that the run removes or makes unreadable are skipped.
fn count(
    directory: BorrowedFd<'_>,
    depth: usize,
    over: bool,
    usage: &mut Usage,
) -> rustix::io::Result<()> {
    let mut entries = match Dir::read_from(directory) {
        // The judge cannot read this directory, so it cannot read an answer in it either.
        Err(Errno::ACCESS) => return Ok(()),
        entries => entries?,
    };
    while let Some(entry) = entries.read() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        usage.entries += 1;
        if usage.entries > MAX_ENTRIES + 1 {
            return Ok(());
        }
        let status = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT | Errno::ACCESS) => continue,
            status => status?,
        };
        match FileType::from_raw_mode(status.st_mode) {
            // A sparse file takes less space than its length, and a short file's last block is not
            // full. Count the smaller number.
            FileType::RegularFile => {
                let blocks = (status.st_blocks as u64).saturating_mul(512);
                usage.bytes = usage
                    .bytes
                    .saturating_add(blocks.min(status.st_size as u64));
            }
            FileType::Directory if depth > MAX_DEPTH => usage.too_deep = true,
            FileType::Directory => {
                let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
                let inner = match rustix::fs::openat(directory, name, flags, Mode::empty()) {
                    // The run may have removed the owner's permissions. The owner may be the judge.
                    Err(Errno::ACCESS) if over => open_directory(directory, name),
                    inner => inner,
                };
                match inner {
                    Ok(inner) => count(inner.as_fd(), depth + 1, over, usage)?,
                    Err(Errno::NOENT | Errno::ACCESS | Errno::NOTDIR | Errno::LOOP) if !over => {}
                    Err(errno) => return Err(errno),
                }
            }
            _ => {}
        }
    }
    Ok(())
}

impl Drop for Feedback {
    fn drop(&mut self) {
        // If something cannot be removed, `FeedbackPlace::fresh` reports it.
        restore_access(&self.place, self.ids);
        let _ = empty(self.place.as_fd());
    }
}

/// Removes everything in a directory. It moves nested directories up first, so it needs constant
/// stack and a constant number of descriptors.
fn empty(directory: BorrowedFd<'_>) -> rustix::io::Result<()> {
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

fn open_directory(directory: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<OwnedFd> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watch_on_a_full_disk_reports_excess() {
        let ids = (
            rustix::process::geteuid().as_raw(),
            rustix::process::getegid().as_raw(),
        );
        let place = FeedbackPlace::new(ids).unwrap();
        let feedback = place.fresh().unwrap();
        assert_eq!(
            Watch {
                min_free: (0, 0),
                ..Watch::new(&feedback, 10)
            }
            .finish(),
            None
        );
        let excess = Watch {
            min_free: (u64::MAX, 0),
            ..Watch::new(&feedback, 10)
        }
        .finish()
        .unwrap();
        assert!(matches!(excess, Excess::DiskFull { .. }), "{excess}");
    }
}
