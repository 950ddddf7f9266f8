//! The backend for version 1 hierarchies: memory, pids, cpu, cpuacct.
//!
//! A thread that moves itself into a version 1 cgroup through the file `tasks` takes a machine-wide
//! lock for about 20 us. A process that starts in the cgroup of its parent costs nothing. So a
//! runner moves into its cgroups once, and all its runs start there. Counters are reset by writing
//! to them. If something cannot be reset, the runner moves to a new cgroup before its next run, off
//! the critical path:
//!
//! * to a new pids cgroup after a run that had more than one process, because pids.peak cannot be
//!   reset;
//! * to a new memory cgroup after a run that left memory that cannot be reclaimed at once. In the
//!   old cgroup the runner would have to guess how much of that memory the kernel will free during
//!   the next run. A wrong guess would give that run more than its limit.
//!
//! All files are opened by the keeper as root and belong to root. Neither the supervisor nor the
//! target could open them, regardless of the part of /sys/fs/cgroup that they see.

use crate::launch::{AppliedLimits, End, Failure, Launch, Shared, Start, UNLIMITED, message};
use crate::sys::ascii::{Decimal, keyed_number, leading_number};
use crate::sys::calls::Received;
use crate::sys::{self, Errno, calls};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicI32};
use millibox_wire::Step;

mod files;

pub use files::{Figures, Files, Limits};

/// The processes in the runner's cgroups that do not belong to the run: runner, zygote and pid1.
pub const OWN_PROCESSES: u64 = 3;
/// The memory that the preparation of the next run may need.
const PREPARATION_BYTES: u64 = 16 << 20;

/// The memory that a runner's cgroup may hold between two runs. If it holds more, the runner
/// empties it or leaves it. Kernel memory of the runner itself always remains, and so do charges
/// that the kernel makes in advance, in batches of 64 pages for each CPU.
pub const MAX_LEFTOVER_BYTES: u64 = 1536 << 10;

/// The kernel charges in batches of 64 pages for each CPU (`MEMCG_CHARGE_BATCH` in
/// include/linux/memcontrol.h), and a run usually begins on at most two CPUs. Its first pages come
/// from what was charged for them in advance, so this much is the run's own memory and not that of
/// an earlier run.
const ADVANCE_CHARGE_BYTES: u64 = 2 * 64 * 4096;

/// The time after which the runner stops emptying a cgroup and leaves it. If pages cannot be
/// reclaimed because another run holds them (mlock(2)), a single attempt can take tens of
/// milliseconds.
const EMPTYING_TIMEOUT_NS: u64 = 50_000_000;

/// What a runner's cgroup may hold in addition if its runs have network namespaces of their own. A
/// namespace takes about 100 KiB, which the kernel frees 20 to 90 ms after the run (`cleanup_net()`
/// in net/core/net_namespace.c). A runner makes a run every few milliseconds.
const MAX_NETWORK_BYTES: u64 = 3 << 20;

/// The time that the kernel has to free namespaces if there are more.
pub const FREEING_TIMEOUT_NS: u64 = 50_000_000;
/// The pause between two checks whether it has freed them.
pub const FREEING_PAUSE_NS: u32 = 500_000;

/// The part of the memory in the cgroup before a run that does not belong to the run.
fn memory_of_earlier_runs(applied_limits: &AppliedLimits) -> u64 {
    let left = applied_limits.left_memory.load(Relaxed);
    left.saturating_sub(ADVANCE_CHARGE_BYTES)
}

/// The memory that a runner's cgroup may hold between two runs.
pub fn max_leftover(have_networks: bool) -> u64 {
    if have_networks {
        MAX_LEFTOVER_BYTES + MAX_NETWORK_BYTES
    } else {
        MAX_LEFTOVER_BYTES
    }
}

/// The cgroups of one runner; see the module documentation.
pub struct Runner {
    files: Files,
    /// The process id of the runner that joined.
    process: AtomicI32,
    /// Whether the runner has moved to a new cgroup.
    moved: AtomicBool,
}

