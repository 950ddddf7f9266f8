//! Files of the data directory that are named by their SHA-256: packages, statements and images.
//!
//! A file is complete before it receives its name, and it never changes. It is stored before a row
//! of the database refers to it, and its modification time is the last time at which it was stored.
//! So if a file is older than the longest request and no row refers to it, no request can use it,
//! and [`Blobs::remove_unused`] removes it. A lock prevents the removal while this or another
//! process stores a file.

use crate::core::token::hex;
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const COPY_CHUNK_BYTES: usize = 64 << 10;
/// The beginning of the names of files that are being written.
const PARTIAL: &str = ".partial-";

/// A blob that cannot be stored.
#[derive(Debug, thiserror::Error)]
#[error("cannot store a file in {}: {error}", .directory.display())]
pub struct BlobError {
    directory: PathBuf,
    error: io::Error,
}

/// The directory of blobs.
#[derive(Debug, Clone)]
pub struct Blobs {
    directory: PathBuf,
}

impl Blobs {
    /// Opens or creates the directory.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn open(directory: &Path) -> Result<Blobs, BlobError> {
        // Symbolic links in other directories point to blobs.
        let absolute = std::path::absolute(directory).map_err(|error| BlobError {
            directory: directory.to_owned(),
            error,
        })?;
        let blobs = Blobs {
            directory: absolute,
        };
        std::fs::create_dir_all(directory).map_err(|error| blobs.failed(error))?;
        Ok(blobs)
    }

    fn failed(&self, error: io::Error) -> BlobError {
        BlobError {
            directory: self.directory.clone(),
            error,
        }
    }

    /// The file with this digest.
    pub fn path(&self, digest: &str) -> PathBuf {
        self.directory.join(digest)
    }

    /// Stores bytes. Returns their digest.
    ///
    /// # Errors
    /// The file system rejects the file.
    pub fn put(&self, content: &[u8]) -> Result<String, BlobError> {
        let digest = hex(&Sha256::digest(content));
        let path = self.path(&digest);
        let store = || {
            let _lock = self.lock(FlockOperation::LockShared)?;
            if touch(&path)? {
                return Ok(());
            }
            self.write(content, &path)
        };
        store().map_err(|error| self.failed(error))?;
        Ok(digest)
    }

    /// Stores the content of a file. Returns its digest.
    ///
    /// # Errors
    /// The file cannot be read, or the file system rejects the copy.
    pub fn put_file(&self, path: &Path) -> Result<String, BlobError> {
        let mut file = File::open(path).map_err(|error| self.failed(error))?;
        let mut blob = self.begin()?;
        let mut chunk = vec![0; COPY_CHUNK_BYTES];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => return blob.finish(),
                Ok(read) => blob.write(&chunk[..read])?,
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    /// Removes the files that are not in `named` and were stored longer ago than `age`. `named`
    /// must contain every digest in the database. Returns the number of removed files.
    ///
    /// # Errors
    /// The directory cannot be read, or a file cannot be removed.
    pub fn remove_unused(&self, named: &HashSet<String>, age: Duration) -> Result<u64, BlobError> {
        let mut removed = 0;
        let remove = || {
            for entry in std::fs::read_dir(&self.directory)? {
                let entry = entry?;
                let name = entry.file_name();
                let Some(name) = name.to_str() else { continue };
                let is_unused = is_digest(name) && !named.contains(name);
                if !is_unused && !name.starts_with(PARTIAL) {
                    continue;
                }
                // While the lock is held, no process can store the file again and so renew its
                // modification time.
                let _lock = self.lock(FlockOperation::LockExclusive)?;
                if is_older(&entry.path(), age)? {
                    std::fs::remove_file(entry.path())?;
                    removed += 1;
                }
            }
            Ok(())
        };
        let result: io::Result<()> = { remove }();
        result.map_err(|error| self.failed(error))?;
        Ok(removed)
    }

    /// Takes the lock until the returned file is dropped. All processes that store files share the
    /// lock; the removal holds it exclusively.
    fn lock(&self, kind: FlockOperation) -> io::Result<File> {
        let path = self.directory.with_extension("lock");
        let file = File::options().create(true).append(true).open(path)?;
        flock(&file, kind)?;
        Ok(file)
    }

    /// A file without a name, which vanishes when it is closed.
    ///
    /// # Errors
    /// The file system rejects it.
    pub fn scratch(&self) -> io::Result<File> {
        tempfile::tempfile_in(&self.directory)
    }

    fn partial(&self) -> io::Result<tempfile::NamedTempFile> {
        tempfile::Builder::new()
            .prefix(PARTIAL)
            .tempfile_in(&self.directory)
    }

    /// Begins a blob that is written in parts.
    ///
    /// # Errors
    /// The file system rejects the file.
    pub fn begin(&self) -> Result<NewBlob, BlobError> {
        let file = self.partial();
        Ok(NewBlob {
            blobs: self.clone(),
            file: file.map_err(|error| self.failed(error))?,
            hash: Sha256::new(),
        })
    }

    fn write(&self, content: &[u8], path: &Path) -> io::Result<()> {
        let mut file = self.partial()?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        File::open(&self.directory)?.sync_all()
    }
}

