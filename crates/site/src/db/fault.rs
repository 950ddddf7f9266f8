//! Faults: packages and machines that prevent submissions from being judged.
//!
//! A fault belongs to a version of a package, and the judgements that failed are attached to it.
//! When a user closes the fault, those that the user manages are queued again with the version that
//! their rounds or problems then use. The fault stays open while others wait.

use super::managed::manages;
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
    ($($rest:tt)+) => {
        concat!(
            "SELECT fault.id, kind, problem_id, problem.name AS problem_name, number AS version,
                first_at, last_at, closed_at
             FROM fault
             JOIN package_version ON package_version.id = fault.version_id
             JOIN problem ON problem.id = problem_id ",
            $($rest)+
        )
    };
}

/// The evidence of a failed attempt.
#[derive(Debug)]
pub struct Evidence<'a> {
    pub judgement: i64,
    pub attempt: i64,
    /// The name of the worker.
    pub worker: Option<String>,
    /// The worker, if it is one on another machine.
    pub fleet_worker: Option<i64>,
    /// Whether the worker itself has ended.
    pub has_ended: bool,
    pub reason: &'a str,
}

/// Adds the evidence of an attempt.
pub async fn add_failure(tx: &mut Tx, evidence: Evidence<'_>, now: Time) -> Result<u64> {
    tx.execute(
        "INSERT INTO attempt_failure (judgement_id, attempt, worker, failed_at, reason,
            fleet_worker_id, has_ended)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        values![
            evidence.judgement,
            evidence.attempt,
            evidence.worker,
            now,
            super::value::message(evidence.reason),
            evidence.fleet_worker,
            evidence.has_ended
        ],
    )
    .await
}

record! { Ended { workers: i64, } }

/// How many workers on other machines have ended in the last `failures` failed attempts.
pub async fn ended_workers(tx: &mut Tx, judgement: i64, failures: i64) -> Result<i64> {
    let found: Option<Ended> = tx
        .first(
            "SELECT COUNT(DISTINCT fleet_worker_id) AS workers
             FROM (SELECT fleet_worker_id, has_ended FROM attempt_failure
                WHERE judgement_id = $1 ORDER BY attempt DESC LIMIT $2) AS latest
             WHERE has_ended = 1",
            values![judgement, failures],
        )
        .await?;
    Ok(found.map_or(0, |found| found.workers))
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

/// The user that looks at faults.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    pub user: i64,
    /// Whether the user is an administrator.
    pub all: bool,
}

/// Faults of the user's problems and of submissions that the user manages, or all; open ones first.
pub async fn page(db: &Db, Reader { user, all }: Reader, limit: i64) -> Result<Vec<Fault>> {
    db.all(
        faults!(concat!(
            "WHERE $2 = 1 OR owner_id = $1 OR fault.id IN
                (SELECT fault_id FROM judgement
                 JOIN submission ON submission.id = judgement.submission_id
                 WHERE fault_id IS NOT NULL AND ",
            manages!("$1", "$2"),
            ") ORDER BY CASE WHEN closed_at IS NULL THEN 0 WHEN closed_at > 0 THEN 1 END,
                fault.id DESC
             LIMIT $3"
        )),
        values![user, all, limit],
    )
    .await
}

/// The fault with this id.
pub async fn by_id(db: impl Executor, id: i64) -> Result<Option<Fault>> {
    db.first(faults!("WHERE fault.id = $1"), values![id]).await
}

/// The submissions that wait for a fault to be closed, of those that the reader manages.
pub async fn hanging(db: impl Executor, id: i64, reader: Reader) -> Result<Vec<Hanging>> {
    db.all(
        concat!(
            "SELECT submission_id FROM judgement
             JOIN submission ON submission.id = judgement.submission_id
             WHERE fault_id = $3 AND state = 'fault' AND ",
            manages!("$1", "$2"),
            " ORDER BY submission_id"
        ),
        values![reader.user, reader.all, id],
    )
    .await
}

/// The failed attempts of a fault with submissions that the reader manages, the latest first.
pub async fn failures(db: &Db, id: i64, reader: Reader, limit: i64) -> Result<Vec<Failure>> {
    db.all(
        concat!(
            "SELECT submission_id, attempt_failure.attempt, attempt_failure.worker, failed_at,
                reason
             FROM attempt_failure JOIN judgement ON judgement.id = judgement_id
             JOIN submission ON submission.id = judgement.submission_id
             WHERE fault_id = $3 AND ",
            manages!("$1", "$2"),
            " ORDER BY failed_at DESC, judgement_id, attempt_failure.attempt LIMIT $4"
        ),
        values![reader.user, reader.all, id, limit],
    )
    .await
}

/// Queues the judgements that are attached to an open fault and that the user manages, and closes
/// the fault unless others wait. Returns the number of judgements.
pub async fn close(tx: &mut Tx, id: i64, reader: Reader, now: Time) -> Result<u64> {
    // The lock serializes those that close the fault.
    let open = tx
        .execute(
            "UPDATE fault SET last_at = last_at WHERE id = $1 AND closed_at IS NULL",
            values![id],
        )
        .await?;
    if open == 0 {
        return Ok(0);
    }
    let queued = tx
        .execute(
            concat!(
                "UPDATE judgement
                 SET state = 'queued', failures = 0, fault = NULL, ended_at = NULL,
                    version_id = (SELECT COALESCE(model_version_id, round_problem.version_id,
                            (SELECT newest.id FROM package_version AS newest
                             WHERE newest.problem_id = submission.problem_id
                             ORDER BY number DESC LIMIT 1))
                        FROM submission
                        LEFT JOIN round_problem ON round_problem.id = submission.round_problem_id
                        WHERE submission.id = judgement.submission_id)
                 WHERE fault_id = $3 AND state = 'fault' AND submission_id IN
                    (SELECT submission.id FROM submission WHERE ",
                manages!("$1", "$2"),
                ")"
            ),
            values![reader.user, reader.all, id],
        )
        .await?;
    tx.execute(
        "UPDATE fault SET closed_at = $2, closed_by = $3
         WHERE id = $1 AND NOT EXISTS
            (SELECT judgement.id FROM judgement WHERE fault_id = $1 AND state = 'fault')",
        values![id, now, reader.user],
    )
    .await?;
    Ok(queued)
}
