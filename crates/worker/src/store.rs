//! Packages on the disk of a worker.
//!
//! A package is named by its digest. It receives its name only after the digest of its content was
//! compared, and the comparison is repeated each time the package is used. If the store is full,
//! the packages that were used longest ago are removed, except those in use. One process uses a
//! directory at a time.

use millibox_fleet::digest::{Digest, Hasher};
use millibox_fleet::queue::Lease;
use rustix::fs::{FlockOperation, flock};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

const READ_CHUNK_BYTES: usize = 64 << 10;
/// The prefix of files that are being written.
const PARTIAL: &str = ".partial-";

/// Why a package cannot be stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file cannot be read or written.
    #[error("cannot store a package in {}: {error}", .directory.display())]
    File {
        /// The directory.
        directory: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A different process uses the directory.
    #[error("another worker uses {}; give each worker its own --cache", .directory.display())]
    Used {
        /// The directory.
        directory: PathBuf,
    },
    /// The content has a different digest.
    #[error("the package was sent with the digest {found} instead of {expected}")]
    Digest {
        /// The digest in the task.
        expected: Digest,
        /// The digest of the content.
        found: Digest,
    },
    /// The content is longer than announced.
    #[error("the package {expected} has more than {bytes} bytes")]
    Length {
        /// The digest in the task.
        expected: Digest,
        /// The announced length.
        bytes: u64,
    },
}

/// A directory of packages.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    max_bytes: u64,
    in_use: Mutex<HashMap<Lease, Digest>>,
    _lock: File,
}

/// A package that arrives in parts.
#[derive(Debug)]
pub struct NewPackage<'s> {
    store: &'s Store,
    file: tempfile::NamedTempFile,
    hasher: Hasher,
    expected: Digest,
    bytes: u64,
    written: u64,
}

impl Store {
    /// Opens or creates the directory, and removes what an earlier process has left unfinished.
    ///
    /// # Errors
    /// The directory cannot be used, or a different process uses it.
    pub fn open(directory: &Path, max_bytes: u64) -> Result<Store, StoreError> {
        let failed = |error| StoreError::File {
            directory: directory.to_owned(),
            error,
        };
        let mut builder = std::fs::DirBuilder::new();
        // Packages contain secret tests.
        builder.recursive(true).mode(0o700);
        builder.create(directory).map_err(failed)?;
        let mut options = File::options();
        options.create(true).append(true);
        let lock = options.open(directory.join("lock")).map_err(failed)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(StoreError::Used {
                    directory: directory.to_owned(),
                });
            }
            Err(error) => return Err(failed(error.into())),
        }
        for entry in std::fs::read_dir(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_string_lossy().starts_with(PARTIAL) {
                std::fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        Ok(Store {
            directory: std::path::absolute(directory).map_err(failed)?,
            max_bytes,
            in_use: Mutex::default(),
            _lock: lock,
        })
    }

    fn failed(&self, error: io::Error) -> StoreError {
        StoreError::File {
            directory: self.directory.clone(),
            error,
        }
    }

    fn in_use(&self) -> MutexGuard<'_, HashMap<Lease, Digest>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.directory.join(digest.as_str())
    }

    /// Keeps a package, if it is stored, until [`Store::release`].
    pub fn keep(&self, lease: Lease, digest: &Digest) {
        self.in_use().insert(lease, digest.clone());
    }

    /// The lease no longer needs its package.
    pub fn release(&self, lease: Lease) {
        self.in_use().remove(&lease);
    }

    /// The path of a stored package with the right content.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn get(&self, digest: &Digest) -> Result<Option<PathBuf>, StoreError> {
        let path = self.path(digest);
        let mut file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| self.failed(error))?,
        };
        let mut hasher = Hasher::default();
        let mut chunk = vec![0; READ_CHUNK_BYTES];
        loop {
            match file.read(&mut chunk).map_err(|error| self.failed(error))? {
                0 => break,
                read => hasher.add(&chunk[..read]),
            }
        }
        if hasher.digest() != *digest {
            tracing::warn!(%digest, "a stored package has changed and is removed");
            remove(&path).map_err(|error| self.failed(error))?;
            return Ok(None);
        }
        let touched = file.set_modified(SystemTime::now());
        touched.map_err(|error| self.failed(error))?;
        Ok(Some(path))
    }

    /// Begins a package.
    ///
    /// # Errors
    /// The file system rejects the file.
    pub fn begin(&self, expected: &Digest, bytes: u64) -> Result<NewPackage<'_>, StoreError> {
        self.make_room(bytes).map_err(|error| self.failed(error))?;
        let mut builder = tempfile::Builder::new();
        let file = builder.prefix(PARTIAL).tempfile_in(&self.directory);
        Ok(NewPackage {
            store: self,
            file: file.map_err(|error| self.failed(error))?,
            hasher: Hasher::default(),
            expected: expected.clone(),
            bytes,
            written: 0,
        })
    }

    /// Removes packages until this number of bytes fits.
    fn make_room(&self, bytes: u64) -> io::Result<()> {
        // A lease that begins to use a package waits, so it either keeps it or does not find it.
        let in_use = self.in_use();
        let in_use: HashSet<&Digest> = in_use.values().collect();
        let mut stored = Vec::new();
        for entry in std::fs::read_dir(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(digest) = Digest::try_from(name) else {
                continue;
            };
            let metadata = match entry.metadata() {
                // Another lease has found that it has changed.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                metadata => metadata?,
            };
            stored.push((metadata.modified()?, metadata.len(), digest));
        }
        stored.sort_by_key(|(used, ..)| *used);
        let mut total: u64 = stored.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, length, digest) in stored {
            if total.saturating_add(bytes) <= self.max_bytes {
                break;
            }
            if in_use.contains(&digest) {
                continue;
            }
            remove(&self.path(&digest))?;
            total -= length;
        }
        Ok(())
    }
}

