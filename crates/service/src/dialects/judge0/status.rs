//! The state of a submission.

use serde_json::{Value, json};

/// The state of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// The submission waits.
    InQueue = 1,
    /// The submission is compiled or runs.
    Processing,
    /// The program exited with 0 and wrote what was expected.
    Accepted,
    /// The program wrote something different.
    WrongAnswer,
    /// A time limit was reached.
    TimeLimitExceeded,
    /// The compiler rejected the source.
    CompilationError,
    /// SIGSEGV ended the program.
    SegmentationFault,
    /// A file became too large.
    FileSizeExceeded,
    /// SIGFPE ended the program.
    ArithmeticError,
    /// SIGABRT ended the program.
    Aborted,
    /// The program exited with a code other than 0.
    NonzeroExitCode,
    /// The program ended in another way.
    OtherError,
    /// The service failed.
    InternalError,
    /// The program cannot be executed.
    ExecFormatError,
}

impl Status {
    /// All states by their numbers, which begin at 1.
    pub const ALL: [Status; 14] = [
        Status::InQueue,
        Status::Processing,
        Status::Accepted,
        Status::WrongAnswer,
        Status::TimeLimitExceeded,
        Status::CompilationError,
        Status::SegmentationFault,
        Status::FileSizeExceeded,
        Status::ArithmeticError,
        Status::Aborted,
        Status::NonzeroExitCode,
        Status::OtherError,
        Status::InternalError,
        Status::ExecFormatError,
    ];

    /// The number.
    pub fn id(self) -> u32 {
        self as u32
    }

    /// The display name.
    pub fn description(self) -> &'static str {
        match self {
            Status::InQueue => "In Queue",
            Status::Processing => "Processing",
            Status::Accepted => "Accepted",
            Status::WrongAnswer => "Wrong Answer",
            Status::TimeLimitExceeded => "Time Limit Exceeded",
            Status::CompilationError => "Compilation Error",
            Status::SegmentationFault => "Runtime Error (SIGSEGV)",
            Status::FileSizeExceeded => "Runtime Error (SIGXFSZ)",
            Status::ArithmeticError => "Runtime Error (SIGFPE)",
            Status::Aborted => "Runtime Error (SIGABRT)",
            Status::NonzeroExitCode => "Runtime Error (NZEC)",
            Status::OtherError => "Runtime Error (Other)",
            Status::InternalError => "Internal Error",
            Status::ExecFormatError => "Exec Format Error",
        }
    }

    /// The state of a program that was ended by a signal.
    pub fn of_signal(signal: i32) -> Status {
        match signal {
            6 => Status::Aborted,
            8 => Status::ArithmeticError,
            11 => Status::SegmentationFault,
            25 => Status::FileSizeExceeded,
            _ => Status::OtherError,
        }
    }

    /// Whether the submission has a result.
    pub fn is_final(self) -> bool {
        self > Status::Processing
    }

    /// The document.
    pub fn to_json(self) -> Value {
        json!({ "id": self.id(), "description": self.description() })
    }
}
