//! Converts results of the core to results of a stage, with the messages of isolate, which Piston
//! uses.

use super::error::JobError;
use super::model::{Stage, Status};
use crate::core::catalog::Compiled;
use crate::core::execution::ExecutionReport;
use crate::metrics::outcome_name;
use crate::signals::signal_name;
use millibox::{Figures, Outcome};
use millibox_languages::compile::{CompileError, Limit};
use std::time::Duration;

const SIGXFSZ: i32 = 25;
/// The exit code of a shell that does not find a program.
const NOT_FOUND: i32 = 127;
const CPU_TIME_EXCEEDED: &str = "Time limit exceeded";
const REAL_TIME_EXCEEDED: &str = "Time limit exceeded (wall clock)";
const MEMORY_EXCEEDED: &str = "Memory limit exceeded";

impl Stage {
    /// The result of an execution, without its output.
    ///
    /// # Errors
    /// The sandbox failed.
    pub fn of_report(report: &ExecutionReport) -> Result<Stage, JobError> {
        let stage = match &report.outcome {
            Outcome::Exited(code) => Stage::exited(*code),
            Outcome::Signaled(number) => Stage::signaled(*number),
            Outcome::CpuTimeLimit => Stage::killed(Status::TimeOut, CPU_TIME_EXCEEDED),
            Outcome::RealTimeLimit => Stage::killed(Status::TimeOut, REAL_TIME_EXCEEDED),
            Outcome::MemoryLimit => Stage::killed(Status::Signal, MEMORY_EXCEEDED),
            Outcome::OutputLimit if report.stdout().is_truncated() => {
                Stage::killed(Status::OutputLimit, "stdout length exceeded")
            }
            Outcome::OutputLimit if report.stderr().is_truncated() => {
                Stage::killed(Status::ErrorLimit, "stderr length exceeded")
            }
            // A file is too large.
            Outcome::OutputLimit => Stage::signaled(SIGXFSZ),
            Outcome::NotStarted(error) => Stage {
                code: Some(NOT_FOUND),
                status: Some(Status::RuntimeError),
                message: Some(error.to_string()),
                ..Stage::default()
            },
            Outcome::SandboxError(error) => return Err(JobError::Sandbox(error.clone())),
            _ => Stage::ended_by("SIGKILL"),
        };
        Ok(Stage {
            outcome: Some(outcome_name(&report.outcome)),
            ..stage.with_figures(&report.figures)
        })
    }

    /// The compile stage of a language of the service.
    ///
    /// # Errors
    /// The compiler could not be run, which says nothing about the sources.
    pub fn of_compiled(compiled: &Compiled) -> Result<Stage, JobError> {
        let mut text = compiled.messages.clone();
        let stage = match &compiled.result {
            Ok(_) => Stage::exited(0),
            Err(CompileError::Refused(reason)) => {
                if text.is_empty() {
                    text = reason.to_string();
                }
                Stage::exited(1)
            }
            Err(CompileError::Limit(limit)) => match limit {
                Limit::CpuTime(_) => Stage::killed(Status::TimeOut, CPU_TIME_EXCEEDED),
                Limit::RealTime(_) => Stage::killed(Status::TimeOut, REAL_TIME_EXCEEDED),
                Limit::Memory(_) => Stage::killed(Status::Signal, MEMORY_EXCEEDED),
                _ => Stage::signaled(SIGXFSZ),
            },
            Err(error) => return Err(JobError::Compiler(error.clone())),
        };
        let stage = Stage {
            stderr: text.clone(),
            output: text,
            ..stage
        };
        Ok(match &compiled.figures {
            Some(figures) => stage.with_figures(figures),
            None => stage,
        })
    }

    /// The result of a program that was ended by a signal from the client.
    pub fn ended_by(signal: &str) -> Stage {
        Stage {
            signal: Some(signal.to_owned()),
            status: Some(Status::Signal),
            ..Stage::default()
        }
    }

