//! The format of a cache file.
//!
//! The file begins with a magic number and the SHA-256 digest of the rest. The rest is the length
//! of the header, the header ([`postcard`]), and the contents of the files, one after the other.

use crate::files::{Store, StoredFiles};
use millibox::Figures;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

const MAGIC: &[u8; 16] = b"millibox-cache 2";
const DIGEST_BYTES: usize = 32;
/// Maximum size of a header in bytes: messages and file names.
const MAX_HEADER_BYTES: u64 = 32 << 20;

/// A compiled program.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) messages: String,
    pub(crate) figures: Option<Figures>,
    pub(crate) files: StoredFiles,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) messages: String,
    pub(super) figures: Option<Figures>,
    pub(super) files: Vec<FileHeader>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct FileHeader {
    name: PathBuf,
    executable: bool,
    length: u64,
}

/// Writes an entry to an empty file.
pub(super) fn encode(entry: &Entry, to: &mut std::fs::File) -> io::Result<()> {
    let files = entry.files.files.iter().map(|file| FileHeader {
        name: file.name.clone(),
        executable: file.executable,
        length: file.length,
    });
    let header = Header {
        messages: entry.messages.clone(),
        figures: entry.figures,
        files: files.collect(),
    };
    // Serialisation fails for a name that is not UTF-8, so the program is not cached. This is
    // acceptable because compilers create no such names.
    let header = postcard::to_stdvec(&header).map_err(io::Error::other)?;
    to.write_all(MAGIC)?;
    to.write_all(&[0; DIGEST_BYTES])?;
    let mut to = DigestWriter {
        inner: BufWriter::new(to),
        digest: Sha256::new(),
    };
    to.write_all(&(header.len() as u64).to_le_bytes())?;
    to.write_all(&header)?;
    for file in &entry.files.files {
        let mut from = std::fs::File::open(entry.files.directory.path().join(&file.name))?;
        io::copy(&mut from, &mut to)?;
    }
    let digest = to.digest.finalize();
    let to = to
        .inner
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    to.seek(SeekFrom::Start(MAGIC.len() as u64))?;
    to.write_all(&digest)
}

/// Checks the digest and reads the header. Afterwards, the file's position is at the first byte of
/// the contents.
pub(super) fn decode_header(from: &mut std::fs::File) -> io::Result<Header> {
    let wrong = || io::Error::from(io::ErrorKind::InvalidData);
    let mut begin = [0; MAGIC.len() + DIGEST_BYTES];
    from.read_exact(&mut begin)?;
    let (magic, digest) = begin.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(wrong());
    }
    let mut actual = DigestWriter {
        inner: io::sink(),
        digest: Sha256::new(),
    };
    let rest = io::copy(from, &mut actual)?;
    if actual.digest.finalize()[..] != *digest {
        return Err(wrong());
    }
    from.seek(SeekFrom::Start(begin.len() as u64))?;
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER_BYTES.min(rest) {
        return Err(wrong());
    }
    let mut header = Vec::new();
    from.take(length).read_to_end(&mut header)?;
    let header: Header = postcard::from_bytes(&header).map_err(|_| wrong())?;
    let bytes = header
        .files
        .iter()
        .try_fold(0u64, |sum, file| sum.checked_add(file.length));
    match bytes == rest.checked_sub(8 + length) {
        true => Ok(header),
        false => Err(wrong()),
    }
}

/// Reads the contents into `store`. Returns `None` if the store failed or the file ended too early.
pub(super) fn decode_files(
    from: &mut std::fs::File,
    files: &[FileHeader],
    mut store: Store,
) -> Option<StoredFiles> {
    let mut from = BufReader::new(from);
    for file in files {
        let mut bytes = Read::take(&mut from, file.length);
        if store
            .add(&file.name, file.executable, &mut bytes, file.length)
            .ok()?
            != file.length
        {
            return None;
        }
    }
    Some(store.finish())
}

/// Writes to `inner` and digests the bytes.
struct DigestWriter<W> {
    inner: W,
    digest: Sha256,
}

impl<W: Write> Write for DigestWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
