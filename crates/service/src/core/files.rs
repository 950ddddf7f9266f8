//! Stored files, named by the SHA-256 of their content.

use super::queue::ClientId;
use crate::tokens::hex;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashMap};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;

/// A file store in one directory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FileStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    /// Removes a temporary directory when the store is dropped.
    _temporary: Option<tempfile::TempDir>,
    max_bytes: u64,
    keep: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    files: HashMap<String, Stored>,
    /// Total size of the stored files in bytes.
    bytes: u64,
    /// Total size of the uploads in progress, in bytes.
    uploading: u64,
}

#[derive(Debug)]
struct Stored {
    bytes: u64,
    used: Instant,
    owners: BTreeSet<Owner>,
}

/// The owner of a stored file. A file that was found at the start has no owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The client that uploaded the file.
    Client(ClientId),
    /// The go-judge dialect, while the file has an id there.
    GoJudge,
}

/// The result of a request to remove a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// The owner no longer keeps the file. It is removed with its last owner.
    Removed,
    /// Only other owners keep the file, so it stays.
    NotOwned,
    /// No such file is stored.
    Unknown,
}

/// Why a file is not stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The content has a different digest.
    #[error("the content has the SHA-256 {found}, not {expected}")]
    Digest {
        /// The digest of the content.
        found: String,
        /// The digest that was named.
        expected: String,
    },
    /// The store is full, and no file in it may be removed yet.
    #[error("the file store is full: {bytes} of {max_bytes} bytes are in use")]
    Full {
        /// Bytes of stored files, and of uploads in progress.
        bytes: u64,
        /// Number of bytes that the store can hold.
        max_bytes: u64,
    },
    /// The upload ended early.
    #[error("the upload was interrupted")]
    Interrupted,
    /// The file system failed.
    #[error("cannot store the file: {0}")]
    Disk(#[from] std::io::Error),
}

