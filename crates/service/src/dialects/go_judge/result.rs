//! Converts reports of the core to results of this dialect.

use super::model::{CommandResult, CopyOut, FileError, FileErrorKind, Status};
use crate::core::budget::{Budget, rendered_within};
use crate::core::execution::{Captured, ExecutionReport, OutputFileError, ReturnedFile};
use crate::core::files::StoreError;
use millibox::{Outcome, Step};
use rustix::io::Errno;
use rustix::process::Signal;

/// A result under construction.
#[derive(Debug)]
pub struct Measured {
    /// The result so far.
    pub result: CommandResult,
    /// Whether the memory figure is that of the command, so that it may decide the status.
    pub has_memory_figure: bool,
    cpu_limit: u64,
    memory_limit: u64,
}

impl Measured {
    /// The result of a report without files.
    pub fn new(report: &ExecutionReport, cpu_limit: u64, memory_limit: u64) -> Measured {
        let (status, exit_status, error) = status(&report.outcome);
        let figures = &report.figures;
        let mut result = CommandResult::not_executed(status, error);
        result.outcome = Some(report.outcome.name());
        result.exit_status = exit_status;
        result.time = figures.cpu_user_ns.saturating_add(figures.cpu_system_ns);
        result.memory = figures.peak_memory_bytes;
        result.run_time = figures.real_time_ns;
        result.process_peak = figures.peak_processes.unwrap_or(0).into();
        Measured {
            result,
            has_memory_figure: true,
            cpu_limit,
            memory_limit,
        }
    }

    fn fail(&mut self, name: &str, kind: FileErrorKind, message: impl ToString) {
        self.result.file_errors.push(FileError {
            name: name.to_owned(),
            kind,
            message: message.to_string(),
        });
    }

    /// Adds the output of a collector. Upstream keeps one byte more than the maximum.
    pub fn collect(&mut self, name: &str, max: u64, output: Captured) {
        if output.total > max {
            self.fail(name, FileErrorKind::CollectSizeExceeded, "");
        } else if output.is_truncated() {
            let message = "the outputs of the request are too large together";
            self.fail(name, FileErrorKind::CollectSizeExceeded, message);
        }
        self.result.files.insert(name.to_owned(), output.bytes);
    }

    /// Adds a returned file.
    pub fn copy_out(&mut self, copy_out: &CopyOut, file: ReturnedFile) {
        let kind = match &file.error {
            None => None,
            Some(OutputFileError::Missing) if copy_out.is_optional => return,
            Some(OutputFileError::Missing) => Some(FileErrorKind::CopyOutOpen),
            Some(OutputFileError::NotRegular) => Some(FileErrorKind::CopyOutNotRegularFile),
            Some(OutputFileError::TooLarge { .. }) => Some(FileErrorKind::CopyOutSizeExceeded),
            Some(_) => Some(FileErrorKind::CopyOutCopyContent),
        };
        let is_truncated = kind == Some(FileErrorKind::CopyOutSizeExceeded);
        if let (Some(kind), Some(error)) = (kind, &file.error) {
            self.fail(&copy_out.name, kind, error);
        }
        if kind.is_none() || (is_truncated && !file.bytes.is_empty()) {
            self.result.files.insert(copy_out.name.clone(), file.bytes);
        }
    }

    /// Adds the id of a stored file.
    pub fn cache(&mut self, name: String, stored: Result<String, StoreError>) {
        match stored {
            Ok(id) => drop(self.result.file_ids.insert(name, id)),
            Err(error) => self.fail(&name, FileErrorKind::CopyOutCreateFile, error),
        }
    }

    /// Cuts the files that are returned as text to what the answer may contain.
    pub fn keep_within(&mut self, answer: &Budget) {
        let mut files = std::mem::take(&mut self.result.files);
        for (name, bytes) in &mut files {
            let kept = rendered_within(bytes, answer);
            if kept.len() < bytes.len() {
                let message = "the outputs of the request are too large together";
                self.fail(name, FileErrorKind::CopyOutSizeExceeded, message);
            }
            *bytes = kept;
        }
        self.result.files = files;
    }