    fn exited(code: i32) -> Stage {
        Stage {
            code: Some(code),
            status: (code != 0).then_some(Status::RuntimeError),
            message: (code != 0).then(|| format!("Exited with error status {code}")),
            ..Stage::default()
        }
    }

    fn signaled(number: i32) -> Stage {
        Stage {
            signal: signal_name(number),
            status: Some(Status::Signal),
            message: Some(format!("Caught fatal signal {number}")),
            ..Stage::default()
        }
    }

    fn killed(status: Status, message: &str) -> Stage {
        Stage {
            signal: Some("SIGKILL".to_owned()),
            status: Some(status),
            message: Some(message.to_owned()),
            ..Stage::default()
        }
    }

    fn with_figures(self, figures: &Figures) -> Stage {
        let milliseconds =
            |nanoseconds| u64::try_from(Duration::from_nanos(nanoseconds).as_millis()).ok();
        Stage {
            memory: Some(figures.peak_memory_bytes),
            cpu_time: milliseconds(figures.cpu_user_ns.saturating_add(figures.cpu_system_ns)),
            wall_time: milliseconds(figures.real_time_ns),
            ..self
        }
    }

    /// Whether the next stage follows.
    pub fn has_succeeded(&self) -> bool {
        self.code == Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::execution::Captured;

    fn stage(outcome: Outcome, written: [u64; 2]) -> Stage {
        let captured = |total| Captured {
            total,
            ..Captured::default()
        };
        let report = ExecutionReport {
            outcome,
            exit_code: None,
            signal: None,
            figures: Figures::default()
                .with_real_time_ns(2_900_000)
                .with_cpu_ns(900_000, 200_000)
                .with_peak_memory_bytes(4096),
            captured: vec![captured(0), captured(written[0]), captured(written[1])],
            outputs: Vec::new(),
            start: Default::default(),
            attempts: 1,
        };
        Stage::of_report(&report).unwrap()
    }

    #[test]
    fn outcomes_have_the_words_of_isolate() {
        let shown = |outcome, written| {
            let stage = stage(outcome, written);
            assert_eq!((stage.wall_time, stage.cpu_time), (Some(2), Some(1)));
            let status = serde_json::to_value(stage.status).unwrap();
            format!(
                "{} {:?} {:?} {:?}",
                status.as_str().unwrap_or("null"),
                stage.code,
                stage.signal.as_deref().unwrap_or("-"),
                stage.message.as_deref().unwrap_or("-")
            )
        };
        let none = [0, 0];
        for (outcome, written, expected) in [
            (Outcome::Exited(0), none, r#"null Some(0) "-" "-""#),
            (
                Outcome::Exited(3),
                none,
                r#"RE Some(3) "-" "Exited with error status 3""#,
            ),
            (
                Outcome::Signaled(11),
                none,
                r#"SG None "SIGSEGV" "Caught fatal signal 11""#,
            ),
            (
                Outcome::CpuTimeLimit,
                none,
                r#"TO None "SIGKILL" "Time limit exceeded""#,
            ),
            (
                Outcome::RealTimeLimit,
                none,
                r#"TO None "SIGKILL" "Time limit exceeded (wall clock)""#,
            ),
            (
                Outcome::MemoryLimit,
                none,
                r#"SG None "SIGKILL" "Memory limit exceeded""#,
            ),
            (
                Outcome::OutputLimit,
                [1, 0],
                r#"OL None "SIGKILL" "stdout length exceeded""#,
            ),
            (
                Outcome::OutputLimit,
                [0, 1],
                r#"EL None "SIGKILL" "stderr length exceeded""#,
            ),
            (
                Outcome::OutputLimit,
                none,
                r#"SG None "SIGXFSZ" "Caught fatal signal 25""#,
            ),
        ] {
            assert_eq!(shown(outcome, written), expected);
        }
    }
}
