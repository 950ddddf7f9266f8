//! The three backends, which limit and measure runs. Each has its own file.
//!
//! | backend | cgroup of a run | how pid1 starts in it |
//! | --- | --- | --- |
//! | [`cgroup2`] | a new one for every run | `CLONE_INTO_CGROUP` |
//! | [`hybrid`] | the runner's, reset between runs | by inheritance from the runner |
//! | [`rlimit`] | none | |
//!
//! CPU time that a run uses beyond its bandwidth becomes a debt of its cgroup. The kernel stops a
//! task only on its way back to the program (`throttle_cfs_rq_work()` in kernel/sched/fair.c, Linux
//! 6.18; in earlier versions not while the task keeps its CPU). A single long system call can
//! therefore use seconds of CPU time instead of a few milliseconds. While the debt is paid back,
//! which can take minutes, no process of the cgroup runs, not even to exit. For this reason a
//! process that ends a run lifts the limit first, and each run begins with its own limit and
//! without debt.
//!
//! The code in this directory runs in a *runner* and its children, between a clone and an exec, so
//! it neither allocates nor locks. The keeper finds and creates cgroups ([`crate::keeper`]).

pub mod cgroup2;
pub mod hybrid;
pub mod rlimit;

use crate::launch::{End, Failure, Launch, Shared, Start, UNLIMITED, message};
use crate::sys::process::{Clone, Waited};
use crate::sys::{self, Errno, calls};
use core::sync::atomic::Ordering::Relaxed;
use millibox_wire::{Prepare, Step};
use serde::{Deserialize, Serialize};

/// The files that the keeper passes to the supervisor, as descriptor numbers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Handover {
    /// Unified cgroups.
    Cgroup2 {
        /// The directory below which the cgroups of runs are created.
        base: i32,
        /// Whether the owner of a cgroup is prevented from writing its limits from inside
        /// (nsdelegate).
        limits_hold_inside: bool,
    },
    /// Version 1 hierarchies.
    Hybrid {
        /// The files of each runner.
        runners: Vec<hybrid::Files>,
    },
    /// No cgroups.
    Rlimit,
}

/// How one runner limits and measures its runs.
pub enum Backend {
    Cgroup2(cgroup2::Runner),
    Hybrid(hybrid::Runner),
    Rlimit,
}

/// The processes in a cgroup that belong to the template of a prepared program: the template and
/// its init process.
pub const TEMPLATE_PROCESSES: u64 = 2;
/// The maximum number of tasks of a prepared program's template until it is ready, including its
/// children and threads.
const TEMPLATE_TASKS: u64 = 64;

/// The content of cpu.cfs_quota_us (version 1) without a limit.
pub const NO_QUOTA: &[u8] = b"-1";
/// The content of cpu.max (version 2) without a limit.
pub const NO_BANDWIDTH: &[u8] = b"max";

/// Sends the file with the bandwidth limit to the supervisor, so that the supervisor can lift the
/// limit. The target calls this.
fn send_bandwidth_file(socket: i32, file: i32) -> Result<(), Failure> {
    calls::send_descriptors(socket, &[message::BANDWIDTH], &[file])
        .map_err(|errno| Failure::new(Step::CpuBandwidth, errno))
}

fn counters_failure(errno: Errno) -> Failure {
    Failure::new(Step::Counters, errno)
}

impl Backend {
    /// The part of `handover` for runner `index`.
    pub fn for_runner(handover: &Handover, index: usize) -> Option<Backend> {
        Some(match handover {
            Handover::Cgroup2 {
                base,
                limits_hold_inside,
            } => Backend::Cgroup2(cgroup2::Runner::new(*base, index, *limits_hold_inside)),
            Handover::Hybrid { runners } => {
                Backend::Hybrid(hybrid::Runner::new(*runners.get(index)?))
            }
            Handover::Rlimit => Backend::Rlimit,
        })
    }

    /// The descriptors that the runner must keep open.
    pub fn descriptors(&self) -> Vec<i32> {
        match self {
            Backend::Cgroup2(runner) => vec![runner.base()],
            Backend::Hybrid(runner) => runner.descriptors(),
            Backend::Rlimit => Vec::new(),
        }
    }

    /// Enters the cgroup in which runs will start. A runner calls this once. `socket` is connected
    /// to the supervisor.
    pub fn join(&self, again: bool, socket: i32) -> Result<(), Failure> {
        match self {
            Backend::Hybrid(runner) => runner.join(again, socket),
            Backend::Cgroup2(_) | Backend::Rlimit => Ok(()),
        }
    }

