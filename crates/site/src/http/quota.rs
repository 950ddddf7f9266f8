//! The disk space of one user: the stored files that the user's packages, files and jobs name, and
//! recent uploads, which no row may name yet.

use super::error::Page;
use super::refusal::Refusal;
use crate::app::App;
use crate::blobs::Blobs;
use crate::db::blob;
use std::collections::{HashMap, HashSet};
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

    fn of(&self, user: i64) -> Vec<String> {
        let uploads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let list = uploads.get(&user).into_iter().flatten();
        list.map(|(_, digest)| digest.clone()).collect()
    }
}

fn bytes(blobs: &Blobs, digests: &HashSet<String>) -> u64 {
    let sizes = digests.iter().map(|digest| {
        let file = std::fs::metadata(blobs.path(digest));
        // A removed file takes no space.
        file.map_or(0, |file| file.len())
    });
    sizes.sum()
}

/// The bytes that a user may still store.
///
/// # Errors
/// The user has no room left.
pub async fn room(app: &App, user: i64) -> Page<u64> {
    let mut digests = blob::of_user(&app.db, user).await?;
    digests.extend(app.uploaded.of(user));
    let blobs = app.blobs.clone();
    let used = tokio::task::spawn_blocking(move || bytes(&blobs, &digests)).await?;
    let room = app.limits.disk_of_user.saturating_sub(used);
    if room == 0 {
        return Err(full(app));
    }
    Ok(room)
}

/// The refusal of what exceeds the room of a user.
pub fn full(app: &App) -> super::error::PageError {
    let gib = app.limits.disk_of_user >> 30;
    Refusal::DiskFull { gib }.into()
}
