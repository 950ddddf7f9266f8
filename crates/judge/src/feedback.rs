//! The feedback directory: where a checker (or interactor) leaves files for us.
//!
//! What lies there was made by a program that is not trusted. Nothing in it is opened by a
//! path that could lead elsewhere, nothing that is not a regular file is read, and it is removed
//! however deep and however strange it is.

use crate::staging::{Ids, about, private_directory, same_user};
use millibox::Handle;
use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Uid};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Where feedback directories are made, one after another. A world binds it (writable), so that
/// all runs of one checker share that world; see [`Feedback::NAME`].
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
    /// It cannot be made, or that user could not reach it.
    pub fn new(ids: Ids) -> io::Result<FeedbackPlace> {
        let directory = private_directory(ids)?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let open = rustix::fs::open(directory.path(), flags, Mode::empty())
            .map_err(|error| about(directory.path(), "cannot open", error.into()))?;
        Ok(FeedbackPlace { directory, open: Arc::new(open), ids })
    }

    /// What a world is to bind.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A fresh, empty directory for one run: [`Feedback::NAME`] below [`FeedbackPlace::path`].
    /// One at a time: what is left of another is removed.
    ///
    /// # Errors
    /// It cannot be made, or an old one cannot be removed.
    pub fn fresh(&self) -> io::Result<Feedback> {
        let failed = |errno: Errno| about(self.path(), "cannot make a feedback directory in", errno.into());
        open_up(&self.open, self.ids);
        let make = || rustix::fs::mkdirat(&self.open, Feedback::NAME, Mode::RWXU);
        match make() {
            Err(Errno::EXIST) => {
                empty(self.open.as_fd()).map_err(failed)?;
                make().map_err(failed)?;
            }
            made => made.map_err(failed)?,
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(&self.open, Feedback::NAME, flags, Mode::empty()).map_err(failed)?;
        if !same_user(self.ids) {
            let (uid, gid) = (Uid::from_raw(self.ids.0), Gid::from_raw(self.ids.1));
            rustix::fs::fchown(&directory, Some(uid), Some(gid)).map_err(failed)?;
        }
        Ok(Feedback { place: self.open.clone(), ids: self.ids, directory })
    }
}

/// Gives us a place back. Where the sandbox's user is ours it belongs to the runs as well, which may have
/// closed it.
fn open_up(place: &OwnedFd, ids: Ids) {
    if same_user(ids) {
        // If that cannot be, what comes next says so.
        let _ = rustix::fs::fchmod(place, Mode::RWXU);
    }
}

impl Drop for FeedbackPlace {
    fn drop(&mut self) {
        // The directory's own removal descends as deep as it goes, and would fail at a depth that
        // is beyond our descriptors.
        open_up(&self.open, self.ids);
        let _ = empty(self.open.as_fd());
    }
}

/// A fresh directory for one run, writable by the sandbox's user, removed when dropped.
#[derive(Debug)]
pub struct Feedback {
    place: Arc<OwnedFd>,
    ids: Ids,
    /// Opened before the run: what the run puts in its place does not concern us.
    directory: OwnedFd,
}

impl Feedback {
    /// Its name in its [`FeedbackPlace`].
    pub const NAME: &str = "feedback";

    /// The first `limit` bytes of a file, `None` if there is none. Call it when the run is over.
    ///
    /// # Errors
    /// There is something by that name that is no regular file, or it cannot be read.
    pub fn read(&self, name: &str, limit: usize) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = self.open(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(file, limit as u64), &mut bytes)
            .map_err(|error| about(Path::new(name), "cannot read", error))?;
        Ok(Some(bytes))
    }

    /// A file, to be read; `None` if there is none. Call it when the run is over.
    ///
    /// # Errors
    /// There is something by that name that is no regular file, or it cannot be opened.
    pub fn open(&self, name: &str) -> io::Result<Option<File>> {
        let failed = |errno: Errno| about(Path::new(name), "cannot read", errno.into());
        // Not blocking: a fifo would be waited for.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let file = loop {
            match rustix::fs::openat2(&self.directory, name, flags, Mode::empty(), resolve) {
                Ok(file) => break file,
                Err(Errno::NOENT) => return Ok(None),
                // A rename somewhere else while a path was walked: to be tried again (openat2(2)).
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(failed(errno)),
            }
        };
        let found = rustix::fs::fstat(&file).map_err(failed)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name} is not a regular file")));
        }
        Ok(Some(File::from(file)))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// It is not there, or cannot be removed.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        rustix::fs::unlinkat(&self.directory, name, AtFlags::empty())
            .map_err(|errno| about(Path::new(name), "cannot remove", errno.into()))
    }
}

/// How often a running program's directory is looked at: it may leave more than its limit by what it can write
/// in this time.
pub(crate) const WATCH_INTERVAL: Duration = Duration::from_millis(20);
/// Files and directories that it may leave.
const MAX_ENTRIES: usize = 1000;
/// Directories in directories.
const MAX_DEPTH: usize = 16;
/// Bytes, and files, that are left to everybody else on the file system.
const MIN_FREE: (u64, u64) = (64 << 20, 1000);

/// Looks at what a running program leaves in its feedback directory, so that it cannot fill the disk.
///
/// A limit on the length of a file does not bound their number. What is deleted and still open takes room as well,
/// and is seen by nobody but the file system: so there is a bound on what must be left there, too.
#[derive(Debug)]
pub(crate) struct Watch<'f> {
    feedback: &'f Feedback,
    bytes: u64,
    min_free: (u64, u64),
    due: Instant,
    excess: Option<String>,
}

