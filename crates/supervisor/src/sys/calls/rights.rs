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
    attach_seccomp_with(program, 0)
}

/// Attaches a seccomp program to all threads of the process (`TSYNC`). If one thread cannot attach
/// the program, no thread does (`TSYNC_ESRCH`, Linux 5.7).
pub fn attach_seccomp_to_all(program: &[u8]) -> Result<()> {
    attach_seccomp_with(
        program,
        libc::SECCOMP_FILTER_FLAG_TSYNC | libc::SECCOMP_FILTER_FLAG_TSYNC_ESRCH,
    )
}

fn attach_seccomp_with(program: &[u8], flags: libc::c_ulong) -> Result<()> {
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
    .map(drop)
}
