//! Terminals that the program shares with millibox.
//!
//! A program whose standard streams are a terminal can stop its output with tcflow(3). A process
//! that then writes to the terminal waits until the user resumes it: without this module, millibox
//! would wait forever before it prints how the run ended. The built-in seccomp profiles deny that
//! call; a user's policy may allow it.

use rustix::process::getpgrp;
use rustix::termios::{Action, isatty, tcflow, tcgetpgrp};
use std::os::fd::AsFd;

/// Whether a standard stream is a terminal. The program may share it, so its world must not have
/// pseudo-terminals: the seccomp rules that they need would apply to that terminal as well.
pub fn is_shared() -> bool {
    isatty(std::io::stdin()) || isatty(std::io::stdout()) || isatty(std::io::stderr())
}

/// Resumes the output of millibox's own standard streams if a program has stopped it.
///
/// This undoes tcflow(3) only. Output that a person has stopped with Ctrl-S stays stopped: the
/// kernel keeps the two apart (`tco_stopped` and `stopped` of `struct tty_struct`).
pub fn resume_output() {
    resume(std::io::stdin());
    resume(std::io::stdout());
    resume(std::io::stderr());
}

fn resume(stream: impl AsFd) {
    // A background process would be stopped for changing its controlling terminal (SIGTTOU).
    // tcgetpgrp fails for a terminal that is not the controlling one, which any process may change.
    let in_background = tcgetpgrp(&stream).is_ok_and(|foreground| foreground != getpgrp());
    if isatty(&stream) && !in_background {
        // If this fails, the output waits until the user resumes it.
        let _ = tcflow(&stream, Action::OOn);
    }
}
