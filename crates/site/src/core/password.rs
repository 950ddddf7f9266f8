//! Passwords: argon2id on a bounded number of threads.

use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Argon2, PasswordHash};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The minimum and maximum length of a password, in bytes.
pub const LENGTHS: std::ops::RangeInclusive<usize> = 8..=256;
/// The maximum number of requests that wait for a hash. Additional requests are refused.
const MAX_WAITING: usize = 1000;

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
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    /// The hash of a random password, verified if a login does not exist.
    decoy: Arc<str>,
}

impl Passwords {
    /// Hashes at most `threads` passwords at the same time.
    ///
    /// # Errors
    /// The hash function does not work.
    pub fn new(threads: usize) -> Result<Passwords, PasswordError> {
        Ok(Passwords {
            running: Arc::new(Semaphore::new(threads.max(1))),
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
            decoy: hash(&super::token::Token::random().hex())?.into(),
        })
    }

    /// The hash of a new password.
    ///
    /// # Errors
    /// Too many requests wait, or hashing fails.
    pub async fn hash(&self, password: &str) -> Result<String, PasswordError> {
        let password = password.to_owned();
        self.run(move || hash(&password)).await
    }

    /// Whether a password matches a stored hash. Without a hash, the check takes as long and
    /// returns false.
    ///
    /// # Errors
    /// Too many requests wait, or the stored hash is malformed.
    pub async fn verify(
        &self,
        password: &str,
        stored: Option<&str>,
    ) -> Result<bool, PasswordError> {
        let is_known = stored.is_some();
        let stored = stored.unwrap_or(&self.decoy).to_owned();
        let password = password.to_owned();
        let fits = self
            .run(move || {
                let stored = PasswordHash::new(&stored)?;
                let verified = Argon2::default().verify_password(password.as_bytes(), &stored);
                Ok(verified.is_ok())
            })
            .await?;
        Ok(fits && is_known)
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, PasswordError> + Send + 'static,
    ) -> Result<T, PasswordError> {
        let Ok(_place) = self.waiting.try_acquire() else {
            return Err(PasswordError::Busy);
        };
        let Ok(permit) = self.running.clone().acquire_owned().await else {
            return Err(PasswordError::Busy);
        };
        tokio::task::spawn_blocking(move || {
            let result = work();
            drop(permit);
            result
        })
        .await?
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
        let stored = passwords.hash("correct horse").await.unwrap();
        assert!(stored.starts_with("$argon2id$"), "{stored}");
        assert!(
            passwords
                .verify("correct horse", Some(&stored))
                .await
                .unwrap()
        );
        assert!(
            !passwords
                .verify("correct hors", Some(&stored))
                .await
                .unwrap()
        );
        assert!(!passwords.verify("correct horse", None).await.unwrap());
        let second = passwords.hash("correct horse").await.unwrap();
        assert_ne!(stored, second, "each hash has its own salt");
    }

    #[tokio::test]
    async fn requests_beyond_the_bound_are_refused() {
        let passwords = Passwords::new(1).unwrap();
        let places = u32::try_from(MAX_WAITING).unwrap();
        let _all = passwords.waiting.acquire_many(places).await.unwrap();
        let refused = passwords.hash("correct horse").await;
        assert!(matches!(refused, Err(PasswordError::Busy)), "{refused:?}");
    }
}
