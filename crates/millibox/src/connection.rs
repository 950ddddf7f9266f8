//! The socket to the supervisor: sending without waiting, results in any order.
//!
//! Whoever waits reads. One thread at a time is the *reader*: it takes frames from the
//! socket until its own result is there, waking whoever waits for one of the others; then the
//! next one reads. So a lone caller pays no switch to a thread of ours, and many wake nobody
//! without a reason. Where somebody must read
//! though nobody waits (runs that have no place yet with the supervisor, handles that are
//! polled by descriptor) a *dispatcher* thread is started and reads for as long as there are any.

use crate::Error;
use millibox_wire::frame::{HEADER, Header, Kind, MAX_INLINE};
use millibox_wire::{
    Backend, Hello, Hint, KillReason, Outcome, RunError, RunResult, Step, decode, encode,
};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, recv, sendmsg,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::{HashMap, VecDeque};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};

/// One run in our books.
#[derive(Default)]
struct Entry {
    result: Option<RunResult>,
    /// The supervisor was given it.
    sent: bool,
    /// Nobody has a handle any more.
    abandoned: bool,
    /// A limit on files was set for the sake of the output limit.
    output_limited: bool,
    /// Whoever moves its output has seen more than the limit.
    output_exceeded: bool,
    /// Made readable with the result.
    event: Option<Arc<OwnedFd>>,
    /// The task to wake with the result.
    waker: Option<Waker>,
}

impl Entry {
    /// Some thread must read although no thread waits: the handle has an event or a waker.
    fn is_polled(&self) -> bool {
        self.event.is_some() || self.waker.is_some()
    }

