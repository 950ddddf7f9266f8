//! Contests with their rounds, problems and members.

use super::{Db, Executor, Result, Tx, record, text_enum, values};
use crate::core::finals::{FinalMethod, Reveal};
use crate::core::freeze::Freeze;
use crate::core::participant::{Schedule, full_results};
use crate::core::time::Time;

text_enum! {
    /// The visibility of a contest.
    Visibility {
        /// Only its members see it.
        Private = "private",
        /// Everyone sees it.
        Public = "public",
    }
}

text_enum! {
    /// How a round is scored.
    Mode {
        /// The points of the final submissions.
        Points = "points",
        /// Solved problems, then the lowest penalty.
        Icpc = "icpc",
    }
}

text_enum! {
    /// What a member of a contest may do.
    MemberRole {
        /// Everything.
        Owner = "owner",
        /// Everything except appointing owners.
        Moderator = "moderator",
        /// Take part.
        Contestant = "contestant",
    }
}

record! {
    /// A contest.
    Contest {
        id: i64,
        name: String,
        visibility: Visibility,
        /// Whether balloons are delivered for results that a freeze hides.
        balloons_in_freeze: bool,
        /// Whether contestants may print.
        printing: bool,
        /// The name of the time zone of its pages; `None` for that of the site.
        time_zone: Option<String>,
    }
}

record! {
    /// A part of a contest with its own times.
    Round {
        id: i64,
        contest_id: i64,
        name: String,
        begins: Time,
        ends: Time,
        full_results: Time,
        ranking_from: Time,
        mode: Mode,
        penalty_minutes: i64,
        freeze_at: Time,
        thaw_at: Time,
        window_seconds: Option<i64>,
    }
}

record! {
    /// A problem in a round, with a fixed version of its package.
    RoundProblem {
        id: i64,
        round_id: i64,
        contest_id: i64,
        problem_id: i64,
        version_id: i64,
        label: String,
        name: String,
        final_method: FinalMethod,
        reveal: Reveal,
        /// Whether submissions are judged. Otherwise they wait.
        allow_judge: bool,
        colour: String,
        /// The points of the problem in the round; `None` for those of the package.
        max_points: Option<i64>,
        begins: Time,
        ends: Time,
        full_results: Time,
        mode: Mode,
        freeze_at: Time,
        thaw_at: Time,
        window_seconds: Option<i64>,
    }
}

macro_rules! schedule {
    ($($record:ident),*) => { $(
        impl $record {
            /// The times that apply to all participants.
            pub fn schedule(&self) -> Schedule {
                let is_icpc = self.mode == Mode::Icpc;
                let shown = full_results(self.full_results, is_icpc, self.ends, self.freeze());
                Schedule::new(self.begins, self.ends, shown, self.window_seconds)
            }

            /// When the ranking is frozen.
            pub fn freeze(&self) -> Freeze {
                Freeze { from: self.freeze_at, thaw: self.thaw_at }
            }
        }
    )* };
}

pub(super) use schedule;

schedule!(Round, RoundProblem);

impl Round {
    /// How the round is scored.
    pub fn rules(&self) -> RoundRules {
        RoundRules {
            mode: self.mode,
            penalty_minutes: self.penalty_minutes,
            freeze_at: self.freeze_at,
            thaw_at: self.thaw_at,
            window_seconds: self.window_seconds,
        }
    }
}

impl RoundProblem {
    /// What contestants see before the full results. In ICPC mode they see at least each verdict.
    pub fn revealed(&self) -> Reveal {
        match self.mode {
            Mode::Icpc if !self.reveal.shows_verdict() => Reveal::Status,
            Mode::Points | Mode::Icpc => self.reveal,
        }
    }
}

record! {
    /// A member of a contest.
    Member {
        login: String,
        name: String,
        role: MemberRole,
    }
}

/// The fields in the form of a round.
#[derive(Debug, Clone)]
pub struct RoundFields {
    pub name: String,
    pub begins: Time,
    pub ends: Time,
    pub full_results: Time,
    pub ranking_from: Time,
}

/// The fields in the form of a problem in a round.
#[derive(Debug, Clone)]
pub struct RoundProblemFields {
    pub version_id: i64,
    pub label: String,
    pub name: String,
    pub final_method: FinalMethod,
    pub reveal: Reveal,
}

/// The rules of a round, which have a form of their own.
#[derive(Debug, Clone)]
pub struct RoundRules {
    pub mode: Mode,
    pub penalty_minutes: i64,
    pub freeze_at: Time,
    pub thaw_at: Time,
    pub window_seconds: Option<i64>,
}

