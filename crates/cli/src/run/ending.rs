//! How the command ends: exit status, line on standard error, report.

use super::options::Args;
use super::program::{CannotExecute, Remedy};
use super::report::{Report, ReportError};
use crate::failure::{self, Failure, one_line};
use crate::signals;
use crate::values::shown_size;
use millibox::{Backend, Hint, Outcome, RunError, RunResult, Step};

/// Exit status for the memory limit and the output limit.
const MEMORY_OR_OUTPUT: u8 = 123;
/// Exit status for both time limits, timeout(1)'s.
const TIME: u8 = 124;

/// How the whole thing ended.
#[derive(Debug)]
pub enum Ending {
    /// There is a result; what the user can do about its error, if that is known.
    Result(RunResult, Option<Remedy>),
    /// PROGRAM cannot be executed; nothing was started.
    CannotExecute(CannotExecute),
    /// The sandbox failed; with this backend, if it got so far.
    Failed {
        backend: Option<Backend>,
        failure: Failure,
    },
}

impl Ending {
    /// The exit status. `caught`: the signal that made us end the run.
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
                Outcome::RealTimeLimit | Outcome::CpuTimeLimit => TIME,
                Outcome::MemoryLimit | Outcome::OutputLimit => MEMORY_OR_OUTPUT,
                Outcome::Killed | Outcome::Cancelled => {
                    caught.map_or(failure::SANDBOX, after_signal)
                }
                Outcome::NotStarted(error) => not_started(error),
                Outcome::SandboxError(_) => failure::SANDBOX,
            },
        }
    }

    /// What to tell, if there is something to tell.
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
                    "killed, as millibox was told to end by {}",
                    signals::name(signal)
                ),
                None => result.to_string(),
            },
        };
        (!args.quiet).then_some(line)
    }

    /// The error in one line, if there is one.
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

/// The shell's status for a program that is not executed. An error in another step is about the
/// options of the run.
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
        let backend = Backend::Rlimit;
        let result = RunResult {
            outcome,
            exit_code: None,
            signal: None,
            figures: Default::default(),
            ended_ns: None,
            backend,
        };
        Ending::Result(result, None)
    }

    fn error(step: Step, errno: i32) -> RunError {
        RunError::new(step).with_errno(errno)
    }

    #[test]
    fn each_ending_has_its_status() {
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
    fn a_report_has_every_key() {
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
