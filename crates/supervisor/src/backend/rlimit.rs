//! The backend without cgroups: resource limits of each process, and the figures of wait4(2).
//!
//! This backend is weaker. It is chosen only explicitly, or if no other backend is available and
//! none was requested.
//!
//! * Memory is the address space of each process (`RLIMIT_AS`), not the memory of the tree.
//! * Processes are those of the run's user namespace (`RLIMIT_NPROC` is counted for each user
//!   namespace since Linux 5.14).
//! * CPU time is that of the reaped processes. To check the limit, the supervisor adds up the
//!   clocks of the living processes.
//! * The peak is the largest resident set of one process. It survives exec, so it includes a few
//!   hundred pages of the sandbox. For a run that the supervisor ends, it is the peak of the
//!   processes that exist then.

use crate::launch::{End, Failure, Launch, Start, UNLIMITED};
use crate::sys::process::Waited;
use crate::sys::{Errno, calls};
use crate::tree;
use millibox_wire::Step;

/// The processes in the run's user namespace that do not belong to the run: pid1.
const OWN_PROCESSES: u64 = 1;

pub fn limit(launch: &Launch) -> Result<(), Failure> {
    limit_with(launch, calls::set_rlimits)
}

/// Sets the limits with a function that sets a soft and a hard limit.
pub fn limit_with(
    launch: &Launch,
    set_rlimits: impl Fn(u32, u64, u64) -> crate::sys::Result<()>,
) -> Result<(), Failure> {
    let set_rlimit = |resource: u32, value: u64| set_rlimits(resource, value, value);
    let set = |resource: u32, value: u64, step| {
        if value == UNLIMITED {
            return Ok(());
        }
        set_rlimit(resource, value).map_err(|errno| Failure::new(step, errno))
    };
    set(libc::RLIMIT_AS, launch.memory, Step::MemoryLimit)?;
    match set_rlimit(
        libc::RLIMIT_NPROC,
        launch.processes.saturating_add(OWN_PROCESSES),
    ) {
        // The default limit is above the supervisor's own, which is in force already.
        Err(Errno(libc::EPERM)) if launch.processes_named == 0 => {}
        set => set.map_err(|errno| Failure::new(Step::ProcessLimit, errno))?,
    }
    if launch.cpu_time_ns != UNLIMITED && launch.rlimit_mask & 1 << libc::RLIMIT_CPU == 0 {
        let seconds = kernel_cpu_seconds(launch.cpu_time_ns);
        set(libc::RLIMIT_CPU, seconds, Step::Rlimit)?;
    }
    if launch.quota != UNLIMITED {
        return Err(Failure::new(Step::CpuBandwidth, Errno(libc::EOPNOTSUPP)));
    }
    Ok(())
}

/// The kernel's own CPU-time limit, which takes effect only if the supervisor is very late.
///
/// For this limit the kernel counts timer ticks (`CPUCLOCK_PROF` in
/// kernel/time/posix-cpu-timers.c), and charges each tick to the process that it interrupts. Beside
/// many processes that run for less than a tick, a spinning process is charged for their time, too:
/// with 12 of them, a limit of 2 s ended it after 1.3 s. The process would then appear to have been
/// killed by a signal, and not to have reached its limit, so this limit is four times as long.
fn kernel_cpu_seconds(cpu_time_ns: u64) -> u64 {
    (cpu_time_ns / 1_000_000_000 + 1).saturating_mul(4)
}

pub fn measure(usage: &Waited, start: &Start, end: &mut End) {
    end.cpu_ns = ((usage.user_us + usage.system_us) * 1000).saturating_sub(start.cpu_ns);
    end.peak_memory = usage.max_rss_kib * 1024;
    end.peak_processes = UNLIMITED;
}

/// CPU time of all descendants of a process: living processes by their clocks, dead ones by the
/// sums of their parents (in clock ticks, proc_pid_stat(5)).
pub fn tree_cpu_ns(root: i32) -> u64 {
    if root <= 0 {
        // 0 is not a process id. The clock functions would interpret it as the calling process
        // (clock_getcpuclockid(3)).
        return 0;
    }
    let collected = |pid: i32| {
        let ticks = tree::stat(pid).map_or(0, |stat| stat.children_user + stat.children_system);
        ticks * (1_000_000_000 / tree::TICKS_PER_SECOND)
    };
    // The first descendant is pid1 itself.
    let below = tree::descendants(root, MAX_COUNTED_PROCESSES + 1)
        .into_iter()
        .skip(1);
    collected(root)
        + below
            .map(|pid| tree::cpu_ns(pid) + collected(pid))
            .sum::<u64>()
}

/// The maximum number of processes of a run whose CPU time is added up. More processes would keep
/// other runs waiting. The default process limit has the same value.
const MAX_COUNTED_PROCESSES: usize = millibox_wire::DEFAULT_PROCESS_LIMIT as usize;

#[cfg(test)]
mod tests {
    use super::*;

    /// For clock_gettime(2) the clock of process 0 is the caller's.
    #[test]
    fn tree_cpu_ns_of_process_0_is_0() {
        assert!(tree::cpu_ns(0) > 0);
        assert_eq!(tree_cpu_ns(0), 0);
    }
}
