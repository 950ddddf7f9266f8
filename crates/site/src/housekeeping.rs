//! Removes files to which no row of the database refers.

use crate::blobs::{BlobError, Blobs};
use crate::db::{Db, DbError, blob};
use std::time::Duration;

/// How often the site looks for unused files.
const INTERVAL: Duration = Duration::from_secs(60 * 60);
/// The minimum age of files that are removed. A file is stored before a row refers to it, and no
/// request or job takes this long.
const MIN_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Why unused files were not removed.
#[derive(Debug, thiserror::Error)]
enum HousekeepingError {
    #[error(transparent)]
    Database(#[from] DbError),
    #[error(transparent)]
    Blob(#[from] BlobError),
    #[error("the thread that removes files failed")]
    Thread(#[from] tokio::task::JoinError),
}

/// Removes unused files periodically.
pub async fn work(db: Db, blobs: Blobs) {
    let mut interval = tokio::time::interval(INTERVAL);
    loop {
        interval.tick().await;
        match remove_unused(&db, &blobs, MIN_AGE).await {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "removed files to which no row refers"),
            Err(error) => tracing::error!(%error, "cannot remove unused files"),
        }
    }
}

async fn remove_unused(db: &Db, blobs: &Blobs, age: Duration) -> Result<u64, HousekeepingError> {
    // The names are read before the ages, because a row that is added later refers to a younger
    // file.
    let named = blob::named(db).await?;
    let blobs = blobs.clone();
    let removed = tokio::task::spawn_blocking(move || blobs.remove_unused(&named, age));
    Ok(removed.await??)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blobs::{DAY, make_old};
    use crate::core::time::Time;
    use crate::db::job::{self, Kind, NewJob};
    use crate::db::problem::{self, NewVersion, Visibility};
    use crate::db::tests::{add_user, with_each};
    use crate::db::user::Role;

    #[test]
    fn file_that_a_row_names_is_kept() {
        with_each(async |db| {
            let directory = tempfile::tempdir().unwrap();
            let blobs = Blobs::open(&directory.path().join("blobs")).unwrap();
            let [archive, image, uploaded, unused] =
                [b"1", b"2", b"3", b"4"].map(|content| blobs.put(content).unwrap());
            let user = add_user(db, "ada", Role::Admin).await;
            let mut tx = db.begin().await.unwrap();
            let now = Time::now();
            let id = problem::insert(&mut tx, "Sum", Visibility::Private, user, now);
            let id = id.await.unwrap();
            let manifest = format!("{{\"images\":[{{\"digest\":\"{image}\"}}]}}");
            let version = NewVersion {
                problem_id: id,
                digest: &archive,
                manifest: &manifest,
                note: "",
                user,
            };
            problem::insert_version(&mut tx, &version, now)
                .await
                .unwrap();
            let args = format!("{{\"add_problem\":{{\"digest\":\"{uploaded}\"}}}}");
            let work = NewJob {
                kind: Kind::AddProblem,
                args: &args,
                problem_id: None,
                contest_id: None,
                keys: &[],
                user,
            };
            job::insert(&mut tx, &work, now).await.unwrap();
            tx.commit().await.unwrap();
            for digest in [&archive, &image, &uploaded, &unused] {
                make_old(&blobs.path(digest));
            }
            assert_eq!(remove_unused(db, &blobs, DAY).await.unwrap(), 1);
            assert!(!blobs.path(&unused).exists());
            for kept in [archive, image, uploaded] {
                assert!(blobs.path(&kept).exists(), "{kept}");
            }
        });
    }
}
