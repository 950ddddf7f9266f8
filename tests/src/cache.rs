//! Compiled programs that tests share.

use millibox_languages::cache::Cache;
use std::path::PathBuf;

const CACHE_BYTES: u64 = 4 << 30;

/// The directory that `MILLIBOX_TEST_CACHE` names, which no other user can write to. `.ci/test`
/// creates one for each user. Tests reuse the libraries in it that other tests have prepared.
/// Preparing the libraries of Go takes half a minute.
pub fn cache_directory() -> Option<PathBuf> {
    std::env::var_os("MILLIBOX_TEST_CACHE").map(PathBuf::from)
}

/// The cache in [`cache_directory`], or a cache that stores nothing.
pub fn shared_cache() -> Cache {
    cache_directory().map_or_else(Cache::none, |directory| {
        Cache::in_directory(&directory.join("programs"), CACHE_BYTES)
            .unwrap_or_else(|error| panic!("{error}"))
    })
}
