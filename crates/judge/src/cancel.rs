//! A token that cancels judging.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Cancels the call of the judge to which it was passed: the judge kills the running programs and
/// starts no others.
///
/// Clones cancel the same call. The judge checks the token before each test, and every 50 ms while
/// a program runs.
///
/// ```
/// use millibox_judge::cancel::CancelToken;
///
/// let token = CancelToken::new();
/// let other = token.clone();
/// std::thread::spawn(move || other.cancel()).join().unwrap();
/// assert!(token.is_cancelled());
/// ```
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Cancels the call. Any thread may do this, any number of times.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether [`CancelToken::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
