//! Clocks and sleep.

use crate::sys::raw::syscall;

/// Nanoseconds on `CLOCK_MONOTONIC_RAW` (clock_gettime(2)).
pub fn monotonic_raw_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC_RAW)
}

/// The CPU time of the calling thread. Unlike elapsed time, it excludes the time in which other
/// threads had the CPU.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Nanoseconds on a clock; 0 if the clock does not exist.
pub fn clock_ns(clock: i32) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec.
    let _ = unsafe {
        syscall(
            libc::SYS_clock_gettime,
            [clock as isize as usize, &raw mut time as usize, 0, 0, 0],
        )
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sleeps for at most this time (nanosleep(2)). A signal ends the sleep early.
pub fn sleep_ns(nanoseconds: u32) {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: nanoseconds.into(),
    };
    // SAFETY: the kernel reads one timespec.
    let _ = unsafe { syscall(libc::SYS_nanosleep, [&raw const time as usize, 0, 0, 0, 0]) };
}
