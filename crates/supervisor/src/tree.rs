//! The processes of a run that goes on, as /proc can_list_children them (proc_pid_children(5)).

use crate::sys::calls;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::HashSet;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

/// Whether /proc can_list_children our own PID namespace: in one that kept an outer /proc, its numbers are
/// other processes'.
pub fn proc_shows_own_namespace() -> bool {
    static OURS: OnceLock<bool> = OnceLock::new();
    let looks_so = || {
        std::fs::read_link("/proc/self")
            .is_ok_and(|own| own.to_str() == Some(&calls::getpid().to_string()))
    };
    *OURS.get_or_init(looks_so)
}

/// Whether we can look at the children of a process of ours that is not dumpable, as pid1 is:
/// proc(5) hides them with `hidepid`, and has no such file without CONFIG_PROC_CHILDREN.
pub fn can_list_children(pid: i32) -> bool {
    proc_shows_own_namespace()
        && std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).is_ok()
}

/// `root` and the processes below it, no more than `most`; those that come and go meanwhile may
/// be missing, and so may be some where there are threads by the hundred: looking must not take
/// a time that is up to the run.
pub fn descendants(root: i32, most: usize) -> Vec<i32> {
    let mut all = vec![root];
    if !proc_shows_own_namespace() {
        return all;
    }
    let mut looks = most.saturating_mul(4);
    let mut next = 0;
    while let Some(&pid) = all.get(next)
        && all.len() < most
        && looks > 0
    {
        next += 1;
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten();
        for task in tasks.take(looks) {
            looks -= 1;
            all.extend(children(
                &task.path().join("children"),
                most.saturating_sub(all.len()),
            ));
        }
    }
    all.truncate(most);
    all
}

/// The first `most` in such a file. For each page of it the kernel goes through all that come
/// before.
fn children(path: &Path, most: usize) -> Vec<i32> {
    let mut text = String::new();
    // A number has at most 7 digits (`PID_MAX_LIMIT`), and a space.
    let bytes = most.saturating_mul(8) as u64;
    if std::fs::File::open(path)
        .and_then(|file| file.take(bytes).read_to_string(&mut text))
        .is_err()
    {
        return Vec::new();
    }
    // The last one may be cut.
    let whole = if text.len() as u64 == bytes {
        text.rfind(' ').unwrap_or(0)
    } else {
        text.len()
    };
    text.get(..whole)
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// What /proc tells of a process (proc_pid_stat(5)); times are in clock ticks.
pub struct Stat {
    /// Whose child it is now.
    pub parent: i32,
    pub user: u64,
    pub system: u64,
    /// Of those that it has waited for.
    pub children_user: u64,
    pub children_system: u64,
    /// When it was started, after the boot. Tells it from an earlier process with the same number.
    pub started: u64,
}

/// `None`: it is gone.
pub fn stat(pid: i32) -> Option<Stat> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // "4711 (name) S 4710 ...": the name may have anything in it.
    let name_ends = stat.iter().rposition(|&byte| byte == b')')?;
    let text = std::str::from_utf8(stat.get(name_ends + 1..)?).ok()?;
    // From field 3 on: ppid is 4, the times are 14 to 17.
    let mut fields = text.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let mut times = fields.skip(9).map(|ticks| ticks.parse().unwrap_or(0));
    let mut next = || times.next().unwrap_or(0);
    let [user, system, children_user, children_system] = [next(), next(), next(), next()];
    // Field 22.
    let started = times.nth(4)?;
    Some(Stat {
        parent,
        user,
        system,
        children_user,
        children_system,
        started,
    })
}

/// The time since the boot in clock ticks, as [`Stat::started`] counts it.
pub fn boot_ticks() -> u64 {
    calls::clock_ns(libc::CLOCK_BOOTTIME) / (1_000_000_000 / TICKS_PER_SECOND)
}

/// `USER_HZ`, the same on every Linux machine we build for (sysconf(3), `_SC_CLK_TCK`).
pub const TICKS_PER_SECOND: u64 = 100;

/// CPU time of a process, all its threads, by the last tick of each.
pub fn cpu_ns(pid: i32) -> u64 {
    // The clock of another process (clock_getcpuclockid(3)): ~pid << 3 | CPUCLOCK_SCHED.
    calls::clock_ns(!pid << 3 | 2)
}

/// What was seen of processes before they were ended: nobody waits for those that are killed with
/// their pid1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Used {
    /// User and system CPU time of all of them, `root` and those that were waited for too, in clock
    /// ticks.
    pub times: (u64, u64),
    /// The largest resident set that one of them below `root` ever had, in bytes. 0: not looked at.
    pub peak_memory: u64,
}

/// Largest resident set of a process since its exec, in bytes (`VmHWM`, proc_pid_status(5)); 0: it
/// is over.
fn peak_memory(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap_or_default();
    line.trim()
        .trim_end_matches(" kB")
        .parse()
        .map_or(0, |kib: u64| kib.saturating_mul(1024))
}

/// Ends processes below `root`, `most` of them, not itself. For those that pid1, once it runs, will
/// end anyway: so it does not matter whom this misses. `is_same`: `root` is still the process
/// that is meant. `memory`: whether to look at what they have of it.
pub fn kill_descendants(root: i32, most: usize, memory: bool, is_same: impl Fn() -> bool) -> Used {
    let mut used = Used::default();
    if !proc_shows_own_namespace() {
        return used;
    }
    let mut look = |pid: i32| {
        let stat = stat(pid)?;
        used.times.0 += stat.user + stat.children_user;
        used.times.1 += stat.system + stat.children_system;
        if memory && pid != root {
            used.peak_memory = used.peak_memory.max(peak_memory(pid));
        }
        Some(stat.parent)
    };
    let _ = look(root);
    let mut all = Vec::new();
    for pid in descendants(root, most).into_iter().skip(1) {
        let process = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        // A process may have ended before its pidfd was opened, and its number may be another's.
        // That one's parent is not one of those that we end, or it is one of them after all.
        if let (Some(process), Some(parent)) = (process, look(pid)) {
            all.push((pid, process, parent));
        }
    }
    if is_same() {
        let mut ended = HashSet::from([root]);
        // Parents come before their children. One that can still be signalled has had its number
        // all the time.
        for (pid, process, parent) in &all {
            if ended.contains(parent) && pidfd_send_signal(process, Signal::KILL).is_ok() {
                ended.insert(*pid);
            }
        }
    }
    used
}
