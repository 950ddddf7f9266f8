//! Judgements: the queue of the judge, and its results.
//!
//! A worker leases a judgement for a limited time and renews the lease while it works. Each lease
//! has a number, the attempt, which increases when the judgement is leased again. Each statement of
//! a worker names its attempt, so a worker whose lease has ended changes nothing.
//!
//! Each submission has one current judgement. When a submission is judged again, the old judgement
//! stays current until the new one has a result.

use super::{Db, Executor, Result, Tx, fault, probation, record, rejudging, values};
use crate::core::judgement::State;
use crate::core::subtasks;
use crate::core::time::Time;
use crate::core::verdict::Verdict;
use millibox_fleet::class::Class;
use std::fmt::Display;
use std::time::Duration;

/// The priority of a submission to a contest. Higher priorities come first.
pub const CONTEST: i64 = 20;
/// The priority of a submission outside contests.
pub const PRACTICE: i64 = 10;
/// The priority of a submission of a package.
pub const MODEL: i64 = 4;
/// The priority of a submission that is judged again.
pub const AGAIN: i64 = 5;

/// The number of failed attempts after which a judgement becomes a fault.
pub const MAX_FAILURES: i64 = 3;

/// The number of workers on other machines that may end while they judge a submission. Then the
/// judgement becomes a fault, because the submission may have ended them.
const MAX_ENDED_WORKERS: i64 = 2;

/// How often a judgement makes way for submissions to contests. Afterwards it is judged to its end,
/// so that contestants cannot keep other judgements from ending. Attempts that neither have a
/// result nor have failed count, which includes those that a restart of the site has ended.
const MAX_INTERRUPTIONS: i64 = 2;

record! {
    /// A judgement that a worker has leased.
    Task {
        id: i64,
        submission_id: i64,
        user_id: i64,
        /// The contest of the submission, if it has one.
        contest_id: Option<i64>,
        version_id: i64,
        /// The set of submissions that are judged again.
        rejudging_id: Option<i64>,
        attempt: i64,
        priority: i64,
        language: String,
        /// The name of the submission in its package, if it belongs to a package.
        model_name: Option<String>,
        file_name: String,
        content: Vec<u8>,
        /// The digest of the package.
        digest: String,
    }
}

record! {
    /// A judgement in the list of the queue.
    Entry {
        submission_id: i64,
        state: State,
        priority: i64,
        attempt: i64,
        worker: Option<String>,
        queued_at: Time,
        started_at: Option<Time>,
        ended_at: Option<Time>,
        fault: Option<String>,
    }
}

record! {
    /// The protocol of a judgement, or why it is missing.
    Details {
        fault: Option<String>,
        protocol: Option<String>,
        verdict: Option<Verdict>,
    }
}

/// The result of a judgement.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub initial_verdict: Verdict,
    pub verdict: Verdict,
    pub score: i64,
    pub max_score: Option<i64>,
    pub cpu_time_ns: Option<i64>,
    pub memory_bytes: Option<i64>,
    /// Whether the package expects this result; `None` if it expects none.
    pub as_expected: Option<bool>,
    /// JSON.
    pub protocol: String,
}

/// A new judgement, with its place in the queue.
#[derive(Debug)]
pub struct NewJudgement {
    pub submission_id: i64,
    pub version_id: i64,
    pub user_id: i64,
    pub priority: i64,
    /// Whether it is the first judgement of its submission.
    pub is_first: bool,
}

record! { Turn { turn: i64, } }

/// Adds a judgement to the queue. Users with waiting submissions queue behind those without.
pub async fn insert(tx: &mut Tx, new: &NewJudgement, now: Time) -> Result<i64> {
    let first: Option<Turn> = tx
        .first(
            "SELECT turn FROM judgement WHERE state = 'queued' AND priority = $1
             ORDER BY turn LIMIT 1",
            values![new.priority],
        )
        .await?;
    let own: Option<Turn> = tx
        .first(
            "SELECT turn FROM judgement
             WHERE user_id = $1 AND state IN ('queued', 'running') AND priority = $2
             ORDER BY turn DESC LIMIT 1",
            values![new.user_id, new.priority],
        )
        .await?;
    let first = first.map_or(0, |found| found.turn);
    let turn = own.map_or(first, |found| first.max(found.turn + 1));
    tx.id(
        "INSERT INTO judgement (submission_id, version_id, user_id, current, state, priority, turn,
            attempt, queued_at)
         VALUES ($1, $2, $3, $4, 'queued', $5, $6, 0, $7) RETURNING id",
        values![
            new.submission_id,
            new.version_id,
            new.user_id,
            new.is_first,
            new.priority,
            turn,
            now
        ],
    )
    .await
}

