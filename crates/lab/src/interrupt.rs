//! Ends experiments in an orderly way after a signal.
//!
//! Experiments hold resources that outlive the process: directories, cgroups, other sandboxes'
//! servers and boxes. So a signal handler calls [`interrupt`] instead of exiting. The next run then
//! fails, and all resources are dropped as after any other error.

use crate::Error;
use std::sync::atomic::{AtomicBool, Ordering};

/// A single flag suffices, because a signal concerns the whole process.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Prevents further runs of any experiment in this process. Returns whether it was called before.
pub fn interrupt() -> bool {
    INTERRUPTED.swap(true, Ordering::Relaxed)
}

/// Fails if [`interrupt`] was called. This check precedes each run.
pub(crate) fn check() -> Result<(), Error> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        Err(Error::Interrupted)
    } else {
        Ok(())
    }
}
