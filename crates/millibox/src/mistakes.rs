//! Lists of mistakes, so that a caller can correct all mistakes at once.

use std::fmt;

/// One or more mistakes of a caller. [`Display`](fmt::Display) writes each mistake on its own line.
///
/// ```
/// use millibox::{Request, RequestMistake};
///
/// let request = Request::new("").cpus([2000]);
/// let mistakes = request.check().unwrap_err();
/// assert_eq!(
///     mistakes.as_slice(),
///     [RequestMistake::CpuNumber(2000), RequestMistake::EmptyPath]
/// );
/// assert_eq!(mistakes.to_string().lines().count(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes<M>(Vec<M>);

impl<M> Mistakes<M> {
    /// Returns an error if the list is not empty.
    pub(crate) fn check(list: Vec<M>) -> Result<(), Mistakes<M>> {
        if list.is_empty() {
            Ok(())
        } else {
            Err(Mistakes(list))
        }
    }

    /// Joins the mistakes of several lists.
    pub(crate) fn joined(lists: impl Iterator<Item = Mistakes<M>>) -> Mistakes<M> {
        Mistakes(lists.flatten().collect())
    }

    /// The mistakes in the order in which they were found; at least one.
    pub fn as_slice(&self) -> &[M] {
        &self.0
    }
}

impl<M> From<M> for Mistakes<M> {
    fn from(mistake: M) -> Mistakes<M> {
        Mistakes(vec![mistake])
    }
}

impl<M> IntoIterator for Mistakes<M> {
    type Item = M;
    type IntoIter = std::vec::IntoIter<M>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<M: fmt::Display> fmt::Display for Mistakes<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.iter().enumerate() {
            let separator = if index > 0 { "\n" } else { "" };
            write!(f, "{separator}{mistake}")?;
        }
        Ok(())
    }
}

impl<M: fmt::Debug + fmt::Display> std::error::Error for Mistakes<M> {}
