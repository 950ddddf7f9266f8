//! The connection to the supervisor. Requests are sent without waiting, and results arrive in any
//! order.
//!
//! The threads that wait for results read the socket themselves. One thread at a time is the
//! *reader*: it reads frames until its own result arrives and wakes the threads whose results it
//! reads. Then another waiting thread becomes the reader. So a single caller needs no switch to
//! another thread. A *dispatcher* thread reads when results are due but no caller waits. This
//! happens for runs that wait for a place with the supervisor, and for handles that are polled or
//! awaited.
//!
//! | file | content |
//! | --- | --- |
//! | `wait` | waiting for results, polling them |
//! | `read` | reading frames, and the end of the connection |
//! | `send` | sending frames |
//! | `dispatcher` | the thread that reads while no caller waits |

mod dispatcher;
mod read;
mod send;
mod wait;

pub use read::peek_cgroups;

use crate::convert::fault_of_decoding;
use crate::{EndReason, Error, FrameFault};
use millibox_wire::frame::{Header, Kind, MAX_INLINE};
use millibox_wire::{
    Backend, Hello, Hint, KillReason, Outcome, RunError, RunResult, Step, SupervisorError, decode,
    encode,
};
use rustix::io::Errno;
use rustix::net::Shutdown;
use send::{Outgoing, has_credit, outgoing};
use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::task::Waker;
use std::time::Duration;

/// A run that was requested and whose handle exists, or that has not ended.
#[derive(Default)]
struct Entry {
    result: Option<RunResult>,
    /// Whether the run was sent to the supervisor.
    sent: bool,
    /// Whether the handle was dropped.
    abandoned: bool,
    /// Whether the request limits the size of files.
    output_limited: bool,
    /// Whether the caller has received more output than the limit.
    output_exceeded: bool,
    /// Becomes readable when the result arrives.
    event: Option<Arc<OwnedFd>>,
    /// The task to wake when the result arrives.
    waker: Option<Waker>,
}

impl Entry {
    /// Whether a thread must read although no thread waits, because the handle has an event or a
    /// waker.
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

/// A new run.
pub struct NewRun {
    /// One of [`Connection::ids`].
    pub id: u64,
    /// The encoded request.
    pub body: Vec<u8>,
    /// The descriptors that are sent with the request.
    pub descriptors: Vec<Arc<OwnedFd>>,
    /// Whether the request limits the size of files.
    pub output_limited: bool,
}

struct State {
    entries: HashMap<u64, Entry>,
    /// Runs that do not yet have a place with the supervisor.
    waiting: VecDeque<Outgoing>,
    /// Requests to kill or cancel runs for which the socket had no space.
    urgent: VecDeque<Outgoing>,
    /// The number of runs that the supervisor has received but not answered.
    in_flight: usize,
    /// The number of runs without a result whose handles were dropped.
    abandoned: usize,
    /// Whether the kernel refused to send for a reason other than a full socket. If so, a writable
    /// socket does not mean that sending works again.
    crowded: bool,
    credits: usize,
    reader: bool,
    /// Whether the dispatcher thread exists.
    dispatcher: bool,
    /// The number of runs without a result whose handles are polled.
    polled: usize,
    /// The threads that wait while another thread reads.
    sleepers: Vec<Sleeper>,
    /// Whether the connection has ended, so that no further messages arrive.
    ended: bool,
    /// The reason for the end, once it is known.
    died: Option<EndReason>,
    /// The error that the supervisor reported before its end.
    reported: Option<SupervisorError>,
    backend: Backend,
}

/// The time that a request for a run waits for the reason why the supervisor has ended.
const END_REASON_TIMEOUT: Duration = Duration::from_secs(1);

impl State {
    /// Whether frames are due even if no thread is waiting.
    fn needs_dispatcher(&self) -> bool {
        !self.waiting.is_empty() || !self.urgent.is_empty() || self.polled > 0
    }

