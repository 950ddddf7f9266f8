//! New passwords, and what ends with the old one.
//!
//! All changes lock the rows in the same order: links, the user, sessions, tokens. Otherwise, two
//! changes at the same time could wait for each other.

use super::{Result, Tx, api_token, reset, session, user};

/// The reason for a new password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason<'a> {
    /// The user knows the old password, whose hash is given. Tokens of the user's programs stay.
    Changed(&'a str),
    /// The user does not know the old password, or another person may know it. Tokens may belong to
    /// that person.
    Replaced,
}

/// Stores the hash of a new password. Ends the user's sessions except `kept`, and invalidates the
/// user's links for new passwords. Returns false if the old password is no longer the given one.
///
/// # Errors
/// The database rejects a statement.
pub async fn set(
    tx: &mut Tx,
    user: i64,
    hash: &str,
    reason: Reason<'_>,
    kept: Option<[u8; 32]>,
) -> Result<bool> {
    reset::delete_of_user(tx, user).await?;
    let changed = match reason {
        Reason::Changed(old) => user::change_password(tx, user, old, hash).await?,
        Reason::Replaced => user::set_password(tx, user, hash).await?,
    };
    if changed == 0 {
        return Ok(false);
    }
    match kept {
        Some(kept) => session::delete_others(tx, user, kept).await?,
        None => session::delete_of_user(tx, user).await?,
    };
    if reason == Reason::Replaced {
        api_token::delete_of_user(tx, user).await?;
    }
    Ok(true)
}