    /// Makes the event readable and wakes the task.
    fn announce(&mut self) {
        if let Some(event) = &self.event {
            let _ = rustix::io::write(event, &1u64.to_ne_bytes());
        }
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// A run that is to be sent.
pub struct NewRun {
    /// One of [`Connection::ids`].
    pub id: u64,
    /// The run that it starts together with.
    pub partner: Option<u64>,
    /// The encoded request.
    pub body: Vec<u8>,
    /// What goes beside it.
    pub descriptors: Vec<Arc<OwnedFd>>,
    /// Somebody counts its output.
    pub output_limited: bool,
}

/// A frame with what goes beside it.
struct Outgoing {
    id: u64,
    /// The run that it starts together with.
    partner: Option<u64>,
    /// Header and body.
    frame: Vec<u8>,
    /// The body goes in a memfd, which is made when it goes: those that wait take no descriptors.
    in_memfd: bool,
    descriptors: Vec<Arc<OwnedFd>>,
}

struct State {
    entries: HashMap<u64, Entry>,
    /// Runs that have no place with the supervisor yet.
    waiting: VecDeque<Outgoing>,
    /// Kills and cancels that the socket had no room for.
    urgent: VecDeque<Outgoing>,
    /// Runs that the supervisor has and has not answered.
    in_flight: usize,
    /// Runs without a result that nobody has a handle of any more.
    abandoned: usize,
    /// What the kernel refused to send for another reason than a full socket: so that the socket
    /// has room says nothing of when to try again.
    crowded: bool,
    credits: usize,
    reader: bool,
    /// There is a dispatcher, needed or not.
    dispatcher: bool,
    /// Runs without a result whose handles are polled by descriptor.
    polled: usize,
    /// Threads that wait while another reads.
    sleepers: Vec<Sleeper>,
    /// Nothing comes from the supervisor any more.
    ended: bool,
    /// Why, as soon as that is found out.
    died: Option<String>,
    backend: Backend,
}

/// How long a dispatcher does nothing at most: the connection's last handle may be dropped meanwhile.
const REST: Duration = Duration::from_millis(100);
/// After how many of them, one after another, a dispatcher ends that nobody has needed.
const RESTS: u32 = 10;
/// How long whoever asks for a run waits to hear why the supervisor has ended.
const EXPLANATION: Duration = Duration::from_secs(1);
/// Why it ends if nothing is wrong with it.
const CLOSED: &str =
    "the connection was closed by this program (Supervisor::close, shut_down, or it was dropped)";
/// What to do where the supervisor is not understood.
const SAME_VERSION: &str =
    "library and supervisor must be of the same version: install both together";
/// When what the kernel refused to send is tried again.
const RETRY: Duration = Duration::from_millis(10);

impl State {
    /// Somebody must read though nobody may be waiting.
    fn needs_dispatcher(&self) -> bool {
        !self.waiting.is_empty() || !self.urgent.is_empty() || self.polled > 0
    }

    /// Something is to be sent, and not because the supervisor has no place for it.
    fn unsent(&self) -> bool {
        !self.urgent.is_empty() || has_credit(self)
    }
}

/// A thread that waits for a result, or for the reader's place.
struct Sleeper {
    /// The run.
    id: u64,
    wake: Arc<Condvar>,
}

/// See the module.
pub struct Connection {
    socket: OwnedFd,
    /// The process that has started the supervisor. One forked from it has copies of all this, which must do nothing: the
    /// socket is the same.
    process: u32,
    this: Weak<Connection>,
    /// The next run's number. Not in the state: whoever was forked from us may find that locked for ever.
    next: AtomicU64,
    state: Mutex<State>,
    /// What the dispatcher waits for while another thread reads, or nobody needs to: that this changes.
    unread: Condvar,
    /// Makes the last words readable once the supervisor is gone.
    last_words: Box<dyn Fn() -> String + Send + Sync>,
}

impl Connection {
    /// Takes over a socket on which the supervisor will say hello, and waits for that.
    pub fn new(
        socket: OwnedFd,
        last_words: Box<dyn Fn() -> String + Send + Sync>,
    ) -> Result<(Arc<Connection>, Hello), Error> {
        let connection = Arc::new_cyclic(|this| Connection {
            socket,
            process: std::process::id(),
            this: this.clone(),
            next: AtomicU64::new(1),
            state: Mutex::new(State {
                entries: HashMap::new(),
                waiting: VecDeque::new(),
                urgent: VecDeque::new(),
                in_flight: 0,
                abandoned: 0,
                crowded: false,
                credits: 1,
                reader: false,
                dispatcher: false,
                polled: 0,
                sleepers: Vec::new(),
                ended: false,
                died: None,
                backend: Backend::Rlimit,
            }),
            unread: Condvar::new(),
            last_words,
        });
        let hello = match connection.receive(None) {
            Ok(Some(frame)) => match Header::decode(&frame) {
                Ok((
                    Header {
                        kind: Kind::Hello, ..
                    },
                    body,
                )) => decode::<Hello>(body).map_err(|error| error.to_string()),
                Ok((Header { kind, .. }, _)) => Err(format!("it is of the kind {kind:?}")),
                Err((_, error)) => Err(error.to_string()),
            },
            Err(Errno::MSGSIZE) => Err(format!("it is longer than {MAX_INLINE} bytes")),
            Ok(None) | Err(_) => return Err(Error::Start((connection.last_words)())),
        };
        let hello = hello.map_err(|why| {
            Error::Start(format!(
                "its greeting cannot be read ({why}); {SAME_VERSION}"
            ))
        })?;
        {
            let mut state = connection.lock();
            state.credits = hello.credits as usize;
            state.backend = hello.backend;
        }
        Ok((connection, hello))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole at every point where a panic could happen.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether this process was forked from the one that the connection belongs to.
    pub fn is_elsewhere(&self) -> bool {
        self.process != std::process::id()
    }

    /// The state, in the process that the connection belongs to.
    fn ours(&self) -> Option<MutexGuard<'_, State>> {
        (!self.is_elsewhere()).then(|| self.lock())
    }

    /// Ends the connection: the supervisor kills what runs and ends.
    pub fn close(&self) {
        let Some(mut state) = self.ours() else { return };
        // With the lock held: who reads must not find an end that is nobody's.
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
        if state.died.is_none() {
            self.died(&mut state, CLOSED.to_owned());
        }
    }

    /// Whether nothing comes from the supervisor any more.
    pub fn is_dead(&self) -> bool {
        self.ours().is_none_or(|state| state.ended)
    }

    /// What is said where nothing can be done.
    fn elsewhere() -> Error {
        Error::Died(
            "it serves the process that started it, from which this one was forked".to_owned(),
        )
    }

    /// Numbers for runs, ascending, never given twice.
    pub fn ids<const N: usize>(&self) -> [u64; N] {
        let first = self.next.fetch_add(N as u64, Ordering::Relaxed);
        std::array::from_fn(|index| first + index as u64)
    }

    /// Sends runs, now or as soon as the supervisor has a place for them: all of them or, if there
    /// is an error, none. Does not wait. Nobody's run comes between them.
    pub fn run<const N: usize>(self: &Arc<Self>, runs: [NewRun; N]) -> Result<(), Error> {
        let mut all = Vec::with_capacity(N);
        for NewRun {
            id,
            partner,
            body,
            descriptors,
            output_limited,
        } in runs
        {
            let outgoing = Outgoing {
                partner,
                ..outgoing(Kind::Run, id, &body, descriptors)
            };
            all.push((outgoing, output_limited));
        }
        let mut state = self.explained(self.ours().ok_or_else(Connection::elsewhere)?);
        if let Some(error) = over(&state) {
            return Err(error);
        }
        let ids: Vec<u64> = all.iter().map(|(outgoing, _)| outgoing.id).collect();
        for (outgoing, output_limited) in all {
            state.entries.insert(
                outgoing.id,
                Entry {
                    output_limited,
                    ..Entry::default()
                },
            );
            state.waiting.push_back(outgoing);
        }
        self.flush(&mut state);
        let mut state = self.explained(state);
        // What was sent may have begun. It must not be asked for again: its handle will say that there is no result.
        let may_have_begun = |id| state.entries.get(id).is_some_and(|entry| entry.sent);
        if let Some(error) = over(&state)
            && !ids.iter().any(may_have_begun)
        {
            for id in ids {
                state.entries.remove(&id);
                let _ = unsent(&mut state, id);
            }
            return Err(error);
        }
        if !state.waiting.is_empty() || !state.urgent.is_empty() {
            let _ = self.need_dispatcher(&mut state);
        }
        Ok(())
    }

    /// Runs without a result that somebody has a handle of.
    pub fn unfinished(&self) -> usize {
        let Some(state) = self.ours() else { return 0 };
        (state.waiting.len() + state.in_flight).saturating_sub(state.abandoned)
    }

    /// Asks for the end of a run; its result says why.
    pub fn kill(self: &Arc<Self>, id: u64, reason: KillReason) {
        let Some(mut state) = self.ours() else { return };
        if reason == KillReason::OutputLimit
            && let Some(entry) = state.entries.get_mut(&id)
        {
            // It may have ended by itself with its output still in the pipe.
            entry.output_exceeded = true;
            if let Some(result) = &mut entry.result {
                over_output(result);
            }
        }
        if state.ended
            || state
                .entries
                .get(&id)
                .is_none_or(|entry| entry.result.is_some())
        {
            return;
        }
        let outcome = match reason {
            KillReason::Caller => Outcome::Killed,
            KillReason::OutputLimit => Outcome::OutputLimit,
        };
        if self.withdraw(&mut state, id, outcome) {
            return;
        }
        self.urgent(
            &mut state,
            Kind::Kill,
            id,
            &encode(&millibox_wire::Kill { reason }),
        );
    }

    /// Takes a run back.
    pub fn cancel(self: &Arc<Self>, id: u64) {
        let Some(mut state) = self.ours() else { return };
        if state.ended
            || state
                .entries
                .get(&id)
                .is_none_or(|entry| entry.result.is_some())
        {
            return;
        }
        if self.withdraw(&mut state, id, Outcome::Cancelled) {
            return;
        }
        self.urgent(&mut state, Kind::Cancel, id, &[]);
    }

    /// Takes back a run that was not sent, and its partner, which would wait for it. False: it
    /// was sent.
    fn withdraw(self: &Arc<Self>, state: &mut State, id: u64, outcome: Outcome) -> bool {
        let Some(withdrawn) = unsent(state, id) else {
            return false;
        };
        let result = never_run(state, outcome);
        self.settle(state, id, result);
        self.part(state, &withdrawn);
        self.flush(state);
        if !state.urgent.is_empty() {
            let _ = self.need_dispatcher(state);
        }
        true
    }

    /// The partner of a run that will not be sent does not start either.
    fn part(&self, state: &mut State, gone: &Outgoing) {
        let Some(partner) = gone.partner else { return };
        if unsent(state, partner).is_some() {
            let error = RunError::new(Step::Request).with_hint(Hint::PartnerNotStarted);
            let result = never_run(state, Outcome::NotStarted(error));
            self.settle(state, partner, result);
        } else if partner < gone.id {
            // It is with the supervisor, where it waits.
            let kill = encode(&millibox_wire::Kill {
                reason: KillReason::Caller,
            });
            state
                .urgent
                .push_back(outgoing(Kind::Kill, partner, &kill, Vec::new()));
        }
    }

    fn urgent(self: &Arc<Self>, state: &mut State, kind: Kind, id: u64, body: &[u8]) {
        state.urgent.push_back(outgoing(kind, id, body, Vec::new()));
        self.flush(state);
        if !state.urgent.is_empty() {
            let _ = self.need_dispatcher(state);
        }
    }

    /// Nobody will ask for this run any more; if it goes on, it is cancelled.
    pub fn abandon(self: &Arc<Self>, id: u64) {
        {
            let Some(mut state) = self.ours() else { return };
            let ended = state.ended;
            match state.entries.get_mut(&id) {
                Some(entry) if entry.result.is_none() && !ended => {
                    entry.abandoned = true;
                    state.abandoned += 1;
                }
                _ => {
                    state.entries.remove(&id);
                    return;
                }
            }
        }
        self.cancel(id);
    }

    /// The result, if it is there.
    pub fn result(&self, id: u64) -> Option<Result<RunResult, Error>> {
        let Some(mut state) = self.ours() else {
            return Some(Err(Connection::elsewhere()));
        };
        if !state.reader && state.died.is_none() {
            // Nobody reads: what has come is still in the socket.
            self.read_what_is_there(&mut state);
        }
        look(&state, id)
    }

    /// Waits for a result; `None`: not in time.
    pub fn wait(&self, id: u64, timeout: Option<Duration>) -> Result<Option<RunResult>, Error> {
        let mut state = self.ours().ok_or_else(Connection::elsewhere)?;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let answer = loop {
            if let Some(answer) = look(&state, id) {
                break answer.map(Some);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                if !state.reader && state.died.is_none() {
                    // Who has no time to wait is told what has come.
                    self.read_what_is_there(&mut state);
                }
                break look(&state, id).transpose();
            }
            if state.reader || state.ended {
                state = sleep(state, id, left);
                continue;
            }
            state.reader = true;
            drop(state);
            let frame = self.receive(left);
            state = self.lock();
            state.reader = false;
            self.take(&mut state, frame);
        };
        self.pass_reading_on(&state);
        answer
    }

    /// Whoever stops waiting may have been the reader, or the one who was to be the next: then somebody else must
    /// read, or those who sleep would sleep for ever.
    fn pass_reading_on(&self, state: &State) {
        if state.reader || state.ended {
            return;
        }
        if state.dispatcher && state.needs_dispatcher() {
            self.unread.notify_one();
        } else if let Some(sleeper) = state.sleepers.last() {
            sleeper.wake.notify_one();
        }
    }

    /// A descriptor that is readable once the result is there.
    pub fn event(self: &Arc<Self>, id: u64) -> Result<Arc<OwnedFd>, Error> {
        let mut state = self.ours().ok_or_else(Connection::elsewhere)?;
        let ready = look(&state, id).is_some();
        if let Some(Entry {
            event: Some(event), ..
        }) = state.entries.get(&id)
        {
            return Ok(event.clone());
        }
        if !ready && !state.ended {
            // Who polls may ask for nothing else, and without a thread nobody would make it readable.
            let what = "start a thread that reads while a handle is polled";
            self.need_dispatcher(&mut state)
                .map_err(|error| Error::System { what, error })?;
        }
        let event = loop {
            match eventfd(
                u32::from(ready),
                EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
            ) {
                Ok(event) => break Arc::new(event),
                Err(Errno::MFILE) if raise_open_files() => {}
                Err(errno) => return Err(Error::system("make an eventfd")(errno)),
            }
        };
        if let Some(entry) = state.entries.get_mut(&id) {
            let is_new = !ready && !entry.is_polled();
            entry.event = Some(event.clone());
            state.polled += usize::from(is_new);
        }
        Ok(event)
    }

    /// The result, or `None` if `waker` will be woken once the result is there.
    pub fn poll(self: &Arc<Self>, id: u64, waker: &Waker) -> Result<Option<RunResult>, Error> {
        let mut state = self.ours().ok_or_else(Connection::elsewhere)?;
        if let Some(answer) = look(&state, id) {
            return answer.map(Some);
        }
        if !state.ended {
            let what = "start a thread that reads while a handle is awaited";
            self.need_dispatcher(&mut state)
                .map_err(|error| Error::System { what, error })?;
        }
        let Some(entry) = state.entries.get_mut(&id) else {
            return Ok(None);
        };
        let is_new = !entry.is_polled();
        entry.waker = Some(waker.clone());
        state.polled += usize::from(is_new);
        Ok(None)
    }

    // --- reading --------------------------------------------------------------------

    /// One frame; `Ok(None)`: not in time. An error: the supervisor is gone.
    fn receive(&self, timeout: Option<Duration>) -> Result<Option<Vec<u8>>, Errno> {
        let flags = match timeout {
            None => RecvFlags::empty(),
            Some(timeout) => {
                let mut ready = [PollFd::new(&self.socket, PollFlags::IN)];
                let timeout = Timespec::try_from(timeout).unwrap_or(Timespec {
                    tv_sec: i64::MAX / 2,
                    tv_nsec: 0,
                });
                match poll(&mut ready, Some(&timeout)) {
                    Ok(0) | Err(Errno::INTR) => return Ok(None),
                    Ok(_) => RecvFlags::DONTWAIT,
                    Err(errno) => return Err(errno),
                }
            }
        };
        self.receive_now(flags)
    }

    /// The same; `MSGSIZE`: one that is longer than any may be, of which the rest is lost.
    fn receive_now(&self, flags: RecvFlags) -> Result<Option<Vec<u8>>, Errno> {
        let mut frame = Vec::with_capacity(MAX_INLINE);
        loop {
            match recv(
                &self.socket,
                rustix::buffer::spare_capacity(&mut frame),
                flags | RecvFlags::TRUNC,
            ) {
                Ok((_, 0)) => return Err(Errno::PIPE),
                Ok((kept, length)) if kept < length => return Err(Errno::MSGSIZE),
                Ok(_) => return Ok(Some(frame)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(errno) => return Err(errno),
            }
        }
    }

    fn read_what_is_there(&self, state: &mut State) {
        loop {
            let frame = self.receive_now(RecvFlags::DONTWAIT);
            let done = !matches!(frame, Ok(Some(_)));
            self.take(state, frame);
            if done {
                return;
            }
        }
    }

    fn take(&self, state: &mut State, frame: Result<Option<Vec<u8>>, Errno>) {
        match frame {
            Ok(None) => {}
            Ok(Some(frame)) => match answer(&frame) {
                Ok((id, result)) => {
                    if id != 0 {
                        state.in_flight = state.in_flight.saturating_sub(1);
                        self.settle(state, id, result);
                    }
                    self.flush(state);
                }
                Err(why) => self.misunderstood(state, &why),
            },
            Err(Errno::MSGSIZE) => {
                self.misunderstood(state, &format!("it is longer than {MAX_INLINE} bytes"))
            }
            Err(_) => self.find_out_why(state),
        }
    }

    /// Nothing comes any more. Why may take the supervisor's keeper some seconds to say, for which nobody is to be kept
    /// from looking at what there is.
    fn find_out_why(&self, state: &mut State) {
        if state.ended {
            return;
        }
        state.ended = true;
        let this = self.this.clone();
        let found_out = std::thread::Builder::new()
            .name("millibox".to_owned())
            .spawn(move || {
                let Some(connection) = this.upgrade() else {
                    return;
                };
                let why = (connection.last_words)();
                let mut state = connection.lock();
                if state.died.is_none() {
                    connection.died(&mut state, why);
                }
            });
        if found_out.is_err() {
            let why = (self.last_words)();
            self.died(state, why);
        }
    }

    /// Waits a little for what [`Connection::find_out_why`] finds.
    fn explained<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let deadline = Instant::now() + EXPLANATION;
        while state.ended && state.died.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            // No run has the number 0: all who wait hear of the end.
            state = sleep(state, 0, Some(left));
        }
        state
    }

    /// Somebody would wait for ever for an answer that cannot be read, so nobody is to wait.
    fn misunderstood(&self, state: &mut State, why: &str) {
        if state.died.is_none() {
            let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
            let why = format!(
                "its connection was closed, as an answer cannot be read ({why}); {SAME_VERSION}"
            );
            self.died(state, why);
        }
    }

    /// Puts a result where its handle finds it.
    fn settle(&self, state: &mut State, id: u64, mut result: RunResult) {
        let Some(entry) = state.entries.get_mut(&id) else {
            return;
        };
        let by_file = entry.output_limited && result.signal == Some(libc::SIGXFSZ);
        if by_file || entry.output_exceeded {
            over_output(&mut result);
        }
        if entry.is_polled() {
            entry.announce();
            state.polled = state.polled.saturating_sub(1);
        }
        if entry.abandoned {
            state.entries.remove(&id);
            state.abandoned = state.abandoned.saturating_sub(1);
        } else {
            entry.result = Some(result);
        }
        for sleeper in state.sleepers.iter().filter(|sleeper| sleeper.id == id) {
            sleeper.wake.notify_one();
        }
    }

    fn died(&self, state: &mut State, why: String) {
        state.ended = true;
        state.died = Some(why);
        state.waiting.clear();
        state.urgent.clear();
        // What came before the end and was not read yet counts; it can be read even if the other side is gone.
        loop {
            match self.receive_now(RecvFlags::DONTWAIT) {
                Ok(Some(frame)) => {
                    if let Ok((id, result)) = answer(&frame) {
                        self.settle(state, id, result);
                    }
                }
                // Told once, before what is there; and of one frame.
                Err(Errno::CONNRESET | Errno::MSGSIZE) => {}
                _ => break,
            }
        }
        (state.in_flight, state.abandoned, state.polled) = (0, 0, 0);
        state.entries.retain(|_, entry| !entry.abandoned);
        state.entries.values_mut().for_each(Entry::announce);
        for sleeper in &state.sleepers {
            sleeper.wake.notify_one();
        }
        self.unread.notify_one();
    }

    // --- sending --------------------------------------------------------------------

    /// Sends what may be sent.
    fn flush(&self, state: &mut State) {
        state.crowded = false;
        while let Some(next) = state.urgent.front() {
            match self.send(next, state.in_flight > 0) {
                Ok(Sent::Yes) => state.urgent.pop_front(),
                Ok(refused) => {
                    state.crowded = refused == Sent::Crowded;
                    return;
                }
                Err(_) => return self.take(state, Err(Errno::PIPE)),
            };
        }
        while has_credit(state)
            && let Some(next) = state.waiting.front()
        {
            match self.send(next, state.in_flight > 0) {
                Ok(Sent::Yes) => {
                    if let Some(sent) = state.waiting.pop_front()
                        && let Some(entry) = state.entries.get_mut(&sent.id)
                    {
                        entry.sent = true;
                    }
                    state.in_flight += 1;
                }
                Ok(refused) => {
                    state.crowded = refused == Sent::Crowded;
                    return;
                }
                Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => {
                    // Results that came before the end are still to be read.
                    self.read_what_is_there(state);
                    return;
                }
                Err(errno) => {
                    // This run alone cannot be sent (a descriptor that cannot be passed).
                    let Some(refused) = state.waiting.pop_front() else {
                        return;
                    };
                    let error = RunError::new(Step::Send).with_errno(errno.raw_os_error());
                    let result = never_run(state, Outcome::SandboxError(error));
                    self.settle(state, refused.id, result);
                    self.part(state, &refused);
                    if !state.urgent.is_empty() {
                        return self.flush(state);
                    }
                }
            }
        }
    }

    /// `others`: there are runs that will end, with which our process may do something that gives descriptors back.
    fn send(&self, outgoing: &Outgoing, others: bool) -> Result<Sent, Errno> {
        let (header, body) = outgoing.frame.split_at(HEADER);
        let memfd = loop {
            match outgoing.in_memfd.then(|| sealed_memfd(body)).transpose() {
                Ok(memfd) => break memfd,
                Err(Errno::MFILE) if raise_open_files() => {}
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) if others => {
                    return Ok(Sent::Crowded);
                }
                Err(errno) => return Err(errno),
            }
        };
        let bytes = if outgoing.in_memfd {
            header
        } else {
            &outgoing.frame
        };
        let given = outgoing.descriptors.iter().map(|fd| fd.as_fd());
        let borrowed: Vec<BorrowedFd> = memfd.iter().map(|fd| fd.as_fd()).chain(given).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !borrowed.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&borrowed));
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        loop {
            match sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut control, flags) {
                Ok(_) => return Ok(Sent::Yes),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(Sent::Full),
                // Our user has more descriptors on their way than we may have open (unix(7)). The
                // runs are the same user, and may have no more than half of what we may have at
                // most: more than that soft limit which common systems give.
                Err(Errno::TOOMANYREFS) if raise_open_files() => {}
                Err(Errno::NOBUFS | Errno::TOOMANYREFS) => return Ok(Sent::Crowded),
                Err(errno) => return Err(errno),
            }
        }
    }

    // --- the dispatcher -------------------------------------------------------------

    /// An error: there is none, and no thread for it. Whoever waits reads, so results come later, not never.
    fn need_dispatcher(self: &Arc<Self>, state: &mut State) -> Result<(), std::io::Error> {
        if state.dispatcher {
            if !state.reader || state.unsent() {
                self.unread.notify_one();
            }
            return Ok(());
        }
        let weak = Arc::downgrade(self);
        let started = std::thread::Builder::new()
            .name("millibox".to_owned())
            .spawn(move || {
                let mut rests = 0;
                while let Some(connection) = weak.upgrade() {
                    if !connection.dispatch(&mut rests) {
                        return;
                    }
                }
            });
        state.dispatcher = started.is_ok();
        started.map(drop)
    }

    /// One turn of the dispatcher; false when it is over. `rests`: how often it has had nothing to do.
    fn dispatch(&self, rests: &mut u32) -> bool {
        let mut state = self.lock();
        if state.ended {
            return false;
        }
        if state.reader || !state.needs_dispatcher() {
            // A waiting thread reads, and will tell when it stops; or one that waits can, which saves a switch to us
            // for each result.
            self.pass_reading_on(&state);
            let time = if state.unsent() { RETRY } else { REST };
            let (mut state, waited) = match self.unread.wait_timeout(state, time) {
                Ok(pair) => pair,
                Err(poisoned) => poisoned.into_inner(),
            };
            self.flush(&mut state);
            *rests = if waited.timed_out() && !state.needs_dispatcher() {
                *rests + 1
            } else {
                0
            };
            state.dispatcher = *rests < RESTS;
            return state.dispatcher && !state.ended;
        }
        state.reader = true;
        let mut events = PollFlags::IN;
        let mut patience = REST;
        if state.crowded {
            patience = RETRY;
        } else if state.unsent() {
            events |= PollFlags::OUT;
        }
        drop(state);
        let mut ready = [PollFd::new(&self.socket, events)];
        let patience = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(patience.subsec_nanos()),
        };
        let _ = poll(&mut ready, Some(&patience));
        let mut state = self.lock();
        state.reader = false;
        self.read_what_is_there(&mut state);
        self.flush(&mut state);
        !state.ended
    }
}

