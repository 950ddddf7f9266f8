//! System calls that the safe crates used here do not provide.
#![allow(unsafe_code, reason = "the library's one module for it")]

/// The user and system CPU time of all reaped children, in nanoseconds.
pub fn children_cpu_ns() -> u64 {
    // SAFETY: getrusage(2) writes one struct that is all numbers, so zeroes are a valid value.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let nanos =
        |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    nanos(usage.ru_utime) + nanos(usage.ru_stime)
}

/// Moves the calling thread to new namespaces (unshare(2)). `flags` are those of clone(2).
pub fn unshare(flags: i32) -> std::io::Result<()> {
    // SAFETY: the flags that are used here (CLONE_NEW*, CLONE_FS) do not affect anything that Rust
    // relies on. Memory and descriptors stay shared with the other threads.
    match unsafe { libc::unshare(flags) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
