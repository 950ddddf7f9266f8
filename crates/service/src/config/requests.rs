//! Bounds of what requests make the service keep in its own memory.

use crate::memory::available_bytes;
use serde::Deserialize;

/// The part of the machine's memory that requests may hold in the service by default: half of what
/// `running.memory_bytes` leaves.
const DEFAULT_PART: u64 = 8;
/// The least default, which suffices for a request with the largest output limits.
const MIN_DEFAULT_BYTES: u64 = 256 << 20;

/// The memory that requests hold in the service.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RequestsConfig {
    /// The maximum memory of the service that all admitted requests hold together, in bytes: their
    /// files, outputs and answers. 0 selects an eighth of the machine's memory, but at least 256
    /// MiB.
    pub held_bytes: u64,
    /// The maximum size of all tests' output in one response, in bytes. Output beyond it is
    /// truncated.
    pub answer_bytes: u64,
}

impl RequestsConfig {
    /// The memory that all admitted requests may hold together, in bytes.
    pub fn held_bytes(&self) -> u64 {
        match self.held_bytes {
            0 => (available_bytes() / DEFAULT_PART).max(MIN_DEFAULT_BYTES),
            bytes => bytes,
        }
    }
}

impl Default for RequestsConfig {
    fn default() -> RequestsConfig {
        RequestsConfig {
            held_bytes: 0,
            answer_bytes: 64 << 20,
        }
    }
}
