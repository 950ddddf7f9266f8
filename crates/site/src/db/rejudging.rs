//! Sets of submissions that are judged again.
//!
//! The old judgements stay current and the ranking does not change until the set is applied. Then
//! all its results become current in one transaction. A set that is dropped changes nothing.

use super::managed::manages;
use super::{Db, Executor, Result, Tx, record, text_enum, values};
use crate::core::judgement::State;
use crate::core::score::Score;
use crate::core::time::Time;
use crate::core::verdict::Verdict;
use serde::{Deserialize, Serialize};

text_enum! {
    /// The state of a set.
    SetState {
        /// The set is being judged, or waits for a decision.
        Open = "open",
        /// Its results are current.
        Applied = "applied",
        /// Its results do not count.
        Dropped = "dropped",
    }
}

/// The priority of a set. It is lower than that of everything that a user waits for.
pub const PRIORITY: i64 = 2;

/// The filter for the submissions of a set. Absent fields match all submissions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Filter {
    pub contest: Option<i64>,
    pub round: Option<i64>,
    pub round_problem: Option<i64>,
    pub problem: Option<i64>,
    pub user: Option<i64>,
    pub submission: Option<i64>,
    /// The version of the package that the current judgement used.
    pub version: Option<i64>,
    pub language: Option<String>,
    /// The verdict of the current judgement.
    pub verdict: Option<Verdict>,
    /// The submissions of another set.
    pub set: Option<i64>,
}

/// A new set.
#[derive(Debug)]
pub struct NewSet<'a> {
    pub reason: &'a str,
    pub filter: &'a Filter,
    pub contest_id: Option<i64>,
    pub problem_id: Option<i64>,
    /// Whether the set is applied when all its judgements have ended.
    pub auto_apply: bool,
    pub priority: i64,
    pub user: i64,
    /// Whether the set may have submissions that the user does not manage: for administrators.
    pub all: bool,
}

record! {
    /// A set with the numbers of its judgements.
    Set {
        id: i64,
        reason: String,
        filter: String,
        contest_id: Option<i64>,
        problem_id: Option<i64>,
        state: SetState,
        repeat_of: Option<i64>,
        login: String,
        created_at: Time,
        ended_at: Option<Time>,
        /// The number of judgements.
        size: i64,
        /// The number of judgements that wait or run.
        open: i64,
    }
}

record! {
    /// A judgement of a set, next to the one that it replaces.
    Item {
        submission_id: i64,
        login: String,
        /// The label and the name in the round; outside contests, the name of the problem.
        problem_name: String,
        contest_id: Option<i64>,
        old_verdict: Option<Verdict>,
        old_score: Option<i64>,
        old_max_score: Option<i64>,
        new_id: i64,
        state: State,
        verdict: Option<Verdict>,
        initial_verdict: Option<Verdict>,
        score: Option<i64>,
        max_score: Option<i64>,
        group_scores: Option<String>,
        /// The points of the problem in the round; `None` for those of the package.
        max_points: Option<i64>,
    }
}

impl Item {
    /// The points of the replaced result and of the new one, as in the round.
    pub fn points(&self) -> (Option<Score>, Option<Score>) {
        let points = |score: Option<i64>, max| Some(Score(score?).scaled(max, self.max_points));
        (
            points(self.old_score, self.old_max_score),
            points(self.score, self.max_score),
        )
    }
}

macro_rules! sets {
    ($($rest:tt)+) => {
        concat!(
            "SELECT rejudging.id, reason, filter, contest_id, problem_id, state, repeat_of, login,
                rejudging.created_at, ended_at,
                (SELECT COUNT(*) FROM judgement WHERE rejudging_id = rejudging.id) AS size,
                (SELECT COUNT(*) FROM judgement WHERE rejudging_id = rejudging.id
                    AND judgement.state IN ('queued', 'running')) AS open
             FROM rejudging JOIN users ON users.id = rejudging.created_by ",
            $($rest)+
        )
    };
}

