//! Removes the files that `generate` created.

use super::error::{FileAction, FileFault, file};
use super::record::{Record, RecordedFile, of_file, regular};
use super::replace::Replacement;
use super::selection::TestSelection;
use super::{SetterError, read_directory};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;
use serde::Serialize;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The files that were removed, or that would be removed in a dry run.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Removed files, as paths below the package.
    pub removed: Vec<String>,
    /// Files that were kept because they have changed since they were generated.
    pub kept: Vec<String>,
}

/// Removes the generated files that have not changed. If `tests` names tests, removes only their
/// files.
///
/// With `dry_run`, nothing is removed. Directories that were created for the files are removed if
/// they are empty.
///
/// # Errors
/// The package cannot be read, or a file cannot be removed.
pub fn clean(package: &Path, tests: &[String], dry_run: bool) -> Result<Report, SetterError> {
    let problem = read_directory(package)?;
    let mut record = Record::open(&problem.directory)?;
    let mut report = Report::default();
    let mut left = record.content().clone();
    let selection = TestSelection::new(tests)?;
    let of_tests = |path: &str| {
        let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
        // An ICPC test is named by its path below `data`, a Sim test by its file name.
        selection.contains(
            stem.strip_prefix("data/")
                .unwrap_or_else(|| stem.rsplit('/').next().unwrap_or(stem)),
        )
    };
    let files: Vec<(String, RecordedFile)> = left
        .files
        .clone()
        .into_iter()
        .filter(|(path, _)| of_tests(path))
        .collect();
    for (path, made) in files {
        match of(&problem.directory, &path)? {
            Entry::Content(now) if now == made.content => report.removed.push(path),
            Entry::Content(_) | Entry::Other => report.kept.push(path),
            Entry::Nothing => {
                left.files.remove(&path);
            }
        }
    }
    if dry_run {
        return Ok(report);
    }
    for path in &report.removed {
        remove(&problem.directory, path, AtFlags::empty())
            .map_err(|errno| failed(&problem.directory, path, errno))?;
        left.files.remove(path);
    }
    // Remove inner directories first. A directory that is not empty is kept.
    for directory in left.directories.clone().iter().rev() {
        if remove(&problem.directory, directory, AtFlags::REMOVEDIR).is_ok() {
            left.directories.remove(directory);
        }
    }
    let mut replacement = Replacement::begin(record.directory.join("new"))?;
    let new = replacement.path();
    let empty = left.files.is_empty() && left.directories.is_empty();
    let place = record.write(left, &new)?;
    if empty {
        drop(replacement);
        record.remove();
    } else {
        replacement.add(new, place);
        replacement.commit()?;
    }
    Ok(report)
}

/// The kind of object at a path.
enum Entry {
    Nothing,
    /// A regular file, with the digest of its content.
    Content(String),
    Other,
}

fn of(package: &Path, path: &str) -> Result<Entry, SetterError> {
    let found = above(package, path).and_then(|(directory, name)| regular(directory, name));
    match found {
        Ok(Some(opened)) => of_file(opened)
            .map(Entry::Content)
            .map_err(|error| file(FileAction::Read, &package.join(path), error)),
        Ok(None) => Ok(Entry::Other),
        Err(Errno::NOENT) => Ok(Entry::Nothing),
        Err(errno) => Err(failed(package, path, errno)),
    }
}

fn remove(package: &Path, path: &str, flags: AtFlags) -> rustix::io::Result<()> {
    let (directory, name) = above(package, path)?;
    unlinkat(directory, name, flags)
}

/// Opens the directory of a path's last component. The walk follows no links, which could lead out
/// of the package.
fn above<'p>(package: &Path, path: &'p str) -> rustix::io::Result<(OwnedFd, &'p str)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut directory = openat(CWD, package, flags, Mode::empty())?;
    let mut names = path.split('/');
    let last = names.next_back().unwrap_or(path);
    for name in names {
        directory = openat(&directory, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok((directory, last))
}

fn failed(package: &Path, path: &str, errno: Errno) -> SetterError {
    let place = package.join(path);
    match errno {
        Errno::NOTDIR | Errno::LOOP => file(FileAction::Remove, &place, FileFault::LinkAbove),
        errno => file(FileAction::Remove, &place, errno),
    }
}
