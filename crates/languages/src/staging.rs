//! Files where the sandbox's user can read them.
//!
//! Started by root, the sandbox runs programs as a user who owns nothing. What lies below a
//! directory that only root may enter (a package in `/root`) is then out of reach for a
//! checker. [`StagedDirectory`] makes it reachable, once: hard links where they serve, copies where not.

use millibox_package::{MAX_DEPTH, MAX_ENTRIES, temporary};
use rustix::fs::{AtFlags, CWD, Gid, Mode, Uid};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// User and group id of the sandbox's programs: [`millibox::Supervisor::ids`].
pub type Ids = (u32, u32);

/// A fresh directory that we and the sandbox's user can read, and nobody else; only we can write
/// in it (or both, if we are the same user). Removed with all that is in it when dropped.
///
/// # Errors
/// It cannot be made, or the sandbox's user cannot reach it.
pub fn private_directory(ids: Ids) -> io::Result<TempDir> {
    let parent = std::env::temp_dir();
    let failed = |error| about(&parent, "cannot make a directory in", error);
    let directory = temporary::directory().map_err(failed)?;
    if !same_user(ids) {
        let path = directory.path();
        rustix::fs::chownat(
            CWD,
            path,
            None,
            Some(Gid::from_raw(ids.1)),
            AtFlags::empty(),
        )
        .map_err(|error| about(path, "cannot give to the sandbox's group", error.into()))?;
        rustix::fs::chmod(path, Mode::from_raw_mode(0o750))
            .map_err(|error| about(path, "cannot change the mode of", error.into()))?;
    }
    if !reachable(directory.path(), ids) {
        return Err(io::Error::other(format!(
            "the sandbox's user {} cannot enter the directory for temporary files {}; set TMPDIR \
             to one that all may enter",
            ids.0,
            parent.display()
        )));
    }
    Ok(directory)
}

