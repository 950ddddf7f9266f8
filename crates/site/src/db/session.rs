//! Sessions. The database stores only digests of their tokens.

use super::user::User;
use super::{Db, Executor, Result, Tx, record, values};
use crate::core::time::Time;

/// Adds a session.
pub async fn insert(
    tx: &mut Tx,
    hash: [u8; 32],
    user_id: i64,
    now: Time,
    expires_at: Time,
) -> Result<u64> {
    tx.execute(
        "INSERT INTO session (hash, user_id, created_at, expires_at) VALUES ($1, $2, $3, $4)",
        values![hash, user_id, now, expires_at],
    )
    .await
}

/// Stores the address and the browser from which a session was started.
pub async fn describe(tx: &mut Tx, hash: [u8; 32], address: &str, agent: &str) -> Result<u64> {
    tx.execute(
        "UPDATE session SET address = $2, agent = $3 WHERE hash = $1",
        values![hash, address, agent],
    )
    .await
}

record! {
    /// A session as its user sees it.
    Begun {
        hash: Vec<u8>,
        created_at: Time,
        expires_at: Time,
        address: Option<String>,
        agent: Option<String>,
    }
}

/// The sessions of a user that have not expired, the latest first.
pub async fn of_user(db: &Db, user_id: i64, now: Time) -> Result<Vec<Begun>> {
    db.all(
        "SELECT hash, created_at, expires_at, address, agent FROM session
         WHERE user_id = $1 AND expires_at > $2 ORDER BY created_at DESC",
        values![user_id, now],
    )
    .await
}

/// Ends all sessions of a user except one.
pub async fn delete_others(tx: &mut Tx, user_id: i64, hash: [u8; 32]) -> Result<u64> {
    tx.execute(
        "DELETE FROM session WHERE user_id = $1 AND hash <> $2",
        values![user_id, hash],
    )
    .await
}

/// The user of a session that has not expired. Disabled users have no session.
pub async fn user(db: &Db, hash: [u8; 32], now: Time) -> Result<Option<User>> {
    db.first(
        "SELECT users.id, login, name, email, password, role, users.created_at, disabled_at,
            locale, time_zone, created_by
         FROM session JOIN users ON users.id = session.user_id
         WHERE hash = $1 AND expires_at > $2 AND disabled_at IS NULL",
        values![hash, now],
    )
    .await
}

/// Locks a session that has not expired. Returns false without such a session.
pub async fn hold(tx: &mut Tx, hash: [u8; 32], now: Time) -> Result<bool> {
    let sql = "UPDATE session SET user_id = user_id WHERE hash = $1 AND expires_at > $2";
    Ok(tx.execute(sql, values![hash, now]).await? == 1)
}

/// Ends a session.
pub async fn delete(tx: &mut Tx, hash: [u8; 32]) -> Result<u64> {
    tx.execute("DELETE FROM session WHERE hash = $1", values![hash])
        .await
}

/// Ends all sessions of a user.
pub async fn delete_of_user(tx: &mut Tx, user_id: i64) -> Result<u64> {
    tx.execute("DELETE FROM session WHERE user_id = $1", values![user_id])
        .await
}

/// Removes sessions that have expired.
pub async fn delete_expired(tx: &mut Tx, now: Time) -> Result<u64> {
    tx.execute("DELETE FROM session WHERE expires_at <= $1", values![now])
        .await
}
