//! The record of generated files and their sources: `.millibox/made.json` in the package.
//!
//! A file is current if it was generated from the sources in the record. A file may be replaced or
//! removed if its content is the same as in the record. Without a record, all files are generated
//! again, but files that already exist are neither replaced nor removed.

use super::error::{FileAction, FileFault, MachineError, Remedy, file};
use super::{RequestError, SetterError};
use millibox_languages::compile::headers_in;
use millibox_languages::suite::Suites;
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

/// The record's directory in the package. Readers of packages skip it, because its name begins with
/// a dot.
const RECORD_DIRECTORY: &str = ".millibox";
const RECORD_FILE: &str = "made.json";
/// Version of the procedure that generates files. A record of another version is ignored.
const RECORD_VERSION: u32 = 1;
/// Maximum length of a record. The record of a package with a hundred thousand files is 20 MiB
/// long.
const MAX_RECORD_BYTES: u64 = 64 << 20;

/// The record, and the lock that permits changing the package's files.
pub(super) struct Record {
    pub directory: PathBuf,
    /// Whether this process created the directory.
    fresh: bool,
    kept: bool,
    content: Content,
    _lock: File,
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Content {
    version: u32,
    /// The files by their path below the package.
    pub files: BTreeMap<String, RecordedFile>,
    /// The directories that were created for them, outer ones first.
    pub directories: BTreeSet<String>,
}

/// A generated file.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedFile {
    /// Digest of all sources of the file.
    #[serde(rename = "of")]
    pub sources: String,
    /// Digest of the file's content.
    pub content: String,
    /// Whether a person wrote this answer, in generators.yaml or in the file that it copies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub written: bool,
}

impl Record {
    /// Opens the record of a package. One process at a time can have it open.
    pub fn open(package: &Path) -> Result<Record, SetterError> {
        let directory = package.join(RECORD_DIRECTORY);
        let fresh = match std::fs::create_dir(&directory) {
            Ok(()) => true,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(file(FileAction::CreateDirectory, &directory, error)),
        };
        // A link could lead to files outside the package.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = open(&directory, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::NOTDIR | Errno::LOOP => {
                file(FileAction::Use, &directory, FileFault::NotDirectory)
            }
            errno => file(FileAction::Open, &directory, errno),
        })?;
        let lock = File::from(lock);
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| RequestError::Busy(package.to_owned()))?;
        let unread = |fault: FileFault| file(FileAction::Read, &directory.join(RECORD_FILE), fault);
        let mut text = Vec::new();
        match regular(&lock, RECORD_FILE) {
            Ok(Some(record)) => {
                record
                    .take(MAX_RECORD_BYTES + 1)
                    .read_to_end(&mut text)
                    .map_err(|error| unread(error.into()))?;
                if text.len() as u64 > MAX_RECORD_BYTES {
                    return Err(unread(FileFault::TooLong {
                        mebibytes: MAX_RECORD_BYTES >> 20,
                    }));
                }
            }
            Ok(None) => return Err(unread(FileFault::NotRegular(Remedy::Remove))),
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(unread(errno.into())),
        }
        // A damaged record is treated like a missing one.
        let content: Content = serde_json::from_slice(&text).unwrap_or_default();
        let content = if content.version == RECORD_VERSION {
            content
        } else {
            Content::default()
        };
        if let Some(path) = content
            .files
            .keys()
            .chain(&content.directories)
            .find(|path| !is_below(path))
        {
            return Err(unread(FileFault::PathOutside(path.clone())));
        }
        Ok(Record {
            directory,
            fresh,
            kept: false,
            content,
            _lock: lock,
        })
    }

    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Whether the file was generated from exactly these sources and has not changed.
    pub fn is_current(&self, path: &str, sources: &str, content: Option<&str>) -> bool {
        self.content
            .files
            .get(path)
            .is_some_and(|made| made.sources == sources && Some(&*made.content) == content)
    }

    /// Writes the new record to `to` and returns its final path. The caller replaces the old record
    /// together with the files that the new one describes.
    pub fn write(&mut self, content: Content, to: &Path) -> Result<PathBuf, SetterError> {
        let content = Content {
            version: RECORD_VERSION,
            ..content
        };
        let mut text = serde_json::to_vec_pretty(&content)
            .map_err(|error| SetterError::from(MachineError::Record(error)))?;
        text.push(b'\n');
        std::fs::write(to, text).map_err(|error| file(FileAction::Write, to, error))?;
        self.kept = true;
        Ok(self.directory.join(RECORD_FILE))
    }
}

