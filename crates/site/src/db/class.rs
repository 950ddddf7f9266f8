//! Classes: groups of users that a teacher has made.
//!
//! A class gives its owner rights on its members ([`crate::core::access::pupil`]). So users come
//! into a class only through statements of callers that have checked this right before.

use super::{DbError, Executor, Result, Tx, record, values};
use crate::core::access::PupilTie;
use crate::core::time::Time;
use crate::db::user::{Role, User};

record! {
    /// A class.
    Class {
        id: i64,
        name: String,
        owner_id: i64,
    }
}

record! {
    /// A class in a list.
    Listed {
        id: i64,
        name: String,
        owner: String,
        members: i64,
    }
}

record! {
    /// A member of a class.
    Pupil {
        id: i64,
        login: String,
        name: String,
        role: Role,
        disabled_at: Option<Time>,
    }
}

record! {
    /// A problem or a contest.
    Named {
        id: i64,
        name: String,
    }
}

record! { Count { count: i64, } }

record! { Ties { classes: i64, problems: i64, contests: i64, } }

record! {
    /// A user of a participant, alone or in a team.
    UserOf { participant_id: i64, user_id: i64, }
}

/// Adds a class. Returns the id.
pub async fn insert(tx: &mut Tx, name: &str, owner: i64, now: Time) -> Result<i64> {
    tx.id(
        "INSERT INTO class (name, owner_id, created_at) VALUES ($1, $2, $3) RETURNING id",
        values![name, owner, now],
    )
    .await
}

/// The class with this id.
pub async fn by_id(db: impl Executor, id: i64) -> Result<Option<Class>> {
    db.first(
        "SELECT id, name, owner_id FROM class WHERE id = $1",
        values![id],
    )
    .await
}

/// The classes of a teacher by name; with `all`, those of all teachers.
pub async fn list(db: impl Executor, owner: i64, all: bool) -> Result<Vec<Listed>> {
    db.all(
        "SELECT class.id, class.name, login AS owner,
            (SELECT COUNT(*) FROM class_member WHERE class_id = class.id) AS members
         FROM class JOIN users ON users.id = owner_id
         WHERE owner_id = $1 OR $2 = 1 ORDER BY class.name, class.id",
        values![owner, all],
    )
    .await
}

async fn count(db: impl Executor, sql: &'static str, id: i64) -> Result<i64> {
    let found: Option<Count> = db.first(sql, values![id]).await?;
    Ok(found.map_or(0, |found| found.count))
}

/// The number of classes of a teacher.
pub async fn count_of_owner(db: impl Executor, owner: i64) -> Result<i64> {
    let sql = "SELECT COUNT(*) AS count FROM class WHERE owner_id = $1";
    count(db, sql, owner).await
}

/// The number of members of a class.
pub async fn count_members(db: impl Executor, id: i64) -> Result<i64> {
    let sql = "SELECT COUNT(*) AS count FROM class_member WHERE class_id = $1";
    count(db, sql, id).await
}

/// The number of users that a teacher has added.
pub async fn count_created(db: impl Executor, teacher: i64) -> Result<i64> {
    let sql = "SELECT COUNT(*) AS count FROM users WHERE created_by = $1";
    count(db, sql, teacher).await
}

/// Changes the name and the owner of a class.
pub async fn update(tx: &mut Tx, id: i64, name: &str, owner: i64) -> Result<u64> {
    tx.execute(
        "UPDATE class SET name = $2, owner_id = $3 WHERE id = $1",
        values![id, name, owner],
    )
    .await
}

/// Deletes a class, but none of its members.
pub async fn delete(tx: &mut Tx, id: i64) -> Result<u64> {
    tx.execute("DELETE FROM class WHERE id = $1", values![id])
        .await
}

/// The members of a class by login.
pub async fn members(db: impl Executor, id: i64) -> Result<Vec<Pupil>> {
    db.all(
        "SELECT users.id, login, name, role, disabled_at FROM class_member
         JOIN users ON users.id = user_id WHERE class_id = $1 ORDER BY login_key",
        values![id],
    )
    .await
}