impl Runner {
    pub fn new(files: Files) -> Runner {
        Runner {
            files,
            process: AtomicI32::new(0),
            moved: AtomicBool::new(false),
        }
    }

    pub fn descriptors(&self) -> Vec<i32> {
        let mut files = self.files;
        files.of_runners().map(|fd| *fd).collect()
    }

    /// Closes all files except for those with the figures. Only a pid1 with its own memory and
    /// descriptors calls this.
    pub fn close_limits(&self) {
        let mut limits = self.files.limits;
        limits.close();
    }

    pub fn join(&self, again: bool, socket: i32) -> Result<(), Failure> {
        self.process.store(calls::getpid(), Relaxed);
        let limits = &self.files.limits;
        let joined = |fd| calls::write(fd, b"0").map_err(|errno| Failure::new(Step::Cgroup, errno));
        // A runner that replaces a dead one does not know which of its cgroups were renewed.
        if again {
            self.enter_memory(&self.request_cgroup(RENEW_MEMORY)?, socket)?;
            self.renew_pids()?;
        } else {
            limits.memory_join.map_or(Ok(()), joined)?;
            joined(limits.pids_join)?;
        }
        limits
            .join_others
            .into_iter()
            .flatten()
            .try_for_each(joined)
    }

    /// Moves descriptors to the lowest numbers. A runner calls this after it has joined. A table of
    /// more than 64 descriptors is allocated again for each pid1 and target (`dup_fd()` in
    /// fs/file.c).
    pub fn set_up(&mut self) -> Result<(), Failure> {
        let limits = &mut self.files.limits;
        for fd in limits
            .join_others
            .iter_mut()
            .chain([&mut limits.memory_join])
            .filter_map(Option::take)
        {
            let _ = calls::close(fd);
        }
        for fd in self.files.of_runners() {
            *fd = calls::move_down(*fd).map_err(|errno| Failure::new(Step::Runner, errno))?;
        }
        Ok(())
    }

    pub fn prepare(&self, shared: &Shared, socket: i32, had_network: bool) -> Result<(), Failure> {
        let files = &self.files;
        let applied_limits = &shared.applied_limits;
        // Memory that the last run left would count towards the next run. Page cache can be
        // reclaimed, but this is expensive because it visits all CPUs, so a small amount may stay.
        // The kernel frees other memory a moment later: for example, a work queue frees the shared
        // memory of an IPC namespace.
        let usage_now = || {
            read_number(files.limits.memory_usage)
                .map_err(|errno| Failure::new(Step::Counters, errno))
        };
        let max_leftover = max_leftover(had_network);
        let mut usage = usage_now()?;
        let begin = calls::monotonic_raw_ns();
        while usage > max_leftover
            && calls::monotonic_raw_ns().saturating_sub(begin) < EMPTYING_TIMEOUT_NS
        {
            let _ = calls::write(files.limits.memory_empty, b"0");
            usage = usage_now()?;
            if usage > max_leftover {
                calls::sleep_ns(1_000_000);
                usage = usage_now()?;
            }
        }
        if usage > max_leftover {
            // The remaining memory belongs to files on a tmpfs of the host or to pages that other
            // processes hold, or the kernel has not freed it yet. The messages to the keeper need
            // memory too, and the last run's limit may leave no room for them.
            self.set_memory(applied_limits, UNLIMITED, UNLIMITED)?;
            let fresh = self.request_cgroup(RENEW_MEMORY)?;
            applied_limits.mark_memory_unknown();
            if self.enter_memory(&fresh, socket).is_err() {
                // The open files may not belong to the current cgroup, so writing to them may limit
                // nothing.
                calls::exit(1);
            }
            usage = usage_now()?;
        }
        if applied_limits.oom_kills_before.load(Relaxed) == UNLIMITED {
            let count = self
                .oom_kills()
                .map_err(|errno| Failure::new(Step::Counters, errno))?;
            applied_limits.oom_kills_before.store(count, Relaxed);
            applied_limits.oom_kills.store(count, Relaxed);
        }
        // The preparation of the next run may not be subject to the last run's limit.
        if applied_limits.memory.load(Relaxed) < usage.saturating_add(PREPARATION_BYTES) {
            self.set_memory(applied_limits, UNLIMITED, UNLIMITED)?;
        }
        if applied_limits.processes.load(Relaxed) < 2 {
            self.set_processes(applied_limits, UNLIMITED)?;
        }
        // Nor may it pay the debt of the last run's bandwidth. The process that ended the run has
        // lifted the limit, so the limit is not in force.
        if applied_limits.quota.load(Relaxed) != UNLIMITED {
            self.set_bandwidth(applied_limits, UNLIMITED, 0)?;
        }
        Ok(())
    }

