//! The supervisor: one thread, one event loop, no capabilities that reach outside.
//!
//! It is needed as a process of its own, apart from the client, because namespaces and
//! capabilities belong to processes, and because its address space must be small and not
//! the caller's. It takes requests, finds each a home whose next pid1 is prepared for the
//! request's world, launches, watches the clocks, and answers.
//!
//! A request's way: [`Supervisor::client_frame`] → the queue → [`Supervisor::dispatch`] →
//! [`Supervisor::launch`] → (tracee, pid1) → [`Supervisor::home_message`] →
//! [`Supervisor::finish`] → the client.
//!
//! It never waits for anything but events: mounts are made by builders, runs are cloned by
//! homes, cgroups are made by the keeper. Homes and builders are forked by the nursery, which does
//! nothing else, so its answer is waited for. So the supervisor can do without nearly all that a
//! process may do, and does ([`crate::confine`]).

use crate::backend::{self, Handover};
use crate::launch::{
    CPU_WORDS, End, Failure, Launch, MAX_STRINGS, Memory, Report, STRINGS, Shared, Start, UNLIMITED, message,
};
use crate::nursery::Nursery;
use crate::slot::{Home, State};
use crate::sockets::Sockets;
use crate::step::Step;
use crate::sys::{Errno, calls, process};
use crate::world::{WorldId, Worlds};
use millibox_wire::frame::{Header, Kind, MAX_BODY, MAX_DESCRIPTORS};
use millibox_wire::path;
use millibox_wire::{Backend, Figures, Hello, Kill, KillReason, Outcome, Run, RunError, RunResult, decode, encode};
use rustix::event::epoll;
use rustix::fs::SealFlags;
use rustix::io::Errno as Error;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};
use zerocopy::FromBytes;

/// Longest time between two looks at a run's CPU time that is close to its limit.
const SHORTEST_WAIT_NS: u64 = 1_000_000;
/// Time between two ticks of the slowest kernel (CONFIG_HZ=100), at which running processes'
/// time is counted.
const LONGEST_TICK_NS: u64 = 10_000_000;
/// A run that has not reached its exec this long after its real-time limit hangs before it.
const EXEC_GRACE_NS: u64 = 2_000_000_000;

/// How far a peak may lie below the limit that was reached: what an earlier run left behind
/// is not in the figure (see backend/hybrid.rs), and the kernel charges in batches.
const PEAK_SLACK: u64 = 2 << 20;

/// A home that dies so often in a row before it can take runs will not do better.
const MOST_ACCIDENTS: u32 = 10;
/// How often it is tried again to start a home, a moment later each time: half a minute in all.
const MOST_STARTS: u32 = 40;

/// What the supervisor is given at its start.
pub struct Setup {
    pub socket: OwnedFd,
    pub client: OwnedFd,
    pub handover: Handover,
    pub slots: usize,
    pub homes_per_slot: usize,
    pub share_memory: bool,
    pub pin: bool,
    pub uid: u32,
    pub gid: u32,
    pub cgroups: Vec<Vec<u8>>,
    pub declined: Vec<String>,
    /// Version of landlock that holds the supervisor; 0: the kernel has none.
    pub landlock: u32,
    /// Where all devices hang as one mount, see [`crate::devices`].
    pub devices: Option<String>,
}

/// Why a run is being ended by us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    RealTime,
    CpuTime,
    Memory,
    Output,
    Caller,
    Cancelled,
}

impl Cause {
    fn outcome(self) -> Outcome {
        match self {
            Cause::RealTime => Outcome::RealTimeLimit,
            Cause::CpuTime => Outcome::CpuTimeLimit,
            Cause::Memory => Outcome::MemoryLimit,
            Cause::Output => Outcome::OutputLimit,
            Cause::Caller => Outcome::Killed,
            Cause::Cancelled => Outcome::Cancelled,
        }
    }
}

/// A run that was asked for and not yet answered.
struct Request {
    world: WorldId,
    launch: Launch,
    strings: Vec<u8>,
    descriptors: Vec<OwnedFd>,
    limits: millibox_wire::Limits,
    /// Starts together with this one.
    partner: Option<u64>,
    /// Why we ended it, when, and the CPU time that it had used by then (where the backend
    /// cannot tell afterwards).
    ended: Option<(Cause, u64, u64)>,
}

/// See the module.
pub struct Supervisor {
    setup: Setup,
    nursery: Nursery,
    epoll: OwnedFd,
    worlds: Worlds,
    homes: Vec<Home>,
    requests: BTreeMap<u64, Request>,
    queue: VecDeque<u64>,
    /// Frames that the client's socket had no room for.
    unsent: VecDeque<Vec<u8>>,
    buffer: Vec<u8>,
    cpus: u64,
    /// CPU time of a run that goes on can be told.
    sees_runs: bool,
    /// CPUs that a run may use unless it asks for fewer.
    cpu_mask: Vec<u64>,
    /// The client's socket is watched for room to send.
    wants_room: bool,
    /// Why an answer could not be sent.
    speechless: Option<Fatal>,
    /// Children that have been killed and not yet waited for.
    dying: Vec<Orphans>,
    /// For each home, how often in a row it died before it had settled again.
    unsettled: Vec<u32>,
    /// Homes that died and could not be started again yet.
    gone: Vec<Gone>,
}

/// A home that is to be started again. The kernel may have no memory, process or descriptor for us
/// now and have them a moment later; a run may have taken them.
struct Gone {
    index: usize,
    /// `None`: who still writes to the memory that it had is about to die.
    memory: Option<Memory>,
    tries: u32,
    /// When to try next (`CLOCK_MONOTONIC_RAW`).
    at_ns: u64,
}

/// What an epoll event is about.
#[derive(Clone, Copy)]
enum Token {
    Client,
    ClientDeath,
    NurseryDeath,
    Home(usize),
    OutOfMemory(usize),
    Builder(WorldId),
}

impl Token {
    fn data(self) -> epoll::EventData {
        epoll::EventData::new_u64(match self {
            Token::Client => 0,
            Token::ClientDeath => 1,
            Token::NurseryDeath => 2,
            Token::Home(index) => 1 << 32 | index as u64,
            Token::OutOfMemory(index) => 2 << 32 | index as u64,
            Token::Builder(world) => 3 << 32 | u64::from(world.0),
        })
    }

    fn from_data(data: u64) -> Token {
        let index = data & 0xffff_ffff;
        match data >> 32 {
            1 => Token::Home(index as usize),
            2 => Token::OutOfMemory(index as usize),
            3 => Token::Builder(WorldId(index as u32)),
            _ if index == 0 => Token::Client,
            _ if index == 2 => Token::NurseryDeath,
            _ => Token::ClientDeath,
        }
    }
}

/// Why the supervisor ends, in words for the client.
pub type Fatal = String;

fn fatal(what: &'static str) -> impl Fn(Error) -> Fatal {
    move |errno| format!("cannot {what}: {}", crate::step::errno_text(errno.into()))
}