/// Removes a file, which may not exist.
fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

impl NewPackage<'_> {
    /// The number of bytes that were added.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Adds the next part.
    ///
    /// # Errors
    /// The package is longer than announced, or the disk is full.
    pub fn add(&mut self, part: &[u8]) -> Result<(), StoreError> {
        self.written = self.written.saturating_add(part.len() as u64);
        if self.written > self.bytes {
            return Err(StoreError::Length {
                expected: self.expected.clone(),
                bytes: self.bytes,
            });
        }
        self.hasher.add(part);
        let written = self.file.write_all(part);
        written.map_err(|error| self.store.failed(error))
    }

    /// Stores the package if it has the right digest. Returns its path.
    ///
    /// # Errors
    /// The digest is wrong, or the file system rejects the file.
    pub fn finish(self) -> Result<PathBuf, StoreError> {
        let found = self.hasher.digest();
        if found != self.expected {
            return Err(StoreError::Digest {
                expected: self.expected,
                found,
            });
        }
        let path = self.store.path(&found);
        let persisted = self.file.persist(&path);
        persisted.map_err(|error| self.store.failed(error.error))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(judgement: i64) -> Lease {
        Lease {
            judgement,
            attempt: 1,
        }
    }

    fn put(store: &Store, content: &[u8]) -> Digest {
        let digest = Digest::of(content);
        let mut package = store.begin(&digest, content.len() as u64).unwrap();
        for part in content.chunks(3) {
            package.add(part).unwrap();
        }
        package.finish().unwrap();
        // Some file systems count in jiffies.
        std::thread::sleep(std::time::Duration::from_millis(20));
        digest
    }

    #[test]
    fn content_with_a_different_digest_is_never_stored() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 100).unwrap();
        let expected = Digest::of(b"right");
        let mut package = store.begin(&expected, 5).unwrap();
        package.add(b"wrong").unwrap();
        let error = package.finish().unwrap_err();
        assert!(matches!(error, StoreError::Digest { .. }), "{error}");
        let mut package = store.begin(&expected, 5).unwrap();
        let error = package.add(b"right and more").unwrap_err();
        assert!(matches!(error, StoreError::Length { .. }), "{error}");
        drop(package);
        assert_eq!(store.get(&expected).unwrap(), None);
        let digest = put(&store, b"right");
        let path = store.get(&digest).unwrap().unwrap();
        std::fs::write(&path, b"wrong").unwrap();
        assert_eq!(store.get(&digest).unwrap(), None, "the file has changed");
        assert!(!path.exists());
    }

    #[test]
    fn oldest_packages_make_room_unless_they_are_in_use() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), 10).unwrap();
        let [one, two] = [b"1111", b"2222"].map(|content| put(&store, content));
        store.keep(lease(1), &one);
        let three = put(&store, b"3333");
        let has = |digest: &Digest| store.get(digest).unwrap().is_some();
        assert!(has(&one) && !has(&two) && has(&three));
        store.release(lease(1));
        assert!(has(&three) && has(&one), "the order of use is now 3, 1");
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(has(&one));
        let large = put(&store, b"44444444");
        assert!(has(&large) && !has(&one) && !has(&three));
    }

    #[test]
    fn directory_belongs_to_one_worker() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache");
        let store = Store::open(&path, 10).unwrap();
        let error = Store::open(&path, 10).unwrap_err();
        assert!(matches!(error, StoreError::Used { .. }), "{error}");
        std::fs::write(path.join(format!("{PARTIAL}x")), b"").unwrap();
        drop(store);
        Store::open(&path, 10).unwrap();
        assert!(!path.join(format!("{PARTIAL}x")).exists());
    }
}
