use super::*;
use crate::tokens::Tokens;
use std::io::Read;

fn bounds(max_bytes: u64, keep: Duration) -> StoreBounds {
    StoreBounds {
        bytes: Bound {
            total: max_bytes,
            is_divided: false,
        },
        keep,
        heir: None,
    }
}

fn store(max_bytes: u64, keep: Duration) -> FileStore {
    FileStore::new(None, bounds(max_bytes, keep)).unwrap()
}

fn client(id: ClientId, admin: bool) -> Client {
    let anonymous = Tokens::new(&[]).client(None).unwrap();
    Client {
        id,
        admin,
        ..anonymous
    }
}

const MINUTE: Duration = Duration::from_secs(60);
const OWNER: Owner = Owner::Client(1);

async fn put_for(
    store: &FileStore,
    owner: Owner,
    content: &'static str,
) -> Result<(String, bool), StoreError> {
    let pieces = futures_util::stream::iter([Ok::<_, ()>(Bytes::from(content))]);
    store.put(owner, false, None, pieces).await
}

async fn put(store: &FileStore, content: &'static str) -> Result<String, StoreError> {
    Ok(put_for(store, OWNER, content).await?.0)
}

fn size(store: &FileStore, digest: &str) -> Option<u64> {
    store.find(&client(9, true), digest).map(|it| it.bytes())
}

#[tokio::test]
async fn stored_content_is_returned_and_equal_content_is_stored_once() {
    let store = store(100, MINUTE);
    let digest = put(&store, "hello").await.unwrap();
    assert!(is_digest(&digest));
    assert_eq!(put(&store, "hello").await.unwrap(), digest);
    let mut text = String::new();
    let stored = store.find(&client(1, false), &digest).unwrap();
    let mut file = stored.open_checked().unwrap();
    file.read_to_string(&mut text).unwrap();
    assert_eq!((&text[..], stored.bytes()), ("hello", 5));
    drop(stored);
    assert!(store.remove(&digest, OWNER));
    assert!(!store.remove(&digest, OWNER));
    assert_eq!(size(&store, &digest), None);
}

#[tokio::test]
async fn wrong_digest_and_full_store_are_rejected() {
    let store = store(6, MINUTE);
    let pieces = futures_util::stream::iter([Ok::<_, ()>(Bytes::from("hello"))]);
    let error = store.put(OWNER, false, Some("00"), pieces).await;
    assert!(matches!(error, Err(StoreError::Digest { .. })));
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
    let store = store(100, MINUTE);
    let digest = put(&store, "hello").await.unwrap();
    let ids = Owner::GoJudge(1);
    put_for(&store, ids, "hello").await.unwrap();
    put_for(&store, ids, "hello").await.unwrap();
    let remove = |id, admin| store.remove_for(&client(id, admin), &digest);
    assert_eq!(remove(2, false), Removal::Unknown);
    assert_eq!(remove(1, false), Removal::Removed);
    assert_eq!(remove(1, false), Removal::NotOwned);
    assert!(store.remove(&digest, ids) && size(&store, &digest) == Some(5));
    assert!(store.remove(&digest, ids) && !store.remove(&digest, ids));
    assert_eq!(size(&store, &digest), None);
    put(&store, "hello").await.unwrap();
    assert_eq!(remove(2, true), Removal::Removed);
    assert_eq!(size(&store, &digest), None);
}

#[tokio::test]
async fn digest_gives_nothing_to_a_client_that_has_not_stored_the_content() {
    let store = store(100, MINUTE);
    let digest = put(&store, "hello").await.unwrap();
    let stranger = client(2, false);
    assert!(store.find(&stranger, &digest).is_none());
    let (_, is_new) = put_for(&store, Owner::Client(2), "hello").await.unwrap();
    assert!(
        is_new,
        "the answer does not tell that the content was known"
    );
    assert!(store.find(&stranger, &digest).is_some());
    let pieces = futures_util::stream::iter([Ok::<_, ()>(Bytes::from("open"))]);
    let (shared, _) = store.put(OWNER, true, None, pieces).await.unwrap();
    assert!(store.find(&stranger, &shared).is_some());
    assert_eq!(store.remove_for(&stranger, &shared), Removal::NotOwned);
    assert!(store.remove(&shared, OWNER));
    assert!(store.find(&stranger, &shared).is_none());
}

