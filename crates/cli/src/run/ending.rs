//! How the command ends: its exit status, its line on standard error and its report.

use super::options::Args;
use super::program::{CannotExecute, Remedy};
use super::report::{Report, ReportError};
use crate::failure::{self, Failure, one_line};
use crate::signals;
use crate::values::shown_size;
use millibox::{Backend, Hint, Outcome, RunError, RunResult, Step};

/// Exit status for the memory limit and the output limit.
const MEMORY_OR_OUTPUT_STATUS: u8 = 123;
/// Exit status for both time limits, as in timeout(1).
const TIME_STATUS: u8 = 124;

/// How the command ended.
#[derive(Debug)]
pub enum Ending {
    /// The run has a result. The remedy belongs to its error.
    Result(RunResult, Option<Remedy>),
    /// PROGRAM cannot be executed, and no run was started.
    CannotExecute(CannotExecute),
    /// The sandbox failed. The backend is known if the supervisor had started.
    Failed {
        backend: Option<Backend>,
        failure: Failure,
    },
}

impl Ending {
    /// The exit status. `caught` is the signal that made millibox end the run.
    pub fn status(&self, caught: Option<i32>) -> u8 {
        match self {
            Ending::CannotExecute(error) => match error.errno() {
                Some(libc::ENOENT | libc::ENOTDIR) => failure::NOT_FOUND,
                _ => failure::CANNOT_EXECUTE,
            },
            Ending::Failed { failure, .. } => failure.status,
            Ending::Result(result, _) => match &result.outcome {
                // The kernel keeps eight bits of an exit code.
                Outcome::Exited(code) => (code & 0xff) as u8,
                Outcome::Signaled(signal) => after_signal(*signal),
                Outcome::RealTimeLimit | Outcome::CpuTimeLimit => TIME_STATUS,
                Outcome::MemoryLimit | Outcome::OutputLimit => MEMORY_OR_OUTPUT_STATUS,
                Outcome::Killed | Outcome::Cancelled => {
                    caught.map_or(failure::SANDBOX, after_signal)
                }
                Outcome::NotStarted(error) => not_started(error),
                // A failure of the sandbox, or an outcome that the command does not know.
                _ => failure::SANDBOX,
            },
        }
    }

    /// The line for standard error, if there is one.
    pub fn line(&self, args: &Args, caught: Option<i32>) -> Option<String> {
        let result = match self {
            Ending::Result(result, _) if result.outcome.error().is_none() => result,
            _ => return self.error_message(),
        };
        let with = |limit: Option<String>| match limit {
            Some(limit) => format!("{result} ({limit})"),
            None => result.to_string(),
        };
        let time = |limit| humantime::format_duration(limit).to_string();
        let line = match &result.outcome {
            Outcome::NotStarted(_) | Outcome::SandboxError(_) | Outcome::Exited(_) => return None,
            Outcome::Signaled(_) => result.to_string(),
            Outcome::RealTimeLimit => with(args.real_time_limit.map(time)),
            Outcome::CpuTimeLimit => with(args.cpu_time_limit.map(time)),
            Outcome::MemoryLimit => with(args.memory_limit.map(shown_size)),
            Outcome::OutputLimit => with(args.output_limit.map(shown_size)),
            Outcome::Killed | Outcome::Cancelled => match caught {
                Some(signal) => format!(
                    "killed, because millibox received {}",
                    signals::name(signal)
                ),
                None => result.to_string(),
            },
            _ => result.to_string(),
        };
        (!args.quiet).then_some(line)
    }

    /// The error in one line, if the run or the command failed.
    fn error_message(&self) -> Option<String> {
        match self {
            Ending::CannotExecute(error) => Some(one_line(&error.to_string())),
            Ending::Failed { failure, .. } => Some(failure.message.clone()),
            Ending::Result(result, remedy) => result.outcome.error().map(|error| match remedy {
                Some(remedy) => one_line(&format!("{}; {remedy}", error.cause())),
                None => one_line(&error.to_string()),
            }),
        }
    }

