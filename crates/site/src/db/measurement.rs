//! Submissions of packages that workers on other machines run to measure their times.
//!
//! A job adds one measurement after another and waits for its result. A worker leases it as it
//! leases a judgement.

use super::{Db, Executor, Result, Tx, record, text_enum, values};
use crate::core::time::Time;
use std::time::Duration;

/// The number of failed attempts after which the measuring fails.
const MAX_FAILURES: i64 = 3;

text_enum! {
    /// The state of a measurement.
    State {
        /// It waits.
        Queued = "queued",
        /// A worker has a lease.
        Running = "running",
        /// The result is an outcome, as JSON.
        Done = "done",
        /// The result is the reason of the last failure.
        Failed = "failed",
    }
}

/// A new measurement.
#[derive(Debug)]
pub struct NewMeasurement<'a> {
    pub job: i64,
    pub version: i64,
    pub language: &'a str,
    /// The name of the submission in its package.
    pub model_name: &'a str,
    pub file_name: &'a str,
    pub content: &'a [u8],
}

record! {
    /// A measurement that a worker has leased.
    Task {
        id: i64,
        attempt: i64,
        language: String,
        model_name: String,
        file_name: String,
        content: Vec<u8>,
        /// The digest of the package.
        digest: String,
    }
}

record! {
    /// A measurement as its job sees it.
    Measurement { state: State, result: Option<String>, }
}

record! { Digest { digest: String, } }

/// Adds a measurement. Returns its id.
pub async fn insert(db: &Db, new: &NewMeasurement<'_>) -> Result<i64> {
    let mut tx = db.begin().await?;
    let id = (&mut tx)
        .id(
            "INSERT INTO measurement (job_id, version_id, language, model_name, file_name, content,
                state, attempt, failures)
             VALUES ($1, $2, $3, $4, $5, $6, 'queued', 0, 0) RETURNING id",
            values![
                new.job,
                new.version,
                new.language,
                new.model_name,
                new.file_name,
                new.content.to_vec()
            ],
        )
        .await?;
    tx.commit_aside().await?;
    Ok(id)
}

/// Leases the oldest measurement in one of the languages to a worker. If `expires`, a lease that
/// has ended is a failed attempt.
pub async fn claim(
    db: &Db,
    worker: i64,
    languages: &[String],
    now: Time,
    lease: Duration,
    expires: bool,
) -> Result<Option<Task>> {
    // Usually, none waits.
    let waiting: Vec<Waiting> = db
        .all(
            "SELECT id, attempt, language, state FROM measurement
             WHERE state = 'queued'
                OR (state = 'running' AND lease_until < $1 AND CAST($2 AS BIGINT) = 1)
             ORDER BY id",
            values![now, expires],
        )
        .await?;
    for one in waiting {
        if one.state == State::Running {
            expire(db, one.id, one.attempt, now).await?;
        }
        if !languages.contains(&one.language) {
            continue;
        }
        let mut tx = db.begin().await?;
        let leased = tx
            .execute(
                "UPDATE measurement
                 SET state = 'running', attempt = attempt + 1, fleet_worker_id = $2,
                    lease_until = $3
                 WHERE id = $1 AND state = 'queued'
                    AND EXISTS (SELECT fleet_worker.id FROM fleet_worker
                        WHERE fleet_worker.id = $2 AND enabled = 1 AND probation_at IS NULL)",
                values![one.id, worker, now.after(lease)],
            )
            .await?;
        let task = (&mut tx)
            .first(
                "SELECT measurement.id, attempt, language, model_name, file_name, content, digest
                 FROM measurement JOIN package_version ON package_version.id = version_id
                 WHERE measurement.id = $1",
                values![one.id],
            )
            .await?;
        tx.commit_aside().await?;
        if leased == 1 {
            return Ok(task);
        }
    }
    Ok(None)
}

record! { Waiting { id: i64, attempt: i64, language: String, state: State, } }

