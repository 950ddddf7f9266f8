//! Secrets of one-time passwords, and digests of recovery codes.

use super::{Executor, Result, Tx, record, values};
use crate::core::time::Time;
use crate::core::totp;

record! {
    /// The generator of a user.
    Generator {
        totp_secret: Option<Vec<u8>>,
        totp_confirmed_at: Option<Time>,
        totp_period: Option<i64>,
    }
}

impl super::Column for Option<Vec<u8>> {
    fn of(row: &super::Row, column: &str) -> Result<Self> {
        Ok(match row {
            super::Row::Sqlite(row) => sqlx::Row::try_get(row, column)?,
            super::Row::Postgres(row) => sqlx::Row::try_get(row, column)?,
        })
    }
}

impl Generator {
    /// The secret, if the user has confirmed it. Signing in then requires a code.
    pub fn confirmed(&self) -> Option<&[u8]> {
        self.totp_confirmed_at.and(self.totp_secret.as_deref())
    }
}

/// The generator of a user.
pub async fn of_user(db: impl Executor, user_id: i64) -> Result<Option<Generator>> {
    db.first(
        "SELECT totp_secret, totp_confirmed_at, totp_period FROM users WHERE id = $1",
        values![user_id],
    )
    .await
}

/// Stores a secret that is not confirmed.
pub async fn propose(tx: &mut Tx, user_id: i64, secret: &[u8]) -> Result<u64> {
    tx.execute(
        "UPDATE users SET totp_secret = $2, totp_confirmed_at = NULL, totp_period = NULL
         WHERE id = $1",
        values![user_id, secret],
    )
    .await
}

/// Confirms the secret, and replaces the recovery codes.
pub async fn confirm(
    tx: &mut Tx,
    user_id: i64,
    period: i64,
    codes: &[String],
    now: Time,
) -> Result<()> {
    tx.execute(
        "UPDATE users SET totp_confirmed_at = $2, totp_period = $3 WHERE id = $1",
        values![user_id, now, period],
    )
    .await?;
    delete_codes(tx, user_id).await?;
    for code in codes {
        tx.execute(
            "INSERT INTO recovery_code (hash, user_id) VALUES ($1, $2)",
            values![totp::recovery_digest(code), user_id],
        )
        .await?;
    }
    Ok(())
}

/// Removes the secret and the recovery codes.
pub async fn remove(tx: &mut Tx, user_id: i64) -> Result<()> {
    tx.execute(
        "UPDATE users SET totp_secret = NULL, totp_confirmed_at = NULL, totp_period = NULL
         WHERE id = $1",
        values![user_id],
    )
    .await?;
    delete_codes(tx, user_id).await?;
    Ok(())
}

async fn delete_codes(tx: &mut Tx, user_id: i64) -> Result<u64> {
    tx.execute(
        "DELETE FROM recovery_code WHERE user_id = $1",
        values![user_id],
    )
    .await
}

/// The number of recovery codes that are left.
pub async fn codes_left(db: impl Executor, user_id: i64) -> Result<usize> {
    let sql = "SELECT hash FROM recovery_code WHERE user_id = $1";
    Ok(db.rows(sql, values![user_id]).await?.len())
}

/// Checks a code of the generator or a recovery code. Each code is accepted once.
pub async fn accept(tx: &mut Tx, user_id: i64, code: &str, now: Time) -> Result<bool> {
    let Some(generator) = of_user(&mut *tx, user_id).await? else {
        return Ok(false);
    };
    let Some(secret) = generator.confirmed() else {
        return Ok(false);
    };
    let used = match totp::period(secret, code, generator.totp_period, now) {
        Some(period) => {
            tx.execute(
                "UPDATE users SET totp_period = $2
                 WHERE id = $1 AND (totp_period IS NULL OR totp_period < $2)",
                values![user_id, period],
            )
            .await?
        }
        None => {
            tx.execute(
                "DELETE FROM recovery_code WHERE hash = $1 AND user_id = $2",
                values![totp::recovery_digest(code), user_id],
            )
            .await?
        }
    };
    Ok(used == 1)
}