impl FileStore {
    /// A store in a directory; `None` is a temporary one.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn new(
        directory: Option<PathBuf>,
        max_bytes: u64,
        keep: Duration,
    ) -> std::io::Result<FileStore> {
        let (directory, temporary) = match directory {
            Some(directory) => (directory, None),
            None => {
                let temporary = tempfile::Builder::new()
                    .prefix("millibox-files-")
                    .tempdir()?;
                (temporary.path().to_owned(), Some(temporary))
            }
        };
        // Files are submissions, tests and outputs of clients.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)?;
        let mut state = State::default();
        for entry in std::fs::read_dir(&directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_digest(&name) {
                let bytes = entry.metadata()?.len();
                state.bytes += bytes;
                let stored = Stored {
                    bytes,
                    used: Instant::now(),
                    owners: BTreeSet::new(),
                };
                state.files.insert(name, stored);
            }
        }
        Ok(FileStore {
            shared: Arc::new(Shared {
                directory,
                _temporary: temporary,
                max_bytes,
                keep,
                state: Mutex::new(state),
            }),
        })
    }

    /// How long a file is kept after its last use.
    pub fn keep(&self) -> Duration {
        self.shared.keep
    }

    /// Stores content that arrives in pieces, on behalf of an owner. Returns its SHA-256 and
    /// whether it is new.
    ///
    /// # Errors
    /// The content has a digest other than the expected one, does not fit, or cannot be stored.
    pub async fn put<E>(
        &self,
        owner: Owner,
        expected: Option<&str>,
        content: impl Stream<Item = Result<Bytes, E>>,
    ) -> Result<(String, bool), StoreError> {
        let part = tempfile::Builder::new()
            .prefix(".part-")
            .tempfile_in(&self.shared.directory)?;
        let (file, path) = part.into_parts();
        let mut file = tokio::fs::File::from_std(file);
        let mut hash = Sha256::new();
        let mut upload = Upload {
            shared: &self.shared,
            bytes: 0,
        };
        let mut content = std::pin::pin!(content);
        while let Some(piece) = content.next().await {
            let piece = piece.map_err(|_| StoreError::Interrupted)?;
            upload.take_room(piece.len() as u64)?;
            hash.update(&piece);
            file.write_all(&piece).await?;
        }
        file.flush().await?;
        let found = hex(&hash.finalize());
        if let Some(expected) = expected.filter(|expected| **expected != found) {
            return Err(StoreError::Digest {
                found,
                expected: expected.to_owned(),
            });
        }
        let bytes = upload.bytes;
        // From here on, its bytes count as those of the stored file.
        let mut guard = upload.end();
        let state = &mut *guard;
        let is_new = !state.files.contains_key(&found);
        if is_new {
            path.persist(self.shared.directory.join(&found))
                .map_err(|error| error.error)?;
            state.bytes += bytes;
        }
        let stored = state.files.entry(found.clone()).or_insert(Stored {
            bytes,
            used: Instant::now(),
            owners: BTreeSet::new(),
        });
        stored.used = Instant::now();
        stored.owners.insert(owner);
        Ok((found, is_new))
    }

    /// Opens a file; `None` if it is not stored.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(&self, digest: &str) -> std::io::Result<Option<std::fs::File>> {
        let mut state = self.shared.state();
        let Some(stored) = state.files.get_mut(digest) else {
            return Ok(None);
        };
        stored.used = Instant::now();
        std::fs::File::open(self.shared.directory.join(digest)).map(Some)
    }

    /// The size of a file; `None` if it is not stored.
    pub fn size(&self, digest: &str) -> Option<u64> {
        self.shared
            .state()
            .files
            .get(digest)
            .map(|stored| stored.bytes)
    }

    /// Ends the ownership of a file, which is removed with its last owner. Runs that have opened it
    /// can still read it.
    pub fn remove(&self, digest: &str, owner: Owner) -> Removal {
        let mut state = self.shared.state();
        let Some(stored) = state.files.get_mut(digest) else {
            return Removal::Unknown;
        };
        if !stored.owners.remove(&owner) {
            return Removal::NotOwned;
        }
        if stored.owners.is_empty() {
            self.shared.remove(&mut state, digest);
        }
        Removal::Removed
    }

    /// Removes a file for all owners. Returns whether it was stored.
    pub fn remove_for_all(&self, digest: &str) -> bool {
        self.shared.remove(&mut self.shared.state(), digest)
    }

    /// Removes files whose retention period has passed since their last use.
    pub fn remove_expired(&self) {
        let mut state = self.shared.state();
        self.shared.remove_expired(&mut state);
    }
}

/// The space of an upload in progress. Dropping the value frees the space.
struct Upload<'a> {
    shared: &'a Shared,
    bytes: u64,
}

impl<'a> Upload<'a> {
    /// Reserves space for another piece.
    fn take_room(&mut self, bytes: u64) -> Result<(), StoreError> {
        let mut state = self.shared.state();
        let max_bytes = self.shared.max_bytes;
        if state.occupied().saturating_add(bytes) > max_bytes {
            self.shared.remove_expired(&mut state);
        }
        if state.occupied().saturating_add(bytes) > max_bytes {
            return Err(StoreError::Full {
                bytes: state.occupied(),
                max_bytes,
            });
        }
        state.uploading += bytes;
        self.bytes += bytes;
        Ok(())
    }

    /// Frees the space. No other upload can reserve it before the caller unlocks the state.
    fn end(mut self) -> MutexGuard<'a, State> {
        let mut state = self.shared.state();
        state.uploading -= std::mem::take(&mut self.bytes);
        state
    }
}

impl Drop for Upload<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.shared.state().uploading -= self.bytes;
        }
    }
}

impl State {
    fn occupied(&self) -> u64 {
        self.bytes + self.uploading
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, state: &mut State, digest: &str) -> bool {
        let Some(stored) = state.files.remove(digest) else {
            return false;
        };
        state.bytes -= stored.bytes;
        // If this fails, the next start finds the file again.
        let _ = std::fs::remove_file(self.directory.join(digest));
        true
    }

