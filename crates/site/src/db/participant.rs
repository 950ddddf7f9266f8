//! Participants of contests: users or teams, with their clocks.
//!
//! A contestant in a team takes part as the team; any other user takes part alone. A submission
//! keeps the participant for which it was made.

use super::contest::MemberRole;
use super::{Executor, Result, Tx, record, values};
use crate::core::participant::Personal;
use crate::core::participation::State;
use crate::core::time::Time;
use std::time::Duration;

record! {
    /// A participant.
    Participant {
        id: i64,
        contest_id: i64,
        /// The user; `None` for teams.
        user_id: Option<i64>,
        /// The name of a team; of users only if it differs from the user's own.
        name: String,
        organization: String,
        group_name: String,
        hidden: bool,
        unofficial: bool,
        delay_seconds: i64,
        extra_seconds: i64,
        penalty_minutes: i64,
        /// The reason for which the staff has disqualified the participant.
        disqualified: Option<String>,
    }
}

record! {
    /// A participant with the names that lists show.
    Entry {
        id: i64,
        user_id: Option<i64>,
        name: String,
        user_name: Option<String>,
        login: Option<String>,
        organization: String,
        group_name: String,
        hidden: bool,
        unofficial: bool,
        delay_seconds: i64,
        extra_seconds: i64,
        penalty_minutes: i64,
        /// The reason for which the staff has disqualified the participant.
        disqualified: Option<String>,
        /// The role of the user.
        role: Option<MemberRole>,
        /// The team to which the user belongs.
        team_id: Option<i64>,
    }
}

record! {
    /// A clock that a participant has started.
    Start { participant_id: i64, round_id: i64, started_at: Time, }
}

record! {
    /// A member of a team.
    TeamMember { participant_id: i64, user_id: i64, login: String, name: String, }
}

/// The fields of a participant that the staff changes.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    pub name: String,
    pub organization: String,
    pub group_name: String,
    pub hidden: bool,
    pub unofficial: bool,
    pub delay_seconds: i64,
    pub extra_seconds: i64,
    pub penalty_minutes: i64,
}

/// A duration that is stored as seconds.
fn seconds(stored: i64) -> Duration {
    Duration::from_secs(u64::try_from(stored).unwrap_or(0))
}

/// The time that a participant with these settings has in addition to the round.
pub fn additional(delay_seconds: i64, extra_seconds: i64) -> Duration {
    seconds(delay_seconds).saturating_add(seconds(extra_seconds))
}

/// The personal settings of a participant in a round.
pub fn personal(delay_seconds: i64, extra_seconds: i64, started_at: Option<Time>) -> Personal {
    Personal {
        delay: seconds(delay_seconds),
        extra: seconds(extra_seconds),
        started_at,
    }
}

macro_rules! states {
    ($($record:ident),*) => { $(
        impl $record {
            /// How the participant takes part.
            pub fn state(&self) -> State {
                State::of(self.unofficial, self.hidden, self.disqualified.is_some())
            }
        }
    )* };
}

states!(Participant, Entry);

impl Entry {
    /// The display name.
    pub fn shown_name(&self) -> &str {
        match &self.user_name {
            Some(name) if self.name.is_empty() => name,
            _ => &self.name,
        }
    }

    /// The time that the participant has in addition to the round.
    pub fn additional(&self) -> Duration {
        additional(self.delay_seconds, self.extra_seconds)
    }
}

macro_rules! participants {
    ($rest:literal) => {
        concat!(
            "SELECT id, contest_id, user_id, name, organization, group_name, hidden, unofficial,
                delay_seconds, extra_seconds, penalty_minutes, disqualified
             FROM participant ",
            $rest
        )
    };
}

/// The participant with this id.
pub async fn by_id(db: impl Executor, id: i64) -> Result<Option<Participant>> {
    db.first(participants!("WHERE id = $1"), values![id]).await
}

record! { Additional { delay_seconds: i64, extra_seconds: i64, } }

