//! Faults: packages and machines that prevent submissions from being judged.
//!
//! A fault belongs to a version of a package, and the judgements that failed are attached to it.
//! When the fault is closed, they are queued again with the version that their rounds or problems
//! then use.

use super::{Db, Executor, Result, Tx, record, text_enum, values};
use crate::core::time::Time;

text_enum! {
    /// What is to blame.
    Kind {
        /// The package cannot be judged. Another attempt would be useless.
        Package = "package",
        /// The machine has failed several times.
        Machine = "machine",
    }
}

record! {
    /// A fault with its problem.
    Fault {
        id: i64,
        kind: Kind,
        problem_id: i64,
        problem_name: String,
        version: i64,
        first_at: Time,
        last_at: Time,
        closed_at: Option<Time>,
    }
}

record! {
    /// A submission that waits for a fault to be closed.
    Hanging { submission_id: i64, }
}

record! {
    /// An attempt that has failed.
    Failure {
        submission_id: i64,
        attempt: i64,
        worker: Option<String>,
        failed_at: Time,
        reason: String,
    }
}

macro_rules! faults {
    ($rest:literal) => {
        concat!(
            "SELECT fault.id, kind, problem_id, problem.name AS problem_name, number AS version,
                first_at, last_at, closed_at
             FROM fault
             JOIN package_version ON package_version.id = fault.version_id
             JOIN problem ON problem.id = problem_id ",
            $rest
        )
    };
}

/// Adds the evidence of an attempt.
pub async fn add_failure(
    tx: &mut Tx,
    judgement_id: i64,
    attempt: i64,
    worker: Option<String>,
    reason: &str,
    now: Time,
) -> Result<u64> {
    tx.execute(
        "INSERT INTO attempt_failure (judgement_id, attempt, worker, failed_at, reason)
         VALUES ($1, $2, $3, $4, $5)",
        values![judgement_id, attempt, worker, now, reason],
    )
    .await
}

/// Adds an open fault of a version unless the version already has one. Returns the id.
pub async fn open(tx: &mut Tx, version_id: i64, kind: Kind, now: Time) -> Result<i64> {
    tx.id(
        "INSERT INTO fault (kind, version_id, first_at, last_at) VALUES ($1, $2, $3, $3)
         ON CONFLICT (version_id, kind) WHERE closed_at IS NULL DO UPDATE SET last_at = $3
         RETURNING id",
        values![kind, version_id, now],
    )
    .await
}

/// Faults that concern the problems and contests that the user manages, or all; open ones first.
pub async fn page(db: &Db, user: i64, all: bool, limit: i64) -> Result<Vec<Fault>> {
    db.all(
        faults!(
            "WHERE $2 = 1 OR owner_id = $1 OR fault.id IN
                (SELECT fault_id FROM judgement
                 JOIN submission ON submission.id = judgement.submission_id
                 JOIN round_problem ON round_problem.id = submission.round_problem_id
                 JOIN round ON round.id = round_id
                 JOIN membership ON membership.contest_id = round.contest_id
                 WHERE membership.user_id = $1 AND role IN ('owner', 'moderator'))
             ORDER BY CASE WHEN closed_at IS NULL THEN 0 WHEN closed_at > 0 THEN 1 END,
                fault.id DESC
             LIMIT $3"
        ),
        values![user, all, limit],
    )
    .await
}

/// The fault with this id.
pub async fn by_id(db: impl Executor, id: i64) -> Result<Option<Fault>> {
    db.first(faults!("WHERE fault.id = $1"), values![id]).await
}

/// The submissions that wait for a fault to be closed.
pub async fn hanging(db: impl Executor, id: i64) -> Result<Vec<Hanging>> {
    db.all(
        "SELECT submission_id FROM judgement WHERE fault_id = $1 AND state = 'fault'
         ORDER BY submission_id",
        values![id],
    )
    .await
}

/// The failed attempts of a fault, the latest first.
pub async fn failures(db: &Db, id: i64, limit: i64) -> Result<Vec<Failure>> {
    db.all(
        "SELECT submission_id, attempt_failure.attempt, attempt_failure.worker, failed_at, reason
         FROM attempt_failure JOIN judgement ON judgement.id = judgement_id
         WHERE fault_id = $1
         ORDER BY failed_at DESC, judgement_id, attempt_failure.attempt LIMIT $2",
        values![id, limit],
    )
    .await
}

/// Closes an open fault and queues the judgements that are attached to it. Returns their number.
pub async fn close(tx: &mut Tx, id: i64, user: i64, now: Time) -> Result<u64> {
    let closed = tx
        .execute(
            "UPDATE fault SET closed_at = $2, closed_by = $3 WHERE id = $1 AND closed_at IS NULL",
            values![id, now, user],
        )
        .await?;
    if closed == 0 {
        return Ok(0);
    }
    tx.execute(
        "UPDATE judgement
         SET state = 'queued', failures = 0, fault = NULL, ended_at = NULL,
            version_id = (SELECT COALESCE(model_version_id, round_problem.version_id,
                    (SELECT newest.id FROM package_version AS newest
                     WHERE newest.problem_id = submission.problem_id
                     ORDER BY number DESC LIMIT 1))
                FROM submission
                LEFT JOIN round_problem ON round_problem.id = submission.round_problem_id
                WHERE submission.id = judgement.submission_id)
         WHERE fault_id = $1 AND state = 'fault'",
        values![id],
    )
    .await
}
