//! Traces the processes of one run, and reports what they lacked: system calls that the seccomp
//! policy refused, and files of the host that their world does not show.
//!
//! The terms, in the order of a run:
//!
//! - A process asks over a socket to be traced ([`sockets`]) and waits for the answer.
//! - The **tracer** ([`explain`]) seizes that process with ptrace(2), and with it all its
//!   descendants. They stop before and after each system call.
//! - The tracer predicts with the world's own seccomp program which calls the kernel will refuse
//!   ([`Rules`]), and notes paths whose look-up has failed. Both tables have a bound.
//! - After the last process has ended, it looks up the noted paths on the host and compares them
//!   with what the world shows ([`View`]). The result is an [`Explanation`].
//!
//! The tracer decides nothing. The kernel applies the same seccomp program to the same calls as
//! without a tracer, and the program's memory and registers are never written. If the tracer ends,
//! the kernel kills the traced processes.
//!
//! | file | content |
//! | --- | --- |
//! | `sys` | the system calls, with all `unsafe` |
//! | `trace` | following the processes |
//! | `calls` | which arguments are paths |
//! | `record` | tables with a bound |
//! | `host` | look-ups of paths on the host |
//! | `view` | what a world shows |
//! | `report` | the report, and the options that it proposes |
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod calls;
mod host;
mod record;
mod report;
mod sys;
mod trace;
mod view;

pub use report::{Change, Explanation, MissingPath, RefusalRule, RefusedCall, shown};
pub use trace::{Rules, sockets};
pub use view::{Shown, View};

use std::os::fd::OwnedFd;

/// Waits for a process that asks on the other end of `socket` to be traced, follows it and its
/// descendants to their end, and explains what they lacked. Returns `None` if no program was
/// executed. If the kernel does not allow the trace, the process receives the kernel's error.
///
/// The calling thread must not end before the function returns, and other threads of the process
/// must not wait for arbitrary children (`waitpid(-1)`), because they would receive the tracer's
/// events. Afterwards the thread should end: it has the rights of the run's user, whose ids are
/// `ids`, to files. So the explanation names no path that only the caller can see.
pub fn explain(
    socket: OwnedFd,
    rules: &Rules,
    view: &View,
    ids: (u32, u32),
) -> Option<Explanation> {
    let mut record = trace::trace(socket, rules)?;
    if !sys::take_file_rights(ids) {
        // Nothing may be looked up with other rights.
        record.omit_paths();
    }
    Some(Explanation::of(&record, rules, view))
}
