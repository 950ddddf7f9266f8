//! Identities at other services, by issuer and subject, and the users that sign in with them.
//!
//! Neither e-mail addresses nor logins link a user, because a person could use another person's
//! e-mail address or login at another service.

use super::{Db, Executor, Result, Tx, record, values};
use crate::core::time::Time;
use crate::db::user::User;

record! {
    /// A linked identity.
    Identity { issuer: String, created_at: Time, }
}

/// The user linked to an identity.
pub async fn user(db: impl Executor, issuer: &str, subject: &str) -> Result<Option<User>> {
    db.first(
        "SELECT users.id, login, name, email, password, role, users.created_at, disabled_at,
            locale, time_zone, created_by
         FROM identity JOIN users ON users.id = identity.user_id
         WHERE issuer = $1 AND subject = $2",
        values![issuer, subject],
    )
    .await
}

/// The identities of a user.
pub async fn of_user(db: &Db, user_id: i64) -> Result<Vec<Identity>> {
    db.all(
        "SELECT issuer, created_at FROM identity WHERE user_id = $1
         ORDER BY created_at, issuer",
        values![user_id],
    )
    .await
}

/// Links an identity with a user. Fails if the identity is already linked.
pub async fn insert(
    tx: &mut Tx,
    issuer: &str,
    subject: &str,
    user_id: i64,
    now: Time,
) -> Result<u64> {
    tx.execute(
        "INSERT INTO identity (issuer, subject, user_id, created_at) VALUES ($1, $2, $3, $4)",
        values![issuer, subject, user_id, now],
    )
    .await
}

/// Removes the links of a user.
pub async fn delete_of_user(tx: &mut Tx, user_id: i64) -> Result<u64> {
    tx.execute("DELETE FROM identity WHERE user_id = $1", values![user_id])
        .await
}