/// Sleeps until the run has a result, the reader's place is free, or the time is over.
fn sleep<'a>(
    mut state: MutexGuard<'a, State>,
    id: u64,
    time: Option<Duration>,
) -> MutexGuard<'a, State> {
    let wake = Arc::new(Condvar::new());
    state.sleepers.push(Sleeper {
        id,
        wake: wake.clone(),
    });
    let mut state = match time {
        Some(time) => {
            wake.wait_timeout(state, time)
                .unwrap_or_else(|poisoned| poisoned.into_inner())
                .0
        }
        None => wake
            .wait(state)
            .unwrap_or_else(|poisoned| poisoned.into_inner()),
    };
    state
        .sleepers
        .retain(|sleeper| !Arc::ptr_eq(&sleeper.wake, &wake));
    state
}

/// What became of a frame.
#[derive(PartialEq, Eq)]
enum Sent {
    Yes,
    /// The socket has no room at the moment.
    Full,
    /// The kernel has no room for it elsewhere.
    Crowded,
}

/// Raises our soft limit on open files to the hard one; whether it was lower.
fn raise_open_files() -> bool {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let lower = current.is_some_and(|current| maximum.is_none_or(|maximum| current < maximum));
    lower
        && setrlimit(
            Resource::Nofile,
            Rlimit {
                current: maximum,
                maximum,
            },
        )
        .is_ok()
}

