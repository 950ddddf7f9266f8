//! What a user can show to act on the site, and what ends with an old password.
//!
//! Verifying a password takes long, and so does a sign-in at another service. So the [`Proof`] that
//! a user has shown is compared once more in the transaction that begins a session or links an
//! identity. The row of the user is locked meanwhile, so a new password either comes first and is
//! seen, or comes later and ends the new credential.

use super::{Result, Tx, api_token, identity, reset, session, totp, values};

/// What a new password does to a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It ends.
    Ends,
    /// It ends unless the user keeps it.
    Optional,
    /// It stays, because it does not suffice for a sign-in.
    Stays,
}

/// The tables of credentials. A sign-in that waits for a one-time password, and a link to another
/// service that is being made, are in memory: each has the [`Proof`] with which it began, and ends
/// with that. A test compares the list with the tables of the database.
#[cfg_attr(not(test), expect(dead_code, reason = "the list documents `end`"))]
pub const CREDENTIALS: &[(&str, Fate)] = &[
    ("session", Fate::Ends),
    ("reset_link", Fate::Ends),
    ("api_token", Fate::Optional),
    ("identity", Fate::Optional),
    ("recovery_code", Fate::Stays),
];

/// What the user keeps although the password is new.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kept {
    /// The session with this digest.
    pub session: Option<[u8; 32]>,
    /// The tokens of programs.
    pub tokens: bool,
    /// The identities at other services.
    pub identities: bool,
}

/// Ends the credentials of a user. All changes lock the rows in the same order, as in
/// `db/password.rs`.
pub async fn end(tx: &mut Tx, user: i64, kept: Kept) -> Result<()> {
    reset::delete_of_user(tx, user).await?;
    match kept.session {
        Some(own) => session::delete_others(tx, user, own).await?,
        None => session::delete_of_user(tx, user).await?,
    };
    if !kept.tokens {
        api_token::delete_of_user(tx, user).await?;
    }
    if !kept.identities {
        identity::delete_of_user(tx, user).await?;
    }
    Ok(())
}

/// What a user has shown.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Proof {
    /// The password with this hash.
    Password(String),
    /// An identity at another service.
    Identity {
        /// The service.
        issuer: String,
        /// The name of the person there.
        subject: String,
    },
}

/// Whether a user has still shown enough. Keeps it so until the transaction ends. A confirmed
/// generator of one-time passwords requires `has_code`.
pub async fn holds(tx: &mut Tx, user: i64, proof: &Proof, has_code: bool) -> Result<bool> {
    // Changing a row to itself locks it.
    let locked = match proof {
        Proof::Password(hash) => {
            tx.execute(
                "UPDATE users SET password = password
                 WHERE id = $1 AND password = $2 AND disabled_at IS NULL",
                values![user, hash],
            )
            .await?
        }
        Proof::Identity { issuer, subject } => {
            let enabled = tx
                .execute(
                    "UPDATE users SET password = password WHERE id = $1 AND disabled_at IS NULL",
                    values![user],
                )
                .await?;
            let linked = tx
                .execute(
                    "UPDATE identity SET user_id = user_id
                     WHERE issuer = $1 AND subject = $2 AND user_id = $3",
                    values![issuer, subject, user],
                )
                .await?;
            enabled.min(linked)
        }
    };
    if locked == 0 || has_code {
        return Ok(locked > 0);
    }
    let generator = totp::of_user(&mut *tx, user).await?;
    Ok(generator.is_none_or(|found| found.confirmed().is_none()))
}
