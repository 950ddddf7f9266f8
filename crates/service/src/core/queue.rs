//! Admission: which waiting request runs next, and which is refused.
//!
//! Requests wait in flows. Each client has its own flows, one for each of its batches, so that
//! neither a client nor a batch with many requests delays the others. Free places go to the clients
//! in turn, and to each client's flows in turn. No client has two turns in succession while another
//! client waits, even if that client came later.
//!
//! Each lane has its own queue and its own bound of running requests, so that a full lane does not
//! delay the other one. The lanes share the bounds of the client and the memory budget. The first
//! request in turn keeps its place until its memory is free, so that small requests, of either
//! lane, do not starve a large one.
//!
//! Besides a slot and the memory of its program, a request holds memory of the service: files that
//! it refers to, outputs, and the answer until it is sent. The queue charges that memory as well. A
//! client that holds its share of it waits until its own requests free some.
//!
//! A request with many tests gives its slot to other clients between two tests, if any wait.

mod permit;
mod refusal;
mod state;

pub use permit::{Held, Permit};
pub use refusal::Refusal;

use super::engine::Lane;
use super::share::Bound;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Number of completions over which the rate is measured.
const RATE_SAMPLES: usize = 64;
/// A rate older than this says nothing about the current load.
const RATE_AGE: Duration = Duration::from_secs(30);
const MIN_RETRY_AFTER: Duration = Duration::from_secs(1);
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// A client, identified by the number of its token. Requests without a token share one number.
pub type ClientId = u32;

/// The bounds of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// The maximum number of requests of [`Lane::CpuTime`] that run at the same time.
    pub cpu_time: usize,
    /// The maximum number of requests of [`Lane::RealTime`] that run at the same time.
    pub real_time: usize,
    /// The maximum sum of the memory limits of the running requests, in bytes.
    pub memory_bytes: u64,
    /// The maximum number of waiting requests.
    pub queued: usize,
    /// The maximum sum of the sizes of the waiting requests, in bytes.
    pub queued_bytes: u64,
    /// The maximum sum of the service's own memory that requests hold, in bytes.
    pub held_bytes: u64,
    /// Whether there are several clients, which have shares of the queue and of the held memory.
    pub is_divided: bool,
}

impl Bounds {
    fn share_of(&self, total: u64) -> Bound {
        Bound {
            total,
            is_divided: self.is_divided,
        }
    }

    /// The most that one request is charged for memory of the service that it only may need. A
    /// request that may need more runs when nothing else holds that memory. With several clients,
    /// it need not wait until all of the others have ended, which might never happen.
    pub fn max_charge(&self) -> u64 {
        match self.is_divided {
            true => self.held_bytes / 2,
            false => self.held_bytes,
        }
    }

    /// The maximum number of requests of a lane that run at the same time.
    pub fn running(&self, lane: Lane) -> usize {
        match lane {
            Lane::CpuTime => self.cpu_time,
            Lane::RealTime => self.real_time,
        }
    }
}

/// The place and resources for which a request waits in the queue.
#[derive(Debug, Clone, Copy)]
pub struct Ticket {
    pub client: ClientId,
    /// The place where the request runs.
    pub lane: Lane,
    /// Requests of this client that may run at the same time; 0 means as many as the queue admits.
    pub client_running: usize,
    /// Requests of this client that may wait; 0 means as many as the queue holds.
    pub client_queued: usize,
    /// The flow within the client: 0 for single requests, another number for each batch.
    pub flow: u64,
    /// The memory limit of the request, in bytes.
    pub memory_bytes: u64,
    /// The size of the request, in bytes.
    pub size_bytes: u64,
    /// The memory of the service that the request may hold from its admission on, in bytes.
    pub held_bytes: u64,
    /// How long the request may wait.
    pub patience: Duration,
}

/// The state of the queue at a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Requests that run, in all lanes.
    pub running: usize,
    /// Requests that run, by lane.
    pub running_in: [usize; 2],
    /// The sum of their memory limits, in bytes.
    pub memory_bytes: u64,
    /// Requests that wait.
    pub queued: usize,
    /// The sum of the sizes of the waiting requests, in bytes.
    pub queued_bytes: u64,
    /// The memory of the service that requests hold, in bytes.
    pub held_bytes: u64,
}

impl Load {
    /// Requests of a lane that run.
    pub fn running(&self, lane: Lane) -> usize {
        self.running_in[lane as usize]
    }
}

/// The queue. Cheap to clone: all clones are one queue.
#[derive(Debug, Clone)]
pub struct Queue {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    bounds: Bounds,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    load: Load,
    clients: HashMap<ClientId, Client>,
    /// Clients with waiting requests in each lane, in the order of their turns.
    turns: [VecDeque<ClientId>; 2],
    /// The client that has had the latest turn in each lane.
    latest: [Option<ClientId>; 2],
    /// Whether the first request of a lane lacks only memory, which no other request may take.
    is_memory_awaited: bool,
    /// The lane of that request.
    memory_lane: Option<Lane>,
    /// The times at which the last requests ended.
    ended: VecDeque<Instant>,
    draining: bool,
}