/// What the supervisor says of a run.
fn answer(frame: &[u8]) -> Result<(u64, RunResult), String> {
    let (header, body) = Header::decode(frame).map_err(|(_, error)| error.to_string())?;
    if header.kind != Kind::Result || header.in_memfd {
        return Err(format!("it is of the kind {:?}", header.kind));
    }
    decode(body)
        .map(|result| (header.id, result))
        .map_err(|error| error.to_string())
}

/// Why no run is taken any more, as far as it is known.
fn over(state: &State) -> Option<Error> {
    let known = || {
        state
            .died
            .clone()
            .unwrap_or_else(|| "it closed its socket".to_owned())
    };
    state.ended.then(|| Error::Died(known()))
}

fn look(state: &State, id: u64) -> Option<Result<RunResult, Error>> {
    match state.entries.get(&id) {
        Some(Entry {
            result: Some(result),
            ..
        }) => Some(Ok(result.clone())),
        _ => state.died.as_ref().map(|why| Err(Error::Died(why.clone()))),
    }
}

/// What would be a plain end is one for too much output.
fn over_output(result: &mut RunResult) {
    if matches!(result.outcome, Outcome::Exited(_) | Outcome::Signaled(_)) {
        result.outcome = Outcome::OutputLimit;
    }
}

/// Whether the next run may be sent. The first of a pair waits for the place of the second, so
/// that it does not wait for it with the supervisor, where the places may be taken by runs that
/// wait for it.
fn has_credit(state: &State) -> bool {
    state.waiting.front().is_some_and(|next| {
        let more = usize::from(next.partner.is_some_and(|partner| partner > next.id));
        state.in_flight + more < state.credits
    })
}

