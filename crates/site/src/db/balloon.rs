//! Delivered balloons. Earned balloons are computed from the results.

use super::{Executor, Result, Tx, record, values};
use crate::core::time::Time;

record! {
    /// A delivered balloon.
    Delivered {
        round_problem_id: i64,
        participant_id: i64,
        login: String,
        delivered_at: Time,
    }
}

/// The delivered balloons of a contest.
pub async fn delivered(db: impl Executor, contest_id: i64) -> Result<Vec<Delivered>> {
    db.all(
        "SELECT round_problem_id, participant_id, login, delivered_at FROM balloon
         JOIN users ON users.id = delivered_by
         JOIN participant ON participant.id = participant_id
         WHERE contest_id = $1 ORDER BY balloon.id",
        values![contest_id],
    )
    .await
}

/// Records that a balloon was delivered.
pub async fn deliver(
    tx: &mut Tx,
    round_problem: i64,
    participant: i64,
    user: i64,
    now: Time,
) -> Result<u64> {
    tx.execute(
        "INSERT INTO balloon (round_problem_id, participant_id, delivered_by, delivered_at)
         VALUES ($1, $2, $3, $4) ON CONFLICT (round_problem_id, participant_id) DO NOTHING",
        values![round_problem, participant, user, now],
    )
    .await
}

/// Removes the record that a balloon was delivered.
pub async fn take_back(tx: &mut Tx, round_problem: i64, participant: i64) -> Result<u64> {
    tx.execute(
        "DELETE FROM balloon WHERE round_problem_id = $1 AND participant_id = $2",
        values![round_problem, participant],
    )
    .await
}

/// Sets whether balloons are delivered for results that a freeze hides.
pub async fn set_in_freeze(tx: &mut Tx, contest_id: i64, value: bool) -> Result<u64> {
    tx.execute(
        "UPDATE contest SET balloons_in_freeze = $2 WHERE id = $1",
        values![contest_id, value],
    )
    .await
}
