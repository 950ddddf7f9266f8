//! Users.

use super::{Db, Executor, Result, Tx, record, text_enum, values};
use crate::core::time::Time;

text_enum! {
    /// What a user may do on the whole site.
    Role {
        /// Everything.
        Admin = "admin",
        /// Add problems and private contests.
        Teacher = "teacher",
        /// Take part.
        User = "user",
    }
}

impl Role {
    /// The one of two roles with more rights.
    #[must_use]
    pub fn higher(self, other: Role) -> Role {
        let mut all = Role::ALL.iter();
        all.find(|role| [self, other].contains(role))
            .copied()
            .unwrap_or(other)
    }
}

record! {
    /// A user.
    User {
        id: i64,
        login: String,
        name: String,
        email: Option<String>,
        password: String,
        role: Role,
        created_at: Time,
        disabled_at: Option<Time>,
        /// The tag of the language that the user has chosen.
        locale: Option<String>,
        /// The name of the time zone that the user has chosen; `None` for that of the contest or
        /// the site.
        time_zone: Option<String>,
        /// The teacher that has added the user with a list.
        created_by: Option<i64>,
    }
}

macro_rules! columns {
    ($rest:literal) => {
        concat!(
            "SELECT id, login, name, email, password, role, created_at, disabled_at, locale, ",
            "time_zone, created_by FROM users ",
            $rest
        )
    };
}

/// A new user.
#[derive(Debug)]
pub struct NewUser<'a> {
    pub login: &'a str,
    pub name: &'a str,
    /// The hash of the password.
    pub password: &'a str,
    pub role: Role,
}

/// The unique form of a login.
fn key(login: &str) -> String {
    login.to_lowercase()
}

/// Adds a user. Returns the id.
pub async fn insert(tx: &mut Tx, user: &NewUser<'_>, now: Time) -> Result<i64> {
    tx.id(
        "INSERT INTO users (login, login_key, name, password, role, created_at)
         VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
        values![
            user.login,
            key(user.login),
            user.name,
            user.password,
            user.role,
            now
        ],
    )
    .await
}

/// The user with this id.
pub async fn by_id(db: impl Executor, id: i64) -> Result<Option<User>> {
    db.first(columns!("WHERE id = $1"), values![id]).await
}

/// The user with this login; case does not matter.
pub async fn by_login(db: impl Executor, login: &str) -> Result<Option<User>> {
    db.first(columns!("WHERE login_key = $1"), values![key(login)])
        .await
}

/// Users with ids above `after`, in ascending order.
pub async fn page(db: &Db, after: i64, limit: i64) -> Result<Vec<User>> {
    db.all(
        columns!("WHERE id > $1 ORDER BY id LIMIT $2"),
        values![after, limit],
    )
    .await
}

/// Whether an administrator exists and is not disabled.
pub async fn has_admin(db: impl Executor) -> Result<bool> {
    let found: Option<User> = db
        .first(
            columns!("WHERE role = $1 AND disabled_at IS NULL LIMIT 1"),
            values![Role::Admin],
        )
        .await?;
    Ok(found.is_some())
}

/// Whether the user owns a problem or manages a contest.
pub async fn is_manager(db: impl Executor, id: i64) -> Result<bool> {
    let rows = db
        .rows(
            "SELECT id FROM problem WHERE owner_id = $1
             UNION ALL SELECT contest_id FROM membership
             WHERE user_id = $1 AND role IN ('owner', 'moderator')
             LIMIT 1",
            values![id],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// Changes role and state of a user.
pub async fn update(tx: &mut Tx, id: i64, role: Role, disabled_at: Option<Time>) -> Result<u64> {
    tx.execute(
        "UPDATE users SET role = $2, disabled_at = $3 WHERE id = $1",
        values![id, role, disabled_at],
    )
    .await
}

/// Changes name and e-mail address.
pub async fn set_profile(tx: &mut Tx, id: i64, name: &str, email: Option<&str>) -> Result<u64> {
    tx.execute(
        "UPDATE users SET name = $2, email = $3 WHERE id = $1",
        values![id, name, email.map(str::to_owned)],
    )
    .await
}

/// Changes the language of the pages.
pub async fn set_locale(tx: &mut Tx, id: i64, tag: &str) -> Result<u64> {
    tx.execute(
        "UPDATE users SET locale = $2 WHERE id = $1",
        values![id, tag],
    )
    .await
}

/// Changes the time zone of the pages; `None` for that of the contest or the site.
pub async fn set_time_zone(tx: &mut Tx, id: i64, zone: Option<&str>) -> Result<u64> {
    tx.execute(
        "UPDATE users SET time_zone = $2 WHERE id = $1",
        values![id, zone.map(str::to_owned)],
    )
    .await
}

/// Records the teacher that has added a user.
pub async fn set_creator(tx: &mut Tx, id: i64, teacher: i64) -> Result<u64> {
    tx.execute(
        "UPDATE users SET created_by = $2 WHERE id = $1",
        values![id, teacher],
    )
    .await
}

/// Changes the hash of a password, if the old one is as expected.
pub async fn change_password(tx: &mut Tx, id: i64, old: &str, password: &str) -> Result<u64> {
    tx.execute(
        "UPDATE users SET password = $3 WHERE id = $1 AND password = $2",
        values![id, old, password],
    )
    .await
}

/// Changes the hash of a password.
pub async fn set_password(tx: &mut Tx, id: i64, password: &str) -> Result<u64> {
    tx.execute(
        "UPDATE users SET password = $2 WHERE id = $1",
        values![id, password],
    )
    .await
}
