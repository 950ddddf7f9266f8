//! The protocol between client and supervisor.
//!
//! Both ends of one `SOCK_SEQPACKET` socket exchange *frames*: a fixed header
//! ([`frame::Header`]) and a postcard body. The terms:
//!
//! * a [`World`] is all that can be prepared before a program is known: mounts,
//!   ids, network, seccomp program. It travels as encoded bytes ([`Located`]), because the
//!   supervisor only ever compares it with worlds it already has;
//! * a [`Run`] asks for one program to be run in a world; descriptors travel
//!   beside it (`SCM_RIGHTS`);
//! * a [`RunResult`] is its result.
//!
//! ```
//! use millibox_wire::{World, Mount, decode, encode};
//! let world = World { mounts: vec![Mount::proc("/proc")], ..World::default() };
//! let bytes = encode(&world);
//! assert_eq!(decode::<World>(&bytes).unwrap(), world);
//! ```
#![forbid(unsafe_code)]

mod error;
pub mod frame;
mod limits;
#[cfg(test)]
mod messages;
pub mod path;
mod request;
mod result;
mod step;
mod supervisor_error;
mod world;

pub use error::{Cause, FrameProblem, Hint, ProcessEnd, RunError};
pub use limits::{Bandwidth, DEFAULT_PROCESS_LIMIT, Limit, LimitError, Limits, MAX_PROCESS_LIMIT};
pub use request::{Descriptors, Kill, KillReason, RLIMITS, Run, rlimit_number};
pub use result::{Backend, Figures, Hello, Outcome, RunResult};
pub use step::Step;
pub use supervisor_error::{SupervisorError, SupervisorHint, SupervisorStep};
pub use world::{Located, Mount, Network, Source, World, WorldError, WorldProblem};

/// The most runs that one supervisor serves at one time.
pub const MOST_SLOTS: usize = 512;
/// Places for runs that one slot can have.
pub const MOST_RUNNERS: usize = 4;
/// CPUs that can be named: 0 to one less.
pub const MOST_CPUS: usize = 1024;

/// Encodes a body.
///
/// Cannot fail: the types of this crate hold nothing that postcard refuses.
pub fn encode<T: serde::Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("wire types are encodable")
}

/// Decodes a body; bytes left over are an error, as they mean that the two ends
/// do not speak of the same thing.
pub fn decode<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(DecodeError::Trailing(rest.len())),
        Err(error) => Err(DecodeError::Malformed(error)),
    }
}

/// Why bytes could not be understood.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The frame is shorter than its header.
    #[error("a frame of {0} bytes is shorter than a frame header")]
    Short(usize),
    /// The first word is not this protocol's.
    #[error("unknown protocol word {0:#010x}: client and supervisor are of different versions")]
    Protocol(u32),
    /// The header names no message.
    #[error("unknown message kind {0}")]
    Kind(u32),
    /// The body is no encoding of the expected type.
    #[error("malformed message: {0}")]
    Malformed(postcard::Error),
    /// Bytes follow the end of the body.
    #[error("malformed message: {0} bytes too many")]
    Trailing(usize),
}
