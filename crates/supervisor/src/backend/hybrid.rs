//! Version 1 hierarchies: memory, pids, cpu, cpuacct.
//!
//! Moving a process into a v1 cgroup takes the write side of a per-CPU lock, an RCU
//! grace period when it is the first for a while (5 to 9 ms); being born beside a
//! parent costs nothing. So a runner moves into its cgroups once, all its runs are born
//! there, and counters are reset by writing to them. What cannot be reset is left behind: the
//! runner moves to a fresh cgroup before its next run, off the critical path. So it does
//!
//! * of pids after a run that had more than one process, since pids.peak stays;
//! * of memory after a run that left some which cannot be had back at once. Who stayed would
//!   have to guess how much of it goes while the next run is on, and a wrong guess gives that
//!   run more than its limit. Nobody but the kernel frees what was left, when it comes to it.
//!
//! All files were opened by root (the keeper) and stay root's: neither supervisor nor
//! target could open them, whatever they see of /sys/fs/cgroup.

use crate::launch::{End, Failure, Launch, Shared, Standing, Start, UNLIMITED, message};
use crate::sys::ascii::{Decimal, keyed_number, leading_number};
use crate::sys::calls::Received;
use crate::sys::{self, Errno, calls};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicI32};
use millibox_wire::Step;
use serde::{Deserialize, Serialize};

/// Open files of one runner's cgroups, as descriptor numbers.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Files {
    /// What the runner and its runs are placed and limited by.
    pub limits: Limits,
    /// What their figures are read from.
    pub figures: Figures,
    /// An eventfd that counts when the memory cgroup is out of memory: the supervisor's.
    pub oom_event: i32,
}

/// See [`Files`]. The supervisor, which only looks, has no use for these.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Limits {
    /// cgroup.procs of the memory cgroup.
    pub memory_join: Option<i32>,
    /// The same of the cpu cgroup, and of the cpuacct cgroup where that is another.
    pub join_others: [Option<i32>; 2],
    /// memory.limit_in_bytes
    pub memory: i32,
    /// memory.memsw.limit_in_bytes; `None`: the kernel does not account swap.
    pub memory_swap: Option<i32>,
    /// memory.kmem.tcp.limit_in_bytes; `None`: the kernel has none (without CONFIG_INET).
    pub sockets: Option<i32>,
    /// memory.usage_in_bytes
    pub memory_usage: i32,
    /// memory.force_empty
    pub memory_empty: i32,
    /// cgroup.procs of the pids cgroup
    pub pids_join: i32,
    /// pids.max
    pub pids_max: i32,
    /// cgroup.procs of the runner's own cpu cgroup, where runner and zygote are not: a run whose
    /// bandwidth is limited goes there. `None`: they live in it, and so do all their runs.
    pub cpu_join: Option<i32>,
    /// cpu.cfs_quota_us
    pub cpu_quota: i32,
    /// cpu.cfs_period_us
    pub cpu_period: i32,
    /// A socket on which the keeper renews this runner's pids cgroup.
    pub keeper: i32,
}

/// See [`Files`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Figures {
    /// memory.max_usage_in_bytes
    pub memory_peak: i32,
    /// memory.oom_control
    pub oom_control: i32,
    /// pids.peak; `None`: the kernel is older than 6.1.
    pub pids_peak: Option<i32>,
    /// cpuacct.usage
    pub cpu_usage: i32,
}

impl Limits {
    fn each(&mut self) -> impl Iterator<Item = &mut i32> {
        let always = [
            &mut self.memory,
            &mut self.memory_usage,
            &mut self.memory_empty,
            &mut self.pids_join,
            &mut self.pids_max,
            &mut self.cpu_quota,
            &mut self.cpu_period,
            &mut self.keeper,
        ];
        let sometimes = [&mut self.memory_swap, &mut self.sockets, &mut self.cpu_join];
        let once = self.join_others.iter_mut().chain([&mut self.memory_join]);
        always
            .into_iter()
            .chain(sometimes.into_iter().flatten())
            .chain(once.flatten())
    }