record! { Id { id: i64, } }

/// Which judgements a worker on another machine may lease.
#[derive(Debug)]
pub struct Remote<'a> {
    /// The worker.
    pub id: i64,
    /// The classes that it accepts.
    pub classes: &'a [Class],
    /// The languages that are installed there.
    pub languages: &'a [String],
}

/// For how long a worker on another machine does not receive a judgement again on which it has
/// failed, so that a different machine judges it.
const OTHERS_FIRST: Duration = Duration::from_secs(10);
/// After how many failed attempts a worker on another machine is believed that the package is to
/// blame. The machine may lack a compiler, or have an older version of the judge.
const BELIEVED_FAILURES: i64 = 2;

/// A text with these names or ids, such as `|c|cpp20|`, in which a statement finds one with the
/// separator at both ends. No name contains the separator.
fn listed(names: impl IntoIterator<Item: Display>) -> String {
    let names = names.into_iter().map(|name| format!("{name}|"));
    format!("|{}", names.collect::<String>())
}

/// Leases the next judgement to a worker of this process.
#[cfg(test)]
pub async fn claim(db: &Db, worker: &str, now: Time, lease: Duration) -> Result<Option<Task>> {
    claim_for(db, worker, None, now, lease).await
}

/// Leases the next judgement to a worker. Problems whose judging is paused are skipped, and for
/// workers on other machines, judgements of other classes and languages, and those on which the
/// worker has just failed.
///
/// If two statements choose the same judgement at the same time, PostgreSQL checks the outer
/// conditions again when the first one has ended, so only one of them leases the judgement.
pub async fn claim_for(
    db: &Db,
    worker: &str,
    remote: Option<&Remote<'_>>,
    now: Time,
    lease: Duration,
) -> Result<Option<Task>> {
    let accepts = |class| remote.is_none_or(|remote| remote.classes.contains(&class));
    let languages = remote.map_or_else(String::new, |remote| listed(remote.languages));
    let mut tx = db.begin().await?;
    let next: Option<Id> = (&mut tx)
        .first(
            "UPDATE judgement
             SET state = 'running', attempt = attempt + 1, worker = $1, lease_until = $2,
                started_at = $3, fleet_worker_id = $4
             WHERE (CAST($4 AS BIGINT) IS NULL OR EXISTS (SELECT fleet_worker.id FROM fleet_worker
                    WHERE fleet_worker.id = $4 AND enabled = 1 AND probation_at IS NULL))
                AND id = (SELECT id FROM judgement WHERE state = 'queued'
                AND NOT EXISTS (SELECT submission.id FROM submission
                    JOIN round_problem ON round_problem.id = submission.round_problem_id
                    WHERE submission.id = judgement.submission_id AND allow_judge = 0)
                AND CASE WHEN priority >= $5 THEN CAST($6 AS BIGINT)
                    WHEN priority >= $7 THEN CAST($8 AS BIGINT)
                    WHEN priority = $9 THEN CAST($10 AS BIGINT)
                    WHEN priority < $7 THEN CAST($11 AS BIGINT) END = 1
                AND (CAST($12 AS TEXT) = '' OR EXISTS (SELECT submission.id FROM submission
                    WHERE submission.id = judgement.submission_id
                        AND REPLACE(CAST($12 AS TEXT), '|' || submission.language || '|', '')
                            <> CAST($12 AS TEXT)))
                AND NOT (failures > 0 AND EXISTS (SELECT attempt_failure.attempt
                    FROM attempt_failure WHERE judgement_id = judgement.id
                        AND attempt_failure.fleet_worker_id = $4 AND failed_at > $13))
                ORDER BY priority DESC, turn, id LIMIT 1)
                AND state = 'queued'
             RETURNING id",
            values![
                worker,
                now.after(lease),
                now,
                remote.map(|remote| remote.id),
                CONTEST,
                accepts(Class::Contest),
                PRACTICE,
                accepts(Class::Practice),
                MODEL,
                accepts(Class::Model),
                accepts(Class::Rejudge),
                languages,
                now.before(OTHERS_FIRST)
            ],
        )
        .await?;
    let Some(Id { id }) = next else {
        return Ok(None);
    };
    let task = (&mut tx)
        .first(
            "SELECT judgement.id, judgement.submission_id, submission.user_id, contest_id,
                judgement.version_id, rejudging_id, attempt, priority, language,
                model_name, file_name, content, digest
             FROM judgement
             JOIN submission ON submission.id = judgement.submission_id
             JOIN source ON source.submission_id = judgement.submission_id
             JOIN package_version ON package_version.id = judgement.version_id
             LEFT JOIN round_problem ON round_problem.id = submission.round_problem_id
             LEFT JOIN round ON round.id = round_problem.round_id
             WHERE judgement.id = $1",
            values![id],
        )
        .await?;
    tx.commit().await?;
    Ok(task)
}

