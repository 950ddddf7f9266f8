//! Jobs: long-running work other than judging.
//!
//! A runner leases a job as a worker leases a judgement: the attempt is a fencing token, and a job
//! that was cancelled or leased again stores nothing. Jobs with a common key never run at the same
//! time. A job that a user stops while it runs keeps its keys and its lease until its runner has
//! ended its programs.

use super::{Db, Executor, Result, Tx, record, text_enum, values};
use crate::core::time::Time;
use std::time::Duration;

text_enum! {
    /// What a job does.
    Kind {
        /// Adds a problem from a package.
        AddProblem = "add_problem",
        /// Adds a version to a problem from a package.
        AddVersion = "add_version",
        /// Adds a version with a new statement.
        ChangeStatement = "change_statement",
        /// Compiles the statements that have no PDF.
        CompileStatements = "compile_statements",
        /// Adds a version with time limits derived from the run times of the model solution.
        ResetLimits = "reset_limits",
        /// Moves everything from one problem to another.
        MergeProblems = "merge_problems",
        /// Deletes a problem.
        DeleteProblem = "delete_problem",
        /// Deletes a contest.
        DeleteContest = "delete_contest",
        /// Deletes a round.
        DeleteRound = "delete_round",
        /// Deletes a problem of a round.
        DeleteRoundProblem = "delete_round_problem",
        /// Compares the sources of a contest.
        CompareSources = "compare_sources",
    }
}

impl Kind {
    /// The priority. Higher priorities come first.
    fn priority(self) -> i64 {
        match self {
            Kind::DeleteProblem
            | Kind::DeleteContest
            | Kind::DeleteRound
            | Kind::DeleteRoundProblem => 30,
            Kind::MergeProblems | Kind::ChangeStatement | Kind::CompileStatements => 25,
            Kind::ResetLimits => 20,
            Kind::AddProblem | Kind::AddVersion => 10,
            Kind::CompareSources => 5,
        }
    }
}

text_enum! {
    /// The state of a job.
    State {
        /// It waits.
        Queued = "queued",
        /// A runner has a lease.
        Running = "running",
        /// A user has stopped it, and its runner still ends its programs.
        Stopping = "stopping",
        /// The job has done its work.
        Done = "done",
        /// The job could not do its work, and has changed nothing.
        Failed = "failed",
        /// A user has stopped the job, which has changed nothing.
        Cancelled = "cancelled",
    }
}

record! {
    /// A job.
    Job {
        id: i64,
        kind: Kind,
        args: String,
        state: State,
        attempt: i64,
        problem_id: Option<i64>,
        contest_id: Option<i64>,
        created_by: i64,
        login: String,
        created_at: Time,
        started_at: Option<Time>,
        ended_at: Option<Time>,
        result: Option<String>,
        /// The present name of the problem.
        problem_name: Option<String>,
        /// The present name of the contest.
        contest_name: Option<String>,
    }
}

record! {
    /// A line of a log.
    Line { written_at: Time, line: String, }
}

/// A new job.
#[derive(Debug)]
pub struct NewJob<'a> {
    pub kind: Kind,
    /// JSON.
    pub args: &'a str,
    pub problem_id: Option<i64>,
    pub contest_id: Option<i64>,
    /// The keys of the objects that the job changes. Jobs with a common key do not run at the same
    /// time.
    pub keys: &'a [String],
    pub user: i64,
}

macro_rules! jobs {
    ($rest:literal) => {
        concat!(
            "SELECT job.id, kind, args, state, attempt, problem_id, contest_id, job.created_by,
                login, job.created_at, started_at, ended_at, result,
                problem.name AS problem_name, contest.name AS contest_name
             FROM job JOIN users ON users.id = job.created_by
             LEFT JOIN problem ON problem.id = problem_id
             LEFT JOIN contest ON contest.id = contest_id ",
            $rest
        )
    };
}

/// Adds a job to the queue. Returns the id.
pub async fn insert(tx: &mut Tx, new: &NewJob<'_>, now: Time) -> Result<i64> {
    let id = (&mut *tx)
        .id(
            "INSERT INTO job (kind, args, priority, state, attempt, problem_id, contest_id,
                created_by, created_at)
             VALUES ($1, $2, $3, 'queued', 0, $4, $5, $6, $7) RETURNING id",
            values![
                new.kind,
                new.args,
                new.kind.priority(),
                new.problem_id,
                new.contest_id,
                new.user,
                now
            ],
        )
        .await?;
    for key in new.keys {
        tx.execute(
            "INSERT INTO job_key (job_id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            values![id, key],
        )
        .await?;
    }
    Ok(id)
}

record! { Id { id: i64, } }

