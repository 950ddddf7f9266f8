//! Errors with code and message.
#![allow(unsafe_code, reason = "the functions are exported by name")]

use millibox::{EndReason, Outcome, RunError, StartError};
use std::ffi::{CString, c_char};
use std::fmt;

/// The kind of an error.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// There is no error.
    None = 0,
    /// The caller has passed wrong values. The message lists all mistakes, one on each line.
    Invalid = 1,
    /// The supervisor cannot be found or cannot start.
    Start = 2,
    /// The version of the supervisor differs from that of the library. Install both together.
    Version = 3,
    /// The sandbox failed. The error does not depend on the program.
    Sandbox = 4,
    /// The sandbox was closed by this process.
    Closed = 5,
    /// The sandbox belongs to the process from which this process was forked.
    Forked = 6,
    /// A system call of the library failed.
    System = 7,
    /// The library has a bug. Please report the message.
    Panic = 8,
}

/// The reason why a function failed: a code, and a message for people.
///
/// A function that can fail returns NULL if it succeeded, and otherwise an error that the caller
/// frees. A program that fails is not an error but a result.
#[derive(Debug)]
pub struct Error {
    code: ErrorCode,
    errno: i32,
    message: CString,
}

/// A string for C.
pub fn c_string(text: impl fmt::Display) -> CString {
    let text = text.to_string().replace('\0', "\u{fffd}");
    CString::new(text).unwrap_or_default()
}

impl Error {
    fn new(code: ErrorCode, errno: Option<i32>, message: impl fmt::Display) -> Error {
        Error {
            code,
            errno: errno.unwrap_or(0),
            message: c_string(message),
        }
    }

    pub fn invalid(message: impl fmt::Display) -> Error {
        Error::new(ErrorCode::Invalid, None, message)
    }

    pub fn null(name: &str) -> Error {
        Error::invalid(format_args!("{name} is NULL"))
    }

    pub fn system(what: &str, error: &std::io::Error) -> Error {
        let message = format_args!("cannot {what}: {error}");
        Error::new(ErrorCode::System, error.raw_os_error(), message)
    }

    pub fn panic(message: &str) -> Error {
        let message = format_args!("bug in libmillibox: {message}");
        Error::new(ErrorCode::Panic, None, message)
    }

    /// The failure of the sandbox, if an outcome is one.
    pub fn of_outcome(outcome: &Outcome) -> Option<Error> {
        match outcome {
            Outcome::SandboxError(error) => {
                let RunError { errno, .. } = error;
                Some(Error::new(ErrorCode::Sandbox, *errno, error))
            }
            _ => None,
        }
    }

    #[cfg(test)]
    pub fn code(&self) -> ErrorCode {
        self.code
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message.to_string_lossy())
    }
}

impl From<millibox::Error> for Error {
    fn from(error: millibox::Error) -> Error {
        use millibox::Error as Cause;
        let (code, errno) = match &error {
            Cause::Request(_) | Cause::Start(StartError::Options(_)) => (ErrorCode::Invalid, None),
            Cause::Start(
                StartError::Version { .. }
                | StartError::NotSupervisor {
                    reason: EndReason::Unreadable(_),
                    ..
                },
            ) => (ErrorCode::Version, None),
            Cause::Start(StartError::NotExecuted { error, .. }) => {
                (ErrorCode::Start, error.raw_os_error())
            }
            Cause::Start(StartError::Failed { error, .. }) => (ErrorCode::Start, error.errno),
            Cause::Start(_) => (ErrorCode::Start, None),
            Cause::Died(EndReason::ClosedHere) => (ErrorCode::Closed, None),
            Cause::Died(EndReason::Forked) => (ErrorCode::Forked, None),
            Cause::System { error, .. } => (ErrorCode::System, error.raw_os_error()),
            _ => (ErrorCode::Sandbox, None),
        };
        Error::new(code, errno, error)
    }
}

/// Returns the code of an error. NULL has the code MILLIBOX_CODE_NONE.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_error_code(error: Option<&Error>) -> ErrorCode {
    error.map_or(ErrorCode::None, |error| error.code)
}

/// Returns the error number of the failed system call (errno(3)), or 0 if none is known.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_error_errno(error: Option<&Error>) -> i32 {
    error.map_or(0, |error| error.errno)
}

/// Returns the message, in UTF-8, without a line break at its end. It lives as long as the error.
/// NULL has an empty message.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_error_message(error: Option<&Error>) -> *const c_char {
    error.map_or(c"".as_ptr(), |error| error.message.as_ptr())
}

/// Frees an error. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_error_free(error: Option<Box<Error>>) {
    drop(error);
}