impl Record {
    /// Removes the record and its directory, because no generated file is left.
    pub fn remove(self) {
        let _ = std::fs::remove_file(self.directory.join(RECORD_FILE));
        let _ = std::fs::remove_dir(&self.directory);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if self.fresh && !self.kept {
            // `remove_dir` fails if the directory is not empty.
            let _ = std::fs::remove_dir(&self.directory);
        }
    }
}

/// Whether a path stays below its starting directory, not considering links. A package is
/// untrusted, and so is its record.
fn is_below(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|name| !matches!(name, "" | "." | ".."))
}

/// Opens a regular file in a directory. Returns `None` for any other kind of file, because opening
/// it could block indefinitely.
pub(super) fn regular(directory: impl AsFd, name: &str) -> rustix::io::Result<Option<File>> {
    let found = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    openat(&directory, name, flags, Mode::empty()).map(|file| Some(file.into()))
}

/// A digest of several parts. Each part is hashed with its length, so that the boundaries between
/// parts count.
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

    /// Adds the program's sources and the headers beside them. `root` is the package.
    pub fn with_program(
        mut self,
        program: &Program,
        suites: &Suites,
        root: &Path,
    ) -> Result<Digest, SetterError> {
        let mut files = program.sources.clone();
        if let Ok(suite) = suites.for_sources(&program.sources, program.language.as_deref()) {
            let directories: BTreeSet<&Path> = program
                .sources
                .iter()
                .filter_map(|source| source.parent())
                .collect();
            for directory in directories {
                // The compiler receives the same headers. They are regular files, so reading them
                // ends.
                files.extend(
                    headers_in(directory, suite, Some(root))
                        .into_iter()
                        .flatten(),
                );
            }
        }
        files.sort();
        files.dedup();
        self = self.with(format!("{:?} {:?}", program.language, program.arguments));
        for path in files {
            let bytes =
                std::fs::read(&path).map_err(|error| file(FileAction::Read, &path, error))?;
            self = self.with(
                path.as_os_str()
                    .as_encoded_bytes()
                    .rsplit(|byte| *byte == b'/')
                    .next()
                    .unwrap_or(b""),
            );
            self = self.with(bytes);
        }
        Ok(self)
    }

    pub fn done(self) -> String {
        self.0
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// Returns the digest of a file's content, or `None` if the file does not exist.
pub(super) fn content(path: &Path) -> Result<Option<String>, SetterError> {
    let failed = |error: std::io::Error| file(FileAction::Read, path, error);
    match File::open(path) {
        Ok(opened) => of_file(opened).map(Some).map_err(failed),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Returns the digest of a file's content from its current position on.
pub(super) fn of_file(mut file: File) -> std::io::Result<String> {
    let mut digest = Sha256::new();
    let mut chunk = vec![0; 128 << 10];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => {
                return Ok(digest
                    .finalize()
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect());
            }
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
    fn digest_covers_headers_that_compilers_receive() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("a.cpp"), "").unwrap();
        let program = Program {
            path: at("a.cpp"),
            sources: vec![at("a.cpp")],
            language: None,
            arguments: Vec::new(),
        };
        let digest = || {
            let (sender, receiver) = mpsc::channel();
            let program = program.clone();
            std::thread::spawn(move || {
                let root = program.path.parent().unwrap();
                let digest = Digest::new("")
                    .with_program(&program, &Suites::builtin(), root)
                    .unwrap()
                    .done();
                let _ = sender.send(digest);
            });
            receiver
                .recv_timeout(Duration::from_secs(60))
                .expect("a digest")
        };
        let alone = digest();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe.h"),
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("link.h")).unwrap();
        assert_eq!(digest(), alone);
        std::fs::write(at("a.h"), "").unwrap();
        assert_ne!(digest(), alone);
    }
}
