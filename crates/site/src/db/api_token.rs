//! Tokens with which programs act as users. The database stores only their digests.

use super::user::User;
use super::{Db, Executor, Result, Tx, record, text_enum, values};
use crate::core::time::Time;

text_enum! {
    /// What a program may do with a token. Each scope includes those before it.
    #[derive(PartialOrd, Ord)]
    Scope {
        /// Read what the user sees.
        Read = "read",
        /// Also submit.
        Submit = "submit",
        /// Also change what the user may change.
        Manage = "manage",
    }
}

record! {
    /// A token as its user sees it.
    ApiToken {
        id: i64,
        name: String,
        scope: Scope,
        created_at: Time,
        expires_at: Time,
        last_used_at: Option<Time>,
    }
}

record! {
    /// What a program needs to know about its token.
    Grant { id: i64, user_id: i64, scope: Scope, last_used_at: Option<Time>, }
}

/// Adds a token.
pub async fn insert(
    tx: &mut Tx,
    hash: [u8; 32],
    user_id: i64,
    name: &str,
    scope: Scope,
    now: Time,
    expires_at: Time,
) -> Result<i64> {
    tx.id(
        "INSERT INTO api_token (hash, user_id, name, scope, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
        values![hash, user_id, name, scope, now, expires_at],
    )
    .await
}

/// The tokens of a user, the latest first.
pub async fn of_user(db: impl Executor, user_id: i64) -> Result<Vec<ApiToken>> {
    db.all(
        "SELECT id, name, scope, created_at, expires_at, last_used_at FROM api_token
         WHERE user_id = $1 ORDER BY id DESC",
        values![user_id],
    )
    .await
}

/// The user and the scope of a token that has not expired. Disabled users have none.
pub async fn grant(db: &Db, hash: [u8; 32], now: Time) -> Result<Option<(User, Grant)>> {
    let grant: Option<Grant> = db
        .first(
            "SELECT id, user_id, scope, last_used_at FROM api_token
             WHERE hash = $1 AND expires_at > $2",
            values![hash, now],
        )
        .await?;
    let Some(grant) = grant else {
        return Ok(None);
    };
    let user = super::user::by_id(db, grant.user_id).await?;
    let user = user.filter(|user| user.disabled_at.is_none());
    Ok(user.map(|user| (user, grant)))
}

/// Records that a token was used.
pub async fn touch(tx: &mut Tx, id: i64, now: Time) -> Result<u64> {
    tx.execute(
        "UPDATE api_token SET last_used_at = $2 WHERE id = $1",
        values![id, now],
    )
    .await
}

/// Removes a token of a user.
pub async fn delete(tx: &mut Tx, id: i64, user_id: i64) -> Result<u64> {
    tx.execute(
        "DELETE FROM api_token WHERE id = $1 AND user_id = $2",
        values![id, user_id],
    )
    .await
}

/// Removes all tokens of a user.
pub async fn delete_of_user(tx: &mut Tx, user_id: i64) -> Result<u64> {
    tx.execute("DELETE FROM api_token WHERE user_id = $1", values![user_id])
        .await
}

record! { Submitted { submission_id: i64, } }

/// The submission that an earlier request with the same key has created.
pub async fn submitted(db: impl Executor, user_id: i64, key: &str) -> Result<Option<i64>> {
    let found: Option<Submitted> = db
        .first(
            "SELECT submission_id FROM idempotency_key WHERE user_id = $1 AND key = $2",
            values![user_id, key],
        )
        .await?;
    Ok(found.map(|row| row.submission_id))
}

/// Records the submission that a request with a key has created.
pub async fn remember(
    tx: &mut Tx,
    user_id: i64,
    key: &str,
    submission_id: i64,
    now: Time,
) -> Result<u64> {
    tx.execute(
        "INSERT INTO idempotency_key (user_id, key, submission_id, created_at)
         VALUES ($1, $2, $3, $4)",
        values![user_id, key, submission_id, now],
    )
    .await
}
