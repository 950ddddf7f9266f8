//! Stored files, named by the SHA-256 of their content.
//!
//! Equal contents share one file on the disk, but clients cannot notice that: a client can only use
//! what it has stored itself, and files that their owner has shared. A digest alone gives nothing.

mod stored;

pub use stored::StoredFile;

use super::access::{Owned, Verb, may};
use super::queue::ClientId;
use super::share::Bound;
use crate::hex::hex;
use crate::tokens::Client;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;

/// The maximum number of records in the store: one for each owner of a file, and one for each id of
/// the go-judge dialect.
const MAX_RECORDS: u64 = 100_000;

/// A file store in one directory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FileStore {
    shared: Arc<Shared>,
}

#[derive(Debug, Clone, Copy)]
pub struct StoreBounds {
    /// The size of all files, and whether clients have shares of it.
    pub bytes: Bound,
    /// How long a file is kept after its last use.
    pub keep: Duration,
    /// The client that owns the files that are found at the start. Without such a client, a file
    /// belongs to the clients that store it again.
    pub heir: Option<ClientId>,
}

#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    /// Removes a temporary directory when the store is dropped.
    _temporary: Option<tempfile::TempDir>,
    bounds: StoreBounds,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    files: HashMap<String, Stored>,
    /// Total size of the stored files in bytes.
    bytes: u64,
    /// Total size of the uploads in progress, in bytes.
    uploading: u64,
    /// Number of records.
    records: u64,
    clients: HashMap<ClientId, Usage>,
}

/// What a client has stored.
#[derive(Debug, Default)]
struct Usage {
    /// The sizes of its files and of its uploads in progress.
    bytes: u64,
    records: u64,
}

#[derive(Debug)]
struct Stored {
    bytes: u64,
    used: Instant,
    owners: BTreeMap<Owner, Claim>,
    /// Requests that use the file.
    pins: usize,
    /// Whether the file was found at the start and has had no owner since.
    is_found: bool,
    /// Whether the content no longer has the digest that names it. The next upload replaces it.
    is_damaged: bool,
}

/// The right of an owner to a file.
#[derive(Debug, Default)]
struct Claim {
    /// Number of records.
    records: u64,
    /// Whether all clients may read the file.
    is_shared: bool,
}

/// The owner of a stored file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The client that stored the file under its digest.
    Client(ClientId),
    /// The client that stored it in the go-judge dialect, which has ids for files. A file may have
    /// several.
    GoJudge(ClientId),
}

impl Owner {
    fn client(self) -> ClientId {
        match self {
            Owner::Client(client) | Owner::GoJudge(client) => client,
        }
    }
}

/// The result of a request to remove a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// The owner no longer keeps the file. It is removed with its last owner.
    Removed,
    /// The client may read the file, but only other owners keep it, so it stays.
    NotOwned,
    /// The client has no such file.
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
    /// The client has used up its share of the store.
    #[error(
        "this client has used up its share of the file store: its {records} files have {bytes} \
         bytes; remove some of them, or wait until unused ones expire"
    )]
    Share {
        /// Bytes of the client's files, and of its uploads in progress.
        bytes: u64,
        /// Their number.
        records: u64,
    },
    /// The name of a file is too long.
    #[error("the name of the file has {bytes} bytes; the maximum is {max_bytes}")]
    Name {
        /// The size of the name.
        bytes: usize,
        /// The largest size.
        max_bytes: usize,
    },
    /// The upload ended early.
    #[error("the upload was interrupted")]
    Interrupted,
    /// The file system failed.
    #[error("cannot store the file: {0}")]
    Disk(#[from] std::io::Error),
}