#[derive(Debug, Default)]
struct Client {
    running: usize,
    queued: usize,
    queued_bytes: u64,
    held_bytes: u64,
    lanes: [Flows; 2],
}

/// Waiting requests of a client in one lane.
#[derive(Debug, Default)]
struct Flows {
    flows: HashMap<u64, VecDeque<Waiter>>,
    /// Flows with waiting requests, in the order of their turns.
    turns: VecDeque<u64>,
}

#[derive(Debug)]
struct Waiter {
    admitted: oneshot::Sender<Permit>,
    ticket: Ticket,
    /// Whether the request has run before, and continues when it is admitted.
    is_resumed: bool,
}

impl Queue {
    /// Creates an empty queue.
    pub fn new(bounds: Bounds) -> Queue {
        let state = State {
            load: Load {
                running: 0,
                running_in: [0; 2],
                memory_bytes: 0,
                queued: 0,
                queued_bytes: 0,
                held_bytes: 0,
            },
            clients: HashMap::new(),
            turns: Default::default(),
            latest: [None; 2],
            is_memory_awaited: false,
            memory_lane: None,
            ended: VecDeque::with_capacity(RATE_SAMPLES),
            draining: false,
        };
        Queue {
            shared: Arc::new(Shared {
                bounds,
                state: Mutex::new(state),
            }),
        }
    }

    pub fn bounds(&self) -> &Bounds {
        &self.shared.bounds
    }

    /// The requests that run and wait at this moment.
    pub fn load(&self) -> Load {
        self.shared.state().load
    }

    /// Requests that end in a second while others wait, or 0 if that is not known.
    pub fn rate(&self) -> f64 {
        let state = self.shared.state();
        match state.load.queued {
            0 => 0.0,
            _ => state.rate(),
        }
    }

    /// Refuses all waiting requests and all new ones.
    pub fn drain(&self) {
        let mut state = self.shared.state();
        state.draining = true;
        state.is_memory_awaited = false;
        state.remove_waiters(|waiter| waiter.is_resumed);
        self.shared.admit_waiting(&mut state);
    }

    /// Whether [`Queue::drain`] was called.
    pub fn is_draining(&self) -> bool {
        self.shared.state().draining
    }

    /// Waits for a place. If the caller drops the future, the request leaves the queue.
    ///
    /// # Errors
    /// The request is refused, at once or after it has waited for too long.
    pub async fn admit(&self, ticket: Ticket) -> Result<Permit, Refusal> {
        let begin = Instant::now();
        let mut waiting = match self.shared.enter(ticket)? {
            Entry::Admitted(permit) => return Ok(permit),
            Entry::Waiting(admitted) => Waiting {
                shared: &self.shared,
                admitted: Some(admitted),
            },
        };
        match tokio::time::timeout(ticket.patience, waiting.admitted()).await {
            Ok(admitted) => admitted,
            Err(_) => match waiting.leave() {
                Some(permit) => Ok(permit),
                None => Err(Refusal::TimedOut {
                    waited: begin.elapsed(),
                    retry_after: self.shared.state().retry_after(),
                }),
            },
        }
    }

    /// Gives the slot of a request to clients that wait for one, and waits for the next turn. The
    /// memory of the service that the request holds stays charged.
    ///
    /// # Errors
    /// The queue was dropped.
    pub async fn give_way(&self, permit: Permit, ticket: Ticket) -> Result<Permit, Refusal> {
        let mut waiting = Waiting {
            shared: &self.shared,
            admitted: None,
        };
        let held = {
            let mut state = self.shared.state();
            let others = &state.turns[permit.lane() as usize];
            if others.iter().all(|other| *other == ticket.client) {
                return Ok(permit);
            }
            let ticket = Ticket {
                size_bytes: 0,
                held_bytes: 0,
                ..ticket
            };
            waiting.admitted = Some(state.push(ticket, true));
            permit.leave_slot(&mut state)
        };
        self.shared.admit_waiting(&mut self.shared.state());
        Ok(waiting.admitted().await?.with_held(held))
    }

    /// Charges memory of the service to a client that needs no slot. Returns `None` if the client's
    /// share does not allow that.
    pub fn hold(&self, client: ClientId, bytes: u64) -> Option<Held> {
        let mut state = self.shared.state();
        let bound = self.shared.bounds.share_of(self.shared.bounds.held_bytes);
        if !bound.admits(state.load.held_bytes, state.held_by(client), bytes) {
            return None;
        }
        Some(state.hold(&self.shared, client, bytes))
    }
}

enum Entry {
    Admitted(Permit),
    Waiting(oneshot::Receiver<Permit>),
}

/// A request in the queue, which leaves it if the caller drops the future.
struct Waiting<'a> {
    shared: &'a Arc<Shared>,
    admitted: Option<oneshot::Receiver<Permit>>,
}

