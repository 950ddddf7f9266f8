//! Problems and the versions of their packages.

use super::{Db, Executor, Result, Tx, record, text_enum, values};
use crate::core::time::Time;

text_enum! {
    /// The visibility of a problem outside contests.
    Visibility {
        /// Only its owner sees it.
        Private = "private",
        /// Teachers see it and may use it in their contests.
        ContestOnly = "contest_only",
        /// Everyone sees it.
        Public = "public",
    }
}

record! {
    /// A problem.
    Problem {
        id: i64,
        name: String,
        label: String,
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
        /// A note about the changes.
        note: String,
        created_at: Time,
    }
}

macro_rules! problems {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, label, visibility, owner_id FROM problem ",
            $rest
        )
    };
}

macro_rules! versions {
    ($rest:literal) => {
        concat!(
            "SELECT id, problem_id, number, digest, manifest, note, created_at
             FROM package_version ",
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

/// The problem with this id.
pub async fn by_id(db: impl Executor, id: i64) -> Result<Option<Problem>> {
    db.first(problems!("WHERE id = $1"), values![id]).await
}

/// Problems with ids above `after` that are public, belong to the user, are shown to a class of the
/// user or, if `contest_only` is set, may be used in contests. `all` selects all problems.
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
                OR ($3 = 1 AND visibility = 'contest_only') OR $4 = 1
                OR id IN (SELECT problem_id FROM class_problem
                    JOIN class ON class.id = class_problem.class_id
                    JOIN class_member ON class_member.class_id = class.id
                    WHERE class_member.user_id = $2 AND (problem.visibility <> 'private'
                        OR problem.owner_id = class.owner_id)))
             ORDER BY id LIMIT $5"
        ),
        values![after, user, contest_only, all, limit],
    )
    .await
}

/// A new version.
#[derive(Debug)]
pub struct NewVersion<'a> {
    pub problem_id: i64,
    pub digest: &'a str,
    pub manifest: &'a str,
    pub note: &'a str,
    pub user: i64,
}

/// Adds a version with the next number. Returns the id.
pub async fn insert_version(tx: &mut Tx, new: &NewVersion<'_>, now: Time) -> Result<i64> {
    let last = current_version(&mut *tx, new.problem_id).await?;
    let number = last.map_or(0, |version| version.number) + 1;
    tx.id(
        "INSERT INTO package_version
            (problem_id, number, digest, manifest, note, created_by, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id",
        values![
            new.problem_id,
            number,
            new.digest,
            new.manifest,
            new.note,
            new.user,
            now
        ],
    )
    .await
}

/// Changes the data of a version that pages show.
pub async fn set_manifest(tx: &mut Tx, version: i64, manifest: &str) -> Result<u64> {
    tx.execute(
        "UPDATE package_version SET manifest = $2 WHERE id = $1",
        values![version, manifest],
    )
    .await
}

/// The version with this id.
pub async fn version(db: impl Executor, id: i64) -> Result<Option<Version>> {
    db.first(versions!("WHERE id = $1"), values![id]).await
}

/// The version with the highest number.
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

/// Changes the short name of a problem.
pub async fn set_label(tx: &mut Tx, id: i64, label: &str) -> Result<u64> {
    tx.execute(
        "UPDATE problem SET label = $2 WHERE id = $1",
        values![id, label],
    )
    .await
}

record! {
    /// A word that describes a problem.
    Tag {
        problem_id: i64,
        name: String,
        /// Whether only teachers and the owner see it.
        hidden: bool,
    }
}

/// The tags of a problem by name.
pub async fn tags(db: &Db, problem_id: i64) -> Result<Vec<Tag>> {
    tags_of_range(db, problem_id, problem_id).await
}

/// The tags of all problems with ids in a range, by id and name.
pub async fn tags_of_range(db: &Db, first: i64, last: i64) -> Result<Vec<Tag>> {
    db.all(
        "SELECT problem_id, name, hidden FROM problem_tag
         WHERE problem_id >= $1 AND problem_id <= $2 ORDER BY problem_id, name",
        values![first, last],
    )
    .await
}

/// Replaces the tags of a problem.
pub async fn set_tags(tx: &mut Tx, problem_id: i64, tags: &[(String, bool)]) -> Result<()> {
    tx.execute(
        "DELETE FROM problem_tag WHERE problem_id = $1",
        values![problem_id],
    )
    .await?;
    for (name, hidden) in tags {
        tx.execute(
            "INSERT INTO problem_tag (problem_id, name, hidden) VALUES ($1, $2, $3)
             ON CONFLICT DO NOTHING",
            values![problem_id, name, *hidden],
        )
        .await?;
    }
    Ok(())
}

/// Whether a round contains the problem.
pub async fn is_attached(db: impl Executor, id: i64) -> Result<bool> {
    let found = db
        .rows(
            "SELECT id FROM round_problem WHERE problem_id = $1 LIMIT 1",
            values![id],
        )
        .await?;
    Ok(!found.is_empty())
}

/// Deletes a problem that is in no round, with its versions and submissions.
pub async fn delete(tx: &mut Tx, id: i64) -> Result<u64> {
    tx.execute("DELETE FROM submission WHERE problem_id = $1", values![id])
        .await?;
    tx.execute("DELETE FROM problem WHERE id = $1", values![id])
        .await
}

/// Moves the versions, rounds, submissions and tags of a problem to another one, and deletes the
/// first. Rounds keep their versions, so no result changes. The package of the other problem
/// becomes a new version, whose id is returned; `None` if the other problem has no package.
pub async fn merge(tx: &mut Tx, from: i64, into: i64, user: i64, now: Time) -> Result<Option<i64>> {
    let Some(kept) = current_version(&mut *tx, into).await? else {
        return Ok(None);
    };
    tx.execute(
        "UPDATE package_version SET problem_id = $2, number = number + $3 WHERE problem_id = $1",
        values![from, into, kept.number],
    )
    .await?;
    let note = format!("version {} after problem {from} was merged", kept.number);
    let new = NewVersion {
        problem_id: into,
        digest: &kept.digest,
        manifest: &kept.manifest,
        note: &note,
        user,
    };
    let version = insert_version(tx, &new, now).await?;
    for statement in [
        "UPDATE round_problem SET problem_id = $2 WHERE problem_id = $1",
        "UPDATE submission SET problem_id = $2 WHERE problem_id = $1",
        "UPDATE rejudging SET problem_id = $2 WHERE problem_id = $1",
        "INSERT INTO problem_tag (problem_id, name, hidden)
         SELECT CAST($2 AS BIGINT), name, hidden FROM problem_tag WHERE problem_id = $1
         ON CONFLICT DO NOTHING",
        "INSERT INTO class_problem (class_id, problem_id)
         SELECT class_id, CAST($2 AS BIGINT) FROM class_problem WHERE problem_id = $1
         ON CONFLICT DO NOTHING",
    ] {
        tx.execute(statement, values![from, into]).await?;
    }
    tx.execute("DELETE FROM problem WHERE id = $1", values![from])
        .await?;
    Ok(Some(version))
}
