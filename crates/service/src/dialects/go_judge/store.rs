//! Ids of stored files.
//!
//! The content lies in the file store of the service, where equal contents are one file. A content
//! that this dialect added is removed with its last id.

use crate::core::files::{FileStore, StoreError};
use bytes::Bytes;
use futures_util::Stream;
use rustix::rand::{GetRandomFlags, getrandom};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

const ID_BYTES: usize = 5;
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// All ids.
#[derive(Debug, Default)]
pub struct FileIds {
    files: Mutex<HashMap<String, StoredFile>>,
}

#[derive(Debug, Clone)]
struct StoredFile {
    name: String,
    digest: String,
    /// The content was not in the store before.
    is_own: bool,
}

impl FileIds {
    fn files(&self) -> MutexGuard<'_, HashMap<String, StoredFile>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a file and returns its id.
    ///
    /// # Errors
    /// The content does not fit, cannot be stored, or ends early.
    pub async fn add<E>(
        &self,
        store: &FileStore,
        name: String,
        content: impl Stream<Item = Result<Bytes, E>>,
    ) -> Result<String, StoreError> {
        let (digest, is_new) = store.put(None, content).await?;
        let mut files = self.files();
        let is_own = is_new
            || files
                .values()
                .any(|file| file.digest == digest && file.is_own);
        let id = loop {
            let id = new_id()?;
            if !files.contains_key(&id) {
                break id;
            }
        };
        files.insert(
            id.clone(),
            StoredFile {
                name,
                digest,
                is_own,
            },
        );
        Ok(id)
    }

    /// Stores bytes and returns their id.
    ///
    /// # Errors
    /// They do not fit or cannot be stored.
    pub async fn add_bytes(
        &self,
        store: &FileStore,
        name: String,
        bytes: Bytes,
    ) -> Result<String, StoreError> {
        let once = futures_util::stream::once(async { Ok::<_, std::convert::Infallible>(bytes) });
        self.add(store, name, once).await
    }

    /// Opens a file. Returns its name too; `None` if it does not exist.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(
        &self,
        store: &FileStore,
        id: &str,
    ) -> std::io::Result<Option<(String, std::fs::File)>> {
        let Some(file) = self.files().get(id).cloned() else {
            return Ok(None);
        };
        Ok(store
            .open(&file.digest)?
            .map(|content| (file.name, content)))
    }

    /// The names of all files by their ids.
    pub fn list(&self, store: &FileStore) -> BTreeMap<String, String> {
        let mut files = self.files();
        // The store has removed files that were not used for long.
        files.retain(|_, file| store.size(&file.digest).is_some());
        files
            .iter()
            .map(|(id, file)| (id.clone(), file.name.clone()))
            .collect()
    }

    /// Removes an id, and its content with the last one. Returns whether the id existed.
    pub fn remove(&self, store: &FileStore, id: &str) -> bool {
        let mut files = self.files();
        let Some(removed) = files.remove(id) else {
            return false;
        };
        let has_content = store.size(&removed.digest).is_some();
        let is_shared = files.values().any(|file| file.digest == removed.digest);
        if removed.is_own && !is_shared {
            store.remove(&removed.digest);
        }
        has_content
    }
}

fn new_id() -> std::io::Result<String> {
    let mut random = [0; ID_BYTES];
    getrandom(&mut random, GetRandomFlags::empty())?;
    let number = random
        .iter()
        .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let digits = (0..ID_BYTES * 8 / 5).rev();
    let digit = |index: usize| BASE32[usize::try_from(number >> (5 * index) & 31).unwrap_or(0)];
    Ok(digits.map(|index| char::from(digit(index))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn content_is_removed_with_its_last_id() {
        let store = FileStore::new(None, 1000, Duration::from_secs(60)).unwrap();
        let ids = FileIds::default();
        let first = ids.add_bytes(&store, "a".to_owned(), "x".into()).await;
        let first = first.unwrap();
        let second = ids.add_bytes(&store, "b".to_owned(), "x".into()).await;
        let second = second.unwrap();
        assert_eq!((first.len(), ids.list(&store).len()), (8, 2));
        assert!(ids.remove(&store, &first) && !ids.remove(&store, &first));
        let (name, _) = ids.open(&store, &second).unwrap().unwrap();
        assert_eq!(name, "b");
        assert!(ids.remove(&store, &second));
        assert!(ids.open(&store, &second).unwrap().is_none());
        let (_, is_new) = store.put(None, once("x")).await.unwrap();
        assert!(is_new, "the content has been removed");
    }

    #[tokio::test]
    async fn content_of_another_interface_is_kept() {
        let store = FileStore::new(None, 1000, Duration::from_secs(60)).unwrap();
        let digest = store.put_bytes("x".into()).await.unwrap();
        let ids = FileIds::default();
        let id = ids.add_bytes(&store, "a".to_owned(), "x".into()).await;
        assert!(ids.remove(&store, &id.unwrap()));
        assert!(store.open(&digest).unwrap().is_some());
    }

    fn once(text: &'static str) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> {
        futures_util::stream::once(async move { Ok(Bytes::from(text)) })
    }
}
