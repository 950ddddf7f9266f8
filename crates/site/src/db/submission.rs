//! Submissions with their current results.

use super::{Db, Executor, Result, Tx, record, text_enum, values};
use crate::core::judgement::State;
use crate::core::score::Score;
use crate::core::time::Time;
use crate::core::verdict::Verdict;
use crate::core::visibility::Visible;

text_enum! {
    /// Whether a submission counts.
    Kind {
        /// It counts.
        Normal = "normal",
        /// It never becomes final.
        Ignored = "ignored",
        /// It was made for practice after the round, belongs to no participant, and never counts.
        Practice = "practice",
        /// The submission belongs to the package of the problem.
        Model = "model",
    }
}

record! {
    /// A submission with the names and results that lists show.
    Submission {
        id: i64,
        user_id: i64,
        login: String,
        user_name: String,
        problem_id: i64,
        problem_name: String,
        owner_id: i64,
        round_problem_id: Option<i64>,
        participant_id: Option<i64>,
        language: String,
        kind: Kind,
        submitted_at: Time,
        judgement_id: i64,
        state: State,
        initial_verdict: Option<Verdict>,
        verdict: Option<Verdict>,
        score: Option<i64>,
        max_score: Option<i64>,
        /// The points of the problem in the round; `None` for those of the package.
        max_points: Option<i64>,
        cpu_time_ns: Option<i64>,
        memory_bytes: Option<i64>,
    }
}

record! {
    /// A submission as rankings need it.
    Brief {
        id: i64,
        participant_id: i64,
        round_problem_id: i64,
        kind: Kind,
        submitted_at: Time,
        initial_verdict: Option<Verdict>,
        verdict: Option<Verdict>,
        score: Option<i64>,
        max_score: Option<i64>,
        /// The points of the subtasks (`core/subtasks.rs`).
        group_scores: Option<String>,
    }
}

impl Submission {
    /// The points in the round, or those of the package outside rounds.
    pub fn points(&self) -> Option<Score> {
        let score = Score(self.score?);
        Some(score.scaled(self.max_score, self.max_points))
    }

    /// The most points that the problem has in the round, or outside rounds.
    pub fn most_points(&self) -> Option<Score> {
        let max = Score(self.max_score?);
        Some(max.scaled(self.max_score, self.max_points))
    }

    /// Whether the viewer waits for a result. The end of the judging is a result: it shows how long
    /// the hidden tests took.
    pub fn awaits_result(&self, visible: Visible) -> bool {
        let is_open = match self.state {
            State::Queued | State::Running => true,
            // Others than the staff only see that the result is late.
            State::Fault => !visible.faults,
            State::Done | State::Cancelled => false,
        };
        let sees_end = visible.protocol || visible.verdict || visible.score;
        is_open && (sees_end || (visible.initial && self.initial_verdict.is_none()))
    }
}

record! {
    /// The source of a submission.
    Source { file_name: String, content: Vec<u8>, }
}

/// A new submission.
#[derive(Debug)]
pub struct NewSubmission<'a> {
    pub user_id: i64,
    pub problem_id: i64,
    pub round_problem_id: Option<i64>,
    /// The participant of the contest; none outside contests.
    pub participant_id: Option<i64>,
    pub language: &'a str,
    pub kind: Kind,
    pub file_name: &'a str,
    pub source: &'a [u8],
}

/// The filter of a list of submissions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter {
    /// Only submissions of this user and of the user's teams.
    pub user: Option<i64>,
    /// Only submissions to this problem outside contests.
    pub problem: Option<i64>,
    /// Only submissions to this contest.
    pub contest: Option<i64>,
    /// Only those with lower ids.
    pub before: Option<i64>,
}

macro_rules! submissions {
    ($rest:literal) => {
        concat!(
            "SELECT submission.id, submission.user_id, users.login, users.name AS user_name,
                submission.problem_id, problem.name AS problem_name, problem.owner_id,
                submission.round_problem_id, submission.participant_id, language, kind,
                submitted_at, judgement.id AS judgement_id, state, initial_verdict, verdict,
                score, max_score,
                (SELECT place.max_points FROM round_problem AS place
                 JOIN round ON round.id = place.round_id
                 WHERE place.id = submission.round_problem_id
                    AND round.mode = 'points') AS max_points,
                cpu_time_ns, memory_bytes
             FROM submission
             JOIN users ON users.id = submission.user_id
             JOIN problem ON problem.id = submission.problem_id
             JOIN judgement ON judgement.submission_id = submission.id AND current = 1 ",
            $rest
        )
    };
}