record! {
    /// The number of submissions to contests in a language that wait.
    Waiting {
        language: String,
        count: i64,
    }
}

/// The submissions to contests that wait since `before`, and whose judging is not paused.
pub async fn waiting_in_contests(db: &Db, before: Time) -> Result<Vec<Waiting>> {
    db.all(
        "SELECT language, COUNT(*) AS count FROM judgement
         JOIN submission ON submission.id = judgement.submission_id
         LEFT JOIN round_problem ON round_problem.id = submission.round_problem_id
         WHERE state = 'queued' AND priority >= $1 AND queued_at <= $2
            AND COALESCE(allow_judge, 1) = 1
         GROUP BY language",
        values![CONTEST, before],
    )
    .await
}

/// Queues an attempt again that makes way for submissions to contests. It has its former place in
/// the queue, and the attempt is no failure. Returns false if the worker has lost its lease, if the
/// judgement is itself one of a submission to a contest, if it has made way too often, or if
/// another running judgement could make way that has begun later and so loses less work. Those of
/// workers on other machines could if the worker is one of `remotes`.
pub async fn make_way(
    db: &Db,
    id: i64,
    attempt: i64,
    remotes: impl IntoIterator<Item = &i64>,
) -> Result<bool> {
    let mut tx = db.begin().await?;
    let queued = tx
        .execute(
            "UPDATE judgement
             SET state = 'queued', lease_until = NULL, initial_verdict = NULL
             WHERE id = $1 AND attempt = $2 AND state = 'running' AND priority < $3
                AND attempt - failures <= $4
                AND NOT EXISTS (SELECT other.id FROM judgement AS other
                    WHERE other.state = 'running' AND other.priority < $3
                        AND other.attempt - other.failures <= $4
                        AND (other.fleet_worker_id IS NULL
                            OR REPLACE(CAST($5 AS TEXT), '|' || other.fleet_worker_id || '|', '')
                                <> CAST($5 AS TEXT))
                        AND (other.started_at > judgement.started_at
                            OR (other.started_at = judgement.started_at
                                AND other.id > judgement.id)))",
            values![id, attempt, CONTEST, MAX_INTERRUPTIONS, listed(remotes)],
        )
        .await?;
    tx.commit().await?;
    Ok(queued == 1)
}

record! {
    /// A judgement that a worker on another machine holds.
    Held {
        submission_id: i64,
        user_id: i64,
        contest_id: Option<i64>,
        rejudging_id: Option<i64>,
        /// The digest of the package.
        digest: String,
    }
}

/// The judgement of an attempt, if this worker on another machine holds its lease.
pub async fn held(db: &Db, id: i64, attempt: i64, remote: i64) -> Result<Option<Held>> {
    db.first(
        "SELECT judgement.submission_id, submission.user_id, contest_id, rejudging_id, digest
         FROM judgement
         JOIN submission ON submission.id = judgement.submission_id
         JOIN package_version ON package_version.id = judgement.version_id
         LEFT JOIN round_problem ON round_problem.id = submission.round_problem_id
         LEFT JOIN round ON round.id = round_problem.round_id
         WHERE judgement.id = $1 AND attempt = $2 AND state = 'running' AND fleet_worker_id = $3",
        values![id, attempt, remote],
    )
    .await
}