    pub fn close(&mut self) {
        for fd in self.each() {
            let _ = calls::close(std::mem::replace(fd, -1));
        }
    }
}

impl Figures {
    fn each(&mut self) -> impl Iterator<Item = &mut i32> {
        [
            &mut self.memory_peak,
            &mut self.oom_control,
            &mut self.cpu_usage,
        ]
        .into_iter()
        .chain(&mut self.pids_peak)
    }
}

impl Files {
    /// What runners have of it, so all but what is the supervisor's.
    fn of_runners(&mut self) -> impl Iterator<Item = &mut i32> {
        self.limits.each().chain(self.figures.each())
    }

    pub fn all(mut self) -> Vec<i32> {
        let oom_event = self.oom_event;
        self.of_runners().map(|fd| *fd).chain([oom_event]).collect()
    }
}

/// Processes in the runner's cgroups that are not the run's: runner, zygote and pid1.
const OWN_PROCESSES: u64 = 3;
/// With less memory than this left, the next run's preparation might not fit.
const ROOM_TO_PREPARE: u64 = 16 << 20;

/// A runner's cgroup that holds more than this between two runs is emptied, or left. Kernel memory
/// of the runner's own, and what the kernel charges ahead in batches of 64 pages for each CPU, is
/// always there.
const LEFT_BEHIND: u64 = 1536 << 10;

/// For how long a cgroup is emptied, again and again, until the runner leaves it. Where pages
/// cannot be reclaimed, as another run holds them (mlock(2)), a single time can take tens of
/// milliseconds.
const LONGEST_EMPTYING_NS: u64 = 50_000_000;

/// See the module.
pub struct Runner {
    files: Files,
    /// Process id of the runner that joined.
    process: AtomicI32,
    /// It has moved to a fresh cgroup.
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

    /// pid1 with memory and descriptors of its own: closes all but what it reads the figures from.
    pub fn close_limits(&self) {
        let mut limits = self.files.limits;
        limits.close();
    }

