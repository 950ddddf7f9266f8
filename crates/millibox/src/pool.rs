//! Several supervisors behind one interface.

use crate::{Builder, Error, Handle, Request, StartError, Supervisor};

/// One supervisor for each CPU. Each stays on its CPU with all its runs.
///
/// A single [`Supervisor`] uses all CPUs and serves them with one thread. A message to a process on
/// another CPU needs an interrupt, which is expensive in a virtual machine. With many CPUs, the
/// single thread also delays every run. In a pool, a run, its runner and its supervisor share one
/// CPU. docs/performance.md has figures.
///
/// A pool is fastest if one thread on each CPU (sched_setaffinity(2)) requests runs and always has
/// several outstanding. The supervisor of that CPU then serves them, and no thread waits for a run
/// while another supervisor is idle.
///
/// A pool has costs. Each CPU has a supervisor with its runners, even if it is idle. Each
/// supervisor has a queue of its own, so a run behind a long run waits even if another supervisor
/// becomes idle. A pool therefore suits large numbers of short runs. For long runs, request at most
/// one for each supervisor, or use a [`Supervisor`].
///
/// ```
/// use millibox::{Outcome, Pool, Request};
///
/// let Ok(pool) = Pool::start() else { return };
/// let runs: Vec<_> = (0..100).map(|_| pool.run(&Request::new("/bin/true")).unwrap()).collect();
/// assert!(runs.iter().all(|run| run.wait().unwrap().outcome == Outcome::Exited(0)));
/// ```
#[derive(Debug)]
pub struct Pool {
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    cpu: usize,
    supervisor: Supervisor,
}

impl Pool {
    /// Starts a pool on all CPUs that this thread may use (sched_getaffinity(2)).
    ///
    /// # Errors
    /// See [`Builder::start`].
    pub fn start() -> Result<Pool, Error> {
        Pool::with(&Supervisor::builder())
    }

    /// Starts a pool with the options of this builder, except for its slots and CPUs.
    ///
    /// # Errors
    /// See [`Builder::start`].
    pub fn with(builder: &Builder) -> Result<Pool, Error> {
        let allowed = rustix::thread::sched_getaffinity(None)
            .map_err(Error::system("read the CPU affinity"))?;
        let cpus = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
        let member = |cpu| {
            let supervisor = builder
                .clone()
                .cpus([cpu])
                .slots(1)
                .pin_slots(true)
                .start()?;
            Ok(Member { cpu, supervisor })
        };
        Ok(Pool {
            members: cpus.map(member).collect::<Result<_, Error>>()?,
        })
    }

    /// Requests a run from the supervisor with the fewest runs. If all supervisors are busy and the
    /// supervisor of the caller's CPU has at most one run more, that supervisor is preferred. Does
    /// not wait; many runs may be outstanding.
    ///
    /// # Errors
    /// See [`Supervisor::run`]. Supervisors that have ended are skipped as long as one is alive.
    pub fn run(&self, request: &Request) -> Result<Handle, Error> {
        self.ask(|member| member.run(request))
    }

    /// Requests a pair of runs from one supervisor; see [`Supervisor::run_pair`].
    ///
    /// # Errors
    /// See [`Supervisor::run_pair`].
    pub fn run_pair(&self, requests: [&Request; 2]) -> Result<[Handle; 2], Error> {
        self.ask(|member| member.run_pair(requests))
    }

    /// The supervisors, in the order of their CPUs.
    pub fn members(&self) -> impl ExactSizeIterator<Item = &Supervisor> {
        self.members.iter().map(|member| &member.supervisor)
    }

    /// Asks the chosen supervisor, or another one if the chosen supervisor turns out to have ended.
    /// A supervisor that was killed seems idle until it is asked.
    fn ask<T>(&self, question: impl Fn(&Supervisor) -> Result<T, Error>) -> Result<T, Error> {
        loop {
            match question(self.choose()?) {
                Err(Error::Died(_)) if self.members().any(|member| !member.is_dead()) => {}
                answer => return answer,
            }
        }
    }

    fn choose(&self) -> Result<&Supervisor, Error> {
        let here = rustix::thread::sched_getcpu();
        let living = self
            .members
            .iter()
            .filter(|member| !member.supervisor.is_dead());
        let living: Vec<(usize, &Member)> = living
            .map(|member| (member.supervisor.unfinished(), member))
            .collect();
        let least = living
            .iter()
            .min_by_key(|(unfinished, member)| (*unfinished, member.cpu != here));
        // Otherwise threads that request one run after another would keep using the supervisors
        // that they used first, and the results of each supervisor would wake threads on all CPUs.
        let near = living.iter().find(|(unfinished, member)| {
            member.cpu == here
                && least.is_some_and(|(least, _)| *least >= BUSY_RUNS && *unfinished <= least + 1)
        });
        let chosen = near.or(least).map(|(_, member)| *member);
        let Member { supervisor, .. } = chosen
            .or(self.members.first())
            .ok_or(StartError::EmptyPool)?;
        Ok(supervisor)
    }
}

/// With this number of runs, a supervisor has one run in progress and another that can begin at
/// once.
const BUSY_RUNS: usize = 2;
