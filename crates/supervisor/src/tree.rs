//! The processes of a run that goes on, as /proc shows them (proc_pid_children(5)).

use crate::sys::calls;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// `root` and the processes below it, no more than `most`; those that come and go meanwhile may
/// be missing.
pub fn below(root: i32, most: usize) -> Vec<i32> {
    let mut all = vec![root];
    let mut next = 0;
    while let Some(&pid) = all.get(next)
        && all.len() < most
    {
        next += 1;
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
    }
    all.truncate(most);
    all
}

/// CPU time of a process, all its threads. Asking counts what the running ones have used since
/// the last tick, for them and for their cgroup (`task_sched_runtime()` in
/// kernel/sched/core.c).
pub fn cpu_ns(pid: i32) -> u64 {
    // The clock of another process (clock_getcpuclockid(3)): ~pid << 3 | CPUCLOCK_SCHED.
    calls::clock_ns(!pid << 3 | 2)
}

/// Ends processes below `root`, `most` of them, not itself. For those that pid1, once it runs, will
/// end anyway: so it does not matter whom this misses.
pub fn kill_below(root: i32, most: usize) {
    let open = |pid: i32| Some((pid, pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?));
    let all: Vec<_> = below(root, most).into_iter().skip(1).filter_map(open).collect();
    if all.is_empty() {
        return;
    }
    // A process may have ended before its pidfd was opened, and its number may be another's,
    // who then is not below `root`.
    let still = below(root, most);
    for (_, process) in all.iter().filter(|(pid, _)| still.contains(pid)) {
        let _ = pidfd_send_signal(process, Signal::KILL);
    }
}