/// The digest of the package, if the worker holds the lease.
pub async fn held(db: &Db, id: i64, attempt: i64, worker: i64) -> Result<Option<String>> {
    let found: Option<Digest> = db
        .first(
            "SELECT digest FROM measurement
             JOIN package_version ON package_version.id = version_id
             WHERE measurement.id = $1 AND attempt = $2 AND fleet_worker_id = $3
                AND state = 'running'",
            values![id, attempt, worker],
        )
        .await?;
    Ok(found.map(|found| found.digest))
}

/// Renews a lease of a worker.
pub async fn renew(db: &Db, id: i64, attempt: i64, worker: i64, until: Time) -> Result<bool> {
    let renewed = db
        .execute_aside(
            "UPDATE measurement SET lease_until = $4
             WHERE id = $1 AND attempt = $2 AND fleet_worker_id = $3 AND state = 'running'",
            values![id, attempt, worker, until],
        )
        .await?;
    Ok(renewed == 1)
}

/// Stores the outcome, as JSON, if the worker holds the lease.
pub async fn finish(db: &Db, id: i64, attempt: i64, worker: i64, outcome: &str) -> Result<bool> {
    let finished = db
        .execute_aside(
            "UPDATE measurement SET state = 'done', result = $4, lease_until = NULL
             WHERE id = $1 AND attempt = $2 AND fleet_worker_id = $3 AND state = 'running'",
            values![id, attempt, worker, outcome],
        )
        .await?;
    Ok(finished == 1)
}

/// Gives up an attempt, as its worker reports.
pub async fn fail(db: &Db, id: i64, attempt: i64, worker: i64, reason: &str) -> Result<bool> {
    fail_attempt(db, id, attempt, Some(worker), reason, None).await
}

/// Gives up an attempt whose lease has ended.
async fn expire(db: &Db, id: i64, attempt: i64, now: Time) -> Result<bool> {
    fail_attempt(db, id, attempt, None, "the worker has ended", Some(now)).await
}

async fn fail_attempt(
    db: &Db,
    id: i64,
    attempt: i64,
    worker: Option<i64>,
    reason: &str,
    ended: Option<Time>,
) -> Result<bool> {
    let failed = db
        .execute_aside(
            "UPDATE measurement
             SET state = CASE WHEN failures + 1 >= $4 THEN 'failed'
                    WHEN failures + 1 < $4 THEN 'queued' END,
                failures = failures + 1, result = $3, lease_until = NULL
             WHERE id = $1 AND attempt = $2 AND state = 'running'
                AND ($5 IS NULL OR fleet_worker_id = $5)
                AND ($6 IS NULL OR lease_until < $6)",
            values![
                id,
                attempt,
                super::value::message(reason),
                MAX_FAILURES,
                worker,
                ended
            ],
        )
        .await?;
    Ok(failed == 1)
}

/// Queues an attempt of a worker again, which is no failure.
pub async fn make_way(db: &Db, id: i64, attempt: i64, worker: i64) -> Result<bool> {
    let queued = db
        .execute_aside(
            "UPDATE measurement SET state = 'queued', lease_until = NULL
             WHERE id = $1 AND attempt = $2 AND fleet_worker_id = $3 AND state = 'running'",
            values![id, attempt, worker],
        )
        .await?;
    Ok(queued == 1)
}

/// Queues the measurements of a worker again, which is no failure.
pub async fn take_from(tx: &mut Tx, worker: i64) -> Result<u64> {
    tx.execute(
        "UPDATE measurement SET state = 'queued', lease_until = NULL
         WHERE fleet_worker_id = $1 AND state = 'running'",
        values![worker],
    )
    .await
}

/// The measurement with this id.
pub async fn by_id(db: impl Executor, id: i64) -> Result<Option<Measurement>> {
    db.first(
        "SELECT state, result FROM measurement WHERE id = $1",
        values![id],
    )
    .await
}

/// Removes a measurement, whose worker then loses its lease.
pub async fn delete(db: &Db, id: i64) -> Result<u64> {
    db.execute_aside("DELETE FROM measurement WHERE id = $1", values![id])
        .await
}