/// Whether a name is that of a blob.
pub fn is_digest(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Sets the modification time to the current time. Returns false if the file does not exist.
fn touch(path: &Path) -> io::Result<bool> {
    match File::open(path) {
        Ok(file) => file.set_modified(SystemTime::now()).map(|()| true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether a file exists and was modified longer ago than `age`.
fn is_older(path: &Path, age: Duration) -> io::Result<bool> {
    match path.metadata() {
        // A time in the future is no reason to remove a file.
        Ok(metadata) => Ok(metadata.modified()?.elapsed().is_ok_and(|old| old > age)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A blob that is being written. It is removed unless it is finished.
#[derive(Debug)]
pub struct NewBlob {
    blobs: Blobs,
    file: tempfile::NamedTempFile,
    hash: Sha256,
}

impl NewBlob {
    /// Adds a part.
    ///
    /// # Errors
    /// The file system rejects it.
    pub fn write(&mut self, part: &[u8]) -> Result<(), BlobError> {
        self.hash.update(part);
        let written = self.file.write_all(part);
        written.map_err(|error| self.blobs.failed(error))
    }

    /// Stores the blob. Returns its digest.
    ///
    /// # Errors
    /// The file system rejects the file.
    pub fn finish(self) -> Result<String, BlobError> {
        let digest = hex(&self.hash.finalize());
        let store = || {
            self.file.as_file().sync_all()?;
            let _lock = self.blobs.lock(FlockOperation::LockShared)?;
            self.file.persist(self.blobs.path(&digest))?;
            File::open(&self.blobs.directory)?.sync_all()
        };
        match store() {
            Ok(()) => Ok(digest),
            Err(error) => Err(self.blobs.failed(error)),
        }
    }
}

/// One day, for tests.
#[cfg(test)]
pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Makes a file two days old, for tests.
#[cfg(test)]
pub fn make_old(path: &Path) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - 2 * DAY).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_stored_once_under_its_digest() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(&directory.path().join("blobs")).unwrap();
        let digest = blobs.put(b"abc").unwrap();
        assert!(digest.starts_with("ba7816bf"), "{digest}");
        assert_eq!(blobs.put(b"abc").unwrap(), digest);
        assert_eq!(std::fs::read(blobs.path(&digest)).unwrap(), b"abc");
        let files = std::fs::read_dir(directory.path().join("blobs")).unwrap();
        assert_eq!(files.count(), 1);
    }

    #[test]
    fn only_old_files_without_a_name_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(&directory.path().join("blobs")).unwrap();
        let [named, unused, young, again] =
            [b"a", b"b", b"c", b"d"].map(|content| blobs.put(content).unwrap());
        let partial = blobs.path(".partial-abc");
        std::fs::write(&partial, b"half").unwrap();
        let mut written = blobs.begin().unwrap();
        written.write(b"e").unwrap();
        let other = blobs.path("notes.txt");
        std::fs::write(&other, b"of a person").unwrap();
        for path in [&named, &unused, &again] {
            make_old(&blobs.path(path));
        }
        make_old(&partial);
        make_old(&other);
        // Storing an existing file again makes it count as new.
        assert_eq!(blobs.put(b"d").unwrap(), again);
        let names = HashSet::from([named.clone()]);
        assert_eq!(blobs.remove_unused(&names, DAY).unwrap(), 2);
        assert!(!blobs.path(&unused).exists() && !partial.exists());
        let written = written.finish().unwrap();
        for kept in [named, young, again, written, "notes.txt".to_owned()] {
            assert!(blobs.path(&kept).exists(), "{kept}");
        }
        assert_eq!(blobs.remove_unused(&names, DAY).unwrap(), 0);
    }

    #[test]
    fn file_that_is_stored_during_a_removal_stays() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(&directory.path().join("blobs")).unwrap();
        let none = HashSet::new();
        std::thread::scope(|scope| {
            let storing = scope.spawn(|| {
                for round in 0..300 {
                    let digest = if round % 2 == 0 {
                        blobs.put(b"content").unwrap()
                    } else {
                        let mut blob = blobs.begin().unwrap();
                        blob.write(b"content").unwrap();
                        blob.finish().unwrap()
                    };
                    // From here on, the file must not vanish, because a row is about to refer to
                    // it.
                    std::thread::sleep(Duration::from_micros(200));
                    assert!(blobs.path(&digest).exists(), "round {round}");
                    make_old(&blobs.path(&digest));
                    std::thread::sleep(Duration::from_micros(100 * (round % 5)));
                }
            });
            while !storing.is_finished() {
                blobs.remove_unused(&none, DAY).unwrap();
            }
            storing.join().unwrap();
        });
    }
}