    pub fn reset(&self, applied_limits: &AppliedLimits) -> sys::Result<()> {
        // Memory above the lowest usage ever seen in this runner does not belong to the next run.
        // Preparing its world may need more memory, or an earlier run may have left a small amount.
        let usage = read_number(self.files.limits.memory_usage)?;
        let least = applied_limits.least_memory.load(Relaxed).min(usage);
        applied_limits.least_memory.store(least, Relaxed);
        applied_limits.left_memory.store(usage - least, Relaxed);
        // Writing sets memory.max_usage_in_bytes to the current usage.
        calls::write(self.files.figures.memory_peak, b"0")
    }

    pub fn limit(&self, shared: &Shared, launch: &Launch, socket: i32) -> Result<(), Failure> {
        let applied_limits = &shared.applied_limits;
        let mut memory = launch.memory;
        if applied_limits.left_memory.load(Relaxed) > MAX_LEFTOVER_BYTES {
            // The kernel may have freed more memory since the check. The remaining memory is added
            // to this run's limit. It consists of the cost of the preparation, which no run can
            // free, and of at most the amount that `prepare` tolerates from earlier runs.
            self.reset(applied_limits)
                .map_err(|errno| Failure::new(Step::Counters, errno))?;
            let left = applied_limits.left_memory.load(Relaxed);
            if memory != UNLIMITED && left > MAX_LEFTOVER_BYTES {
                memory = memory.saturating_add(memory_of_earlier_runs(applied_limits));
            }
        }
        if applied_limits.memory.load(Relaxed) != memory
            || applied_limits.swap.load(Relaxed) != launch.swap
        {
            self.set_memory(applied_limits, memory, launch.swap)?;
        }
        if applied_limits.processes.load(Relaxed) != launch.processes {
            self.set_processes(applied_limits, launch.processes)?;
        }
        if launch.quota == UNLIMITED {
            // No bandwidth limit is in force; see `prepare`.
            return Ok(());
        }
        super::send_bandwidth_file(socket, self.files.limits.cpu_quota)?;
        self.set_bandwidth(applied_limits, launch.quota, launch.period)?;
        // This move has the costs that the module documentation describes. The target never moves
        // back: its process ends in that cgroup.
        self.files.limits.cpu_join.map_or(Ok(()), |fd| {
            calls::write(fd, b"0").map_err(|errno| Failure::new(Step::CpuBandwidth, errno))
        })
    }

    /// Limits the template of a prepared program until it is ready.
    pub fn limit_template(
        &self,
        applied_limits: &AppliedLimits,
        memory: u64,
    ) -> Result<(), Failure> {
        self.set_processes(applied_limits, super::TEMPLATE_TASKS)?;
        self.set_memory(applied_limits, memory, 0)
    }

    pub fn memory(&self) -> sys::Result<u64> {
        read_number(self.files.limits.memory_usage)
    }

    /// Prepares the counters for the next copy of a prepared program.
    pub fn reset_for_copy(&self, applied_limits: &AppliedLimits) -> sys::Result<()> {
        applied_limits
            .oom_kills_before
            .store(self.oom_kills()?, Relaxed);
        calls::write(self.files.figures.memory_peak, b"0")
    }

    /// The highest number of tasks that the pids cgroup has had so far; `UNLIMITED` if unknown.
    pub fn peak_tasks(&self) -> sys::Result<u64> {
        self.files
            .figures
            .pids_peak
            .map_or(Ok(UNLIMITED), read_number)
    }

