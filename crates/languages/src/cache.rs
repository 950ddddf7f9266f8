//! Programs that were compiled before.
//!
//! One file for one program, named by a digest of all that went in; it begins with a digest of its
//! own content, so that a damaged one is not used but thrown away. A file is written under another
//! name and renamed: who reads finds all of it or nothing, however many judges share the directory.
//! The directory is ours alone: who could write there could choose what other submissions run.

use crate::files::{Store, StoredFiles};
use millibox::Figures;
use rustix::fs::{Mode, OFlags, Timestamps};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const MAGIC: &[u8; 16] = b"millibox-cache 2";
const DIGEST_BYTES: usize = 32;
/// Files that are being written when a judge is killed are left; after a day nobody writes them.
const ABANDONED_AFTER: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);

/// Where compiled programs are kept.
#[derive(Debug, Clone, Default)]
pub struct Cache {
    place: Option<Place>,
}

#[derive(Debug, Clone)]
struct Place {
    directory: PathBuf,
    max_bytes: u64,
}

/// Bytes that a cache has by default.
pub const DEFAULT_CACHE_BYTES: u64 = 1 << 30;

/// The part of a cache that one program may have. A few large ones must not push out all others.
const MAX_ENTRY_DIVISOR: u64 = 4;
/// Bytes that the header of an entry may have: messages and names.
const MAX_HEADER_BYTES: u64 = 32 << 20;

/// A compiled program.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) messages: String,
    pub(crate) figures: Option<Figures>,
    pub(crate) files: StoredFiles,
}

#[derive(Serialize, Deserialize)]
struct Header {
    messages: String,
    figures: Option<Figures>,
    files: Vec<FileHeader>,
}

#[derive(Serialize, Deserialize)]
struct FileHeader {
    name: PathBuf,
    executable: bool,
    length: u64,
}

/// Names an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key(String);

/// Digests all that goes into a program.
pub(crate) struct KeyBuilder(Sha256);

impl KeyBuilder {
    pub(crate) fn new() -> KeyBuilder {
        KeyBuilder(Sha256::new())
            .with(env!("CARGO_PKG_VERSION"))
            .with(std::env::consts::ARCH)
    }

    /// Each part with its length, so that no two lists of parts are the same bytes.
    #[must_use]
    pub(crate) fn with(mut self, part: impl AsRef<[u8]>) -> KeyBuilder {
        let part = part.as_ref();
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    pub(crate) fn key(self) -> Key {
        Key(self
            .0
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect())
    }
}

impl Cache {
    /// Nothing is kept.
    pub fn none() -> Cache {
        Cache::default()
    }

    /// In `$XDG_CACHE_HOME/millibox`, or `~/.cache/millibox`; nothing is kept if there is neither.
    ///
    /// # Errors
    /// See [`Cache::in_directory`]; it names the variable.
    pub fn of_user() -> Result<Cache, String> {
        let absolute = |name: &str| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let home = || {
            absolute("HOME")
                .filter(|home| home.is_dir())
                .map(|home| ("HOME", home.join(".cache")))
        };
        let Some((variable, caches)) = absolute("XDG_CACHE_HOME")
            .map(|caches| ("XDG_CACHE_HOME", caches))
            .or_else(home)
        else {
            return Ok(Cache::none());
        };
        Cache::in_directory(
            &caches.join("millibox").join("programs"),
            DEFAULT_CACHE_BYTES,
        )
        .map_err(|why| {
            format!(
                "{why}, or set XDG_CACHE_HOME to a directory of your own: {variable} leads there"
            )
        })
    }

    /// Throws all programs away, or with `dry_run` none; how many there are. Those of judges that
    /// are at work go as well: they compile them again.
    ///
    /// # Errors
    /// The directory cannot be read, or a file cannot be removed.
    pub fn clear(&self, dry_run: bool) -> Result<usize, String> {
        let Some(place) = &self.place else {
            return Ok(0);
        };
        let failed =
            |error: std::io::Error| format!("cannot empty {}: {error}", place.directory.display());
        let mut count = 0;
        for entry in std::fs::read_dir(&place.directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            // Others' files, if there are any, are not ours to remove.
            let name = entry.file_name();
            let is_key = |name: &str| {
                name.len() == 2 * DIGEST_BYTES && name.bytes().all(|byte| byte.is_ascii_hexdigit())
            };
            if name.to_str().is_some_and(is_key) {
                if !dry_run {
                    std::fs::remove_file(entry.path()).map_err(failed)?;
                }
                count += 1;
            }
        }
        Ok(count)
    }