/// Renews the lease of an attempt. Returns false if the worker has lost it.
pub async fn renew(db: &Db, id: i64, attempt: i64, until: Time) -> Result<bool> {
    let renewed = db
        .execute_aside(
            "UPDATE judgement SET lease_until = $3
             WHERE id = $1 AND attempt = $2 AND state = 'running'",
            values![id, attempt, until],
        )
        .await?;
    Ok(renewed == 1)
}

/// Stores the initial verdict of an attempt. Returns false if the worker has lost its lease.
pub async fn set_initial(db: &Db, id: i64, attempt: i64, verdict: Verdict) -> Result<bool> {
    let changed = db
        .execute_aside(
            "UPDATE judgement SET initial_verdict = $3
             WHERE id = $1 AND attempt = $2 AND state = 'running'",
            values![id, attempt, verdict],
        )
        .await?;
    Ok(changed == 1)
}

record! { Finished { rejudging_id: Option<i64>, failures: i64, } }

/// Stores the result of an attempt and makes the judgement current, unless it belongs to a set.
/// Returns false if the worker has lost its lease; nothing has changed then.
pub async fn finish(db: &Db, id: i64, attempt: i64, outcome: &Outcome, now: Time) -> Result<bool> {
    let mut tx = db.begin().await?;
    let finished: Option<Finished> = (&mut tx)
        .first(
            "UPDATE judgement
             SET state = 'done', lease_until = NULL, ended_at = $3, initial_verdict = $4,
                verdict = $5, score = $6, max_score = $7, cpu_time_ns = $8, memory_bytes = $9,
                protocol = $10, as_expected = $11, group_scores = $12, fault = NULL
             WHERE id = $1 AND attempt = $2 AND state = 'running'
             RETURNING rejudging_id, failures",
            values![
                id,
                attempt,
                now,
                outcome.initial_verdict,
                outcome.verdict,
                outcome.score,
                outcome.max_score,
                outcome.cpu_time_ns,
                outcome.memory_bytes,
                &outcome.protocol,
                outcome.as_expected.map(i64::from),
                subtasks::of_protocol(&outcome.protocol, outcome.score)
            ],
        )
        .await?;
    let Some(finished) = finished else {
        return Ok(false);
    };
    match finished.rejudging_id {
        Some(set) => rejudging::settle(&mut tx, set, now).await?,
        None => make_current(&mut tx, id).await?,
    }
    if finished.failures > 0 && probation::blame(&mut tx, id, now).await? > 0 {
        tracing::warn!(judgement = id, "a worker that failed on it is on probation");
    }
    tx.commit().await?;
    Ok(true)
}

async fn make_current(tx: &mut Tx, id: i64) -> Result<()> {
    // A later judgement that already has a result stays current.
    tx.execute(
        "UPDATE judgement SET current = 0
         WHERE current = 1 AND id < $1
            AND submission_id = (SELECT submission_id FROM judgement WHERE id = $1)",
        values![id],
    )
    .await?;
    tx.execute(
        "UPDATE judgement SET current = 1
         WHERE id = $1 AND NOT EXISTS (SELECT other.id FROM judgement AS other
            WHERE other.submission_id = judgement.submission_id AND other.current = 1)",
        values![id],
    )
    .await?;
    Ok(())
}

/// Why an attempt has no result.
#[derive(Debug)]
pub struct Failure<'a> {
    /// What has failed.
    pub kind: fault::Kind,
    /// The evidence.
    pub reason: &'a str,
    /// Whether the worker itself has ended, so that its lease has ended.
    pub has_ended: bool,
}

record! {
    /// An attempt that has failed.
    Failed {
        version_id: i64,
        failures: i64,
        worker: Option<String>,
        fleet_worker_id: Option<i64>,
    }
}

/// Gives up an attempt. The judgement is queued again. It becomes a fault after [`MAX_FAILURES`]
/// failures, or sooner if its package cannot be judged: at once if this machine says so, and after
/// [`BELIEVED_FAILURES`] failures if another does. Returns false if the worker has lost its lease.
pub async fn fail(
    db: &Db,
    id: i64,
    attempt: i64,
    failure: &Failure<'_>,
    now: Time,
) -> Result<bool> {
    let mut tx = db.begin().await?;
    let failed = fail_attempt(&mut tx, id, attempt, failure, now).await?;
    tx.commit().await?;
    Ok(failed)
}

