//! A stored file that a request uses.

use super::Shared;
use crate::hex::hex;
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of bytes that are hashed or read at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// A stored file that a request refers to. It stays readable while the value exists, even if its
/// owners remove it. The value holds neither an open file nor the content. Cheap to clone.
#[derive(Debug, Clone)]
pub struct StoredFile {
    pin: Arc<Pin>,
}

#[derive(Debug)]
struct Pin {
    shared: Arc<Shared>,
    digest: String,
    bytes: u64,
    /// Whether the content has the digest that names it.
    is_checked: AtomicBool,
}

impl StoredFile {
    /// The caller has counted the pin.
    pub(super) fn new(shared: &Arc<Shared>, digest: &str, bytes: u64) -> StoredFile {
        StoredFile {
            pin: Arc::new(Pin {
                shared: shared.clone(),
                digest: digest.to_owned(),
                bytes,
                is_checked: AtomicBool::new(false),
            }),
        }
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.pin.bytes
    }

    /// Opens the file. No descriptor of it may reach a run, because the file belongs to the user of
    /// the runs.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(&self) -> io::Result<File> {
        File::open(self.pin.shared.directory.join(&self.pin.digest))
    }

    /// Opens the file after comparing its content with its name, once for each request. Blocks.
    ///
    /// # Errors
    /// The file cannot be read, or its content has changed.
    pub fn open_checked(&self) -> io::Result<File> {
        let file = self.open()?;
        if !self.pin.is_checked.load(Ordering::Relaxed) {
            let mut hash = Sha256::new();
            let mut chunk = vec![0; CHUNK_BYTES];
            let mut offset = 0;
            loop {
                let read = file.read_at(&mut chunk, offset)?;
                if read == 0 {
                    break;
                }
                hash.update(&chunk[..read]);
                offset += read as u64;
            }
            if hex(&hash.finalize()) != self.pin.digest {
                self.pin.shared.discard(&self.pin.digest);
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the stored file is damaged; store it again",
                ));
            }
            self.pin.is_checked.store(true, Ordering::Relaxed);
        }
        Ok(file)
    }

    /// Reads the content. Blocks.
    ///
    /// # Errors
    /// The file cannot be read, or its content has changed.
    pub fn read(&self) -> io::Result<Bytes> {
        let file = self.open_checked()?;
        let length = usize::try_from(self.pin.bytes).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes.into())
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.shared.unpin(&self.digest);
    }
}