    /// In this directory, which is made, with at most so many bytes: those used last are kept.
    ///
    /// # Errors
    /// The directory cannot be made, or somebody else could write to it.
    pub fn in_directory(directory: &Path, max_bytes: u64) -> Result<Cache, String> {
        let wrong = |why: String| {
            format!(
                "cannot keep compiled programs in {}: {why}; see --no-cache",
                directory.display()
            )
        };
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(|error| wrong(error.to_string()))?;
        let metadata = directory
            .symlink_metadata()
            .map_err(|error| wrong(error.to_string()))?;
        let us = rustix::process::geteuid().as_raw();
        if !metadata.is_dir() || metadata.uid() != us || metadata.mode() & 0o022 != 0 {
            return Err(wrong(format!(
                "it must be a directory that user {us} owns and nobody else can write to (chmod \
                 700)"
            )));
        }
        // Whoever can rename a directory above can put another in its place. 65534 is an owner that
        // this user namespace does not know: not one of those who share the machine with us inside
        // of it.
        let real = directory
            .canonicalize()
            .map_err(|error| wrong(error.to_string()))?;
        for above in real.ancestors().skip(1) {
            let metadata = above.metadata().map_err(|error| wrong(error.to_string()))?;
            let open = metadata.mode() & 0o002 != 0 && metadata.mode() & 0o1000 == 0;
            if open || ![us, 0, 65534].contains(&metadata.uid()) {
                return Err(wrong(format!(
                    "others could replace it, as they can write to {}",
                    above.display()
                )));
            }
        }
        Ok(Cache {
            place: Some(Place {
                directory: real,
                max_bytes,
            }),
        })
    }

    /// The entry, if it is there and whole, with its files put into `store`. It counts as used now.
    pub(crate) fn get(&self, key: &Key, store: impl FnOnce() -> Option<Store>) -> Option<Entry> {
        let path = self.place.as_ref()?.directory.join(&key.0);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = rustix::fs::open(&path, flags, Mode::empty()).ok()?;
        let mut file = std::fs::File::from(file);
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let Ok(header) = decode_header(&mut file) else {
            let _ = std::fs::remove_file(&path);
            return None;
        };
        // If the time cannot be set the entry is only forgotten earlier.
        let now = rustix::fs::Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_NOW,
        };
        let _ = rustix::fs::futimens(
            &file,
            &Timestamps {
                last_access: now,
                last_modification: now,
            },
        );
        // The entry is whole: if this fails, the place for its files does.
        let files = decode_files(&mut file, &header.files, store()?)?;
        Some(Entry {
            messages: header.messages,
            figures: header.figures,
            files,
        })
    }

    /// Keeps the entry if that can be done. That it cannot (a full disk) costs a compilation,
    /// later.
    pub(crate) fn put(&self, key: &Key, entry: &Entry) {
        let Some(place) = &self.place else { return };
        if entry
            .files
            .bytes()
            .saturating_add(entry.messages.len() as u64)
            > place.max_bytes / MAX_ENTRY_DIVISOR
        {
            return;
        }
        let written = tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(&place.directory)
            .and_then(|mut file| {
                encode(entry, file.as_file_mut())?;
                file.persist(place.directory.join(&key.0))
                    .map_err(|error| error.error)?;
                Ok(())
            });
        if written.is_ok() {
            place.make_room();
        }
    }
}

impl Place {
    /// Removes what was not used for longest until the rest fits. Somebody else may do the same
    /// now: what is gone is gone.
    fn make_room(&self) {
        let mut entries: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in std::fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let (Ok(metadata), name) = (entry.metadata(), entry.file_name()) else {
                continue;
            };
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let is_key = name.len() == 2 * DIGEST_BYTES
                && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit);
            let unfinished = name.as_encoded_bytes().starts_with(b".new-");
            if is_key {
                entries.push((used, metadata.len(), entry.path()));
            } else if unfinished && used.elapsed().is_ok_and(|age| age > ABANDONED_AFTER) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        entries.sort();
        let mut total: u64 = entries.iter().map(|(_, length, _)| length).sum();
        for (_, length, path) in entries {
            if total <= self.max_bytes {
                break;
            }
            let _ = std::fs::remove_file(path);
            total -= length;
        }
    }
}

