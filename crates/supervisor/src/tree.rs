//! The processes of a run that goes on, as /proc shows them (proc_pid_children(5)).

use crate::sys::calls;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

/// Whether /proc shows our own PID namespace: in one that kept an outer /proc, its numbers are
/// other processes'.
pub fn proc_is_ours() -> bool {
    static OURS: OnceLock<bool> = OnceLock::new();
    let looks_so =
        || std::fs::read_link("/proc/self").is_ok_and(|own| own.to_str() == Some(&calls::getpid().to_string()));
    *OURS.get_or_init(looks_so)
}

/// Whether we can look at the children of a process of ours that is not dumpable, as pid1 is: proc(5)
/// hides them with `hidepid`, and has no such file without CONFIG_PROC_CHILDREN.
pub fn shows(pid: i32) -> bool {
    proc_is_ours() && std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).is_ok()
}

/// `root` and the processes below it, no more than `most`; those that come and go meanwhile may
/// be missing, and so may be some where there are threads by the hundred: looking must not take
/// a time that is up to the run.
pub fn below(root: i32, most: usize) -> Vec<i32> {
    let mut all = vec![root];
    if !proc_is_ours() {
        return all;
    }
    let mut looks = most.saturating_mul(4);
    let mut next = 0;
    while let Some(&pid) = all.get(next)
        && all.len() < most
        && looks > 0
    {
        next += 1;
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for task in tasks.take(looks) {
            looks -= 1;
            all.extend(children(&task.path().join("children"), most.saturating_sub(all.len())));
        }
    }
    all.truncate(most);
    all
}

/// The first `most` in such a file. For each page of it the kernel goes through all that come before.
fn children(path: &Path, most: usize) -> Vec<i32> {
    let mut text = String::new();
    // A number has at most 7 digits (`PID_MAX_LIMIT`), and a space.
    let bytes = most.saturating_mul(8) as u64;
    if std::fs::File::open(path).and_then(|file| file.take(bytes).read_to_string(&mut text)).is_err() {
        return Vec::new();
    }
    // The last one may be cut.
    let whole = if text.len() as u64 == bytes { text.rfind(' ').unwrap_or(0) } else { text.len() };
    text.get(..whole).unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Whose child a process is now.
pub fn parent(pid: i32) -> Option<i32> {
    stat(pid)?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// User and system CPU time of a process and of those that it has waited for, in clock ticks; of one that is gone, none.
pub fn times(pid: i32) -> (u64, u64) {
    let fields = stat(pid).unwrap_or_default();
    // utime, stime, cutime, cstime: the fields 14 to 17, of which the first two are cut off.
    let mut times = fields.split_ascii_whitespace().skip(11).map(|ticks| ticks.parse().unwrap_or(0));
    let mut next = || times.next().unwrap_or(0);
    let (user, system) = (next(), next());
    (user + next(), system + next())
}

/// What proc_pid_stat(5) says after the name, which may have anything in it: "4711 (name) S 4710 ...".
fn stat(pid: i32) -> Option<String> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let name_ends = stat.iter().rposition(|&byte| byte == b')')?;
    String::from_utf8(stat.get(name_ends + 1..)?.to_vec()).ok()
}

/// CPU time of a process, all its threads. Asking counts what the running ones have used since
/// the last tick, for them and for their cgroup (`task_sched_runtime()` in
/// kernel/sched/core.c).
pub fn cpu_ns(pid: i32) -> u64 {
    // The clock of another process (clock_getcpuclockid(3)): ~pid << 3 | CPUCLOCK_SCHED.
    calls::clock_ns(!pid << 3 | 2)
}

/// Ends processes below `root`, `most` of them, not itself. For those that pid1, once it runs, will
/// end anyway: so it does not matter whom this misses. `is_still`: `root` is still the process
/// that is meant.
pub fn kill_below(root: i32, most: usize, is_still: impl Fn() -> bool) {
    let open = |pid: i32| Some((pid, pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?));
    let all: Vec<_> = below(root, most).into_iter().skip(1).filter_map(open).collect();
    if all.is_empty() {
        return;
    }
    // A process may have ended before its pidfd was opened, and its number may be another's,
    // who then is not below `root`.
    let still = below(root, most);
    if !is_still() {
        return;
    }
    for (_, process) in all.iter().filter(|(pid, _)| still.contains(pid)) {
        let _ = pidfd_send_signal(process, Signal::KILL);
    }
}