/// Adds a set and queues its judgements, each with the version that the round or the problem
/// currently uses. The set has only submissions that the user manages. Returns the id of the set
/// and the number of its judgements.
pub async fn insert(tx: &mut Tx, new: &NewSet<'_>, now: Time) -> Result<(i64, u64)> {
    // Numbers and texts can always be represented in JSON.
    let filter = serde_json::to_string(new.filter).unwrap_or_default();
    let id = (&mut *tx)
        .id(
            "INSERT INTO rejudging (reason, filter, contest_id, problem_id, auto_apply, state,
                repeat_of, created_by, created_at)
             VALUES ($1, $2, $3, $4, $5, 'open', $6, $7, $8) RETURNING id",
            values![
                new.reason,
                filter,
                new.contest_id,
                new.problem_id,
                new.auto_apply,
                new.filter.set,
                new.user,
                now
            ],
        )
        .await?;
    let any = |value: Option<i64>| value.unwrap_or(-1);
    let filter = new.filter;
    let size = tx
        .execute(
            concat!(
            "INSERT INTO judgement (submission_id, version_id, user_id, current, state, priority,
                turn, attempt, queued_at, rejudging_id)
             SELECT submission.id, COALESCE(model_version_id, round_problem.version_id,
                    (SELECT newest.id FROM package_version AS newest
                     WHERE newest.problem_id = submission.problem_id
                     ORDER BY number DESC LIMIT 1)),
                submission.user_id, 0, 'queued', CAST($1 AS BIGINT),
                ROW_NUMBER() OVER (PARTITION BY submission.user_id ORDER BY submission.id),
                0, CAST($2 AS BIGINT), CAST($3 AS BIGINT)
             FROM submission
             JOIN judgement AS old ON old.submission_id = submission.id AND old.current = 1
             LEFT JOIN round_problem ON round_problem.id = submission.round_problem_id
             LEFT JOIN round ON round.id = round_id
             WHERE ($4 < 0 OR contest_id = $4) AND ($5 < 0 OR round_id = $5)
                AND ($6 < 0 OR submission.round_problem_id = $6)
                AND ($7 < 0 OR submission.problem_id = $7)
                AND ($8 < 0 OR submission.user_id = $8) AND ($9 < 0 OR submission.id = $9)
                AND ($10 < 0 OR old.version_id = $10) AND ($11 = '' OR language = $11)
                AND ($12 = '' OR old.verdict = $12)
                AND ($13 < 0 OR submission.id IN
                    (SELECT submission_id FROM judgement WHERE rejudging_id = $13)) AND ",
            manages!("$14", "$15")),
            values![
                new.priority,
                now,
                id,
                any(filter.contest),
                any(filter.round),
                any(filter.round_problem),
                any(filter.problem),
                any(filter.user),
                any(filter.submission),
                any(filter.version),
                filter.language.clone().unwrap_or_default(),
                filter.verdict.map_or("", Verdict::text),
                any(filter.set),
                new.user,
                new.all
            ],
        )
        .await?;
    Ok((id, size))
}