    /// The result, with the status that follows from files and figures.
    pub fn finish(mut self) -> CommandResult {
        let result = &mut self.result;
        if result.status == Status::InternalError {
            return self.result;
        }
        if result.status == Status::Accepted && !result.file_errors.is_empty() {
            let is_collector = |error: &FileError| error.kind == FileErrorKind::CollectSizeExceeded;
            result.status = if result.file_errors.iter().any(is_collector) {
                Status::OutputLimitExceeded
            } else {
                Status::FileError
            };
        }
        // A limit of 0 is exceeded by every command.
        if self.cpu_limit == 0 || result.time > self.cpu_limit {
            result.status = Status::TimeLimitExceeded;
        }
        let is_above = self.has_memory_figure && result.memory > self.memory_limit;
        if self.memory_limit == 0 || is_above {
            result.status = Status::MemoryLimitExceeded;
        }
        self.result
    }
}

/// Status, exit status and error of an outcome.
fn status(outcome: &Outcome) -> (Status, i32, String) {
    let kill = Signal::KILL.as_raw();
    let (status, exit_status) = match outcome {
        Outcome::Exited(0) => (Status::Accepted, 0),
        Outcome::Exited(code) => (Status::NonzeroExit, *code),
        Outcome::Signaled(signal) => (of_signal(*signal), *signal),
        Outcome::RealTimeLimit | Outcome::CpuTimeLimit => (Status::TimeLimitExceeded, kill),
        Outcome::MemoryLimit => (Status::MemoryLimitExceeded, kill),
        Outcome::OutputLimit => (Status::OutputLimitExceeded, kill),
        Outcome::Cancelled | Outcome::Killed => (Status::Signalled, kill),
        Outcome::NotStarted(error) if error.step == Step::Exec => {
            let program = error.subject.as_deref().unwrap_or_default();
            let text = not_started_text(program, error.errno);
            return (Status::InternalError, 0, text);
        }
        Outcome::NotStarted(error) | Outcome::SandboxError(error) => {
            return (Status::InternalError, 0, error.to_string());
        }
        unknown => return (Status::InternalError, 0, unknown.name().to_owned()),
    };
    (status, exit_status, String::new())
}

fn of_signal(signal: i32) -> Status {
    match Signal::from_named_raw(signal) {
        Some(Signal::SYS) => Status::DangerousSyscall,
        Some(Signal::XCPU) => Status::TimeLimitExceeded,
        Some(Signal::XFSZ) => Status::OutputLimitExceeded,
        _ => Status::Signalled,
    }
}

/// The error of a program that could not be executed, worded as by upstream.
pub fn not_started_text(program: &str, errno: Option<i32>) -> String {
    let reason = match errno.map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => "no such file or directory".to_owned(),
        Some(Errno::ACCESS) => "permission denied".to_owned(),
        Some(Errno::NOEXEC) => "exec format error".to_owned(),
        Some(errno) => std::io::Error::from(errno).to_string(),
        None => "failed".to_owned(),
    };
    format!("start: {program}: execve: {reason}")
}

