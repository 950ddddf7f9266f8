//! How failures become text: hints for the start of a supervisor, and lines on standard error.

use crate::sys::Errno;

/// What to do if there is no free descriptor (EMFILE; unix(7), MSG_CTRUNC).
pub const MORE_FILES: &str = "; raise the limit on open files (ulimit -n) around millibox";
/// What to do if no process can be created (fork(2), EAGAIN).
pub const MORE_PROCESSES: &str = "; raise the process limit (ulimit -u, pids.max) around millibox";

/// Writes a line to standard error.
///
/// A failure is ignored, where `eprintln!` would panic: the keeper may have something to report
/// just when its supervisor and its client have been killed, and still has cgroups to remove then.
pub fn complain(line: impl core::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "millibox: {line}");
}

/// The errno's description and number (errno(3)).
pub fn errno_text(errno: Errno) -> String {
    // "No such file or directory (os error 2)" is std's; the number is what people search for.
    std::io::Error::from_raw_os_error(errno.0).to_string()
}
