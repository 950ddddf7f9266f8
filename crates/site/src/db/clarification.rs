//! Questions of participants with their answers, and announcements.

use super::{Executor, Result, Tx, record, text_enum, values};
use crate::core::participant::Schedule;
use crate::core::time::Time;

text_enum! {
    /// The audience of an answer. The staff sees everything.
    Audience {
        /// The author of the question; for an announcement, only the staff.
        Author = "author",
        /// Everyone with access to the contest, but without the question.
        All = "all",
        /// Everyone with access to the contest, together with the question.
        Quoted = "quoted",
    }
}

record! {
    /// A question with its answer, or an announcement.
    #[derive(serde::Serialize, serde::Deserialize)]
    Clarification {
        id: i64,
        contest_id: i64,
        round_problem_id: Option<i64>,
        /// The author of the question; `None` for announcements.
        user_id: Option<i64>,
        /// The participant on whose behalf the author asked.
        participant_id: Option<i64>,
        question: String,
        created_at: Time,
        answer: Option<String>,
        audience: Audience,
        answered_at: Option<Time>,
        label: Option<String>,
        problem_name: Option<String>,
        login: Option<String>,
        team_name: Option<String>,
        answered_login: Option<String>,
        round_id: Option<i64>,
        begins: Option<Time>,
        ends: Option<Time>,
        full_results: Option<Time>,
        window_seconds: Option<i64>,
        /// The time up to which the viewer has read everything.
        seen_at: Option<Time>,
    }
}

record! {
    /// An answer that the staff often gives.
    Canned { id: i64, text: String, }
}

impl Clarification {
    /// The round of the problem with its times; `None` if it concerns no problem.
    pub fn round(&self) -> Option<(i64, Schedule)> {
        let (begins, ends) = (self.begins?, self.ends?);
        let schedule = Schedule::new(begins, ends, self.full_results?, self.window_seconds);
        Some((self.round_id?, schedule))
    }

    /// Whether this is an announcement.
    pub fn is_announcement(&self) -> bool {
        self.user_id.is_none()
    }
}

/// The clarifications in a list.
#[derive(Debug, Clone)]
pub struct Filter {
    pub contest: i64,
    /// The viewer; -1 for guests.
    pub user: i64,
    /// The viewer, or the viewer's team, as a participant of the contest.
    pub participant: Option<i64>,
    /// Whether the viewer sees everything.
    pub all: bool,
    /// Only clarifications with lower ids.
    pub before: Option<i64>,
    pub show: Show,
    /// Only clarifications about this problem.
    pub problem: Option<i64>,
}

text_enum! {
    /// A choice of clarifications.
    Show {
        /// All.
        All = "all",
        /// Questions without an answer.
        Unanswered = "unanswered",
        /// Questions of the viewer and of the viewer's team.
        Own = "own",
        /// Announcements.
        Announcements = "announcements",
    }
}

/// `$1` is the viewer.
macro_rules! clarifications {
    ($rest:literal) => {
        concat!(
            "SELECT clarification.id, clarification.contest_id, round_problem_id,
                clarification.user_id, participant_id, question, clarification.created_at, answer,
                audience, answered_at, round_problem.label, round_problem.name AS problem_name,
                author.login, participant.name AS team_name, staff.login AS answered_login,
                round_id, begins, ends, full_results, window_seconds, seen_at
             FROM clarification
             LEFT JOIN round_problem ON round_problem.id = round_problem_id
             LEFT JOIN round ON round.id = round_id
             LEFT JOIN users AS author ON author.id = clarification.user_id
             LEFT JOIN users AS staff ON staff.id = answered_by
             LEFT JOIN participant ON participant.id = participant_id
             LEFT JOIN clarification_seen
                ON clarification_seen.contest_id = clarification.contest_id
                AND clarification_seen.user_id = $1 ",
            $rest
        )
    };
}

/// A new question or announcement.
#[derive(Debug)]
pub struct New<'a> {
    pub contest_id: i64,
    pub round_problem_id: Option<i64>,
    pub author: Author,
    pub text: &'a str,
}

/// The author of a new text.
#[derive(Debug, Clone, Copy)]
pub enum Author {
    /// Asks a question.
    Participant {
        user_id: i64,
        participant_id: Option<i64>,
    },
    /// Announces something.
    Staff(i64),
}

/// Adds a question or an announcement. Returns the id.
pub async fn insert(tx: &mut Tx, new: &New<'_>, now: Time) -> Result<i64> {
    match new.author {
        Author::Participant {
            user_id,
            participant_id,
        } => {
            tx.id(
                "INSERT INTO clarification (contest_id, round_problem_id, user_id, participant_id,
                    question, created_at, audience)
                 VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id",
                values![
                    new.contest_id,
                    new.round_problem_id,
                    user_id,
                    participant_id,
                    new.text,
                    now,
                    Audience::Author
                ],
            )
            .await
        }
        Author::Staff(staff) => {
            tx.id(
                "INSERT INTO clarification (contest_id, round_problem_id, question, created_at,
                    answer, audience, answered_by, answered_at)
                 VALUES ($1, $2, '', $3, $4, $5, $6, $3) RETURNING id",
                values![
                    new.contest_id,
                    new.round_problem_id,
                    now,
                    new.text,
                    Audience::All,
                    staff
                ],
            )
            .await
        }
    }
}