#[tokio::test]
async fn file_in_use_is_readable_after_its_removal_and_then_removed() {
    let store = store(10, Duration::ZERO);
    let digest = put(&store, "hello").await.unwrap();
    let used = store.find(&client(1, false), &digest).unwrap();
    assert!(store.remove(&digest, OWNER));
    assert!(store.find(&client(1, false), &digest).is_none());
    store.remove_expired();
    assert_eq!(used.read().unwrap(), "hello");
    let error = put(&store, "longer").await.unwrap_err();
    assert!(matches!(error, StoreError::Full { bytes: 5, .. }));
    drop(used);
    put(&store, "longer").await.unwrap();
}

#[tokio::test]
async fn changed_content_is_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = Some(directory.path().to_owned());
    let store = FileStore::new(path, bounds(100, MINUTE)).unwrap();
    let digest = put(&store, "hello").await.unwrap();
    std::fs::write(directory.path().join(&digest), "jello").unwrap();
    let stored = store.find(&client(1, false), &digest).unwrap();
    assert!(stored.read().is_err());
    assert!(store.find(&client(1, false), &digest).is_none());
    // The damaged file is still in use, and an upload replaces it all the same.
    put(&store, "hello").await.unwrap();
    let replaced = store.find(&client(1, false), &digest).unwrap();
    assert_eq!(replaced.read().unwrap(), "hello");
    drop((stored, replaced));
    assert_eq!(size(&store, &digest), Some(5));
}

#[tokio::test]
async fn files_of_an_earlier_start_belong_to_the_heir_or_make_room() {
    let directory = tempfile::tempdir().unwrap();
    let path = || Some(directory.path().to_owned());
    let first = FileStore::new(path(), bounds(8, MINUTE)).unwrap();
    let digest = put(&first, "hello").await.unwrap();
    drop(first);
    let heir = StoreBounds {
        heir: Some(1),
        ..bounds(8, MINUTE)
    };
    let inherited = FileStore::new(path(), heir).unwrap();
    assert!(inherited.find(&client(1, false), &digest).is_some());
    drop(inherited);
    let found = FileStore::new(path(), bounds(8, MINUTE)).unwrap();
    assert!(found.find(&client(1, false), &digest).is_none());
    put(&found, "longer").await.unwrap();
    assert_eq!(size(&found, &digest), None);
}

#[tokio::test]
async fn greedy_client_leaves_room_for_others() {
    let bounds = StoreBounds {
        bytes: Bound {
            total: 20,
            is_divided: true,
        },
        ..bounds(0, MINUTE)
    };
    let store = FileStore::new(None, bounds).unwrap();
    put(&store, "hello").await.unwrap();
    put(&store, "world").await.unwrap();
    let error = put(&store, "again").await.unwrap_err();
    assert!(matches!(
        error,
        StoreError::Share {
            bytes: 10,
            records: 2
        }
    ));
    put_for(&store, Owner::Client(2), "other").await.unwrap();
    // Equal content counts for each of its owners.
    let error = put_for(&store, Owner::Client(2), "hello").await;
    assert!(matches!(error, Err(StoreError::Share { bytes: 5, .. })));
}

#[tokio::test]
async fn ids_of_equal_content_count() {
    let bounds = StoreBounds {
        bytes: Bound {
            total: 20,
            is_divided: true,
        },
        ..bounds(0, MINUTE)
    };
    let store = FileStore::new(None, bounds).unwrap();
    let ids = Owner::GoJudge(1);
    put_for(&store, ids, "hello").await.unwrap();
    put_for(&store, ids, "hello").await.unwrap();
    let error = put_for(&store, ids, "hello").await.unwrap_err();
    assert!(matches!(error, StoreError::Share { records: 2, .. }));
}

#[tokio::test]
async fn uploads_in_progress_occupy_room_until_they_end() {
    let store = store(8, MINUTE);
    let begin = futures_util::stream::once(async { Ok::<_, ()>(Bytes::from("hello")) });
    let never = futures_util::stream::pending();
    let mut upload = Box::pin(store.put(OWNER, false, None, begin.chain(never)));
    let begun = tokio::time::timeout(Duration::from_millis(50), &mut upload).await;
    assert!(begun.is_err());
    let error = put(&store, "more").await.unwrap_err();
    assert!(matches!(error, StoreError::Full { bytes: 5, .. }));
    drop(upload);
    let digest = put(&store, "more").await.unwrap();
    assert_eq!(size(&store, &digest), Some(4));
    put(&store, "more").await.unwrap();
    put(&store, "most").await.unwrap();
}