    pub fn join(&self, again: bool, socket: i32) -> Result<(), Failure> {
        self.process.store(calls::getpid(), Relaxed);
        let limits = &self.files.limits;
        let joined = |fd| calls::write(fd, b"0").map_err(|errno| Failure::new(Step::Cgroup, errno));
        // A runner that takes the place of a dead one cannot know what its cgroups are of those
        // that are renewed.
        if again {
            self.enter_memory(&self.ask_for(RENEW_MEMORY)?, socket)?;
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

    /// Runner, once it has joined: moves descriptors to the lowest numbers. A table of more than 64
    /// is allocated anew for each pid1 and target (`dup_fd()` in fs/file.c).
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

    pub fn prepare(&self, shared: &Shared, socket: i32) -> Result<(), Failure> {
        let files = &self.files;
        let standing = &shared.standing;
        // What the last run left behind would count for the next: page cache, which can be
        // reclaimed (dear: it visits all CPUs, so a little is left), and what the kernel frees
        // a moment later (shared memory of an IPC namespace goes by a work queue).
        let usage_now = || {
            read_number(files.limits.memory_usage)
                .map_err(|errno| Failure::new(Step::Counters, errno))
        };
        let mut usage = usage_now()?;
        let begin = calls::monotonic_raw_ns();
        while usage > LEFT_BEHIND
            && calls::monotonic_raw_ns().saturating_sub(begin) < LONGEST_EMPTYING_NS
        {
            let _ = calls::write(files.limits.memory_empty, b"0");
            usage = usage_now()?;
            if usage > LEFT_BEHIND {
                calls::sleep_ns(1_000_000);
                usage = usage_now()?;
            }
        }
        if usage > LEFT_BEHIND {
            // Files on a tmpfs of the host, pages that others hold, or the kernel has not come to
            // it. Our messages take memory, too, for which the last run's limit may have left no
            // room.
            self.set_memory(standing, UNLIMITED, UNLIMITED)?;
            let fresh = self.ask_for(RENEW_MEMORY)?;
            standing.forget_memory();
            if self.enter_memory(&fresh, socket).is_err() {
                // The open files need not be those of the cgroup that we are in, and would limit
                // nobody.
                calls::exit(1);
            }
            usage = usage_now()?;
        }
        if standing.oom_kills_before.load(Relaxed) == UNLIMITED {
            let count = self
                .oom_kills()
                .map_err(|errno| Failure::new(Step::Counters, errno))?;
            standing.oom_kills_before.store(count, Relaxed);
            standing.oom_kills.store(count, Relaxed);
        }
        // The last run's limit must not be felt by the next one's preparation.
        if standing.memory.load(Relaxed) < usage.saturating_add(ROOM_TO_PREPARE) {
            self.set_memory(standing, UNLIMITED, UNLIMITED)?;
        }
        if standing.processes.load(Relaxed) < 2 {
            self.set_processes(standing, UNLIMITED)?;
        }
        // Nor must its debt, whose cgroup that is; and whoever ended it has lifted the limit, so
        // that it does not stand.
        if standing.quota.load(Relaxed) != UNLIMITED {
            self.set_bandwidth(standing, UNLIMITED, 0)?;
        }
        Ok(())
    }

    pub fn reset(&self, standing: &Standing) -> sys::Result<()> {
        // What is here beyond the least that this runner ever held, because its world takes more to
        // prepare or as the little that an earlier run left, is not the next run's.
        let usage = read_number(self.files.limits.memory_usage)?;
        let least = standing.least_memory.load(Relaxed).min(usage);
        standing.least_memory.store(least, Relaxed);
        standing.left_memory.store(usage - least, Relaxed);
        // memory.max_usage_in_bytes becomes the present usage.
        calls::write(self.files.figures.memory_peak, b"0")
    }

    pub fn limit(&self, shared: &Shared, launch: &Launch, socket: i32) -> Result<(), Failure> {
        let standing = &shared.standing;
        let mut memory = launch.memory;
        if standing.left_memory.load(Relaxed) > LEFT_BEHIND {
            // What was on its way may have gone since we looked. What is still there takes nothing
            // from this run's limit. It is what preparing took, which no run can free, and of
            // earlier runs no more than `prepare` lets be.
            self.reset(standing)
                .map_err(|errno| Failure::new(Step::Counters, errno))?;
            let left = standing.left_memory.load(Relaxed);
            if memory != UNLIMITED && left > LEFT_BEHIND {
                memory = memory.saturating_add(left);
            }
        }
        if standing.memory.load(Relaxed) != memory || standing.swap.load(Relaxed) != launch.swap {
            self.set_memory(standing, memory, launch.swap)?;
        }
        if standing.processes.load(Relaxed) != launch.processes {
            self.set_processes(standing, launch.processes)?;
        }
        if launch.quota == UNLIMITED {
            // None stands: see `prepare`.
            return Ok(());
        }
        super::tell_bandwidth(socket, self.files.limits.cpu_quota)?;
        self.set_bandwidth(standing, launch.quota, launch.period)?;
        // A move, with what it costs (see the module), and no way back: we end there.
        self.files.limits.cpu_join.map_or(Ok(()), |fd| {
            calls::write(fd, b"0").map_err(|errno| Failure::new(Step::CpuBandwidth, errno))
        })
    }

    /// Sets memory and swap. The kernel keeps memory <= memory + swap at each moment
    /// and refuses what would break it, so the sum is lifted first and set last.
    fn set_memory(&self, standing: &Standing, memory: u64, swap: u64) -> Result<(), Failure> {
        // Whatever fails: what stands is no longer known to be anything.
        standing.memory.store(0, Relaxed);
        if let Some(fd) = self.files.limits.memory_swap {
            write_limit(fd, UNLIMITED).map_err(|errno| Failure::new(Step::SwapLimit, errno))?;
        }
        write_limit(self.files.limits.memory, memory)
            .map_err(|errno| Failure::new(Step::MemoryLimit, errno))?;
        // Version 1 counts buffers of network sockets apart: so they may be as much again.
        if let Some(fd) = self.files.limits.sockets {
            write_limit(fd, memory).map_err(|errno| Failure::new(Step::MemoryLimit, errno))?;
        }
        if memory != UNLIMITED && swap != UNLIMITED {
            match self.files.limits.memory_swap {
                Some(fd) => write_limit(fd, memory.saturating_add(swap))
                    .map_err(|errno| Failure::new(Step::SwapLimit, errno))?,
                // Without swap accounting a limit on swap cannot be kept; root's host
                // has to say `swapaccount=1`.
                None if swap != 0 => {
                    return Err(Failure::new(Step::SwapLimit, Errno(libc::EOPNOTSUPP)));
                }
                None => {}
            }
        }
        standing.swap.store(swap, Relaxed);
        standing.memory.store(memory, Relaxed);
        Ok(())
    }

    fn set_processes(&self, standing: &Standing, processes: u64) -> Result<(), Failure> {
        let answer = match processes {
            UNLIMITED => calls::write(self.files.limits.pids_max, b"max"),
            n => calls::write(
                self.files.limits.pids_max,
                Decimal::new(n.saturating_add(OWN_PROCESSES)).as_bytes(),
            ),
        };
        answer.map_err(|errno| Failure::new(Step::ProcessLimit, errno))?;
        standing.processes.store(processes, Relaxed);
        Ok(())
    }

    fn set_bandwidth(&self, standing: &Standing, quota: u64, period: u64) -> Result<(), Failure> {
        let failed = |errno| Failure::new(Step::CpuBandwidth, errno);
        standing.quota.store(0, Relaxed);
        // Without quota any period is accepted, so it goes first.
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
        standing.quota.store(quota, Relaxed);
        Ok(())
    }

    pub fn lift_bandwidth(&self) {
        let _ = calls::write(self.files.limits.cpu_quota, super::NO_QUOTA);
    }

    pub fn start(&self, start: &mut Start) -> sys::Result<()> {
        start.cpu_ns = read_number(self.files.figures.cpu_usage)?;
        Ok(())
    }

    pub fn measure(&self, standing: &Standing, start: &Start, end: &mut End) -> sys::Result<()> {
        standing.most_tasks.store(UNLIMITED, Relaxed);
        end.cpu_ns = read_number(self.files.figures.cpu_usage)?.saturating_sub(start.cpu_ns);
        // The count is the runner's, of all its runs.
        let by_now = self.oom_kills()?;
        standing.oom_kills.store(by_now, Relaxed);
        end.oom_kills = by_now.saturating_sub(standing.oom_kills_before.load(Relaxed));
        end.own_limit_reached = UNLIMITED;
        end.peak_memory = read_number(self.files.figures.memory_peak)?
            .saturating_sub(standing.left_memory.load(Relaxed));
        end.peak_processes = match self.files.figures.pids_peak {
            Some(fd) => {
                let most = read_number(fd)?;
                standing.most_tasks.store(most, Relaxed);
                most.saturating_sub(OWN_PROCESSES)
            }
            None => UNLIMITED,
        };
        Ok(())
    }

    fn oom_kills(&self) -> sys::Result<u64> {
        let mut buffer = [0; 128];
        let text = calls::read_at_start(self.files.figures.oom_control, &mut buffer)?;
        // Not there before Linux 4.13.
        Ok(keyed_number(text, b"oom_kill").unwrap_or(0))
    }

    pub fn clean(&self, standing: &Standing) -> Result<(), Failure> {
        standing
            .oom_kills_before
            .store(standing.oom_kills.load(Relaxed), Relaxed);
        // A peak above "runner, pid1, one target" would be the next run's as well.
        if self.files.figures.pids_peak.is_some()
            && standing.most_tasks.load(Relaxed) > OWN_PROCESSES + 1
        {
            // After a failure half-way the open files need not be those of the cgroup that we
            // are in, and would limit nobody: then this runner must not go on.
            self.renew_pids()?;
            standing.most_tasks.store(0, Relaxed);
            standing.processes.store(UNLIMITED, Relaxed);
        }
        Ok(())
    }

    /// Asks the keeper for a fresh cgroup; its files.
    fn ask_for(&self, what: u8) -> Result<Received, Failure> {
        let failed = |errno| Failure::new(Step::Cgroup, errno);
        let keeper = self.files.limits.keeper;
        // A runner that died here may have left an answer behind.
        while let Ok(old) = calls::receive(keeper, &mut [0; 1], libc::MSG_DONTWAIT)
            && old.length > 0
        {
            close_all(&old.descriptors);
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
            close_all(&received.descriptors);
            return Err(failed(Errno(libc::EPIPE)));
        }
        Ok(received)
    }

    /// How many files of a memory cgroup there are: those of this kernel.
    fn memory_files(&self) -> usize {
        let limits = &self.files.limits;
        7 + usize::from(limits.memory_swap.is_some()) + usize::from(limits.sockets.is_some())
    }

    /// Moves to a fresh memory cgroup, runner and zygote, and gives the supervisor what it looks
    /// at. The new descriptors take the old ones' numbers.
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
        // It must not take an old event, or the old peak, for the next run's.
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
        close_all(&fresh.descriptors);
        entered
    }

    /// Moves runner and zygote.
    fn enter(&self, join: i32) -> Result<(), Failure> {
        let failed = |errno| Failure::new(Step::Cgroup, errno);
        let runner = self.process.load(Relaxed);
        calls::write(join, Decimal::new(runner as u64).as_bytes()).map_err(failed)?;
        if calls::getpid() != runner {
            calls::write(join, b"0").map_err(failed)?;
            // The zygote's namespace has the old cgroup as its root, and a run would see the
            // new one's name. (A runner that joins makes its namespace afterwards.)
            calls::unshare(libc::CLONE_NEWCGROUP)
                .map_err(|errno| Failure::new(Step::CgroupNamespace, errno))?;
        }
        self.moved.store(true, Relaxed);
        Ok(())
    }

    /// Moves to a fresh pids cgroup, runner and zygote. The new descriptors take the old ones'
    /// numbers.
    fn renew_pids(&self) -> Result<(), Failure> {
        let failed = |errno| Failure::new(Step::Cgroup, errno);
        let files = &self.files;
        let [join, max, peak, ..] = self.ask_for(RENEW)?.descriptors;
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
        // The keeper removes the old one when it hears that it is empty.
        calls::send(files.limits.keeper, &[RENEWED]).map_err(failed)
    }

    /// Zygote, before its first run: the runner's namespace does not know where another zygote has
    /// moved.
    pub fn look_from_here(&self) -> Result<(), Failure> {
        if self.moved.load(Relaxed) {
            calls::unshare(libc::CLONE_NEWCGROUP)
                .map_err(|errno| Failure::new(Step::CgroupNamespace, errno))?;
        }
        Ok(())
    }
}

/// Runner → keeper: a fresh pids cgroup, please. The answer is this byte with its files.
pub const RENEW: u8 = b'N';
/// Runner → keeper: a fresh memory cgroup, please. As above; the one that the runner leaves is
/// removed when it asks again.
pub const RENEW_MEMORY: u8 = b'E';
/// Runner → keeper: I have moved to the pids cgroup.
pub const RENEWED: u8 = b'M';

fn close_all(descriptors: &[i32]) {
    for &fd in descriptors.iter().filter(|&&fd| fd >= 0) {
        let _ = calls::close(fd);
    }
}

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
