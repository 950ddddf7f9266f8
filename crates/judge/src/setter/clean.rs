//! What `generate` made, removed.

use super::record::{Made, Record, content};
use super::replace::Replacement;
use super::{Trouble, unfinished};
use serde::Serialize;
use std::fs;
use std::path::Path;

/// What was removed, or would be.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Paths below the package.
    pub removed: Vec<String>,
    /// Those that somebody has changed since: they stay.
    pub kept: Vec<String>,
}

/// Removes the files that were made here and are as they were made; of these `tests` only, if any are
/// named. With `dry_run` nothing is removed. Directories that were made for them go when they are empty.
///
/// # Errors
/// The package cannot be read, or a file cannot be removed.
pub fn clean(package: &Path, tests: &[String], dry_run: bool) -> Result<Report, Trouble> {
    let problem = unfinished(package)?;
    let mut record = Record::open(&problem.directory)?;
    let mut report = Report::default();
    let mut left = record.content().clone();
    let of_tests = |path: &str| {
        let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
        tests.is_empty()
            || tests.iter().any(|test| stem == format!("data/{test}") || stem.rsplit('/').next() == Some(test))
    };
    let files: Vec<(String, Made)> = left.files.clone().into_iter().filter(|(path, _)| of_tests(path)).collect();
    for (path, made) in files {
        match content(&problem.directory.join(&path))? {
            Some(now) if now == made.content => report.removed.push(path),
            Some(_) => report.kept.push(path),
            None => {
                left.files.remove(&path);
            }
        }
    }
    if dry_run {
        return Ok(report);
    }
    for path in &report.removed {
        let place = problem.directory.join(path);
        fs::remove_file(&place).map_err(|error| Trouble::file("remove", &place, &error))?;
        left.files.remove(path);
    }
    // Inner ones first. What is in use stays.
    for directory in left.directories.clone().iter().rev() {
        if fs::remove_dir(problem.directory.join(directory)).is_ok() {
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