/// Sets that the user may decide on, or all; the latest first. The rule is that of
/// [`crate::core::access::rejudging`].
pub async fn page(db: &Db, user: i64, all: bool, limit: i64) -> Result<Vec<Set>> {
    db.all(
        sets!(concat!(
            "WHERE $2 = 1
                OR ((problem_id IN (SELECT problem.id FROM problem WHERE owner_id = $1)
                    OR contest_id IN (SELECT membership.contest_id FROM membership
                        WHERE user_id = $1 AND membership.role IN ('owner', 'moderator')))
                    AND NOT EXISTS (SELECT submission.id FROM judgement
                        JOIN submission ON submission.id = judgement.submission_id
                        WHERE judgement.rejudging_id = rejudging.id AND NOT ",
            manages!("$1", "$2"),
            ")) ORDER BY rejudging.id DESC LIMIT $3"
        )),
        values![user, all, limit],
    )
    .await
}

/// Whether the user manages all submissions of a set.
pub async fn manages_all(db: impl Executor, id: i64, user: i64) -> Result<bool> {
    let others = db
        .rows(
            concat!(
                "SELECT submission.id FROM judgement
                 JOIN submission ON submission.id = judgement.submission_id
                 WHERE judgement.rejudging_id = $3 AND NOT ",
                manages!("$1", "$2"),
                " LIMIT 1"
            ),
            values![user, false, id],
        )
        .await?;
    Ok(others.is_empty())
}

/// The set with this id.
pub async fn by_id(db: impl Executor, id: i64) -> Result<Option<Set>> {
    db.first(sets!("WHERE rejudging.id = $1"), values![id])
        .await
}

/// The judgements of a set, next to the current results or to those that they have replaced.
pub async fn items(db: impl Executor, id: i64) -> Result<Vec<Item>> {
    db.all(
        "SELECT submission.id AS submission_id, login,
            COALESCE(round_problem.label || ' ' || round_problem.name, problem.name)
                AS problem_name,
            contest_id, old.verdict AS old_verdict,
            old.score AS old_score, old.max_score AS old_max_score, fresh.id AS new_id,
            fresh.state, fresh.verdict,
            fresh.initial_verdict, fresh.score, fresh.max_score,
            fresh.group_scores,
            CASE WHEN round.mode = 'points' THEN max_points END AS max_points
         FROM judgement AS fresh
         JOIN submission ON submission.id = fresh.submission_id
         JOIN users ON users.id = submission.user_id
         JOIN problem ON problem.id = submission.problem_id
         LEFT JOIN round_problem ON round_problem.id = submission.round_problem_id
         LEFT JOIN round ON round.id = round_id
         LEFT JOIN judgement AS old ON old.submission_id = submission.id
            AND (old.id = fresh.replaces_id OR (fresh.replaces_id IS NULL AND old.current = 1))
         WHERE fresh.rejudging_id = $1 ORDER BY submission.id",
        values![id],
    )
    .await
}

/// Decides on an open set. Returns false if it is not open.
async fn end(tx: &mut Tx, id: i64, state: SetState, now: Time) -> Result<bool> {
    let ended = tx
        .execute(
            "UPDATE rejudging SET state = $2, ended_at = $3 WHERE id = $1 AND state = 'open'",
            values![id, state, now],
        )
        .await?;
    Ok(ended == 1)
}

record! { Id { id: i64, } }

async fn has_open_judgement(tx: &mut Tx, id: i64) -> Result<bool> {
    let found: Option<Id> = tx
        .first(
            "SELECT id FROM judgement
             WHERE rejudging_id = $1 AND state IN ('queued', 'running') LIMIT 1",
            values![id],
        )
        .await?;
    Ok(found.is_some())
}

/// Makes the results of a set current. Submissions without a new result keep the old one. Returns
/// false if the set is not open or has judgements without a result; the caller must then roll back
/// its transaction.
pub async fn apply(tx: &mut Tx, id: i64, now: Time) -> Result<bool> {
    // Changing the set also prevents others from deciding at the same time.
    if !end(tx, id, SetState::Applied, now).await? || has_open_judgement(tx, id).await? {
        return Ok(false);
    }
    tx.execute(
        "UPDATE judgement
         SET replaces_id = (SELECT old.id FROM judgement AS old
            WHERE old.submission_id = judgement.submission_id AND old.current = 1)
         WHERE rejudging_id = $1 AND state = 'done'",
        values![id],
    )
    .await?;
    tx.execute(
        "UPDATE judgement SET current = 0
         WHERE current = 1 AND submission_id IN (SELECT fresh.submission_id
            FROM judgement AS fresh WHERE fresh.rejudging_id = $1 AND fresh.state = 'done')",
        values![id],
    )
    .await?;
    tx.execute(
        "UPDATE judgement SET current = 1 WHERE rejudging_id = $1 AND state = 'done'",
        values![id],
    )
    .await?;
    Ok(true)
}

record! { AutoApply { auto_apply: bool, } }

/// Applies a set whose last judgement has ended, if the set is applied automatically.
pub async fn settle(tx: &mut Tx, id: i64, now: Time) -> Result<()> {
    let set: Option<AutoApply> = (&mut *tx)
        .first(
            "SELECT auto_apply FROM rejudging WHERE id = $1 AND state = 'open'",
            values![id],
        )
        .await?;
    if set.is_some_and(|set| set.auto_apply) && !has_open_judgement(tx, id).await? {
        apply(tx, id, now).await?;
    }
    Ok(())
}

/// Drops an open set and cancels its judgements. Returns those that must be stopped, or `None` if
/// the set is not open.
pub async fn drop_set(tx: &mut Tx, id: i64, now: Time) -> Result<Option<Vec<i64>>> {
    if !end(tx, id, SetState::Dropped, now).await? {
        return Ok(None);
    }
    let cancelled: Vec<Id> = tx
        .all(
            "UPDATE judgement
             SET state = 'cancelled', lease_until = NULL, ended_at = $2, initial_verdict = NULL
             WHERE rejudging_id = $1 AND state IN ('queued', 'running', 'fault') RETURNING id",
            values![id, now],
        )
        .await?;
    Ok(Some(cancelled.into_iter().map(|one| one.id).collect()))
}
