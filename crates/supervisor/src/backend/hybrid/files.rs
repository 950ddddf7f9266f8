//! The open files of the cgroups of version 1 hierarchies.

use crate::sys::calls;
use serde::{Deserialize, Serialize};

/// The open files of one runner's cgroups, as descriptor numbers.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Files {
    /// Files that place and limit the runner and its runs.
    pub limits: Limits,
    /// Files with the figures of the runs.
    pub figures: Figures,
    /// An eventfd that counts out-of-memory events of the memory cgroup. The supervisor reads it.
    pub oom_event: i32,
}

/// See [`Files`]. The supervisor does not use these.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Limits {
    /// The file `tasks` of the memory cgroup.
    pub memory_join: Option<i32>,
    /// `tasks` of the cpu cgroup, and of the cpuacct cgroup if that is a different one.
    pub join_others: [Option<i32>; 2],
    /// memory.limit_in_bytes
    pub memory: i32,
    /// memory.memsw.limit_in_bytes; `None` if the kernel does not account swap.
    pub memory_swap: Option<i32>,
    /// memory.kmem.tcp.limit_in_bytes; `None` for a kernel without CONFIG_INET.
    pub sockets: Option<i32>,
    /// memory.usage_in_bytes
    pub memory_usage: i32,
    /// memory.force_empty
    pub memory_empty: i32,
    /// `tasks` of the pids cgroup
    pub pids_join: i32,
    /// pids.max
    pub pids_max: i32,
    /// `tasks` of the runner's own cpu cgroup, which a run with limited bandwidth enters.
    /// Runner and zygote are not in it. `None` if runner, zygote and all runs are in it.
    pub cpu_join: Option<i32>,
    /// cpu.cfs_quota_us
    pub cpu_quota: i32,
    /// cpu.cfs_period_us
    pub cpu_period: i32,
    /// The socket to the keeper, which renews this runner's pids and memory cgroups.
    pub keeper: i32,
}

/// See [`Files`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Figures {
    /// memory.max_usage_in_bytes
    pub memory_peak: i32,
    /// memory.oom_control
    pub oom_control: i32,
    /// pids.peak; `None` before Linux 6.1.
    pub pids_peak: Option<i32>,
    /// cpuacct.usage
    pub cpu_usage: i32,
}

impl Limits {
    pub(super) fn each(&mut self) -> impl Iterator<Item = &mut i32> {
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
    pub(super) fn each(&mut self) -> impl Iterator<Item = &mut i32> {
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
    /// The descriptors that runners use: all except the supervisor's.
    pub(super) fn of_runners(&mut self) -> impl Iterator<Item = &mut i32> {
        self.limits.each().chain(self.figures.each())
    }

    pub fn all(mut self) -> Vec<i32> {
        let oom_event = self.oom_event;
        self.of_runners().map(|fd| *fd).chain([oom_event]).collect()
    }
}
