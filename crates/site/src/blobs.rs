//! Files of the data directory that are named by their SHA-256: packages, statements and images.
//!
//! A file is complete before it gets its name, and never changes.

use crate::core::token::hex;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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
        // Symbolic links in other directories lead to blobs.
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

    /// The file with a digest.
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
        if !path.exists() {
            self.write(content, &path)
                .map_err(|error| self.failed(error))?;
        }
        Ok(digest)
    }

    /// Begins a blob that is written in parts.
    ///
    /// # Errors
    /// The file system rejects the file.
    pub fn begin(&self) -> Result<NewBlob, BlobError> {
        let file = tempfile::NamedTempFile::new_in(&self.directory);
        Ok(NewBlob {
            blobs: self.clone(),
            file: file.map_err(|error| self.failed(error))?,
            hash: Sha256::new(),
        })
    }

    fn write(&self, content: &[u8], path: &Path) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        File::open(&self.directory)?.sync_all()
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
            self.file.persist(self.blobs.path(&digest))?;
            File::open(&self.blobs.directory)?.sync_all()
        };
        match store() {
            Ok(()) => Ok(digest),
            Err(error) => Err(self.blobs.failed(error)),
        }
    }
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
}