impl<'f> Watch<'f> {
    /// Of a program that may leave so many bytes.
    pub(crate) fn new(feedback: &'f Feedback, bytes: u64) -> Watch<'f> {
        Watch { feedback, bytes, min_free: MIN_FREE, due: Instant::now() + WATCH_INTERVAL, excess: None }
    }

    /// Ends the run if it has left too much. Does nothing more often than each [`WATCH_INTERVAL`].
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

    /// When the run is over: what it left too much of, in words.
    pub(crate) fn finish(mut self) -> Option<String> {
        self.excess.take().or_else(|| self.excess_now(true))
    }

    fn excess_now(&self, over: bool) -> Option<String> {
        if let Ok(system) = rustix::fs::fstatvfs(&self.feedback.directory) {
            let (bytes, files) = (system.f_bavail.saturating_mul(system.f_frsize), system.f_favail);
            // Some file systems count neither.
            let little =
                (system.f_blocks > 0 && bytes < self.min_free.0) || (system.f_files > 0 && files < self.min_free.1);
            if little {
                return Some(format!(
                    "its feedback directory is on a disk that is almost full ({} MiB and {files} files are left); make \
                     room there, or set TMPDIR to another place",
                    bytes >> 20
                ));
            }
        }
        let mut found = Usage::default();
        if over {
            open_up(&self.feedback.place, self.feedback.ids);
        }
        // From the place on: where the sandbox's user is ours, a run can leave files beside the directory, too.
        match count(self.feedback.place.as_fd(), 0, over, &mut found) {
            _ if found.bytes > self.bytes => {
                Some(format!("left more than {} bytes in its feedback directory", self.bytes))
            }
            // The directory itself is one.
            _ if found.entries > MAX_ENTRIES + 1 => {
                Some(format!("left more than {MAX_ENTRIES} files in its feedback directory"))
            }
            _ if found.too_deep => {
                Some(format!("left directories in its feedback directory that are deeper than {MAX_DEPTH}"))
            }
            Ok(()) => None,
            Err(errno) => Some(format!("its feedback directory cannot be looked at: {}", io::Error::from(errno))),
        }
    }
}

#[derive(Debug, Default)]
struct Usage {
    bytes: u64,
    entries: usize,
    too_deep: bool,
}

/// Counts what is below a directory, up to what is too much. While a run is not over, what it takes away, or closes to
/// its owner, is passed over.
fn count(directory: BorrowedFd<'_>, depth: usize, over: bool, found: &mut Usage) -> rustix::io::Result<()> {
    let mut entries = match Dir::read_from(directory) {
        // It cannot be read by us, nor therefore can what we look for in it: the answer says so.
        Err(Errno::ACCESS) => return Ok(()),
        entries => entries?,
    };
    while let Some(entry) = entries.read() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        found.entries += 1;
        if found.entries > MAX_ENTRIES + 1 {
            return Ok(());
        }
        let status = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT | Errno::ACCESS) => continue,
            status => status?,
        };
        match FileType::from_raw_mode(status.st_mode) {
            // What is sparse takes less room than it is long, the end of a block belongs to nobody.
            FileType::RegularFile => {
                let blocks = (status.st_blocks as u64).saturating_mul(512);
                found.bytes = found.bytes.saturating_add(blocks.min(status.st_size as u64));
            }
            FileType::Directory if depth > MAX_DEPTH => found.too_deep = true,
            FileType::Directory => {
                let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
                let inner = match rustix::fs::openat(directory, name, flags, Mode::empty()) {
                    // Its owner may have closed it, and the owner may be us.
                    Err(Errno::ACCESS) if over => open_directory(directory, name),
                    inner => inner,
                };
                match inner {
                    Ok(inner) => count(inner.as_fd(), depth + 1, over, found)?,
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
        // If something cannot be removed, the next one says so.
        open_up(&self.place, self.ids);
        let _ = empty(self.place.as_fd());
    }
}

/// Removes everything in a directory. Takes constant stack and descriptors: directories in
/// directories are first moved up.
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
                    // Moving a directory writes its `..`, which needs permission.
                    let _ = allow(inner.as_fd(), &below);
                    move_up(inner.as_fd(), &below, directory, &mut moved)?;
                }
            }
            rustix::fs::unlinkat(directory, &*name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Removes a file or an empty directory; false: a directory that is not empty.
fn remove_shallow(directory: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<bool> {
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        // PERM is what POSIX has for directories.
        Err(Errno::ISDIR | Errno::PERM) => match rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            removed => removed.map(|()| true),
        },
        Err(Errno::NOENT) => Ok(true),
        removed => removed.map(|()| true),
    }
}

fn move_up(from: BorrowedFd<'_>, name: &CStr, to: BorrowedFd<'_>, count: &mut u64) -> rustix::io::Result<()> {
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
    // The owner may have taken all permissions away, and the owner may be us.
    allow(directory, name)?;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}

/// Gives the owner of a directory all permissions. The run is over, so it stays a directory.
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
    fn a_disk_that_is_almost_full_is_told() {
        let ids = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let place = FeedbackPlace::new(ids).unwrap();
        let feedback = place.fresh().unwrap();
        assert_eq!(Watch { min_free: (0, 0), ..Watch::new(&feedback, 10) }.finish(), None);
        let excess = Watch { min_free: (u64::MAX, 0), ..Watch::new(&feedback, 10) }.finish().unwrap();
        assert!(excess.contains("almost full") && excess.contains("TMPDIR"), "{excess}");
    }
}