async fn fail_attempt(
    tx: &mut Tx,
    id: i64,
    attempt: i64,
    failure: &Failure<'_>,
    now: Time,
) -> Result<bool> {
    let failed: Option<Failed> = (&mut *tx)
        .first(
            "UPDATE judgement
             SET state = 'queued', failures = failures + 1, fault = $3, lease_until = NULL,
                initial_verdict = NULL
             WHERE id = $1 AND attempt = $2 AND state = 'running'
                AND (CAST($4 AS BIGINT) = 0 OR lease_until < $5)
             RETURNING version_id, failures, worker, fleet_worker_id",
            values![
                id,
                attempt,
                super::value::message(failure.reason),
                failure.has_ended,
                now
            ],
        )
        .await?;
    let Some(failed) = failed else {
        return Ok(false);
    };
    let evidence = fault::Evidence {
        judgement: id,
        attempt,
        worker: failed.worker,
        fleet_worker: failed.fleet_worker_id,
        has_ended: failure.has_ended,
        reason: failure.reason,
    };
    fault::add_failure(tx, evidence, now).await?;
    let ended = fault::ended_workers(tx, id, failed.failures).await?;
    let is_of_package = failure.kind == fault::Kind::Package
        && (failed.fleet_worker_id.is_none() || failed.failures >= BELIEVED_FAILURES);
    if is_of_package || failed.failures >= MAX_FAILURES || ended >= MAX_ENDED_WORKERS {
        let fault = fault::open(tx, failed.version_id, failure.kind, now).await?;
        tx.execute(
            "UPDATE judgement SET state = 'fault', ended_at = $2, fault_id = $3 WHERE id = $1",
            values![id, now, fault],
        )
        .await?;
    }
    Ok(true)
}

record! { Cancelled { id: i64, rejudging_id: Option<i64>, } }

record! { Silent { id: i64, attempt: i64, unconfirmed: bool, } }

/// Ends an attempt that has not begun and whose lease has ended. It is no failure.
async fn give_back(db: &Db, id: i64, attempt: i64, now: Time) -> Result<bool> {
    let mut tx = db.begin().await?;
    let queued = tx
        .execute(
            "UPDATE judgement SET state = 'queued', lease_until = NULL, initial_verdict = NULL
             WHERE id = $1 AND attempt = $2 AND state = 'running' AND lease_until < $3",
            values![id, attempt, now],
        )
        .await?;
    tx.commit().await?;
    Ok(queued == 1)
}

/// Queues the judgements again that a worker on another machine judges. Their attempts are no
/// failures, and the worker has lost its leases.
pub async fn take_from(tx: &mut Tx, fleet_worker: i64) -> Result<u64> {
    tx.execute(
        "UPDATE judgement SET state = 'queued', lease_until = NULL, initial_verdict = NULL
         WHERE state = 'running' AND fleet_worker_id = $1",
        values![fleet_worker],
    )
    .await
}

/// Queues all judgements again whose leases on other machines have ended, because the site cannot
/// be reached. Their attempts are no failures. Returns their number.
pub async fn give_back_silent(db: &Db, now: Time) -> Result<u64> {
    db.execute_aside(
        "UPDATE judgement SET state = 'queued', lease_until = NULL, initial_verdict = NULL
         WHERE state = 'running' AND fleet_worker_id IS NOT NULL AND lease_until < $1",
        values![now],
    )
    .await
}

/// Fails all attempts whose leases have ended. Returns their number. `unconfirmed` is the length of
/// a new lease on another machine: if such a lease was never renewed, the worker has not received
/// the task, which is no failure.
pub async fn expire(db: &Db, now: Time, unconfirmed: Duration) -> Result<u64> {
    let failure = Failure {
        kind: fault::Kind::Machine,
        reason: "the worker has ended",
        has_ended: true,
    };
    let silent: Vec<Silent> = db
        .all(
            "SELECT id, attempt, COALESCE(CASE WHEN fleet_worker_id IS NOT NULL
                AND lease_until - started_at <= $2 THEN CAST(1 AS BIGINT) END, 0) AS unconfirmed
             FROM judgement WHERE state = 'running' AND lease_until < $1",
            values![now, Time(0).after(unconfirmed)],
        )
        .await?;
    let mut expired = 0;
    for one in silent {
        let ended = match one.unconfirmed {
            true => give_back(db, one.id, one.attempt, now).await?,
            false => fail(db, one.id, one.attempt, &failure, now).await?,
        };
        expired += u64::from(ended);
    }
    Ok(expired)
}

