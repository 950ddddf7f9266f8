//! The clocks of virtual participations.

use super::{Executor, Result, Tx, record, values};
use crate::core::participant::Schedule;
use crate::core::time::Time;
use crate::core::virtual_run::{Run, length};

record! {
    /// A clock with the times of its round.
    Clock {
        started_at: Time,
        /// When the user ended the participation before its time.
        ended_at: Option<Time>,
        begins: Time,
        ends: Time,
        window_seconds: Option<i64>,
    }
}

impl Clock {
    /// The participation; `None` if the round has no length any more.
    pub fn run(&self) -> Option<Run> {
        let schedule = Schedule::new(self.begins, self.ends, self.ends, self.window_seconds);
        let run = Run {
            started_at: self.started_at,
            length: length(schedule)?,
        };
        Some(match self.ended_at {
            Some(at) => run.ended(at),
            None => run,
        })
    }
}

/// Starts the clock of a user in a round. It replaces an earlier one.
pub async fn start(tx: &mut Tx, user_id: i64, round_id: i64, now: Time) -> Result<u64> {
    tx.execute(
        "INSERT INTO virtual_start (user_id, round_id, started_at) VALUES ($1, $2, $3)
         ON CONFLICT (user_id, round_id) DO UPDATE SET started_at = $3, ended_at = NULL",
        values![user_id, round_id, now],
    )
    .await
}

/// Ends the participation of a user in a round before its time.
pub async fn end(tx: &mut Tx, user_id: i64, round_id: i64, now: Time) -> Result<u64> {
    tx.execute(
        "UPDATE virtual_start SET ended_at = $3 WHERE user_id = $1 AND round_id = $2",
        values![user_id, round_id, now],
    )
    .await
}

/// The clock of a user in a round.
pub async fn of_round(db: impl Executor, user_id: i64, round_id: i64) -> Result<Option<Clock>> {
    db.first(
        "SELECT started_at, ended_at, begins, ends, window_seconds FROM virtual_start
         JOIN round ON round.id = round_id WHERE user_id = $1 AND round_id = $2",
        values![user_id, round_id],
    )
    .await
}

/// The clocks of a user in the rounds that use a problem.
pub async fn of_problem(db: impl Executor, user_id: i64, problem_id: i64) -> Result<Vec<Clock>> {
    db.all(
        "SELECT started_at, ended_at, begins, ends, window_seconds FROM virtual_start
         JOIN round ON round.id = round_id
         WHERE user_id = $1 AND round_id IN (SELECT round_problem.round_id FROM round_problem
            WHERE round_problem.problem_id = $2)",
        values![user_id, problem_id],
    )
    .await
}