impl Waiting<'_> {
    /// Waits until the request is admitted.
    async fn admitted(&mut self) -> Result<Permit, Refusal> {
        let Some(admitted) = &mut self.admitted else {
            return Err(Refusal::Draining);
        };
        // Only draining drops the sender.
        let admitted = admitted.await.map_err(|_| Refusal::Draining);
        self.admitted = None;
        admitted
    }

    /// Leaves the queue. Returns the permit if it was granted at the last moment.
    fn leave(&mut self) -> Option<Permit> {
        let mut admitted = self.admitted.take()?;
        admitted.close();
        if let Ok(permit) = admitted.try_recv() {
            return Some(permit);
        }
        drop(admitted);
        let mut state = self.shared.state();
        state.remove_closed();
        // The request may have been first in turn and too large, and so have held up others.
        self.shared.admit_waiting(&mut state);
        None
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(self: &Arc<Shared>, ticket: Ticket) -> Result<Entry, Refusal> {
        let mut guard = self.state();
        let state = &mut *guard;
        if state.draining {
            return Err(Refusal::Draining);
        }
        if ticket.memory_bytes > self.bounds.memory_bytes {
            return Err(Refusal::TooMuchMemory {
                memory_bytes: ticket.memory_bytes,
                max_bytes: self.bounds.memory_bytes,
            });
        }
        if ticket.held_bytes > self.bounds.held_bytes {
            return Err(Refusal::TooLarge {
                bytes: ticket.held_bytes,
                max_bytes: self.bounds.held_bytes,
            });
        }
        let lane = ticket.lane as usize;
        let is_first = state.turns[lane].is_empty() && !state.is_memory_awaited;
        if is_first && state.has_room(&self.bounds, &ticket) {
            return Ok(Entry::Admitted(state.admit(self, &ticket)));
        }
        let would_be_full = |state: &State| {
            state.load.queued >= self.bounds.queued
                || state.load.queued_bytes.saturating_add(ticket.size_bytes)
                    > self.bounds.queued_bytes
        };
        if would_be_full(state) {
            state.remove_closed();
        }
        if would_be_full(state) {
            return Err(Refusal::QueueFull {
                queued: state.load.queued,
                retry_after: state.retry_after(),
            });
        }
        if state.has_used_share(&self.bounds, &ticket) {
            return Err(Refusal::ShareUsed {
                queued: state.clients.get(&ticket.client).map_or(0, |it| it.queued),
                retry_after: state.retry_after(),
            });
        }
        let receiver = state.push(ticket, false);
        // The request may start although others wait: their clients' bounds may hold them up.
        self.admit_waiting(state);
        Ok(Entry::Waiting(receiver))
    }

    /// Gives free places to waiting requests.
    fn admit_waiting(self: &Arc<Shared>, state: &mut State) {
        state.is_memory_awaited = false;
        let mut lanes = [Lane::CpuTime, Lane::RealTime];
        // The lane whose first request waits for memory comes first, so that the memory that
        // becomes free is not given to the other lane.
        if state.memory_lane == Some(Lane::RealTime) {
            lanes.reverse();
        }
        let awaited = state.memory_lane.take();
        for lane in lanes {
            self.admit_waiting_in(lane, state, awaited == Some(lane));
            if state.is_memory_awaited {
                state.memory_lane = Some(lane);
                return;
            }
        }
    }

    /// If the first request has waited for memory (`keeps_place`), no newcomer passes it.
    fn admit_waiting_in(self: &Arc<Shared>, lane: Lane, state: &mut State, keeps_place: bool) {
        let turns = lane as usize;
        let mut skipped = 0;
        let mut is_passed = keeps_place;
        while skipped < state.turns[turns].len() {
            let Some(id) = state.turns[turns].front().copied() else {
                return;
            };
            state.drop_closed_front(lane, id);
            let Some(ticket) = state.next_ticket(lane, id) else {
                state.turns[turns].retain(|other| *other != id);
                state.forget_idle(id);
                continue;
            };
            if state.load.running(lane) >= self.bounds.running(lane) {
                return;
            }
            if state.waits_for_itself(&self.bounds, &ticket) {
                // Only this client has to wait.
                state.pass_turn(lane);
                skipped += 1;
                continue;
            }
            if !state.has_room(&self.bounds, &ticket) {
                state.is_memory_awaited = true;
                return;
            }
            if state.latest[turns] == Some(id) && state.turns[turns].len() > 1 && !is_passed {
                state.pass_turn(lane);
                is_passed = true;
                continue;
            }
            let Some(waiter) = state.take_next(lane, id) else {
                return;
            };
            let permit = state.admit(self, &waiter.ticket);
            if let Err(permit) = waiter.admitted.send(permit) {
                // The caller no longer waits.
                permit.free_in(state);
            }
            skipped = 0;
            is_passed = false;
        }
    }
}

#[cfg(test)]
mod tests;
