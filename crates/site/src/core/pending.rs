//! Sign-ins with a correct password that wait for a one-time password.

use super::back::Back;
use super::token::Token;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a sign-in may wait.
pub const PENDING_LASTS: Duration = Duration::from_secs(5 * 60);
/// The maximum number of sign-ins that wait at the same time. Additional sign-ins are refused.
const MAX_PENDING: usize = 10_000;

/// A sign-in that waits.
#[derive(Debug, Clone)]
pub struct SignIn {
    /// The user.
    pub user: i64,
    /// Whether the user wants to stay signed in.
    pub keep: bool,
    /// The page that follows the sign-in.
    pub back: Back,
}

/// Sign-ins that wait, by the digests of their tokens.
#[derive(Debug, Default)]
pub struct Pending {
    waiting: Mutex<HashMap<[u8; 32], (SignIn, Instant)>>,
}

impl Pending {
    /// Adds a sign-in. Returns `None` if too many sign-ins are waiting.
    pub fn add(&self, sign_in: SignIn, now: Instant) -> Option<Token> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, (_, end)| now < *end);
        if waiting.len() >= MAX_PENDING {
            return None;
        }
        let token = Token::random();
        waiting.insert(token.digest(), (sign_in, now + PENDING_LASTS));
        Some(token)
    }

    /// The sign-in of a token, which continues to wait.
    pub fn get(&self, token: &Token, now: Instant) -> Option<SignIn> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let (sign_in, end) = waiting.get(&token.digest())?;
        (now < *end).then(|| sign_in.clone())
    }

    /// Ends all sign-ins of a user.
    pub fn remove_of_user(&self, user: i64) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, (sign_in, _)| sign_in.user != user);
    }

    /// Ends a sign-in.
    pub fn remove(&self, token: &Token) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.remove(&token.digest());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_in_waits_for_a_while_and_ends_once() {
        let pending = Pending::default();
        let now = Instant::now();
        let sign_in = SignIn {
            user: 7,
            keep: true,
            back: Back::default(),
        };
        let token = pending.add(sign_in, now).unwrap();
        assert_eq!(pending.get(&token, now).map(|it| it.user), Some(7));
        assert!(pending.get(&Token::random(), now).is_none());
        assert!(pending.get(&token, now + PENDING_LASTS).is_none());
        pending.remove(&token);
        assert!(pending.get(&token, now).is_none());
    }

    #[test]
    fn new_password_ends_the_waiting_sign_ins_of_its_user() {
        let pending = Pending::default();
        let now = Instant::now();
        let tokens = [7, 8, 7].map(|user| {
            let sign_in = SignIn {
                user,
                keep: false,
                back: Back::default(),
            };
            pending.add(sign_in, now).unwrap()
        });
        pending.remove_of_user(7);
        let left = tokens.map(|token| pending.get(&token, now).map(|it| it.user));
        assert_eq!(left, [None, Some(8), None]);
    }
}
