//! The feedback directory, in which a checker or interactor leaves files for the judge.
//!
//! An untrusted program wrote everything in it. The judge opens nothing by a path that could lead
//! out of it, and reads regular files only. The judge can remove it at any depth and with any
//! modes.
//!
//! | file | content |
//! | --- | --- |
//! | `directory` | making the directory, and reading files in it |
//! | `watch` | the limits on what a running program leaves in it |
//! | `removal` | removing everything that a program left |

mod directory;
mod removal;
mod watch;

pub use directory::{Feedback, FeedbackError, FeedbackPlace};
pub use watch::Excess;
pub(crate) use watch::{WATCH_INTERVAL, Watch};
