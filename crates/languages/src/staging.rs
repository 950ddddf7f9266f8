//! Places files where the sandbox's user can read them.
//!
//! If root started the sandbox, programs run as a user that owns no files. That user cannot read a
//! package below a directory that only root may enter, such as `/root`. [`StagedDirectory`] makes
//! the files readable once for all runs: as hard links if possible, otherwise as copies.

use crate::Cause;
use millibox_package::{MAX_DEPTH, MAX_ENTRIES, is_of_machine, temporary};
use rustix::fs::{AtFlags, CWD, Gid, Mode, Uid};
use std::fmt;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// Why a file cannot be made readable for the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StagingError {
    /// A call of the operating system failed.
    #[error("cannot {action} {}: {error}", .path.display())]
    Io {
        /// The failed step.
        action: StagingAction,
        /// The file or directory.
        path: PathBuf,
        /// The kernel's error.
        error: Cause<io::Error>,
    },
    /// The sandbox's user cannot enter the directory for temporary files.
    #[error(
        "the sandbox's user {user} cannot enter the directory for temporary files {}; set TMPDIR \
         to a directory that all users may enter", .directory.display()
    )]
    TemporaryDirectory {
        /// The directory.
        directory: PathBuf,
        /// The sandbox's user id.
        user: u32,
    },
    /// Directories are nested too deeply.
    #[error("directories nested deeper than {MAX_DEPTH}, at {}", .0.display())]
    TooDeep(PathBuf),
    /// The directory contains too many files. Links may multiply them.
    #[error("more than {MAX_ENTRIES} files, at {}", .0.display())]
    TooManyFiles(PathBuf),
    /// A symbolic link leads out of the root, or to a directory above the link.
    #[error(
        "the link {} leads to {}; replace it with a file in {}", .link.display(),
        .target.display(), .root.display()
    )]
    Link {
        /// The link.
        link: PathBuf,
        /// The target of the link.
        target: PathBuf,
        /// The directory that the link must not leave.
        root: PathBuf,
    },
}

/// A step of staging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StagingAction {
    /// Create a temporary directory in a directory.
    CreateIn,
    /// Change the group.
    ChangeGroup,
    /// Change the mode.
    ChangeMode,
    /// Find a path.
    Find,
    /// Inspect a file.
    Inspect,
    /// Create a file or directory.
    Create,
    /// Follow a symbolic link.
    Follow,
    /// Remove a file.
    Remove,
    /// Copy a file.
    Copy,
    /// List a directory.
    List,
}

impl fmt::Display for StagingAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StagingAction::CreateIn => "create a directory in",
            StagingAction::ChangeGroup => "change the group of",
            StagingAction::ChangeMode => "change the mode of",
            StagingAction::Find => "find",
            StagingAction::Inspect => "inspect",
            StagingAction::Create => "create",
            StagingAction::Follow => "follow the link",
            StagingAction::Remove => "remove",
            StagingAction::Copy => "copy",
            StagingAction::List => "read the directory",
        })
    }
}

impl StagingError {
    /// Replaces the path of each file or directory, so that messages show a path other than the one
    /// that was staged.
    pub fn map_paths(&mut self, shown: impl Fn(&Path) -> PathBuf) {
        let paths = match self {
            StagingError::Io { path, .. }
            | StagingError::TooDeep(path)
            | StagingError::TooManyFiles(path) => vec![path],
            StagingError::Link { link, target, root } => vec![link, target, root],
            StagingError::TemporaryDirectory { .. } => Vec::new(),
        };
        for path in paths {
            *path = shown(path);
        }
    }

    /// Whether the machine is at fault, so that a later attempt or another machine may succeed.
    pub fn is_of_machine(&self) -> bool {
        match self {
            StagingError::Io {
                action: StagingAction::CreateIn,
                ..
            } => true,
            StagingError::Io { error, .. } => is_of_machine(error),
            StagingError::TemporaryDirectory { .. } => true,
            StagingError::TooDeep(_)
            | StagingError::TooManyFiles(_)
            | StagingError::Link { .. } => false,
        }
    }
}

fn failed(action: StagingAction, path: &Path) -> impl Fn(io::Error) -> StagingError {
    move |error| StagingError::Io {
        action,
        path: path.to_owned(),
        error: error.into(),
    }
}

/// User id and group id of the sandbox's programs: [`millibox::Info::ids`].
pub type Ids = (u32, u32);

