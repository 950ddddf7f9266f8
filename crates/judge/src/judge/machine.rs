//! The supervisor that a judge works with, and the one that takes its place if that is killed.
//!
//! A judge borrows what it needs of a supervisor for as long as it lives, so a dead one stays where
//! it is, and there is room for one more. Whoever kills that too has made the point.

use millibox::{Backend, Builder, Error, Supervisor};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Supervisors of one machine, one after the other.
pub(super) const GENERATIONS: usize = 2;

/// Why a judge has no machine to run programs on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The supervisor cannot be started, or the CPUs are not known.
    #[error(transparent)]
    Supervisor(#[from] Error),
    /// A CPU may not be used.
    #[error("CPU {cpu} may not be used here; the allowed ones are {}", list(.allowed))]
    CpuNotAllowed {
        /// The CPU.
        cpu: usize,
        /// Those that this process may use (sched_getaffinity(2)).
        allowed: Vec<usize>,
    },
    /// Only the weaker backend is available, and the caller did not choose it by name.
    #[error(
        "the limits of a judge need cgroups, and there are none ({}); choose --backend rlimit to \
         limit single processes instead, or see `millibox doctor`", .declined.join("; ")
    )]
    NeedsCgroups {
        /// Why each better backend was not taken.
        declined: Vec<String>,
    },
}

fn list(cpus: &[usize]) -> String {
    cpus.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

/// Where programs run: a supervisor, and the CPUs of its workers.
///
/// If the supervisor is killed, a second one takes its place, and what it was doing is done again;
/// once that is killed too, every judgement fails and says so. Whoever goes on then starts another
/// machine.
#[derive(Debug)]
pub struct Machine {
    builder: Builder,
    supervisors: [OnceLock<Supervisor>; GENERATIONS],
    starting: Mutex<()>,
    stopped: AtomicBool,
    workers: Vec<usize>,
}

impl Machine {
    /// Starts a supervisor for `jobs` tests at a time (none said: one for each CPU), each held on
    /// one of `cpus` (none said: all that we may use). With more jobs than CPUs, tests share CPUs:
    /// they wait for each other, and real-time limits may fall on who waits.
    ///
    /// # Errors
    /// The supervisor cannot be started, a CPU may not be used, or limits could only be held by the
    /// weaker backend and nobody has chosen that by name.
    pub fn start(
        builder: Builder,
        jobs: Option<usize>,
        cpus: &[usize],
    ) -> Result<Machine, MachineError> {
        let allowed = allowed_cpus()?;
        if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
            return Err(MachineError::CpuNotAllowed { cpu: *cpu, allowed });
        }
        let cpus = if cpus.is_empty() { &allowed } else { cpus };
        let jobs = jobs.unwrap_or(cpus.len()).max(1);
        let builder = builder.slots(jobs);
        let supervisor = builder.clone().start()?;
        // A supervisor that was told to do without has declined nothing.
        if supervisor.info().backend() == Backend::Rlimit
            && !supervisor.info().declined().is_empty()
        {
            return Err(MachineError::NeedsCgroups {
                declined: supervisor.info().declined().to_vec(),
            });
        }
        let supervisors = [OnceLock::from(supervisor), OnceLock::new()];
        let workers = cpus.iter().copied().cycle().take(jobs).collect();
        Ok(Machine {
            builder,
            supervisors,
            starting: Mutex::default(),
            stopped: AtomicBool::new(false),
            workers,
        })
    }

    /// The supervisor that runs are asked of now.
    pub fn supervisor(&self) -> &Supervisor {
        self.current().1
    }

    /// CPUs of the tests that are judged at one time.
    pub fn cpus(&self) -> &[usize] {
        &self.workers
    }

    /// Ends all that runs, for good: whoever waits gets an error. From any thread, as often as you
    /// like.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        // One that is being started now is found dead by who started it.
        for supervisor in self.supervisors.iter().filter_map(OnceLock::get) {
            supervisor.close();
        }
    }

    /// Whether [`Machine::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    fn current(&self) -> (usize, &Supervisor) {
        let mut all = self.supervisors.iter().enumerate().rev();
        let newest = all.find_map(|(generation, supervisor)| Some((generation, supervisor.get()?)));
        newest.expect("the first is there from the beginning")
    }

    /// Does some work with the supervisor, and does it again with the next one if it `failed` and
    /// the supervisor has died of it, or before it, or beside it.
    pub(super) fn attempt<'m, T>(
        &'m self,
        failed: impl Fn(&T) -> bool,
        mut work: impl FnMut(usize, &'m Supervisor) -> T,
    ) -> T {
        let (generation, supervisor) = self.current();
        let result = work(generation, supervisor);
        if !failed(&result) || !supervisor.is_dead() {
            return result;
        }
        match self.after(generation) {
            Some((generation, supervisor)) => work(generation, supervisor),
            None => result,
        }
    }

    /// The supervisor after this one, which is dead; started by who needs it first.
    fn after(&self, generation: usize) -> Option<(usize, &Supervisor)> {
        let _only_one = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        let next = self.supervisors.get(generation + 1)?;
        if next.get().is_none() {
            if self.is_stopped() {
                return None;
            }
            // If this one cannot be started, what was said of the last one's end is the answer.
            let _ = next.set(self.builder.clone().start().ok()?);
        }
        let supervisor = next.get()?;
        if self.is_stopped() {
            supervisor.close();
        }
        Some((generation + 1, supervisor))
    }
}

/// Holds this thread on a CPU. It is no matter if that cannot be: it is only that the work of one
/// thread is then not kept away from the tests of another.
pub(super) fn stay_on(cpu: usize) {
    let mut set = CpuSet::new();
    if cpu < CpuSet::MAX_CPU {
        set.set(cpu);
        let _ = sched_setaffinity(None, &set);
    }
}

fn allowed_cpus() -> Result<Vec<usize>, Error> {
    let failed = |errno: rustix::io::Errno| Error::System {
        what: "ask for the CPUs there are",
        error: errno.into(),
    };
    let allowed = sched_getaffinity(None).map_err(failed)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .collect())
}
