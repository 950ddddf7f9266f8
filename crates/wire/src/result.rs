//! The result of a run, and the greeting of the supervisor.

use crate::RunError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The greeting that the supervisor sends once, when it accepts requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Process id of the supervisor, as it sees it itself.
    pub pid: u32,
    /// The resource backend.
    pub backend: Backend,
    /// The number of runs that are served at one time.
    pub slots: u32,
    /// Runs that the supervisor accepts before it answers one; the client keeps the others.
    pub credits: u32,
    /// User id outside.
    pub uid: u32,
    /// Group id outside.
    pub gid: u32,
    /// Directories of the cgroups made for this supervisor.
    pub cgroups: Vec<Vec<u8>>,
    /// The reason why each better backend was not taken.
    pub declined: Vec<String>,
    /// The version of landlock that confines the supervisor; 0 if the kernel has none.
    pub landlock: u32,
    /// File locks of runs are counted, and bounded by their memory limit.
    pub file_locks: bool,
}

/// How runs are limited and measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Unified cgroups (cgroups(7), version 2), delegated.
    Cgroup2,
    /// Version 1 hierarchies for memory, pids, cpu and cpuacct, handed over by root.
    Hybrid,
    /// No cgroups: resource limits of single processes. Weaker.
    Rlimit,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Cgroup2 => "cgroup2",
            Backend::Hybrid => "hybrid",
            Backend::Rlimit => "rlimit",
        })
    }
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResult {
    /// What happened, and why.
    pub outcome: Outcome,
    /// Exit code of the first process, if it exited.
    pub exit_code: Option<i32>,
    /// Signal that ended the first process, if one did.
    pub signal: Option<i32>,
    /// What it used.
    pub figures: Figures,
    /// When the first process was dead, or was killed by the supervisor: `CLOCK_MONOTONIC_RAW` in
    /// nanoseconds, as it stands in the supervisor's time namespace. It tells which of two runs
    /// of one supervisor ended first, and compares with nothing else. `None`: it never began.
    pub ended_ns: Option<u64>,
    /// How it was limited and measured.
    pub backend: Backend,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The first process exited with this code.
    Exited(i32),
    /// The first process was ended by this signal, sent by the run itself.
    Signaled(i32),
    /// Ended: the real-time limit was reached.
    RealTimeLimit,
    /// Ended: the CPU-time limit was reached.
    CpuTimeLimit,
    /// The kernel found the memory limit reached and killed for it.
    MemoryLimit,
    /// More output than allowed.
    OutputLimit,
    /// Cancelled by the caller; only ever made by the client library.
    Cancelled,
    /// Ended by the caller.
    Killed,
    /// The program could not be started: the request's fault, or its world's.
    NotStarted(RunError),
    /// The sandbox failed; says nothing about the program.
    SandboxError(RunError),
}

impl Outcome {
    /// The outcome of a run that failed in this step.
    pub fn failed(error: RunError) -> Outcome {
        if error.step.is_sandbox_failure() {
            Outcome::SandboxError(error)
        } else {
            Outcome::NotStarted(error)
        }
    }

    /// The outcome's name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Exited(_) => "exited",
            Outcome::Signaled(_) => "signaled",
            Outcome::RealTimeLimit => "real_time_limit",
            Outcome::CpuTimeLimit => "cpu_time_limit",
            Outcome::MemoryLimit => "memory_limit",
            Outcome::OutputLimit => "output_limit",
            Outcome::Cancelled => "cancelled",
            Outcome::Killed => "killed",
            Outcome::NotStarted(_) => "not_started",
            Outcome::SandboxError(_) => "sandbox_error",
        }
    }

    /// The error, where there is one.
    pub fn error(&self) -> Option<&RunError> {
        match self {
            Outcome::NotStarted(error) | Outcome::SandboxError(error) => Some(error),
            _ => None,
        }
    }
}

/// What a run used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// From just before the exec to the death of the first process (`CLOCK_MONOTONIC_RAW`), in
    /// nanoseconds. Of a run that millibox ended: to the death of its last process, which may come
    /// long after the limit was reached.
    pub real_time_ns: u64,
    /// CPU time in user mode of the whole tree, in nanoseconds.
    pub cpu_user_ns: u64,
    /// CPU time in the kernel of the whole tree, in nanoseconds.
    pub cpu_system_ns: u64,
    /// Highest memory use of the whole tree at one time, in bytes. With the rlimit
    /// backend: highest resident size of one process, never to be judged on; it includes what
    /// the sandbox itself had there (2 to 3 MB), and of a run that was ended before its time
    /// only processes are looked at that it has then.
    pub peak_memory_bytes: u64,
    /// Most processes and threads at one time; `None`: the backend cannot tell.
    pub peak_processes: Option<u32>,
}

impl fmt::Display for RunResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Exited(code) => write!(f, "exited with {code}"),
            Outcome::Signaled(signal) => write!(f, "killed by signal {}", signal_name(*signal)),
            Outcome::RealTimeLimit => f.write_str("real time limit exceeded"),
            Outcome::CpuTimeLimit => f.write_str("CPU time limit exceeded"),
            Outcome::MemoryLimit => f.write_str("memory limit exceeded"),
            Outcome::OutputLimit => f.write_str("output limit exceeded"),
            Outcome::Cancelled => f.write_str("cancelled"),
            Outcome::Killed => f.write_str("killed by the caller"),
            Outcome::NotStarted(error) => write!(f, "could not be started: {error}"),
            Outcome::SandboxError(error) => write!(f, "sandbox failure: {error}"),
        }
    }
}

/// A signal's name without `SIG` (signal(7), x86-64 and aarch64), or its number.
pub(crate) fn signal_name(number: i32) -> String {
    const NAMES: [&str; 32] = [
        "0", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV",
        "USR2", "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU",
        "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    match usize::try_from(number)
        .ok()
        .and_then(|index| NAMES.get(index))
    {
        Some(name) => (*name).to_owned(),
        None if (34..=64).contains(&number) => format!("RTMIN+{}", number - 34),
        None => number.to_string(),
    }
}
