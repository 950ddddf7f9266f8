//! Calls that affect the process itself: ids, signals, host name, exec and exit.

use crate::sys::ascii::leading_number;
use crate::sys::raw::{syscall, trap};
use crate::sys::{Errno, Result};
use core::ffi::CStr;

/// getpid(2)
pub fn getpid() -> i32 {
    // SAFETY: the call takes no arguments.
    unsafe { syscall(libc::SYS_getpid, [0; 5]) }.unwrap_or(0) as i32
}

/// Registers the thread's area for restartable sequences (rseq(2)) with glibc's signature.
#[allow(dead_code, reason = "for the library of prepared programs")]
pub fn register_rseq(area: usize, length: u32) -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    const SIGNATURE: usize = 0x5305_3053;
    #[cfg(target_arch = "aarch64")]
    const SIGNATURE: usize = 0xd428_bc00;
    // SAFETY: the caller passes the area that its C library reserves for the kernel.
    unsafe { syscall(libc::SYS_rseq, [area, length as usize, 0, SIGNATURE, 0]) }.map(drop)
}

/// exit_group(2)
pub fn exit(code: i32) -> ! {
    loop {
        // SAFETY: the argument is a number, and the call does not return.
        let _ = unsafe { syscall(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0]) };
        // This is reached if a seccomp program has refused the call.
        trap();
    }
}

/// The id of this process in the PID namespace of a procfs, which may be an outer namespace; 0 if
/// the procfs does not show the process.
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

/// execveat(2). Returns only if it fails.
///
/// `arguments` and `environment` are the addresses of NULL-terminated pointer arrays.
pub fn execveat(
    dir: i32,
    path: *const u8,
    arguments: usize,
    environment: usize,
    flags: i32,
) -> Errno {
    // SAFETY: the kernel returns EFAULT for memory that it cannot read. After success the memory of
    // this process has been replaced.
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
    // SIGKILL and SIGSTOP cannot be changed.
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

/// Clears host name and domain name (sethostname(2), setdomainname(2)).
pub fn clear_host_name() -> Result<()> {
    // SAFETY: for length 0 the kernel reads no bytes.
    unsafe {
        syscall(libc::SYS_sethostname, [c"".as_ptr() as usize, 0, 0, 0, 0])?;
        syscall(libc::SYS_setdomainname, [c"".as_ptr() as usize, 0, 0, 0, 0])?;
    }
    Ok(())
}

/// The NUL-terminated string at an address in the strings of a launch.
pub fn string_at(address: *const u8) -> &'static CStr {
    // SAFETY: callers pass only addresses that `target::Strings` found inside the shared strings,
    // with a NUL after each. The memory of the shared strings is never unmapped.
    unsafe { CStr::from_ptr(address.cast()) }
}

/// The pointer at `address`, an address in [`crate::sys::memory::Pointers`].
pub fn pointer_at(address: usize) -> *const u8 {
    // SAFETY: callers pass only addresses that `Pointers::address` has returned.
    unsafe { (address as *const *const u8).read() }
}
