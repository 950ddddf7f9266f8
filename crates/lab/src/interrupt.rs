//! An end from outside.
//!
//! Experiments hold what does not go with the process: directories, cgroups, other sandboxes' servers and boxes. So a
//! signal does not end them: whoever catches it says so here, the next run fails, and all is dropped as after any error.

use crate::Error;
use std::sync::atomic::{AtomicBool, Ordering};

/// A signal is the whole process's, and so is this.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on no run of any experiment in this process begins. Returns whether that was so already.
pub fn interrupt() -> bool {
    INTERRUPTED.swap(true, Ordering::Relaxed)
}

/// Before each run.
pub(crate) fn check() -> Result<(), Error> {
    if INTERRUPTED.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
}
