//! Holding and measuring a run: three ways, one file each.
//!
//! | backend | a run's cgroup | born in it by |
//! | --- | --- | --- |
//! | [`cgroup2`] | a fresh one for every run | `CLONE_INTO_CGROUP` |
//! | [`hybrid`] | the runner's, reset between runs | birth: the runner lives in it |
//! | [`rlimit`] | none | |
//!
//! What a run has used beyond its CPU bandwidth is a debt of its cgroup: the kernel stops a task
//! only on its way back to the program (`throttle_cfs_rq_work()` in kernel/sched/fair.c, Linux
//! 6.18; before, not while it holds its CPU), so a single long call can take seconds of a few
//! milliseconds, and in what is paid back, minutes, nobody in the cgroup runs, not even to die. So
//! whoever ends a run lifts the limit first, and each run begins with one that was set for it, and
//! no debt.
//!
//! This file and those below it hold what a *runner* and its children do; all of it
//! runs between a clone and an exec, so it neither allocates nor locks. Finding and
//! making cgroups is the keeper's work ([`crate::keeper`]).

pub mod cgroup2;
pub mod hybrid;
pub mod rlimit;

use crate::launch::{End, Failure, Launch, Shared, Start, UNLIMITED, message};
use crate::sys::process::{Clone, Waited};
use crate::sys::{self, Errno, calls};
use millibox_wire::Step;
use serde::{Deserialize, Serialize};

/// What the keeper hands to the supervisor, by descriptor number.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Handover {
    /// Unified cgroups.
    Cgroup2 {
        /// The directory below which runs get their cgroups.
        base: i32,
        /// A cgroup's owner cannot write its limits from inside (nsdelegate).
        limits_hold_inside: bool,
    },
    /// Version 1 hierarchies.
    Hybrid {
        /// For each runner, its files.
        runners: Vec<hybrid::Files>,
    },
    /// No cgroups.
    Rlimit,
}

/// One runner's way to hold and measure its runs.
pub enum Backend {
    Cgroup2(cgroup2::Runner),
    Hybrid(hybrid::Runner),
    Rlimit,
}

/// Version 1: what cpu.cfs_quota_us is told where there is no limit.
pub const NO_QUOTA: &[u8] = b"-1";
/// Version 2: the same of cpu.max.
pub const NO_BANDWIDTH: &[u8] = b"max";

/// Target: the supervisor is to be able to lift the limit in this file.
fn tell_bandwidth(socket: i32, file: i32) -> Result<(), Failure> {
    calls::send_descriptors(socket, &[message::BANDWIDTH], &[file])
        .map_err(|errno| Failure::new(Step::CpuBandwidth, errno))
}

fn uncounted(errno: Errno) -> Failure {
    Failure::new(Step::Counters, errno)
}

impl Backend {
    /// The part of `handover` that is runner `index`'s.
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

    /// Descriptors that the runner must keep open.
    pub fn descriptors(&self) -> Vec<i32> {
        match self {
            Backend::Cgroup2(runner) => vec![runner.base()],
            Backend::Hybrid(runner) => runner.descriptors(),
            Backend::Rlimit => Vec::new(),
        }
    }

    /// Runner, once: goes where its runs shall be born. `socket`: its own, to the supervisor.
    pub fn join(&self, again: bool, socket: i32) -> Result<(), Failure> {
        match self {
            Backend::Hybrid(runner) => runner.join(again, socket),
            Backend::Cgroup2(_) | Backend::Rlimit => Ok(()),
        }
    }

    /// Runner, once it has joined.
    pub fn set_up(&mut self) -> Result<(), Failure> {
        match self {
            Backend::Hybrid(runner) => runner.set_up(),
            Backend::Cgroup2(_) | Backend::Rlimit => Ok(()),
        }
    }

