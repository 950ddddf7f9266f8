//! Workers that fail where others succeed.
//!
//! Such a worker is on probation: it judges nothing. It receives a known submission from time to
//! time, and is trusted again when it judges that correctly.

use super::{Db, Executor, Result, Tx, record, values};
use crate::core::time::Time;
use std::time::Duration;

/// On how many judgements a worker must have failed that others judged.
const EVIDENCE: i64 = 2;
/// How long a failure counts.
const EVIDENCE_TIME: Duration = Duration::from_secs(60 * 60);
/// The time before the first check. It doubles with each failed check.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
/// The most doublings.
const MAX_DOUBLINGS: u32 = 6;

/// Sets workers on probation that have failed on this judgement, which another one has finished, if
/// there is enough evidence. A worker that ends shows itself when it connects again, so its
/// failures are no evidence. Returns the number of these workers.
pub async fn blame(tx: &mut Tx, judgement: i64, now: Time) -> Result<u64> {
    tx.execute(
        "UPDATE fleet_worker
         SET probation_at = $2, check_at = $3, failed_checks = 0,
            probation_reason = (SELECT reason FROM attempt_failure
                WHERE attempt_failure.fleet_worker_id = fleet_worker.id
                ORDER BY failed_at DESC LIMIT 1)
         WHERE probation_at IS NULL
            AND id IN (SELECT fleet_worker_id FROM attempt_failure
                WHERE judgement_id = $1 AND has_ended = 0)
            AND $4 <= (SELECT COUNT(DISTINCT judgement_id) FROM attempt_failure
                JOIN judgement ON judgement.id = judgement_id
                WHERE attempt_failure.fleet_worker_id = fleet_worker.id AND has_ended = 0
                    AND failed_at > $5 AND failed_at > trusted_at AND judgement.state = 'done'
                    AND COALESCE(judgement.fleet_worker_id, 0) <> fleet_worker.id)",
        values![
            judgement,
            now,
            now.after(FIRST_PAUSE),
            EVIDENCE,
            now.before(EVIDENCE_TIME)
        ],
    )
    .await
}

record! { Check { check_attempt: i64, } }

/// Leases a check to a worker on probation, if one is due. Returns its attempt.
pub async fn begin_check(db: &Db, worker: i64, now: Time, lease: Duration) -> Result<Option<i64>> {
    let mut tx = db.begin().await?;
    let check: Option<Check> = (&mut tx)
        .first(
            "UPDATE fleet_worker SET check_attempt = check_attempt + 1, check_until = $3
             WHERE id = $1 AND probation_at IS NOT NULL AND check_at <= $2
                AND (check_until IS NULL OR check_until < $2)
             RETURNING check_attempt",
            values![worker, now, now.after(lease)],
        )
        .await?;
    tx.commit_aside().await?;
    Ok(check.map(|check| check.check_attempt))
}

/// Renews the lease of a check. Returns false if the worker does not hold it.
pub async fn renew_check(db: &Db, worker: i64, attempt: i64, until: Time) -> Result<bool> {
    let renewed = db
        .execute_aside(
            "UPDATE fleet_worker SET check_until = $3
             WHERE id = $1 AND check_attempt = $2 AND check_until IS NOT NULL",
            values![worker, attempt, until],
        )
        .await?;
    Ok(renewed == 1)
}

record! { Ended { failed_checks: i64, } }

/// Ends a check: without a reason, the worker is trusted again. Returns false if the worker does
/// not hold the check.
pub async fn end_check(
    db: &Db,
    worker: i64,
    attempt: i64,
    failed: Option<&str>,
    now: Time,
) -> Result<bool> {
    let mut tx = db.begin().await?;
    let ended: Option<Ended> = (&mut tx)
        .first(
            "UPDATE fleet_worker SET check_until = NULL
             WHERE id = $1 AND check_attempt = $2 AND check_until IS NOT NULL
             RETURNING failed_checks",
            values![worker, attempt],
        )
        .await?;
    let Some(Ended { failed_checks }) = ended else {
        return Ok(false);
    };
    match failed {
        None => end(&mut tx, worker, now).await?,
        Some(reason) => {
            let doublings = u32::try_from(failed_checks + 1).unwrap_or(MAX_DOUBLINGS);
            let pause = FIRST_PAUSE * (1 << doublings.min(MAX_DOUBLINGS));
            let reason = super::value::message(reason);
            tx.execute(
                "UPDATE fleet_worker
                 SET probation_reason = $2, failed_checks = failed_checks + 1, check_at = $3
                 WHERE id = $1",
                values![worker, reason, now.after(pause)],
            )
            .await?
        }
    };
    tx.commit_aside().await?;
    Ok(true)
}

/// Ends the probation of a worker that is trusted again.
pub async fn end(tx: &mut Tx, worker: i64, now: Time) -> Result<u64> {
    tx.execute(
        "UPDATE fleet_worker
         SET probation_at = NULL, probation_reason = NULL, trusted_at = $2, failed_checks = 0,
            check_at = NULL, check_until = NULL
         WHERE id = $1",
        values![worker, now],
    )
    .await
}
