//! What was made, of what: `.millibox/made.json` in the package.
//!
//! It tells which files need not be made again, and which may be replaced or removed: those that are as they were made.
//! Without it all is made anew, but no other file is replaced, and nothing is removed.

use super::SetterError;
use crate::compile::headers_in;
use crate::suite::Suites;
use millibox_package::model::Program;
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, flock, open, openat, statat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Our directory in the package. Whoever reads packages leaves it out, since its name begins with a dot.
const RECORD_DIRECTORY: &str = ".millibox";
const RECORD_FILE: &str = "made.json";
/// Changes when files are made in another way, so that none of before is taken for new.
const RECORD_VERSION: u32 = 1;

/// A package of a hundred thousand files has one of 20 MiB.
const MAX_RECORD_BYTES: u64 = 64 << 20;

/// The record, and the right to change the package's files.
pub(super) struct Record {
    pub directory: PathBuf,
    /// Whether our directory was not there before.
    fresh: bool,
    kept: bool,
    content: Content,
    _lock: File,
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Content {
    version: u32,
    /// By path below the package.
    pub files: BTreeMap<String, RecordedFile>,
    /// Directories that were made for them, outer ones first.
    pub directories: BTreeSet<String>,
}

/// A file that was made.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedFile {
    /// Digest of all that it was made of.
    pub of: String,
    /// Digest of what is in it.
    pub content: String,
    /// An answer that a person wrote: in generators.yaml, or in the file that it is a copy of.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub written: bool,
}

impl Record {
    /// Opens the record of a package. One at a time has it.
    pub fn open(package: &Path) -> Result<Record, SetterError> {
        let directory = package.join(RECORD_DIRECTORY);
        let fresh = match std::fs::create_dir(&directory) {
            Ok(()) => true,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(SetterError::file("make the directory", &directory, &error)),
        };
        // A link would lead to files that are none of the package's.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = open(&directory, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::NOTDIR | Errno::LOOP => SetterError::file("use", &directory, &"it is no directory; remove it"),
            errno => SetterError::file("open", &directory, &errno),
        })?;
        let lock = File::from(lock);
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            SetterError::Request(format!("another `millibox problem` is at work on {}; wait for it", package.display()))
        })?;
        let unread = |error: &dyn std::fmt::Display| SetterError::file("read", &directory.join(RECORD_FILE), error);
        let mut text = Vec::new();
        match regular(&lock, RECORD_FILE) {
            Ok(Some(file)) => {
                file.take(MAX_RECORD_BYTES + 1).read_to_end(&mut text).map_err(|error| unread(&error))?;
                if text.len() as u64 > MAX_RECORD_BYTES {
                    return Err(unread(&format!("longer than {} MiB; remove it", MAX_RECORD_BYTES >> 20)));
                }
            }
            Ok(None) => return Err(unread(&"it is no regular file; remove it")),
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(unread(&errno)),
        }
        // What somebody damaged is no worse than none.
        let content: Content = serde_json::from_slice(&text).unwrap_or_default();
        let content = if content.version == RECORD_VERSION { content } else { Content::default() };
        if let Some(path) = content.files.keys().chain(&content.directories).find(|path| !is_below(path)) {
            return Err(unread(&format!("it names {path:?}, which is no path in the package; remove this record")));
        }
        Ok(Record { directory, fresh, kept: false, content, _lock: lock })
    }

    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Whether the file was made of exactly this, and is as it was made.
    pub fn is_current(&self, path: &str, of: &str, content: Option<&str>) -> bool {
        self.content.files.get(path).is_some_and(|made| made.of == of && Some(&*made.content) == content)
    }

    /// The new record as a file, to be put at its place together with what it tells of.
    pub fn write(&mut self, content: Content, to: &Path) -> Result<PathBuf, SetterError> {
        let content = Content { version: RECORD_VERSION, ..content };
        let mut text = serde_json::to_vec_pretty(&content)
            .map_err(|error| SetterError::Machine(format!("the record of what was made: {error}")))?;
        text.push(b'\n');
        std::fs::write(to, text).map_err(|error| SetterError::file("write", to, &error))?;
        self.kept = true;
        Ok(self.directory.join(RECORD_FILE))
    }
}

