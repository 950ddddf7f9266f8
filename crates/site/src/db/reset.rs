//! Links with which users choose new passwords. The database stores only digests of their tokens.

use super::user::User;
use super::{Executor, Result, Tx, record, values};
use crate::core::time::Time;

/// Adds a link. Older links of the user become invalid.
pub async fn insert(
    tx: &mut Tx,
    hash: [u8; 32],
    user_id: i64,
    now: Time,
    expires_at: Time,
) -> Result<u64> {
    delete_of_user(tx, user_id).await?;
    tx.execute(
        "INSERT INTO reset_link (hash, user_id, created_at, expires_at) VALUES ($1, $2, $3, $4)",
        values![hash, user_id, now, expires_at],
    )
    .await
}

/// The user to which a valid link belongs. Disabled users have none.
pub async fn user(db: impl Executor, hash: [u8; 32], now: Time) -> Result<Option<User>> {
    db.first(
        "SELECT users.id, login, name, email, password, role, users.created_at, disabled_at,
            locale, time_zone, created_by
         FROM reset_link JOIN users ON users.id = reset_link.user_id
         WHERE hash = $1 AND expires_at > $2 AND disabled_at IS NULL",
        values![hash, now],
    )
    .await
}

record! { Taken { user_id: i64, } }

/// Uses up a valid link. Returns its user. Of several requests with the same link, only one gets
/// the user: the database removes the row once, and the others wait for the end of that request.
pub async fn take(tx: &mut Tx, hash: [u8; 32], now: Time) -> Result<Option<i64>> {
    let taken: Option<Taken> = tx
        .first(
            "DELETE FROM reset_link WHERE hash = $1 AND expires_at > $2
                AND user_id IN (SELECT id FROM users WHERE disabled_at IS NULL)
             RETURNING user_id",
            values![hash, now],
        )
        .await?;
    Ok(taken.map(|taken| taken.user_id))
}

/// Removes the links of a user.
pub async fn delete_of_user(tx: &mut Tx, user_id: i64) -> Result<u64> {
    tx.execute(
        "DELETE FROM reset_link WHERE user_id = $1",
        values![user_id],
    )
    .await
}

/// Removes links that have expired.
pub async fn delete_expired(tx: &mut Tx, now: Time) -> Result<u64> {
    tx.execute(
        "DELETE FROM reset_link WHERE expires_at <= $1",
        values![now],
    )
    .await
}
