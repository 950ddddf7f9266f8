//! Passwords: argon2id on a bounded number of threads.

use super::lane::{Bounds, Key, Lane, LaneError};
use super::party::Party;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Argon2, PasswordHash};
use std::sync::Arc;

/// The minimum and maximum length of a password, in bytes.
pub const LENGTHS: std::ops::RangeInclusive<usize> = 8..=256;
/// The maximum number of requests that wait for a hash.
const MAX_WAITING: usize = 1000;
/// The same for one party and one login. An import of users hashes four at a time.
const WAITING_OF_ASKER: usize = 32;

/// The request for a hash. Parties take turns, and among those of a party, its logins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Asker {
    /// The party.
    pub party: Party,
    /// The login, without which all requests of the party are alike.
    pub login: String,
}

impl Key for Asker {
    type Group = Party;

    fn group(&self) -> Party {
        self.party.clone()
    }
}

impl From<Party> for Asker {
    fn from(party: Party) -> Asker {
        let login = String::new();
        Asker { party, login }
    }
}

/// Why a password was neither hashed nor verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PasswordError {
    /// Too many requests wait.
    #[error("too many sign-ins at this moment; try again in a few seconds")]
    Busy,
    /// The hash function failed, or a stored hash is malformed.
    #[error("cannot hash a password: {0}")]
    Hash(#[from] argon2::password_hash::Error),
    /// A stored hash is malformed.
    #[error("a stored password is malformed: {0}")]
    Stored(#[from] argon2::password_hash::phc::Error),
    /// A thread panicked.
    #[error("a thread that hashes passwords failed")]
    Thread(#[from] tokio::task::JoinError),
}

/// Hashes passwords on a few threads, because each hash takes 19 MiB and 30 ms of CPU time.
#[derive(Debug, Clone)]
pub struct Passwords {
    lane: Lane<Asker>,
    /// The hash of a random password, verified if a login does not exist.
    decoy: Arc<str>,
}

impl Passwords {
    /// Hashes at most `threads` passwords at the same time.
    ///
    /// # Errors
    /// The hash function does not work.
    pub fn new(threads: usize) -> Result<Passwords, PasswordError> {
        let threads = threads.max(1);
        let lane = Lane::new(Bounds {
            turns: threads,
            turns_of_key: threads,
            waiting: MAX_WAITING,
            waiting_of_key: WAITING_OF_ASKER,
        });
        Ok(Passwords {
            lane,
            decoy: hash(&super::token::Token::random().hex())?.into(),
        })
    }

    /// The hash of a new password.
    ///
    /// # Errors
    /// Too many requests wait, or hashing fails.
    pub async fn hash(
        &self,
        asker: impl Into<Asker>,
        password: &str,
    ) -> Result<String, PasswordError> {
        let password = password.to_owned();
        self.run(asker.into(), move || hash(&password)).await
    }

    /// Whether a password matches a stored hash. Without a hash, the check takes as long and
    /// returns false.
    ///
    /// # Errors
    /// Too many requests wait, or the stored hash is malformed.
    pub async fn verify(
        &self,
        asker: impl Into<Asker>,
        password: &str,
        stored: Option<&str>,
    ) -> Result<bool, PasswordError> {
        let is_known = stored.is_some();
        let stored = stored.unwrap_or(&self.decoy).to_owned();
        let password = password.to_owned();
        let fits = self
            .run(asker.into(), move || {
                let stored = PasswordHash::new(&stored)?;
                let verified = Argon2::default().verify_password(password.as_bytes(), &stored);
                Ok(verified.is_ok())
            })
            .await?;
        Ok(fits && is_known)
    }

    async fn run<T: Send + 'static>(
        &self,
        asker: Asker,
        work: impl FnOnce() -> Result<T, PasswordError> + Send + 'static,
    ) -> Result<T, PasswordError> {
        match self.lane.run(asker, work).await {
            Ok(result) => result,
            Err(LaneError::Full) => Err(PasswordError::Busy),
            Err(LaneError::Thread(error)) => Err(error.into()),
        }
    }
}

fn hash(password: &str) -> Result<String, PasswordError> {
    let hash = Argon2::default().hash_password(password.as_bytes())?;
    Ok(hash.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn password_fits_only_its_own_hash() {
        let passwords = Passwords::new(1).unwrap();
        let stored = passwords.hash(Party::Site, "correct horse").await.unwrap();
        assert!(stored.starts_with("$argon2id$"), "{stored}");
        assert!(
            passwords
                .verify(Party::Site, "correct horse", Some(&stored))
                .await
                .unwrap()
        );
        assert!(
            !passwords
                .verify(Party::Site, "correct hors", Some(&stored))
                .await
                .unwrap()
        );
        assert!(
            !passwords
                .verify(Party::Site, "correct horse", None)
                .await
                .unwrap()
        );
        let second = passwords.hash(Party::Site, "correct horse").await.unwrap();
        assert_ne!(stored, second, "each hash has its own salt");
    }

    #[tokio::test]
    async fn crowd_of_one_address_delays_another_by_one_turn() {
        use std::sync::Mutex;
        let passwords = Passwords::new(1).unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let hash = |host: u8, login: usize| {
            let (passwords, order) = (passwords.clone(), order.clone());
            let asker = Asker {
                party: Party::Network([192, 0, 2, host].into()),
                login: login.to_string(),
            };
            async move {
                let hashed = passwords.hash(asker, "correct horse").await;
                order.lock().unwrap().push(host);
                hashed
            }
        };
        // The crowd has other logins, and the same one.
        let crowd = (0..24).map(|number| hash(1, number / 2));
        let crowd = futures_util::future::join_all(crowd);
        let (crowd, modest) = tokio::join!(crowd, hash(2, 0));
        assert!(modest.is_ok() && crowd.iter().all(Result::is_ok));
        let order = order.lock().unwrap().clone();
        let place = order.iter().position(|host| *host == 2).unwrap();
        assert!(place <= 12, "{order:?}");
        let refused = (0..40).map(|_| hash(1, 0));
        let refused = futures_util::future::join_all(refused).await;
        let is_busy = |it: &_| matches!(it, Err(PasswordError::Busy));
        assert!(refused.iter().any(is_busy), "one login has a few places");
    }
}