impl Record {
    /// Nothing made is left: nor are the record and its directory.
    pub fn remove(self) {
        let _ = std::fs::remove_file(self.directory.join(RECORD_FILE));
        let _ = std::fs::remove_dir(&self.directory);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if self.fresh && !self.kept {
            // Only if nothing is in it.
            let _ = std::fs::remove_dir(&self.directory);
        }
    }
}

/// Whether a path can only lead to below the directory that it starts from, links aside. Packages are strangers', and
/// so may be what their records say.
fn is_below(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|name| !matches!(name, "" | "." | ".."))
}

/// Opens a regular file of a directory; `None`: it is something else, which might be waited for without an end.
pub(super) fn regular(directory: impl AsFd, name: &str) -> rustix::io::Result<Option<File>> {
    let found = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    openat(&directory, name, flags, Mode::empty()).map(|file| Some(file.into()))
}

/// A digest of parts that cannot run together.
pub(super) struct Digest(Sha256);

impl Digest {
    pub fn new(what: &str) -> Digest {
        Digest(Sha256::new()).with(what)
    }

    #[must_use]
    pub fn with(mut self, part: impl AsRef<[u8]>) -> Digest {
        self.0.update((part.as_ref().len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    /// The program's sources, and the headers beside them. `root`: the package.
    pub fn with_program(mut self, program: &Program, suites: &Suites, root: &Path) -> Result<Digest, SetterError> {
        let mut files = program.sources.clone();
        if let Ok(suite) = suites.for_sources(&program.sources, program.language.as_deref()) {
            let directories: BTreeSet<&Path> = program.sources.iter().filter_map(|source| source.parent()).collect();
            for directory in directories {
                // As the compiler is given them: what is read must come to an end.
                files.extend(headers_in(directory, suite, Some(root)).into_iter().flatten());
            }
        }
        files.sort();
        files.dedup();
        self = self.with(format!("{:?} {:?}", program.language, program.arguments));
        for file in files {
            let bytes = std::fs::read(&file).map_err(|error| SetterError::file("read", &file, &error))?;
            self = self.with(file.as_os_str().as_encoded_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or(b""));
            self = self.with(bytes);
        }
        Ok(self)
    }

    pub fn done(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Digest of a file's content; `None`: there is no such file.
pub(super) fn content(path: &Path) -> Result<Option<String>, SetterError> {
    let failed = |error: &std::io::Error| SetterError::file("read", path, error);
    match File::open(path) {
        Ok(file) => of_file(file).map(Some).map_err(|error| failed(&error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

/// Digest of what is left to be read of a file.
pub(super) fn of_file(mut file: File) -> std::io::Result<String> {
    let mut digest = Sha256::new();
    let mut chunk = vec![0; 128 << 10];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            Ok(read) => digest.update(&chunk[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn headers_are_what_compilers_are_given() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("a.cpp"), "").unwrap();
        let program = Program { path: at("a.cpp"), sources: vec![at("a.cpp")], language: None, arguments: Vec::new() };
        let digest = || {
            let (tell, told) = mpsc::channel();
            let program = program.clone();
            std::thread::spawn(move || {
                let root = program.path.parent().unwrap();
                let digest = Digest::new("").with_program(&program, &Suites::builtin(), root).unwrap().done();
                let _ = tell.send(digest);
            });
            told.recv_timeout(Duration::from_secs(60)).expect("a digest")
        };
        let alone = digest();
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe.h"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("link.h")).unwrap();
        assert_eq!(digest(), alone);
        std::fs::write(at("a.h"), "").unwrap();
        assert_ne!(digest(), alone);
    }
}
