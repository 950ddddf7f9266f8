//! Replaces either all of several files, or none.
//!
//! New files are written to their own directory on the same file system. They are renamed when all
//! of them exist. If a rename fails, the earlier renames are undone. If the process is killed in
//! between, each file is old or new, but never half-written.

use super::SetterError;
use super::error::{FileAction, file};
use std::fs;
use std::path::{Path, PathBuf};

/// New files that are not in their final places yet. Dropping the replacement removes these files.
pub(super) struct Replacement {
    directory: PathBuf,
    /// Each new file and its final path.
    files: Vec<(PathBuf, PathBuf)>,
    /// Number of names that were assigned.
    names: usize,
}

impl Replacement {
    /// Begins a replacement and creates `directory` for its files. Removes the files of an
    /// earlier process that was killed.
    pub fn begin(directory: PathBuf) -> Result<Replacement, SetterError> {
        match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(file(FileAction::Remove, &directory, error));
            }
            _ => {}
        }
        fs::create_dir(&directory)
            .map_err(|error| file(FileAction::CreateDirectory, &directory, error))?;
        Ok(Replacement {
            directory,
            files: Vec::new(),
            names: 0,
        })
    }

    /// Returns a path for a new file.
    pub fn path(&mut self) -> PathBuf {
        self.names += 1;
        self.directory.join(self.names.to_string())
    }

    /// Adds a finished file that belongs at `place`.
    pub fn add(&mut self, new: PathBuf, place: PathBuf) {
        self.files.push((new, place));
    }

    /// The directories that `commit` will create, outer ones first.
    pub fn missing(&self) -> Vec<PathBuf> {
        let mut missing: Vec<PathBuf> = self
            .files
            .iter()
            .flat_map(|(_, place)| missing(place))
            .collect();
        missing.sort();
        missing.dedup();
        missing
    }

    /// Puts all files in their places, or none of them.
    pub fn commit(mut self) -> Result<(), SetterError> {
        let mut undo = Undo { steps: Vec::new() };
        for (new, place) in std::mem::take(&mut self.files) {
            for directory in missing(&place) {
                fs::create_dir(&directory)
                    .map_err(|error| file(FileAction::CreateDirectory, &directory, error))?;
                undo.steps.push(Step::Made(directory));
            }
            let old = self.path();
            match fs::rename(&place, &old) {
                Ok(()) => undo.steps.push(Step::Moved {
                    from: place.clone(),
                    to: old,
                }),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(file(FileAction::Replace, &place, error)),
            }
            fs::rename(&new, &place).map_err(|error| file(FileAction::Write, &place, error))?;
            undo.steps.push(Step::Moved {
                from: new,
                to: place,
            });
        }
        undo.steps.clear();
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Returns the directories above the path that do not exist, outer ones first.
fn missing(path: &Path) -> Vec<PathBuf> {
    let above = path
        .ancestors()
        .skip(1)
        .take_while(|directory| !directory.exists());
    let mut missing: Vec<PathBuf> = above.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

enum Step {
    Made(PathBuf),
    Moved { from: PathBuf, to: PathBuf },
}

/// Undoes its steps in reverse order when dropped. A successful commit clears the steps.
struct Undo {
    steps: Vec<Step>,
}

impl Drop for Undo {
    fn drop(&mut self) {
        for step in self.steps.drain(..).rev() {
            let _ = match step {
                Step::Made(directory) => fs::remove_dir(directory),
                Step::Moved { from, to } => fs::rename(to, from),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_commit_restores_all_files() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("old"), "old").unwrap();
        // A file cannot be the parent of a new file.
        fs::write(at("wall"), "").unwrap();
        let begin = |places: &[&str]| {
            let mut replacement = Replacement::begin(at("new")).unwrap();
            for place in places {
                let path = replacement.path();
                fs::write(&path, "new").unwrap();
                replacement.add(path, at(place));
            }
            replacement
        };
        let names = || {
            let mut names: Vec<_> = fs::read_dir(directory.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            names.sort();
            names
        };
        assert!(begin(&["old", "deep/er/file", "wall/x"]).commit().is_err());
        assert_eq!(fs::read(at("old")).unwrap(), b"old");
        assert_eq!(names(), ["old", "wall"]);
        drop(begin(&["old"]));
        assert_eq!(names(), ["old", "wall"]);
        let replacement = begin(&["old", "deep/er/file"]);
        assert_eq!(replacement.missing(), [at("deep"), at("deep/er")]);
        replacement.commit().unwrap();
        assert_eq!(fs::read(at("old")).unwrap(), b"new");
        assert_eq!(names(), ["deep", "old", "wall"]);
    }
}