/// Whether the sandbox's user can read a file, or enter and read a directory. By modes alone:
/// access control lists and the like are not looked at.
pub fn reachable(path: &Path, ids: Ids) -> bool {
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

/// Returns whether sandboxed programs run as the calling process's own user, so that they reach the
/// same files.
pub fn same_user(ids: Ids) -> bool {
    rustix::process::geteuid() == Uid::from_raw(ids.0)
}

/// A directory of data as the sandbox's user can read it: itself, or a staged copy.
#[derive(Debug)]
pub struct StagedDirectory {
    original: PathBuf,
    copy: Option<TempDir>,
}

impl StagedDirectory {
    /// As [`StagedDirectory::within`], where links lead to what is in the directory itself.
    ///
    /// # Errors
    /// As there.
    pub fn new(directory: &Path, ids: Ids) -> io::Result<StagedDirectory> {
        StagedDirectory::within(directory, directory, ids)
    }

    /// Looks at every file below `directory`; if one is out of the sandbox's reach, all are staged.
    /// Symbolic links to what is below `root`, the package, are staged as what they lead to.
    ///
    /// # Errors
    /// A file cannot be read, a link leads out of `root` (who wrote the package may not be who may
    /// read that file) or to a directory that it is in, or there is no place for the copies.
    pub fn within(root: &Path, directory: &Path, ids: Ids) -> io::Result<StagedDirectory> {
        let real = |path: &Path| {
            path.canonicalize()
                .map_err(|error| about(path, "cannot find", error))
        };
        let (root, original) = (real(root)?, real(directory)?);
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

    /// Where the data can be read by the sandbox's user.
    pub fn path(&self) -> &Path {
        self.copy
            .as_ref()
            .map_or(&self.original, |copy| copy.path())
    }

    /// A file's path below [`StagedDirectory::path`]; `None`: it is not in the directory that was staged.
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

/// The path from `directory` to what is below it, as it is written, and not by way of `..`.
pub(crate) fn below<'p>(path: &'p Path, directory: &Path) -> Option<&'p Path> {
    let below = path.strip_prefix(directory).ok()?;
    (!below.components().any(|part| part == Component::ParentDir)).then_some(below)
}

fn all_reachable(directory: &Path, ids: Ids) -> io::Result<bool> {
    for entry in entries(directory)? {
        // Links are staged: where they lead need not be in what the sandbox is shown.
        let metadata = entry
            .symlink_metadata()
            .map_err(|error| about(&entry, "cannot look at", error))?;
        let fine = !metadata.is_symlink() && reachable(&entry, ids);
        if !fine || (metadata.is_dir() && !all_reachable(&entry, ids)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Puts what is in `from` into `to`, a directory of ours; files that are there already stay. Links
/// are followed within `root`. Neither `root` nor `from` has one in its path.
pub(crate) fn stage(root: &Path, from: &Path, to: &Path, ids: Ids) -> io::Result<()> {
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
    /// Entries that may still come. Links may make more of them than a package has.
    left: usize,
}

impl Staging<'_> {
    fn directory(&mut self, from: &Path, to: &Path, depth: usize) -> io::Result<()> {
        if depth > MAX_DEPTH {
            let what = format!(
                "directories nested deeper than {MAX_DEPTH}, by way of {}",
                from.display()
            );
            return Err(io::Error::other(what));
        }
        for mut source in entries(from)? {
            self.left = self.left.checked_sub(1).ok_or_else(|| {
                io::Error::other(format!(
                    "more than {MAX_ENTRIES} files, by way of {}",
                    from.display()
                ))
            })?;
            let target = to.join(source.file_name().unwrap_or_default());
            let there = target.symlink_metadata().ok();
            if there.as_ref().is_some_and(|there| !there.is_dir()) {
                continue;
            }
            if source.is_symlink() {
                source = self.follow(from, &source)?;
            }
            let metadata = source
                .metadata()
                .map_err(|error| about(&source, "cannot look at", error))?;
            if metadata.is_dir() {
                if there.is_none() {
                    std::fs::create_dir(&target)
                        .map_err(|error| about(&target, "cannot make", error))?;
                }
                // Whatever the umask is: the directory above lets nobody else in.
                set_mode(&target, 0o755)?;
                self.directory(&source, &target, depth + 1)?;
            } else if metadata.is_file() && there.is_none() {
                stage_file(&source, &target, self.ids)?;
            }
        }
        Ok(())
    }

    /// What a link in a directory leads to, by a path without links.
    fn follow(&self, directory: &Path, link: &Path) -> io::Result<PathBuf> {
        let leads_to = link
            .canonicalize()
            .map_err(|error| about(link, "cannot follow the link", error))?;
        // There would be no end of what leads to where it lies itself.
        if leads_to.starts_with(self.root) && !directory.starts_with(&leads_to) {
            return Ok(leads_to);
        }
        Err(io::Error::other(format!(
            "the link {} leads to {}; put a file of {} in its place",
            link.display(),
            leads_to.display(),
            self.root.display()
        )))
    }
}

/// Makes the file `source` available at `target`, readable by the sandbox's user. A hard link is
/// used where its mode allows, otherwise a copy.
///
/// # Errors
///
/// `target` exists, or the file cannot be linked or copied.
pub fn stage_file(source: &Path, target: &Path, ids: Ids) -> io::Result<()> {
    let linked = match std::fs::hard_link(source, target) {
        Ok(()) => true,
        // It may be a link to a file that is not ours to write.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(about(target, "cannot make", error));
        }
        Err(_) => false,
    };
    if linked && reachable(target, ids) {
        return Ok(());
    }
    if linked {
        // The link has the mode of what is not ours to change.
        std::fs::remove_file(target).map_err(|error| about(target, "cannot remove", error))?;
    }
    let failed = |error: io::Error| {
        io::Error::new(
            error.kind(),
            format!("cannot copy {}: {error}", source.display()),
        )
    };
    let mode = source.metadata().map_err(failed)?.mode();
    std::fs::copy(source, target).map_err(failed)?;
    set_mode(target, 0o644 | mode & 0o111)
}

fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let failed = |error| about(directory, "cannot read the directory", error);
    std::fs::read_dir(directory)
        .map_err(failed)?
        .map(|entry| Ok(entry.map_err(failed)?.path()))
        .collect()
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        .map_err(|error| about(path, "cannot change the mode of", error))
}

/// An error that names what it is about.
pub(crate) fn about(path: &Path, what: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_make_no_more_files_than_a_package_may_have() {
        let directory = tempfile::tempdir().unwrap();
        let (root, to) = (
            directory.path().canonicalize().unwrap(),
            tempfile::tempdir().unwrap(),
        );
        // Each leads to the next one four times: 4 + 16 + 64 entries.
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
        assert!(
            stage(83, "few", &to)
                .unwrap_err()
                .to_string()
                .starts_with("more than ")
        );
    }
}