    /// The report.
    pub fn report(&self) -> Report<'_> {
        let message = self.error_message().unwrap_or_default();
        match self {
            Ending::Failed { backend, failure } => Report {
                backend: *backend,
                outcome: "sandbox_error",
                error: Some(ReportError {
                    step: failure.step,
                    errno: None,
                    message,
                }),
                ..Report::default()
            },
            Ending::CannotExecute(error) => Report {
                outcome: "not_started",
                error: Some(ReportError {
                    step: Step::Exec.name(),
                    errno: error.errno(),
                    message,
                }),
                ..Report::default()
            },
            Ending::Result(result, _) => Report {
                outcome: result.outcome.name(),
                exit_code: result.exit_code,
                signal: result.signal,
                real_time_ns: result.figures.real_time_ns,
                cpu_user_ns: result.figures.cpu_user_ns,
                cpu_system_ns: result.figures.cpu_system_ns,
                peak_memory_bytes: result.figures.peak_memory_bytes,
                peak_processes: result.figures.peak_processes,
                backend: Some(result.backend),
                error: result.outcome.error().map(|error| ReportError {
                    step: error.step.name(),
                    errno: error.errno,
                    message,
                }),
                ..Report::default()
            },
        }
    }
}

fn after_signal(signal: i32) -> u8 {
    u8::try_from(signal)
        .ok()
        .and_then(|signal| signal.checked_add(128))
        .unwrap_or(failure::SANDBOX)
}

/// The shell's exit status for a program that cannot be executed. An error in another step concerns
/// the options of the run.
fn not_started(error: &RunError) -> u8 {
    match (error.step, error.errno) {
        // The program exists, but its interpreter does not.
        (Step::Exec, Some(libc::ENOENT)) if error.hint == Some(Hint::InterpreterMissing) => {
            failure::CANNOT_EXECUTE
        }
        (Step::Exec, Some(libc::ENOENT | libc::ENOTDIR)) => failure::NOT_FOUND,
        (Step::Exec | Step::Arguments, _) => failure::CANNOT_EXECUTE,
        _ => failure::SANDBOX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(outcome: Outcome) -> Ending {
        let result = RunResult::new(outcome, Backend::Rlimit);
        Ending::Result(result, None)
    }

    fn error(step: Step, errno: i32) -> RunError {
        RunError::new(step).with_errno(errno)
    }

    #[test]
    fn status_matches_each_ending() {
        for (outcome, status) in [
            (Outcome::Exited(7), 7),
            (Outcome::Signaled(libc::SIGKILL), 137),
            (Outcome::Signaled(64), 192),
            (Outcome::RealTimeLimit, 124),
            (Outcome::CpuTimeLimit, 124),
            (Outcome::MemoryLimit, 123),
            (Outcome::OutputLimit, 123),
            (Outcome::Killed, 130),
            (Outcome::NotStarted(error(Step::Exec, libc::ENOENT)), 127),
            (Outcome::NotStarted(error(Step::Exec, libc::EACCES)), 126),
            (
                Outcome::NotStarted(error(Step::MountSource, libc::ENOENT)),
                125,
            ),
            (Outcome::SandboxError(error(Step::Clone, libc::EPERM)), 125),
        ] {
            let name = outcome.name();
            assert_eq!(ended(outcome).status(Some(libc::SIGINT)), status, "{name}");
        }
        assert_eq!(
            Ending::Failed {
                backend: None,
                failure: Failure::sandbox("x")
            }
            .status(None),
            125
        );
    }

    #[test]
    fn report_has_every_key() {
        let keys = [
            "outcome",
            "exit_code",
            "signal",
            "real_time_ns",
            "cpu_user_ns",
            "cpu_system_ns",
            "peak_memory_bytes",
            "peak_processes",
            "backend",
            "error",
        ];
        let endings = [
            ended(Outcome::Exited(0)),
            Ending::Failed {
                backend: None,
                failure: Failure::sandbox("x"),
            },
        ];
        for ending in endings {
            let report = serde_json::to_value(ending.report()).unwrap();
            assert!(keys.iter().all(|key| report.get(key).is_some()), "{report}");
        }
        let report =
            serde_json::to_value(ended(Outcome::NotStarted(error(Step::Exec, 2))).report())
                .unwrap();
        assert_eq!(report["error"]["step"], "exec");
        assert_eq!(report["backend"], "rlimit");
    }
}
