//! The supervisor: one event loop without capabilities outside its own namespaces.
//!
//! The supervisor is separate from the client because namespaces and capabilities belong to
//! processes, and because its address space must be small and separate from the caller's. It
//! accepts requests. For each request it finds a runner whose next pid1 is prepared for the
//! request's world, launches the run, watches the clocks and answers.
//!
//! A request passes through [`Supervisor::handle_client_frame`] (`client.rs`), the queue,
//! [`Supervisor::dispatch`] and [`Supervisor::launch`] (`dispatch.rs`), target and pid1,
//! [`Supervisor::handle_runner_messages`] (`runners.rs`) and [`Supervisor::finish`] (`results.rs`).
//! During the run, `limits.rs` watches its limits. A run that could not begin in a runner returns
//! to the queue (`setbacks.rs`).
//!
//! The supervisor waits only for events: mounters mount, runners clone runs, and the keeper creates
//! cgroups. The one exception is the spawner. It only forks runners and mounters, so the supervisor
//! waits for its answer. This division lets the supervisor give up nearly all rights of a process
//! ([`crate::confine`]). Reading the file locks of runs blocks, so a second thread does that
//! ([`crate::locks`]).

mod client;
mod cold;
mod deaths;
mod dispatch;
mod limits;
mod results;
mod runners;
mod setbacks;

use crate::backend::Handover;
use crate::launch::Launch;
use crate::locks::Locks;
use crate::messages::{Fatal, failed};
use crate::setup::Setup;
use crate::slot::Runner;
use crate::spawner::Spawner;
use crate::sys::{calls, process};
use crate::tree::Used;
use crate::world::{WorldId, Worlds};
use deaths::{StartHistory, Unreaped};
use limits::Cause;
use millibox_wire::{SupervisorStep, TemplateProblem};
use runners::{PendingRestart, new_memory};
use rustix::event::epoll;
use rustix::io::Errno as Error;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// A run that was requested but not yet answered.
struct Request {
    world: WorldId,
    launch: Launch,
    strings: Vec<u8>,
    descriptors: Vec<OwnedFd>,
    limits: millibox_wire::Limits,
    /// The number of CPUs that the run can use at the same time.
    cpus: u64,
    /// The run that starts together with this one.
    partner: Option<u64>,
    /// The partner that has begun without this run. The run may use the partner's slot.
    begun_partner: Option<u64>,
    setbacks: Setbacks,
    ended: Option<Ended>,
    /// Whether the program may be executed if no copy of a template can be made.
    may_start_cold: bool,
    /// The reason if the program is executed although the request asked for a copy of a template.
    cold: Option<TemplateProblem>,
}

/// The failed attempts to begin a run: runners that received it, or that were prepared for it.
#[derive(Default)]
struct Setbacks {
    count: u32,
    /// The time of the next attempt (`CLOCK_MONOTONIC_RAW`).
    try_at_ns: u64,
}

/// The reason why the supervisor ended a run, and the figures that it read before that.
struct Ended {
    cause: Cause,
    /// The time of the end (`CLOCK_MONOTONIC_RAW`).
    at_ns: u64,
    /// The CPU time used until the end, for backends that cannot read it afterwards.
    used_ns: u64,
    /// Further figures of the run's processes. Only the ratio of their times is used.
    used: Used,
}

/// The state of the supervisor.
pub struct Supervisor {
    setup: Setup,
    spawner: Spawner,
    epoll: OwnedFd,
    worlds: Worlds,
    runners: Vec<Runner>,
    requests: BTreeMap<u64, Request>,
    queue: VecDeque<u64>,
    /// Frames that wait for space in the client's socket.
    unsent: VecDeque<Vec<u8>>,
    buffer: Vec<u8>,
    /// Whether the CPU time of a run in progress can be read.
    reads_cpu_time: bool,
    /// The runner and the world of the last launch that was not part of a pair.
    latest: Option<(usize, WorldId)>,
    /// For each CPU, the time of the last launch in one of its runners.
    launched_on: Vec<u64>,
    /// Whether the supervisor watches for space in the client's socket.
    watches_for_room: bool,
    /// The reason why an answer could not be sent.
    send_failure: Option<Fatal>,
    /// Children that were killed and are not yet reaped.
    unreaped: Vec<Unreaped>,
    /// The start history of the place of each runner.
    start_histories: Vec<StartHistory>,
    /// Runners that are dead and not yet restarted.
    restarts: Vec<PendingRestart>,
    /// Whether a run is waiting and a runner may become able to accept launches without an event.
    polls_runners: bool,
    /// Whether runs that were set back may be waiting.
    has_setbacks: bool,
    /// The time of the next attempt to start a run that was set back (`CLOCK_MONOTONIC_RAW`).
    retry_at_ns: Option<u64>,
    /// `None` if file locks cannot be counted here.
    locks: Option<Locks>,
    /// The time of the last request for a scan of file locks (`CLOCK_MONOTONIC_RAW`).
    locks_requested_ns: u64,
}

/// The subject of an epoll event.
#[derive(Clone, Copy)]
enum Token {
    Client,
    ClientDeath,
    SpawnerDeath,
    Runner(usize),
    OutOfMemory(usize),
    Mounter(WorldId),
    Locks,
}

impl Token {
    fn data(self) -> epoll::EventData {
        epoll::EventData::new_u64(match self {
            Token::Client => 0,
            Token::ClientDeath => 1,
            Token::SpawnerDeath => 2,
            Token::Locks => 3,
            Token::Runner(index) => 1 << 32 | index as u64,
            Token::OutOfMemory(index) => 2 << 32 | index as u64,
            Token::Mounter(world) => 3 << 32 | u64::from(world.0),
        })
    }