/// Magic, digest of what follows, length of the header, header, the files one after another.
fn encode(entry: &Entry, to: &mut std::fs::File) -> io::Result<()> {
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
    // A name that is no UTF-8 cannot be written. Compilers make none, and such a program is just
    // not kept.
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

/// The header of an entry whose digest is right; the file stands where its files begin.
fn decode_header(from: &mut std::fs::File) -> io::Result<Header> {
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

fn decode_files(
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

/// Digests what is written.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::File;
    use std::os::unix::fs::PermissionsExt;

    fn entry(length: usize) -> Entry {
        entry_of(&vec![7; length])
    }

    fn entry_of(bytes: &[u8]) -> Entry {
        let file = |name: &str, executable| File {
            name: name.into(),
            executable,
            bytes: bytes.to_vec(),
        };
        Entry {
            messages: "a warning".to_owned(),
            figures: Some(Figures {
                real_time_ns: 5,
                ..Figures::default()
            }),
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
            let content = |entry: &Entry| {
                std::fs::read(entry.files.directory.path().join(&file.name)).unwrap()
            };
            assert_eq!(content(&found), content(put));
        }
    }

    fn key(number: u32) -> Key {
        KeyBuilder::new().with(number.to_le_bytes()).key()
    }

    fn private() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn what_was_put_can_be_had() {
        let directory = private();
        let cache = Cache::in_directory(&directory.path().join("a/b"), 1 << 20).unwrap();
        assert!(get(&cache, &key(1)).is_none());
        let put = entry_of(b"12345");
        cache.put(&key(1), &put);
        assert_same(get(&cache, &key(1)), &put);
        assert!(get(&cache, &key(2)).is_none());
        // Without a place for its files there is no entry, and yet it stays.
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
    fn parts_of_a_key_do_not_run_together() {
        assert_ne!(
            KeyBuilder::new().with("ab").with("c").key(),
            KeyBuilder::new().with("a").with("bc").key()
        );
    }

    #[test]
    fn a_damaged_entry_is_thrown_away() {
        let directory = private();
        let cache = Cache::in_directory(directory.path(), 1 << 20).unwrap();
        let path = directory.path().join(key(1).0);
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
        // No link is followed, not even to a whole entry.
        std::fs::write(directory.path().join("elsewhere"), &whole).unwrap();
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert!(get(&cache, &key(1)).is_none());
    }

    #[test]
    fn what_was_used_last_is_kept() {
        let directory = private();
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
                directory.path().join(key(number).0),
                &times,
                rustix::fs::AtFlags::empty(),
            )
            .unwrap();
        };
        for number in 0..4 {
            cache.put(&key(number), &entry(1000));
            used(number, 1000 + i64::from(number));
        }
        // An old one is used: now it is the newest.
        assert!(get(&cache, &key(0)).is_some());
        cache.put(&key(4), &entry(1000));
        let there: Vec<u32> = (0..5)
            .filter(|number| get(&cache, &key(*number)).is_some())
            .collect();
        assert_eq!(there, [0, 2, 3, 4]);
        // One that would push out most others is not kept.
        cache.put(&key(5), &entry(1300));
        assert!(get(&cache, &key(5)).is_none());
        assert!(std::fs::read_dir(directory.path()).unwrap().count() == 4);
    }

    #[test]
    fn a_directory_that_others_can_write_is_refused() {
        let directory = private();
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let why = Cache::in_directory(directory.path(), 1).unwrap_err();
        assert!(
            why.contains("nobody else can write") && why.contains("--no-cache"),
            "{why}"
        );
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(directory.path(), &link).unwrap();
        assert!(Cache::in_directory(&link, 1).is_err());
        std::fs::write(directory.path().join("file"), "").unwrap();
        assert!(Cache::in_directory(&directory.path().join("file"), 1).is_err());
        let open = directory.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
        let why = Cache::in_directory(&open.join("own"), 1).unwrap_err();
        assert!(why.contains("others could replace it"), "{why}");
    }

    #[test]
    fn many_judges_share_it() {
        let directory = private();
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
}