impl FileStore {
    /// Creates a store in `directory`, or in a temporary directory if it is `None`.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn new(directory: Option<PathBuf>, bounds: StoreBounds) -> std::io::Result<FileStore> {
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
                    is_found: true,
                    ..Stored::new(bytes)
                };
                state.files.insert(name.clone(), stored);
                if let Some(heir) = bounds.heir {
                    state.claim(&name, Owner::Client(heir), false);
                }
            }
        }
        Ok(FileStore {
            shared: Arc::new(Shared {
                directory,
                _temporary: temporary,
                bounds,
                state: Mutex::new(state),
            }),
        })
    }

    /// How long a file is kept after its last use.
    pub fn keep(&self) -> Duration {
        self.shared.bounds.keep
    }

    /// Stores content that arrives in pieces, on behalf of an owner, and shares it with all
    /// clients if the owner wants that. Returns its SHA-256, and whether it is new for the owner.
    ///
    /// # Errors
    /// The content has a digest other than the expected one, does not fit, or cannot be stored.
    pub async fn put<E>(
        &self,
        owner: Owner,
        is_shared: bool,
        expected: Option<&str>,
        content: impl Stream<Item = Result<Bytes, E>>,
    ) -> Result<(String, bool), StoreError> {
        self.shared.check_records(owner.client())?;
        let part = tempfile::Builder::new()
            .prefix(".part-")
            .tempfile_in(&self.shared.directory)?;
        let (file, path) = part.into_parts();
        let mut file = tokio::fs::File::from_std(file);
        let mut hash = Sha256::new();
        let mut upload = Upload {
            shared: &self.shared,
            client: owner.client(),
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
        let known = state.files.get_mut(&found);
        // Requests that still use a damaged file keep its record, whose size is right: equal
        // digests have equal sizes.
        if known.as_ref().is_none_or(|stored| stored.is_damaged) {
            path.persist(self.shared.directory.join(&found))
                .map_err(|error| error.error)?;
            if let Some(stored) = known {
                stored.is_damaged = false;
            } else {
                state.bytes += bytes;
                state.files.insert(found.clone(), Stored::new(bytes));
            }
        }
        let is_new = state.claim(&found, owner, is_shared);
        Ok((found, is_new))
    }

    /// Finds a file that the client may read.
    pub fn find(&self, client: &Client, digest: &str) -> Option<StoredFile> {
        let mut state = self.shared.state();
        let stored = state.files.get_mut(digest)?;
        may(client, Verb::Read, stored.owned_by(client)).then(|| stored.pin(&self.shared, digest))
    }

    /// Finds a file for which the go-judge dialect has an id. The caller has checked the right to
    /// read it.
    pub fn of_go_judge(&self, owner: ClientId, digest: &str) -> Option<StoredFile> {
        let mut state = self.shared.state();
        let stored = state.files.get_mut(digest)?;
        let is_owned = stored.owners.contains_key(&Owner::GoJudge(owner));
        is_owned.then(|| stored.pin(&self.shared, digest))
    }

    /// Whether the go-judge dialect still has a file for this owner.
    pub fn has_go_judge(&self, owner: ClientId, digest: &str) -> bool {
        let state = self.shared.state();
        let stored = state.files.get(digest);
        stored.is_some_and(|stored| stored.owners.contains_key(&Owner::GoJudge(owner)))
    }

    /// Ends the client's ownership of a file, which is removed with its last owner. An
    /// administrator removes it for all owners. Requests that use the file can still read it.
    pub fn remove_for(&self, client: &Client, digest: &str) -> Removal {
        let mut state = self.shared.state();
        let Some(stored) = state.files.get(digest) else {
            return Removal::Unknown;
        };
        let owned = stored.owned_by(client);
        let owner = Owner::Client(client.id);
        let is_owner = stored.owners.contains_key(&owner);
        if client.admin && may(client, Verb::Change, owned) {
            self.shared.disown(&mut state, digest);
            Removal::Removed
        } else if is_owner && may(client, Verb::Change, owned) {
            self.shared.release(&mut state, digest, owner);
            Removal::Removed
        } else if may(client, Verb::Read, owned) {
            Removal::NotOwned
        } else {
            Removal::Unknown
        }
    }

    /// Removes one record of an owner, and the file with its last owner. Returns whether the owner
    /// had the file.
    pub fn remove(&self, digest: &str, owner: Owner) -> bool {
        let mut state = self.shared.state();
        let stored = state.files.get(digest);
        let is_owner = stored.is_some_and(|stored| stored.owners.contains_key(&owner));
        if is_owner {
            self.shared.release(&mut state, digest, owner);
        }
        is_owner
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
    client: ClientId,
    bytes: u64,
}

impl<'a> Upload<'a> {
    /// Reserves space for another piece.
    fn take_room(&mut self, bytes: u64) -> Result<(), StoreError> {
        let mut state = self.shared.state();
        self.shared.make_room(&mut state, self.client, bytes)?;
        state.uploading += bytes;
        state.clients.entry(self.client).or_default().bytes += bytes;
        self.bytes += bytes;
        Ok(())
    }

    /// Frees the space. No other upload can reserve it before the caller unlocks the state.
    fn end(mut self) -> MutexGuard<'a, State> {
        let mut state = self.shared.state();
        state.end_upload(self.client, std::mem::take(&mut self.bytes));
        state
    }
}