/// The waiting job of a user with this work, if there is one.
pub async fn queued_like(tx: &mut Tx, user: i64, kind: Kind, args: &str) -> Result<Option<i64>> {
    let found: Option<Id> = (&mut *tx)
        .first(
            "SELECT id FROM job WHERE state = 'queued' AND created_by = $1 AND kind = $2
                AND args = $3
             ORDER BY id LIMIT 1",
            values![user, kind, args],
        )
        .await?;
    Ok(found.map(|found| found.id))
}

/// The job of a kind that waits or runs for a contest, if there is one.
pub async fn open_of_contest(db: &Db, contest: i64, kind: Kind) -> Result<Option<i64>> {
    let found: Option<Id> = db
        .first(
            "SELECT id FROM job WHERE contest_id = $1 AND kind = $2
                AND state IN ('queued', 'running') ORDER BY id LIMIT 1",
            values![contest, kind],
        )
        .await?;
    Ok(found.map(|found| found.id))
}

record! { Count { count: i64, } }

/// The number of a user's jobs that wait.
pub async fn queued_of(db: impl Executor, user: i64) -> Result<i64> {
    let found: Option<Count> = db
        .first(
            "SELECT COUNT(*) AS count FROM job WHERE state = 'queued' AND created_by = $1",
            values![user],
        )
        .await?;
    Ok(found.map_or(0, |found| found.count))
}

/// Leases the next job that shares no key with a running one. Users take turns: the next job is of
/// the user whose last job began first. Priorities order only the jobs of one user.
pub async fn claim(db: &Db, now: Time, lease: Duration) -> Result<Option<Job>> {
    let mut tx = db.begin().await?;
    let next: Option<Id> = (&mut tx)
        .first(
            "UPDATE job
             SET state = 'running', attempt = attempt + 1, lease_until = $1, started_at = $2,
                ended_at = NULL
             WHERE id = (SELECT id FROM job AS next WHERE state = 'queued'
                AND NOT EXISTS (SELECT other.job_id FROM job_key AS own
                    JOIN job_key AS other ON other.name = own.name
                    JOIN job AS running ON running.id = other.job_id
                    WHERE own.job_id = next.id AND running.state IN ('running', 'stopping'))
                ORDER BY COALESCE((SELECT MAX(earlier.started_at) FROM job AS earlier
                    WHERE earlier.created_by = next.created_by), 0), priority DESC, id LIMIT 1)
             RETURNING id",
            values![now.after(lease), now],
        )
        .await?;
    let job = match next {
        Some(Id { id }) => by_id(&mut tx, id).await?,
        None => None,
    };
    tx.commit().await?;
    Ok(job)
}

record! { Renewed { state: State, } }

/// Renews the lease of an attempt. Returns the state of the job: [`State::Running`], or
/// [`State::Stopping`] if the runner must end its programs; `None` if the lease is lost.
pub async fn renew(db: &Db, id: i64, attempt: i64, until: Time) -> Result<Option<State>> {
    let mut tx = db.begin().await?;
    let renewed: Option<Renewed> = (&mut tx)
        .first(
            "UPDATE job SET lease_until = $3
             WHERE id = $1 AND attempt = $2 AND state IN ('running', 'stopping') RETURNING state",
            values![id, attempt, until],
        )
        .await?;
    tx.commit().await?;
    Ok(renewed.map(|renewed| renewed.state))
}

/// Ends an attempt. Returns false if the runner has lost its lease and must roll back its
/// transaction.
pub async fn end(
    tx: &mut Tx,
    job: &Job,
    state: State,
    result: Option<&str>,
    now: Time,
) -> Result<bool> {
    let ended = tx
        .execute(
            "UPDATE job SET state = $3, ended_at = $4, result = $5, lease_until = NULL
             WHERE id = $1 AND attempt = $2 AND state = 'running'",
            values![
                job.id,
                job.attempt,
                state,
                now,
                result.map(ToOwned::to_owned)
            ],
        )
        .await?;
    Ok(ended == 1)
}

/// Sets the problem that a job has added.
pub async fn set_problem(tx: &mut Tx, id: i64, problem_id: i64) -> Result<u64> {
    tx.execute(
        "UPDATE job SET problem_id = $2 WHERE id = $1",
        values![id, problem_id],
    )
    .await
}

/// Cancels a job that waits, or stops a job that runs. Returns false if it has ended or was stopped
/// before.
pub async fn cancel(tx: &mut Tx, id: i64, now: Time) -> Result<bool> {
    let cancelled = tx
        .execute(
            "UPDATE job SET state = 'cancelled', ended_at = $2 WHERE id = $1 AND state = 'queued'",
            values![id, now],
        )
        .await?;
    let stopped = tx
        .execute(
            "UPDATE job SET state = 'stopping' WHERE id = $1 AND state = 'running'",
            values![id],
        )
        .await?;
    Ok(cancelled + stopped == 1)
}

