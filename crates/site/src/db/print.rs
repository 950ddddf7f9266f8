//! Texts that contestants want to print.

use super::{Executor, Result, Tx, record, values};
use crate::core::time::Time;

record! {
    /// A text in the queue of the printer, without its content.
    Request {
        id: i64,
        contest_id: i64,
        user_id: i64,
        participant_id: Option<i64>,
        title: String,
        created_at: Time,
        done_at: Option<Time>,
        login: String,
        /// The name of the team, or of the user if it differs from the user's own.
        team_name: Option<String>,
        /// The group of the participant, such as a room.
        group_name: Option<String>,
    }
}

record! { Content { content: String, } }

macro_rules! requests {
    ($rest:literal) => {
        concat!(
            "SELECT print_request.id, print_request.contest_id, print_request.user_id,
                participant_id, title, print_request.created_at, done_at, login,
                participant.name AS team_name, group_name
             FROM print_request JOIN users ON users.id = print_request.user_id
             LEFT JOIN participant ON participant.id = participant_id ",
            $rest
        )
    };
}

/// A new text.
#[derive(Debug)]
pub struct New<'a> {
    pub contest_id: i64,
    pub user_id: i64,
    pub participant_id: i64,
    pub title: &'a str,
    pub content: &'a str,
}

/// Adds a text. Returns the id.
pub async fn insert(tx: &mut Tx, new: &New<'_>, now: Time) -> Result<i64> {
    tx.id(
        "INSERT INTO print_request (contest_id, user_id, participant_id, title, content, created_at)
         VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
        values![
            new.contest_id,
            new.user_id,
            new.participant_id,
            new.title,
            new.content,
            now
        ],
    )
    .await
}

/// The text with this id.
pub async fn by_id(db: impl Executor, id: i64) -> Result<Option<Request>> {
    db.first(requests!("WHERE print_request.id = $1"), values![id])
        .await
}

/// The content of a text.
pub async fn content(db: impl Executor, id: i64) -> Result<Option<String>> {
    let found: Option<Content> = db
        .first(
            "SELECT content FROM print_request WHERE id = $1",
            values![id],
        )
        .await?;
    Ok(found.map(|row| row.content))
}

/// Texts of a contest, or those of one user and of the user's teams: first those that wait, then
/// the latest.
pub async fn page(
    db: impl Executor,
    contest_id: i64,
    user: Option<i64>,
    limit: i64,
) -> Result<Vec<Request>> {
    db.all(
        requests!(
            "WHERE print_request.contest_id = $1 AND ($2 = -1 OR print_request.user_id = $2
                OR participant_id IN (SELECT team_member.participant_id FROM team_member
                    WHERE team_member.user_id = $2))
             ORDER BY done_at DESC NULLS FIRST, print_request.id LIMIT $3"
        ),
        values![contest_id, user.unwrap_or(-1), limit],
    )
    .await
}

/// All texts of a contest, or those of one user and of the user's teams, in the order of their
/// numbers.
pub async fn all(db: impl Executor, contest_id: i64, user: Option<i64>) -> Result<Vec<Request>> {
    let mut all = page(db, contest_id, user, i64::MAX).await?;
    all.sort_by_key(|one| one.id);
    Ok(all)
}

/// Records that a text was printed.
pub async fn finish(tx: &mut Tx, id: i64, user: i64, now: Time) -> Result<u64> {
    tx.execute(
        "UPDATE print_request SET done_by = $2, done_at = $3 WHERE id = $1 AND done_at IS NULL",
        values![id, user, now],
    )
    .await
}

/// Sets whether contestants may print.
pub async fn set_printing(tx: &mut Tx, contest_id: i64, value: bool) -> Result<u64> {
    tx.execute(
        "UPDATE contest SET printing = $2 WHERE id = $1",
        values![contest_id, value],
    )
    .await
}