/// Creates a directory that only this user and the sandbox's user can read and only this user can
/// write to. Dropping the value removes the directory and its content.
///
/// # Errors
/// The directory cannot be created, or the sandbox's user cannot reach it.
pub fn private_directory(ids: Ids) -> Result<TempDir, StagingError> {
    let parent = std::env::temp_dir();
    let directory = temporary::directory().map_err(failed(StagingAction::CreateIn, &parent))?;
    if !same_user(ids) {
        let path = directory.path();
        let group = Some(Gid::from_raw(ids.1));
        rustix::fs::chownat(CWD, path, None, group, AtFlags::empty())
            .map_err(|errno| failed(StagingAction::ChangeGroup, path)(errno.into()))?;
        rustix::fs::chmod(path, Mode::from_raw_mode(0o750))
            .map_err(|errno| failed(StagingAction::ChangeMode, path)(errno.into()))?;
    }
    if !reachable(directory.path(), ids) {
        return Err(StagingError::TemporaryDirectory {
            directory: parent,
            user: ids.0,
        });
    }
    Ok(directory)
}

/// Whether the sandbox's user can read a file, or enter and read a directory, according to the
/// modes. The function ignores access control lists.
pub(crate) fn reachable(path: &Path, ids: Ids) -> bool {
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    if same_user(ids) {
        return rustix::fs::access(&path, rustix::fs::Access::READ_OK).is_ok();
    }
    path.ancestors().enumerate().all(|(above, path)| {
        path.metadata().is_ok_and(|metadata| {
            let needs = match (above, metadata.is_dir()) {
                (0, false) => 0o4,
                (0, true) => 0o5,
                _ => 0o1,
            };
            let shift = match metadata {
                _ if metadata.uid() == ids.0 => 6,
                _ if metadata.gid() == ids.1 => 3,
                _ => 0,
            };
            metadata.mode() >> shift & needs == needs
        })
    })
}

/// Returns whether sandboxed programs run as the calling process's own user and therefore have
/// access to the same files.
pub fn same_user(ids: Ids) -> bool {
    rustix::process::geteuid() == Uid::from_raw(ids.0)
}

/// A directory of data that the sandbox's user can read: the original, or a staged copy.
///
/// Dropping the value removes the copy.
#[derive(Debug)]
pub struct StagedDirectory {
    original: PathBuf,
    copy: Option<TempDir>,
}

impl StagedDirectory {
    /// Stages a directory whose symbolic links stay inside. See [`StagedDirectory::within`].
    ///
    /// # Errors
    /// See [`StagedDirectory::within`].
    pub fn new(directory: &Path, ids: Ids) -> Result<StagedDirectory, StagingError> {
        StagedDirectory::within(directory, directory, ids)
    }

    /// Inspects every file below `directory`, and stages all of them if the sandbox's user cannot
    /// read one of them. A symbolic link to a file below `root`, the package, is staged as that
    /// file.
    ///
    /// # Errors
    /// A file cannot be read, or the copy cannot be written. A link leads out of `root`, where this
    /// user may read files that the package's author may not, or it leads to a directory above the
    /// link.
    pub fn within(
        root: &Path,
        directory: &Path,
        ids: Ids,
    ) -> Result<StagedDirectory, StagingError> {
        let (root, original) = (real_path(root)?, real_path(directory)?);
        if reachable(&original, ids) && all_reachable(&original, ids)? {
            return Ok(StagedDirectory {
                original,
                copy: None,
            });
        }
        let copy = private_directory(ids)?;
        stage(&root, &original, copy.path(), ids)?;
        Ok(StagedDirectory {
            original,
            copy: Some(copy),
        })
    }

    /// The directory that the sandbox's user can read.
    pub fn path(&self) -> &Path {
        self.copy
            .as_ref()
            .map_or(&self.original, |copy| copy.path())
    }

    /// Returns the path of a file relative to [`StagedDirectory::path`], or `None` if the file is
    /// not in the original directory.
    pub fn relative(&self, file: &Path) -> Option<PathBuf> {
        if file.starts_with(&self.original) {
            return below(file, &self.original).map(Path::to_owned);
        }
        file.canonicalize()
            .ok()?
            .strip_prefix(&self.original)
            .ok()
            .map(Path::to_owned)
    }
}

/// Returns the path relative to `directory`, or `None` if the path is not below it or contains
/// `..`.
pub(crate) fn below<'p>(path: &'p Path, directory: &Path) -> Option<&'p Path> {
    let below = path.strip_prefix(directory).ok()?;
    (!below.components().any(|part| part == Component::ParentDir)).then_some(below)
}