/// The most additional time of a contest's participants: delay and extra time.
pub async fn most_additional(db: impl Executor, contest_id: i64) -> Result<Duration> {
    let all: Vec<Additional> = db
        .all(
            "SELECT DISTINCT delay_seconds, extra_seconds FROM participant WHERE contest_id = $1",
            values![contest_id],
        )
        .await?;
    let sums = all
        .iter()
        .map(|one| seconds(one.delay_seconds).saturating_add(seconds(one.extra_seconds)));
    Ok(sums.max().unwrap_or_default())
}

/// The participant that a user belongs to in a contest: the team, or the user alone. A participant
/// that is disqualified comes first, so that no other one hides it.
pub async fn of_user(
    db: impl Executor,
    contest_id: i64,
    user_id: i64,
) -> Result<Option<Participant>> {
    db.first(
        participants!(
            "WHERE contest_id = $1 AND (user_id = $2 OR id IN (SELECT participant_id
                FROM team_member WHERE contest_id = $1 AND user_id = $2))
             ORDER BY disqualified IS NULL, user_id NULLS FIRST LIMIT 1"
        ),
        values![contest_id, user_id],
    )
    .await
}

/// The participant of a user. Adds one if the user has none.
pub async fn ensure(
    tx: &mut Tx,
    contest_id: i64,
    user_id: i64,
    unofficial: bool,
) -> Result<Participant> {
    let found = of_user(&mut *tx, contest_id, user_id).await?;
    if let Some(found) = found {
        return Ok(found);
    }
    let fields = Fields {
        unofficial,
        ..Fields::default()
    };
    let id = insert(tx, contest_id, Some(user_id), &fields).await?;
    let found = by_id(tx, id).await?;
    found.ok_or(super::DbError::Missing("participant"))
}

/// The team that an import has added with this number.
pub async fn by_external_id(
    db: impl Executor,
    contest_id: i64,
    external_id: &str,
) -> Result<Option<Participant>> {
    db.first(
        participants!("WHERE contest_id = $1 AND external_id = $2"),
        values![contest_id, external_id],
    )
    .await
}

/// Sets the number by which imports find a team.
pub async fn set_external_id(tx: &mut Tx, id: i64, external_id: &str) -> Result<u64> {
    tx.execute(
        "UPDATE participant SET external_id = $2 WHERE id = $1",
        values![id, external_id],
    )
    .await
}

/// Adds a user, or a team without members. Returns the id.
pub async fn insert(
    tx: &mut Tx,
    contest_id: i64,
    user_id: Option<i64>,
    fields: &Fields,
) -> Result<i64> {
    tx.id(
        "INSERT INTO participant (contest_id, user_id, name, organization, group_name, hidden,
            unofficial, delay_seconds, extra_seconds, penalty_minutes)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id",
        values![
            contest_id,
            user_id,
            &fields.name,
            &fields.organization,
            &fields.group_name,
            fields.hidden,
            fields.unofficial,
            fields.delay_seconds,
            fields.extra_seconds,
            fields.penalty_minutes
        ],
    )
    .await
}

/// Changes a participant.
pub async fn update(tx: &mut Tx, id: i64, fields: &Fields) -> Result<u64> {
    tx.execute(
        "UPDATE participant
         SET name = $2, organization = $3, group_name = $4, hidden = $5, unofficial = $6,
            delay_seconds = $7, extra_seconds = $8, penalty_minutes = $9
         WHERE id = $1",
        values![
            id,
            &fields.name,
            &fields.organization,
            &fields.group_name,
            fields.hidden,
            fields.unofficial,
            fields.delay_seconds,
            fields.extra_seconds,
            fields.penalty_minutes
        ],
    )
    .await
}

/// Changes the group of a participant.
pub async fn set_group(tx: &mut Tx, id: i64, group: &str) -> Result<u64> {
    tx.execute(
        "UPDATE participant SET group_name = $2 WHERE id = $1",
        values![id, group],
    )
    .await
}