/// Adds a submission with its source. Returns the id.
pub async fn insert(tx: &mut Tx, new: &NewSubmission<'_>, now: Time) -> Result<i64> {
    let id = tx
        .id(
            "INSERT INTO submission
                (user_id, problem_id, round_problem_id, participant_id, language, kind,
                 submitted_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id",
            values![
                new.user_id,
                new.problem_id,
                new.round_problem_id,
                new.participant_id,
                new.language,
                new.kind,
                now
            ],
        )
        .await?;
    tx.execute(
        "INSERT INTO source (submission_id, file_name, content) VALUES ($1, $2, $3)",
        values![id, new.file_name, new.source],
    )
    .await?;
    Ok(id)
}

/// Marks a submission as part of a package.
pub async fn set_model(tx: &mut Tx, id: i64, version_id: i64, name: &str) -> Result<u64> {
    tx.execute(
        "UPDATE submission SET model_version_id = $2, model_name = $3 WHERE id = $1",
        values![id, version_id, name],
    )
    .await
}

record! {
    /// The staff member that has handed in a submission for its author, and the reason.
    HandedIn {
        /// The staff member's login.
        handed_in_by: String,
        /// The reason.
        handed_in_for: String,
    }
}

/// Marks a submission as handed in by the staff.
pub async fn set_handed_in(tx: &mut Tx, id: i64, how: &HandedIn) -> Result<u64> {
    tx.execute(
        "UPDATE submission SET handed_in_by = $2, handed_in_for = $3 WHERE id = $1",
        values![id, &how.handed_in_by, &how.handed_in_for],
    )
    .await
}

/// How a submission was handed in; `None` if its author has submitted it.
pub async fn handed_in(db: impl Executor, id: i64) -> Result<Option<HandedIn>> {
    db.first(
        "SELECT handed_in_by, handed_in_for FROM submission
         WHERE id = $1 AND handed_in_by IS NOT NULL",
        values![id],
    )
    .await
}

/// Deletes a submission with its judgements.
pub async fn delete(tx: &mut Tx, id: i64) -> Result<u64> {
    tx.execute("DELETE FROM submission WHERE id = $1", values![id])
        .await
}

record! {
    /// A submission of a package with its result.
    Model {
        id: i64,
        version: i64,
        name: String,
        language: String,
        state: State,
        verdict: Option<Verdict>,
        score: Option<i64>,
        /// 1 or 0; `None` without a result or an expectation.
        as_expected: Option<i64>,
    }
}

/// The submissions of the packages of a problem, those of the latest version first.
pub async fn models(db: &Db, problem_id: i64) -> Result<Vec<Model>> {
    db.all(
        "SELECT submission.id, number AS version, model_name AS name, language, state, verdict,
            score, as_expected
         FROM submission
         JOIN judgement ON judgement.submission_id = submission.id AND current = 1
         JOIN package_version ON package_version.id = model_version_id
         WHERE submission.problem_id = $1 ORDER BY number DESC, model_name, submission.id",
        values![problem_id],
    )
    .await
}

/// The submission with this id.
pub async fn by_id(db: impl Executor, id: i64) -> Result<Option<Submission>> {
    db.first(submissions!("WHERE submission.id = $1"), values![id])
        .await
}

/// Submissions, the latest first.
pub async fn page(db: &Db, filter: Filter, limit: i64) -> Result<Vec<Submission>> {
    let before = filter.before.unwrap_or(i64::MAX);
    match filter {
        Filter {
            contest: Some(contest),
            user: None,
            ..
        } => {
            db.all(
                submissions!(
                    "WHERE submission.id < $1 AND submission.round_problem_id IN
                        (SELECT round_problem.id FROM round_problem
                         JOIN round ON round.id = round_id WHERE contest_id = $2)
                     ORDER BY submission.id DESC LIMIT $3"
                ),
                values![before, contest, limit],
            )
            .await
        }
        Filter {
            contest: Some(contest),
            user: Some(user),
            ..
        } => {
            db.all(
                submissions!(
                    "WHERE submission.id < $1 AND (submission.user_id = $2
                            OR submission.participant_id IN (SELECT participant_id
                                FROM team_member WHERE team_member.user_id = $2))
                        AND submission.round_problem_id IN
                        (SELECT round_problem.id FROM round_problem
                         JOIN round ON round.id = round_id WHERE contest_id = $3)
                     ORDER BY submission.id DESC LIMIT $4"
                ),
                values![before, user, contest, limit],
            )
            .await
        }
        Filter {
            problem: Some(problem),
            user,
            ..
        } => {
            db.all(
                submissions!(
                    "WHERE submission.id < $1 AND submission.problem_id = $2
                        AND submission.round_problem_id IS NULL
                        AND (submission.user_id = $3 OR $3 < 0)
                     ORDER BY submission.id DESC LIMIT $4"
                ),
                values![before, problem, user.unwrap_or(-1), limit],
            )
            .await
        }
        Filter { user, .. } => {
            db.all(
                submissions!(
                    "WHERE submission.id < $1 AND (submission.user_id = $2 OR $2 < 0
                        OR submission.participant_id IN (SELECT participant_id
                            FROM team_member WHERE team_member.user_id = $2))
                     ORDER BY submission.id DESC LIMIT $3"
                ),
                values![before, user.unwrap_or(-1), limit],
            )
            .await
        }
    }
}

