//! Files of contests.

use super::{Executor, Result, Tx, record, text_enum, values};
use crate::core::participant::Schedule;
use crate::core::time::Time;

text_enum! {
    /// The audience of a file.
    FileAudience {
        /// Everyone with access to the contest.
        All = "all",
        /// The staff of the contest.
        Staff = "staff",
    }
}

record! {
    /// A file of a contest.
    ContestFile {
        id: i64,
        contest_id: i64,
        /// The round from whose beginning contestants see the file.
        round_id: Option<i64>,
        name: String,
        description: String,
        digest: String,
        bytes: i64,
        audience: FileAudience,
        modified_at: Time,
        login: String,
        round_name: Option<String>,
        begins: Option<Time>,
        ends: Option<Time>,
        full_results: Option<Time>,
        window_seconds: Option<i64>,
    }
}

impl ContestFile {
    /// The round with its times; `None` if the file belongs to no round.
    pub fn round(&self) -> Option<(i64, Schedule)> {
        let (begins, ends) = (self.begins?, self.ends?);
        let schedule = Schedule::new(begins, ends, self.full_results?, self.window_seconds);
        Some((self.round_id?, schedule))
    }
}

/// The fields of a file that the staff changes.
#[derive(Debug, Clone)]
pub struct Fields {
    pub round_id: Option<i64>,
    pub name: String,
    pub description: String,
    pub digest: String,
    pub bytes: i64,
    pub audience: FileAudience,
}

macro_rules! files {
    ($rest:literal) => {
        concat!(
            "SELECT contest_file.id, contest_file.contest_id, round_id, contest_file.name,
                description, digest, bytes, audience, modified_at, login,
                round.name AS round_name, begins, ends, full_results, window_seconds
             FROM contest_file JOIN users ON users.id = modified_by
             LEFT JOIN round ON round.id = round_id ",
            $rest
        )
    };
}

/// The file with this id.
pub async fn by_id(db: impl Executor, id: i64) -> Result<Option<ContestFile>> {
    db.first(files!("WHERE contest_file.id = $1"), values![id])
        .await
}

/// The files of a contest by name. The caller checks the visibility of each.
pub async fn all(db: impl Executor, contest_id: i64) -> Result<Vec<ContestFile>> {
    db.all(
        files!("WHERE contest_file.contest_id = $1 ORDER BY contest_file.name, contest_file.id"),
        values![contest_id],
    )
    .await
}

/// Adds a file. Returns the id.
pub async fn insert(
    tx: &mut Tx,
    contest_id: i64,
    fields: &Fields,
    user: i64,
    now: Time,
) -> Result<i64> {
    tx.id(
        "INSERT INTO contest_file (contest_id, round_id, name, description, digest, bytes, audience,
            modified_by, modified_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
        values![
            contest_id,
            fields.round_id,
            &fields.name,
            &fields.description,
            &fields.digest,
            fields.bytes,
            fields.audience,
            user,
            now
        ],
    )
    .await
}

/// Changes a file.
pub async fn update(tx: &mut Tx, id: i64, fields: &Fields, user: i64, now: Time) -> Result<u64> {
    tx.execute(
        "UPDATE contest_file SET round_id = $2, name = $3, description = $4, digest = $5,
            bytes = $6, audience = $7, modified_by = $8, modified_at = $9
         WHERE id = $1",
        values![
            id,
            fields.round_id,
            &fields.name,
            &fields.description,
            &fields.digest,
            fields.bytes,
            fields.audience,
            user,
            now
        ],
    )
    .await
}

/// Removes a file.
pub async fn delete(tx: &mut Tx, id: i64) -> Result<u64> {
    tx.execute("DELETE FROM contest_file WHERE id = $1", values![id])
        .await
}