fn all_reachable(directory: &Path, ids: Ids) -> Result<bool, StagingError> {
    for entry in entries(directory)? {
        // Links are always staged, because their targets may not exist in the sandbox.
        let metadata = entry
            .symlink_metadata()
            .map_err(failed(StagingAction::Inspect, &entry))?;
        let readable = !metadata.is_symlink() && reachable(&entry, ids);
        if !readable || (metadata.is_dir() && !all_reachable(&entry, ids)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Stages the content of `from` in `to`, a directory of this user. Existing files are kept. Links
/// are followed within `root`. The paths `root` and `from` contain no links.
pub(crate) fn stage(root: &Path, from: &Path, to: &Path, ids: Ids) -> Result<(), StagingError> {
    Staging {
        root,
        ids,
        left: MAX_ENTRIES,
    }
    .directory(from, to, 0)
}

struct Staging<'a> {
    root: &'a Path,
    ids: Ids,
    /// Number of additional entries that are allowed, because links can multiply entries.
    left: usize,
}

impl Staging<'_> {
    fn directory(&mut self, from: &Path, to: &Path, depth: usize) -> Result<(), StagingError> {
        if depth > MAX_DEPTH {
            return Err(StagingError::TooDeep(from.to_owned()));
        }
        for mut source in entries(from)? {
            self.left = self
                .left
                .checked_sub(1)
                .ok_or_else(|| StagingError::TooManyFiles(from.to_owned()))?;
            let target = to.join(source.file_name().unwrap_or_default());
            let existing = target.symlink_metadata().ok();
            if existing.as_ref().is_some_and(|existing| !existing.is_dir()) {
                continue;
            }
            if source.is_symlink() {
                source = self.follow(from, &source)?;
            }
            let metadata = source
                .metadata()
                .map_err(failed(StagingAction::Inspect, &source))?;
            if metadata.is_dir() {
                if existing.is_none() {
                    std::fs::create_dir(&target).map_err(failed(StagingAction::Create, &target))?;
                }
                // The mode is independent of the umask. The private directory above it keeps other
                // users out.
                set_mode(&target, 0o755)?;
                self.directory(&source, &target, depth + 1)?;
            } else if metadata.is_file() && existing.is_none() {
                stage_file(&source, &target, self.ids)?;
            }
        }
        Ok(())
    }

    /// Returns the target of a link in a directory, as a path without links.
    fn follow(&self, directory: &Path, link: &Path) -> Result<PathBuf, StagingError> {
        let target = link
            .canonicalize()
            .map_err(failed(StagingAction::Follow, link))?;
        // A link to a directory above itself would never end.
        if target.starts_with(self.root) && !directory.starts_with(&target) {
            return Ok(target);
        }
        Err(StagingError::Link {
            link: link.to_owned(),
            target,
            root: self.root.to_owned(),
        })
    }
}

/// Makes the file `source` available at `target`, readable by the sandbox's user. This is a hard
/// link if the file's mode allows it, and otherwise a copy.
///
/// # Errors
///
/// `target` exists, or the file cannot be linked or copied.
pub fn stage_file(source: &Path, target: &Path, ids: Ids) -> Result<(), StagingError> {
    let linked = match std::fs::hard_link(source, target) {
        Ok(()) => true,
        // The target may be a link to another file, which must not be overwritten.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(failed(StagingAction::Create, target)(error));
        }
        Err(_) => false,
    };
    if linked && reachable(target, ids) {
        return Ok(());
    }
    if linked {
        // Changing the mode of the link would change the original.
        std::fs::remove_file(target).map_err(failed(StagingAction::Remove, target))?;
    }
    let copy_failed = failed(StagingAction::Copy, source);
    let mode = source.metadata().map_err(&copy_failed)?.mode();
    std::fs::copy(source, target).map_err(&copy_failed)?;
    set_mode(target, 0o644 | mode & 0o111)
}

/// Returns the path without symbolic links.
pub(crate) fn real_path(path: &Path) -> Result<PathBuf, StagingError> {
    path.canonicalize()
        .map_err(failed(StagingAction::Find, path))
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, StagingError> {
    let failed = failed(StagingAction::List, directory);
    std::fs::read_dir(directory)
        .map_err(&failed)?
        .map(|entry| Ok(entry.map_err(&failed)?.path()))
        .collect()
}

fn set_mode(path: &Path, mode: u32) -> Result<(), StagingError> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        .map_err(failed(StagingAction::ChangeMode, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staging_with_multiplying_links_stops_at_limit() {
        let directory = tempfile::tempdir().unwrap();
        let (root, to) = (
            directory.path().canonicalize().unwrap(),
            tempfile::tempdir().unwrap(),
        );
        // Each level links to the next one four times: 4 + 16 + 64 entries.
        for level in 0..4 {
            std::fs::create_dir(root.join(level.to_string())).unwrap();
            for link in ["a", "b", "c", "d"].iter().filter(|_| level < 3) {
                let next = format!("../{}", level + 1);
                std::os::unix::fs::symlink(next, root.join(format!("{level}/{link}"))).unwrap();
            }
        }
        let ids = (
            rustix::process::geteuid().as_raw(),
            rustix::process::getegid().as_raw(),
        );
        let stage = |left: usize, to: &str, directory: &TempDir| {
            let to = directory.path().join(to);
            std::fs::create_dir(&to).unwrap();
            Staging {
                root: &root,
                ids,
                left,
            }
            .directory(&root.join("0"), &to, 0)
        };
        stage(84, "enough", &to).unwrap();
        assert!(to.path().join("enough/a/b/c").is_dir());
        assert!(matches!(
            stage(83, "few", &to),
            Err(StagingError::TooManyFiles(_))
        ));
    }
}