    /// Whether a frame waits for space in the socket rather than for a place with the supervisor.
    fn unsent(&self) -> bool {
        !self.urgent.is_empty() || has_credit(self)
    }
}

/// A thread that waits for a result or to become the reader.
struct Sleeper {
    /// The id of the run.
    id: u64,
    wake: Arc<Condvar>,
}

/// A connection to one supervisor.
pub struct Connection {
    socket: OwnedFd,
    /// The process that started the supervisor. A process forked from it has a copy of this
    /// connection with the same socket, which it must not use.
    process: u32,
    this: Weak<Connection>,
    /// The id of the next run. It is not part of `State`, which may stay locked forever in a forked
    /// process.
    next: AtomicU64,
    state: Mutex<State>,
    /// Wakes the dispatcher when it must read or send.
    unread: Condvar,
    /// Finds out why the supervisor has ended.
    end_reason: Box<dyn Fn() -> EndReason + Send + Sync>,
}

impl Connection {
    /// Takes over a socket and waits for the greeting of the supervisor.
    pub fn new(
        socket: OwnedFd,
        end_reason: Box<dyn Fn() -> EndReason + Send + Sync>,
    ) -> Result<(Arc<Connection>, Hello), EndReason> {
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
                reported: None,
                backend: Backend::Rlimit,
            }),
            unread: Condvar::new(),
            end_reason,
        });
        let hello = match connection.receive(None) {
            Ok(Some(frame)) => match Header::decode(&frame) {
                Ok((
                    Header {
                        kind: Kind::Hello, ..
                    },
                    body,
                )) => decode::<Hello>(body).map_err(fault_of_decoding),
                Ok((
                    Header {
                        kind: Kind::Failure,
                        ..
                    },
                    body,
                )) => match decode(body) {
                    Ok(error) => return Err(EndReason::Failed(error)),
                    Err(error) => Err(fault_of_decoding(error)),
                },
                Ok((Header { kind, .. }, _)) => Err(FrameFault::UnexpectedKind(kind as u32)),
                Err((_, error)) => Err(fault_of_decoding(error)),
            },
            Err(Errno::MSGSIZE) => Err(FrameFault::TooLong {
                max_bytes: MAX_INLINE,
            }),
            Ok(None) | Err(_) => return Err((connection.end_reason)()),
        };
        let hello = hello.map_err(EndReason::Unreadable)?;
        {
            let mut state = connection.lock();
            state.credits = hello.credits as usize;
            state.backend = hello.backend;
        }
        Ok((connection, hello))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent at every point where a panic could happen.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether this process was forked from the process that owns the connection.
    pub fn is_elsewhere(&self) -> bool {
        self.process != std::process::id()
    }

    /// The state; `None` in a process that does not own the connection.
    fn owned(&self) -> Option<MutexGuard<'_, State>> {
        (!self.is_elsewhere()).then(|| self.lock())
    }

    /// Ends the connection. The supervisor then kills all runs and ends.
    pub fn close(&self) {
        let Some(mut state) = self.owned() else {
            return;
        };
        // The lock is held, so that a reader finds the reason together with the end.
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
        if state.died.is_none() {
            self.died(&mut state, EndReason::ClosedHere);
        }
    }

    /// Whether the connection has ended, so that no further messages arrive.
    pub fn is_dead(&self) -> bool {
        self.owned().is_none_or(|state| state.ended)
    }

    /// The error that a forked process receives.
    fn elsewhere() -> Error {
        Error::Died(EndReason::Forked)
    }

    /// Returns new ids for runs, in ascending order.
    pub fn ids<const N: usize>(&self) -> [u64; N] {
        let first = self.next.fetch_add(N as u64, Ordering::Relaxed);
        std::array::from_fn(|index| first + index as u64)
    }

    /// Sends one run, or two runs that start together, now or as soon as the supervisor has a place
    /// for them. After an error, neither run is sent. Does not wait.
    ///
    /// The ids of two runs must be consecutive.
    pub fn run<const N: usize>(self: &Arc<Self>, runs: [NewRun; N]) -> Result<(), Error> {
        let kind = if N == 1 { Kind::Run } else { Kind::Pair };
        let ids = runs.each_ref().map(|run| run.id);
        let output_limited = runs.each_ref().map(|run| run.output_limited);
        let (mut body, mut descriptors) = (Vec::new(), Vec::new());
        for run in runs {
            body.extend(run.body);
            descriptors.extend(run.descriptors);
        }
        let outgoing = Outgoing {
            runs: N,
            ..outgoing(kind, ids[0], &body, descriptors)
        };
        let mut state = self.explained(self.owned().ok_or_else(Connection::elsewhere)?);
        if let Some(error) = over(&state) {
            return Err(error);
        }
        for (id, output_limited) in ids.into_iter().zip(output_limited) {
            let entry = Entry {
                output_limited,
                ..Entry::default()
            };
            state.entries.insert(id, entry);
        }
        state.waiting.push_back(outgoing);
        self.flush(&mut state);
        let mut state = self.explained(state);
        // A run that was sent may have begun and must not be requested again. Its handle will
        // return the error.
        let may_have_begun = |id| state.entries.get(id).is_some_and(|entry| entry.sent);
        if let Some(error) = over(&state)
            && !ids.iter().any(may_have_begun)
        {
            let _ = unsent(&mut state, ids[0]);
            for id in ids {
                state.entries.remove(&id);
            }
            return Err(error);
        }
        if !state.waiting.is_empty() || !state.urgent.is_empty() {
            let _ = self.need_dispatcher(&mut state);
        }
        Ok(())
    }

    /// The number of runs without a result whose handles exist.
    pub fn unfinished(&self) -> usize {
        let Some(state) = self.owned() else { return 0 };
        let waiting: usize = state.waiting.iter().map(|outgoing| outgoing.runs).sum();
        (waiting + state.in_flight).saturating_sub(state.abandoned)
    }

    /// Asks the supervisor to end a run. The result names the reason.
    pub fn kill(self: &Arc<Self>, id: u64, reason: KillReason) {
        let Some(mut state) = self.owned() else {
            return;
        };
        if reason == KillReason::OutputLimit
            && let Some(entry) = state.entries.get_mut(&id)
        {
            // The run may have ended by itself while its output was still in the pipe.
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

    /// Cancels a run.
    pub fn cancel(self: &Arc<Self>, id: u64) {
        let Some(mut state) = self.owned() else {
            return;
        };
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

    /// Withdraws a run that was not sent, together with its partner. Returns false if the run was
    /// sent.
    fn withdraw(&self, state: &mut State, id: u64, outcome: Outcome) -> bool {
        let Some(withdrawn) = unsent(state, id) else {
            return false;
        };
        self.settle_unsent(state, &withdrawn, id, outcome);
        self.flush(state);
        true
    }

    /// Settles a run that will not be sent, and its partner.
    fn settle_unsent(&self, state: &mut State, gone: &Outgoing, id: u64, outcome: Outcome) {
        for each in gone.ids() {
            let outcome = if each == id {
                outcome.clone()
            } else {
                let error = RunError::new(Step::Request).with_hint(Hint::PartnerNotStarted);
                Outcome::NotStarted(error)
            };
            let result = never_run(state, outcome);
            self.settle(state, each, result);
        }
    }

    fn urgent(self: &Arc<Self>, state: &mut State, kind: Kind, id: u64, body: &[u8]) {
        state.urgent.push_back(outgoing(kind, id, body, Vec::new()));
        self.flush(state);
        if !state.urgent.is_empty() {
            let _ = self.need_dispatcher(state);
        }
    }

    /// Forgets a run whose handle is dropped, and cancels it if it has not ended.
    pub fn abandon(self: &Arc<Self>, id: u64) {
        {
            let Some(mut state) = self.owned() else {
                return;
            };
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
}

/// The reason why no more runs are accepted, if it is known.
fn over(state: &State) -> Option<Error> {
    let known = || state.died.clone().unwrap_or(EndReason::Closed);
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

/// Makes the outcome an output limit, unless the sandbox ended the run.
fn over_output(result: &mut RunResult) {
    if matches!(result.outcome, Outcome::Exited(_) | Outcome::Signaled(_)) {
        result.outcome = Outcome::OutputLimit;
    }
}

/// Removes the frame of a run from the waiting frames. Returns `None` if the frame was sent.
fn unsent(state: &mut State, id: u64) -> Option<Outgoing> {
    let place = state
        .waiting
        .iter()
        .position(|outgoing| outgoing.ids().contains(&id))?;
    state.waiting.remove(place)
}

/// Returns the result of a run that the supervisor never received.
fn never_run(state: &State, outcome: Outcome) -> RunResult {
    let signal = (outcome == Outcome::Killed).then_some(libc::SIGKILL);
    RunResult {
        outcome,
        exit_code: None,
        signal,
        figures: Default::default(),
        ended_ns: None,
        backend: state.backend,
        start: Default::default(),
    }
}

#[cfg(test)]
mod tests;
