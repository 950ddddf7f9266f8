//! A cache of compiled programs.
//!
//! The cache has one file for each program. The file's name is the key, a digest of everything that
//! the program depends on. The file begins with a digest of its own content. A damaged file is
//! removed and never used.
//!
//! A program is written to a temporary file, which is then renamed. A reader therefore finds a
//! complete entry or no entry, even if several processes share the directory. Only the user of this
//! process may write to the directory, because the cache decides what runs for later submissions.
//!
//! | file | content |
//! | --- | --- |
//! | `mod` | the directory: look up, store, remove |
//! | `entry` | the format of a file |
//! | `key` | names of entries |
//! | `error` | errors |

mod entry;
mod error;
mod key;
#[cfg(test)]
mod tests;

pub(crate) use entry::Entry;
pub use error::{CacheError, DirectoryFault};
pub(crate) use key::{Key, KeyBuilder};

use crate::files::Store;
use entry::{decode_files, decode_header, encode};
use rustix::fs::{Mode, OFlags, Timestamps};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Maximum size in bytes of the user's cache.
pub const DEFAULT_CACHE_BYTES: u64 = 1 << 30;

/// One program may use this fraction of the cache, so that it does not displace all others.
const MAX_ENTRY_DIVISOR: u64 = 4;
/// A temporary file of this age is abandoned. Killed processes leave such files.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// Beginning of the name of a temporary file.
const TEMPORARY_PREFIX: &str = ".new-";

/// A cache of compiled programs. Clones share the directory.
///
/// ```
/// use millibox_languages::cache::Cache;
///
/// let directory = tempfile::tempdir()?;
/// let cache = Cache::in_directory(&directory.path().join("programs"), 64 << 20)?;
/// assert_eq!(cache.clear(false)?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cache {
    place: Option<Place>,
}

#[derive(Debug, Clone)]
struct Place {
    directory: PathBuf,
    max_bytes: u64,
}

impl Cache {
    /// Returns a cache that stores nothing.
    pub fn none() -> Cache {
        Cache::default()
    }

    /// Returns the user's cache: `$XDG_CACHE_HOME/millibox/programs` or
    /// `~/.cache/millibox/programs`, with at most [`DEFAULT_CACHE_BYTES`]. If neither
    /// `XDG_CACHE_HOME` nor `HOME` is usable, the cache stores nothing.
    ///
    /// # Errors
    /// See [`Cache::in_directory`]. The error also names the environment variable.
    pub fn of_user() -> Result<Cache, CacheError> {
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
        let directory = caches.join("millibox").join("programs");
        open(&directory, DEFAULT_CACHE_BYTES).map_err(|fault| CacheError::Directory {
            directory,
            variable: Some(variable),
            fault,
        })
    }

    /// Returns the cache in this directory, which is created if necessary. When the programs exceed
    /// `max_bytes`, the least recently used ones are removed.
    ///
    /// # Errors
    /// [`CacheError::Directory`]: the directory cannot be created, or another user could write to
    /// it.
    pub fn in_directory(directory: &Path, max_bytes: u64) -> Result<Cache, CacheError> {
        open(directory, max_bytes).map_err(|fault| CacheError::Directory {
            directory: directory.to_owned(),
            variable: None,
            fault,
        })
    }

    /// Removes all programs and returns their number. With `dry_run`, it only counts them. A
    /// process that still needs a removed program compiles it again.
    ///
    /// # Errors
    /// [`CacheError::Clear`]: the directory cannot be read, or a file cannot be removed.
    pub fn clear(&self, dry_run: bool) -> Result<usize, CacheError> {
        let Some(place) = &self.place else {
            return Ok(0);
        };
        let failed = |error: std::io::Error| CacheError::Clear {
            directory: place.directory.clone(),
            cause: error.into(),
        };
        let mut count = 0;
        for entry in std::fs::read_dir(&place.directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            // Other files in the directory are kept.
            if Key::is_name(entry.file_name().as_encoded_bytes()) {
                if !dry_run {
                    std::fs::remove_file(entry.path()).map_err(failed)?;
                }
                count += 1;
            }
        }
        Ok(count)
    }

    /// Returns the entry if it exists and is complete. Its files are copied to `store`. The entry
    /// is marked as used now.
    pub(crate) fn get(&self, key: &Key, store: impl FnOnce() -> Option<Store>) -> Option<Entry> {
        let path = self.place.as_ref()?.directory.join(key.as_str());
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
        // If this fails, the entry is only removed earlier.
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
        // The entry is complete. A failure from here on is therefore a failure of the store, and
        // the entry is kept.
        let files = decode_files(&mut file, &header.files, store()?)?;
        Some(Entry {
            messages: header.messages,
            figures: header.figures,
            files,
        })
    }

    /// Stores the entry if possible. After a failure, such as a full disk, the program is compiled
    /// again later.
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
            .prefix(TEMPORARY_PREFIX)
            .tempfile_in(&place.directory)
            .and_then(|mut file| {
                encode(entry, file.as_file_mut())?;
                file.persist(place.directory.join(key.as_str()))
                    .map_err(|error| error.error)?;
                Ok(())
            });
        if written.is_ok() {
            place.make_room();
        }
    }
}

impl Place {
    /// Removes the least recently used entries until the others fit. Another process may remove
    /// entries at the same time, so failures are ignored.
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
            if Key::is_name(name.as_encoded_bytes()) {
                entries.push((used, metadata.len(), entry.path()));
            } else if name
                .as_encoded_bytes()
                .starts_with(TEMPORARY_PREFIX.as_bytes())
                && used.elapsed().is_ok_and(|age| age > ABANDONED_AFTER)
            {
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

fn open(directory: &Path, max_bytes: u64) -> Result<Cache, DirectoryFault> {
    let io = |error: std::io::Error| DirectoryFault::Io(error.into());
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(io)?;
    let metadata = directory.symlink_metadata().map_err(io)?;
    let user = rustix::process::geteuid().as_raw();
    if !metadata.is_dir() || metadata.uid() != user || metadata.mode() & 0o022 != 0 {
        return Err(DirectoryFault::NotPrivate { user });
    }
    // Another user with write access to a directory above could replace this directory. 65534 is
    // the owner of files whose user this user namespace does not map, so no user inside the
    // namespace is that owner.
    let real = directory.canonicalize().map_err(io)?;
    for above in real.ancestors().skip(1) {
        let metadata = above.metadata().map_err(io)?;
        let open = metadata.mode() & 0o002 != 0 && metadata.mode() & 0o1000 == 0;
        if open || ![user, 0, 65534].contains(&metadata.uid()) {
            return Err(DirectoryFault::Replaceable {
                above: above.to_owned(),
            });
        }
    }
    Ok(Cache {
        place: Some(Place {
            directory: real,
            max_bytes,
        }),
    })
}