/// Takes a run that was not sent out of those that wait.
fn unsent(state: &mut State, id: u64) -> Option<Outgoing> {
    let place = state
        .waiting
        .iter()
        .position(|outgoing| outgoing.id == id)?;
    state.waiting.remove(place)
}

/// The result of a run that the supervisor never saw.
fn never_run(state: &State, outcome: Outcome) -> RunResult {
    let signal = (outcome == Outcome::Killed).then_some(libc::SIGKILL);
    RunResult {
        outcome,
        exit_code: None,
        signal,
        figures: Default::default(),
        ended_ns: None,
        backend: state.backend,
    }
}

fn outgoing(kind: Kind, id: u64, body: &[u8], descriptors: Vec<Arc<OwnedFd>>) -> Outgoing {
    let in_memfd = body.len() > MAX_INLINE - HEADER;
    let mut frame = Header { kind, in_memfd, id }.encode().to_vec();
    frame.extend_from_slice(body);
    Outgoing {
        id,
        partner: None,
        frame,
        in_memfd,
        descriptors,
    }
}

fn sealed_memfd(body: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memfd = rustix::fs::memfd_create("millibox-request", flags)?;
    let mut written = 0;
    while written < body.len() {
        written += rustix::io::pwrite(&memfd, &body[written..], written as u64)?;
    }
    rustix::fs::fcntl_add_seals(
        &memfd,
        SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW,
    )?;
    Ok(memfd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Handle, Request};
    use rustix::net::{AddressFamily, SocketFlags, SocketType, send, socketpair};

    /// A connection with one run on its way, and the other end of it.
    fn with_a_run() -> (Arc<Connection>, u64, OwnedFd) {
        let (connection, [id], its) = with_runs();
        (connection, id, its)
    }

    fn with_runs<const N: usize>() -> (Arc<Connection>, [u64; N], OwnedFd) {
        with_last_words(|| "no last words".to_owned())
    }

    fn with_last_words<const N: usize>(
        words: impl Fn() -> String + Send + Sync + 'static,
    ) -> (Arc<Connection>, [u64; N], OwnedFd) {
        let (ours, its) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .expect("a socket");
        let hello = Hello {
            pid: 1,
            backend: Backend::Rlimit,
            slots: 1,
            credits: 8,
            uid: 1,
            gid: 1,
            cgroups: Vec::new(),
            declined: Vec::new(),
            landlock: 0,
            file_locks: true,
        };
        say(&its, Kind::Hello, 0, &encode(&hello));
        let (connection, _) = Connection::new(ours, Box::new(words)).expect("a greeting");
        let ids = connection.ids();
        let run = |id| NewRun {
            id,
            partner: None,
            body: Vec::new(),
            descriptors: Vec::new(),
            output_limited: false,
        };
        connection.run(ids.map(run)).expect("sent");
        (connection, ids, its)
    }

    fn say(socket: &OwnedFd, kind: Kind, id: u64, body: &[u8]) {
        let frame = [
            &Header {
                kind,
                in_memfd: false,
                id,
            }
            .encode()[..],
            body,
        ]
        .concat();
        assert_eq!(send(socket, &frame, SendFlags::NOSIGNAL), Ok(frame.len()));
    }

    fn result(message: String) -> RunResult {
        let error = RunError::new(Step::World).with_subject(message);
        RunResult {
            outcome: Outcome::NotStarted(error),
            exit_code: None,
            signal: None,
            figures: Default::default(),
            ended_ns: None,
            backend: Backend::Rlimit,
        }
    }

    #[test]
    fn the_longest_answer_is_read() {
        let (connection, id, its) = with_a_run();
        let empty = encode(&result(String::new())).len();
        // The length of the subject takes three bytes.
        let longest = result("x".repeat(MAX_INLINE - HEADER - empty - 3));
        say(&its, Kind::Result, id, &encode(&longest));
        assert_eq!(connection.wait(id, None).expect("read"), Some(longest));
    }

    /// As in a process forked while another thread had it locked, where nobody will unlock it.
    #[test]
    fn numbers_are_given_whoever_has_the_state() {
        let (connection, [known], _its) = with_runs();
        let (say, said) = std::sync::mpsc::channel();
        let state = connection.lock();
        let asks = connection.clone();
        std::thread::spawn(move || say.send(asks.ids::<2>()));
        assert_eq!(
            said.recv_timeout(Duration::from_secs(30)),
            Ok([known + 1, known + 2])
        );
        drop(state);
    }

    /// Until so many threads wait.
    fn until_asleep(connection: &Connection, sleepers: usize) {
        while connection.lock().sleepers.len() < sleepers || !connection.lock().reader {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn each_of_many_threads_is_given_its_own() {
        let (connection, ids, its) = with_runs::<8>();
        std::thread::scope(|scope| {
            let threads = ids.map(|id| {
                let connection = &connection;
                (id, scope.spawn(move || connection.wait(id, None)))
            });
            until_asleep(&connection, ids.len() - 1);
            // The first is, or was, the reader's; the last ones find their reader gone.
            for (id, thread) in threads {
                let its_own = result(format!("of run {id}"));
                say(&its, Kind::Result, id, &encode(&its_own));
                assert_eq!(
                    thread.join().expect("no panic").expect("read"),
                    Some(its_own)
                );
            }
        });
        assert!(connection.lock().sleepers.is_empty() && !connection.lock().reader);
    }

    #[test]
    fn who_gives_up_waiting_leaves_the_reading_to_another() {
        let (connection, [short, long], its) = with_runs();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| connection.wait(short, Some(Duration::from_millis(200))));
            while !connection.lock().reader {
                std::thread::sleep(Duration::from_millis(1));
            }
            let sleeper = scope.spawn(|| connection.wait(long, None));
            assert_eq!(reader.join().expect("no panic").expect("read"), None);
            say(&its, Kind::Result, long, &encode(&result(String::new())));
            assert_eq!(
                sleeper.join().expect("no panic").expect("read"),
                Some(result(String::new()))
            );
        });
    }

    #[test]
    fn who_has_no_time_to_wait_is_told_what_has_come() {
        let (connection, id, its) = with_a_run();
        assert_eq!(
            connection.wait(id, Some(Duration::ZERO)).expect("read"),
            None
        );
        let told = result(String::new());
        say(&its, Kind::Result, id, &encode(&told));
        assert_eq!(
            connection.wait(id, Some(Duration::ZERO)).expect("read"),
            Some(told)
        );
    }

    #[test]
    fn what_came_before_the_end_can_still_be_read() {
        let told = result("the first".to_owned());
        for (by_us, by_it) in [(true, false), (false, true), (true, true)] {
            let (connection, [first, second], its) = with_runs();
            say(&its, Kind::Result, first, &encode(&told));
            // With the runs that we sent unread: the kernel tells us of that before it tells us the answer.
            let its = (!by_it).then_some(its);
            if by_us {
                connection.close();
            } else {
                assert!(matches!(connection.wait(second, None), Err(Error::Died(_))));
            }
            assert_eq!(
                connection.wait(first, None).expect("read"),
                Some(told.clone()),
                "{by_us} {by_it}"
            );
            assert!(matches!(connection.wait(second, None), Err(Error::Died(_))));
            assert_eq!(connection.unfinished(), 0);
            drop(its);
        }
    }

    #[test]
    fn a_run_that_nobody_has_a_handle_of_is_not_waited_for() {
        let (connection, ids, its) = with_runs::<2>();
        assert_eq!(connection.unfinished(), 2);
        connection.abandon(ids[0]);
        assert_eq!(connection.unfinished(), 1);
        for id in ids {
            say(&its, Kind::Result, id, &encode(&result(String::new())));
        }
        assert!(connection.wait(ids[1], None).expect("read").is_some());
        assert_eq!(connection.unfinished(), 0);
    }

    #[test]
    fn a_dispatcher_that_nobody_needs_leaves_the_reading_to_who_waits() {
        let (connection, [polled, awaited], its) = with_runs();
        let event = connection.event(polled).expect("a descriptor");
        say(&its, Kind::Result, polled, &encode(&result(String::new())));
        assert_eq!(poll(&mut [PollFd::new(&event, PollFlags::IN)], None), Ok(1));
        assert!(connection.lock().dispatcher);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| connection.wait(awaited, None));
            let begin = Instant::now();
            let reads = || {
                let state = connection.lock();
                state.reader && state.sleepers.is_empty() && !state.needs_dispatcher()
            };
            // Not only for a moment, as before the thread has come to sleep.
            let mut times = 0;
            while times < 20 && begin.elapsed() < Duration::from_secs(30) {
                times = if reads() { times + 1 } else { 0 };
                std::thread::sleep(Duration::from_millis(10));
            }
            let told = result("the other".to_owned());
            say(&its, Kind::Result, awaited, &encode(&told));
            assert_eq!(waiting.join().expect("no panic").expect("read"), Some(told));
            assert!(times == 20, "the dispatcher reads");
        });
    }

    #[test]
    fn a_dispatcher_that_nobody_needs_ends_and_comes_again() {
        let (connection, ids, its) = with_runs::<2>();
        for id in ids {
            let event = connection.event(id).expect("a descriptor");
            assert!(connection.lock().dispatcher);
            say(&its, Kind::Result, id, &encode(&result(String::new())));
            assert_eq!(poll(&mut [PollFd::new(&event, PollFlags::IN)], None), Ok(1));
            let begin = Instant::now();
            while connection.lock().dispatcher {
                assert!(begin.elapsed() < Duration::from_secs(60), "it goes on");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    #[test]
    fn awaited_result_wakes_its_task() {
        let (connection, ids, its) = with_runs::<2>();
        let handles =
            ids.map(|id| Handle::new(connection.clone(), id, Request::new("/bin/true").names()));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let send = async {
                for (number, id) in ids.into_iter().enumerate().rev() {
                    tokio::task::yield_now().await;
                    say(
                        &its,
                        Kind::Result,
                        id,
                        &encode(&result(format!("{number}"))),
                    );
                }
            };
            let (first, second, ()) =
                tokio::join!(handles[0].wait_async(), handles[1].wait_async(), send);
            assert_eq!(first.expect("read"), result("0".to_owned()));
            assert_eq!(second.expect("read"), result("1".to_owned()));
        });
        assert_eq!(connection.lock().polled, 0);
    }

    #[test]
    fn awaited_run_fails_when_the_supervisor_ends() {
        let (connection, id, its) = with_a_run();
        let handle = Handle::new(connection, id, Request::new("/bin/true").names());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        let ended =
            runtime.block_on(async { tokio::join!(handle.wait_async(), async { drop(its) }).0 });
        assert!(matches!(ended, Err(Error::Died(_))), "{ended:?}");
    }

    #[test]
    fn all_who_wait_hear_of_the_end() {
        let (connection, ids, its) = with_runs::<4>();
        std::thread::scope(|scope| {
            let threads = ids.map(|id| {
                let connection = &connection;
                scope.spawn(move || connection.wait(id, None))
            });
            until_asleep(&connection, ids.len() - 1);
            drop(its);
            for thread in threads {
                assert!(matches!(
                    thread.join().expect("no panic"),
                    Err(Error::Died(_))
                ));
            }
        });
    }

    #[test]
    fn nobody_is_kept_waiting_while_the_last_words_are_read() {
        let (say_them, said) = std::sync::mpsc::channel::<()>();
        let said = Mutex::new(said);
        let words = move || {
            let _ = said.lock().expect("no panic").recv();
            "these".to_owned()
        };
        let (connection, [first, second], its) = with_last_words(words);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| connection.wait(first, None));
            drop(its);
            while !connection.is_dead() {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(connection.result(second).is_none());
            assert!(!waits.is_finished());
            say_them.send(()).expect("it is listened to");
            let Err(Error::Died(heard)) = waits.join().expect("no panic") else {
                panic!("a result")
            };
            assert_eq!(heard, "these");
        });
        assert!(matches!(
            connection.result(second),
            Some(Err(Error::Died(_)))
        ));
    }

    #[test]
    fn who_waits_hears_that_we_closed_it() {
        for _ in 0..50 {
            let (connection, [first], its) = with_runs();
            std::thread::scope(|scope| {
                let waits = scope.spawn(|| connection.wait(first, None));
                while !connection.lock().reader {
                    std::thread::yield_now();
                }
                connection.close();
                let Err(Error::Died(heard)) = waits.join().expect("no panic") else {
                    panic!("a result")
                };
                assert_eq!(heard, CLOSED);
            });
            drop(its);
        }
    }

    #[test]
    fn a_greeting_that_cannot_be_read() {
        let too_long = [0; MAX_INLINE];
        for (kind, body, says) in [
            (Kind::Hello, &too_long[..], "longer than 61440 bytes"),
            (Kind::Hello, b"\xff\xff", "malformed"),
            (Kind::Result, b"", "kind Result"),
        ] {
            let (ours, its) = socketpair(
                AddressFamily::UNIX,
                SocketType::SEQPACKET,
                SocketFlags::CLOEXEC,
                None,
            )
            .expect("a socket");
            say(&its, kind, 0, body);
            let answer = Connection::new(ours, Box::new(|| panic!("it lives")));
            let Err(Error::Start(why)) = answer else {
                panic!("{says}")
            };
            assert!(
                why.contains(says) && why.contains("install both"),
                "{why} does not say {says:?}"
            );
        }
    }

    #[test]
    fn nobody_waits_for_an_answer_that_cannot_be_read() {
        let too_long = encode(&result("x".repeat(MAX_INLINE)));
        for (kind, body, says) in [
            (Kind::Result, &too_long[..], "longer than 61440 bytes"),
            (Kind::Result, b"\xff\xff", "malformed"),
            (Kind::Run, b"", "kind Run"),
        ] {
            let (connection, id, its) = with_a_run();
            say(&its, kind, id, body);
            let Err(Error::Died(why)) = connection.wait(id, Some(Duration::from_secs(60))) else {
                panic!("{says}")
            };
            assert!(
                why.contains(says) && why.contains("same version"),
                "{why} does not say {says:?}"
            );
            // Its end is told to the other side, which ends with it.
            let mut rest = [0; 64];
            let heard: Vec<usize> =
                std::iter::repeat_with(|| recv(&its, &mut rest[..], RecvFlags::empty()))
                    .map_while(|answer| answer.ok().map(|(length, _)| length))
                    .take_while(|length| *length > 0)
                    .collect();
            assert_eq!(heard.len(), 1, "{heard:?}");
        }
    }
}
