//! Files of a request and files of an answer.

use super::fields::Invalid;
use crate::core::execution::{ExecutionReport, InputFile, OutputFile};
use crate::core::program::{WORK_DIRECTORY, plain_file};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The other directory that programs may write to.
const TEMPORARY_DIRECTORY: &str = "/tmp";

/// The files of a request, which are in the working directory or in /tmp.
pub(super) fn inputs(files: Vec<(String, Bytes)>) -> Result<Vec<InputFile>, Vec<Invalid>> {
    let mut inputs = Vec::with_capacity(files.len());
    let mut invalid = Vec::new();
    for (path, bytes) in files {
        match place(&path) {
            Some(place) => inputs.push(plain_file(place, bytes)),
            None => {
                let msg = format!(
                    "Value error, files can only be in the working directory {WORK_DIRECTORY} and \
                     in {TEMPORARY_DIRECTORY}"
                );
                invalid.push(Invalid::file(&path, msg, path.as_str().into()));
            }
        }
    }
    if invalid.is_empty() {
        Ok(inputs)
    } else {
        Err(invalid)
    }
}

/// The path of a file: relative to the working directory, or absolute and in /tmp.
pub fn place(path: &str) -> Option<PathBuf> {
    if path.contains('\0') || path.ends_with('/') {
        return None;
    }
    let mut absolute = PathBuf::from("/");
    for component in Path::new(WORK_DIRECTORY).join(path).components() {
        match component {
            Component::Normal(name) => absolute.push(name),
            Component::ParentDir => {
                absolute.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    let is_file_in = |directory: &str| {
        let below = absolute.strip_prefix(directory).ok();
        below.filter(|below| !below.as_os_str().is_empty())
    };
    match is_file_in(WORK_DIRECTORY) {
        Some(relative) => Some(relative.to_owned()),
        None => is_file_in(TEMPORARY_DIRECTORY).map(|_| absolute.clone()),
    }
}

/// Files that are returned, with the names that the request gives them.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    names: Vec<String>,
    outputs: Vec<OutputFile>,
}

impl Fetched {
    /// The files of a request. Files outside of the working directory and /tmp are never returned.
    pub(super) fn new(names: Vec<String>, max_bytes: u64) -> Fetched {
        let mut fetched = Fetched::default();
        for name in names {
            if let Some(path) = place(&name) {
                fetched.outputs.push(OutputFile {
                    path,
                    max_bytes,
                    truncate: false,
                });
                fetched.names.push(name);
            }
        }
        fetched
    }

    pub(super) fn outputs(&self) -> Vec<OutputFile> {
        self.outputs.clone()
    }

    /// The files that exist, in Base64. In `report`, the files of [`Fetched::outputs`] come first.
    pub(super) fn encode(self, report: &ExecutionReport) -> BTreeMap<String, String> {
        self.names
            .into_iter()
            .zip(&report.outputs)
            .filter(|(_, file)| file.error.is_none())
            .map(|(name, file)| (name, BASE64.encode(&file.bytes)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lie_in_the_working_directory_or_in_tmp() {
        let place = |path| place(path).map(|place| place.to_string_lossy().into_owned());
        for (path, expected) in [
            ("a.txt", "a.txt"),
            ("./d/a.txt", "d/a.txt"),
            ("d/../a.txt", "a.txt"),
            ("/work/d/a", "d/a"),
            ("/tmp/a", "/tmp/a"),
            ("../tmp/a", "/tmp/a"),
        ] {
            assert_eq!(place(path).as_deref(), Some(expected), "{path}");
        }
        for path in [
            "",
            ".",
            "/",
            "/work",
            "/tmp",
            "/etc/passwd",
            "../x",
            "a/",
            "a\0b",
        ] {
            assert_eq!(place(path), None, "{path:?}");
        }
    }

    #[test]
    fn mistakes_of_files_name_the_file() {
        let files = ["a", "/etc/b"].map(|path| (path.to_owned(), Bytes::new()));
        let invalid = inputs(files.to_vec()).unwrap_err();
        assert_eq!(invalid.len(), 1);
        assert_eq!(invalid[0].field(), "body.files./etc/b");
    }
}
