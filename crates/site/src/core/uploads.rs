//! Recent uploads, which no row of the database may name yet.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an upload counts that no row names. The site removes such a file after a day, and looks
/// for it once an hour.
const UPLOAD_COUNTS: Duration = Duration::from_secs(26 * 60 * 60);

/// The digests of recent uploads by user.
#[derive(Debug, Default)]
pub struct Uploaded(Mutex<HashMap<i64, Vec<(Instant, String)>>>);

impl Uploaded {
    /// Remembers an upload.
    pub fn add(&self, user: i64, digest: &str) {
        let mut uploads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for list in uploads.values_mut() {
            list.retain(|(at, _)| at.elapsed() < UPLOAD_COUNTS);
        }
        uploads.retain(|_, list| !list.is_empty());
        let list = uploads.entry(user).or_default();
        list.retain(|(_, known)| known != digest);
        list.push((Instant::now(), digest.to_owned()));
    }

    /// The digests of a user's recent uploads.
    pub fn of(&self, user: i64) -> Vec<String> {
        let uploads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let list = uploads.get(&user).into_iter().flatten();
        list.map(|(_, digest)| digest.clone()).collect()
    }
}
