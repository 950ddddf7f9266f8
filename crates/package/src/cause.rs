//! Causes of errors, for errors that are cloned and compared.

use std::fmt;
use std::sync::Arc;

/// The cause of an error, shared by its clones. Two causes are equal if their messages are equal.
///
/// It dereferences to the original error:
///
/// ```
/// use millibox_package::Cause;
///
/// let cause = Cause::from(std::io::Error::from_raw_os_error(13));
/// assert_eq!(cause.raw_os_error(), Some(13));
/// assert_eq!(cause.clone(), cause);
/// ```
#[derive(Debug)]
pub struct Cause<E>(Arc<E>);

impl<E> Clone for Cause<E> {
    fn clone(&self) -> Cause<E> {
        Cause(self.0.clone())
    }
}

impl<E> From<E> for Cause<E> {
    fn from(error: E) -> Cause<E> {
        Cause(Arc::new(error))
    }
}

impl<E> std::ops::Deref for Cause<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.0
    }
}

impl<E: fmt::Display> fmt::Display for Cause<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<E: fmt::Display> PartialEq for Cause<E> {
    fn eq(&self, other: &Cause<E>) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl<E: fmt::Display> Eq for Cause<E> {}