macro_rules! contests {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, visibility, balloons_in_freeze, printing, time_zone FROM contest ",
            $rest
        )
    };
}

macro_rules! rounds {
    ($rest:literal) => {
        concat!(
            "SELECT id, contest_id, name, begins, ends, full_results, ranking_from, mode,
                penalty_minutes, freeze_at, thaw_at, window_seconds
             FROM round ",
            $rest
        )
    };
}

macro_rules! round_problems {
    ($rest:literal) => {
        concat!(
            "SELECT round_problem.id, round_id, contest_id, problem_id, version_id, label,
                round_problem.name, final_method, reveal, allow_judge, colour, max_points,
                begins, ends, full_results, mode, freeze_at, thaw_at, window_seconds
             FROM round_problem JOIN round ON round.id = round_id ",
            $rest
        )
    };
}

/// Adds a contest. Returns the id.
pub async fn insert(tx: &mut Tx, name: &str, visibility: Visibility, now: Time) -> Result<i64> {
    tx.id(
        "INSERT INTO contest (name, visibility, created_at) VALUES ($1, $2, $3) RETURNING id",
        values![name, visibility, now],
    )
    .await
}

/// Changes a contest.
pub async fn update(tx: &mut Tx, id: i64, name: &str, visibility: Visibility) -> Result<u64> {
    tx.execute(
        "UPDATE contest SET name = $2, visibility = $3 WHERE id = $1",
        values![id, name, visibility],
    )
    .await
}

/// Changes the time zone of a contest's pages; `None` for that of the site.
pub async fn set_time_zone(tx: &mut Tx, id: i64, zone: Option<&str>) -> Result<u64> {
    tx.execute(
        "UPDATE contest SET time_zone = $2 WHERE id = $1",
        values![id, zone.map(str::to_owned)],
    )
    .await
}

/// The contest with this id.
pub async fn by_id(db: impl Executor, id: i64) -> Result<Option<Contest>> {
    db.first(contests!("WHERE id = $1"), values![id]).await
}

/// Contests with ids below `before` that are public or have the user as a member, the latest first.
/// `all` selects all contests.
pub async fn page(db: &Db, before: i64, user: i64, all: bool, limit: i64) -> Result<Vec<Contest>> {
    db.all(
        contests!(
            "WHERE id < $1 AND (visibility = 'public' OR $3 = 1
                OR id IN (SELECT contest_id FROM membership WHERE user_id = $2))
             ORDER BY id DESC LIMIT $4"
        ),
        values![before, user, all, limit],
    )
    .await
}

/// At most two of the contests in which the user is a contestant and a round runs now.
pub async fn running(db: impl Executor, user: i64, now: Time) -> Result<Vec<Contest>> {
    db.all(
        contests!(
            "WHERE id IN (SELECT contest_id FROM membership
                WHERE user_id = $1 AND role = 'contestant')
                AND id IN (SELECT contest_id FROM round WHERE begins <= $2 AND ends > $2)
             ORDER BY id LIMIT 2"
        ),
        values![user, now],
    )
    .await
}

record! {
    /// A place in an order.
    Place { position: i64, }
}

/// The place after the last one. The statement returns the greatest place first.
async fn end(tx: &mut Tx, sql: &'static str, of: i64) -> Result<i64> {
    let last: Option<Place> = tx.first(sql, values![of]).await?;
    Ok(last.map_or(0, |last| last.position + 1))
}

/// Adds a round at the end. Returns the id.
pub async fn insert_round(tx: &mut Tx, contest_id: i64, fields: &RoundFields) -> Result<i64> {
    let places = "SELECT position FROM round WHERE contest_id = $1 ORDER BY position DESC LIMIT 1";
    let position = end(tx, places, contest_id).await?;
    tx.id(
        "INSERT INTO round
            (contest_id, name, position, begins, ends, full_results, ranking_from)
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id",
        values![
            contest_id,
            &fields.name,
            position,
            fields.begins,
            fields.ends,
            fields.full_results,
            fields.ranking_from
        ],
    )
    .await
}

/// Changes a round.
pub async fn update_round(tx: &mut Tx, id: i64, fields: &RoundFields) -> Result<u64> {
    tx.execute(
        "UPDATE round SET name = $2, begins = $3, ends = $4, full_results = $5, ranking_from = $6
         WHERE id = $1",
        values![
            id,
            &fields.name,
            fields.begins,
            fields.ends,
            fields.full_results,
            fields.ranking_from
        ],
    )
    .await
}

