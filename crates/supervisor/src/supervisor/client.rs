//! The messages of the client, and the answers to them.

use super::deaths::Unreaped;
use super::limits::Cause;
use super::{Request, Setbacks, Supervisor, Token, WorldId};
use crate::backend::Handover;
use crate::launch::{CPU_WORDS, Launch, MAX_STRINGS, STRINGS, UNLIMITED};
use crate::messages::Fatal;
use crate::messages::failed;
use crate::rlimits::default_nofile;
use crate::sys::{Errno, calls};
use millibox_wire::SupervisorStep;
use millibox_wire::frame::{Header, Kind, MAX_BODY};
use millibox_wire::{
    Backend, DEFAULT_PROCESS_LIMIT, DecodeError, Figures, FrameProblem, Hello, Hint, Kill,
    KillReason, Outcome, Run, RunError, RunResult, Step, decode, encode,
};
use rustix::event::epoll;
use rustix::fs::SealFlags;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

impl Supervisor {
    /// Sends the greeting, after which the client can send requests.
    pub fn hello(&mut self, backend: Backend) -> Result<(), Fatal> {
        let slots = self.setup.slots as u32;
        let hello = Hello {
            pid: calls::getpid() as u32,
            backend,
            slots,
            // This is enough that no slot waits for the client, and few enough that waiting runs
            // fill neither the descriptor table nor the socket's buffer.
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

    /// The socket of the client.
    pub fn client_socket(&self) -> &OwnedFd {
        &self.setup.socket
    }

    fn send(&mut self, kind: Kind, id: u64, body: &[u8]) -> Result<(), Fatal> {
        let mut frame = Header {
            kind,
            in_memfd: false,
            id,
        }
        .encode()
        .to_vec();
        frame.extend_from_slice(body);
        self.unsent.push_back(frame);
        if self.unsent.len() == 1 {
            self.send_unsent()
        } else {
            Ok(())
        }
    }

    pub(super) fn send_unsent(&mut self) -> Result<(), Fatal> {
        while let Some(frame) = self.unsent.front() {
            match calls::send_descriptors(self.setup.socket.as_raw_fd(), frame, &[]) {
                Ok(()) => {
                    self.unsent.pop_front();
                }
                // If memory is short, the socket stays writable, and the next iteration of the loop
                // retries.
                Err(Errno(libc::EAGAIN | libc::ENOMEM | libc::ENOBUFS)) => break,
                // The client has ended; the next read reports that.
                Err(Errno(libc::EPIPE | libc::ECONNRESET)) => self.unsent.clear(),
                Err(errno) => return Err(failed(SupervisorStep::AnswerClient)(errno)),
            }
        }
        if self.watches_for_room == self.unsent.is_empty() {
            self.watches_for_room = !self.unsent.is_empty();
            let mut events = epoll::EventFlags::IN;
            if !self.unsent.is_empty() {
                events |= epoll::EventFlags::OUT;
            }
            epoll::modify(
                &self.epoll,
                &self.setup.socket,
                Token::Client.data(),
                events,
            )
            .map_err(failed(SupervisorStep::Watch))?;
        }
        Ok(())
    }

    pub(super) fn answer(&mut self, id: u64, result: &RunResult) {
        // A client that cannot receive an answer would wait forever.
        if let Err(fatal) = self.send(Kind::Result, id, &encode(result)) {
            self.send_failure.get_or_insert(fatal);
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
            start: Default::default(),
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

    /// Reads all available frames. Returns false if the client has closed the connection.
    pub(super) fn read_client_frames(&mut self) -> Result<bool, Fatal> {
        loop {
            let mut buffer = std::mem::take(&mut self.buffer);
            let received = calls::receive(
                self.setup.socket.as_raw_fd(),
                &mut buffer,
                libc::MSG_DONTWAIT | libc::MSG_TRUNC,
            );
            let answer = match received {
                Ok(received) if received.length == 0 => Ok(false),
                Ok(received) => {
                    let descriptors: Vec<OwnedFd> = received
                        .descriptors
                        .into_iter()
                        .filter_map(crate::sys::adopt)
                        .collect();
                    match buffer.get(..received.length) {
                        Some(frame) => self.handle_client_frame(frame, descriptors),
                        None => {
                            let (bytes, max_bytes) = (received.length as u64, buffer.len() as u64);
                            self.reject(None, FrameProblem::TooLong { bytes, max_bytes });
                        }
                    }
                    Ok(true)
                }
                Err(Errno(libc::EAGAIN | libc::ENOMEM | libc::ENOBUFS)) => {
                    self.buffer = buffer;
                    return Ok(true);
                }
                // The client died with unread answers.
                Err(Errno(libc::ECONNRESET)) => Ok(false),
                Err(errno) => Err(failed(SupervisorStep::ReadClient)(errno)),
            };
            self.buffer = buffer;
            match answer {
                Ok(true) => {}
                other => return other,
            }
        }
    }

    fn reject(&mut self, id: Option<u64>, problem: FrameProblem) {
        let error = RunError::new(Step::Request).with_hint(Hint::Frame(problem));
        // Without an id the error belongs to no run. No run has the id 0.
        self.answer_error(id.unwrap_or(0), Outcome::failed(error));
    }

    /// Rejects all runs that a frame requests.
    fn reject_frame(&mut self, header: Header, problem: &FrameProblem) {
        self.reject(Some(header.id), problem.clone());
        if header.kind == Kind::Pair {
            self.reject(Some(header.id.wrapping_add(1)), problem.clone());
        }
    }

    fn handle_client_frame(&mut self, frame: &[u8], mut descriptors: Vec<OwnedFd>) {
        let (header, inline) = match Header::decode(frame) {
            Ok(parts) => parts,
            Err((id, error)) => return self.reject(id, malformed(&error)),
        };
        let outside;
        let body = if header.in_memfd {
            if descriptors.is_empty() {
                return self.reject_frame(header, &FrameProblem::MemfdMissing);
            }
            match read_memfd(&descriptors.remove(0)) {
                Ok(bytes) => outside = bytes,
                Err(why) => return self.reject_frame(header, &why),
            }
            &outside[..]
        } else {
            inline
        };
        match header.kind {
            Kind::Run => match decode::<Run>(body) {
                Ok(run) => self.handle_run(header.id, run, descriptors),
                Err(error) => self.reject_frame(header, &malformed(&error)),
            },
            Kind::Pair => match decode::<[Run; 2]>(body) {
                Ok(runs) => self.handle_pair(header.id, runs, descriptors),
                Err(error) => self.reject_frame(header, &malformed(&error)),
            },
            Kind::Kill => match decode::<Kill>(body) {
                Ok(Kill {
                    reason: KillReason::Caller,
                }) => self.end(header.id, Cause::Caller),
                Ok(Kill {
                    reason: KillReason::OutputLimit,
                }) => self.end(header.id, Cause::Output),
                Err(error) => self.reject(Some(0), malformed(&error)),
            },
            Kind::Cancel => self.end(header.id, Cause::Cancelled),
            Kind::Hello | Kind::Result | Kind::Failure => {
                self.reject(Some(0), FrameProblem::WrongDirection);
            }
        }
    }

    fn handle_run(&mut self, id: u64, run: Run, descriptors: Vec<OwnedFd>) {
        match self.new_request(id, run, descriptors) {
            Ok(request) => {
                let world = request.world;
                self.enqueue(id, request);
                self.build_or_fail(world);
            }
            Err(error) => self.answer_error(id, Outcome::NotStarted(error)),
        }
    }

    /// Accepts two runs that start together, or rejects both.
    fn handle_pair(&mut self, id: u64, [first, second]: [Run; 2], mut descriptors: Vec<OwnedFd>) {
        let ids = [id, id.wrapping_add(1)];
        let refused = |hint| Outcome::NotStarted(RunError::new(Step::Request).with_hint(hint));
        if self.setup.runners_per_slot < 2 {
            for id in ids {
                self.answer_error(id, refused(Hint::PairNeedsTwoRunners));
            }
            return;
        }
        let of_first = first.descriptors.count().min(descriptors.len());
        let of_second = descriptors.split_off(of_first);
        let requests = [
            self.new_request(ids[0], first, descriptors),
            self.new_request(ids[1], second, of_second),
        ];
        match requests {
            [Ok(first), Ok(second)] => {
                let worlds = [first.world, second.world];
                for (id, partner, request) in [(ids[0], ids[1], first), (ids[1], ids[0], second)] {
                    let partner = Some(partner);
                    self.enqueue(id, Request { partner, ..request });
                }
                for world in worlds {
                    self.build_or_fail(world);
                }
            }
            requests => {
                for (id, request) in ids.into_iter().zip(requests) {
                    let outcome = request
                        .err()
                        .map_or(refused(Hint::PartnerNotStarted), Outcome::NotStarted);
                    self.answer_error(id, outcome);
                }
            }
        }
    }

    /// Checks a run.
    fn new_request(
        &mut self,
        id: u64,
        run: Run,
        descriptors: Vec<OwnedFd>,
    ) -> Result<Request, RunError> {
        let mut launch = check(&run, &descriptors)?;
        if self.requests.contains_key(&id) {
            return Err(RunError::new(Step::Request).with_hint(Hint::IdInUse));
        }
        if launch.cpu_words == 0
            && let Some(mask) = self.setup.cpus.of_programs()
        {
            launch.cpu_words = mask.len() as u32;
            launch.cpus[..mask.len()].copy_from_slice(mask);
        }
        if run.limits.cpu_time_ns.is_some() && !self.reads_cpu_time {
            return Err(RunError::new(Step::Request).with_hint(Hint::ProcHidesProcesses));
        }
        if run.limits.swap.is_some() && matches!(self.setup.handover, Handover::Rlimit) {
            return Err(RunError::new(Step::SwapLimit).with_hint(Hint::SwapNeedsCgroups));
        }
        let (world, cold) = self.world_of(&run)?;
        Ok(Request {
            world,
            launch,
            strings: run.strings.to_vec(),
            descriptors,
            cpus: self.setup.cpus.usable_at_once(
                (!run.cpus.is_empty()).then_some(&run.cpus),
                self.worlds.may_choose_cpus(world),
            ),
            limits: run.limits,
            partner: None,
            begun_partner: None,
            setbacks: Setbacks::default(),
            ended: None,
            may_start_cold: run.may_start_cold,
            cold,
        })
    }

    fn enqueue(&mut self, id: u64, request: Request) {
        self.worlds.hold(request.world);
        self.requests.insert(id, request);
        self.queue.push_back(id);
    }

    fn build_or_fail(&mut self, world: WorldId) {
        if let Err(outcome) = self.build_if_new(world) {
            self.fail_world(world, outcome);
        }
    }

    /// Answers a run that will not be started, and its partner. Does nothing if the run is no
    /// longer waiting.
    pub(super) fn reject_waiting(&mut self, id: u64, outcome: Outcome) {
        if self.dequeue(id) {
            self.reject_dequeued(id, outcome);
        }
    }

    /// Answers a run that will not be started, and its partner if the partner is also waiting.
    pub(super) fn reject_dequeued(&mut self, id: u64, outcome: Outcome) {
        let partner = self.remove_request(id).and_then(|request| request.partner);
        self.answer_error(id, outcome);
        if let Some(partner) = partner {
            let error = RunError::new(Step::Request).with_hint(Hint::PartnerNotStarted);
            self.reject_waiting(partner, Outcome::NotStarted(error));
        }
    }

    /// Removes a request.
    pub(super) fn remove_request(&mut self, id: u64) -> Option<Request> {
        let request = self.requests.remove(&id)?;
        self.unreaped
            .extend(self.worlds.release(request.world).map(Unreaped::one));
        Some(request)
    }
}

/// Reads a body from a memfd. It must be sealed, so that reading it cannot block and the bytes
/// cannot change in the meantime (memfd_create(2)).
fn read_memfd(memfd: &OwnedFd) -> Result<Vec<u8>, FrameProblem> {
    let seals = rustix::fs::fcntl_get_seals(memfd).map_err(|_| FrameProblem::NotMemfd)?;
    if !seals.contains(SealFlags::WRITE | SealFlags::SHRINK) {
        return Err(FrameProblem::MemfdNotSealed);
    }
    let unreadable = |errno: rustix::io::Errno| FrameProblem::MemfdUnreadable {
        errno: errno.raw_os_error(),
    };
    let size = rustix::fs::fstat(memfd).map_err(unreadable)?.st_size as usize;
    if size > MAX_BODY {
        return Err(FrameProblem::TooLong {
            bytes: size as u64,
            max_bytes: MAX_BODY as u64,
        });
    }
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while filled < size {
        match rustix::io::pread(memfd.as_fd(), &mut bytes[filled..], filled as u64) {
            Ok(0) => return Err(FrameProblem::MemfdTruncated),
            Ok(read) => filled += read,
            Err(errno) => return Err(unreadable(errno)),
        }
    }
    Ok(bytes)
}

fn malformed(error: &DecodeError) -> FrameProblem {
    FrameProblem::Malformed(error.to_string())
}

/// Checks the numbers of a run and converts them to the form that the target reads.
fn check(run: &Run, descriptors: &[OwnedFd]) -> Result<Launch, RunError> {
    let refused = |hint| Err(RunError::new(Step::Request).with_hint(hint));
    let (announced, received) = (run.descriptors.count(), descriptors.len());
    if received != announced {
        return refused(Hint::DescriptorCount {
            announced: announced as u32,
            received: received as u32,
        });
    }
    let strings = 1 + run.paths as usize + run.arguments as usize + run.environment as usize;
    if strings > MAX_STRINGS || run.strings.len() > STRINGS {
        let hint = Hint::TooManyStrings {
            strings: strings as u64,
            max_strings: MAX_STRINGS as u64,
            bytes: run.strings.len() as u64,
            max_bytes: STRINGS as u64,
        };
        return Err(RunError::new(Step::Arguments)
            .with_errno(libc::E2BIG)
            .with_hint(hint));
    }
    if run.strings.iter().filter(|&&byte| byte == 0).count() != strings
        || run.strings.last() != Some(&0)
    {
        return refused(Hint::Frame(FrameProblem::StringCount));
    }
    if (run.paths == 0) != run.descriptors.program {
        return refused(Hint::Frame(FrameProblem::ProgramCount));
    }
    if run.cpus.len() > CPU_WORDS {
        return refused(Hint::Frame(FrameProblem::CpuNumber));
    }
    let limits = &run.limits;
    limits
        .check()
        .map_err(|error| RunError::new(error.step()).with_hint(Hint::Limit(error)))?;
    let mut launch = Launch {
        strings_length: run.strings.len() as u32,
        paths: run.paths,
        arguments: run.arguments,
        environment: run.environment,
        descriptors: u32::from(run.descriptors.stdin)
            | u32::from(run.descriptors.stdout) << 1
            | u32::from(run.descriptors.stderr) << 2
            | u32::from(run.descriptors.program) << 3
            | u32::from(run.descriptors.tracer) << 4,
        number: 0,
        rlimit_mask: 0,
        rlimits: [UNLIMITED; 16],
        cpu_words: run.cpus.len() as u32,
        cpus_named: u32::from(!run.cpus.is_empty()),
        cpus: [0; CPU_WORDS],
        memory: limits.memory.unwrap_or(UNLIMITED),
        // Swap must not extend the memory limit.
        swap: limits
            .swap
            .or(limits.memory.map(|_| 0))
            .unwrap_or(UNLIMITED),
        processes: limits.processes.unwrap_or(DEFAULT_PROCESS_LIMIT).into(),
        nofile: default_nofile(limits.memory, limits.processes),
        processes_named: u32::from(limits.processes.is_some()),
        quota: limits
            .cpu_bandwidth
            .map_or(UNLIMITED, |bandwidth| bandwidth.max_us),
        period: limits
            .cpu_bandwidth
            .map_or(0, |bandwidth| bandwidth.period_us),
        cpu_time_ns: limits.cpu_time_ns.unwrap_or(UNLIMITED),
        least_template_cpu_ns: UNLIMITED,
    };
    for &(number, value) in &run.rlimits {
        let Some(place) = launch.rlimits.get_mut(number as usize) else {
            return refused(Hint::Frame(FrameProblem::RlimitNumber(number)));
        };
        *place = value;
        launch.rlimit_mask |= 1 << number;
    }
    for (place, word) in launch.cpus.iter_mut().zip(&run.cpus) {
        *place = *word;
    }
    Ok(launch)
}
