//! The queue of judgements, as workers see it.

use crate::digest::Digest;
use crate::result::{Failure, Outcome, Progress, Verdict};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// A judgement and the number of its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lease {
    /// The judgement.
    pub judgement: i64,
    /// The attempt. A later attempt invalidates this one.
    pub attempt: i64,
}

/// A judgement that a worker has leased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The lease.
    pub lease: Lease,
    /// How long the worker may be silent before another worker may take the judgement, in
    /// milliseconds.
    pub lease_ms: u64,
    /// The submission, for messages.
    pub submission: i64,
    /// Whether the judgement makes way for submissions to contests.
    pub makes_way: bool,
    /// Whether the worker only measures the times: no time limit of the package applies.
    #[serde(default)]
    pub measures: bool,
    /// The name of the language.
    pub language: String,
    /// The name of the submission in its package, if it belongs to a package.
    pub model_name: Option<String>,
    /// The name of the source.
    pub file_name: String,
    /// The source.
    #[serde(with = "crate::message::base64_bytes")]
    pub source: Vec<u8>,
    /// The digest of the package.
    pub package: Digest,
    /// The size of the package.
    pub package_bytes: u64,
}

impl Task {
    /// How often the worker renews the lease.
    pub fn renewal_interval(&self) -> Duration {
        Duration::from_millis(self.lease_ms / 3)
    }

    /// Whether the name of the source is that of a file in a directory, and not a path.
    pub fn has_safe_name(&self) -> bool {
        let path = Path::new(&self.file_name);
        let mut parts = path.components();
        let first = parts.next();
        let is_name = matches!(first, Some(Component::Normal(name)) if name == path.as_os_str());
        is_name && parts.next().is_none() && !self.file_name.contains('\0')
    }
}

/// A queue of judgements. The methods with a lease return false if the worker has lost the lease.
pub trait Queue: Send + Sync + 'static {
    /// Why the queue cannot be used.
    type Error: Error + Send + Sync;

    /// Leases the next judgement to a worker.
    fn claim(&self, worker: &str)
    -> impl Future<Output = Result<Option<Task>, Self::Error>> + Send;

    /// The archive of a leased judgement's package.
    fn package(&self, task: &Task) -> impl Future<Output = Result<PathBuf, Self::Error>> + Send;

    /// Renews a lease.
    fn renew(&self, lease: Lease) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Stores the initial verdict.
    fn set_initial(
        &self,
        lease: Lease,
        verdict: Verdict,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Shows the results of tests. They are not stored, and a caller does not wait for them.
    fn show(&self, lease: Lease, progress: &Progress);

    /// Stores the result and ends the lease.
    fn finish(
        &self,
        lease: Lease,
        outcome: Outcome,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Ends the lease without a result.
    fn fail(
        &self,
        lease: Lease,
        failure: Failure,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Queues a leased judgement again if a submission to a contest waits for its worker. The
    /// worker then ends the judging, claims the next judgement, and calls [`Queue::way_used`].
    fn make_way(&self, lease: Lease) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// The worker that has made way has claimed its next judgement.
    fn way_used(&self) -> impl Future<Output = ()> + Send;

    /// The worker no longer works on the judgement.
    fn ended(&self, lease: Lease);

    /// Waits until the queue may have judgements.
    fn wait(&self) -> impl Future<Output = ()> + Send;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_with_a_path_as_its_name_is_not_safe() {
        let named = |name: &str| Task {
            lease: Lease {
                judgement: 1,
                attempt: 1,
            },
            lease_ms: 30_000,
            submission: 1,
            makes_way: false,
            measures: false,
            language: "c17".to_owned(),
            model_name: None,
            file_name: name.to_owned(),
            source: Vec::new(),
            package: Digest::of(b""),
            package_bytes: 0,
        };
        assert!(named("a.c").has_safe_name());
        for wrong in ["", ".", "..", "/a.c", "a/b.c", "../a.c", "a/", "./a", "a\0"] {
            assert!(!named(wrong).has_safe_name(), "{wrong:?}");
        }
        assert_eq!(named("a").renewal_interval(), Duration::from_secs(10));
    }
}
