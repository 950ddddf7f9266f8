//! How a run ended.
#![allow(unsafe_code, reason = "the functions are exported by name")]

use crate::border;
use crate::error::c_string;
use crate::sandbox::Backend;
use millibox::{Figures, RunResult, Start};
use std::ffi::{CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// How a program ended. Later versions may add values.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq)]
pub enum Outcome {
    /// The program exited; see millibox_result_exit_code.
    Exited = 0,
    /// A signal killed the program; see millibox_result_signal.
    Signaled = 1,
    /// The program reached its limit of real time.
    RealTimeLimit = 2,
    /// The program reached its limit of CPU time.
    CpuTimeLimit = 3,
    /// The program reached its memory limit, and the kernel killed a process.
    MemoryLimit = 4,
    /// The program wrote more output than allowed.
    OutputLimit = 5,
    /// The caller cancelled the run.
    Cancelled = 6,
    /// The run was killed. No function of this interface causes this outcome.
    Killed = 7,
    /// The program could not be started because of an error in the request or in its world, for
    /// example because it does not exist; see millibox_result_message.
    NotStarted = 8,
}

/// What is known about a run that has ended.
pub struct Finished {
    result: RunResult,
    message: CString,
    cold_start_reason: CString,
    output: [Vec<u8>; 2],
    truncated: bool,
}

/// The result of a run: how the program ended, what it used and what it wrote. It does not change,
/// so any number of threads may read it.
pub struct ProgramResult(pub Arc<Finished>);

impl Finished {
    pub fn new(result: RunResult, output: [Vec<u8>; 2], truncated: bool) -> Finished {
        Finished {
            message: c_string(&result),
            cold_start_reason: c_string(result.start.cold_start_reason().unwrap_or_default()),
            result,
            output,
            truncated,
        }
    }

    fn outcome(&self) -> Outcome {
        use millibox::Outcome as Known;
        match self.result.outcome {
            Known::Exited(_) => Outcome::Exited,
            Known::Signaled(_) => Outcome::Signaled,
            Known::RealTimeLimit => Outcome::RealTimeLimit,
            Known::CpuTimeLimit => Outcome::CpuTimeLimit,
            Known::MemoryLimit => Outcome::MemoryLimit,
            Known::OutputLimit => Outcome::OutputLimit,
            Known::Cancelled => Outcome::Cancelled,
            Known::NotStarted(_) => Outcome::NotStarted,
            // A failure of the sandbox is an error and no result.
            _ => Outcome::Killed,
        }
    }
}

fn known<T>(result: Option<&ProgramResult>, other: T, get: impl FnOnce(&Finished) -> T) -> T {
    border::or(None, || result.map(|result| get(&result.0))).unwrap_or(other)
}

fn figures(result: Option<&ProgramResult>, get: impl FnOnce(&Figures) -> u64) -> u64 {
    known(result, 0, |finished| get(&finished.result.figures))
}

/// Frees a result. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_free(result: Option<Box<ProgramResult>>) {
    border::or((), || drop(result));
}

/// Returns how the program ended.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_outcome(result: Option<&ProgramResult>) -> Outcome {
    known(result, Outcome::NotStarted, Finished::outcome)
}

/// Returns whether the program exited with status 0 and no output was lost.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_is_success(result: Option<&ProgramResult>) -> bool {
    known(result, false, |finished| {
        finished.result.outcome == millibox::Outcome::Exited(0) && !finished.truncated
    })
}

/// Returns the exit status of the program, or -1 if it did not exit.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_exit_code(result: Option<&ProgramResult>) -> i32 {
    known(result, -1, |finished| {
        finished.result.exit_code.unwrap_or(-1)
    })
}

/// Returns the signal that killed the program, or 0 if no signal did. Some limits end a program by
/// a signal.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_signal(result: Option<&ProgramResult>) -> i32 {
    known(result, 0, |finished| finished.result.signal.unwrap_or(0))
}

/// Returns the outcome as a sentence for people, in UTF-8, such as "exited with 1". It lives as
/// long as the result.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_message(result: Option<&ProgramResult>) -> *const c_char {
    known(result, c"".as_ptr(), |finished| finished.message.as_ptr())
}

/// Returns the time from the start of the program to its end, in nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_real_time_ns(result: Option<&ProgramResult>) -> u64 {
    figures(result, |figures| figures.real_time_ns)
}

/// Returns the CPU time of all processes in user mode, in nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_user_time_ns(result: Option<&ProgramResult>) -> u64 {
    figures(result, |figures| figures.cpu_user_ns)
}

/// Returns the CPU time of all processes in the kernel, in nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_system_time_ns(result: Option<&ProgramResult>) -> u64 {
    figures(result, |figures| figures.cpu_system_ns)
}

/// Returns the CPU time of all processes, in nanoseconds: the sum of user and system time.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_cpu_time_ns(result: Option<&ProgramResult>) -> u64 {
    figures(result, |figures| {
        figures.cpu_user_ns.saturating_add(figures.cpu_system_ns)
    })
}

/// Returns the peak memory of all processes together, in bytes. With MILLIBOX_BACKEND_RLIMIT, it is
/// the largest resident size of one process and must not decide a verdict.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_peak_memory(result: Option<&ProgramResult>) -> u64 {
    figures(result, |figures| figures.peak_memory_bytes)
}

/// Returns the maximum number of processes and threads at the same time, or 0 if the backend cannot
/// measure it.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_peak_processes(result: Option<&ProgramResult>) -> u32 {
    known(result, 0, |finished| {
        finished.result.figures.peak_processes.unwrap_or(0)
    })
}

/// Returns the backend that limited and measured the run.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_backend(result: Option<&ProgramResult>) -> Backend {
    known(result, Backend::Auto, |finished| {
        finished.result.backend.into()
    })
}

/// Returns whether the program was a copy of a prepared interpreter.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_is_prepared(result: Option<&ProgramResult>) -> bool {
    known(result, false, |finished| {
        matches!(finished.result.start, Start::Prepared { .. })
    })
}

/// Returns the reason why a program with a prepared interpreter was executed instead of copied, in
/// UTF-8, such as "its template was not ready in time". It lives as long as the result. It is empty
/// for a copy, and for a program without a prepared interpreter.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_cold_start_reason(
    result: Option<&ProgramResult>,
) -> *const c_char {
    known(result, c"".as_ptr(), |finished| {
        finished.cold_start_reason.as_ptr()
    })
}

/// Returns whether the program wrote more output than its limit. The result then contains the
/// output up to the limit.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_is_truncated(result: Option<&ProgramResult>) -> bool {
    known(result, false, |finished| finished.truncated)
}

/// Returns the standard output of the program, and its length through `length`, which may be NULL.
/// The bytes do not end with NUL, and live as long as the result.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_stdout(
    result: Option<&ProgramResult>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_void {
    output(result, 0, length)
}

/// Returns the standard error of the program, as millibox_result_stdout does.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_result_stderr(
    result: Option<&ProgramResult>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_void {
    output(result, 1, length)
}

fn output(
    result: Option<&ProgramResult>,
    index: usize,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_void {
    let bytes = result.map_or(&[][..], |result| &result.0.output[index]);
    if let Some(length) = length {
        length.write(bytes.len());
    }
    bytes.as_ptr().cast()
}
