//! The protocol between client and supervisor.
//!
//! Client and supervisor exchange *frames* over a `SOCK_SEQPACKET` socket. A frame consists of a
//! fixed header ([`frame::Header`]) and a postcard body. These are the terms:
//!
//! * A [`World`] is everything that can be prepared before a program is known: mounts, ids, network
//!   and seccomp program. It is sent as encoded bytes ([`Located`]), because the supervisor usually
//!   only compares it with the worlds that it knows.
//! * A [`Run`] is the request to run one program in a world. Its descriptors are sent with it
//!   (`SCM_RIGHTS`).
//! * A [`RunResult`] is the result of a run.
//!
//! Steps and errors come from `millibox-vocabulary`, which the client library also uses.
//!
//! ```
//! use millibox_wire::{World, Mount, decode, encode};
//! let world = World { mounts: vec![Mount::proc("/proc")], ..World::default() };
//! let bytes = encode(&world);
//! assert_eq!(decode::<World>(&bytes).unwrap(), world);
//! ```
#![forbid(unsafe_code)]

pub mod frame;
mod limits;
mod request;
mod result;
mod world;

pub use limits::{Bandwidth, Limits};
pub use millibox_vocabulary::{
    Backend, BackendCause, BackendRefusal, BackendStep, Cause, DEFAULT_PROCESS_LIMIT, FrameProblem,
    Hint, Limit, LimitError, MAX_CPUS, MAX_PROCESS_LIMIT, ProcessEnd, RunError, Step,
    SupervisorError, SupervisorHint, SupervisorStep, TemplateProblem, Unfit, WorldError,
    WorldProblem, path,
};
pub use request::{Descriptors, Kill, KillReason, RLIMITS, Run, rlimit_number};
pub use result::{Figures, Hello, Outcome, RunResult, Start};
pub use world::{Located, MAX_PREPARED_BYTES, Mount, Network, Prepare, Source, SystemFiles, World};

/// The maximum number of runs that one supervisor serves at the same time.
pub const MAX_SLOTS: usize = 512;
/// The maximum number of runners of one slot.
pub const MAX_RUNNERS_PER_SLOT: usize = 4;
/// The default user and group of a supervisor that root started. systemd's table of user ids leaves
/// this number unused (60578 to 60705, "UIDS-GIDS"), so it owns no files and no other processes.
pub const UNPRIVILEGED_IDS: (u32, u32) = (60_578, 60_578);

/// Encodes a body.
///
/// This cannot fail, because postcard supports all types of this crate.
pub fn encode<T: serde::Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("wire types are encodable")
}

/// Decodes a body. Remaining bytes are an error, because the two ends then use different versions
/// of a type.
pub fn decode<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(DecodeError::Trailing(rest.len())),
        Err(error) => Err(DecodeError::Malformed(error)),
    }
}

/// The reason why bytes could not be decoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The frame is shorter than its header.
    #[error("a frame of {0} bytes is shorter than a frame header")]
    Short(usize),
    /// The first word belongs to another protocol or version.
    #[error("unknown protocol word {0:#010x}: client and supervisor are of different versions")]
    Protocol(u32),
    /// The header has an unknown kind.
    #[error("unknown message kind {0}")]
    Kind(u32),
    /// The body does not encode the expected type.
    #[error("malformed message: {0}")]
    Malformed(postcard::Error),
    /// Bytes follow the end of the body.
    #[error("malformed message: {0} bytes too many")]
    Trailing(usize),
}