/// Answers a question or changes an announcement, unless the answer has changed since `before`.
/// Returns the number of changed rows.
pub async fn answer(
    tx: &mut Tx,
    before: &Clarification,
    text: &str,
    audience: Audience,
    staff: i64,
    now: Time,
) -> Result<u64> {
    tx.execute(
        "UPDATE clarification SET answer = $2, audience = $3, answered_by = $4, answered_at = $5
         WHERE id = $1 AND (answered_at = $6 OR (answered_at IS NULL AND $6 = -1))",
        values![
            before.id,
            text,
            audience,
            staff,
            now,
            before.answered_at.unwrap_or(Time(-1))
        ],
    )
    .await
}

/// The clarification with this id.
pub async fn by_id(db: impl Executor, user: i64, id: i64) -> Result<Option<Clarification>> {
    db.first(
        clarifications!("WHERE clarification.id = $2"),
        values![user, id],
    )
    .await
}

/// Clarifications of a contest, the latest first. The caller checks the visibility of each.
pub async fn page(db: impl Executor, filter: &Filter, limit: i64) -> Result<Vec<Clarification>> {
    db.all(
        clarifications!(
            "WHERE clarification.contest_id = $2 AND clarification.id < $3
                AND ($4 = 1 OR clarification.user_id = $1 OR participant_id = $5
                    OR (answered_at IS NOT NULL AND audience <> 'author'))
                AND ($6 = 'all' OR ($6 = 'unanswered' AND answered_at IS NULL)
                    OR ($6 = 'own' AND (clarification.user_id = $1 OR participant_id = $5))
                    OR ($6 = 'announcements' AND clarification.user_id IS NULL))
                AND ($7 = -1 OR round_problem_id = $7)
             ORDER BY clarification.id DESC LIMIT $8"
        ),
        values![
            filter.user,
            filter.contest,
            filter.before.unwrap_or(i64::MAX),
            filter.all,
            filter.participant,
            filter.show,
            filter.problem.unwrap_or(-1),
            limit
        ],
    )
    .await
}

/// Answers that the viewer may not have read: all later ones, and those about problems. The caller
/// checks the visibility of each. With `all`, returns questions without an answer instead.
pub async fn news(
    db: impl Executor,
    contest: i64,
    user: i64,
    participant: Option<i64>,
    all: bool,
) -> Result<Vec<Clarification>> {
    db.all(
        clarifications!(
            "WHERE clarification.contest_id = $2
                AND (($3 = 1 AND answered_at IS NULL) OR ($3 = 0 AND answered_at IS NOT NULL
                    AND (clarification.user_id = $1 OR participant_id = $4
                        OR audience <> 'author')
                    AND (seen_at IS NULL OR answered_at > seen_at
                        OR round_problem_id IS NOT NULL)))"
        ),
        values![user, contest, all, participant],
    )
    .await
}

/// Records the time up to which a user has read everything.
pub async fn see(tx: &mut Tx, contest: i64, user: i64, until: Time) -> Result<u64> {
    tx.execute(
        "INSERT INTO clarification_seen (contest_id, user_id, seen_at) VALUES ($1, $2, $3)
         ON CONFLICT (contest_id, user_id) DO UPDATE SET seen_at = $3
            WHERE clarification_seen.seen_at < $3",
        values![contest, user, until],
    )
    .await
}

record! {
    /// A contest.
    ContestId { contest_id: i64, }
}

/// Contests in which a contestant may have answers to read that were given after `since`, the
/// latest first. The caller checks the visibility of each answer.
pub async fn contests_with_news(
    db: impl Executor,
    user: i64,
    since: Time,
    limit: i64,
) -> Result<Vec<i64>> {
    let rows: Vec<ContestId> = db
        .all(
            "SELECT DISTINCT clarification.contest_id FROM clarification
             JOIN membership ON membership.contest_id = clarification.contest_id
                AND membership.user_id = $1 AND role = 'contestant'
             LEFT JOIN clarification_seen
                ON clarification_seen.contest_id = clarification.contest_id
                AND clarification_seen.user_id = $1
             WHERE answered_at > $2 AND (seen_at IS NULL OR answered_at > seen_at)
                AND (audience <> 'author' OR clarification.user_id = $1
                    OR participant_id IN (SELECT participant_id FROM team_member
                        WHERE team_member.user_id = $1))
             ORDER BY clarification.contest_id DESC LIMIT $3",
            values![user, since, limit],
        )
        .await?;
    Ok(rows.into_iter().map(|row| row.contest_id).collect())
}

/// Contests of a contestant with a round that ends after `since`, the latest first.
pub async fn followed_contests(
    db: impl Executor,
    user: i64,
    since: Time,
    limit: i64,
) -> Result<Vec<i64>> {
    let rows: Vec<ContestId> = db
        .all(
            "SELECT contest_id FROM membership WHERE user_id = $1 AND role = 'contestant'
                AND contest_id IN (SELECT contest_id FROM round WHERE ends > $2)
             ORDER BY contest_id DESC LIMIT $3",
            values![user, since, limit],
        )
        .await?;
    Ok(rows.into_iter().map(|row| row.contest_id).collect())
}

/// The canned answers of a contest in order.
pub async fn canned(db: impl Executor, contest: i64) -> Result<Vec<Canned>> {
    db.all(
        "SELECT id, text FROM canned_answer WHERE contest_id = $1 ORDER BY id",
        values![contest],
    )
    .await
}

/// Replaces the canned answers of a contest.
pub async fn set_canned(tx: &mut Tx, contest: i64, texts: &[String]) -> Result<()> {
    tx.execute(
        "DELETE FROM canned_answer WHERE contest_id = $1",
        values![contest],
    )
    .await?;
    for text in texts {
        tx.execute(
            "INSERT INTO canned_answer (contest_id, text) VALUES ($1, $2)",
            values![contest, text],
        )
        .await?;
    }
    Ok(())
}