/// Cancels the judgements of a submission that wait or run. Returns their ids; the caller stops
/// those that run. Their workers have lost their leases.
pub async fn cancel_of_submission(tx: &mut Tx, submission_id: i64, now: Time) -> Result<Vec<i64>> {
    let cancelled: Vec<Cancelled> = (&mut *tx)
        .all(
            "UPDATE judgement
             SET state = 'cancelled', lease_until = NULL, ended_at = $2, initial_verdict = NULL
             WHERE submission_id = $1 AND state IN ('queued', 'running')
             RETURNING id, rejudging_id",
            values![submission_id, now],
        )
        .await?;
    for set in cancelled.iter().filter_map(|one| one.rejudging_id) {
        rejudging::settle(tx, set, now).await?;
    }
    Ok(cancelled.into_iter().map(|one| one.id).collect())
}

/// How the names of the workers in a named process begin.
pub fn workers_of(process: &str) -> String {
    format!("{process}/")
}

/// Queues again the judgements on which the last process of this site was working. Their attempts
/// do not count, because the process may have been stopped on purpose. Workers on other machines
/// keep their leases.
///
/// If several processes serve the site, `process` names the one whose judgements are queued again.
pub async fn release(db: &Db, process: Option<&str>) -> Result<u64> {
    let begins = process.map_or_else(String::new, workers_of);
    let length = i64::try_from(begins.len()).unwrap_or(i64::MAX);
    let mut tx = db.begin().await?;
    let released = tx
        .execute(
            "UPDATE judgement SET state = 'queued', lease_until = NULL, initial_verdict = NULL
             WHERE state = 'running' AND fleet_worker_id IS NULL
                AND ($2 = 0 OR SUBSTR(worker, 1, CAST($2 AS INTEGER)) = $1)",
            values![begins, length],
        )
        .await?;
    tx.commit().await?;
    Ok(released)
}

/// Unfinished judgements in the order of judging, then faults, then finished ones.
pub async fn queue(db: &Db, limit: i64) -> Result<Vec<Entry>> {
    db.all(
        "SELECT submission_id, state, priority, attempt, worker, queued_at, started_at, ended_at,
            fault
         FROM judgement
         ORDER BY CASE state WHEN 'running' THEN 0 WHEN 'queued' THEN 1 WHEN 'fault' THEN 2
            WHEN 'done' THEN 3
            WHEN 'cancelled' THEN 4 END, CASE state WHEN 'queued' THEN priority END DESC,
            CASE state WHEN 'queued' THEN turn END,
            CASE state WHEN 'queued' THEN id END, id DESC
         LIMIT $1",
        values![limit],
    )
    .await
}

/// Whether a judgement of the submission waits or runs.
pub async fn is_open(db: impl Executor, submission_id: i64) -> Result<bool> {
    let found: Option<Id> = db
        .first(
            "SELECT id FROM judgement
             WHERE submission_id = $1 AND state IN ('queued', 'running') LIMIT 1",
            values![submission_id],
        )
        .await?;
    Ok(found.is_some())
}

record! {
    /// A judgement in the history of its submission.
    Past {
        id: i64,
        version: i64,
        rejudging_id: Option<i64>,
        current: bool,
        state: State,
        verdict: Option<Verdict>,
        score: Option<i64>,
        max_score: Option<i64>,
        queued_at: Time,
    }
}

/// The judgements of a submission, the latest first.
pub async fn history(db: &Db, submission_id: i64) -> Result<Vec<Past>> {
    db.all(
        "SELECT judgement.id, number AS version, rejudging_id, current, state, verdict, score,
            max_score, queued_at
         FROM judgement JOIN package_version ON package_version.id = version_id
         WHERE submission_id = $1 ORDER BY judgement.id DESC",
        values![submission_id],
    )
    .await
}

/// The protocol of a judgement.
pub async fn details(db: &Db, id: i64) -> Result<Option<Details>> {
    db.first(
        "SELECT fault, protocol, verdict FROM judgement WHERE id = $1",
        values![id],
    )
    .await
}
