//! Sign-ins that wait for a one-time password.

use super::back::Back;
use super::shares::Shares;
use crate::db::credential::Proof;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a sign-in may wait.
pub const PENDING_LASTS: Duration = Duration::from_secs(5 * 60);
/// The maximum number of sign-ins that wait at the same time.
const MAX_PENDING: usize = 10_000;

/// A sign-in that waits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SignIn {
    /// The user.
    pub user: i64,
    /// What the user has shown. It is compared again when the session begins.
    pub proof: Proof,
    /// Whether the user wants to stay signed in.
    pub keep: bool,
    /// The page that follows the sign-in.
    pub back: Back,
}

/// Sign-ins that wait, by their users.
pub type Pending = Shares<i64, SignIn>;

/// A memory for sign-ins.
pub fn pending() -> Pending {
    Shares::new(MAX_PENDING, PENDING_LASTS)
}
