//! The supervisor that a judge works with, and its replacement if it is killed.
//!
//! A judge borrows from a supervisor for its whole life, so the machine keeps a dead supervisor and
//! has room for one replacement. The machine does not replace the second supervisor.

use crate::cancel::CancelToken;
use millibox::{Backend, BackendRefusal, Builder, Error, Supervisor};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Maximum number of supervisors that one machine starts, one after another.
pub(super) const MAX_SUPERVISORS: usize = 2;

/// Why a machine cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The supervisor cannot be started, or the allowed CPUs cannot be read.
    #[error(transparent)]
    Supervisor(#[from] Error),
    /// This process is not allowed to use one of the CPUs.
    #[error("CPU {cpu} may not be used here; the allowed CPUs are {}", list(.allowed, ","))]
    CpuNotAllowed {
        /// The CPU.
        cpu: usize,
        /// The CPUs that this process may use (sched_getaffinity(2)).
        allowed: Vec<usize>,
    },
    /// Only the backend without cgroups is available, and the caller did not select it.
    #[error(
        "the judge limits runs with cgroups, which cannot be used here ({}); choose --backend \
         rlimit to limit single processes instead, or run `millibox doctor`", list(.declined, "; ")
    )]
    NeedsCgroups {
        /// Why each backend with cgroups was rejected.
        declined: Vec<BackendRefusal>,
    },
}

fn list(values: &[impl ToString], separator: &str) -> String {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    texts.join(separator)
}

/// Supervisors that a judge shares with other work.
pub trait Supervisors: Debug + Send + Sync {
    /// Returns the current supervisor, or a new one if the last one has ended.
    ///
    /// # Errors
    /// The supervisor cannot be started.
    fn current(&self) -> Result<Arc<Supervisor>, Error>;
}

/// The supervisors of a machine that shares them with no other work.
#[derive(Debug)]
struct OwnSupervisors(Builder);

impl Supervisors for OwnSupervisors {
    fn current(&self) -> Result<Arc<Supervisor>, Error> {
        self.0.clone().start().map(Arc::new)
    }
}

/// A supervisor, and the CPUs of the judge's threads.
///
/// If the supervisor is killed, the machine starts a second one, and the judge repeats the
/// interrupted work. If the second one is killed as well, all remaining work ends with a judge
/// error. A caller that continues needs another machine.
///
/// Each call that judges submissions uses all CPUs of the machine. Two calls at the same time share
/// the CPUs, which affects real times. A server that judges submissions in parallel creates one
/// machine for each of them, with disjoint `cpus`. The machines may share supervisors.
#[derive(Debug)]
pub struct Machine {
    source: Box<dyn Supervisors>,
    /// Whether the supervisors belong to this machine alone.
    is_owner: bool,
    supervisors: [OnceLock<Arc<Supervisor>>; MAX_SUPERVISORS],
    starting: Mutex<()>,
    token: CancelToken,
    workers: Vec<usize>,
}

impl Machine {
    /// Starts a supervisor for `jobs` parallel tests, each pinned to one of `cpus`.
    ///
    /// Without `jobs`, the number of parallel tests is the number of CPUs. An empty list of CPUs
    /// means all CPUs that this process may use. With more jobs than CPUs, tests wait for each
    /// other, and a waiting test may exceed its real-time limit.
    ///
    /// # Errors
    /// The supervisor cannot be started, a CPU may not be used, or only the backend without cgroups
    /// is available and the caller did not select it.
    pub fn start(
        builder: Builder,
        jobs: Option<usize>,
        cpus: &[usize],
    ) -> Result<Machine, MachineError> {
        let cpus = check_cpus(cpus)?;
        let jobs = jobs.unwrap_or(cpus.len()).max(1);
        let source = OwnSupervisors(builder.slots(jobs));
        let supervisor = source.current()?;
        // A supervisor that was started with this backend by name has rejected no other backend.
        if supervisor.info().backend() == Backend::Rlimit
            && !supervisor.info().declined().is_empty()
        {
            return Err(MachineError::NeedsCgroups {
                declined: supervisor.info().declined().to_vec(),
            });
        }
        let workers = cpus.into_iter().cycle().take(jobs).collect();
        let machine = Machine::new(Box::new(source), supervisor, workers);
        Ok(Machine {
            is_owner: true,
            ..machine
        })
    }

