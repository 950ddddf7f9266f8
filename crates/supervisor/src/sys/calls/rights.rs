//! Capabilities and seccomp programs.

use crate::sys::Result;
use crate::sys::raw::syscall;

/// Drops all permitted, effective and inheritable capabilities (capset(2), version 3).
pub fn drop_capabilities() -> Result<()> {
    set_capabilities(0)
}

/// Sets the permitted and effective capabilities to `mask`, and clears the inheritable ones
/// (capset(2)).
pub fn set_capabilities(mask: u64) -> Result<()> {
    const VERSION_3: u32 = 0x2008_0522;
    let header: [u32; 2] = [VERSION_3, 0];
    let (low, high) = (mask as u32, (mask >> 32) as u32);
    let data: [u32; 6] = [low, low, 0, high, high, 0];
    // SAFETY: the header and the two data elements have the layout of capset(2).
    unsafe {
        syscall(
            libc::SYS_capset,
            [header.as_ptr() as usize, data.as_ptr() as usize, 0, 0, 0],
        )
    }
    .map(drop)
}

/// Attaches a seccomp program to the calling thread (seccomp(2), `SECCOMP_SET_MODE_FILTER`).
///
/// `SPEC_ALLOW` leaves out the mitigations against speculation, which would slow down the program.
/// A run has its own processes and user namespace, so its memory contains no secrets of another
/// run.
pub fn attach_seccomp(program: &[u8]) -> Result<()> {
    attach_seccomp_with(program, 0).map(drop)
}

/// Attaches a seccomp program to the calling thread, and returns its listener (seccomp_unotify(2)),
/// which an exec closes. From the time when the listener has received a call, its caller can only
/// be killed, not interrupted (`WAIT_KILLABLE_RECV`, Linux 5.19).
pub fn attach_listener(program: &[[u8; 8]]) -> Result<i32> {
    let flags =
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    attach_seccomp_with(program.as_flattened(), flags).map(|fd| fd as i32)
}

/// Lets the next call that a listener holds continue. `note` is called before that. Fails if no
/// call is held any more.
pub fn continue_held_call(listener: i32, note: impl FnOnce()) -> Result<()> {
    // SECCOMP_IOCTL_NOTIF_RECV and _SEND (linux/seccomp.h), the same on x86-64 and aarch64.
    const RECEIVE: usize = 0xc050_2100;
    const SEND: usize = 0xc018_2101;
    // SAFETY: the structure consists of numbers. The kernel requires that all are 0.
    let mut call: libc::seccomp_notif = unsafe { core::mem::zeroed() };
    let receive = [listener as usize, RECEIVE, &raw mut call as usize, 0, 0];
    // SAFETY: the kernel writes a structure of this type, which lives during the call.
    unsafe { syscall(libc::SYS_ioctl, receive) }?;
    note();
    let answer = libc::seccomp_notif_resp {
        id: call.id,
        val: 0,
        error: 0,
        flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
    };
    let send = [listener as usize, SEND, &raw const answer as usize, 0, 0];
    // SAFETY: the kernel reads a structure of this type, which lives during the call.
    unsafe { syscall(libc::SYS_ioctl, send) }.map(drop)
}

/// Attaches a seccomp program to all threads of the process (`TSYNC`). If one thread cannot attach
/// the program, no thread does (`TSYNC_ESRCH`, Linux 5.7).
pub fn attach_seccomp_to_all(program: &[u8]) -> Result<()> {
    attach_seccomp_with(
        program,
        libc::SECCOMP_FILTER_FLAG_TSYNC | libc::SECCOMP_FILTER_FLAG_TSYNC_ESRCH,
    )
    .map(drop)
}

fn attach_seccomp_with(program: &[u8], flags: libc::c_ulong) -> Result<usize> {
    let filter = libc::sock_fprog {
        len: (program.len() / 8) as u16,
        filter: program.as_ptr().cast_mut().cast::<libc::sock_filter>(),
    };
    // SAFETY: the kernel copies `len` instructions of 8 bytes. All lie inside the slice, and the
    // kernel does not require alignment.
    unsafe {
        syscall(
            libc::SYS_seccomp,
            [
                libc::SECCOMP_SET_MODE_FILTER as usize,
                (libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW | flags) as usize,
                &raw const filter as usize,
                0,
                0,
            ],
        )
    }
}
