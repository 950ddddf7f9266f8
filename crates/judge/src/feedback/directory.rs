//! Creates the feedback directory and reads files in it.

use millibox_languages::staging::{Ids, StagingError, private_directory, same_user};
use millibox_package::is_of_machine;
use millibox_removal::empty;
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, ResolveFlags, Uid};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// The directory in which feedback directories are created, one after another.
///
/// A world binds this directory writable, so all runs of one checker can share that world. See
/// [`Feedback::NAME`].
#[derive(Debug)]
pub struct FeedbackPlace {
    directory: TempDir,
    open: Arc<OwnedFd>,
    ids: Ids,
}

impl FeedbackPlace {
    /// Creates a place for runs as the sandbox's user: [`millibox::Info::ids`].
    ///
    /// # Errors
    /// The directory cannot be created, or the sandbox's user cannot reach it.
    pub fn new(ids: Ids) -> Result<FeedbackPlace, FeedbackError> {
        let directory = private_directory(ids)?;
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

    /// Creates an empty directory for one run: [`Feedback::NAME`] below [`FeedbackPlace::path`].
    ///
    /// A place has one feedback directory at a time. This function removes anything left of the
    /// previous one.
    ///
    /// # Errors
    /// The directory cannot be created, or the previous one cannot be removed.
    pub fn fresh(&self) -> Result<Feedback, FeedbackError> {
        let failed = |errno: Errno| FeedbackError::Create {
            place: self.path().to_owned(),
            errno,
        };
        restore_access(&self.open, self.ids);
        let make = || rustix::fs::mkdirat(&self.open, Feedback::NAME, Mode::RWXU);
        match make() {
            Err(Errno::EXIST) => {
                empty(&self.open).map_err(failed)?;
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
    /// The directory for temporary files is unusable.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// The place cannot be opened.
    #[error("cannot open {}: {errno}", .path.display())]
    Open {
        /// The place.
        path: PathBuf,
        /// The error from the kernel.
        errno: Errno,
    },
    /// A feedback directory cannot be created.
    #[error("cannot create a feedback directory in {}: {errno}", .place.display())]
    Create {
        /// The place.
        place: PathBuf,
        /// The error from the kernel.
        errno: Errno,
    },
    /// A file cannot be read.
    #[error("cannot read {file}: {errno}")]
    Read {
        /// The file.
        file: String,
        /// The error from the kernel.
        errno: Errno,
    },
    /// A fifo, link, device or directory exists where a regular file is expected.
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
        /// The error from the kernel.
        errno: Errno,
    },
}

impl FeedbackError {
    /// Whether the machine is at fault, so that a later attempt or another machine may succeed.
    pub(crate) fn is_of_machine(&self) -> bool {
        match self {
            FeedbackError::Staging(error) => error.is_of_machine(),
            FeedbackError::Open { .. } | FeedbackError::Create { .. } => true,
            FeedbackError::Read { errno, .. } | FeedbackError::Remove { errno, .. } => {
                is_of_machine(&(*errno).into())
            }
            _ => false,
        }
    }
}

/// Restores the judge's access to a place. If the sandbox's user is the judge's user, a run owns
/// the place as well and may have removed permissions.
pub(super) fn restore_access(place: &OwnedFd, ids: Ids) {
    if same_user(ids) {
        // If this fails, the next operation reports the error.
        let _ = rustix::fs::fchmod(place, Mode::RWXU);
    }
}

impl Drop for FeedbackPlace {
    fn drop(&mut self) {
        // `TempDir` removes directories recursively. That would fail if the directories are nested
        // more deeply than the limit on open descriptors allows.
        restore_access(&self.open, self.ids);
        let _ = empty(&self.open);
    }
}

/// A directory for one run, writable by the sandbox's user. It is removed when dropped.
#[derive(Debug)]
pub struct Feedback {
    pub(super) place: Arc<OwnedFd>,
    pub(super) ids: Ids,
    /// Opened before the run, so the run gains nothing by replacing the directory at its path.
    pub(super) directory: OwnedFd,
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

impl Drop for Feedback {
    fn drop(&mut self) {
        // If something cannot be removed, `FeedbackPlace::fresh` reports it.
        restore_access(&self.place, self.ids);
        let _ = empty(&self.place);
    }
}