/// Whether a user is a member of a class.
pub async fn is_member(db: impl Executor, id: i64, user: i64) -> Result<bool> {
    let rows = db
        .rows(
            "SELECT user_id FROM class_member WHERE class_id = $1 AND user_id = $2",
            values![id, user],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// Adds a user to a class.
pub async fn add_member(tx: &mut Tx, id: i64, user: i64) -> Result<u64> {
    tx.execute(
        "INSERT INTO class_member (class_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        values![id, user],
    )
    .await
}

/// Removes a user from a class.
pub async fn remove_member(tx: &mut Tx, id: i64, user: i64) -> Result<u64> {
    tx.execute(
        "DELETE FROM class_member WHERE class_id = $1 AND user_id = $2",
        values![id, user],
    )
    .await
}

/// What connects a teacher with a user.
pub async fn tie(db: impl Executor, teacher: i64, one: &User) -> Result<PupilTie> {
    let found: Option<Ties> = db
        .first(
            "SELECT (SELECT COUNT(*) FROM class JOIN class_member ON class_id = class.id
                    WHERE owner_id = $1 AND user_id = $2) AS classes,
                (SELECT COUNT(*) FROM problem WHERE owner_id = $2) AS problems,
                (SELECT COUNT(*) FROM membership
                    WHERE user_id = $2 AND role IN ('owner', 'moderator')) AS contests",
            values![teacher, one.id],
        )
        .await?;
    let found = found.ok_or(DbError::Missing("users"))?;
    Ok(PupilTie {
        role: one.role,
        is_created: one.created_by == Some(teacher),
        is_in_class: found.classes > 0,
        is_manager: found.problems > 0 || found.contests > 0,
    })
}

/// The users that a teacher has added or has in classes, without the members of one class.
pub async fn others(db: impl Executor, teacher: i64, class: i64) -> Result<Vec<Pupil>> {
    db.all(
        "SELECT id, login, name, role, disabled_at FROM users
         WHERE role = 'user' AND (created_by = $1 OR id IN (SELECT user_id FROM class_member
                JOIN class ON class.id = class_id WHERE owner_id = $1))
            AND id NOT IN (SELECT user_id FROM class_member WHERE class_id = $2)
         ORDER BY login_key LIMIT 1000",
        values![teacher, class],
    )
    .await
}

/// The condition that a class shows a problem to its members: the owner of the class may still use
/// the problem.
macro_rules! is_effective {
    () => {
        "(problem.visibility <> 'private' OR problem.owner_id = class.owner_id)"
    };
}

/// The problems of a class by name, as far as its members see them.
pub async fn problems(db: impl Executor, id: i64) -> Result<Vec<Named>> {
    db.all(
        concat!(
            "SELECT problem.id, problem.name FROM class_problem
             JOIN problem ON problem.id = problem_id JOIN class ON class.id = class_id
             WHERE class_id = $1 AND ",
            is_effective!(),
            " ORDER BY problem.name, problem.id"
        ),
        values![id],
    )
    .await
}

/// Whether a class of the user shows a problem.
pub async fn shows(db: impl Executor, user: i64, problem: i64) -> Result<bool> {
    let rows = db
        .rows(
            concat!(
                "SELECT problem.id FROM class_problem JOIN problem ON problem.id = problem_id
                 JOIN class ON class.id = class_problem.class_id
                 JOIN class_member ON class_member.class_id = class.id
                 WHERE class_member.user_id = $1 AND problem_id = $2 AND ",
                is_effective!(),
                " LIMIT 1"
            ),
            values![user, problem],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// Shows a problem to the members of a class.
pub async fn add_problem(tx: &mut Tx, id: i64, problem: i64) -> Result<u64> {
    tx.execute(
        "INSERT INTO class_problem (class_id, problem_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        values![id, problem],
    )
    .await
}

/// Hides a problem from the members of a class.
pub async fn remove_problem(tx: &mut Tx, id: i64, problem: i64) -> Result<u64> {
    tx.execute(
        "DELETE FROM class_problem WHERE class_id = $1 AND problem_id = $2",
        values![id, problem],
    )
    .await
}

/// The contests that the user manages and in which a member of the class takes part, the latest
/// first. With `all`, the user manages all contests.
pub async fn contests(db: impl Executor, id: i64, user: i64, all: bool) -> Result<Vec<Named>> {
    db.all(
        "SELECT id, name FROM contest WHERE ($3 = 1 OR id IN (SELECT contest_id FROM membership
                WHERE user_id = $2 AND role IN ('owner', 'moderator')))
            AND (id IN (SELECT contest_id FROM participant
                    JOIN class_member ON class_member.user_id = participant.user_id
                    WHERE class_id = $1)
                OR id IN (SELECT contest_id FROM team_member
                    JOIN class_member ON class_member.user_id = team_member.user_id
                    WHERE class_id = $1))
         ORDER BY id DESC LIMIT 100",
        values![id, user, all],
    )
    .await
}

/// The participants of a contest that members of the class are, alone or in teams. A user with a
/// team takes part as the team.
pub async fn participants(db: impl Executor, id: i64, contest: i64) -> Result<Vec<UserOf>> {
    db.all(
        "SELECT participant.id AS participant_id, participant.user_id FROM participant
         JOIN class_member ON class_member.user_id = participant.user_id
         WHERE class_id = $1 AND contest_id = $2
         UNION ALL
         SELECT participant_id, team_member.user_id FROM team_member
         JOIN class_member ON class_member.user_id = team_member.user_id
         WHERE class_id = $1 AND contest_id = $2",
        values![id, contest],
    )
    .await
}