    /// Lifts the limits of the last copy that could prevent the next one.
    pub fn lift_limits(&self, applied_limits: &AppliedLimits) -> Result<(), Failure> {
        let usage = self
            .memory()
            .map_err(|errno| Failure::new(Step::Counters, errno))?;
        if applied_limits.memory.load(Relaxed) < usage.saturating_add(PREPARATION_BYTES) {
            self.set_memory(applied_limits, UNLIMITED, UNLIMITED)?;
        }
        if applied_limits.processes.load(Relaxed) < super::TEMPLATE_TASKS {
            self.set_processes(applied_limits, UNLIMITED)?;
        }
        Ok(())
    }

    /// Sets the limits of memory and swap. The kernel requires memory <= memory + swap at all
    /// times, so the limit of the sum is lifted first and set last.
    fn set_memory(
        &self,
        applied_limits: &AppliedLimits,
        memory: u64,
        swap: u64,
    ) -> Result<(), Failure> {
        // If a step fails, the limit in force is unknown.
        applied_limits.memory.store(0, Relaxed);
        if let Some(fd) = self.files.limits.memory_swap {
            write_limit(fd, UNLIMITED).map_err(|errno| Failure::new(Step::SwapLimit, errno))?;
        }
        write_limit(self.files.limits.memory, memory)
            .map_err(|errno| Failure::new(Step::MemoryLimit, errno))?;
        // Version 1 counts the buffers of network sockets separately, so they may use the same
        // amount again.
        if let Some(fd) = self.files.limits.sockets {
            write_limit(fd, memory).map_err(|errno| Failure::new(Step::MemoryLimit, errno))?;
        }
        if memory != UNLIMITED && swap != UNLIMITED {
            match self.files.limits.memory_swap {
                Some(fd) => write_limit(fd, memory.saturating_add(swap))
                    .map_err(|errno| Failure::new(Step::SwapLimit, errno))?,
                // Without swap accounting a swap limit cannot be enforced. The host must boot with
                // `swapaccount=1`.
                None if swap != 0 => {
                    return Err(Failure::new(Step::SwapLimit, Errno(libc::EOPNOTSUPP)));
                }
                None => {}
            }
        }
        applied_limits.swap.store(swap, Relaxed);
        applied_limits.memory.store(memory, Relaxed);
        Ok(())
    }

    fn set_processes(&self, applied_limits: &AppliedLimits, processes: u64) -> Result<(), Failure> {
        let answer = match processes {
            UNLIMITED => calls::write(self.files.limits.pids_max, b"max"),
            n => calls::write(
                self.files.limits.pids_max,
                Decimal::new(n.saturating_add(OWN_PROCESSES)).as_bytes(),
            ),
        };
        answer.map_err(|errno| Failure::new(Step::ProcessLimit, errno))?;
        applied_limits.processes.store(processes, Relaxed);
        Ok(())
    }

    fn set_bandwidth(
        &self,
        applied_limits: &AppliedLimits,
        quota: u64,
        period: u64,
    ) -> Result<(), Failure> {
        let failed = |errno| Failure::new(Step::CpuBandwidth, errno);
        applied_limits.quota.store(0, Relaxed);
        // Without a quota any period is accepted, so the quota is removed first.
        calls::write(self.files.limits.cpu_quota, super::NO_QUOTA).map_err(failed)?;
        if quota != UNLIMITED {
            calls::write(
                self.files.limits.cpu_period,
                Decimal::new(period).as_bytes(),
            )
            .map_err(failed)?;
            calls::write(self.files.limits.cpu_quota, Decimal::new(quota).as_bytes())
                .map_err(failed)?;
        }
        applied_limits.quota.store(quota, Relaxed);
        Ok(())
    }

    pub fn lift_bandwidth(&self) {
        let _ = calls::write(self.files.limits.cpu_quota, super::NO_QUOTA);
    }

    pub fn start(&self, start: &mut Start) -> sys::Result<()> {
        start.cpu_ns = read_number(self.files.figures.cpu_usage)?;
        Ok(())
    }

