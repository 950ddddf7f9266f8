//! Several supervisors that work as one.

use crate::{Builder, Error, Handle, Request, Supervisor};

/// One supervisor for each CPU, held there with all its runs.
///
/// A single [`Supervisor`] has all CPUs and one thread that serves them: what it says to a run's processes on another CPU
/// goes by an interrupt (dear in a virtual machine), and where CPUs are many, its thread is on the way of every run. In a
/// pool a run, who prepares it and who watches it are on one CPU. docs/performance.md has what that saves.
///
/// What it costs: an idle supervisor with its homes for each CPU; and a run has its place in the queue of one
/// member, so behind a long run it waits even if another member is idle by now. That is right for many short runs. For
/// long ones ask for no more at once than there are members, or use a [`Supervisor`].
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
    /// Starts one as it is best for this machine, on all CPUs that this thread may use (sched_getaffinity(2)).
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
        let allowed = rustix::thread::sched_getaffinity(None).map_err(Error::system("ask for the CPUs"))?;
        let cpus = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
        let member = |cpu| {
            let supervisor = builder.clone().cpus([cpu]).slots(1).pin_slots(true).start()?;
            Ok(Member { cpu, supervisor })
        };
        Ok(Pool { members: cpus.map(member).collect::<Result<_, Error>>()? })
    }

    /// Asks for a run: of the member that has the fewest to do, and among those of the caller's CPU's. Does not wait for
    /// anything; many may be outstanding.
    ///
    /// # Errors
    /// See [`Supervisor::run`]. While a member lives, those that have died are not asked.
    pub fn run(&self, request: &Request) -> Result<Handle, Error> {
        self.choose()?.run(request)
    }

    /// Asks for two runs that need each other, of one member: see [`Supervisor::run_pair`].
    ///
    /// # Errors
    /// See [`Supervisor::run_pair`].
    pub fn run_pair(&self, requests: [&Request; 2]) -> Result<[Handle; 2], Error> {
        self.choose()?.run_pair(requests)
    }

    /// Its supervisors, by CPU.
    pub fn members(&self) -> impl ExactSizeIterator<Item = &Supervisor> {
        self.members.iter().map(|member| &member.supervisor)
    }

    fn choose(&self) -> Result<&Supervisor, Error> {
        let here = rustix::thread::sched_getcpu();
        let living = self.members.iter().filter(|member| !member.supervisor.is_dead());
        let best = living.min_by_key(|member| (member.supervisor.unfinished(), member.cpu != here));
        let Member { supervisor, .. } =
            best.or(self.members.first()).ok_or_else(|| Error::Start("there is no CPU to use".to_owned()))?;
        Ok(supervisor)
    }
}
