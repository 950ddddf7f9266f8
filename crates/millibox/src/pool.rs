//! Several supervisors that work as one.

use crate::{Builder, Error, Handle, Request, Supervisor};

/// One supervisor for each CPU, held there with all its runs.
///
/// A single [`Supervisor`] has all CPUs and one thread that serves them: what it says to a run's
/// processes on another CPU goes by an interrupt (dear in a virtual machine), and where CPUs are
/// many, its thread is on the way of every run. In a pool a run, who prepares it and who watches it
/// are on one CPU. docs/performance.md has what that saves.
///
/// It is fastest asked by a thread for each CPU that is held there (sched_setaffinity(2)) and has
/// some runs outstanding: each is then served by its CPU's member, and nobody waits for one while
/// another has nothing to do.
///
/// What it costs: an idle supervisor with its runners for each CPU; and a run has its place in the
/// queue of one member, so behind a long run it waits even if another member is idle by now. That
/// is right for many short runs. For long ones ask for no more at once than there are members, or
/// use a [`Supervisor`].
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
    /// Starts one as it is best for this machine, on all CPUs that this thread may use
    /// (sched_getaffinity(2)).
    ///
    /// # Errors
    /// See [`Builder::start`].
    pub fn start() -> Result<Pool, Error> {
        Pool::with(&Supervisor::builder())
    }

    /// The same with supervisors that are started in this way; slots and CPUs are the pool's.
    ///
    /// # Errors
    /// See [`Builder::start`].
    pub fn with(builder: &Builder) -> Result<Pool, Error> {
        let allowed =
            rustix::thread::sched_getaffinity(None).map_err(Error::system("ask for the CPUs"))?;
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

    /// Asks for a run: of the member that has the fewest to do, and of the caller's CPU's if that
    /// has at most one more and nobody lacks work. Does not wait for anything; many may be
    /// outstanding.
    ///
    /// # Errors
    /// See [`Supervisor::run`]. While a member lives, those that have died are not asked.
    pub fn run(&self, request: &Request) -> Result<Handle, Error> {
        self.ask(|member| member.run(request))
    }

    /// Asks for two runs that need each other, of one member: see [`Supervisor::run_pair`].
    ///
    /// # Errors
    /// See [`Supervisor::run_pair`].
    pub fn run_pair(&self, requests: [&Request; 2]) -> Result<[Handle; 2], Error> {
        self.ask(|member| member.run_pair(requests))
    }

    /// Its supervisors, by CPU.
    pub fn members(&self) -> impl ExactSizeIterator<Item = &Supervisor> {
        self.members.iter().map(|member| &member.supervisor)
    }

    /// Asks the member that is to be asked, and the next one if that turns out to have died: until
    /// it is asked for something, one that was killed seems to live and to have nothing to do.
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
        // Threads that ask in turn, each for one more when one is over, would else go on for ever
        // with the mixture of members that they began with, and each member's results would wake
        // threads on all CPUs.
        let near = living.iter().find(|(unfinished, member)| {
            member.cpu == here
                && least.is_some_and(|(least, _)| *least >= ENOUGH && *unfinished <= least + 1)
        });
        let chosen = near.or(least).map(|(_, member)| *member);
        let Member { supervisor, .. } = chosen
            .or(self.members.first())
            .ok_or_else(|| Error::Start("there is no CPU to use".to_owned()))?;
        Ok(supervisor)
    }
}

/// Who has so many runs has one that goes on and one that can begin at once.
const ENOUGH: usize = 2;
