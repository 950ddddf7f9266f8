//! Exits, waits, and uses the standard streams.

use crate::sys::*;

/// Runs `command` if this module has it. Returns whether it has.
pub fn run(command: &str, arguments: &Arguments) -> bool {
    let number = |index| arguments.number(index);
    match command {
        "exit" => exit(number(0)),
        "signal" => signal_self(number(0)),
        "sleep" => sleep(number(0) as u64),
        // Prints a line as soon as it runs, then sleeps.
        "ready-sleep" => {
            print_line("ready");
            sleep(number(0) as u64);
        }
        "out" => print_line(format!("written={}", write_bytes(1, number(0)))),
        "stdin" => print_line(format!("bytes={}", read_to_end())),
        "close-sleep" => {
            let _ = syscall(libc::SYS_close, [number(0)]);
            sleep(number(1) as u64);
        }
        // Stops the output of the terminal at standard input by tcflow(3).
        "stop-terminal" => {
            let stopped = rustix::termios::tcflow(std::io::stdin(), rustix::termios::Action::OOff);
            if stopped.is_ok() {
                sleep(100_000);
            }
            exit(1);
        }
        _ => return false,
    }
    true
}

/// Sends a signal to the process itself, with its default action and unblocked.
fn signal_self(signal: usize) {
    let default = [0usize; 4];
    let _ = syscall(
        libc::SYS_rt_sigaction,
        [signal, default.as_ptr() as usize, 0, 8],
    );
    let none = 0u64;
    let _ = syscall(
        libc::SYS_rt_sigprocmask,
        [libc::SIG_SETMASK as usize, &raw const none as usize, 0, 8],
    );
    let pid = syscall(libc::SYS_getpid, []).unwrap_or(0);
    let _ = syscall(libc::SYS_kill, [pid, signal]);
    exit(100);
}

/// Writes `bytes` bytes, or fewer if a write fails. Returns the number of bytes written.
fn write_bytes(fd: usize, bytes: usize) -> usize {
    let chunk = vec![b'x'; 1 << 16];
    let mut written = 0;
    while written < bytes {
        let length = chunk.len().min(bytes - written);
        match syscall(libc::SYS_write, [fd, chunk.as_ptr() as usize, length]) {
            Ok(0) | Err(_) => break,
            Ok(more) => written += more,
        }
    }
    written
}

/// Reads standard input to its end. Returns the number of bytes.
fn read_to_end() -> usize {
    let mut chunk = vec![0u8; 1 << 16];
    let mut bytes = 0;
    while let Ok(more @ 1..) = syscall(
        libc::SYS_read,
        [0, chunk.as_mut_ptr() as usize, chunk.len()],
    ) {
        bytes += more;
    }
    bytes
}