/// Changes the rules of a round.
pub async fn update_rules(tx: &mut Tx, id: i64, rules: &RoundRules) -> Result<u64> {
    tx.execute(
        "UPDATE round SET mode = $2, penalty_minutes = $3, freeze_at = $4, thaw_at = $5,
            window_seconds = $6
         WHERE id = $1",
        values![
            id,
            rules.mode,
            rules.penalty_minutes,
            rules.freeze_at,
            rules.thaw_at,
            rules.window_seconds
        ],
    )
    .await
}

/// Changes when the ranking of a round is shown again.
pub async fn set_thaw(tx: &mut Tx, id: i64, thaw_at: Time) -> Result<u64> {
    tx.execute(
        "UPDATE round SET thaw_at = $2 WHERE id = $1",
        values![id, thaw_at],
    )
    .await
}

/// The round with this id.
pub async fn round(db: impl Executor, id: i64) -> Result<Option<Round>> {
    db.first(rounds!("WHERE id = $1"), values![id]).await
}

/// The rounds of a contest in order.
pub async fn rounds(db: impl Executor, contest_id: i64) -> Result<Vec<Round>> {
    db.all(
        rounds!("WHERE contest_id = $1 ORDER BY position, id"),
        values![contest_id],
    )
    .await
}

/// Adds a problem to the end of a round. Returns the id.
pub async fn insert_round_problem(
    tx: &mut Tx,
    round_id: i64,
    problem_id: i64,
    fields: &RoundProblemFields,
) -> Result<i64> {
    let places =
        "SELECT position FROM round_problem WHERE round_id = $1 ORDER BY position DESC LIMIT 1";
    let position = end(tx, places, round_id).await?;
    tx.id(
        "INSERT INTO round_problem
            (round_id, problem_id, version_id, label, name, position, final_method, reveal)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id",
        values![
            round_id,
            problem_id,
            fields.version_id,
            &fields.label,
            &fields.name,
            position,
            fields.final_method,
            fields.reveal
        ],
    )
    .await
}

/// Changes a problem of a round.
pub async fn update_round_problem(
    tx: &mut Tx,
    id: i64,
    fields: &RoundProblemFields,
) -> Result<u64> {
    tx.execute(
        "UPDATE round_problem
         SET version_id = $2, label = $3, name = $4, final_method = $5, reveal = $6
         WHERE id = $1",
        values![
            id,
            fields.version_id,
            &fields.label,
            &fields.name,
            fields.final_method,
            fields.reveal
        ],
    )
    .await
}

/// Pauses or continues the judging of a problem in a round.
pub async fn set_allow_judge(tx: &mut Tx, id: i64, allow: bool) -> Result<u64> {
    tx.execute(
        "UPDATE round_problem SET allow_judge = $2 WHERE id = $1",
        values![id, allow],
    )
    .await
}

/// Changes the colour of a problem; an empty string removes the colour.
pub async fn set_colour(tx: &mut Tx, id: i64, colour: &str) -> Result<u64> {
    tx.execute(
        "UPDATE round_problem SET colour = $2 WHERE id = $1",
        values![id, colour],
    )
    .await
}

/// Changes the points of a problem in a round; `None` for those of the package.
pub async fn set_max_points(tx: &mut Tx, id: i64, points: Option<i64>) -> Result<u64> {
    tx.execute(
        "UPDATE round_problem SET max_points = $2 WHERE id = $1",
        values![id, points],
    )
    .await
}

/// The problem of a round with this id.
pub async fn round_problem(db: impl Executor, id: i64) -> Result<Option<RoundProblem>> {
    db.first(round_problems!("WHERE round_problem.id = $1"), values![id])
        .await
}

/// The problems of a round in order.
pub async fn problems_of_round(db: impl Executor, round_id: i64) -> Result<Vec<RoundProblem>> {
    db.all(
        round_problems!("WHERE round_id = $1 ORDER BY round_problem.position, round_problem.id"),
        values![round_id],
    )
    .await
}

/// Swaps a problem of a round with the one before or after it, if any.
pub async fn move_round_problem(tx: &mut Tx, problem: &RoundProblem, earlier: bool) -> Result<()> {
    let mut order = problems_of_round(&mut *tx, problem.round_id).await?;
    let found = order.windows(2).position(|pair| match earlier {
        true => pair[1].id == problem.id,
        false => pair[0].id == problem.id,
    });
    if let Some(first) = found {
        order.swap(first, first + 1);
    }
    // Positions may have gaps and duplicates after problems were removed.
    for (position, one) in (0_i64..).zip(&order) {
        tx.execute(
            "UPDATE round_problem SET position = $2 WHERE id = $1",
            values![one.id, position],
        )
        .await?;
    }
    Ok(())
}

