//! Resource limits, priorities and CPU affinity.

use crate::sys::Result;
use crate::sys::raw::syscall;

/// The nice value of this process (getpriority(2); the system call returns 20 - nice).
pub fn nice() -> i32 {
    // SAFETY: all arguments are numbers.
    unsafe {
        syscall(
            libc::SYS_getpriority,
            [libc::PRIO_PROCESS as usize, 0, 0, 0, 0],
        )
    }
    .map_or(0, |answer| 20 - answer as i32)
}

/// Sets the soft and the hard limit of a resource to the same value (setrlimit(2)). prlimit(2) is
/// not used, because seccomp programs must check its arguments.
pub fn set_rlimit(resource: u32, value: u64) -> Result<()> {
    set_rlimits(resource, value, value)
}

/// Sets the soft and the hard limit of a resource (setrlimit(2)).
pub fn set_rlimits(resource: u32, soft: u64, hard: u64) -> Result<()> {
    let limit = libc::rlimit64 {
        rlim_cur: soft,
        rlim_max: hard,
    };
    // SAFETY: the kernel reads one rlimit64.
    unsafe {
        syscall(
            libc::SYS_setrlimit,
            [resource as usize, &raw const limit as usize, 0, 0, 0],
        )
    }
    .map(drop)
}

/// The soft and the hard limit of a resource (getrlimit(2)).
pub fn get_rlimit(resource: u32) -> Result<(u64, u64)> {
    let mut limit = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel writes one rlimit64.
    unsafe {
        syscall(
            libc::SYS_getrlimit,
            [resource as usize, &raw mut limit as usize, 0, 0, 0],
        )
    }?;
    Ok((limit.rlim_cur, limit.rlim_max))
}

/// Sets the soft and the hard limit of another process of the same user (prlimit(2)).
pub fn set_rlimits_of(pid: i32, resource: u32, soft: u64, hard: u64) -> Result<()> {
    let limit = libc::rlimit64 {
        rlim_cur: soft,
        rlim_max: hard,
    };
    let args = [
        pid as isize as usize,
        resource as usize,
        &raw const limit as usize,
        0,
        0,
    ];
    // SAFETY: the kernel reads one rlimit64 and writes none.
    unsafe { syscall(libc::SYS_prlimit64, args) }.map(drop)
}

/// The soft and the hard limit of a child, which may be dead but not yet reaped (prlimit(2)).
pub fn get_rlimit_of(pid: i32, resource: u32) -> Result<(u64, u64)> {
    let mut limit = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let args = [
        pid as isize as usize,
        resource as usize,
        0,
        &raw mut limit as usize,
        0,
    ];
    // SAFETY: no new limit is read, and the kernel writes one rlimit64.
    unsafe { syscall(libc::SYS_prlimit64, args) }?;
    Ok((limit.rlim_cur, limit.rlim_max))
}

/// Requests time slices of `slice_ns` and sets the nice value (sched_setattr(2), `sched_runtime` of
/// a normal task). A slice of 0 selects the kernel's default.
///
/// The kernel has used the slice since Linux 6.12. With EEVDF a task that requests a shorter slice
/// can preempt one with a longer slice, so this process runs sooner after a wake-up.
pub fn set_slice(nice: i32, slice_ns: u64) -> Result<()> {
    // struct sched_attr in its first version: size, policy, flags, nice, priority, runtime,
    // deadline, period.
    let words: [u64; 6] = [
        48 | (libc::SCHED_OTHER as u64) << 32,
        0,
        u64::from(nice as u32),
        slice_ns,
        0,
        0,
    ];
    // SAFETY: the kernel reads 48 bytes, the size in the first field.
    unsafe {
        syscall(
            libc::SYS_sched_setattr,
            [0, words.as_ptr() as usize, 0, 0, 0],
        )
    }
    .map(drop)
}

/// Selects the default scheduling policy for this process (sched_setscheduler(2)).
pub fn set_default_scheduling() -> Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads one sched_param.
    unsafe {
        syscall(
            libc::SYS_sched_setscheduler,
            [
                0,
                libc::SCHED_OTHER as usize,
                &raw const parameters as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// sched_setaffinity(2) for this process.
pub fn set_affinity(mask: &[u64]) -> Result<()> {
    set_affinity_of(0, mask)
}

/// sched_setaffinity(2) for a process of the same user; 0 is this process.
pub fn set_affinity_of(pid: i32, mask: &[u64]) -> Result<()> {
    // SAFETY: the kernel reads the slice's bytes.
    unsafe {
        syscall(
            libc::SYS_sched_setaffinity,
            [
                pid as usize,
                size_of_val(mask),
                mask.as_ptr() as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// The CPU of this thread (getcpu(2)); `None` if the kernel does not report it.
pub fn current_cpu() -> Option<usize> {
    let mut cpu = 0u32;
    // SAFETY: the kernel writes one u32.
    unsafe { syscall(libc::SYS_getcpu, [&raw mut cpu as usize, 0, 0, 0, 0]) }
        .ok()
        .map(|_| cpu as usize)
}

/// sched_getaffinity(2) for this process. Returns the number of words that were filled.
pub fn get_affinity(mask: &mut [u64]) -> Result<usize> {
    // SAFETY: the kernel writes no more than the slice's bytes.
    unsafe {
        syscall(
            libc::SYS_sched_getaffinity,
            [0, size_of_val(mask), mask.as_mut_ptr() as usize, 0, 0],
        )
    }
    .map(|bytes| bytes / 8)
}
