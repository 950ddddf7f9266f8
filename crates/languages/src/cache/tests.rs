//! Tests of the cache.

use super::*;
use crate::files::SourceFile;
use millibox::Figures;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;

fn entry(length: usize) -> Entry {
    entry_of(&vec![7; length])
}

fn entry_of(bytes: &[u8]) -> Entry {
    let file = |name: &str, executable| SourceFile {
        name: name.into(),
        executable,
        bytes: bytes.to_vec(),
    };
    Entry {
        messages: "a warning".to_owned(),
        figures: Some(Figures::default().with_real_time_ns(5)),
        files: {
            let mut store = Store::new(ids()).unwrap();
            store
                .add_all(&[file("program", true), file("d/x", false)])
                .unwrap();
            store.finish()
        },
    }
}

fn ids() -> (u32, u32) {
    (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    )
}

fn get(cache: &Cache, key: &Key) -> Option<Entry> {
    cache.get(key, || Store::new(ids()).ok())
}

#[track_caller]
fn assert_same(found: Option<Entry>, put: &Entry) {
    let found = found.expect("an entry");
    assert_eq!(
        (&found.messages, &found.figures, &found.files.files),
        (&put.messages, &put.figures, &put.files.files)
    );
    for file in &put.files.files {
        let content =
            |entry: &Entry| std::fs::read(entry.files.directory.path().join(&file.name)).unwrap();
        assert_eq!(content(&found), content(put));
    }
}

fn key(number: u32) -> Key {
    KeyBuilder::new().with(number.to_le_bytes()).key()
}

#[test]
fn entry_can_be_read_until_cleared() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::in_directory(&directory.path().join("a/b"), 1 << 20).unwrap();
    assert!(get(&cache, &key(1)).is_none());
    let put = entry_of(b"12345");
    cache.put(&key(1), &put);
    assert_same(get(&cache, &key(1)), &put);
    assert!(get(&cache, &key(2)).is_none());
    // A failure of the store does not remove the entry.
    assert!(cache.get(&key(1), || None).is_none());
    assert!(get(&cache, &key(1)).is_some());
    assert_eq!(
        (cache.clear(true), cache.clear(false), cache.clear(false)),
        (Ok(1), Ok(1), Ok(0))
    );
    assert!(get(&cache, &key(1)).is_none());
    let none = Cache::none();
    none.put(&key(1), &entry(100));
    assert!(get(&none, &key(1)).is_none());
}

#[test]
fn damaged_entry_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::in_directory(directory.path(), 1 << 20).unwrap();
    let path = directory.path().join(key(1).as_str());
    let mut file = tempfile::tempfile().unwrap();
    encode(&entry(3), &mut file).unwrap();
    let mut whole = Vec::new();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_end(&mut whole).unwrap();
    std::fs::write(&path, &whole).unwrap();
    assert_same(get(&cache, &key(1)), &entry(3));
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        assert!(get(&cache, &key(1)).is_none(), "{at}");
        assert!(!path.exists(), "{at}");
    }
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(get(&cache, &key(1)).is_none() && !path.exists(), "{length}");
    }
    // A symbolic link is not followed, not even to a complete entry.
    std::fs::write(directory.path().join("elsewhere"), &whole).unwrap();
    std::os::unix::fs::symlink("elsewhere", &path).unwrap();
    assert!(get(&cache, &key(1)).is_none());
}

#[test]
fn put_beyond_size_removes_least_recently_used_entries() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::in_directory(directory.path(), 10_000).unwrap();
    let used = |number: u32, second: i64| {
        let time = rustix::fs::Timespec {
            tv_sec: second,
            tv_nsec: 0,
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        rustix::fs::utimensat(
            rustix::fs::CWD,
            directory.path().join(key(number).as_str()),
            &times,
            rustix::fs::AtFlags::empty(),
        )
        .unwrap();
    };
    for number in 0..4 {
        cache.put(&key(number), &entry(1000));
        used(number, 1000 + i64::from(number));
    }
    // Reading the oldest entry makes it the newest.
    assert!(get(&cache, &key(0)).is_some());
    cache.put(&key(4), &entry(1000));
    let remaining: Vec<u32> = (0..5)
        .filter(|number| get(&cache, &key(*number)).is_some())
        .collect();
    assert_eq!(remaining, [0, 2, 3, 4]);
    // An entry of more than a quarter of the size is not stored.
    cache.put(&key(5), &entry(1300));
    assert!(get(&cache, &key(5)).is_none());
    assert!(std::fs::read_dir(directory.path()).unwrap().count() == 4);
}

#[test]
fn directory_of_another_writer_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let fault = |path: &Path| match Cache::in_directory(path, 1).unwrap_err() {
        CacheError::Directory { fault, .. } => fault,
        other => panic!("{other}"),
    };
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
    };
    mode(directory.path(), 0o777);
    assert!(matches!(
        fault(directory.path()),
        DirectoryFault::NotPrivate { .. }
    ));
    mode(directory.path(), 0o700);
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(directory.path(), &link).unwrap();
    assert!(matches!(fault(&link), DirectoryFault::NotPrivate { .. }));
    std::fs::write(directory.path().join("file"), "").unwrap();
    fault(&directory.path().join("file"));
    let open = directory.path().join("open");
    std::fs::create_dir(&open).unwrap();
    mode(&open, 0o777);
    let fault = fault(&open.join("own"));
    assert!(
        matches!(&fault, DirectoryFault::Replaceable { above } if above.ends_with("open")),
        "{fault:?}"
    );
}

#[test]
fn concurrent_threads_share_cache() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::in_directory(directory.path(), 20_000).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let cache = &cache;
            scope.spawn(move || {
                for round in 0..50 {
                    let number = (thread + round) % 12;
                    match get(cache, &key(number)) {
                        Some(found) => assert_same(Some(found), &entry(1000)),
                        None => cache.put(&key(number), &entry(1000)),
                    }
                }
            });
        }
    });
}