impl Drop for Upload<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.shared.state().end_upload(self.client, self.bytes);
        }
    }
}

impl Stored {
    fn new(bytes: u64) -> Stored {
        Stored {
            bytes,
            used: Instant::now(),
            owners: BTreeMap::new(),
            pins: 0,
            is_found: false,
            is_damaged: false,
        }
    }

    fn owned_by(&self, client: &Client) -> Owned {
        Owned {
            is_own: self.owners.keys().any(|owner| owner.client() == client.id),
            is_shared: self.owners.values().any(|claim| claim.is_shared),
        }
    }

    fn pin(&mut self, shared: &Arc<Shared>, digest: &str) -> StoredFile {
        self.used = Instant::now();
        self.pins += 1;
        StoredFile::new(shared, digest, self.bytes)
    }
}

impl State {
    fn occupied(&self) -> u64 {
        self.bytes + self.uploading
    }

    fn own_bytes(&self, client: ClientId) -> u64 {
        self.clients.get(&client).map_or(0, |usage| usage.bytes)
    }

    fn own_records(&self, client: ClientId) -> u64 {
        self.clients.get(&client).map_or(0, |usage| usage.records)
    }

    fn end_upload(&mut self, client: ClientId, bytes: u64) {
        self.uploading -= bytes;
        self.discharge(client, bytes, 0);
    }

    fn discharge(&mut self, client: ClientId, bytes: u64, records: u64) {
        self.records -= records;
        if let Some(usage) = self.clients.get_mut(&client) {
            usage.bytes -= bytes;
            usage.records -= records;
            if usage.bytes == 0 && usage.records == 0 {
                self.clients.remove(&client);
            }
        }
    }