    pub fn measure(
        &self,
        applied_limits: &AppliedLimits,
        start: &Start,
        end: &mut End,
    ) -> sys::Result<()> {
        applied_limits.peak_tasks.store(UNLIMITED, Relaxed);
        end.cpu_ns = read_number(self.files.figures.cpu_usage)?.saturating_sub(start.cpu_ns);
        // The count covers all runs of the runner.
        let by_now = self.oom_kills()?;
        applied_limits.oom_kills.store(by_now, Relaxed);
        end.oom_kills = by_now.saturating_sub(applied_limits.oom_kills_before.load(Relaxed));
        end.own_limit_reached = UNLIMITED;
        end.peak_memory = read_number(self.files.figures.memory_peak)?
            .saturating_sub(memory_of_earlier_runs(applied_limits));
        end.peak_processes = match self.files.figures.pids_peak {
            Some(fd) => {
                let most = read_number(fd)?;
                applied_limits.peak_tasks.store(most, Relaxed);
                most.saturating_sub(OWN_PROCESSES)
            }
            None => UNLIMITED,
        };
        Ok(())
    }

    fn oom_kills(&self) -> sys::Result<u64> {
        let mut buffer = [0; 128];
        let text = calls::read_at_start(self.files.figures.oom_control, &mut buffer)?;
        // The key is missing before Linux 4.13.
        Ok(keyed_number(text, b"oom_kill").unwrap_or(0))
    }

    pub fn clean(&self, applied_limits: &AppliedLimits) -> Result<(), Failure> {
        applied_limits
            .oom_kills_before
            .store(applied_limits.oom_kills.load(Relaxed), Relaxed);
        // A peak above that of runner, pid1 and one target would count towards the next run as
        // well.
        if self.files.figures.pids_peak.is_some()
            && applied_limits.peak_tasks.load(Relaxed) > OWN_PROCESSES + 1
        {
            // After a partial failure the open files may not belong to the current cgroup and may
            // limit nothing. In that case, this runner must not continue.
            self.renew_pids()?;
            applied_limits.peak_tasks.store(0, Relaxed);
            applied_limits.processes.store(UNLIMITED, Relaxed);
        }
        Ok(())
    }

    /// Requests a new cgroup from the keeper and returns its files.
    fn request_cgroup(&self, what: u8) -> Result<Received, Failure> {
        let failed = |errno| Failure::new(Step::Cgroup, errno);
        let keeper = self.files.limits.keeper;
        // A runner that died here may have left an answer in the socket.
        while let Ok(old) = calls::receive(keeper, &mut [0; 1], libc::MSG_DONTWAIT)
            && old.length > 0
        {
            calls::close_present(old.descriptors);
        }
        calls::send(keeper, &[what]).map_err(failed)?;
        let mut answer = [0; 1];
        let received = calls::receive(keeper, &mut answer, 0).map_err(failed)?;
        let least = if what == RENEW {
            2
        } else {
            self.memory_files()
        };
        if received.length != 1
            || answer != [what]
            || received.descriptors.iter().take(least).any(|&fd| fd < 0)
        {
            calls::close_present(received.descriptors);
            return Err(failed(Errno(libc::EPIPE)));
        }
        Ok(received)
    }

    /// The number of files of a memory cgroup on this kernel.
    fn memory_files(&self) -> usize {
        let limits = &self.files.limits;
        7 + usize::from(limits.memory_swap.is_some()) + usize::from(limits.sockets.is_some())
    }

