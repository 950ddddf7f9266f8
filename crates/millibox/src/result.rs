//! The result of a run.

use crate::{Backend, RunError, TemplateProblem};
use millibox_vocabulary::signal_name;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The result of a run.
///
/// ```
/// use millibox::{Request, Supervisor};
///
/// let Ok(supervisor) = Supervisor::start() else { return };
/// let result = supervisor.run(&Request::new("/bin/false")).unwrap().wait().unwrap();
/// assert_eq!(result.to_string(), "exited with 1");
/// assert_eq!(result.exit_code, Some(1));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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

impl RunResult {
    /// Creates a result without figures, for the tests of callers. The outcome determines exit code
    /// and signal.
    pub fn new(outcome: Outcome, backend: Backend) -> RunResult {
        let (exit_code, signal) = match outcome {
            Outcome::Exited(code) => (Some(code), None),
            Outcome::Signaled(signal) => (None, Some(signal)),
            _ => (None, None),
        };
        RunResult {
            outcome,
            exit_code,
            signal,
            figures: Figures::default(),
            ended_ns: None,
            backend,
            start: Start::default(),
        }
    }

    /// Replaces the figures.
    #[must_use]
    pub fn with_figures(mut self, figures: Figures) -> RunResult {
        self.figures = figures;
        self
    }
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

/// How the program of a run was started.
///
/// ```
/// use millibox::{Start, TemplateProblem};
/// let why = Start::Cold(Some(TemplateProblem::NotReady)).to_string();
/// assert_eq!(why, "executed, because its template was not ready in time");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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

impl Start {
    /// Why a program that should be a copy was executed instead, such as "its template was not
    /// ready in time".
    ///
    /// ```
    /// assert_eq!(millibox::Start::Cold(None).cold_start_reason(), None);
    /// ```
    pub fn cold_start_reason(&self) -> Option<String> {
        match self {
            Start::Cold(problem) => problem.map(|problem| format!("its template {problem}")),
            Start::Prepared { .. } => None,
        }
    }
}

impl Default for Start {
    fn default() -> Start {
        Start::Cold(None)
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Start::Cold(None) => f.write_str("executed"),
            Start::Cold(Some(why)) => write!(f, "executed, because its template {why}"),
            Start::Prepared { .. } => f.write_str("copied from its template"),
        }
    }
}

/// How a run ended.
///
/// ```
/// use millibox::{Outcome, Request, Supervisor};
/// use std::time::Duration;
///
/// let Ok(supervisor) = Supervisor::start() else { return };
/// let request = Request::new("/bin/sleep")
///     .arg("60")
///     .real_time_limit(Duration::from_millis(10));
/// let outcome = supervisor.run(&request).unwrap().wait().unwrap().outcome;
/// assert_eq!(outcome, Outcome::RealTimeLimit);
/// assert_eq!(outcome.name(), "real_time_limit");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
    /// The name of the outcome in reports.
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

    /// The error of an outcome that has one.
    pub fn error(&self) -> Option<&RunError> {
        match self {
            Outcome::NotStarted(error) | Outcome::SandboxError(error) => Some(error),
            _ => None,
        }
    }
}

/// The resources that a run used.
///
/// ```
/// use millibox::{Request, Supervisor};
///
/// let Ok(supervisor) = Supervisor::start() else { return };
/// let figures = supervisor.run(&Request::new("/bin/true")).unwrap().wait().unwrap().figures;
/// println!("{} us, {} bytes", figures.real_time_ns / 1000, figures.peak_memory_bytes);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
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

impl Figures {
    /// Sets the real time.
    #[must_use]
    pub fn with_real_time_ns(mut self, nanoseconds: u64) -> Figures {
        self.real_time_ns = nanoseconds;
        self
    }

    /// Sets the CPU time in user mode and in the kernel, in nanoseconds.
    #[must_use]
    pub fn with_cpu_ns(mut self, user: u64, system: u64) -> Figures {
        (self.cpu_user_ns, self.cpu_system_ns) = (user, system);
        self
    }

    /// Sets the peak memory usage.
    #[must_use]
    pub fn with_peak_memory_bytes(mut self, bytes: u64) -> Figures {
        self.peak_memory_bytes = bytes;
        self
    }

    /// Sets the peak number of processes.
    #[must_use]
    pub fn with_peak_processes(mut self, processes: Option<u32>) -> Figures {
        self.peak_processes = processes;
        self
    }
}