/// Disqualifies a participant for a reason, or with `None`, lets the participant take part again.
pub async fn disqualify(tx: &mut Tx, id: i64, reason: Option<&str>) -> Result<u64> {
    tx.execute(
        "UPDATE participant SET disqualified = $2 WHERE id = $1",
        values![id, reason.map(str::to_owned)],
    )
    .await
}

/// Whether a participant has submissions.
pub async fn has_submissions(db: impl Executor, id: i64) -> Result<bool> {
    let rows = db
        .rows(
            "SELECT id FROM submission WHERE participant_id = $1 LIMIT 1",
            values![id],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// Removes a participant. Submissions are kept, but count for no participant.
pub async fn delete(tx: &mut Tx, id: i64) -> Result<u64> {
    tx.execute("DELETE FROM participant WHERE id = $1", values![id])
        .await
}

/// Makes a user a member of a team, and of no other team of the contest.
pub async fn add_member(tx: &mut Tx, contest_id: i64, team: i64, user_id: i64) -> Result<u64> {
    tx.execute(
        "INSERT INTO team_member (contest_id, user_id, participant_id) VALUES ($1, $2, $3)
         ON CONFLICT (contest_id, user_id) DO UPDATE SET participant_id = $3",
        values![contest_id, user_id, team],
    )
    .await
}

/// Removes a user from a team.
pub async fn remove_member(tx: &mut Tx, team: i64, user_id: i64) -> Result<u64> {
    tx.execute(
        "DELETE FROM team_member WHERE participant_id = $1 AND user_id = $2",
        values![team, user_id],
    )
    .await
}

/// Whether a user belongs to a team.
pub async fn is_member(db: impl Executor, team: i64, user_id: i64) -> Result<bool> {
    let rows = db
        .rows(
            "SELECT user_id FROM team_member WHERE participant_id = $1 AND user_id = $2",
            values![team, user_id],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// The members of all teams of a contest, by login.
pub async fn members(db: impl Executor, contest_id: i64) -> Result<Vec<TeamMember>> {
    db.all(
        "SELECT participant_id, user_id, login, name FROM team_member
         JOIN users ON users.id = user_id WHERE contest_id = $1 ORDER BY login_key",
        values![contest_id],
    )
    .await
}

/// The participants of a contest in the order of their ids.
pub async fn all(db: impl Executor, contest_id: i64) -> Result<Vec<Entry>> {
    db.all(
        "SELECT participant.id, participant.user_id, participant.name, users.name AS user_name,
            login, organization, group_name, hidden, unofficial, delay_seconds, extra_seconds,
            penalty_minutes, disqualified, membership.role, team_member.participant_id AS team_id
         FROM participant
         LEFT JOIN users ON users.id = participant.user_id
         LEFT JOIN membership ON membership.contest_id = participant.contest_id
            AND membership.user_id = participant.user_id
         LEFT JOIN team_member ON team_member.contest_id = participant.contest_id
            AND team_member.user_id = participant.user_id
         WHERE participant.contest_id = $1 ORDER BY participant.id",
        values![contest_id],
    )
    .await
}

/// Starts the clock of a participant. A running clock is not changed.
pub async fn start(tx: &mut Tx, id: i64, round_id: i64, now: Time) -> Result<u64> {
    tx.execute(
        "INSERT INTO participant_start (participant_id, round_id, started_at) VALUES ($1, $2, $3)
         ON CONFLICT (participant_id, round_id) DO NOTHING",
        values![id, round_id, now],
    )
    .await
}

/// The clocks of one participant.
pub async fn starts_of(db: impl Executor, id: i64) -> Result<Vec<Start>> {
    db.all(
        "SELECT participant_id, round_id, started_at FROM participant_start
         WHERE participant_id = $1",
        values![id],
    )
    .await
}

/// The clocks of all participants of a contest.
pub async fn starts(db: impl Executor, contest_id: i64) -> Result<Vec<Start>> {
    db.all(
        "SELECT participant_id, round_id, started_at FROM participant_start
         JOIN round ON round.id = round_id WHERE contest_id = $1",
        values![contest_id],
    )
    .await
}
