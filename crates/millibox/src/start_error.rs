//! Errors of a supervisor that could not be started or has ended.

use crate::remedy::remedy;
use crate::{Mistakes, ProcessEnd, SupervisorError};
use millibox_wire::MAX_CPUS;
use millibox_wire::frame::PROTOCOL;
use std::fmt;
use std::path::{Path, PathBuf};

/// The reason why no supervisor could be started.
///
/// ```
/// use millibox::{Error, StartError, Supervisor};
///
/// let missing = Supervisor::builder().executable("/missing").start();
/// assert!(matches!(missing, Err(Error::Start(StartError::NotExecuted { .. }))));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The supervisor's executable does not exist at any of these paths.
    #[error(
        "cannot find millibox-supervisor at {}; install millibox (make install or its package), \
         put the executable beside this program, or set MILLIBOX_SUPERVISOR to its path",
        list(.0)
    )]
    NotFound(Vec<PathBuf>),
    /// The supervisor's executable cannot be executed.
    #[error(
        "cannot execute the supervisor {}: {error}{}",
        named(.path, *.named_by),
        remedy(.error, *.named_by)
    )]
    NotExecuted {
        /// The executable.
        path: PathBuf,
        /// The environment variable or option that named it; `None` if it was looked up.
        named_by: Option<&'static str>,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// The executed program is not a supervisor of this version.
    #[error("{} is not a millibox-supervisor of this version: {reason}", named(.path, *.named_by))]
    NotSupervisor {
        /// The executable.
        path: PathBuf,
        /// The environment variable or option that named it; `None` if it was looked up.
        named_by: Option<&'static str>,
        /// The reason why it ended.
        reason: EndReason,
    },
    /// The executable is a supervisor of a different version, which cannot serve this library.
    #[error(
        "{} has version {found} and cannot serve this library of version {}: {}; install both from \
         the same release of millibox{}",
        named(.path, *.named_by),
        env!("CARGO_PKG_VERSION"),
        incompatible(.reason),
        or_change(*.named_by)
    )]
    Version {
        /// The executable.
        path: PathBuf,
        /// The environment variable or option that named it; `None` if it was looked up.
        named_by: Option<&'static str>,
        /// The version of the supervisor.
        found: String,
        /// The reason why it ended.
        reason: Box<EndReason>,
    },
    /// The supervisor reported an error and ended.
    #[error("cannot start the supervisor: {error}{}", parent(.cgroup_parent))]
    Failed {
        /// The error.
        error: SupervisorError,
        /// The value of `MILLIBOX_CGROUP_PARENT`, if that variable chose the place of the cgroups
        /// and cgroups could not be used.
        cgroup_parent: Option<String>,
    },
    /// The supervisor was killed before it could serve.
    #[error("cannot start the supervisor: {0}")]
    Killed(EndReason),
    /// The process that starts supervisors for this process ([`Builder::launcher`]) has not started
    /// it.
    ///
    /// [`Builder::launcher`]: crate::Builder::launcher
    #[error("another process could not start the supervisor: {0}")]
    Launcher(std::io::Error),
    /// Options of the builder are not valid. The list contains all mistakes that were found.
    #[error(transparent)]
    Options(#[from] Mistakes<OptionMistake>),
    /// This thread may not use any CPU, so a pool would be empty.
    #[error("this thread may not use any CPU")]
    EmptyPool,
}

/// A mistake in the options of a [`Builder`](crate::Builder).
///
/// ```
/// use millibox::{Error, OptionMistake, StartError, Supervisor};
///
/// let started = Supervisor::builder().slots(0).cpus([]).start();
/// let Err(Error::Start(StartError::Options(mistakes))) = started else { panic!() };
/// assert_eq!(mistakes.as_slice()[0], OptionMistake::NoCpus);
/// assert!(matches!(mistakes.as_slice()[1], OptionMistake::OutOfRange { number: 0, .. }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionMistake {
    /// The list of CPUs is empty. A caller that finds no CPU passes an empty list, which must not
    /// mean all CPUs.
    #[error("the list of CPUs is empty; name at least one CPU, or omit the list")]
    NoCpus,
    /// A CPU number is too large.
    #[error("CPU {0} does not exist; the largest number is {last}", last = MAX_CPUS - 1)]
    CpuNumber(usize),
    /// A number of slots or runners is out of range.
    #[error("the number of {counted} is {number}; pass a number from 1 to {max}")]
    OutOfRange {
        /// The counted objects, in the plural.
        counted: &'static str,
        /// The number.
        number: usize,
        /// The maximum.
        max: usize,
    },
    /// The parent of the cgroups is not an absolute path without `..`.
    #[error("{named_by}: {parent:?} is not an absolute path without ..; name an existing cgroup")]
    CgroupParent {
        /// The path.
        parent: String,
        /// The environment variable or option that named it.
        named_by: &'static str,
    },
}

