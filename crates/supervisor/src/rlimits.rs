//! The resource limits (setrlimit(2)) of runners and targets.

use crate::launch::Failure;
use crate::sys::Errno;
use millibox_wire::Step;

const UNLIMITED: u64 = libc::RLIM_INFINITY;

/// The resource limits of a run that does not specify any, as resource, soft limit and hard limit.
/// They equal those of a login on a common distribution, except that core dumps are disabled.
///
/// The core limit is 1 because with 0 the kernel would still start the handler to which
/// kernel.core_pattern pipes, on the host and at the host's cost (core(5), do_coredump() in
/// fs/coredump.c). Limits of the caller are not inherited, unless a hard limit of the caller is
/// lower and cannot be raised. RLIMIT_NPROC depends on the host's memory and is left unchanged. The
/// target sets the limits in [`TARGET_RLIMITS`].
pub const DEFAULT_RLIMITS: [(u32, u64, u64); 11] = [
    (libc::RLIMIT_CPU, UNLIMITED, UNLIMITED),
    (libc::RLIMIT_FSIZE, UNLIMITED, UNLIMITED),
    (libc::RLIMIT_DATA, UNLIMITED, UNLIMITED),
    (libc::RLIMIT_STACK, 8 << 20, UNLIMITED),
    (libc::RLIMIT_CORE, 1, 1),
    (libc::RLIMIT_RSS, UNLIMITED, UNLIMITED),
    (libc::RLIMIT_AS, UNLIMITED, UNLIMITED),
    (libc::RLIMIT_LOCKS, UNLIMITED, UNLIMITED),
    (libc::RLIMIT_NICE, 0, 0),
    (libc::RLIMIT_RTPRIO, 0, 0),
    (libc::RLIMIT_RTTIME, UNLIMITED, UNLIMITED),
];

/// Limits that apply to the run and must not apply to its runner.
///
/// The runner needs more open files. The kernel counts the other resources for each user in each
/// user namespace. For each namespace it compares the sum over all namespaces below with the limit
/// of the namespace's creator (inc_rlimit_ucounts() in kernel/ucount.c), so the limit of a runner
/// applies to all runs together. Therefore the limits of runners are as high as possible. Otherwise
/// one run could use up the timers, queued signals, message queues and locked shared memory of all
/// others. If a common bound remains because the user cannot raise it, each run gets at most its
/// share of timers and queued signals. Message queues and locked memory are not divided: hosts
/// allow so little of them that a share would be useless.
pub const TARGET_RLIMITS: [(u32, u64, u64); 4] = [
    // The first limit is also the maximum that a request can set.
    (libc::RLIMIT_NOFILE, 1024, 4096),
    (libc::RLIMIT_SIGPENDING, 4096, 4096),
    (libc::RLIMIT_MSGQUEUE, 819_200, 819_200),
    (libc::RLIMIT_MEMLOCK, 8 << 20, 8 << 20),
];

/// The limit on open files of each process in a run that does not specify one.
///
/// Much of the kernel memory behind a descriptor is charged to no cgroup: up to 17 KiB for a
/// half-read directory of ext4 (`ext4_htree_store_dirent()`), and 64 bytes for each thread in
/// poll(2). If the request names both a memory limit and a process limit, the uncharged memory
/// behind the descriptors of all processes is bounded by the memory limit. The result is clamped:
/// programs and language runtimes need [`MIN_NOFILE`], and no run gets more than [`MAX_NOFILE`] by
/// default.
pub fn default_nofile(memory_bytes: Option<u64>, processes: Option<u32>) -> u32 {
    let (Some(memory_bytes), Some(processes @ 1..)) = (memory_bytes, processes) else {
        return MAX_NOFILE;
    };
    let files = memory_bytes / UNCHARGED_BYTES_PER_DESCRIPTOR / u64::from(processes);
    u32::try_from(files)
        .unwrap_or(u32::MAX)
        .clamp(MIN_NOFILE, MAX_NOFILE)
}

const UNCHARGED_BYTES_PER_DESCRIPTOR: u64 = 17 << 10;
const MIN_NOFILE: u32 = 64;
const MAX_NOFILE: u32 = 1024;

/// A failure to set this resource limit.
pub fn at_rlimit(resource: u32) -> impl Fn(Errno) -> Failure {
    move |errno| Failure {
        object: resource,
        ..Failure::new(Step::Rlimit, errno)
    }
}