    /// Records that the owner has stored a file. Returns whether the owner did not have it before.
    fn claim(&mut self, digest: &str, owner: Owner, is_shared: bool) -> bool {
        let Some(stored) = self.files.get_mut(digest) else {
            return false;
        };
        stored.used = Instant::now();
        stored.is_found = false;
        let is_new = !stored.owners.contains_key(&owner);
        let claim = stored.owners.entry(owner).or_default();
        claim.is_shared |= is_shared;
        // A digest names a file once. Each id of go-judge is a record of its own.
        if is_new || matches!(owner, Owner::GoJudge(_)) {
            claim.records += 1;
            self.records += 1;
            let usage = self.clients.entry(owner.client()).or_default();
            usage.bytes += stored.bytes;
            usage.records += 1;
        }
        is_new
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn share_used(state: &State, client: ClientId) -> StoreError {
        StoreError::Share {
            bytes: state.own_bytes(client),
            records: state.own_records(client),
        }
    }

    fn check_records(&self, client: ClientId) -> Result<(), StoreError> {
        let state = self.state();
        let bound = Bound {
            total: MAX_RECORDS,
            ..self.bounds.bytes
        };
        if bound.admits(state.records, state.own_records(client), 1) {
            Ok(())
        } else {
            Err(Shared::share_used(&state, client))
        }
    }

    /// Ensures that an upload of the client may grow.
    fn make_room(&self, state: &mut State, client: ClientId, bytes: u64) -> Result<(), StoreError> {
        let bound = self.bounds.bytes;
        let admits = |state: &State| bound.admits(state.occupied(), state.own_bytes(client), bytes);
        if admits(state) {
            return Ok(());
        }
        self.remove_expired(state);
        while !admits(state) && self.remove_oldest_found(state) {}
        if admits(state) {
            return Ok(());
        }
        if state.occupied().saturating_add(bytes) > bound.total {
            return Err(StoreError::Full {
                bytes: state.occupied(),
                max_bytes: bound.total,
            });
        }
        Err(Shared::share_used(state, client))
    }

    /// Ends all claims to a file. It is removed when no request uses it.
    fn disown(&self, state: &mut State, digest: &str) {
        let Some(stored) = state.files.get_mut(digest) else {
            return;
        };
        let owners = std::mem::take(&mut stored.owners);
        stored.is_found = false;
        let (bytes, is_used) = (stored.bytes, stored.pins > 0);
        for (owner, claim) in owners {
            state.discharge(owner.client(), bytes * claim.records, claim.records);
        }
        if !is_used {
            self.unlink(state, digest);
        }
    }

    /// Ends one record of an owner.
    fn release(&self, state: &mut State, digest: &str, owner: Owner) {
        let Some(stored) = state.files.get_mut(digest) else {
            return;
        };
        let Some(claim) = stored.owners.get_mut(&owner) else {
            return;
        };
        claim.records -= 1;
        if claim.records == 0 {
            stored.owners.remove(&owner);
        }
        let bytes = stored.bytes;
        let is_needed = !stored.owners.is_empty() || stored.pins > 0;
        state.discharge(owner.client(), bytes, 1);
        if !is_needed {
            self.unlink(state, digest);
        }
    }

    fn unpin(&self, digest: &str) {
        let mut state = self.state();
        let Some(stored) = state.files.get_mut(digest) else {
            return;
        };
        stored.pins -= 1;
        if stored.pins == 0 && stored.owners.is_empty() && !stored.is_found {
            self.unlink(&mut state, digest);
        }
    }

    /// Removes a damaged file.
    fn discard(&self, digest: &str) {
        tracing::error!(digest, "a stored file is damaged and is removed");
        let mut state = self.state();
        if let Some(stored) = state.files.get_mut(digest) {
            stored.is_damaged = true;
        }
        self.disown(&mut state, digest);
    }

    fn unlink(&self, state: &mut State, digest: &str) {
        let Some(stored) = state.files.remove(digest) else {
            return;
        };
        state.bytes -= stored.bytes;
        // If this fails, the next start finds the file again.
        let _ = std::fs::remove_file(self.directory.join(digest));
    }

    fn remove_expired(&self, state: &mut State) {
        let is_expired =
            |stored: &Stored| stored.pins == 0 && stored.used.elapsed() > self.bounds.keep;
        let expired: Vec<String> = state
            .files
            .iter()
            .filter(|(_, stored)| is_expired(stored))
            .map(|(digest, _)| digest.clone())
            .collect();
        for digest in expired {
            self.disown(state, &digest);
        }
    }

    /// Removes the oldest file that was found at the start and that no client has stored again.
    fn remove_oldest_found(&self, state: &mut State) -> bool {
        let found = state.files.iter();
        let found = found.filter(|(_, stored)| stored.is_found && stored.pins == 0);
        let oldest = found.min_by_key(|(_, stored)| stored.used);
        let Some(digest) = oldest.map(|(digest, _)| digest.clone()) else {
            return false;
        };
        self.disown(state, &digest);
        true
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
mod tests;