/// The reason why a supervisor has ended or the connection to it was closed.
///
/// ```
/// use millibox::{EndReason, Error, Request, Supervisor};
///
/// let Ok(supervisor) = Supervisor::start() else { return };
/// supervisor.close();
/// let after = supervisor.run(&Request::new("/bin/true"));
/// assert!(matches!(after, Err(Error::Died(EndReason::ClosedHere))));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// This program closed the connection, with `Supervisor::close` or `shut_down` or by dropping
    /// the value.
    ClosedHere,
    /// This process was forked from the process that started the supervisor.
    Forked,
    /// A frame of the supervisor cannot be read for this reason.
    Unreadable(FrameFault),
    /// The supervisor reported this error.
    Failed(SupervisorError),
    /// The process wrote this message to standard error and ended.
    Message(String),
    /// The process ended without a message.
    Process(ProcessEnd),
    /// The supervisor closed its socket, and nothing more is known.
    Closed,
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndReason::ClosedHere => f.write_str("this program closed the connection"),
            EndReason::Forked => f.write_str(
                "it serves only the process that started it, and this process was forked from that \
                 one",
            ),
            EndReason::Unreadable(reason) => write!(
                f,
                "one of its messages cannot be read ({reason}); library and supervisor must be of \
                 the same version: install both together"
            ),
            EndReason::Failed(error) => error.fmt(f),
            EndReason::Message(text) => f.write_str(text),
            EndReason::Process(end) => write!(f, "it {end}"),
            EndReason::Closed => f.write_str("it closed its socket"),
        }
    }
}

fn named(path: &Path, by: Option<&str>) -> String {
    match by {
        Some(by) => format!("{} ({by})", path.display()),
        None => path.display().to_string(),
    }
}

/// The difference between two versions that became visible.
fn incompatible(reason: &EndReason) -> String {
    match reason {
        EndReason::Unreadable(fault) => fault.to_string(),
        reason => reason.to_string(),
    }
}

fn or_change(named_by: Option<&str>) -> String {
    named_by.map_or_else(String::new, |by| format!(", or change {by}"))
}

fn protocol(word: u32) -> String {
    const NAME: u32 = 0x00ff_ffff;
    if word & NAME == PROTOCOL & NAME {
        format!(
            "it speaks version {} of the protocol instead of version {}",
            word >> 24,
            PROTOCOL >> 24
        )
    } else {
        format!("{word:#010x} is not the first word of a message")
    }
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(", ")
}

fn parent(variable: &Option<String>) -> String {
    match variable {
        Some(value) => format!("; MILLIBOX_CGROUP_PARENT is {value}"),
        None => String::new(),
    }
}

/// The reason why a frame of the supervisor cannot be read.
///
/// ```
/// use millibox::{EndReason, FrameFault};
///
/// let fault = FrameFault::TrailingBytes(4);
/// assert_eq!(fault.to_string(), "malformed message: 4 bytes too many");
/// assert!(matches!(EndReason::Unreadable(fault), EndReason::Unreadable(_)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameFault {
    /// The frame is longer than the library accepts.
    #[error("it is longer than {max_bytes} bytes")]
    TooLong {
        /// The maximum number of bytes.
        max_bytes: usize,
    },
    /// The frame is shorter than its header and has this number of bytes.
    #[error("a frame of {0} bytes is shorter than a frame header")]
    Short(usize),
    /// The first word belongs to another protocol or version.
    #[error("{}", protocol(*.0))]
    Protocol(u32),
    /// No message has this kind.
    #[error("unknown message kind {0}")]
    UnknownKind(u32),
    /// A message of this kind is not expected at this point.
    #[error("a message of kind {0} is not expected")]
    UnexpectedKind(u32),
    /// The body does not encode the expected type. The text comes from the decoder.
    #[error("malformed message: {0}")]
    Malformed(String),
    /// This number of bytes follows the end of the body.
    #[error("malformed message: {0} bytes too many")]
    TrailingBytes(usize),
}