    /// Creates a machine with supervisors that the caller shares with other work. It runs one test
    /// at a time on each of `cpus`. An empty list means all CPUs that this process may use. The
    /// caller must ensure that slots are free.
    ///
    /// # Errors
    /// No supervisor can be started, or a CPU may not be used.
    pub fn sharing(
        supervisors: Box<dyn Supervisors>,
        cpus: &[usize],
    ) -> Result<Machine, MachineError> {
        let workers = check_cpus(cpus)?;
        let supervisor = supervisors.current()?;
        Ok(Machine::new(supervisors, supervisor, workers))
    }

    fn new(
        source: Box<dyn Supervisors>,
        supervisor: Arc<Supervisor>,
        workers: Vec<usize>,
    ) -> Machine {
        Machine {
            source,
            is_owner: false,
            supervisors: [OnceLock::from(supervisor), OnceLock::new()],
            starting: Mutex::default(),
            token: CancelToken::new(),
            workers,
        }
    }

    /// Returns the current supervisor.
    pub fn supervisor(&self) -> &Supervisor {
        self.current().1
    }

    /// Returns the CPUs of the judge's threads, one for each thread.
    pub fn cpus(&self) -> &[usize] {
        &self.workers
    }

    /// Ends all runs and prevents new ones. Threads that wait for a run receive an error. Any
    /// thread may call this method, any number of times.
    ///
    /// Shared supervisors keep running. With them, the programs of submissions are killed, but a
    /// running compiler or checker continues until it ends by itself or by its limits.
    ///
    /// A [`CancelToken`] ends one call and leaves the machine usable.
    pub fn stop(&self) {
        self.token.cancel();
        // The thread that is starting a supervisor closes it (see `after`).
        for supervisor in self.supervisors.iter().filter_map(OnceLock::get) {
            self.close(supervisor);
        }
    }

    /// Whether [`Machine::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Returns the token that [`Machine::stop`] cancels.
    pub(super) fn token(&self) -> &CancelToken {
        &self.token
    }

    fn close(&self, supervisor: &Supervisor) {
        if self.is_owner {
            supervisor.close();
        }
    }

    fn current(&self) -> (usize, &Supervisor) {
        let mut all = self.supervisors.iter().enumerate().rev();
        let newest = all.find_map(|(generation, it)| Some((generation, &**it.get()?)));
        newest.expect("the constructor starts the first supervisor")
    }

    /// Does some work with the supervisor. If `failed` returns true for the result and the
    /// supervisor is dead, repeats the work with the next supervisor.
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

    /// Returns the supervisor that follows a dead one. The first thread that needs the new
    /// supervisor starts it.
    fn after(&self, generation: usize) -> Option<(usize, &Supervisor)> {
        let _only_one = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        let next = self.supervisors.get(generation + 1)?;
        if next.get().is_none() {
            if self.is_stopped() {
                return None;
            }
            // If it cannot be started, the caller keeps the error about the end of the first
            // supervisor.
            let _ = next.set(self.source.current().ok()?);
        }
        let supervisor = next.get()?;
        if self.is_stopped() {
            self.close(supervisor);
        }
        Some((generation + 1, supervisor))
    }
}

/// Pins this thread to a CPU. A failure is harmless: the thread's own work may then disturb tests
/// on other CPUs.
pub(super) fn pin_thread(cpu: usize) {
    let mut set = CpuSet::new();
    if cpu < CpuSet::MAX_CPU {
        set.set(cpu);
        let _ = sched_setaffinity(None, &set);
    }
}

/// Returns the CPUs of the judge's threads.
fn check_cpus(cpus: &[usize]) -> Result<Vec<usize>, MachineError> {
    let allowed = allowed_cpus()?;
    if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        return Err(MachineError::CpuNotAllowed { cpu: *cpu, allowed });
    }
    Ok(match cpus {
        [] => allowed,
        cpus => cpus.to_vec(),
    })
}

fn allowed_cpus() -> Result<Vec<usize>, Error> {
    let failed = |errno: rustix::io::Errno| Error::System {
        what: "read the allowed CPUs",
        error: errno.into(),
    };
    let allowed = sched_getaffinity(None).map_err(failed)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .collect())
}