    /// Zygote, once: what runs see of cgroups begins where they are.
    pub fn look_from_here(&self) -> Result<(), Failure> {
        match self {
            Backend::Hybrid(runner) => runner.look_from_here(),
            Backend::Cgroup2(_) | Backend::Rlimit => Ok(()),
        }
    }

    /// Runner, before pid1 is cloned: a place with nothing of the last run in it.
    pub fn prepare(&self, shared: &Shared, socket: i32, how: &mut Clone) -> Result<(), Failure> {
        match self {
            Backend::Cgroup2(runner) => runner.prepare(how),
            Backend::Hybrid(runner) => runner.prepare(shared, socket),
            Backend::Rlimit => Ok(()),
        }
    }

    /// Target, when all is prepared: what preparing has cost shall not be the run's.
    pub fn reset(&self, shared: &Shared) -> Result<(), Failure> {
        match self {
            Backend::Hybrid(runner) => runner.reset(&shared.standing).map_err(uncounted),
            Backend::Cgroup2(_) | Backend::Rlimit => Ok(()),
        }
    }

    /// Target: makes the run's limits hold.
    pub fn limit(&self, shared: &Shared, launch: &Launch, socket: i32) -> Result<(), Failure> {
        match self {
            Backend::Cgroup2(runner) => runner.limit(launch, socket),
            Backend::Hybrid(runner) => runner.limit(shared, launch, socket),
            Backend::Rlimit => rlimit::limit(launch),
        }
    }

    /// pid1, in its runner's memory, before it ends what the target has left behind.
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

    /// Target, last before the exec: where the counters stand.
    pub fn start(&self, start: &mut Start) -> Result<(), Failure> {
        match self {
            Backend::Cgroup2(runner) => runner.start(start).map_err(uncounted),
            Backend::Hybrid(runner) => runner.start(start).map_err(uncounted),
            Backend::Rlimit => Ok(()),
        }
    }

    /// pid1 (or the runner, if pid1 was killed): what the run used, once all its
    /// processes are gone. What cannot be read is the run's failure, and nobody's 0.
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
                Backend::Hybrid(runner) => runner.measure(&shared.standing, start, end),
                Backend::Rlimit => {
                    rlimit::measure(&usage, start, end);
                    Ok(())
                }
            }
        });
        if let Err(errno) = measured
            && shared.failure.get().step == 0
        {
            shared.failure.set(uncounted(errno));
        }
    }

    /// Runner, once pid1 has been waited for. After a failure the runner must end.
    pub fn clean(&self, shared: &Shared) -> Result<(), Failure> {
        match self {
            Backend::Cgroup2(runner) => runner.clean(),
            Backend::Hybrid(runner) => return runner.clean(&shared.standing),
            Backend::Rlimit => {}
        }
        Ok(())
    }

    /// Descriptors of this run's cgroup that the supervisor is to have: cpu.stat, memory.events,
    /// cgroup.kill, memory.peak, pids.peak (where they are not the runner's for good).
    pub fn watched(&self) -> Option<[i32; cgroup2::WATCHED]> {
        match self {
            Backend::Cgroup2(runner) => Some(runner.watched()),
            Backend::Hybrid(_) | Backend::Rlimit => None,
        }
    }

    /// pid1 with memory and descriptors of its own: closes all but what [`Backend::measure`] reads.
    pub fn close_limits(&self) {
        match self {
            Backend::Cgroup2(runner) => runner.close_limits(),
            Backend::Hybrid(runner) => runner.close_limits(),
            Backend::Rlimit => {}
        }
    }

    /// Whether pid1 and target are to make a cgroup namespace of their own (because
    /// the runner is not where they are).
    pub fn needs_cgroup_namespace(&self) -> bool {
        matches!(self, Backend::Cgroup2(_))
    }

    /// Whether only the want of further cgroup namespaces keeps a run from writing its own limits.
    pub fn needs_no_other_cgroup_namespace(&self) -> bool {
        matches!(self, Backend::Cgroup2(runner) if !runner.limits_hold_inside())
    }
}
