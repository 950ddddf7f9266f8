//! The processes of a run in progress, as /proc shows them (proc_pid_children(5)).

use crate::sys::calls;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::HashSet;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

/// Whether /proc shows the PID namespace of this process. A process in a namespace that kept an
/// outer /proc would see the ids of other processes there.
pub fn proc_shows_own_namespace() -> bool {
    static SHOWS_OWN: OnceLock<bool> = OnceLock::new();
    let is_own = || {
        std::fs::read_link("/proc/self")
            .is_ok_and(|own| own.to_str() == Some(&calls::getpid().to_string()))
    };
    *SHOWS_OWN.get_or_init(is_own)
}

/// Whether /proc lists the children of a process of this user that is not dumpable, as pid1 is.
/// With `hidepid`, proc(5) hides the list, and without CONFIG_PROC_CHILDREN the file does not
/// exist.
pub fn can_list_children(pid: i32) -> bool {
    proc_shows_own_namespace()
        && std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).is_ok()
}

/// Returns `root` and its descendants, at most `max` processes.
///
/// Processes that start or end meanwhile may be missing. Other processes may also be missing if
/// there are hundreds of threads, because a run must not decide how long the search takes.
pub fn descendants(root: i32, max: usize) -> Vec<i32> {
    let mut all = vec![root];
    if !proc_shows_own_namespace() {
        return all;
    }
    let mut remaining_reads = max.saturating_mul(4);
    let mut next = 0;
    while let Some(&pid) = all.get(next)
        && all.len() < max
        && remaining_reads > 0
    {
        next += 1;
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten();
        for task in tasks.take(remaining_reads) {
            remaining_reads -= 1;
            all.extend(children(
                &task.path().join("children"),
                max.saturating_sub(all.len()),
            ));
        }
    }
    all.truncate(max);
    all
}

/// The first `max` process ids in a `children` file. For each page of the file the kernel walks
/// through all earlier entries.
fn children(path: &Path, max: usize) -> Vec<i32> {
    let mut text = String::new();
    // A process id has at most 7 digits (`PID_MAX_LIMIT`) and is followed by a space.
    let bytes = max.saturating_mul(8) as u64;
    if std::fs::File::open(path)
        .and_then(|file| file.take(bytes).read_to_string(&mut text))
        .is_err()
    {
        return Vec::new();
    }
    // The last process id may be truncated.
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

/// The fields of /proc/PID/stat that millibox uses (proc_pid_stat(5)). Times are in clock ticks.
pub struct Stat {
    /// The process id of the current parent.
    pub parent: i32,
    pub user: u64,
    pub system: u64,
    /// The user CPU time of the children that the process has waited for.
    pub children_user: u64,
    pub children_system: u64,
    /// The start time since the boot. It distinguishes the process from an earlier process with the
    /// same id.
    pub started: u64,
}

/// Reads the state of a process. Returns `None` if the process has ended.
pub fn stat(pid: i32) -> Option<Stat> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The format is "4711 (name) S 4710 ...", where the name may contain any characters.
    let name_ends = stat.iter().rposition(|&byte| byte == b')')?;
    let text = std::str::from_utf8(stat.get(name_ends + 1..)?).ok()?;
    // The rest begins with field 3. ppid is field 4, and the times are fields 14 to 17.
    let mut fields = text.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let mut times = fields.skip(9).map(|ticks| ticks.parse().unwrap_or(0));
    let mut next = || times.next().unwrap_or(0);
    let [user, system, children_user, children_system] = [next(), next(), next(), next()];
    // The start time is field 22.
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

/// The time since the boot in clock ticks, the unit of [`Stat::started`].
pub fn boot_ticks() -> u64 {
    calls::clock_ns(libc::CLOCK_BOOTTIME) / (1_000_000_000 / TICKS_PER_SECOND)
}

/// `USER_HZ`. It is the same on every supported machine (sysconf(3), `_SC_CLK_TCK`).
pub const TICKS_PER_SECOND: u64 = 100;

/// The CPU time of all threads of a process, each up to its last tick.
pub fn cpu_ns(pid: i32) -> u64 {
    // The clock of another process (clock_getcpuclockid(3)): ~pid << 3 | CPUCLOCK_SCHED.
    calls::clock_ns(!pid << 3 | 2)
}

/// The figures of processes before they were killed. If processes are killed together with their
/// pid1, no other process waits for them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Used {
    /// The user and system CPU time of all processes in clock ticks, including `root` and reaped
    /// children.
    pub times: (u64, u64),
    /// The largest resident set of any process below `root`, in bytes; 0 if it was not read.
    pub peak_memory: u64,
}

/// The largest resident set of a process since its exec, in bytes (`VmHWM`, proc_pid_status(5)); 0
/// if the process has ended.
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

/// Kills at most `max` descendants of `root`, but not `root` itself.
///
/// When pid1 is scheduled and dies, the kernel kills all of its descendants, so it does not matter
/// which processes this function misses. `is_same` reports whether `root` is still the intended
/// process. `memory` selects whether to read the memory of the processes.
pub fn kill_descendants(root: i32, max: usize, memory: bool, is_same: impl Fn() -> bool) -> Used {
    let mut used = Used::default();
    if !proc_shows_own_namespace() {
        return used;
    }
    let mut read_figures = |pid: i32| {
        let stat = stat(pid)?;
        used.times.0 += stat.user + stat.children_user;
        used.times.1 += stat.system + stat.children_system;
        if memory && pid != root {
            used.peak_memory = used.peak_memory.max(peak_memory(pid));
        }
        Some(stat.parent)
    };
    let _ = read_figures(root);
    let mut all = Vec::new();
    for pid in descendants(root, max).into_iter().skip(1) {
        let process = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        // A process may have ended before its pidfd was opened, and its id may belong to another
        // process. In that case the parent of the other process is not among the processes killed
        // here, unless it is also a descendant of `root`.
        if let (Some(process), Some(parent)) = (process, read_figures(pid)) {
            all.push((pid, process, parent));
        }
    }
    if is_same() {
        let mut ended = HashSet::from([root]);
        // Parents precede their children. A process that can still be signalled has kept its id.
        for (pid, process, parent) in &all {
            if ended.contains(parent) && pidfd_send_signal(process, Signal::KILL).is_ok() {
                ended.insert(*pid);
            }
        }
    }
    used
}