    /// Completes the set-up of a runner that has joined.
    pub fn set_up(&mut self) -> Result<(), Failure> {
        match self {
            Backend::Hybrid(runner) => runner.set_up(),
            Backend::Cgroup2(_) | Backend::Rlimit => Ok(()),
        }
    }

    /// Makes the runs see their own cgroup as the root. A zygote calls this once.
    pub fn enter_own_cgroup_namespace(&self) -> Result<(), Failure> {
        match self {
            Backend::Hybrid(runner) => runner.enter_own_cgroup_namespace(),
            Backend::Cgroup2(_) | Backend::Rlimit => Ok(()),
        }
    }

    /// Provides a cgroup without remains of the last run. The runner calls this before it clones
    /// pid1. If the last run had a network namespace of its own, the kernel frees its memory a few
    /// milliseconds later.
    pub fn prepare(
        &self,
        shared: &Shared,
        (socket, had_network): (i32, bool),
        how: &mut Clone,
    ) -> Result<(), Failure> {
        match self {
            Backend::Cgroup2(runner) => runner.prepare(how),
            Backend::Hybrid(runner) => runner.prepare(shared, socket, had_network),
            Backend::Rlimit => Ok(()),
        }
    }

    /// Resets the counters, so that the preparation does not count for the run. The target calls
    /// this when the preparation is complete.
    pub fn reset(&self, shared: &Shared) -> Result<(), Failure> {
        match self {
            Backend::Hybrid(runner) => runner
                .reset(&shared.applied_limits)
                .map_err(counters_failure),
            Backend::Cgroup2(_) | Backend::Rlimit => Ok(()),
        }
    }

    /// Applies the limits of the run. The target calls this.
    pub fn limit(&self, shared: &Shared, launch: &Launch, socket: i32) -> Result<(), Failure> {
        match self {
            Backend::Cgroup2(runner) => runner.limit(launch, socket),
            Backend::Hybrid(runner) => runner.limit(shared, launch, socket),
            Backend::Rlimit => rlimit::limit(launch),
        }
    }

    /// Limits the template of a prepared program until it is ready. Its target calls this.
    pub fn limit_template(&self, shared: &Shared, order: &Prepare) -> Result<(), Failure> {
        match self {
            Backend::Hybrid(runner) => runner.limit_template(&shared.applied_limits, order.memory),
            Backend::Cgroup2(runner) => runner.limit_template(order.memory),
            // RLIMIT_AS could not be raised again for the runs.
            Backend::Rlimit => Ok(()),
        }
    }

    /// Whether the figures of each copy of a prepared program can be separated from those of other
    /// copies.
    pub fn separates_copies(&self) -> bool {
        match self {
            Backend::Cgroup2(runner) => runner.resets_peak(),
            Backend::Hybrid(_) | Backend::Rlimit => true,
        }
    }

    /// The memory in the cgroup; `None` without cgroups.
    pub fn memory(&self) -> sys::Result<Option<u64>> {
        match self {
            Backend::Cgroup2(runner) => runner.memory().map(Some),
            Backend::Hybrid(runner) => runner.memory().map(Some),
            Backend::Rlimit => Ok(None),
        }
    }

    /// The memory that was in the cgroup before the template of a prepared program started.
    pub fn memory_before_template(&self, shared: &Shared) -> u64 {
        let limits = &shared.applied_limits;
        match self {
            Backend::Hybrid(_) => limits
                .least_memory
                .load(Relaxed)
                .saturating_add(limits.left_memory.load(Relaxed)),
            Backend::Cgroup2(_) | Backend::Rlimit => 0,
        }
    }

    /// Prepares the counters for the next copy of a prepared program. The copy and its pid1 exist,
    /// and `left` bytes belong to neither template nor run.
    pub fn reset_for_copy(&self, shared: &Shared, left: u64) -> sys::Result<()> {
        shared.applied_limits.left_memory.store(left, Relaxed);
        match self {
            Backend::Cgroup2(runner) => runner.reset_peak(),
            Backend::Hybrid(runner) => runner.reset_for_copy(&shared.applied_limits),
            Backend::Rlimit => Ok(()),
        }
    }

    /// The highest number of tasks that the cgroup has had so far; `UNLIMITED` if unknown.
    pub fn peak_tasks(&self) -> sys::Result<u64> {
        match self {
            Backend::Cgroup2(runner) => runner.peak_tasks(),
            Backend::Hybrid(runner) => runner.peak_tasks(),
            Backend::Rlimit => Ok(UNLIMITED),
        }
    }

