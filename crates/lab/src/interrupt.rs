//! An orderly end after a signal.
//!
//! Experiments hold resources that outlive the process: directories, cgroups, other sandboxes'
//! servers and boxes. So a signal handler calls [`interrupt`] instead of exiting. The next run then
//! fails, and everything is dropped as after any error.

use crate::Error;
use std::sync::atomic::{AtomicBool, Ordering};

/// One flag for the process, as a signal concerns the whole process.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Prevents other runs of any experiment in this process. Returns whether it was called before.
pub fn interrupt() -> bool {
    INTERRUPTED.swap(true, Ordering::Relaxed)
}

/// Fails if [`interrupt`] was called. Called before each run.
pub(crate) fn check() -> Result<(), Error> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        Err(Error::Interrupted)
    } else {
        Ok(())
    }
}
