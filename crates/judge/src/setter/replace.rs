//! Several files put in place, all or none.
//!
//! New files are written in a directory of their own on the same file system, and renamed when all of
//! them are there. If a renaming fails, those before it are taken back. Who is killed in between
//! leaves each file old or new, never half.

use super::SetterError;
use std::fs;
use std::path::{Path, PathBuf};

/// Files that wait to be put in place. Dropped, they are gone.
pub(super) struct Replacement {
    directory: PathBuf,
    /// New file and its place.
    files: Vec<(PathBuf, PathBuf)>,
    /// Names given out.
    names: usize,
}

impl Replacement {
    /// Begins, with new files in `directory`, which is made. What an earlier one left there, being
    /// killed, is removed.
    pub fn begin(directory: PathBuf) -> Result<Replacement, SetterError> {
        match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(SetterError::file("remove", &directory, &error));
            }
            _ => {}
        }
        fs::create_dir(&directory).map_err(|error| SetterError::file("make the directory", &directory, &error))?;
        Ok(Replacement { directory, files: Vec::new(), names: 0 })
    }

    /// A path for a new file.
    pub fn path(&mut self) -> PathBuf {
        self.names += 1;
        self.directory.join(self.names.to_string())
    }

    /// A new file is finished, and belongs at `place`.
    pub fn add(&mut self, new: PathBuf, place: PathBuf) {
        self.files.push((new, place));
    }

    /// Directories that will have to be made, outer ones first.
    pub fn missing(&self) -> Vec<PathBuf> {
        let mut missing: Vec<PathBuf> = self.files.iter().flat_map(|(_, place)| missing(place)).collect();
        missing.sort();
        missing.dedup();
        missing
    }

    /// Puts all files in place, or none.
    pub fn commit(mut self) -> Result<(), SetterError> {
        let mut undo = Undo { steps: Vec::new() };
        for (new, place) in std::mem::take(&mut self.files) {
            for directory in missing(&place) {
                fs::create_dir(&directory)
                    .map_err(|error| SetterError::file("make the directory", &directory, &error))?;
                undo.steps.push(Step::Made(directory));
            }
            let old = self.path();
            match fs::rename(&place, &old) {
                Ok(()) => undo.steps.push(Step::Moved { from: place.clone(), to: old }),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(SetterError::file("replace", &place, &error)),
            }
            fs::rename(&new, &place).map_err(|error| SetterError::file("write", &place, &error))?;
            undo.steps.push(Step::Moved { from: new, to: place });
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

/// Directories above the path that are not there, outer ones first.
fn missing(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1).take_while(|directory| !directory.exists());
    let mut missing: Vec<PathBuf> = above.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

enum Step {
    Made(PathBuf),
    Moved { from: PathBuf, to: PathBuf },
}

/// Takes back what was done, the last first, unless it was emptied.
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
    fn all_or_none() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("old"), "old").unwrap();
        // A directory stands where a file is to be written, and cannot give way to one below it.
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
            let mut names: Vec<_> =
                fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
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
