//! Holding and measuring a run: three ways, one file each.
//!
//! | backend | a run's cgroup | born in it by |
//! | --- | --- | --- |
//! | [`cgroup2`] | a fresh one for every run | `CLONE_INTO_CGROUP` |
//! | [`hybrid`] | the home's, reset between runs | birth: the home lives in it |
//! | [`rlimit`] | none | |
//!
//! What a run has used beyond its CPU bandwidth is a debt of its cgroup: the kernel stops a task only on its way back to the
//! program (`throttle_cfs_rq_work()` in kernel/sched/fair.c, Linux 6.18; before, not while it holds its CPU), so a single long
//! call can take seconds of a few milliseconds, and in what is paid back, minutes, nobody in the cgroup runs, not even to
//! die. So whoever ends a run lifts the limit first, and each run begins with one that was set for it, and no debt.
//!
//! This file and those below it hold what a *home* and its children do; all of it
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
        /// For each home, its files.
        homes: Vec<hybrid::Files>,
    },
    /// No cgroups.
    Rlimit,
}

/// One home's way to hold and measure its runs.
pub enum Backend {
    Cgroup2(cgroup2::Home),
    Hybrid(hybrid::Home),
    Rlimit,
}

/// Version 1: what cpu.cfs_quota_us is told where there is no limit.
pub const NO_QUOTA: &[u8] = b"-1";
/// Version 2: the same of cpu.max.
pub const NO_BANDWIDTH: &[u8] = b"max";

/// Tracee: the supervisor is to be able to lift the limit in this file.
fn tell_bandwidth(socket: i32, file: i32) -> Result<(), Failure> {
    calls::send_descriptors(socket, &[message::BANDWIDTH], &[file])
        .map_err(|errno| Failure::new(Step::CpuBandwidth, errno))
}

fn uncounted(errno: Errno) -> Failure {
    Failure::new(Step::Counters, errno)
}

impl Backend {
    /// The part of `handover` that is home `index`'s.
    pub fn for_home(handover: &Handover, index: usize) -> Option<Backend> {
        Some(match handover {
            Handover::Cgroup2 { base, limits_hold_inside } => {
                Backend::Cgroup2(cgroup2::Home::new(*base, index, *limits_hold_inside))
            }
            Handover::Hybrid { homes } => Backend::Hybrid(hybrid::Home::new(*homes.get(index)?)),
            Handover::Rlimit => Backend::Rlimit,
        })
    }

    /// Descriptors that the home must keep open.
    pub fn descriptors(&self) -> Vec<i32> {
        match self {
            Backend::Cgroup2(home) => vec![home.base()],
            Backend::Hybrid(home) => home.descriptors(),
            Backend::Rlimit => Vec::new(),
        }
    }

    /// Home, once: goes where its runs shall be born. `socket`: its own, to the supervisor.
    pub fn join(&self, again: bool, socket: i32) -> Result<(), Failure> {
        match self {
            Backend::Hybrid(home) => home.join(again, socket),
            Backend::Cgroup2(_) | Backend::Rlimit => Ok(()),
        }
    }

    /// Home, once it has joined.
    pub fn settle(&mut self) -> Result<(), Failure> {
        match self {
            Backend::Hybrid(home) => home.settle(),
            Backend::Cgroup2(_) | Backend::Rlimit => Ok(()),
        }
    }

    /// Zygote, once: what runs see of cgroups begins where they are.
    pub fn look_from_here(&self) -> Result<(), Failure> {
        match self {
            Backend::Hybrid(home) => home.look_from_here(),
            Backend::Cgroup2(_) | Backend::Rlimit => Ok(()),
        }
    }

    /// Home, before pid1 is cloned: a place with nothing of the last run in it.
    pub fn prepare(&self, shared: &Shared, socket: i32, how: &mut Clone) -> Result<(), Failure> {
        match self {
            Backend::Cgroup2(home) => home.prepare(how),
            Backend::Hybrid(home) => home.prepare(shared, socket),
            Backend::Rlimit => Ok(()),
        }
    }

    /// Tracee, when all is prepared: what preparing has cost shall not be the run's.
    pub fn reset(&self, shared: &Shared) -> Result<(), Failure> {
        match self {
            Backend::Hybrid(home) => home.reset(&shared.standing).map_err(uncounted),
            Backend::Cgroup2(_) | Backend::Rlimit => Ok(()),
        }
    }

    /// Tracee: makes the run's limits hold.
    pub fn limit(&self, shared: &Shared, launch: &Launch, socket: i32) -> Result<(), Failure> {
        match self {
            Backend::Cgroup2(home) => home.limit(launch, socket),
            Backend::Hybrid(home) => home.limit(shared, launch, socket),
            Backend::Rlimit => rlimit::limit(launch),
        }
    }

    /// pid1, in its home's memory, before it ends what the tracee has left behind.
    pub fn lift_bandwidth(&self, launch: &Launch) {
        if launch.quota == UNLIMITED {
            return;
        }
        match self {
            Backend::Cgroup2(home) => home.lift_bandwidth(),
            Backend::Hybrid(home) => home.lift_bandwidth(),
            Backend::Rlimit => {}
        }
    }

    /// Tracee, last before the exec: where the counters stand.
    pub fn start(&self, start: &mut Start) -> Result<(), Failure> {
        match self {
            Backend::Cgroup2(home) => home.start(start).map_err(uncounted),
            Backend::Hybrid(home) => home.start(start).map_err(uncounted),
            Backend::Rlimit => Ok(()),
        }
    }

    /// pid1 (or the home, if pid1 was killed): what the run used, once all its
    /// processes are gone. What cannot be read is the run's failure, and nobody's 0.
    pub fn measure(&self, shared: &Shared, start: &Start, usage: sys::Result<Waited>, end: &mut End) {
        let measured = usage.and_then(|usage| {
            end.user_us = usage.user_us;
            end.system_us = usage.system_us;
            match self {
                Backend::Cgroup2(home) => home.measure(start, end),
                Backend::Hybrid(home) => home.measure(&shared.standing, start, end),
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

    /// Home, once pid1 has been waited for. After a failure the home must end.
    pub fn clean(&self, shared: &Shared) -> Result<(), Failure> {
        match self {
            Backend::Cgroup2(home) => home.clean(),
            Backend::Hybrid(home) => return home.clean(&shared.standing),
            Backend::Rlimit => {}
        }
        Ok(())
    }

    /// Descriptors of this run's cgroup that the supervisor is to have: cpu.stat, memory.events,
    /// cgroup.kill, memory.peak, pids.peak (where they are not the home's for good).
    pub fn watched(&self) -> Option<[i32; cgroup2::WATCHED]> {
        match self {
            Backend::Cgroup2(home) => Some(home.watched()),
            Backend::Hybrid(_) | Backend::Rlimit => None,
        }
    }

    /// pid1 with memory and descriptors of its own: closes all but what [`Backend::measure`] reads.
    pub fn close_limits(&self) {
        match self {
            Backend::Cgroup2(home) => home.close_limits(),
            Backend::Hybrid(home) => home.close_limits(),
            Backend::Rlimit => {}
        }
    }

    /// Whether pid1 and tracee are to make a cgroup namespace of their own (because
    /// the home is not where they are).
    pub fn needs_cgroup_namespace(&self) -> bool {
        matches!(self, Backend::Cgroup2(_))
    }

    /// Whether only the want of further cgroup namespaces keeps a run from writing its own limits.
    pub fn needs_no_other_cgroup_namespace(&self) -> bool {
        matches!(self, Backend::Cgroup2(home) if !home.limits_hold_inside())
    }
}
