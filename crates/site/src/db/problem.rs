//! Problems and the versions of their packages.

use super::{Db, Executor, Result, Tx, record, text_enum, values};
use crate::core::time::Time;

text_enum! {
    /// The visibility of a problem outside contests.
    Visibility {
        /// Its owner.
        Private = "private",
        /// Teachers, for their contests.
        ContestOnly = "contest_only",
        /// All people.
        Public = "public",
    }
}

record! {
    /// A problem.
    Problem {
        id: i64,
        name: String,
        visibility: Visibility,
        owner_id: i64,
    }
}

record! {
    /// A package of a problem. It never changes.
    Version {
        id: i64,
        problem_id: i64,
        number: i64,
        digest: String,
        manifest: String,
        created_at: Time,
    }
}

macro_rules! problems {
    ($rest:literal) => {
        concat!("SELECT id, name, visibility, owner_id FROM problem ", $rest)
    };
}

macro_rules! versions {
    ($rest:literal) => {
        concat!(
            "SELECT id, problem_id, number, digest, manifest, created_at FROM package_version ",
            $rest
        )
    };
}

/// Adds a problem. Returns the id.
pub async fn insert(
    tx: &mut Tx,
    name: &str,
    visibility: Visibility,
    owner_id: i64,
    now: Time,
) -> Result<i64> {
    tx.id(
        "INSERT INTO problem (name, visibility, owner_id, created_at)
         VALUES ($1, $2, $3, $4) RETURNING id",
        values![name, visibility, owner_id, now],
    )
    .await
}

/// Changes a problem.
pub async fn update(tx: &mut Tx, id: i64, name: &str, visibility: Visibility) -> Result<u64> {
    tx.execute(
        "UPDATE problem SET name = $2, visibility = $3 WHERE id = $1",
        values![id, name, visibility],
    )
    .await
}

/// The problem with an id.
pub async fn by_id(db: impl Executor, id: i64) -> Result<Option<Problem>> {
    db.first(problems!("WHERE id = $1"), values![id]).await
}

/// Problems with greater ids than `after` that are public, belong to the user or, if `contest_only`
/// is 1, may be used in contests; `all` = 1 means all problems.
pub async fn page(
    db: &Db,
    after: i64,
    user: i64,
    contest_only: bool,
    all: bool,
    limit: i64,
) -> Result<Vec<Problem>> {
    db.all(
        problems!(
            "WHERE id > $1 AND (visibility = 'public' OR owner_id = $2
                OR ($3 = 1 AND visibility = 'contest_only') OR $4 = 1)
             ORDER BY id LIMIT $5"
        ),
        values![after, user, contest_only, all, limit],
    )
    .await
}

/// Adds a version with the next number. Returns the id.
pub async fn insert_version(
    tx: &mut Tx,
    problem_id: i64,
    digest: &str,
    manifest: &str,
    user: i64,
    now: Time,
) -> Result<i64> {
    let last = current_version(&mut *tx, problem_id).await?;
    let number = last.map_or(0, |version| version.number) + 1;
    tx.id(
        "INSERT INTO package_version (problem_id, number, digest, manifest, created_by, created_at)
         VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
        values![problem_id, number, digest, manifest, user, now],
    )
    .await
}

/// The version with an id.
pub async fn version(db: impl Executor, id: i64) -> Result<Option<Version>> {
    db.first(versions!("WHERE id = $1"), values![id]).await
}

/// The version with the greatest number.
pub async fn current_version(db: impl Executor, problem_id: i64) -> Result<Option<Version>> {
    db.first(
        versions!("WHERE problem_id = $1 ORDER BY number DESC LIMIT 1"),
        values![problem_id],
    )
    .await
}

/// All versions of a problem, the latest first.
pub async fn versions(db: &Db, problem_id: i64) -> Result<Vec<Version>> {
    db.all(
        versions!("WHERE problem_id = $1 ORDER BY number DESC"),
        values![problem_id],
    )
    .await
}