/// The problems of all rounds of a contest in their order.
pub async fn problems(db: impl Executor, contest_id: i64) -> Result<Vec<RoundProblem>> {
    db.all(
        round_problems!(
            "WHERE contest_id = $1
             ORDER BY round.position, round_id, round_problem.position, round_problem.id"
        ),
        values![contest_id],
    )
    .await
}

record! {
    /// The role of a user.
    RoleRow { role: MemberRole, }
}

/// The role of a user in a contest.
pub async fn role(db: impl Executor, contest_id: i64, user_id: i64) -> Result<Option<MemberRole>> {
    let found: Option<RoleRow> = db
        .first(
            "SELECT role FROM membership WHERE contest_id = $1 AND user_id = $2",
            values![contest_id, user_id],
        )
        .await?;
    Ok(found.map(|row| row.role))
}

/// Makes a user a member. An existing member keeps the current role.
pub async fn join(
    tx: &mut Tx,
    contest_id: i64,
    user_id: i64,
    role: MemberRole,
    now: Time,
) -> Result<u64> {
    tx.execute(
        "INSERT INTO membership (contest_id, user_id, role, joined_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (contest_id, user_id) DO NOTHING",
        values![contest_id, user_id, role, now],
    )
    .await
}

/// Changes the role of a member.
pub async fn set_role(tx: &mut Tx, contest_id: i64, user_id: i64, role: MemberRole) -> Result<u64> {
    tx.execute(
        "UPDATE membership SET role = $3 WHERE contest_id = $1 AND user_id = $2",
        values![contest_id, user_id, role],
    )
    .await
}

/// Removes a member.
pub async fn leave(tx: &mut Tx, contest_id: i64, user_id: i64) -> Result<u64> {
    tx.execute(
        "DELETE FROM membership WHERE contest_id = $1 AND user_id = $2",
        values![contest_id, user_id],
    )
    .await
}

/// The members of a contest, by login.
pub async fn members(db: impl Executor, contest_id: i64) -> Result<Vec<Member>> {
    db.all(
        "SELECT login, name, membership.role FROM membership
         JOIN users ON users.id = user_id WHERE contest_id = $1 ORDER BY login_key",
        values![contest_id],
    )
    .await
}

/// Sets the link with which users enter a contest. An older link becomes invalid.
pub async fn set_entry_link(
    tx: &mut Tx,
    contest_id: i64,
    hash: [u8; 32],
    now: Time,
) -> Result<u64> {
    tx.execute(
        "INSERT INTO entry_link (contest_id, hash, created_at) VALUES ($1, $2, $3)
         ON CONFLICT (contest_id) DO UPDATE SET hash = $2, created_at = $3",
        values![contest_id, hash, now],
    )
    .await
}

/// Removes the link with which users enter a contest.
pub async fn delete_entry_link(tx: &mut Tx, contest_id: i64) -> Result<u64> {
    tx.execute(
        "DELETE FROM entry_link WHERE contest_id = $1",
        values![contest_id],
    )
    .await
}

/// The contest that a link leads to.
pub async fn by_entry_link(db: impl Executor, hash: [u8; 32]) -> Result<Option<Contest>> {
    db.first(
        contests!("WHERE id IN (SELECT contest_id FROM entry_link WHERE hash = $1)"),
        values![hash],
    )
    .await
}

/// Deletes a contest with its rounds and submissions.
pub async fn delete(tx: &mut Tx, id: i64) -> Result<u64> {
    tx.execute(
        "DELETE FROM submission WHERE round_problem_id IN (SELECT round_problem.id
            FROM round_problem JOIN round ON round.id = round_id WHERE contest_id = $1)",
        values![id],
    )
    .await?;
    tx.execute("DELETE FROM contest WHERE id = $1", values![id])
        .await
}

/// Deletes a round with its problems and submissions.
pub async fn delete_round(tx: &mut Tx, id: i64) -> Result<u64> {
    tx.execute(
        "DELETE FROM submission WHERE round_problem_id IN
            (SELECT round_problem.id FROM round_problem WHERE round_id = $1)",
        values![id],
    )
    .await?;
    tx.execute("DELETE FROM round WHERE id = $1", values![id])
        .await
}

/// Deletes a problem of a round with its submissions.
pub async fn delete_round_problem(tx: &mut Tx, id: i64) -> Result<u64> {
    tx.execute(
        "DELETE FROM submission WHERE round_problem_id = $1",
        values![id],
    )
    .await?;
    tx.execute("DELETE FROM round_problem WHERE id = $1", values![id])
        .await
}
