//! The disk space of one user: the stored files that the user's packages, files and jobs name, and
//! recent uploads, which no row may name yet.

use super::error::Page;
use super::refusal::Refusal;
use crate::app::App;
use crate::blobs::Blobs;
use crate::db::blob;
use std::collections::HashSet;

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
