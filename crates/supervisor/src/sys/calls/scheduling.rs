//! Resource limits, priorities and CPU affinity.

use crate::sys::Result;
use crate::sys::raw::syscall;

/// Our own nice value (getpriority(2), whose system call answers 20 - nice).
pub fn nice() -> i32 {
    // SAFETY: numbers only.
    unsafe {
        syscall(
            libc::SYS_getpriority,
            [libc::PRIO_PROCESS as usize, 0, 0, 0, 0],
        )
    }
    .map_or(0, |answer| 20 - answer as i32)
}

/// Sets soft and hard limit of our own resource to the same (setrlimit(2)). Not by prlimit(2):
/// seccomp programs have to look at its arguments.
pub fn set_rlimit(resource: u32, value: u64) -> Result<()> {
    set_rlimits(resource, value, value)
}

/// Sets soft and hard limit of our own resource (setrlimit(2)).
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

/// Our own soft and hard limit (getrlimit(2)).
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

/// Soft and hard limit of a process of ours, also of a dead one that has not been waited for
/// (prlimit(2)).
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

/// Asks for turns of `slice_ns` on the CPU, so that we are let on early (sched_setattr(2),
/// `sched_runtime` of a normal task, heeded since Linux 6.12: EEVDF lets who wants a shorter
/// turn interrupt who has a longer one); 0: the kernel's own choice. With nice value `nice`.
pub fn set_slice(nice: i32, slice_ns: u64) -> Result<()> {
    // struct sched_attr as of its first version: size, policy, flags, nice, priority,
    // runtime, deadline, period.
    let words: [u64; 6] = [
        48 | (libc::SCHED_OTHER as u64) << 32,
        0,
        u64::from(nice as u32),
        slice_ns,
        0,
        0,
    ];
    // SAFETY: the kernel reads the 48 bytes that the structure says it has.
    unsafe {
        syscall(
            libc::SYS_sched_setattr,
            [0, words.as_ptr() as usize, 0, 0, 0],
        )
    }
    .map(drop)
}

/// Makes our scheduling policy the default one (sched_setscheduler(2)).
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

/// sched_setaffinity(2) for ourselves.
pub fn set_affinity(mask: &[u64]) -> Result<()> {
    set_affinity_of(0, mask)
}

/// sched_setaffinity(2) for a process of our user; 0: ourselves.
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

/// The CPU that we are on (getcpu(2)), if the kernel says.
pub fn current_cpu() -> Option<usize> {
    let mut cpu = 0u32;
    // SAFETY: the kernel writes one u32.
    unsafe { syscall(libc::SYS_getcpu, [&raw mut cpu as usize, 0, 0, 0, 0]) }
        .ok()
        .map(|_| cpu as usize)
}

/// sched_getaffinity(2) of ourselves; the number of words that were filled.
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
