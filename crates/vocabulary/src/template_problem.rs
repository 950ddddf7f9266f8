//! The reasons why the template of a prepared program cannot be copied.

use crate::ProcessEnd;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The reason why the template of a prepared program cannot be copied. Its text completes a
/// sentence that begins with "its template".
///
/// ```
/// use millibox_vocabulary::{TemplateProblem, Unfit};
/// assert_eq!(TemplateProblem::NotReady.to_string(), "was not ready in time");
/// assert_eq!(TemplateProblem::Unfit(Unfit::Threads).to_string(), "has more than one thread");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TemplateProblem {
    /// The template ended before it was ready, or before it could make a copy.
    Ended(ProcessEnd),
    /// The template was not ready in time, or did not make a copy in time.
    NotReady,
    /// The template used more CPU time than allowed before it was ready.
    CpuTime,
    /// The template used more memory than allowed before it was ready.
    OutOfMemory,
    /// The program, its world or the request does not allow copies.
    Unfit(Unfit),
    /// The prepared program could not be executed, for example because it does not exist.
    NotExecuted {
        /// The error number of execveat(2).
        errno: i32,
    },
}

/// The reason why copies of a program are not possible. Its text completes a sentence that begins
/// with "its template".
///
/// ```
/// use millibox_vocabulary::Unfit;
/// assert_eq!(Unfit::CpuBandwidth.to_string(), "cannot have a limited CPU bandwidth");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Unfit {
    /// The backend cannot separate the figures of a run from those of the template.
    Backend,
    /// pid1 has its own memory.
    SeparatePid1,
    /// The world has a mount below a tmpfs of the run.
    MountBelowTmpfs,
    /// The world has no seccomp program that can be attached to template and run.
    Seccomp,
    /// Runs have the user id 0 or the group id 0 inside.
    RootInside,
    /// The world allows runs to create namespaces.
    Namespaces,
    /// Arguments and environment are too long.
    TooLong,
    /// The request limits the CPU bandwidth.
    CpuBandwidth,
    /// The program does not follow the protocol of the library.
    Protocol,
    /// The program has more than one thread when it makes a copy.
    Threads,
    /// The program maps memory that it would share with its copies.
    SharedMemory,
}

impl fmt::Display for TemplateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TemplateProblem::Ended(end) => write!(f, "{end} before it was ready"),
            TemplateProblem::NotReady => f.write_str("was not ready in time"),
            TemplateProblem::CpuTime => f.write_str("used too much CPU time before it was ready"),
            TemplateProblem::OutOfMemory => f.write_str("ran out of memory"),
            TemplateProblem::Unfit(unfit) => unfit.fmt(f),
            TemplateProblem::NotExecuted { errno } => {
                let error = std::io::Error::from_raw_os_error(*errno);
                write!(f, "could not be executed: {error}")
            }
        }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unfit::Backend => "cannot be measured apart from its runs by this backend",
            Unfit::SeparatePid1 => "needs a pid1 in its runner's memory, but this pid1 is separate",
            Unfit::MountBelowTmpfs => "has a mount below a tmpfs that belongs to each run",
            Unfit::Seccomp => "has a seccomp program that is too long for it",
            Unfit::RootInside => "has the user or group id 0, which it cannot pass on",
            Unfit::Namespaces => "may create namespaces, whose number is limited for each run",
            Unfit::TooLong => "accepts at most 64 KiB of arguments and environment",
            Unfit::CpuBandwidth => "cannot have a limited CPU bandwidth",
            Unfit::Protocol => "does not follow the protocol of the library",
            Unfit::Threads => "has more than one thread",
            Unfit::SharedMemory => "maps memory that its copies would share",
        })
    }
}
