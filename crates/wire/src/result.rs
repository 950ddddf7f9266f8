//! The result of a run, and the greeting of the supervisor.

use crate::{Backend, BackendRefusal, RunError, TemplateProblem};
use serde::{Deserialize, Serialize};

/// The greeting that the supervisor sends once, when it accepts requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The process id of the supervisor in its own PID namespace.
    pub pid: u32,
    /// The resource backend.
    pub backend: Backend,
    /// The number of runs that are served at the same time.
    pub slots: u32,
    /// The number of requests that the supervisor accepts before it answers one. The client queues
    /// any additional requests.
    pub credits: u32,
    /// The user id outside the user namespace.
    pub uid: u32,
    /// The group id outside the user namespace.
    pub gid: u32,
    /// The directories of the cgroups that were created for this supervisor.
    pub cgroups: Vec<Vec<u8>>,
    /// The better backends that cannot be used, with the reasons.
    pub declined: Vec<BackendRefusal>,
    /// The version of landlock that confines the supervisor; 0 if the kernel has none.
    pub landlock: u32,
    /// Whether the file locks of runs are counted, so that the memory limit bounds them.
    pub file_locks: bool,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResult {
    /// How the run ended.
    pub outcome: Outcome,
    /// The exit code of the first process, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that killed the first process, if a signal killed it.
    pub signal: Option<i32>,
    /// The resources that the run used.
    pub figures: Figures,
    /// The time at which the first process died or the supervisor killed it, as
    /// `CLOCK_MONOTONIC_RAW` in nanoseconds in the supervisor's time namespace. Compare it only
    /// with other runs of the same supervisor. `None` if the run never began.
    pub ended_ns: Option<u64>,
    /// The backend that limited and measured the run.
    pub backend: Backend,
    /// How the program was started.
    pub start: Start,
}

/// How the program of a run was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Start {
    /// The program was executed. The reason is present if the request asked for a copy of a
    /// template.
    Cold(Option<TemplateProblem>),
    /// The program is a copy of a template.
    Prepared {
        /// The lowest CPU time that a template of this program has used until it was ready, as
        /// measured by this supervisor, in nanoseconds. The run's CPU time includes it.
        cpu_ns: u64,
        /// The memory of the template, in bytes; 0 for a backend that cannot measure it. The run's
        /// peak includes it.
        memory_bytes: u64,
    },
}

impl Default for Start {
    fn default() -> Start {
        Start::Cold(None)
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The first process exited with this code.
    Exited(i32),
    /// This signal killed the first process. The run itself caused the signal.
    Signaled(i32),
    /// The run reached its real-time limit.
    RealTimeLimit,
    /// The run reached its CPU-time limit.
    CpuTimeLimit,
    /// The run reached its memory limit, and the kernel killed a process.
    MemoryLimit,
    /// The run wrote more output than allowed.
    OutputLimit,
    /// The caller cancelled the run. Only the client library creates this outcome.
    Cancelled,
    /// The caller ended the run.
    Killed,
    /// The program could not be started because of an error in the request or its world.
    NotStarted(RunError),
    /// The sandbox failed. The outcome does not depend on the program.
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

    /// The error of an outcome that has one.
    pub fn error(&self) -> Option<&RunError> {
        match self {
            Outcome::NotStarted(error) | Outcome::SandboxError(error) => Some(error),
            _ => None,
        }
    }
}

/// The resources that a run used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// The time from just before the exec to the death of the first process
    /// (`CLOCK_MONOTONIC_RAW`), in nanoseconds. If millibox ended the run, the time extends to the
    /// death of its last process, which may come long after the limit.
    pub real_time_ns: u64,
    /// The CPU time of the whole process tree in user mode, in nanoseconds.
    pub cpu_user_ns: u64,
    /// The CPU time of the whole process tree in the kernel, in nanoseconds.
    pub cpu_system_ns: u64,
    /// The peak memory usage of the whole process tree in bytes.
    ///
    /// With the rlimit backend, this is the largest resident size of one process, which must not
    /// decide a verdict. It includes 2 to 3 MB of the sandbox's own memory. If millibox ended the
    /// run, only the processes that existed at that time are included.
    pub peak_memory_bytes: u64,
    /// The maximum number of simultaneous processes and threads; `None` if the backend cannot
    /// measure them.
    pub peak_processes: Option<u32>,
}
