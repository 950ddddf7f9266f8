//! Ids of stored files.
//!
//! The contents are in the file store of the service, where equal contents share one file. The
//! dialect keeps the content of a file until its last id is removed. Each id counts towards the
//! share of its client, even if the content is that of another file.

use crate::core::access::{Owned, Verb, may};
use crate::core::files::{FileStore, Owner, StoreError, StoredFile};
use crate::core::queue::ClientId;
use crate::tokens::Client;
use bytes::Bytes;
use futures_util::Stream;
use rustix::rand::{GetRandomFlags, getrandom};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The longest name of a file, in bytes.
const MAX_NAME_BYTES: usize = 4096;
const ID_BYTES: usize = 5;
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// All ids.
#[derive(Debug, Default)]
pub struct FileIds {
    files: Mutex<HashMap<String, StoredId>>,
}

#[derive(Debug, Clone)]
struct StoredId {
    name: String,
    digest: String,
    /// The client that added it.
    client: ClientId,
}

impl FileIds {
    fn files(&self) -> MutexGuard<'_, HashMap<String, StoredId>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a file and returns its id.
    ///
    /// # Errors
    /// The name is too long, or the content does not fit, cannot be stored, or ends early.
    pub async fn add<E>(
        &self,
        store: &FileStore,
        client: &Client,
        name: String,
        content: impl Stream<Item = Result<Bytes, E>>,
    ) -> Result<String, StoreError> {
        if name.len() > MAX_NAME_BYTES {
            return Err(StoreError::Name {
                bytes: name.len(),
                max_bytes: MAX_NAME_BYTES,
            });
        }
        let owner = Owner::GoJudge(client.id);
        let (digest, _) = store.put(owner, false, None, content).await?;
        let mut files = self.files();
        let id = loop {
            let id = new_id()?;
            if !files.contains_key(&id) {
                break id;
            }
        };
        files.insert(
            id.clone(),
            StoredId {
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

    /// Finds a file that the client may read, with its name.
    pub fn find(
        &self,
        store: &FileStore,
        client: &Client,
        id: &str,
    ) -> Option<(String, StoredFile)> {
        let file = self.files().get(id).cloned()?;
        if !may(client, Verb::Read, Owned::by(file.client, client)) {
            return None;
        }
        let content = store.of_go_judge(file.client, &file.digest)?;
        Some((file.name, content))
    }

    /// Maps the ids of the files that the client may read to their names.
    pub fn list(&self, store: &FileStore, client: &Client) -> BTreeMap<String, String> {
        self.forget_expired(store);
        let is_readable = |file: &StoredId| may(client, Verb::Read, Owned::by(file.client, client));
        self.files()
            .iter()
            .filter(|(_, file)| is_readable(file))
            .map(|(id, file)| (id.clone(), file.name.clone()))
            .collect()
    }

    /// Removes an id of the client, and its content with the last id. Returns whether the client
    /// has such an id.
    pub fn remove(&self, store: &FileStore, client: &Client, id: &str) -> bool {
        let mut files = self.files();
        let may_remove =
            |file: &StoredId| may(client, Verb::Change, Owned::by(file.client, client));
        if !files.get(id).is_some_and(may_remove) {
            return false;
        }
        let Some(removed) = files.remove(id) else {
            return false;
        };
        store.remove(&removed.digest, Owner::GoJudge(removed.client))
    }

    /// Forgets the ids of files that the store has removed because they were not used.
    pub fn forget_expired(&self, store: &FileStore) {
        let is_stored = |file: &StoredId| store.has_go_judge(file.client, &file.digest);
        self.files().retain(|_, file| is_stored(file));
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
    use crate::core::files::StoreBounds;
    use crate::core::share::Bound;
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

    fn store() -> FileStore {
        let bounds = StoreBounds {
            bytes: Bound {
                total: 1000,
                is_divided: false,
            },
            keep: Duration::from_secs(60),
            heir: None,
        };
        FileStore::new(None, bounds).unwrap()
    }

    #[tokio::test]
    async fn content_is_removed_with_its_last_id() {
        let (store, ids) = (store(), FileIds::default());
        let client = client(1, false);
        let add = async |name: &str| {
            let added = ids.add_bytes(&store, &client, name.to_owned(), "x".into());
            added.await.unwrap()
        };
        let (first, second) = (add("a").await, add("b").await);
        assert_eq!((first.len(), ids.list(&store, &client).len()), (8, 2));
        assert!(ids.remove(&store, &client, &first) && !ids.remove(&store, &client, &first));
        let (name, _) = ids.find(&store, &client, &second).unwrap();
        assert_eq!(name, "b");
        assert!(ids.remove(&store, &client, &second));
        assert!(ids.find(&store, &client, &second).is_none());
        let name = "n".repeat(MAX_NAME_BYTES + 1);
        let error = ids.add_bytes(&store, &client, name, "x".into()).await;
        assert!(matches!(error, Err(StoreError::Name { .. })));
    }

    #[tokio::test]
    async fn content_of_another_interface_is_kept() {
        let (store, ids) = (store(), FileIds::default());
        let put = store.put(Owner::Client(1), false, None, once("x"));
        let (digest, _) = put.await.unwrap();
        let client = client(1, false);
        let id = ids.add_bytes(&store, &client, "a".to_owned(), "x".into());
        assert!(ids.remove(&store, &client, &id.await.unwrap()));
        assert!(store.find(&client, &digest).is_some());
    }

    #[tokio::test]
    async fn only_the_client_that_added_an_id_and_administrators_use_it() {
        let (store, ids) = (store(), FileIds::default());
        let first = client(1, false);
        let id = ids.add_bytes(&store, &first, "a".to_owned(), "x".into());
        let id = id.await.unwrap();
        let (stranger, admin) = (client(2, false), client(2, true));
        assert!(ids.list(&store, &stranger).is_empty());
        assert!(ids.find(&store, &stranger, &id).is_none());
        assert!(!ids.remove(&store, &stranger, &id));
        assert_eq!(ids.list(&store, &admin).len(), 1);
        assert!(ids.find(&store, &first, &id).is_some());
        assert!(ids.find(&store, &admin, &id).is_some());
        assert!(ids.remove(&store, &admin, &id));
    }

    fn once(text: &'static str) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> {
        futures_util::stream::once(async move { Ok(Bytes::from(text)) })
    }
}