    fn remove_expired(&self, state: &mut State) {
        let expired: Vec<String> = state
            .files
            .iter()
            .filter(|(_, stored)| stored.used.elapsed() > self.keep)
            .map(|(digest, _)| digest.clone())
            .collect();
        for digest in expired {
            self.remove(state, &digest);
        }
    }
}

/// Whether the text is a SHA-256 in lower-case hexadecimal.
pub fn is_digest(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn store(max_bytes: u64, keep: Duration) -> FileStore {
        FileStore::new(None, max_bytes, keep).unwrap()
    }

    const OWNER: Owner = Owner::Client(1);

    async fn put(store: &FileStore, content: &'static str) -> Result<String, StoreError> {
        let pieces = futures_util::stream::iter([Ok::<_, ()>(Bytes::from(content))]);
        Ok(store.put(OWNER, None, pieces).await?.0)
    }

    #[tokio::test]
    async fn stored_content_is_returned_and_equal_content_is_stored_once() {
        let store = store(100, Duration::from_secs(60));
        let digest = put(&store, "hello").await.unwrap();
        assert!(is_digest(&digest));
        assert_eq!(put(&store, "hello").await.unwrap(), digest);
        let mut text = String::new();
        let mut file = store.open(&digest).unwrap().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((&text[..], store.size(&digest)), ("hello", Some(5)));
        assert_eq!(store.remove(&digest, OWNER), Removal::Removed);
        assert_eq!(store.remove(&digest, OWNER), Removal::Unknown);
        assert!(store.open(&digest).unwrap().is_none());
    }

    #[tokio::test]
    async fn wrong_digest_and_full_store_are_rejected() {
        let store = store(6, Duration::from_secs(60));
        let pieces = futures_util::stream::iter([Ok::<_, ()>(Bytes::from("hello"))]);
        let error = store.put(OWNER, Some("00"), pieces).await.unwrap_err();
        assert!(matches!(error, StoreError::Digest { .. }));
        put(&store, "hello").await.unwrap();
        let error = put(&store, "more").await.unwrap_err();
        assert!(matches!(error, StoreError::Full { bytes: 5, .. }));
    }

    #[tokio::test]
    async fn unused_files_make_room() {
        let store = store(6, Duration::ZERO);
        put(&store, "hello").await.unwrap();
        std::thread::sleep(Duration::from_millis(2));
        put(&store, "world").await.unwrap();
        store.remove_expired();
    }

    #[tokio::test]
    async fn file_is_removed_with_its_last_owner_alone() {
        let store = store(100, Duration::from_secs(60));
        let digest = put(&store, "hello").await.unwrap();
        let pieces = futures_util::stream::iter([Ok::<_, ()>(Bytes::from("hello"))]);
        store.put(Owner::GoJudge, None, pieces).await.unwrap();
        let stranger = Owner::Client(2);
        assert_eq!(store.remove(&digest, stranger), Removal::NotOwned);
        assert_eq!(store.remove(&digest, OWNER), Removal::Removed);
        assert_eq!(store.remove(&digest, OWNER), Removal::NotOwned);
        assert_eq!(store.size(&digest), Some(5));
        assert_eq!(store.remove(&digest, Owner::GoJudge), Removal::Removed);
        assert_eq!(store.size(&digest), None);
    }

    #[tokio::test]
    async fn uploads_in_progress_occupy_room_until_they_end() {
        let store = store(8, Duration::from_secs(60));
        let begin = futures_util::stream::once(async { Ok::<_, ()>(Bytes::from("hello")) });
        let never = futures_util::stream::pending();
        let mut upload = Box::pin(store.put(OWNER, None, begin.chain(never)));
        let begun = tokio::time::timeout(Duration::from_millis(50), &mut upload).await;
        assert!(begun.is_err());
        let error = put(&store, "more").await.unwrap_err();
        assert!(matches!(error, StoreError::Full { bytes: 5, .. }));
        drop(upload);
        let digest = put(&store, "more").await.unwrap();
        assert_eq!(store.size(&digest), Some(4));
        put(&store, "more").await.unwrap();
        put(&store, "most").await.unwrap();
    }
}
