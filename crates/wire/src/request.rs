//! One run that is asked for.

use crate::limits::Limits;
use serde::{Deserialize, Serialize};

/// A run, as it travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run<'a> {
    /// The encoded [`crate::Located`].
    #[serde(with = "serde_bytes")]
    pub world: &'a [u8],
    /// Working directory, program paths, arguments, environment: each ended by a
    /// NUL byte, one after another, as execve(2) will read them.
    #[serde(with = "serde_bytes")]
    pub strings: &'a [u8],
    /// Number of program paths, tried in order until one can be executed; 0: the
    /// program is a descriptor.
    pub paths: u32,
    /// Number of arguments.
    pub arguments: u32,
    /// Number of environment strings.
    pub environment: u32,
    /// Which descriptors came along.
    pub descriptors: Descriptors,
    /// Limits.
    pub limits: Limits,
    /// Resource limits, soft = hard (setrlimit(2)): index into [`RLIMITS`], value.
    pub rlimits: Vec<(u8, u64)>,
    /// CPUs that the run may use, as a mask (bit n of word n / 64); empty: all that
    /// the slot may use.
    pub cpus: Vec<u64>,
    /// The run that this one starts together with, in one slot; neither starts alone. Each
    /// names the other. The one with the smaller id is sent first, and the other soon after:
    /// it waits for that.
    pub partner: Option<u64>,
}

/// Which descriptors travel with a run, in this order; a missing standard stream
/// is /dev/null.
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
}

impl Descriptors {
    /// How many there are.
    pub fn count(self) -> usize {
        [self.stdin, self.stdout, self.stderr, self.program]
            .into_iter()
            .filter(|&there| there)
            .count()
    }
}

/// Ends a run; its result comes as usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kill {
    /// What the result shall say.
    pub reason: KillReason,
}

/// Why the client side ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum KillReason {
    /// The caller wants so.
    Caller,
    /// The client side, which moves the output, has seen more than the limit.
    OutputLimit,
}

/// Names of the resource limits, in the order of getrlimit(2)'s numbers on
/// x86-64 and aarch64 (asm-generic/resource.h).
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

/// The number of a resource limit, by its name without `RLIMIT_`, in any case.
pub fn rlimit_number(name: &str) -> Option<u8> {
    let name = name.to_ascii_uppercase();
    let name = name.strip_prefix("RLIMIT_").unwrap_or(&name);
    RLIMITS
        .iter()
        .position(|&known| known == name)
        .map(|index| index as u8)
}