    /// The peak number of processes of a copy. `before` is the peak of the cgroup at the start of
    /// the copy. If an earlier copy or the template had more processes, the number is unknown
    /// (`UNLIMITED`).
    pub fn peak_of_copy(&self, before: u64, after: u64) -> u64 {
        let own = TEMPLATE_PROCESSES
            + match self {
                Backend::Cgroup2(_) => cgroup2::OWN_PROCESSES,
                Backend::Hybrid(_) => hybrid::OWN_PROCESSES,
                Backend::Rlimit => return UNLIMITED,
            };
        match after {
            UNLIMITED => UNLIMITED,
            _ if after > before || before <= own + 1 => after.saturating_sub(own),
            _ => UNLIMITED,
        }
    }

    /// Lifts the limits of the last copy, or of the template, that could prevent the next copy.
    pub fn lift_limits(&self, shared: &Shared) -> Result<(), Failure> {
        match self {
            Backend::Cgroup2(runner) => runner.lift_limits(),
            Backend::Hybrid(runner) => runner.lift_limits(&shared.applied_limits),
            Backend::Rlimit => Ok(()),
        }
    }

    /// Lifts the bandwidth limit, so that remaining processes can die. pid1 calls this in its
    /// runner's memory before it kills them.
    pub fn lift_bandwidth(&self, launch: &Launch) {
        if launch.quota == UNLIMITED {
            return;
        }
        match self {
            Backend::Cgroup2(runner) => runner.lift_bandwidth(),
            Backend::Hybrid(runner) => runner.lift_bandwidth(),
            Backend::Rlimit => {}
        }
    }

    /// Reads the counters. The target calls this as its last step before the exec.
    pub fn start(&self, start: &mut Start) -> Result<(), Failure> {
        match self {
            Backend::Cgroup2(runner) => runner.start(start).map_err(counters_failure),
            Backend::Hybrid(runner) => runner.start(start).map_err(counters_failure),
            Backend::Rlimit => Ok(()),
        }
    }

    /// Reads the run's usage after all its processes have ended. pid1 calls this, or the runner if
    /// pid1 was killed. A figure that cannot be read makes the run fail; it is never reported as 0.
    pub fn measure(
        &self,
        shared: &Shared,
        start: &Start,
        usage: sys::Result<Waited>,
        end: &mut End,
    ) {
        let measured = usage.and_then(|usage| {
            end.user_us = usage.user_us;
            end.system_us = usage.system_us;
            match self {
                Backend::Cgroup2(runner) => runner.measure(start, end),
                Backend::Hybrid(runner) => runner.measure(&shared.applied_limits, start, end),
                Backend::Rlimit => {
                    rlimit::measure(&usage, start, end);
                    Ok(())
                }
            }
        });
        if let Err(errno) = measured
            && shared.failure.get().step == 0
        {
            shared.failure.set(counters_failure(errno));
        }
    }

    /// Cleans up after pid1 has been reaped. After a failure the runner must exit.
    pub fn clean(&self, shared: &Shared) -> Result<(), Failure> {
        match self {
            Backend::Cgroup2(runner) => runner.clean(),
            Backend::Hybrid(runner) => return runner.clean(&shared.applied_limits),
            Backend::Rlimit => {}
        }
        Ok(())
    }

    /// Descriptors of this run's cgroup for the supervisor: cpu.stat, memory.events, cgroup.kill,
    /// memory.peak, pids.peak. `None` if the files belong to the runner permanently.
    pub fn watched(&self) -> Option<[i32; cgroup2::WATCHED_FILES]> {
        match self {
            Backend::Cgroup2(runner) => Some(runner.watched()),
            Backend::Hybrid(_) | Backend::Rlimit => None,
        }
    }

    /// Closes all files except for those that [`Backend::measure`] reads. Only a pid1 with its own
    /// memory and descriptors calls this.
    pub fn close_limits(&self) {
        match self {
            Backend::Cgroup2(runner) => runner.close_limits(),
            Backend::Hybrid(runner) => runner.close_limits(),
            Backend::Rlimit => {}
        }
    }

    /// Whether pid1 and target must create their own cgroup namespace because they do not start in
    /// the runner's cgroup.
    pub fn needs_cgroup_namespace(&self) -> bool {
        matches!(self, Backend::Cgroup2(_))
    }

    /// Whether a run could write its own limits if it could create more cgroup namespaces.
    pub fn needs_no_other_cgroup_namespace(&self) -> bool {
        matches!(self, Backend::Cgroup2(runner) if !runner.limits_hold_inside())
    }
}
