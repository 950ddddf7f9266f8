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
        let blobs = Blobs {
            directory: directory.to_owned(),
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

    fn write(&self, content: &[u8], path: &Path) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        File::open(&self.directory)?.sync_all()
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
