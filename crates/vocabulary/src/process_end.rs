//! How a process ended.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How a process ended.
///
/// ```
/// use millibox_vocabulary::ProcessEnd;
/// assert_eq!(ProcessEnd::Exited(1).to_string(), "exited with status 1");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ProcessEnd {
    /// The process exited with this status.
    Exited(i32),
    /// This signal killed the process.
    Killed(i32),
}

impl fmt::Display for ProcessEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProcessEnd::Exited(status) => write!(f, "exited with status {status}"),
            // The process's seccomp policy allows all calls that the process needs.
            ProcessEnd::Killed(libc::SIGSYS) => f.write_str(
                "was killed by signal SYS: it made a system call that its policy forbids, so it \
                 has a bug or was compromised; the kernel's log names the call (type=1326)",
            ),
            ProcessEnd::Killed(signal) => {
                write!(f, "was killed by signal {}", crate::signal_name(*signal))
            }
        }
    }
}
