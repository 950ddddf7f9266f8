//! Why the value of an option is not accepted.

use super::MAX_CPUS;
use millibox::{Mistakes, RequestMistake};
use millibox_cli_support::values;
use millibox_package::Cause;
use std::io;

/// Why the value of an option is not accepted. clap puts the name of the option and the value
/// before the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// A number, a time or an id.
    #[error(transparent)]
    Common(#[from] values::ValueError),
    /// The value is not a kind of linking.
    #[error("must be static or dynamic")]
    Link,
    /// The value is not a size.
    #[error(
        "must be a number of bytes, or of K, M, G, T, P (powers of 1024; KiB and KB mean the \
         same), for example 64M"
    )]
    Size,
    /// The size has more than 64 bits.
    #[error("too large: the maximum is {} bytes", u64::MAX)]
    SizeTooLarge,
    /// The size is 0.
    #[error("must be more than 0")]
    Empty,
    /// The unit of a size is probably missing.
    #[error("{0} bytes are too few for any program; write {0}M for {0} MiB")]
    MemoryUnit(String),
    /// The memory is too small.
    #[error("must be at least 1M")]
    Memory,
    /// The time is too long.
    #[error("must be at most a day")]
    Day,
    /// The value is not a bandwidth.
    #[error("must be MAX/PERIOD, for example 50ms/100ms")]
    Bandwidth,
    /// The CPU time of a bandwidth is too short.
    #[error("MAX must be at least 1ms")]
    BandwidthMax,
    /// The period of a bandwidth is too short or too long.
    #[error("PERIOD must be between 1ms and 1s")]
    BandwidthPeriod,
    /// MAX is more than `MAX_CPUS` times PERIOD.
    #[error("MAX must be at most {MAX_CPUS} times PERIOD, the full time of {MAX_CPUS} CPUs")]
    BandwidthCpus,
    /// The value is not a resource limit.
    #[error("must be NAME=VALUE, for example NOFILE=64")]
    Rlimit,
    /// The value of a resource limit is neither a number nor a size.
    #[error("VALUE must be a number, a size or `unlimited`")]
    RlimitValue,
    /// The value of a resource limit is not accepted.
    #[error("VALUE is {0}")]
    RlimitSize(Box<ValueError>),
    /// The library does not accept the resource limit.
    #[error(transparent)]
    Request(#[from] Mistakes<RequestMistake>),
    /// The value is not a list of CPUs.
    #[error("must be a list of numbers and ranges from 0 to 1023, for example 0,2,4-7")]
    Cpus,
    /// The value is not an environment variable.
    #[error("must be NAME=VALUE; no variable is inherited")]
    Variable,
    /// A dash as the name of a file.
    #[error("omit the option for millibox's own stream, or write ./- for a file of this name")]
    Dash,
    /// A path inside the world is relative or contains `..`.
    #[error("a path inside the sandbox must be absolute, without `..`")]
    Inside,
    /// The mount point is the root.
    #[error("must be a path below /")]
    Root,
    /// The value is not a bind mount.
    #[error(r"must be SRC[:DST]; write \: for a colon in a path")]
    Bind,
    /// The source of a bind mount is empty.
    #[error("SRC is empty")]
    NoSource,
    /// The source of a bind mount cannot be found.
    #[error("{0}")]
    Source(Cause<io::Error>),
    /// The mount point of a bind mount is not accepted.
    #[error("DST: {0}")]
    Destination(Box<ValueError>),
    /// The root of the host needs a mount point.
    #[error("name a DST: SRC:DST")]
    NoDestination,
    /// The value is not a tmpfs.
    #[error("must be DST[:SIZE[:INODES]], for example /tmp:16M")]
    Tmpfs,
    /// The number of inodes is not accepted.
    #[error("INODES: {0}")]
    Inodes(values::ValueError),
    /// The value is not a pattern.
    #[error("not a pattern: {message} (at character {position})")]
    Pattern {
        /// The parser's message.
        message: &'static str,
        /// The position of the error, counted from 1.
        position: usize,
    },
}

impl From<io::Error> for ValueError {
    fn from(error: io::Error) -> ValueError {
        ValueError::Source(error.into())
    }
}
