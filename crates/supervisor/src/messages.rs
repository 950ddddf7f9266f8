//! Reports errors of the supervisor to the client and on standard error.

use crate::sys::{Errno, calls};
use millibox_wire::frame::{Header, Kind};
use millibox_wire::{SupervisorError, SupervisorStep, encode};
use std::os::fd::AsRawFd;

/// The reason why the supervisor ends, as the client receives it.
pub type Fatal = SupervisorError;

/// Turns the error number of a system call into the error of a step.
pub fn failed<E: Into<Errno>>(step: SupervisorStep) -> impl Fn(E) -> SupervisorError {
    move |errno| SupervisorError::new(step).with_errno(errno.into().0)
}

/// Sends the client the reason why the supervisor ends. If this fails, only the line on standard
/// error remains.
pub fn report(socket: &impl AsRawFd, error: &SupervisorError) {
    let header = Header {
        kind: Kind::Failure,
        in_memfd: false,
        id: 0,
    };
    let frame = [&header.encode()[..], &encode(error)].concat();
    let _ = calls::send_descriptors(socket.as_raw_fd(), &frame, &[]);
}

/// Writes a line to standard error.
///
/// A failure is ignored, whereas `eprintln!` would panic. The keeper may report a problem just
/// after its supervisor and its client were killed, and must still remove cgroups afterwards.
pub fn complain(line: impl core::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "millibox: {line}");
}
