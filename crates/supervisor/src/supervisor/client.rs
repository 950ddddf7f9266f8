//! What the client says, what is taken in of it, and what it is told.

use super::homes::Orphans;
use super::limits::Cause;
use super::{Fatal, Request, Setbacks, Supervisor, Token, fatal};
use crate::backend::Handover;
use crate::launch::{CPU_WORDS, Launch, MAX_STRINGS, STRINGS, UNLIMITED};
use crate::step::{self, Step};
use crate::sys::{Errno, calls};
use millibox_wire::frame::{Header, Kind, MAX_BODY, MAX_DESCRIPTORS};
use millibox_wire::{Backend, Figures, Hello, Kill, KillReason, Outcome, Run, RunError, RunResult, decode, encode};
use rustix::event::epoll;
use rustix::fs::SealFlags;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

impl Supervisor {
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
            file_locks: self.locks.is_some(),
        };
        self.send(Kind::Hello, 0, &encode(&hello))
    }

    fn send(&mut self, kind: Kind, id: u64, body: &[u8]) -> Result<(), Fatal> {
        let mut frame = Header { kind, in_memfd: false, id }.encode().to_vec();
        frame.extend_from_slice(body);
        self.unsent.push_back(frame);
        if self.unsent.len() == 1 { self.send_unsent() } else { Ok(()) }
    }

    pub(super) fn send_unsent(&mut self) -> Result<(), Fatal> {
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

    pub(super) fn answer(&mut self, id: u64, result: &RunResult) {
        // A client that cannot be told anything would wait for ever.
        if let Err(fatal) = self.send(Kind::Result, id, &encode(result)) {
            self.speechless.get_or_insert(fatal);
        }
    }

    pub(super) fn answer_error(&mut self, id: u64, outcome: Outcome) {
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

    pub(super) fn backend(&self) -> Backend {
        match self.setup.handover {
            Handover::Cgroup2 { .. } => Backend::Cgroup2,
            Handover::Hybrid { .. } => Backend::Hybrid,
            Handover::Rlimit => Backend::Rlimit,
        }
    }

    /// Reads all frames that are there. False: the client has hung up.
    pub(super) fn client_frames(&mut self) -> Result<bool, Fatal> {
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
        if launch.cpu_words == 0
            && let Some(mask) = self.setup.cpus.of_programs()
        {
            launch.cpu_words = mask.len() as u32;
            launch.cpus[..mask.len()].copy_from_slice(mask);
        }
        if run.limits.cpu_time_ns.is_some() && !self.sees_runs {
            let error = Step::Request.says(
                "a CPU-time limit cannot be kept here: without cgroups it is kept by looking at the processes, and \
                 /proc does not show them (it is mounted with hidepid, or belongs to another PID namespace): mount \
                 /proc without that, or start where there are cgroups",
            );
            return self.answer_error(id, Outcome::NotStarted(error));
        }
        if run.limits.swap.is_some() && matches!(self.setup.handover, Handover::Rlimit) {
            let error =
                Step::SwapLimit.says("without cgroups no process's swap can be limited: leave the swap limit out");
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
                cpus: self
                    .setup
                    .cpus
                    .at_once((!run.cpus.is_empty()).then_some(&run.cpus), self.worlds.may_choose_cpus(world)),
                limits: run.limits,
                partner: run.partner,
                begun_partner: None,
                setbacks: Setbacks::default(),
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
    pub(super) fn turn_away(&mut self, id: u64, outcome: Outcome) {
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
    pub(super) fn part(&mut self, partner: u64, gone: u64) {
        if self.requests.get(&partner).is_some_and(|request| request.partner == Some(gone)) {
            self.turn_away(partner, Outcome::NotStarted(partner_is_gone()));
        }
    }

    /// Takes a request out of our books.
    pub(super) fn forget(&mut self, id: u64) -> Option<Request> {
        let request = self.requests.remove(&id)?;
        self.dying.extend(self.worlds.release(request.world).map(Orphans::one));
        Some(request)
    }
}

pub(super) fn partner_is_gone() -> RunError {
    Step::Request.says("the run that it was to start together with is not started")
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
        let (announced, came) = (run.descriptors.count(), descriptors.len());
        // The kernel leaves out those for which we have no room.
        let remedy = if came < announced { step::MORE_FILES } else { "" };
        return says(format!("{announced} descriptors were announced and {came} came{remedy}"));
    }
    let strings = 1 + run.paths as usize + run.arguments as usize + run.environment as usize;
    if strings > MAX_STRINGS || run.strings.len() > STRINGS {
        let remedy = format!(
            "; a run takes {MAX_STRINGS} arguments, variables and paths, and {STRINGS} bytes of them, each with its NUL: \
             this one has {strings}, and {} bytes",
            run.strings.len()
        );
        return Err(Step::Arguments.error_with(Errno(libc::E2BIG), "", &remedy));
    }
    if run.strings.iter().filter(|&&byte| byte == 0).count() != strings || run.strings.last() != Some(&0) {
        return says("the number of strings is not the one announced".to_owned());
    }
    if (run.paths == 0) != run.descriptors.program {
        return says("a program is given by path or by descriptor, not both".to_owned());
    }
    if run.cpus.len() > CPU_WORDS {
        return says(format!("CPU numbers end at {}", millibox_wire::MOST_CPUS - 1));
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
        cpus_named: u32::from(!run.cpus.is_empty()),
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