/// The submissions of a contest with numbers in a range, in their order.
pub async fn between(
    db: impl Executor,
    contest_id: i64,
    (from, to): (i64, i64),
) -> Result<Vec<Submission>> {
    db.all(
        submissions!(
            "WHERE submission.id BETWEEN $1 AND $2 AND submission.round_problem_id IN
                (SELECT round_problem.id FROM round_problem
                 JOIN round ON round.id = round_id WHERE contest_id = $3)
             ORDER BY submission.id"
        ),
        values![from, to, contest_id],
    )
    .await
}

/// The submissions of a user and of the user's teams to a contest with numbers in a range, in their
/// order.
pub async fn own_between(
    db: impl Executor,
    contest_id: i64,
    user_id: i64,
    (from, to): (i64, i64),
) -> Result<Vec<Submission>> {
    db.all(
        submissions!(
            "WHERE submission.id BETWEEN $1 AND $2 AND (submission.user_id = $4
                    OR submission.participant_id IN (SELECT participant_id
                        FROM team_member WHERE team_member.user_id = $4))
                AND submission.round_problem_id IN
                (SELECT round_problem.id FROM round_problem
                 JOIN round ON round.id = round_id WHERE contest_id = $3)
             ORDER BY submission.id"
        ),
        values![from, to, contest_id, user_id],
    )
    .await
}

/// The submissions of a contest with numbers in a range, with their current results, for rankings.
pub async fn briefs(
    db: impl Executor,
    contest_id: i64,
    (from, to): (i64, i64),
) -> Result<Vec<Brief>> {
    db.all(
        "SELECT submission.id, submission.participant_id, submission.round_problem_id, kind,
            submitted_at, initial_verdict, verdict, score, max_score, group_scores
         FROM submission
         JOIN round_problem ON round_problem.id = submission.round_problem_id
         JOIN round ON round.id = round_id
         JOIN judgement ON judgement.submission_id = submission.id AND current = 1
         WHERE contest_id = $1 AND submission.id BETWEEN $2 AND $3
            AND submission.participant_id IS NOT NULL
         ORDER BY submission.id",
        values![contest_id, from, to],
    )
    .await
}

/// The submissions of a user to a round for practice, as rankings need them. `participant` is the
/// number that they get.
pub async fn practice(
    db: impl Executor,
    user_id: i64,
    round_id: i64,
    participant: i64,
) -> Result<Vec<Brief>> {
    db.all(
        "SELECT submission.id, CAST($3 AS BIGINT) AS participant_id, submission.round_problem_id,
            kind, submitted_at, initial_verdict, verdict, score, max_score, group_scores
         FROM submission
         JOIN round_problem ON round_problem.id = submission.round_problem_id
         JOIN judgement ON judgement.submission_id = submission.id AND current = 1
         WHERE submission.user_id = $1 AND round_id = $2 AND kind = 'practice'
         ORDER BY submission.id",
        values![user_id, round_id, participant],
    )
    .await
}

record! {
    /// The submissions of a participant to a problem of a round.
    Standing {
        round_problem_id: i64,
        /// Whether one of them is accepted on all tests: 1 or 0.
        accepted: i64,
    }
}

/// The problems to which a participant has made submissions that count.
pub async fn standing(db: impl Executor, participant: i64) -> Result<Vec<Standing>> {
    db.all(
        "SELECT round_problem_id,
            CAST(max(CAST(state = 'done' AND verdict = 'accepted' AS INTEGER))
                AS BIGINT) AS accepted
         FROM submission
         JOIN judgement ON judgement.submission_id = submission.id AND current = 1
         WHERE participant_id = $1 AND kind = 'normal' AND round_problem_id IS NOT NULL
         GROUP BY round_problem_id",
        values![participant],
    )
    .await
}

/// The source of a submission.
pub async fn source(db: &Db, id: i64) -> Result<Option<Source>> {
    db.first(
        "SELECT file_name, content FROM source WHERE submission_id = $1",
        values![id],
    )
    .await
}

record! {
    /// A source with the number of its submission.
    Numbered { id: i64, file_name: String, content: Vec<u8>, }
}

/// The number and the source of the author's previous submission to the same problem, in the same
/// round or outside contests.
pub async fn previous(db: &Db, one: &Submission) -> Result<Option<(i64, Source)>> {
    let found: Option<Numbered> = db
        .first(
            "SELECT id, file_name, content FROM submission
             JOIN source ON source.submission_id = submission.id
             WHERE user_id = $1 AND id < $2 AND problem_id = $3
                AND (round_problem_id = $4 OR (round_problem_id IS NULL AND $4 < 0))
             ORDER BY id DESC LIMIT 1",
            values![
                one.user_id,
                one.id,
                one.problem_id,
                one.round_problem_id.unwrap_or(-1)
            ],
        )
        .await?;
    Ok(found.map(|row| {
        let source = Source {
            file_name: row.file_name,
            content: row.content,
        };
        (row.id, source)
    }))
}

/// Changes whether a submission counts.
pub async fn set_kind(tx: &mut Tx, id: i64, kind: Kind) -> Result<u64> {
    tx.execute(
        "UPDATE submission SET kind = $2 WHERE id = $1",
        values![id, kind],
    )
    .await
}
