//! No cgroups: resource limits of each process, and what wait4(2) tells.
//!
//! Weaker, and chosen only when nothing else is asked for or by an explicit word:
//!
//! * memory is address space of each process (`RLIMIT_AS`), not memory of the tree;
//! * processes are those of the run's user namespace (`RLIMIT_NPROC` is counted per
//!   user namespace since Linux 5.14);
//! * CPU time is that of the processes that were waited for, and the limit is checked
//!   by looking at each living process;
//! * the peak is the largest resident set of one process, which survives exec, and
//!   so includes the sandbox's own few hundred pages; of a run that we end it is that of
//!   the processes that it has then.

use crate::launch::{End, Failure, Launch, Start, UNLIMITED};
use crate::sys::process::Waited;
use crate::sys::{Errno, calls};
use crate::tree;
use millibox_wire::Step;

/// Processes of the run's user namespace that are not the run's: pid1.
const OWN_PROCESSES: u64 = 1;

pub fn limit(launch: &Launch) -> Result<(), Failure> {
    let set = |resource: u32, value: u64, step| {
        if value == UNLIMITED {
            return Ok(());
        }
        calls::set_rlimit(resource, value).map_err(|errno| Failure::new(step, errno))
    };
    set(libc::RLIMIT_AS, launch.memory, Step::MemoryLimit)?;
    match calls::set_rlimit(
        libc::RLIMIT_NPROC,
        launch.processes.saturating_add(OWN_PROCESSES),
    ) {
        // The default limit is above what the supervisor was started with, which holds already.
        Err(Errno(libc::EPERM)) if launch.processes_named == 0 => {}
        set => set.map_err(|errno| Failure::new(Step::ProcessLimit, errno))?,
    }
    if launch.cpu_time_ns != UNLIMITED && launch.rlimit_mask & 1 << libc::RLIMIT_CPU == 0 {
        // A second net, in whole seconds, below the supervisor's own.
        set(
            libc::RLIMIT_CPU,
            launch.cpu_time_ns / 1_000_000_000 + 1,
            Step::Rlimit,
        )?;
    }
    if launch.quota != UNLIMITED {
        return Err(Failure::new(Step::CpuBandwidth, Errno(libc::EOPNOTSUPP)));
    }
    Ok(())
}

pub fn measure(usage: &Waited, start: &Start, end: &mut End) {
    end.cpu_ns = ((usage.user_us + usage.system_us) * 1000).saturating_sub(start.cpu_ns);
    end.peak_memory = usage.max_rss_kib * 1024;
    end.peak_processes = UNLIMITED;
}

/// CPU time of all processes below one, which is ours: of the living by their clocks, of the dead
/// by what their parents have collected (in clock ticks, proc_pid_stat(5)).
pub fn tree_cpu_ns(root: i32) -> u64 {
    if root <= 0 {
        // Nobody is there. To the clocks 0 would be ourselves (clock_getcpuclockid(3)).
        return 0;
    }
    let collected = |pid: i32| {
        let ticks = tree::stat(pid).map_or(0, |stat| stat.children_user + stat.children_system);
        ticks * (1_000_000_000 / tree::TICKS_PER_SECOND)
    };
    // pid1 comes first.
    let below = tree::descendants(root, MAX_COUNTED_PROCESSES + 1)
        .into_iter()
        .skip(1);
    collected(root)
        + below
            .map(|pid| tree::cpu_ns(pid) + collected(pid))
            .sum::<u64>()
}

/// The most processes of a run whose CPU time is added up: this must not take longer than other
/// runs can wait. A run has no more by default.
const MAX_COUNTED_PROCESSES: usize = millibox_wire::DEFAULT_PROCESS_LIMIT as usize;

#[cfg(test)]
mod tests {
    use super::*;

    /// To clock_gettime(2) the clock of process 0 is the caller's.
    #[test]
    fn nobody_has_used_nothing() {
        assert!(tree::cpu_ns(0) > 0);
        assert_eq!(tree_cpu_ns(0), 0);
    }
}
