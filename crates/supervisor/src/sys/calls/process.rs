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
    replace_signal_action(signal, &SignalAction::default()).map(drop)
}

/// Empties the signal mask (sigprocmask(2)).
pub fn unblock_signals() {
    let _ = replace_signal_mask(0);
}

/// Sets the signal mask and returns the previous one (sigprocmask(2)). Bit n is signal n + 1.
pub fn replace_signal_mask(mask: u64) -> Result<u64> {
    let mut previous = 0u64;
    // SAFETY: the kernel reads and writes 8 bytes.
    unsafe {
        syscall(
            libc::SYS_rt_sigprocmask,
            [
                libc::SIG_SETMASK as usize,
                &raw const mask as usize,
                &raw mut previous as usize,
                8,
                0,
            ],
        )
    }?;
    Ok(previous)
}

/// The disposition of a signal, in the kernel's layout.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct SignalAction([u64; 4]);

/// Replaces the disposition of a signal, and returns the previous one (sigaction(2)). The default
/// value of [`SignalAction`] is the default disposition.
pub fn replace_signal_action(signal: i32, action: &SignalAction) -> Result<SignalAction> {
    let mut previous = SignalAction::default();
    // SAFETY: the kernel reads and writes one sigaction of its own layout (at most 32 bytes).
    // A handler is one that the process itself had installed.
    unsafe {
        syscall(
            libc::SYS_rt_sigaction,
            [
                signal as usize,
                action.0.as_ptr() as usize,
                previous.0.as_mut_ptr() as usize,
                8,
                0,
            ],
        )
    }?;
    Ok(previous)
}

/// The alternate signal stack of the thread (sigaltstack(2)).
#[allow(dead_code, reason = "for the library of prepared programs")]
#[derive(Clone, Copy)]
pub struct SignalStack(libc::stack_t);

#[allow(dead_code, reason = "for the library of prepared programs")]
impl SignalStack {
    /// The stack of the calling thread; `None` if it has none.
    pub fn of_thread() -> Result<Option<SignalStack>> {
        // SAFETY: stack_t consists of numbers and a pointer, and the kernel writes one.
        let mut stack: libc::stack_t = unsafe { core::mem::zeroed() };
        // SAFETY: as above.
        unsafe { syscall(libc::SYS_sigaltstack, [0, &raw mut stack as usize, 0, 0, 0]) }?;
        Ok((stack.ss_flags & libc::SS_DISABLE == 0).then_some(SignalStack(stack)))
    }

    /// Makes this the stack of the calling thread.
    pub fn install(&self) -> Result<()> {
        let stack = &raw const self.0;
        // SAFETY: the process itself had installed this stack, and its memory has been copied.
        unsafe { syscall(libc::SYS_sigaltstack, [stack as usize, 0, 0, 0, 0]) }.map(drop)
    }
}

/// Sets the host name and clears the domain name (sethostname(2), setdomainname(2)).
pub fn set_host_name(name: &str) -> Result<()> {
    // SAFETY: the kernel reads `name.len()` bytes, and none for length 0.
    unsafe {
        syscall(
            libc::SYS_sethostname,
            [name.as_ptr() as usize, name.len(), 0, 0, 0],
        )?;
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

/// The size of a page. Unlike the function of rustix, this one opens no file, so the confined
/// supervisor may call it.
pub fn page_bytes() -> u64 {
    // SAFETY: sysconf(3) uses no memory of the caller.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}
