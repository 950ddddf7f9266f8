//! Limits what a running program leaves in its feedback directory.

use super::directory::{Feedback, restore_access};
use millibox::Handle;
use millibox_removal::open_directory;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Interval at which a running program's directory is checked. Between two checks, the program can
/// exceed its limit by as much as it can write.
pub(crate) const WATCH_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum number of files and directories that a program may leave.
const MAX_ENTRIES: usize = 1000;
/// Maximum depth of the directories that a program may leave.
const MAX_DEPTH: usize = 16;
/// Bytes and files that must stay free on the file system for other users.
const MIN_FREE: (u64, u64) = (64 << 20, 1000);

/// Watches a running program's feedback directory, so that the program cannot fill the disk.
///
/// The limit on a file's length does not limit the number of files. A deleted file that is still
/// open occupies space that shows only in the file system's totals, so the watch also checks the
/// free space.
#[derive(Debug)]
pub(crate) struct Watch<'f> {
    feedback: &'f Feedback,
    bytes: u64,
    min_free: (u64, u64),
    due: Instant,
    excess: Option<Excess>,
}

/// The kind of excess that a program left in its feedback directory.
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

    /// Returns the kind of excess that the run left. The run must have ended.
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
        // Start counting at the place: if the sandbox's user is the judge's user, a run can also
        // leave files beside the directory.
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

/// Counts everything below a directory, and stops as soon as a limit is exceeded. While the run is
/// not `over`, entries that the run removes or makes unreadable are skipped.
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
            // A sparse file occupies less space than its length, and the last block of a short file
            // is not full. Count the smaller of the two numbers.
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

#[cfg(test)]
mod tests {
    use super::super::directory::FeedbackPlace;
    use super::*;

    #[test]
    fn watch_on_full_disk_reports_excess() {
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
