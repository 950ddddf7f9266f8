//! Ids of stored files.
//!
//! The contents are in the file store of the service, where equal contents share one file. The
//! dialect keeps the content of a file until its last id is removed.

use crate::core::files::{FileStore, Owner, StoreError};
use crate::core::queue::ClientId;
use crate::tokens::Client;
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
    /// The client that added it.
    client: ClientId,
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
        client: &Client,
        name: String,
        content: impl Stream<Item = Result<Bytes, E>>,
    ) -> Result<String, StoreError> {
        let (digest, _) = store.put(Owner::GoJudge, None, content).await?;
        let mut files = self.files();
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
                client: client.id,
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
        client: &Client,
        name: String,
        bytes: Bytes,
    ) -> Result<String, StoreError> {
        let once = futures_util::stream::once(async { Ok::<_, std::convert::Infallible>(bytes) });
        self.add(store, client, name, once).await
    }

    /// Opens a file and returns it with its name; `None` if it does not exist.
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
        // The store has removed files that were not used for a long time.
        files.retain(|_, file| store.size(&file.digest).is_some());
        files
            .iter()
            .map(|(id, file)| (id.clone(), file.name.clone()))
            .collect()
    }

    /// Removes an id that the client added, and its content with the last id. Returns whether the
    /// client has such an id.
    pub fn remove(&self, store: &FileStore, client: &Client, id: &str) -> bool {
        let mut files = self.files();
        let may_remove = |file: &StoredFile| file.client == client.id || client.admin;
        if !files.get(id).is_some_and(may_remove) {
            return false;
        }
        let Some(removed) = files.remove(id) else {
            return false;
        };
        let has_content = store.size(&removed.digest).is_some();
        if !files.values().any(|file| file.digest == removed.digest) {
            store.remove(&removed.digest, Owner::GoJudge);
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
    use crate::tokens::Tokens;
    use std::time::Duration;

    fn client(id: ClientId, admin: bool) -> Client {
        let anonymous = Tokens::new(&[]).client(None).unwrap();
        Client {
            id,
            admin,
            ..anonymous
        }
    }

    #[tokio::test]
    async fn content_is_removed_with_its_last_id() {
        let store = FileStore::new(None, 1000, Duration::from_secs(60)).unwrap();
        let ids = FileIds::default();
        let client = client(1, false);
        let add = async |name: &str| {
            let added = ids.add_bytes(&store, &client, name.to_owned(), "x".into());
            added.await.unwrap()
        };
        let (first, second) = (add("a").await, add("b").await);
        assert_eq!((first.len(), ids.list(&store).len()), (8, 2));
        assert!(ids.remove(&store, &client, &first) && !ids.remove(&store, &client, &first));
        let (name, _) = ids.open(&store, &second).unwrap().unwrap();
        assert_eq!(name, "b");
        assert!(ids.remove(&store, &client, &second));
        assert!(ids.open(&store, &second).unwrap().is_none());
        let (_, is_new) = store.put(Owner::Client(1), None, once("x")).await.unwrap();
        assert!(is_new, "the content has been removed");
    }

    #[tokio::test]
    async fn content_of_another_interface_is_kept() {
        let store = FileStore::new(None, 1000, Duration::from_secs(60)).unwrap();
        let (digest, _) = store.put(Owner::Client(1), None, once("x")).await.unwrap();
        let ids = FileIds::default();
        let client = client(1, false);
        let id = ids.add_bytes(&store, &client, "a".to_owned(), "x".into());
        assert!(ids.remove(&store, &client, &id.await.unwrap()));
        assert!(store.open(&digest).unwrap().is_some());
    }

    #[tokio::test]
    async fn only_the_client_that_added_an_id_and_administrators_remove_it() {
        let store = FileStore::new(None, 1000, Duration::from_secs(60)).unwrap();
        let ids = FileIds::default();
        let first = client(1, false);
        let id = ids.add_bytes(&store, &first, "a".to_owned(), "x".into());
        let id = id.await.unwrap();
        assert!(!ids.remove(&store, &client(2, false), &id));
        assert!(ids.open(&store, &id).unwrap().is_some());
        assert!(ids.remove(&store, &client(2, true), &id));
    }

    fn once(text: &'static str) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> {
        futures_util::stream::once(async move { Ok(Bytes::from(text)) })
    }
}
