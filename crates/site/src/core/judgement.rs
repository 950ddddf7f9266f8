//! The states of judgements.

use crate::db::text_enum;

text_enum! {
    /// The state of a judgement.
    State {
        /// It waits for a worker.
        Queued = "queued",
        /// A worker has a lease.
        Running = "running",
        /// It has a result.
        Done = "done",
        /// The judge could not judge. The submission is not to blame.
        Fault = "fault",
        /// A user has stopped it.
        Cancelled = "cancelled",
    }
}
