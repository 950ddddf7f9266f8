//! Texts of failures: hints for the start of a supervisor, and lines on standard error.

use crate::sys::Errno;

/// The remedy if no descriptor is free (EMFILE; unix(7), MSG_CTRUNC).
pub const MORE_FILES: &str = "; raise the limit on open files (ulimit -n) around millibox";
/// The remedy if no process can be created (fork(2), EAGAIN).
pub const MORE_PROCESSES: &str = "; raise the process limit (ulimit -u, pids.max) around millibox";

/// Writes a line to standard error.
///
/// A failure is ignored, unlike with `eprintln!`, which panics. The keeper may report something
/// just after its supervisor and its client were killed, and must still remove cgroups then.
pub fn complain(line: impl core::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "millibox: {line}");
}

/// The errno's description and number (errno(3)).
pub fn errno_text(errno: Errno) -> String {
    // "No such file or directory (os error 2)" is the text of std. Users search for the number.
    std::io::Error::from_raw_os_error(errno.0).to_string()
}