impl Supervisor {
    /// Sets everything up; homes are started here.
    pub fn new(setup: Setup, nursery: Nursery) -> Result<Supervisor, Fatal> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(fatal("make an epoll instance"))?;
        let mut mask = [0u64; CPU_WORDS];
        let words = calls::get_affinity(&mut mask).unwrap_or(0);
        let cpus = mask.iter().take(words).map(|word| u64::from(word.count_ones())).sum::<u64>().max(1);
        let mut supervisor = Supervisor {
            sees_runs: !matches!(setup.handover, Handover::Rlimit) || crate::tree::shows(nursery.pid()),
            setup,
            nursery,
            epoll,
            worlds: Worlds::default(),
            homes: Vec::new(),
            requests: BTreeMap::new(),
            queue: VecDeque::new(),
            unsent: VecDeque::new(),
            buffer: vec![0; millibox_wire::frame::MAX_INLINE],
            cpus,
            cpu_mask: mask.into_iter().take(words).collect(),
            wants_room: false,
            speechless: None,
            dying: Vec::new(),
            unsettled: Vec::new(),
            gone: Vec::new(),
        };
        supervisor.watch(supervisor.setup.socket.as_raw_fd(), Token::Client, epoll::EventFlags::IN)?;
        supervisor.watch(supervisor.setup.client.as_raw_fd(), Token::ClientDeath, epoll::EventFlags::IN)?;
        supervisor.watch(supervisor.nursery.socket().as_raw_fd(), Token::NurseryDeath, epoll::EventFlags::IN)?;
        for index in 0..supervisor.setup.slots * supervisor.setup.homes_per_slot {
            supervisor.start_home(index, new_memory()?, false)?;
            if let Handover::Hybrid { homes } = &supervisor.setup.handover
                && let Some(files) = homes.get(index)
            {
                supervisor.watch(files.oom_event, Token::OutOfMemory(index), epoll::EventFlags::IN)?;
            }
        }
        Ok(supervisor)
    }

    fn watch(&self, fd: i32, token: Token, events: epoll::EventFlags) -> Result<(), Fatal> {
        let fd = crate::sys::borrow(fd);
        epoll::add(&self.epoll, fd, token.data(), events).map_err(fatal("watch a descriptor"))
    }

    fn start_home(&mut self, index: usize, memory: Memory, again: bool) -> Result<(), Fatal> {
        let slot = index / self.setup.homes_per_slot;
        let mut home = Home::start(&self.setup, &self.nursery, index, slot, memory, again)?;
        if let Err(why) = self.watch(home.socket.as_raw_fd(), Token::Home(index), epoll::EventFlags::IN) {
            home.reap();
            return Err(why);
        }
        match self.homes.get_mut(index) {
            Some(place) => *place = home,
            None => {
                self.homes.push(home);
                self.unsettled.push(0);
            }
        }
        Ok(())
    }

    /// Serves until the client is gone.
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
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(Error::INTR) => {}
                Err(errno) => return Err(fatal("wait for events")(errno)),
            }
            for event in &events {
                match Token::from_data(event.data.u64()) {
                    Token::Client => {
                        let flags = event.flags;
                        if flags.contains(epoll::EventFlags::OUT) {
                            self.send_unsent()?;
                        }
                        if !self.client_frames()? {
                            return Ok(());
                        }
                    }
                    Token::ClientDeath => return Ok(()),
                    Token::NurseryDeath => return Err(self.nursery.last_words()),
                    Token::Home(index) => self.home_message(index)?,
                    Token::OutOfMemory(index) => self.out_of_memory(index),
                    Token::Builder(world) => self.builder_done(world),
                }
            }
            self.dying.retain_mut(|left| !left.are_gone());
            self.start_the_gone()?;
            self.look_at_clocks();
            self.look_at_sockets();
            self.dispatch();
            if let Some(fatal) = self.speechless.take() {
                return Err(fatal);
            }
        }
    }

    /// Ends every home, and with them all runs, and waits until they are gone, but not for
    /// ever: a process that hangs in the kernel cannot be helped.
    pub fn shut_down(&mut self) {
        self.nursery.kill();
        for home in &mut self.homes {
            home.switch();
            home.kill_process();
        }
        self.worlds.kill_builders();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(3) {
            match process::wait(-1, libc::__WALL | libc::WNOHANG) {
                Ok(waited) if waited.pid == 0 => {
                    // Most are gone within a millisecond, and somebody waits for it.
                    let soon = begin.elapsed() < Duration::from_millis(2);
                    std::thread::sleep(Duration::from_micros(if soon { 100 } else { 1000 }));
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    // --- the client -----------------------------------------------------------------

    /// Says that requests can come.
    pub fn hello(&mut self, backend: Backend) -> Result<(), Fatal> {
        let slots = self.setup.slots as u32;
        let hello = Hello {
            pid: calls::getpid() as u32,
            backend,
            slots,
            // Enough that no slot waits for the client, few enough that waiting runs do
            // not fill our descriptor table or the socket's buffer.
            credits: (slots * 4).clamp(8, 64),
            uid: self.setup.uid,
            gid: self.setup.gid,
            cgroups: self.setup.cgroups.clone(),
            declined: self.setup.declined.clone(),
            landlock: self.setup.landlock,
        };
        self.send(Kind::Hello, 0, &encode(&hello))
    }

    fn send(&mut self, kind: Kind, id: u64, body: &[u8]) -> Result<(), Fatal> {
        let mut frame = Header { kind, in_memfd: false, id }.encode().to_vec();
        frame.extend_from_slice(body);
        self.unsent.push_back(frame);
        if self.unsent.len() == 1 { self.send_unsent() } else { Ok(()) }
    }

    fn send_unsent(&mut self) -> Result<(), Fatal> {
        while let Some(frame) = self.unsent.front() {
            match calls::send_descriptors(self.setup.socket.as_raw_fd(), frame, &[]) {
                Ok(()) => {
                    self.unsent.pop_front();
                }
                // When memory is short the socket is not, and the next turn tries again.
                Err(Errno(libc::EAGAIN | libc::ENOMEM | libc::ENOBUFS)) => break,
                // The client has gone; the next read will say so.
                Err(Errno(libc::EPIPE | libc::ECONNRESET)) => self.unsent.clear(),
                Err(errno) => return Err(format!("cannot answer the client: {}", crate::step::errno_text(errno))),
            }
        }
        if self.wants_room == self.unsent.is_empty() {
            self.wants_room = !self.unsent.is_empty();
            let mut events = epoll::EventFlags::IN;
            if !self.unsent.is_empty() {
                events |= epoll::EventFlags::OUT;
            }
            epoll::modify(&self.epoll, &self.setup.socket, Token::Client.data(), events)
                .map_err(fatal("watch the client's socket"))?;
        }
        Ok(())
    }

    fn answer(&mut self, id: u64, result: &RunResult) {
        // A client that cannot be told anything would wait for ever.
        if let Err(fatal) = self.send(Kind::Result, id, &encode(result)) {
            self.speechless.get_or_insert(fatal);
        }
    }

    fn answer_error(&mut self, id: u64, outcome: Outcome) {
        let signal = (outcome == Outcome::Killed).then_some(libc::SIGKILL);
        let result = RunResult {
            outcome,
            exit_code: None,
            signal,
            figures: Figures::default(),
            ended_ns: None,
            backend: self.backend(),
        };
        self.answer(id, &result);
    }

    fn backend(&self) -> Backend {
        match self.setup.handover {
            Handover::Cgroup2 { .. } => Backend::Cgroup2,
            Handover::Hybrid { .. } => Backend::Hybrid,
            Handover::Rlimit => Backend::Rlimit,
        }
    }

    /// Reads all frames that are there. False: the client has hung up.
    fn client_frames(&mut self) -> Result<bool, Fatal> {
        loop {
            let mut buffer = std::mem::take(&mut self.buffer);
            let received =
                calls::receive(self.setup.socket.as_raw_fd(), &mut buffer, libc::MSG_DONTWAIT | libc::MSG_TRUNC);
            let answer = match received {
                Ok(received) if received.length == 0 => Ok(false),
                Ok(received) => {
                    let descriptors: Vec<OwnedFd> =
                        received.descriptors.into_iter().filter_map(crate::sys::adopt).collect();
                    match buffer.get(..received.length) {
                        Some(frame) => self.client_frame(frame, descriptors),
                        None => self.refuse(None, format!("a frame of {} bytes is too long", received.length)),
                    }
                    Ok(true)
                }
                Err(Errno(libc::EAGAIN | libc::ENOMEM | libc::ENOBUFS)) => {
                    self.buffer = buffer;
                    return Ok(true);
                }
                // The client died with our answers unread.
                Err(Errno(libc::ECONNRESET)) => Ok(false),
                Err(errno) => Err(format!("cannot read from the client: {}", crate::step::errno_text(errno))),
            };
            self.buffer = buffer;
            match answer {
                Ok(true) => {}
                other => return other,
            }
        }
    }

    fn refuse(&mut self, id: Option<u64>, why: String) {
        // Without an id the refusal cannot be about a certain run; 0 is never one.
        self.answer_error(id.unwrap_or(0), Outcome::NotStarted(Step::Request.says(why)));
    }

    fn client_frame(&mut self, frame: &[u8], mut descriptors: Vec<OwnedFd>) {
        let (header, inline) = match Header::decode(frame) {
            Ok(parts) => parts,
            Err((id, error)) => return self.refuse(id, error.to_string()),
        };
        let outside;
        let body = if header.in_memfd {
            if descriptors.is_empty() {
                return self.refuse(Some(header.id), "the frame's memfd is missing".to_owned());
            }
            match read_memfd(&descriptors.remove(0)) {
                Ok(bytes) => outside = bytes,
                Err(why) => return self.refuse(Some(header.id), why),
            }
            &outside[..]
        } else {
            inline
        };
        match header.kind {
            Kind::Run => match decode::<Run>(body) {
                Ok(run) => self.request(header.id, run, descriptors),
                Err(error) => self.refuse(Some(header.id), error.to_string()),
            },
            Kind::Kill => match decode::<Kill>(body) {
                Ok(Kill { reason: KillReason::Caller }) => self.end(header.id, Cause::Caller),
                Ok(Kill { reason: KillReason::OutputLimit }) => self.end(header.id, Cause::Output),
                Err(error) => self.refuse(Some(0), error.to_string()),
            },
            Kind::Cancel => self.end(header.id, Cause::Cancelled),
            Kind::Hello | Kind::Result => {
                self.refuse(Some(0), "the client sent what only a supervisor may".to_owned());
            }
        }
    }

    /// Takes a run in. One that cannot be taken in does not keep its partner waiting.
    fn request(&mut self, id: u64, run: Run, descriptors: Vec<OwnedFd>) {
        let partner = run.partner;
        self.take_in(id, run, descriptors);
        if let Some(partner) = partner
            && !self.requests.contains_key(&id)
        {
            self.part(partner, id);
        }
    }

    fn take_in(&mut self, id: u64, run: Run, descriptors: Vec<OwnedFd>) {
        let checked = check(&run, &descriptors).and_then(|launch| {
            if self.requests.contains_key(&id) {
                return Err(Step::Request.says(format!("id {id} is in use by another run")));
            }
            self.check_partner(id, run.partner)?;
            Ok(launch)
        });
        let mut launch = match checked {
            Ok(launch) => launch,
            Err(error) => return self.answer_error(id, Outcome::NotStarted(error)),
        };
        if launch.cpu_words == 0 && !self.setup.pin {
            // The tracee is born on its home's CPU alone.
            launch.cpu_words = self.cpu_mask.len() as u32;
            launch.cpus[..self.cpu_mask.len()].copy_from_slice(&self.cpu_mask);
        }
        if run.limits.cpu_time_ns.is_some() && !self.sees_runs {
            let error = Step::Request.says(
                "a CPU-time limit cannot be kept here: without cgroups it is kept by looking at the processes, and \
                 /proc does not show them (it is mounted with hidepid, or belongs to another PID namespace): mount \
                 /proc without that, or start where there are cgroups",
            );
            return self.answer_error(id, Outcome::NotStarted(error));
        }
        if run.limits.processes == Some(0) {
            let error = Step::ProcessLimit.says("a process limit of 0 leaves no room for the program itself");
            return self.answer_error(id, Outcome::NotStarted(error));
        }
        if run.limits.real_time_ns == Some(0) {
            return self.answer_error(id, Outcome::RealTimeLimit);
        }
        if run.limits.cpu_time_ns == Some(0) {
            return self.answer_error(id, Outcome::CpuTimeLimit);
        }
        let world = match self.worlds.find_or_add(run.world, self.setup.devices.as_deref()) {
            Ok(world) => world,
            Err(why) => return self.answer_error(id, Outcome::NotStarted(Step::World.says(why))),
        };
        self.requests.insert(
            id,
            Request {
                world,
                launch,
                strings: run.strings.to_vec(),
                descriptors,
                limits: run.limits,
                partner: run.partner,
                ended: None,
            },
        );
        self.queue.push_back(id);
        self.worlds.hold(world);
        if let Err(outcome) = self.build_if_new(world) {
            self.fail_world(world, outcome);
        }
    }

    /// A run with a partner waits for it, so the partner must come or be there.
    fn check_partner(&self, id: u64, partner: Option<u64>) -> Result<(), RunError> {
        let Some(partner) = partner else { return Ok(()) };
        if self.setup.homes_per_slot < 2 {
            return Err(Step::Request.says(
                "two runs that start together need two homes in a slot, and this supervisor has one; start it with \
                 more homes per slot",
            ));
        }
        if partner == id {
            return Err(Step::Request.says(format!("run {id} cannot start together with itself")));
        }
        match self.requests.get(&partner) {
            Some(request) if request.partner != Some(id) => {
                Err(Step::Request.says(format!("run {partner} does not want to start together with run {id}")))
            }
            Some(_) if !self.queue.contains(&partner) => Err(partner_is_gone()),
            None if partner < id => Err(partner_is_gone()),
            _ => Ok(()),
        }
    }

    /// Answers a run that will not be started, if it still waits, and with it its partner.
    fn turn_away(&mut self, id: u64, outcome: Outcome) {
        let Some(place) = self.queue.iter().position(|&waiting| waiting == id) else { return };
        self.queue.remove(place);
        let partner = self.forget(id).and_then(|request| request.partner);
        self.answer_error(id, outcome);
        if let Some(partner) = partner {
            self.part(partner, id);
        }
    }

    /// The partner of a run that will not be started is not started either, unless it is
    /// another's.
    fn part(&mut self, partner: u64, gone: u64) {
        if self.requests.get(&partner).is_some_and(|request| request.partner == Some(gone)) {
            self.turn_away(partner, Outcome::NotStarted(partner_is_gone()));
        }
    }

    /// Takes a request out of our books.
    fn forget(&mut self, id: u64) -> Option<Request> {
        let request = self.requests.remove(&id)?;
        self.dying.extend(self.worlds.release(request.world).map(Orphans::one));
        Some(request)
    }

    // --- templates ------------------------------------------------------------------

    fn build_if_new(&mut self, world: WorldId) -> Result<(), Outcome> {
        if let Some(socket) = self.worlds.start_builder(world, &self.setup, &self.nursery)? {
            self.watch(socket, Token::Builder(world), epoll::EventFlags::IN)
                .map_err(|why| Step::Template.outcome(Step::Template.says(why)))?;
        }
        Ok(())
    }

    fn builder_done(&mut self, world: WorldId) {
        if let Err(outcome) = self.worlds.builder_done(world) {
            self.fail_world(world, outcome);
        }
    }

    /// Every waiting run of a world that cannot be had fails; the next one tries again.
    fn fail_world(&mut self, world: WorldId, outcome: Outcome) {
        let failed: Vec<u64> =
            self.queue.iter().copied().filter(|id| self.requests.get(id).is_some_and(|r| r.world == world)).collect();
        for id in failed {
            self.turn_away(id, outcome.clone());
        }
        self.worlds.drop_failed(world);
    }

    // --- homes ----------------------------------------------------------------------

    /// Gives waiting requests to homes, first come first served among those whose world
    /// is there.
    fn dispatch(&mut self) {
        let mut at = 0;
        // Slots where a pair will start as soon as both homes are ready.
        let mut claimed = Vec::new();
        while let Some(&id) = self.queue.get(at) {
            at += 1;
            let Some(request) = self.requests.get(&id) else { continue };
            let world = request.world;
            if !self.worlds.is_built(world) {
                continue;
            }
            if let Some(partner) = request.partner {
                // Looked at once, at the first one's place; what is there of it then goes at once.
                if id < partner && self.dispatch_pair([id, partner], &mut claimed) {
                    at -= 1;
                }
                continue;
            }
            match self.pick(world, &claimed) {
                Pick::Launch(index) => {
                    at -= 1;
                    self.queue.remove(at);
                    self.launch(index, id);
                }
                Pick::Prepare(index) => {
                    at -= 1;
                    if let Some((order, template)) = self.worlds.order(world) {
                        self.homes[index].prepare(world, order, template);
                    }
                }
                Pick::Switch(index) => self.homes[index].switch(),
                Pick::Wait => {}
                Pick::AllBusy => break,
            }
        }
        // A world that is not wanted any more must not keep a home from being idle; homes
        // let go of it when they are switched.
        self.worlds.trim();
    }

    /// Starts both runs of a pair, if there is a slot for them whose homes are ready; else
    /// claims one and makes it ready. True: they are out of the queue.
    ///
    /// A pair has one slot, and two of its homes: so whoever has a slot can run a pair, and no
    /// number of pairs can wait for each other.
    fn dispatch_pair(&mut self, ids: [u64; 2], claimed: &mut Vec<usize>) -> bool {
        let worlds = ids.map(|id| self.requests.get(&id).map(|request| request.world));
        let [Some(first), Some(second)] = worlds else { return false };
        if self.requests.get(&ids[1]).is_none_or(|request| request.partner != Some(ids[0])) {
            // It came before its partner, who has chosen another.
            self.turn_away(ids[0], Outcome::NotStarted(partner_is_gone()));
            return true;
        }
        if !self.worlds.is_built(second) {
            return false;
        }
        let places = |slot: usize| slot * self.setup.homes_per_slot..(slot + 1) * self.setup.homes_per_slot;
        let best = (0..self.setup.slots)
            .filter(|slot| !claimed.contains(slot) && !self.is_busy(*slot))
            .flat_map(|slot| places(slot).flat_map(move |a| places(slot).map(move |b| [a, b])))
            .filter(|[a, b]| a != b)
            .min_by_key(|&[a, b]| {
                let (a, b) = (self.distance(a, first), self.distance(b, second));
                (a.max(b), a + b)
            });
        let Some(homes) = best else { return false };
        for (index, world) in homes.into_iter().zip([first, second]) {
            let home = &mut self.homes[index];
            match home.state {
                State::Idle => {
                    if let Some((order, template)) = self.worlds.order(world) {
                        home.prepare(world, order, template);
                    }
                }
                State::Ready if home.world != Some(world) => home.switch(),
                _ => {}
            }
        }
        let ready =
            |index: usize, world| self.homes[index].state == State::Ready && self.homes[index].world == Some(world);
        if !ready(homes[0], first) || !ready(homes[1], second) {
            claimed.push(self.homes[homes[0]].slot);
            return false;
        }
        for (index, id) in homes.into_iter().zip(ids) {
            // If the first could not be launched, the second has gone with it.
            let Some(place) = self.queue.iter().position(|&waiting| waiting == id) else { break };
            self.queue.remove(place);
            if !self.launch(index, id) {
                let [first, second] = ids;
                self.part(second, first);
                self.end(first, Cause::Caller);
            }
        }
        true
    }

    /// How far a home is from running something in a world: 0 is at once.
    fn distance(&self, index: usize, world: WorldId) -> u32 {
        let home = &self.homes[index];
        match home.state {
            State::Ready if home.world == Some(world) => u32::from(!home.is_prepared()),
            State::Idle => 2,
            State::Settling | State::Ending | State::Switching | State::Running(_) => 3,
            State::Ready => 4,
            State::Gone => 5,
        }
    }

    /// Whether something runs in a slot.
    fn is_busy(&self, slot: usize) -> bool {
        self.homes.iter().any(|home| home.slot == slot && matches!(home.state, State::Running(_)))
    }

    /// The best home for a world, in a slot that no pair has claimed.
    fn pick(&self, world: WorldId, claimed: &[usize]) -> Pick {
        let is_free = |slot: usize| !claimed.contains(&slot) && !self.is_busy(slot);
        let free: Vec<usize> = (0..self.homes.len()).filter(|&index| is_free(self.homes[index].slot)).collect();
        if free.is_empty() {
            return Pick::AllBusy;
        }
        let in_state = |state: State, same: bool| {
            free.iter().copied().filter(move |&index| {
                self.homes[index].state == state && (self.homes[index].world == Some(world)) == same
            })
        };
        let ready = in_state(State::Ready, true)
            .min_by_key(|&index| (!self.homes[index].is_prepared(), self.homes[index].last_used));
        if let Some(index) = ready.filter(|&index| self.homes[index].is_prepared()) {
            return Pick::Launch(index);
        }
        if let Some(&index) = free.iter().find(|&&index| self.homes[index].state == State::Idle) {
            return Pick::Prepare(index);
        }
        // One that still prepares: the launch waits in its socket.
        if let Some(index) = ready {
            return Pick::Launch(index);
        }
        if free.iter().any(|&index| matches!(self.homes[index].state, State::Ending | State::Switching)) {
            return Pick::Wait;
        }
        // One that is prepared for a world that no waiting run wants; else any.
        let wanted = |index: usize| {
            let its = self.homes[index].world;
            self.queue.iter().any(|id| self.requests.get(id).map(|r| r.world) == its)
        };
        match in_state(State::Ready, false).min_by_key(|&index| (wanted(index), self.homes[index].last_used)) {
            Some(index) if !wanted(index) => Pick::Switch(index),
            _ => Pick::Wait,
        }
    }

    /// Launches in a home that takes launches; false: it did not take this one, which is answered, or, if it is no
    /// pair's, in the queue again.
    fn launch(&mut self, index: usize, id: u64) -> bool {
        let now = calls::monotonic_raw_ns();
        let Some(request) = self.requests.get_mut(&id) else { return false };
        let home = &mut self.homes[index];
        let descriptors: Vec<i32> = request.descriptors.iter().map(|fd| fd.as_raw_fd()).collect();
        home.clear_out_of_memory(&self.setup.handover, index);
        let sent = home.launch(&request.launch, &request.strings, &descriptors);
        if let Err(Errno(libc::EPIPE | libc::ECONNRESET)) = sent
            && request.partner.is_none()
        {
            // The home has died, which we shall hear next. Nothing of the run has begun, and it is all still here: it
            // goes to another home, or to this one's successor.
            home.state = State::Ending;
            self.queue.push_front(id);
            return false;
        }
        // From here the pipes' ends are the tracee's alone.
        request.descriptors.clear();
        request.strings = Vec::new();
        match sent {
            Ok(()) => {
                home.state = State::Running(id);
                home.last_used = now;
                let limits = &request.limits;
                home.real_deadline = limits.real_time_ns.map(|limit| now.saturating_add(limit));
                home.cpu_deadline =
                    limits.cpu_time_ns.map(|limit| now.saturating_add((limit / self.cpus).max(SHORTEST_WAIT_NS)));
            }
            Err(errno) => {
                self.forget(id);
                let error = Step::Home.error(errno, "");
                self.answer_error(id, Outcome::SandboxError(error));
            }
        }
        sent.is_ok()
    }

    fn home_message(&mut self, index: usize) -> Result<(), Fatal> {
        loop {
            let mut bytes = [0u8; 512];
            let socket = self.homes[index].socket.as_raw_fd();
            let received = match calls::receive(socket, &mut bytes, libc::MSG_DONTWAIT) {
                Ok(received) => received,
                Err(Errno(libc::EAGAIN | libc::ENOMEM | libc::ENOBUFS)) => return Ok(()),
                Err(Errno(libc::ECONNRESET)) => return self.home_died(index),
                Err(errno) => return Err(format!("cannot read from a home: {}", crate::step::errno_text(errno))),
            };
            let mut descriptors = received.descriptors.into_iter().map(crate::sys::adopt);
            let report = || Report::read_from_bytes(bytes.get(1..received.length).unwrap_or(&[])).unwrap_or_default();
            match bytes.get(..received.length) {
                Some([]) | None => return self.home_died(index),
                Some([message::IDLE, ..]) => self.homes[index].idle(),
                Some([message::READY]) => {
                    let files = [(); backend::cgroup2::WATCHED].map(|()| descriptors.next().flatten());
                    if let [_, Some(events), ..] = &files {
                        // If it cannot be watched the kernel's own killing has to do.
                        let _ = self.watch(events.as_raw_fd(), Token::OutOfMemory(index), epoll::EventFlags::PRI);
                    }
                    self.homes[index].watch(files);
                }
                Some([message::SOCKETS, small]) => {
                    let files = [descriptors.next().flatten(), descriptors.next().flatten()];
                    match files {
                        [Some(protocols), Some(netlink)] => {
                            let sockets = Sockets::new(protocols, netlink, *small != 0);
                            self.homes[index].sockets = Some(sockets);
                        }
                        // We have no room for a descriptor. Whoever runs there would not be held.
                        _ => self.homes[index].kill_process(),
                    }
                }
                Some([message::DONE | message::ENDED, ..]) => self.pid1_ended(index, report()),
                Some([message::UNPREPARED, ..]) => {
                    if self.homes[index].state == State::Settling {
                        let error = self.failure(&report().failure_parts(), None);
                        return Err(format!("a home cannot be set up: {error}"));
                    }
                    match self.homes[index].state {
                        // The launch had been sent ahead.
                        State::Running(id) => {
                            self.homes[index].over(State::Ending);
                            self.finish(id, &Report { failure: report().failure, ..Report::default() });
                        }
                        _ => self.unprepared(index, &report()),
                    }
                }
                Some(_) => return Err("a home sent what is no message".to_owned()),
            }
        }
    }

    /// A pid1 is over, by its own word or its home's.
    fn pid1_ended(&mut self, index: usize, mut report: Report) {
        let home = &mut self.homes[index];
        match (home.state, report.end.launch) {
            (State::Running(id), launch) if launch == 0 || launch == home.launch_number() => {
                if report.start.number != home.launch_number() {
                    // It did not come as far as its exec.
                    report.start = Start::default();
                }
                // A home whose pid1 took no launch becomes idle; else it goes on.
                home.unexplained = 0;
                home.over(if launch == 0 { State::Ending } else { State::Ready });
                self.finish(id, &report);
            }
            // A pid1 that was killed between its word and its end: the home tells again what
            // has been told.
            (_, launch) if launch != 0 => {}
            (State::Switching, _) => {}
            // No run was in it: the preparation failed, or somebody ended pid1.
            _ => self.unprepared(index, &report),
        }
    }

    /// A home could not prepare its world: the first run that waits for it is told.
    fn unprepared(&mut self, index: usize, report: &Report) {
        let world = self.homes[index].world;
        self.homes[index].over(State::Ending);
        let mut report = *report;
        if report.failure.step == 0 {
            // Somebody ended pid1; but not again and again.
            self.homes[index].unexplained += 1;
            if self.homes[index].unexplained < MOST_ACCIDENTS {
                return;
            }
            report.failure = Failure::new(Step::Pid1, Errno(0));
        }
        self.homes[index].unexplained = 0;
        let waiting = self.queue.iter().copied().find(|id| self.requests.get(id).map(|request| request.world) == world);
        let Some(id) = waiting else { return };
        let error = self.failure(&report.failure_parts(), world);
        self.turn_away(id, Step::from_number(report.failure.step).outcome(error));
    }

    /// A home's process is gone. Its runs are gone as well: pid1 dies with its parent.
    fn home_died(&mut self, index: usize) -> Result<(), Fatal> {
        let home = &mut self.homes[index];
        let status = home.reap();
        let how = match process::decode_status(status) {
            Ok(crate::home::ZYGOTE_LOST) => "lost its zygote".to_owned(),
            Ok(code) => format!("exited with {code}"),
            Err(signal) => format!("was killed by signal {signal}"),
        };
        if home.state == State::Settling {
            // Somebody may have killed it; but not again and again. What it cannot do itself it
            // has told.
            match self.unsettled.get_mut(index) {
                Some(times) if *times < MOST_ACCIDENTS && process::decode_status(status).is_err() => *times += 1,
                _ => return Err(format!("a home {how} before it could take runs")),
            }
        } else if let Some(times) = self.unsettled.get_mut(index) {
            *times = 0;
        }
        let (running, memory) = (home.state, home.memory.clone());
        let mut orphans = Orphans::of(memory.shared);
        if let State::Running(id) = running {
            let limit = self.requests.get(&id).and_then(|request| request.limits.memory);
            let report = self.report_for_the_dead(index, &mut orphans, limit);
            let ended = self.requests.get(&id).is_some_and(|request| request.ended.is_some());
            if ended || report.end.oom_kills > 0 {
                self.finish(id, &report);
            } else {
                self.forget(id);
                self.answer_error(id, Outcome::SandboxError(Step::Home.says(format!("it {how}"))));
            }
        }
        let memory = if orphans.are_gone() {
            Some(memory)
        } else {
            // Who still lives there still writes there.
            self.dying.push(orphans);
            None
        };
        let home = &mut self.homes[index];
        home.over(State::Gone);
        // It has been closed at the other end, and would say so for as long as it is watched.
        let _ = epoll::delete(&self.epoll, &home.socket);
        self.start_again(Gone { index, memory, tries: 0, at_ns: 0 })
    }

    fn start_again(&mut self, gone: Gone) -> Result<(), Fatal> {
        let memory = gone.memory.clone().map_or_else(new_memory, Ok);
        let started = memory.and_then(|memory| {
            memory.shared.standing.forget();
            // What the dead home had prepared is gone.
            memory.shared.prepared.store(0, SeqCst);
            self.start_home(gone.index, memory, true)
        });
        match started {
            Err(_) if gone.tries < MOST_STARTS => {
                let wait_ns = SHORTEST_WAIT_NS << gone.tries.min(10);
                let at_ns = calls::monotonic_raw_ns().saturating_add(wait_ns);
                self.gone.push(Gone { tries: gone.tries + 1, at_ns, ..gone });
                Ok(())
            }
            done => done,
        }
    }

    /// Starts the homes again whose time has come.
    fn start_the_gone(&mut self) -> Result<(), Fatal> {
        if self.gone.is_empty() {
            return Ok(());
        }
        let now = calls::monotonic_raw_ns();
        let all = std::mem::take(&mut self.gone);
        let (due, later): (Vec<Gone>, _) = all.into_iter().partition(|gone| gone.at_ns <= now);
        self.gone = later;
        due.into_iter().try_for_each(|gone| self.start_again(gone))
    }

    /// What a home would have told of its run. The kernel chooses a home, whose memory pid1
    /// shares, when its runs' cgroup is out of memory and nobody there has more than it.
    fn report_for_the_dead(&mut self, index: usize, orphans: &mut Orphans, limit: Option<u64>) -> Report {
        // pid1 dies with its home, and the program with pid1; the figures are whole when
        // pid1 can be waited for.
        for _ in 0..50 {
            if orphans.are_gone() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // The news of it may not have been read yet.
        let _ = self.homes[index].out_of_memory(&self.setup.handover, index, limit);
        let home = &self.homes[index];
        let start = home.start_of_run();
        let mut failure = home.shared.failure.get();
        let mut end = End {
            pid1_died: 1,
            status: -1,
            pid1_status: libc::SIGKILL,
            launch: home.launch_number(),
            end_ns: calls::monotonic_raw_ns(),
            peak_processes: UNLIMITED,
            ..End::default()
        };
        match (&self.setup.handover, start.exec_ns) {
            (Handover::Hybrid { .. }, 1..) => {
                if let Some(backend) = backend::Backend::for_home(&self.setup.handover, index) {
                    backend.measure(home.shared, &start, Ok(process::Waited::default()), &mut end);
                }
            }
            (Handover::Cgroup2 { .. }, 1..) => {
                if let Err(errno) = home.measure(&start, &mut end) {
                    failure = Failure::new(Step::Counters, errno);
                }
                end.oom_kills = end.oom_kills.max(u64::from(home.saw_oom_kill()));
            }
            (handover, exec) => {
                end.oom_kills = u64::from(home.saw_oom_kill());
                end.own_limit_reached = end.oom_kills;
                if exec != 0 {
                    end.cpu_ns = home.cpu_ns(handover, index, false).saturating_sub(start.cpu_ns);
                }
            }
        }
        // All else there is the dead home's own word, which did not come to an end.
        let failure = if failure.step == Step::Counters as u32 { failure } else { Failure::default() };
        Report { start, end, failure }
    }

    // --- limits ---------------------------------------------------------------------

    fn next_deadline(&self) -> Option<u64> {
        self.homes
            .iter()
            .filter(|home| matches!(home.state, State::Running(_)))
            .flat_map(|home| [home.real_deadline, home.cpu_deadline, home.sockets.as_ref().map(|its| its.look_at_ns)])
            .chain(
                self.homes
                    .iter()
                    .map(|home| home.kill_again.then(|| calls::monotonic_raw_ns().saturating_add(SHORTEST_WAIT_NS))),
            )
            .chain([(!self.dying.is_empty()).then(|| calls::monotonic_raw_ns().saturating_add(LONGEST_TICK_NS))])
            .flatten()
            .chain(self.gone.iter().map(|gone| gone.at_ns))
            .min()
    }

    /// Ends runs whose sockets hold, or could hold, more memory than the limit on it.
    fn look_at_sockets(&mut self) {
        let held = !matches!(self.setup.handover, Handover::Rlimit);
        for index in 0..self.homes.len() {
            let home = &mut self.homes[index];
            let (State::Running(id), Some(sockets)) = (home.state, &mut home.sockets) else { continue };
            let limit = self.requests.get(&id).and_then(|request| request.limits.memory).filter(|_| held);
            let Some(limit) = limit else {
                home.sockets = None;
                continue;
            };
            let now = calls::monotonic_raw_ns();
            if now >= sockets.look_at_ns && sockets.look(now) > limit {
                self.end(id, Cause::Memory);
            }
        }
    }

    fn look_at_clocks(&mut self) {
        for index in 0..self.homes.len() {
            if self.homes[index].kill_again {
                self.homes[index].kill_pid1();
            }
            let home = &self.homes[index];
            let State::Running(id) = home.state else { continue };
            let (real, cpu) = (home.real_deadline, home.cpu_deadline);
            if real.is_none() && cpu.is_none() {
                continue;
            }
            let now = calls::monotonic_raw_ns();
            let Some(limits) = self.requests.get(&id).map(|request| request.limits) else { continue };
            let start = home.start_of_run();
            if let (Some(deadline), Some(limit)) = (real, limits.real_time_ns)
                && now >= deadline
            {
                // The clock runs from the exec, which was after the launch.
                let reached = match start.exec_ns {
                    0 => home.last_used.saturating_add(limit).saturating_add(EXEC_GRACE_NS),
                    exec => exec.saturating_add(limit),
                };
                if now >= reached {
                    self.end(id, Cause::RealTime);
                    continue;
                }
                let again = if start.exec_ns == 0 { now + SHORTEST_WAIT_NS } else { reached };
                self.homes[index].real_deadline = Some(again);
            }
            if let (Some(deadline), Some(limit)) = (cpu, limits.cpu_time_ns)
                && now >= deadline
            {
                let home = &self.homes[index];
                let used = |exactly| match start.exec_ns {
                    0 => 0,
                    _ => home.cpu_ns(&self.setup.handover, index, exactly).saturating_sub(start.cpu_ns),
                };
                let mut used_ns = used(false);
                // What is not yet counted may be what reaches it.
                if used_ns < limit && used_ns.saturating_add(self.cpus * LONGEST_TICK_NS) >= limit {
                    used_ns = used(true);
                }
                if used_ns >= limit {
                    self.end(id, Cause::CpuTime);
                    continue;
                }
                // Looking at many processes takes time, of which most is to be left for other runs.
                let took = calls::monotonic_raw_ns().saturating_sub(now);
                let wait = ((limit - used_ns) / self.cpus).max(SHORTEST_WAIT_NS).max(took.saturating_mul(10));
                self.homes[index].cpu_deadline = Some(now + wait);
            }
        }
    }

    /// The kernel has found a run's cgroup out of memory.
    fn out_of_memory(&mut self, index: usize) {
        let limit = match self.homes[index].state {
            State::Running(id) => self.requests.get(&id).and_then(|request| request.limits.memory),
            _ => None,
        };
        let happened = self.homes[index].out_of_memory(&self.setup.handover, index, limit);
        if let State::Running(id) = self.homes[index].state
            && happened
            && limit.is_some()
        {
            self.end(id, Cause::Memory);
        }
    }

    /// Ends a run for a reason; its result comes when it is gone. Unknown ids are of runs
    /// that were over before the word came.
    fn end(&mut self, id: u64, cause: Cause) {
        let Some(request) = self.requests.get_mut(&id) else { return };
        if self.queue.contains(&id) {
            self.turn_away(id, cause.outcome());
            return;
        }
        if request.ended.is_some() && cause != Cause::Cancelled {
            return;
        }
        if let Some(home) = self.homes.iter_mut().find(|home| home.state == State::Running(id)) {
            // A killed pid1 does not wait for its children, so nobody sums up what they used.
            let used = match self.setup.handover {
                Handover::Rlimit if home.start_of_run().exec_ns != 0 => home.cpu_ns(&self.setup.handover, 0, false),
                _ => 0,
            };
            home.kill_pid1();
            request.ended = Some((cause, calls::monotonic_raw_ns(), used));
            home.real_deadline = None;
            home.cpu_deadline = None;
        }
    }

    // --- results --------------------------------------------------------------------

    fn failure(
        &self,
        (step, errno, object, interpreter): &(Step, Errno, u32, bool),
        world: Option<WorldId>,
    ) -> RunError {
        let object = match step {
            Step::Mount | Step::MountPoint => world
                .and_then(|world| self.worlds.mount(world, *object as usize))
                .map(|mount| path::shown(mount.path()))
                .unwrap_or_default(),
            Step::Rlimit => {
                millibox_wire::RLIMITS.get(*object as usize).map(|name| format!("RLIMIT_{name}")).unwrap_or_default()
            }
            Step::Exec if *interpreter => {
                "the program: it is there, but the interpreter or loader that it names is not".to_owned()
            }
            Step::Exec => "the program".to_owned(),
            _ => String::new(),
        };
        step.error(*errno, &object)
    }

    fn finish(&mut self, id: u64, report: &Report) {
        let Some(request) = self.forget(id) else { return };
        let end = &report.end;
        let started = report.start.exec_ns;
        let mut figures = Figures {
            real_time_ns: if started == 0 { 0 } else { end.end_ns.saturating_sub(started) },
            peak_memory_bytes: end.peak_memory,
            peak_processes: (end.peak_processes != UNLIMITED).then_some(end.peak_processes as u32),
            ..Figures::default()
        };
        let mut cpu_ns = end.cpu_ns;
        if let Some((_, _, used)) = request.ended {
            cpu_ns = cpu_ns.max(used);
        }
        if started != 0 {
            // The total is the cgroup's, to the nanosecond; its split is what the kernel
            // says of the processes that were waited for.
            let split = u128::from(end.user_us) + u128::from(end.system_us);
            figures.cpu_user_ns = match split {
                0 => cpu_ns / 2,
                split => (u128::from(cpu_ns) * u128::from(end.user_us) / split) as u64,
            };
            figures.cpu_system_ns = cpu_ns - figures.cpu_user_ns;
        }
        let (exit_code, signal) = match (end.status, end.pid1_died) {
            (_, 1) => (None, (started != 0).then_some(libc::SIGKILL)),
            (status, _) => match process::decode_status(status) {
                Ok(code) => (Some(code), None),
                Err(signal) => (None, Some(signal)),
            },
        };
        if let Some((_, killed_ns, _)) = request.ended
            && end.pid1_died == 1
            && started != 0
        {
            // Until pid1 could be waited for its namespaces had to be taken apart; the
            // program was dead before.
            figures.real_time_ns = killed_ns.saturating_sub(started);
        }
        let outcome = self.outcome(&request, report, &figures, exit_code, signal);
        let not_started = matches!(outcome, Outcome::NotStarted(_) | Outcome::SandboxError(_));
        let signal = if outcome == Outcome::Killed { Some(libc::SIGKILL) } else { signal };
        if matches!(outcome, Outcome::NotStarted(_)) {
            figures = Figures::default();
        }
        // Else the exit code is the tracee's own: it saw in time that it was not to begin, or could not.
        let began = started != 0 && report.failure.step == 0 && !not_started;
        let result = RunResult {
            outcome,
            exit_code: exit_code.filter(|_| began),
            signal: signal.filter(|_| !not_started),
            ended_ns: began.then(|| started.saturating_add(figures.real_time_ns)),
            figures,
            backend: self.backend(),
        };
        self.answer(id, &result);
    }

    fn outcome(
        &self,
        request: &Request,
        report: &Report,
        figures: &Figures,
        exit_code: Option<i32>,
        signal: Option<i32>,
    ) -> Outcome {
        let limits = &request.limits;
        let end = &report.end;
        let cause = request.ended.map(|(cause, ..)| cause);
        if cause == Some(Cause::Cancelled) {
            return Outcome::Cancelled;
        }
        // Ended by us, not by itself before we could: pid1 died, or the tracee saw in time
        // that it was not to begin.
        let ended = end.pid1_died == 1 || report.start.exec_ns == 0;
        if cause == Some(Cause::Caller) && ended {
            return Outcome::Killed;
        }
        // The kernel's own account of the cgroup, and of sockets in none, says "memory", and nothing else.
        let above = matches!(self.setup.handover, Handover::Cgroup2 { .. })
            && limits.memory.is_some_and(|limit| backend::cgroup2::is_above(figures.peak_memory_bytes, limit));
        if cause == Some(Cause::Memory) || above {
            return Outcome::MemoryLimit;
        }
        if end.oom_kills > 0 {
            // The count has the victims of a parent's limit and of the whole host in it.
            let peak = figures.peak_memory_bytes;
            let its_own = limits.memory.is_some_and(|limit| match end.own_limit_reached {
                UNLIMITED => peak.saturating_add(PEAK_SLACK) >= limit,
                times => times > 0,
            });
            return if its_own {
                Outcome::MemoryLimit
            } else {
                Outcome::SandboxError(Step::Home.says(
                    "the memory of the host, or of the cgroup around the run, ran out, and the kernel killed for it",
                ))
            };
        }
        if let Some(cause) = cause.filter(|_| ended) {
            return cause.outcome();
        }
        if report.failure.step != 0 {
            let step = Step::from_number(report.failure.step);
            let errno = Errno(report.failure.errno);
            // EBUSY: what is in the cgroup already is more than the limit. ENOMEM: the
            // limit refused memory that a step needed.
            let refused = matches!(errno, Errno(libc::ENOMEM) | Errno(libc::EBUSY)) && step == Step::MemoryLimit
                || errno == Errno(libc::ENOMEM);
            if limits.memory.is_some() && refused {
                return Outcome::MemoryLimit;
            }
            let error = self.failure(&report.failure_parts(), Some(request.world));
            return step.outcome(error);
        }
        if end.pid1_died == 1 {
            let how = match process::decode_status(end.pid1_status) {
                Ok(code) => format!("it exited with {code}"),
                Err(libc::SIGSYS) => format!("it was {}", crate::confine::killed_by(libc::SIGSYS)),
                Err(signal) => format!("it was killed by signal {signal} from outside"),
            };
            return Outcome::SandboxError(Step::Pid1.says(how));
        }
        if limits.cpu_time_ns.is_some_and(|limit| figures.cpu_user_ns + figures.cpu_system_ns > limit) {
            return Outcome::CpuTimeLimit;
        }
        if limits.real_time_ns.is_some_and(|limit| figures.real_time_ns > limit) {
            return Outcome::RealTimeLimit;
        }
        match (exit_code, signal) {
            (Some(code), _) => Outcome::Exited(code),
            (None, Some(signal)) => Outcome::Signaled(signal),
            (None, None) => Outcome::SandboxError(Step::Pid1.says("it reported no status")),
        }
    }
}

fn partner_is_gone() -> RunError {
    Step::Request.says("the run that it was to start together with is not started")
}

enum Pick {
    Launch(usize),
    Prepare(usize),
    Switch(usize),
    Wait,
    AllBusy,
}

impl Report {
    fn failure_parts(&self) -> (Step, Errno, u32, bool) {
        let failure = &self.failure;
        (Step::from_number(failure.step), Errno(failure.errno), failure.object, failure.interpreter_missing != 0)
    }
}

/// Reads a body that came in a memfd. It must be sealed, so that reading cannot wait
/// and the bytes cannot change meanwhile (memfd_create(2)).
fn read_memfd(memfd: &OwnedFd) -> Result<Vec<u8>, String> {
    let seals = rustix::fs::fcntl_get_seals(memfd).map_err(|_| "the frame's body is not in a memfd".to_owned())?;
    if !seals.contains(SealFlags::WRITE | SealFlags::SHRINK) {
        return Err("the frame's memfd is not sealed against writing and shrinking".to_owned());
    }
    let size = rustix::fs::fstat(memfd).map_err(|errno| errno.to_string())?.st_size as usize;
    if size > MAX_BODY {
        return Err(format!("the request has {size} bytes, at most {MAX_BODY} are taken"));
    }
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while filled < size {
        match rustix::io::pread(memfd.as_fd(), &mut bytes[filled..], filled as u64) {
            Ok(0) => return Err("the frame's memfd ended early".to_owned()),
            Ok(read) => filled += read,
            Err(errno) => return Err(errno.to_string()),
        }
    }
    Ok(bytes)
}

/// Checks a run's numbers and puts them in the form that the tracee reads.
fn check(run: &Run, descriptors: &[OwnedFd]) -> Result<Launch, RunError> {
    let says = |why: String| Err(Step::Request.says(why));
    if descriptors.len() != run.descriptors.count() || descriptors.len() > MAX_DESCRIPTORS {
        return says(format!("{} descriptors were announced and {} came", run.descriptors.count(), descriptors.len()));
    }
    let strings = 1 + run.paths as usize + run.arguments as usize + run.environment as usize;
    if strings > MAX_STRINGS || run.strings.len() > STRINGS {
        return Err(Step::Arguments.error(Errno(libc::E2BIG), ""));
    }
    if run.strings.iter().filter(|&&byte| byte == 0).count() != strings || run.strings.last() != Some(&0) {
        return says("the number of strings is not the one announced".to_owned());
    }
    if (run.paths == 0) != run.descriptors.program {
        return says("a program is given by path or by descriptor, not both".to_owned());
    }
    if run.cpus.len() > CPU_WORDS {
        return says(format!("CPU numbers end at {}", CPU_WORDS * 64 - 1));
    }
    let limits = &run.limits;
    if let Some(bandwidth) = limits.cpu_bandwidth
        && (bandwidth.max_us < 1000 || !(1000..=1_000_000).contains(&bandwidth.period_us))
    {
        return Err(Step::CpuBandwidth.error(Errno(libc::EINVAL), ""));
    }
    let mut launch = Launch {
        strings_length: run.strings.len() as u32,
        paths: run.paths,
        arguments: run.arguments,
        environment: run.environment,
        descriptors: u32::from(run.descriptors.stdin)
            | u32::from(run.descriptors.stdout) << 1
            | u32::from(run.descriptors.stderr) << 2
            | u32::from(run.descriptors.program) << 3,
        number: 0,
        rlimit_mask: 0,
        rlimits: [UNLIMITED; 16],
        cpu_words: run.cpus.len() as u32,
        _pad: 0,
        cpus: [0; CPU_WORDS],
        memory: limits.memory.unwrap_or(UNLIMITED),
        // A memory limit that swap could stretch would be none.
        swap: limits.swap.or(limits.memory.map(|_| 0)).unwrap_or(UNLIMITED),
        processes: limits.processes.map_or(UNLIMITED, u64::from),
        quota: limits.cpu_bandwidth.map_or(UNLIMITED, |bandwidth| bandwidth.max_us),
        period: limits.cpu_bandwidth.map_or(0, |bandwidth| bandwidth.period_us),
        cpu_time_ns: limits.cpu_time_ns.unwrap_or(UNLIMITED),
    };
    for &(number, value) in &run.rlimits {
        let Some(place) = launch.rlimits.get_mut(number as usize) else {
            return says(format!("there is no resource limit {number}"));
        };
        *place = value;
        launch.rlimit_mask |= 1 << number;
    }
    for (place, word) in launch.cpus.iter_mut().zip(&run.cpus) {
        *place = *word;
    }
    Ok(launch)
}

fn new_memory() -> Result<Memory, Fatal> {
    Memory::new().map_err(|error| format!("cannot make memory to share with a home: {error}"))
}

/// Processes that are ours to wait for since their parent has died: a zygote, and when that is
/// gone its pid1; or a builder that was given up.
struct Orphans {
    first: i32,
    /// Where the zygote's pid1 stands, until that is looked up.
    shared: Option<&'static Shared>,
    pid1: i32,
}

impl Orphans {
    /// A child of our own that has been killed.
    fn one(child: i32) -> Orphans {
        Orphans { first: child, shared: None, pid1: 0 }
    }

    /// What a dead home has left. It dies of its home's death; ended here it dies sooner.
    fn of(shared: &'static Shared) -> Orphans {
        let zygote = shared.zygote.swap(0, SeqCst);
        if zygote != 0 {
            // Ours by now, and not waited for, so the number is still its own.
            let _ = calls::kill(zygote, libc::SIGKILL);
        }
        Orphans { first: zygote, shared: Some(shared), pid1: 0 }
    }

    /// Waits for them without waiting long; whether they are gone.
    fn are_gone(&mut self) -> bool {
        let alive = |pid: i32| {
            pid != 0 && matches!(process::wait(pid, libc::__WALL | libc::WNOHANG), Ok(none) if none.pid == 0)
        };
        if alive(self.first) {
            return false;
        }
        self.first = 0;
        // Only now, since the zygote may have been making it.
        if let Some(shared) = self.shared.take() {
            self.pid1 = shared.pid1.swap(0, SeqCst);
        }
        if alive(self.pid1) {
            return false;
        }
        self.pid1 = 0;
        true
    }
}
