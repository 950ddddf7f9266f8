//! The protocol between the template of a prepared program and its init process.
//!
//! The library of prepared programs (`crates/ready`) compiles this file as well.
//! docs/internals/prepared.md describes the messages. The answer to [`message::READY`] is an
//! encoded [`Setup`].

use crate::run_mounts::RunMount;
use serde::{Deserialize, Serialize};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The descriptor of the socket in the template.
pub const CONTROL: i32 = 3;

/// The sixth argument of the calls that only a template may make. It need not be secret, because
/// each copy attaches the world's seccomp program, which gives this argument no meaning.
pub const TEMPLATE_PASS: u64 = u64::from_le_bytes(*b"template");

/// The maximum size of a message in bytes, with 64 KiB of strings.
#[allow(dead_code, reason = "for the library of prepared programs")]
pub const MAX_MESSAGE_BYTES: usize = 128 << 10;

/// The data that a template needs for its copies.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Setup {
    /// The mounts of a run.
    pub mounts: Vec<(u32, RunMount)>,
    /// The seccomp program that a copy attaches.
    pub seccomp: Option<Vec<u8>>,
    /// Whether each run has its own network namespace.
    pub has_own_network: bool,
}

/// The first byte of messages.
pub mod message {
    /// Template: is ready.
    pub const READY: u8 = b'R';
    /// Init process: clone pid1 of the next run.
    pub const CLONE: u8 = b'C';
    /// pid1 of a run: is in its namespaces and needs its ids.
    pub const BORN: u8 = b'B';
    /// Init process: the ids are mapped. The null device, opened for each standard stream of this
    /// run, is attached.
    pub const MAPPED: u8 = b'M';
    /// Copy: waits for its launch.
    pub const PREPARED: u8 = b'P';
    /// Init process: a [`super::Go`] and the strings follow; standard descriptors are attached.
    pub const GO: u8 = b'G';
    /// pid1 of a run: the wait status of the copy follows.
    pub const DONE: u8 = b'D';
    /// Template, pid1 or copy: a [`super::Failed`] follows.
    pub const FAILED: u8 = b'F';
}

/// The numbers of a launch.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Go {
    /// Bits 0 to 2: stdin, stdout and stderr are attached.
    pub descriptors: u32,
    /// The length of the working directory in bytes, including its NUL. The strings begin with it.
    pub directory_bytes: u32,
    pub arguments: u32,
    pub environment: u32,
}

/// A step that failed in the template's memory.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Failed {
    /// The number of the [`millibox_wire::Step`].
    pub step: u32,
    pub errno: i32,
    /// The index of the failed mount.
    pub object: u32,
}
