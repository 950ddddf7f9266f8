//! The process itself: its ids, signals, host name, exec and exit.

use crate::sys::ascii::leading_number;
use crate::sys::raw::{syscall, trap};
use crate::sys::{Errno, Result};
use core::ffi::CStr;

/// getpid(2)
pub fn getpid() -> i32 {
    // SAFETY: no arguments.
    unsafe { syscall(libc::SYS_getpid, [0; 5]) }.unwrap_or(0) as i32
}

/// exit_group(2)
pub fn exit(code: i32) -> ! {
    loop {
        // SAFETY: a number only; does not return.
        let _ = unsafe { syscall(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0]) };
        // A seccomp program may refuse it.
        trap();
    }
}

/// Our process id where this procfs is from, which may be a PID namespace around ours; 0: it does
/// not say.
pub fn pid_in(procfs: i32) -> i32 {
    let mut target = [0; 16];
    let name = c"self".as_ptr() as usize;
    // SAFETY: the name is NUL-terminated, and the kernel writes no more than the array's bytes.
    let length = unsafe {
        syscall(
            libc::SYS_readlinkat,
            [
                procfs as isize as usize,
                name,
                target.as_mut_ptr() as usize,
                target.len(),
                0,
            ],
        )
    };
    length
        .ok()
        .and_then(|length| target.get(..length))
        .map_or(0, leading_number) as i32
}

/// execveat(2). Only returns on failure.
///
/// `arguments` and `environment` are addresses of NULL-terminated pointer arrays.
pub fn execveat(
    dir: i32,
    path: *const u8,
    arguments: usize,
    environment: usize,
    flags: i32,
) -> Errno {
    // SAFETY: the kernel answers EFAULT to what it cannot read; on success this program
    // is gone.
    match unsafe {
        syscall(
            libc::SYS_execveat,
            [
                dir as isize as usize,
                path as usize,
                arguments,
                environment,
                flags as usize,
            ],
        )
    } {
        Err(errno) => errno,
        Ok(_) => Errno(libc::EIO),
    }
}

/// Sets every signal's disposition to the default (sigaction(2)).
pub fn reset_signal_dispositions() -> Result<()> {
    // Nobody can change these two.
    (1..=64)
        .filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal))
        .try_for_each(reset_signal_disposition)
}

/// Sets a signal's disposition to the default (sigaction(2)).
pub fn reset_signal_disposition(signal: i32) -> Result<()> {
    // An all-zero kernel sigaction is SIG_DFL without flags; its mask is 8 bytes.
    let action = [0u64; 4];
    // SAFETY: the kernel reads one sigaction of its own layout (at most 32 bytes).
    unsafe {
        syscall(
            libc::SYS_rt_sigaction,
            [signal as usize, action.as_ptr() as usize, 0, 8, 0],
        )
    }
    .map(drop)
}

/// Empties the signal mask (sigprocmask(2)).
pub fn unblock_signals() {
    let mask = 0u64;
    // SAFETY: the kernel reads 8 bytes.
    let _ = unsafe {
        syscall(
            libc::SYS_rt_sigprocmask,
            [
                libc::SIG_SETMASK as usize,
                &raw const mask as usize,
                0,
                8,
                0,
            ],
        )
    };
}

/// sethostname(2) and setdomainname(2) to nothing.
pub fn clear_host_name() -> Result<()> {
    // SAFETY: no bytes are read for length 0.
    unsafe {
        syscall(libc::SYS_sethostname, [c"".as_ptr() as usize, 0, 0, 0, 0])?;
        syscall(libc::SYS_setdomainname, [c"".as_ptr() as usize, 0, 0, 0, 0])?;
    }
    Ok(())
}

/// The NUL-terminated string at an address inside a launch's strings.
pub fn string_at(address: *const u8) -> &'static CStr {
    // SAFETY: only called with addresses that `target::Strings` found inside the shared
    // strings, each followed by a NUL that it has seen; that memory is never unmapped.
    unsafe { CStr::from_ptr(address.cast()) }
}

/// The pointer that stands at `address`, a place in [`crate::sys::memory::Pointers`].
pub fn pointer_at(address: usize) -> *const u8 {
    // SAFETY: only called with addresses that `Pointers::address` gave.
    unsafe { (address as *const *const u8).read() }
}
