//! The feedback directory, in which a checker or interactor leaves files for the judge.
//!
//! An untrusted program wrote everything in the directory. The judge opens no path that could lead
//! out of the directory, and reads only regular files. It can remove the directory regardless of
//! its depth and of the modes of its files.
//!
//! | file | content |
//! | --- | --- |
//! | `directory` | creating the directory, and reading files in it |
//! | `watch` | the limits on what a running program leaves in it |

mod directory;
mod watch;

pub use directory::{Feedback, FeedbackError, FeedbackPlace};
pub use watch::Excess;
pub(crate) use watch::{WATCH_INTERVAL, Watch};
