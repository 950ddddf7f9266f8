//! The request for one run.

use crate::limits::Limits;
use serde::{Deserialize, Serialize};

/// The request for a run, as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run<'a> {
    /// The encoded [`crate::Located`].
    #[serde(with = "serde_bytes")]
    pub world: &'a [u8],
    /// Working directory, program paths, arguments and environment. Each string ends with a NUL
    /// byte, as execve(2) reads it.
    #[serde(with = "serde_bytes")]
    pub strings: &'a [u8],
    /// The number of program paths, which are tried in order until one can be executed; 0 if the
    /// program is a descriptor.
    pub paths: u32,
    /// The number of arguments.
    pub arguments: u32,
    /// The number of environment strings.
    pub environment: u32,
    /// The descriptors that were sent with the request.
    pub descriptors: Descriptors,
    /// The limits.
    pub limits: Limits,
    /// The resource limits (setrlimit(2)), each as an index into [`RLIMITS`] and a value. The value
    /// is both the soft and the hard limit.
    pub rlimits: Vec<(u8, u64)>,
    /// The CPUs that the run may use, as a mask (bit n of word n / 64); empty for all CPUs of the
    /// slot.
    pub cpus: Vec<u64>,
    /// Whether the program may be executed if no copy of the world's template can be made.
    pub may_start_cold: bool,
}

/// The descriptors of a run, in the order in which they are sent. A missing standard stream is
/// /dev/null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptors {
    /// Standard input.
    pub stdin: bool,
    /// Standard output.
    pub stdout: bool,
    /// Standard error.
    pub stderr: bool,
    /// The program (execveat(2) with `AT_EMPTY_PATH`).
    pub program: bool,
    /// A socket of a tracer. Before the exec, the target sends one byte through it and waits for
    /// one byte: 0 if the tracer traces it, or an error number.
    pub tracer: bool,
}

impl Descriptors {
    /// The number of descriptors.
    pub fn count(self) -> usize {
        [
            self.stdin,
            self.stdout,
            self.stderr,
            self.program,
            self.tracer,
        ]
        .into_iter()
        .filter(|&there| there)
        .count()
    }
}

/// Ends a run. The result of the run follows as usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kill {
    /// The reason, which becomes the outcome.
    pub reason: KillReason,
}

/// The reason why the client ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum KillReason {
    /// The caller ended the run.
    Caller,
    /// The client, which reads the output, has read more than the limit.
    OutputLimit,
}

/// The names of the resource limits, in the order of their numbers for getrlimit(2) on x86-64 and
/// aarch64 (asm-generic/resource.h).
pub const RLIMITS: [&str; 16] = [
    "CPU",
    "FSIZE",
    "DATA",
    "STACK",
    "CORE",
    "RSS",
    "NPROC",
    "NOFILE",
    "MEMLOCK",
    "AS",
    "LOCKS",
    "SIGPENDING",
    "MSGQUEUE",
    "NICE",
    "RTPRIO",
    "RTTIME",
];

/// The number of a resource limit. `name` has no prefix `RLIMIT_` and may be in upper or lower
/// case.
pub fn rlimit_number(name: &str) -> Option<u8> {
    let name = name.to_ascii_uppercase();
    let name = name.strip_prefix("RLIMIT_").unwrap_or(&name);
    RLIMITS
        .iter()
        .position(|&known| known == name)
        .map(|index| index as u8)
}