/// Cancels a stopped job whose programs have ended, and so frees its keys. Returns false if the
/// job was not stopped.
pub async fn stopped(tx: &mut Tx, job: &Job, now: Time) -> Result<bool> {
    let cancelled = tx
        .execute(
            "UPDATE job SET state = 'cancelled', ended_at = $3, lease_until = NULL
             WHERE id = $1 AND attempt = $2 AND state = 'stopping'",
            values![job.id, job.attempt, now],
        )
        .await?;
    Ok(cancelled == 1)
}

/// Queues a failed or cancelled job again. Returns false if it is in another state.
pub async fn restart(tx: &mut Tx, id: i64) -> Result<bool> {
    let restarted = tx
        .execute(
            "UPDATE job SET state = 'queued', ended_at = NULL
             WHERE id = $1 AND state IN ('failed', 'cancelled')",
            values![id],
        )
        .await?;
    Ok(restarted == 1)
}

/// Queues again the jobs on which the last process of this site was working, apart from those that
/// a user had stopped. Their programs have died with that process.
pub async fn release(db: &Db, now: Time) -> Result<u64> {
    let mut tx = db.begin().await?;
    cancel_stopped(&mut tx, now, None).await?;
    let released = tx
        .execute(
            "UPDATE job SET state = 'queued', lease_until = NULL WHERE state = 'running'",
            values![],
        )
        .await?;
    tx.commit().await?;
    Ok(released)
}

/// Cancels jobs that were stopped; with `before`, only those whose leases ended before that time.
async fn cancel_stopped(tx: &mut Tx, now: Time, before: Option<Time>) -> Result<u64> {
    tx.execute(
        "UPDATE job SET state = 'cancelled', ended_at = $1, lease_until = NULL
         WHERE state = 'stopping' AND ($2 IS NULL OR lease_until < $2)",
        values![now, before],
    )
    .await
}

/// Queues again the jobs whose leases have ended, apart from those that a user had stopped.
pub async fn expire(db: &Db, now: Time) -> Result<u64> {
    let mut tx = db.begin().await?;
    cancel_stopped(&mut tx, now, Some(now)).await?;
    let expired = tx
        .execute(
            "UPDATE job SET state = 'queued', lease_until = NULL
             WHERE state = 'running' AND lease_until < $1",
            values![now],
        )
        .await?;
    tx.commit().await?;
    Ok(expired)
}

/// Jobs of the user, of the user's problems and of the contests that the user manages, or all; the
/// latest first. `state` may be empty.
pub async fn page(db: &Db, user: i64, all: bool, state: &str, limit: i64) -> Result<Vec<Job>> {
    db.all(
        jobs!(
            "WHERE ($2 = 1 OR job.created_by = $1
                OR problem_id IN (SELECT problem.id FROM problem WHERE owner_id = $1)
                OR contest_id IN (SELECT membership.contest_id FROM membership
                    WHERE user_id = $1 AND membership.role IN ('owner', 'moderator')))
                AND ($3 = '' OR state = $3)
             ORDER BY job.id DESC LIMIT $4"
        ),
        values![user, all, state, limit],
    )
    .await
}

/// Jobs of a problem, the latest first.
pub async fn of_problem(db: &Db, problem_id: i64, limit: i64) -> Result<Vec<Job>> {
    db.all(
        jobs!("WHERE problem_id = $1 ORDER BY job.id DESC LIMIT $2"),
        values![problem_id, limit],
    )
    .await
}

/// The job with this id.
pub async fn by_id(db: impl Executor, id: i64) -> Result<Option<Job>> {
    db.first(jobs!("WHERE job.id = $1"), values![id]).await
}

/// Adds lines to the log of a job.
pub async fn write(db: &Db, id: i64, lines: &[String], now: Time) -> Result<()> {
    let mut tx = db.begin().await?;
    write_in(&mut tx, id, lines, now).await?;
    tx.commit().await
}

/// Adds lines to the log of a job within a transaction.
pub async fn write_in(tx: &mut Tx, id: i64, lines: &[String], now: Time) -> Result<()> {
    for line in lines {
        tx.execute(
            "INSERT INTO job_line (job_id, written_at, line) VALUES ($1, $2, $3)",
            values![id, now, super::value::message(line)],
        )
        .await?;
    }
    Ok(())
}

/// The last lines of a log, in order.
pub async fn lines(db: &Db, id: i64, limit: i64) -> Result<Vec<Line>> {
    let mut lines: Vec<Line> = db
        .all(
            "SELECT written_at, line FROM job_line WHERE job_id = $1 ORDER BY id DESC LIMIT $2",
            values![id, limit],
        )
        .await?;
    lines.reverse();
    Ok(lines)
}