    fn from_data(data: u64) -> Token {
        let index = data & 0xffff_ffff;
        match data >> 32 {
            1 => Token::Runner(index as usize),
            2 => Token::OutOfMemory(index as usize),
            3 => Token::Mounter(WorldId(index as u32)),
            _ if index == 0 => Token::Client,
            _ if index == 2 => Token::SpawnerDeath,
            _ if index == 3 => Token::Locks,
            _ => Token::ClientDeath,
        }
    }
}

impl Supervisor {
    /// Sets everything up and starts the runners.
    pub fn new(setup: Setup, spawner: Spawner, locks: Option<Locks>) -> Result<Supervisor, Fatal> {
        let epoll =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed(SupervisorStep::Epoll))?;
        let launched_on = vec![0; setup.cpus.end()];
        let mut supervisor = Supervisor {
            reads_cpu_time: !matches!(setup.handover, Handover::Rlimit)
                || crate::tree::can_list_children(spawner.pid()),
            setup,
            spawner,
            epoll,
            worlds: Worlds::default(),
            runners: Vec::new(),
            requests: BTreeMap::new(),
            queue: VecDeque::new(),
            unsent: VecDeque::new(),
            buffer: vec![0; millibox_wire::frame::MAX_INLINE],
            latest: None,
            launched_on,
            watches_for_room: false,
            send_failure: None,
            unreaped: Vec::new(),
            start_histories: Vec::new(),
            restarts: Vec::new(),
            polls_runners: false,
            has_setbacks: false,
            retry_at_ns: None,
            locks,
            locks_requested_ns: 0,
        };
        supervisor.watch(
            supervisor.setup.socket.as_raw_fd(),
            Token::Client,
            epoll::EventFlags::IN,
        )?;
        supervisor.watch(
            supervisor.setup.client.as_raw_fd(),
            Token::ClientDeath,
            epoll::EventFlags::IN,
        )?;
        supervisor.watch(
            supervisor.spawner.socket().as_raw_fd(),
            Token::SpawnerDeath,
            epoll::EventFlags::IN,
        )?;
        if let Some(locks) = &supervisor.locks {
            supervisor.watch(
                locks.answered.as_raw_fd(),
                Token::Locks,
                epoll::EventFlags::IN,
            )?;
        }
        for index in 0..supervisor.setup.slots * supervisor.setup.runners_per_slot {
            supervisor.start_runner(index, new_memory()?, false)?;
            if let Handover::Hybrid { runners } = &supervisor.setup.handover
                && let Some(files) = runners.get(index)
            {
                supervisor.watch(
                    files.oom_event,
                    Token::OutOfMemory(index),
                    epoll::EventFlags::IN,
                )?;
            }
        }
        Ok(supervisor)
    }

    fn watch(&self, fd: i32, token: Token, events: epoll::EventFlags) -> Result<(), Fatal> {
        self.try_watch(fd, token, events)
            .map_err(failed(SupervisorStep::Watch))
    }

    fn try_watch(
        &self,
        fd: i32,
        token: Token,
        events: epoll::EventFlags,
    ) -> rustix::io::Result<()> {
        epoll::add(&self.epoll, crate::sys::borrow(fd), token.data(), events)
    }

    /// Serves until the client ends.
    pub fn serve(&mut self) -> Result<(), Fatal> {
        let mut events = Vec::with_capacity(64);
        loop {
            let timeout = self.next_deadline().map(|deadline| {
                let wait = deadline.saturating_sub(calls::monotonic_raw_ns());
                rustix::event::Timespec {
                    tv_sec: (wait / 1_000_000_000) as i64,
                    tv_nsec: (wait % 1_000_000_000) as i64,
                }
            });
            events.clear();
            match epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                timeout.as_ref(),
            ) {
                Ok(_) | Err(Error::INTR) => {}
                Err(errno) => return Err(failed(SupervisorStep::WaitForEvents)(errno)),
            }
            for event in &events {
                match Token::from_data(event.data.u64()) {
                    Token::Client => {
                        let flags = event.flags;
                        if flags.contains(epoll::EventFlags::OUT) {
                            self.send_unsent()?;
                        }
                        if !self.read_client_frames()? {
                            return Ok(());
                        }
                    }
                    Token::ClientDeath => return Ok(()),
                    Token::SpawnerDeath => return Err(self.spawner.exit_reason()),
                    Token::Runner(index) => self.handle_runner_messages(index)?,
                    Token::OutOfMemory(index) => self.out_of_memory(index),
                    Token::Mounter(world) => self.handle_mounter(world),
                    Token::Locks => self.handle_lock_counts()?,
                }
            }
            self.reap_killed()?;
            self.restart_due_runners()?;
            self.check_clocks();
            self.check_sockets();
            self.request_lock_scan();
            self.dispatch();
            if let Some(fatal) = self.send_failure.take() {
                return Err(fatal);
            }
        }
    }

    /// Kills every runner, and with it all runs, and waits until they have died. The wait is
    /// bounded, because a process may hang in the kernel.
    pub fn shut_down(&mut self) {
        self.spawner.kill();
        for runner in &mut self.runners {
            runner.switch();
            runner.kill_process();
        }
        self.worlds.kill_mounters();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(3) {
            match process::wait(-1, libc::__WALL | libc::WNOHANG) {
                Ok(waited) if waited.pid == 0 => {
                    // The client waits, and most runners die within a millisecond, so the first
                    // checks are frequent.
                    let soon = begin.elapsed() < Duration::from_millis(2);
                    std::thread::sleep(Duration::from_micros(if soon { 100 } else { 1000 }));
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}
