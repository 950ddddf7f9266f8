//! Outcomes as SandboxFusion reports them.

use super::model::{CommandResult, CommandStatus};
use crate::core::catalog::Compiled;
use crate::core::execution::Blame;
use crate::core::execution::{Captured, ExecutionReport, run_error};
use crate::core::program::compile_blame;
use millibox::Outcome;
use millibox_languages::compile::{CompileError, Limit};
use std::time::Duration;

const SIGKILL: i32 = 9;
/// The exit code of a shell for a program that cannot be executed.
const NOT_EXECUTED: i32 = 127;
/// The exit code of a compiler that did not exit by itself.
const COMPILER_FAILED: i32 = 1;

/// The result of a program.
pub(super) fn program(report: &ExecutionReport) -> CommandResult {
    let is_complete = matches!(report.outcome, Outcome::Exited(_));
    let mut stderr = text(report.stderr(), is_complete);
    let mut note = |note: &str| {
        if !stderr.is_empty() && !stderr.ends_with('\n') {
            stderr.push('\n');
        }
        stderr.push_str(note);
        stderr.push('\n');
    };
    let (status, return_code) = match &report.outcome {
        Outcome::Exited(code) => (CommandStatus::Finished, Some(*code)),
        Outcome::Signaled(signal) => (CommandStatus::Finished, Some(-*signal)),
        Outcome::RealTimeLimit | Outcome::CpuTimeLimit => (CommandStatus::TimeLimitExceeded, None),
        Outcome::MemoryLimit => {
            note("Killed: the program exceeded its memory limit");
            (CommandStatus::Finished, Some(-SIGKILL))
        }
        Outcome::NotStarted(_) => {
            if let Some(error) = run_error(&report.outcome) {
                note(&error.to_string());
            }
            (CommandStatus::Finished, Some(NOT_EXECUTED))
        }
        _ => {
            note("Killed: the program exceeded its output limit");
            (CommandStatus::Finished, Some(-SIGKILL))
        }
    };
    CommandResult {
        status,
        execution_time: seconds(report.figures.real_time_ns),
        return_code,
        stdout: text(report.stdout(), is_complete),
        stderr,
    }
}

/// The result of a compiler, or the reason why the service has none.
pub(super) fn compiler(compiled: &Compiled) -> Result<CommandResult, CompileError> {
    let mut stderr = compiled.messages.clone();
    let (status, return_code) = match &compiled.result {
        Ok(_) => (CommandStatus::Finished, Some(0)),
        Err(error) if compile_blame(error) != Blame::Program => return Err(error.clone()),
        Err(CompileError::Limit(Limit::CpuTime(_) | Limit::RealTime(_))) => {
            (CommandStatus::TimeLimitExceeded, None)
        }
        Err(error) => {
            if stderr.is_empty() || matches!(error, CompileError::Limit(_)) {
                stderr.push_str(&format!("{error}\n"));
            }
            (CommandStatus::Finished, Some(COMPILER_FAILED))
        }
    };
    let figures = compiled.figures.as_ref();
    Ok(CommandResult {
        status,
        execution_time: figures.map_or(0.0, |figures| seconds(figures.real_time_ns)),
        return_code,
        stdout: String::new(),
        stderr,
    })
}

fn seconds(nanoseconds: u64) -> f64 {
    Duration::from_nanos(nanoseconds).as_secs_f64()
}

/// The content of a stream. Bytes that are not UTF-8 become the message of Python's decoder, but a
/// character that was cut off is left out.
fn text(captured: &Captured, is_complete: bool) -> String {
    let bytes = &captured.bytes;
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(error) if error.error_len().is_none() && (captured.is_truncated() || !is_complete) => {
            String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned()
        }
        Err(error) => {
            let position = error.valid_up_to();
            let byte = bytes[position];
            let reason = match (error.error_len(), byte) {
                (None, _) => "unexpected end of data",
                (Some(_), 0x80..=0xc1 | 0xf5..) => "invalid start byte",
                (Some(_), _) => "invalid continuation byte",
            };
            format!(
                "[DecodeError] 'utf-8' codec can't decode byte {byte:#04x} in position {position}: \
                 {reason}"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use millibox::Figures;

    fn captured(bytes: &'static [u8], total: u64) -> Captured {
        Captured {
            bytes: Bytes::from_static(bytes),
            total,
        }
    }

    fn report(outcome: Outcome) -> CommandResult {
        program(&ExecutionReport {
            outcome,
            exit_code: None,
            signal: None,
            figures: Figures::default(),
            captured: vec![
                Captured::default(),
                captured(b"out", 3),
                captured(b"err", 3),
            ],
            outputs: Vec::new(),
            start: Default::default(),
            attempts: 1,
            explanation: None,
        })
    }

    #[test]
    fn outcomes_have_python_return_codes() {
        let code = |outcome| report(outcome).return_code;
        assert_eq!(code(Outcome::Exited(3)), Some(3));
        assert_eq!(code(Outcome::Signaled(11)), Some(-11));
        assert_eq!(code(Outcome::MemoryLimit), Some(-9));
        assert_eq!(code(Outcome::OutputLimit), Some(-9));
        let late = report(Outcome::RealTimeLimit);
        assert_eq!(late.return_code, None);
        assert_eq!(late.status, CommandStatus::TimeLimitExceeded);
        assert_eq!((&late.stdout[..], &late.stderr[..]), ("out", "err"));
        let large = report(Outcome::MemoryLimit);
        assert_eq!(
            large.stderr,
            "err\nKilled: the program exceeded its memory limit\n"
        );
    }

    #[test]
    fn undecodable_output_is_reported_and_cut_characters_are_left_out() {
        let complete = |bytes, total| text(&captured(bytes, total), true);
        assert_eq!(complete("ä".as_bytes(), 2), "ä");
        assert_eq!(
            complete(b"ab\xff", 3),
            "[DecodeError] 'utf-8' codec can't decode byte 0xff in position 2: invalid start byte"
        );
        assert!(complete(b"ab\xc3", 3).ends_with("unexpected end of data"));
        assert!(complete(b"\xc3a", 2).ends_with("invalid continuation byte"));
        assert_eq!(complete(b"ab\xc3", 4), "ab");
        assert_eq!(text(&captured(b"ab\xc3", 3), false), "ab");
    }
}
