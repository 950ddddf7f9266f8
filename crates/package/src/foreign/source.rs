//! The files of the other package. Names come from the package, so no file outside is opened.

use super::loss::ForeignError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The maximum size of a settings file or a source that is read as a whole, in bytes.
const MAX_TEXT: u64 = 4 << 20;

/// The directory of a package.
#[derive(Debug)]
pub struct Source {
    /// Without symbolic links.
    root: PathBuf,
    /// The name after which the package is called.
    pub name: String,
}

pub(super) fn system(path: &Path, error: io::Error) -> ForeignError {
    ForeignError::System {
        path: path.to_owned(),
        cause: error.into(),
    }
}

impl Source {
    pub fn new(root: &Path, name: &str) -> Result<Source, ForeignError> {
        let root = root.canonicalize().map_err(|error| system(root, error))?;
        Ok(Source {
            root,
            name: name.to_owned(),
        })
    }

    /// The path of an existing object in the package.
    fn path(&self, name: &str) -> Option<PathBuf> {
        let path = self.root.join(name).canonicalize().ok()?;
        path.starts_with(&self.root).then_some(path)
    }

    /// The path of an existing file.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        self.path(name).filter(|path| path.is_file())
    }

    /// The path of a file that the package needs.
    pub fn needed(&self, name: &str) -> Result<PathBuf, ForeignError> {
        self.file(name)
            .ok_or_else(|| ForeignError::Missing(name.to_owned()))
    }

    pub fn is_directory(&self, name: &str) -> bool {
        self.path(name).is_some_and(|path| path.is_dir())
    }

    /// The names in a directory, sorted; none if it does not exist.
    pub fn names(&self, directory: &str) -> Result<Vec<String>, ForeignError> {
        let Some(path) = self.path(directory).filter(|path| path.is_dir()) else {
            return Ok(Vec::new());
        };
        let failed = |error| system(&path, error);
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).map_err(failed)? {
            // Names that are not in UTF-8 belong to no format.
            if let Ok(name) = entry.map_err(failed)?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// The only directory at the top level, if the top level has nothing else.
    pub fn only_directory(&self) -> Result<Option<String>, ForeignError> {
        let mut names = self.names("")?;
        // macOS adds a directory of this name.
        names.retain(|name| name != "__MACOSX" && !name.starts_with('.'));
        Ok(match &names[..] {
            [only] if self.is_directory(only) => Some(only.clone()),
            _ => None,
        })
    }

    /// The text of a file. Bytes that are not UTF-8 are replaced.
    pub fn text(&self, name: &str) -> Result<Option<String>, ForeignError> {
        let Some(path) = self.file(name) else {
            return Ok(None);
        };
        let failed = |error| system(&path, error);
        if path.metadata().map_err(failed)?.len() > MAX_TEXT {
            return Err(ForeignError::Malformed {
                file: name.to_owned(),
                why: format!("it has more than {} MiB", MAX_TEXT >> 20),
            });
        }
        let bytes = fs::read(&path).map_err(failed)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// The extension of a name, in lower case.
pub fn extension(name: &str) -> String {
    let extension = Path::new(name).extension().unwrap_or_default();
    extension.to_string_lossy().to_lowercase()
}

/// A key that orders names with numbers as people do: `a2` before `a10`.
pub fn natural(name: &str) -> Vec<(u64, String)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit());
        let (word, tail) = rest.split_at(digits.unwrap_or(rest.len()));
        let end = tail.find(|c: char| !c.is_ascii_digit());
        let (number, tail) = tail.split_at(end.unwrap_or(tail.len()));
        // The word before a number decides first, so it precedes the number in the next pair.
        key.push((0, word.to_owned()));
        key.push((number.parse().unwrap_or(0), String::new()));
        rest = tail;
    }
    key
}