    /// Moves runner and zygote to a new memory cgroup, and sends the supervisor the files that it
    /// reads. The new descriptors replace the old ones under the same numbers.
    fn enter_memory(&self, fresh: &Received, socket: i32) -> Result<(), Failure> {
        let failed = |errno| Failure::new(Step::Cgroup, errno);
        let Files {
            limits, figures, ..
        } = &self.files;
        let [
            join,
            limit,
            usage,
            empty,
            peak,
            oom_control,
            oom_event,
            others @ ..,
        ] = fresh.descriptors;
        let mut others = others.into_iter();
        let news = [peak, oom_control, oom_event];
        // The supervisor must not read an old event or the old peak for the next run.
        let mut told = calls::send_descriptors(socket, &[message::MEMORY], &news);
        for _ in 0..1000 {
            if !told.is_err_and(Errno::passes) {
                break;
            }
            calls::sleep_ns(1_000_000);
            told = calls::send_descriptors(socket, &[message::MEMORY], &news);
        }
        told.map_err(failed)?;
        let kept = [
            (limit, Some(limits.memory)),
            (usage, Some(limits.memory_usage)),
            (empty, Some(limits.memory_empty)),
            (peak, Some(figures.memory_peak)),
            (oom_control, Some(figures.oom_control)),
        ];
        let sometimes =
            [limits.memory_swap, limits.sockets].map(|old| (old.and_then(|_| others.next()), old));
        for (new, old) in kept
            .into_iter()
            .chain(sometimes.map(|(new, old)| (new.unwrap_or(-1), old)))
        {
            if let Some(old) = old {
                calls::dup3(new, old, libc::O_CLOEXEC).map_err(failed)?;
            }
        }
        let entered = self.enter(join);
        calls::close_present(fresh.descriptors);
        entered
    }

    /// Moves runner and zygote to another cgroup.
    fn enter(&self, join: i32) -> Result<(), Failure> {
        let failed = |errno| Failure::new(Step::Cgroup, errno);
        let runner = self.process.load(Relaxed);
        calls::write(join, Decimal::new(runner as u64).as_bytes()).map_err(failed)?;
        if calls::getpid() != runner {
            calls::write(join, b"0").map_err(failed)?;
            // The root of the zygote's cgroup namespace is the old cgroup, so a run would see the
            // name of the new one. (A runner that joins creates its namespace afterwards.)
            calls::unshare(libc::CLONE_NEWCGROUP)
                .map_err(|errno| Failure::new(Step::CgroupNamespace, errno))?;
        }
        self.moved.store(true, Relaxed);
        Ok(())
    }

    /// Moves runner and zygote to a new pids cgroup. The new descriptors replace the old ones under
    /// the same numbers.
    fn renew_pids(&self) -> Result<(), Failure> {
        let failed = |errno| Failure::new(Step::Cgroup, errno);
        let files = &self.files;
        let [join, max, peak, ..] = self.request_cgroup(RENEW)?.descriptors;
        for (new, old) in [
            (join, Some(files.limits.pids_join)),
            (max, Some(files.limits.pids_max)),
            (peak, files.figures.pids_peak),
        ] {
            if let Some(old) = old.filter(|_| new >= 0) {
                calls::dup3(new, old, libc::O_CLOEXEC).map_err(failed)?;
                let _ = calls::close(new);
            }
        }
        self.enter(files.limits.pids_join)?;
        // The keeper removes the old cgroup after this message, because it is empty now.
        calls::send(files.limits.keeper, &[RENEWED]).map_err(failed)
    }

    /// Enters a new cgroup namespace. A zygote calls this before its first run, because another
    /// zygote may have moved since the runner created its namespace.
    pub fn enter_own_cgroup_namespace(&self) -> Result<(), Failure> {
        if self.moved.load(Relaxed) {
            calls::unshare(libc::CLONE_NEWCGROUP)
                .map_err(|errno| Failure::new(Step::CgroupNamespace, errno))?;
        }
        Ok(())
    }
}

/// Runner to keeper: requests a new pids cgroup. The answer is this byte with the files.
pub const RENEW: u8 = b'N';
/// Runner to keeper: requests a new memory cgroup, as above. The keeper removes the old one at the
/// next request.
pub const RENEW_MEMORY: u8 = b'E';
/// Runner to keeper: the runner has moved to the new pids cgroup.
pub const RENEWED: u8 = b'M';

fn write_limit(fd: i32, value: u64) -> crate::sys::Result<()> {
    match value {
        UNLIMITED => calls::write(fd, b"-1"),
        value => calls::write(fd, Decimal::new(value).as_bytes()),
    }
}

fn read_number(fd: i32) -> sys::Result<u64> {
    let mut buffer = [0; 32];
    calls::read_at_start(fd, &mut buffer).map(leading_number)
}