/// The result of a command with a file that cannot be used.
pub(super) fn file_error(name: &str, kind: FileErrorKind, error: impl ToString) -> CommandResult {
    let message = error.to_string();
    let mut result = CommandResult::not_executed(Status::FileError, &message);
    result.file_errors.push(FileError {
        name: name.to_owned(),
        kind,
        message,
    });
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use millibox::{Figures, RunError};

    fn measured(outcome: Outcome, time: u64, memory: u64) -> Measured {
        let report = ExecutionReport {
            exit_code: None,
            signal: None,
            figures: Figures::default()
                .with_real_time_ns(1)
                .with_cpu_ns(time, 0)
                .with_peak_memory_bytes(memory),
            captured: Vec::new(),
            outputs: Vec::new(),
            start: Default::default(),
            attempts: 1,
            explanation: None,
            outcome,
        };
        Measured::new(&report, 100, 100)
    }

    fn output(total: u64) -> Captured {
        Captured {
            bytes: "abc".into(),
            total,
        }
    }

    #[test]
    fn outcomes_have_the_status_and_exit_status_of_upstream() {
        let cases = [
            (Outcome::Exited(0), Status::Accepted, 0),
            (Outcome::Exited(3), Status::NonzeroExit, 3),
            (Outcome::Signaled(11), Status::Signalled, 11),
            (Outcome::Signaled(31), Status::DangerousSyscall, 31),
            (Outcome::CpuTimeLimit, Status::TimeLimitExceeded, 9),
            (Outcome::RealTimeLimit, Status::TimeLimitExceeded, 9),
            (Outcome::MemoryLimit, Status::MemoryLimitExceeded, 9),
            (Outcome::OutputLimit, Status::OutputLimitExceeded, 9),
            (Outcome::Killed, Status::Signalled, 9),
        ];
        for (outcome, status, exit_status) in cases {
            let result = measured(outcome.clone(), 1, 1).finish();
            assert_eq!(
                (result.status, result.exit_status),
                (status, exit_status),
                "{outcome:?}"
            );
        }
        let error = RunError::new(Step::Exec).with_errno(2).with_subject("/x");
        let result = measured(Outcome::NotStarted(error), 1, 1).finish();
        assert_eq!(result.status, Status::InternalError);
        assert_eq!(result.error, "start: /x: execve: no such file or directory");
    }

    #[test]
    fn collector_above_its_maximum_fails_only_a_successful_command() {
        let mut success = measured(Outcome::Exited(0), 1, 1);
        success.collect("stdout", 2, output(9));
        let result = success.finish();
        assert_eq!(result.status, Status::OutputLimitExceeded);
        assert_eq!(
            result.file_errors[0].kind,
            FileErrorKind::CollectSizeExceeded
        );
        let mut failure = measured(Outcome::Exited(1), 1, 1);
        failure.collect("stdout", 2, output(9));
        let result = failure.finish();
        assert_eq!(result.status, Status::NonzeroExit);
        assert_eq!((result.file_errors.len(), result.files.len()), (1, 1));
    }

    #[test]
    fn missing_file_is_an_error_unless_optional() {
        let missing = || ReturnedFile {
            path: "a".into(),
            bytes: bytes::Bytes::new(),
            error: Some(OutputFileError::Missing),
        };
        let mut optional = measured(Outcome::Exited(0), 1, 1);
        optional.copy_out(&CopyOut::parse("a?"), missing());
        assert_eq!(optional.finish().status, Status::Accepted);
        let mut required = measured(Outcome::Exited(0), 1, 1);
        required.copy_out(&CopyOut::parse("a"), missing());
        let result = required.finish();
        assert_eq!(result.status, Status::FileError);
        assert_eq!(result.file_errors[0].kind, FileErrorKind::CopyOutOpen);
    }

    #[test]
    fn truncated_file_is_delivered_and_an_error() {
        let mut command = measured(Outcome::Exited(0), 1, 1);
        command.copy_out(
            &CopyOut::parse("a"),
            ReturnedFile {
                path: "a".into(),
                bytes: "ab".into(),
                error: Some(OutputFileError::TooLarge {
                    bytes: 9,
                    max_bytes: 2,
                }),
            },
        );
        let result = command.finish();
        assert_eq!(result.status, Status::FileError);
        assert_eq!(result.files["a"], "ab");
    }

    #[test]
    fn figures_above_the_limits_override_the_status() {
        let status = |time, memory| measured(Outcome::Exited(1), time, memory).finish().status;
        assert_eq!(status(101, 1), Status::TimeLimitExceeded);
        assert_eq!(status(1, 101), Status::MemoryLimitExceeded);
        assert_eq!(status(101, 101), Status::MemoryLimitExceeded);
        assert_eq!(status(100, 100), Status::NonzeroExit);
        let mut unknown = measured(Outcome::Exited(0), 1, 101);
        unknown.has_memory_figure = false;
        assert_eq!(unknown.finish().status, Status::Accepted);
    }
}
