//! New passwords.
//!
//! All changes lock the rows in the same order: links, the user, sessions, tokens, identities.
//! Otherwise, two changes at the same time could wait for each other.

use super::credential::{self, Kept};
use super::{Result, Tx, reset, user};

/// Stores the hash of a new password, and ends the user's other credentials except those that are
/// `kept`. Returns false if the hash of the old password is no longer `old`.
///
/// # Errors
/// The database rejects a statement.
pub async fn set(
    tx: &mut Tx,
    user: i64,
    hash: &str,
    old: Option<&str>,
    kept: Kept,
) -> Result<bool> {
    reset::delete_of_user(tx, user).await?;
    let changed = match old {
        Some(old) => user::change_password(tx, user, old, hash).await?,
        None => user::set_password(tx, user, hash).await?,
    };
    if changed == 0 {
        return Ok(false);
    }
    credential::end(tx, user, kept).await?;
    Ok(true)
}
