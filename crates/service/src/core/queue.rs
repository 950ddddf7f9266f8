//! Admission: which waiting request runs next, and which is refused.
//!
//! Requests wait in flows. Each client has its own flows, one for each of its batches, so that
//! neither a client nor a batch with many requests delays the others. Free places go to the clients
//! in turn, and to each client's flows in turn.
//!
//! Each lane has its own queue and its own bound of running requests, so that a full lane does not
//! delay the other one. The lanes share the bounds of the client and the memory budget. The first
//! request in turn keeps its place until its memory is free, so that small requests, of either
//! lane, do not starve a large one.

mod refusal;

pub use refusal::Refusal;

use super::engine::Lane;
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
}

impl Bounds {
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
    /// The client.
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
}

/// The place of a running request. Dropping the value frees the place.
#[derive(Debug)]
pub struct Permit {
    /// `None` once the place is free.
    shared: Option<Arc<Shared>>,
    client: ClientId,
    lane: Lane,
    memory_bytes: u64,
}

impl Queue {
    /// An empty queue.
    pub fn new(bounds: Bounds) -> Queue {
        let state = State {
            load: Load {
                running: 0,
                running_in: [0; 2],
                memory_bytes: 0,
                queued: 0,
                queued_bytes: 0,
            },
            clients: HashMap::new(),
            turns: Default::default(),
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

    /// The bounds.
    pub fn bounds(&self) -> &Bounds {
        &self.shared.bounds
    }

    /// The requests that run and wait at this moment.
    pub fn load(&self) -> Load {
        self.shared.state().load
    }

    /// Refuses all waiting requests and all new ones.
    pub fn drain(&self) {
        let mut state = self.shared.state();
        state.draining = true;
        state.turns = Default::default();
        state.is_memory_awaited = false;
        for client in state.clients.values_mut() {
            client.lanes = Default::default();
            client.queued = 0;
        }
        state.load.queued = 0;
        state.load.queued_bytes = 0;
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
        let Some(admitted) = &mut waiting.admitted else {
            return Err(Refusal::Draining);
        };
        match tokio::time::timeout(ticket.patience, admitted).await {
            Ok(admitted) => {
                waiting.admitted = None;
                // Only draining drops the sender.
                admitted.map_err(|_| Refusal::Draining)
            }
            Err(_) => match waiting.leave() {
                Some(permit) => Ok(permit),
                None => Err(Refusal::TimedOut {
                    waited: begin.elapsed(),
                    retry_after: self.shared.state().retry_after(),
                }),
            },
        }
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
        let retry_after = state.retry_after();
        let client = state.clients.entry(ticket.client).or_default();
        if ticket.client_queued > 0 && client.queued >= ticket.client_queued {
            return Err(Refusal::ShareUsed {
                queued: client.queued,
                retry_after,
            });
        }
        let (sender, receiver) = oneshot::channel();
        client.queued += 1;
        let flows = &mut client.lanes[lane];
        if flows.turns.is_empty() {
            state.turns[lane].push_back(ticket.client);
        }
        let flow = flows.flows.entry(ticket.flow).or_default();
        if flow.is_empty() {
            flows.turns.push_back(ticket.flow);
        }
        flow.push_back(Waiter {
            admitted: sender,
            ticket,
        });
        state.load.queued += 1;
        state.load.queued_bytes += ticket.size_bytes;
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
        state.memory_lane = None;
        for lane in lanes {
            self.admit_waiting_in(lane, state);
            if state.is_memory_awaited {
                state.memory_lane = Some(lane);
                return;
            }
        }
    }

    fn admit_waiting_in(self: &Arc<Shared>, lane: Lane, state: &mut State) {
        let turns = lane as usize;
        let mut skipped = 0;
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
            let running = state.clients.get(&id).map_or(0, |client| client.running);
            if ticket.client_running > 0 && running >= ticket.client_running {
                // Only this client has to wait.
                state.turns[turns].rotate_left(1);
                skipped += 1;
                continue;
            }
            if !state.has_room(&self.bounds, &ticket) {
                state.is_memory_awaited = true;
                return;
            }
            let Some(waiter) = state.take_next(lane, id) else {
                return;
            };
            let permit = state.admit(self, &waiter.ticket);
            if let Err(mut permit) = waiter.admitted.send(permit) {
                // The caller no longer waits. The state is locked here, so the permit must not free
                // its place itself.
                state.release(&permit);
                permit.shared = None;
            }
            skipped = 0;
        }
    }
}

impl State {
    fn has_room(&self, bounds: &Bounds, ticket: &Ticket) -> bool {
        let running = self
            .clients
            .get(&ticket.client)
            .map_or(0, |client| client.running);
        self.load.running(ticket.lane) < bounds.running(ticket.lane)
            && (ticket.client_running == 0 || running < ticket.client_running)
            && self.load.memory_bytes.saturating_add(ticket.memory_bytes) <= bounds.memory_bytes
    }

    fn admit(&mut self, shared: &Arc<Shared>, ticket: &Ticket) -> Permit {
        self.load.running += 1;
        self.load.running_in[ticket.lane as usize] += 1;
        self.load.memory_bytes += ticket.memory_bytes;
        self.clients.entry(ticket.client).or_default().running += 1;
        Permit {
            shared: Some(shared.clone()),
            client: ticket.client,
            lane: ticket.lane,
            memory_bytes: ticket.memory_bytes,
        }
    }

    fn release(&mut self, permit: &Permit) {
        self.load.running -= 1;
        self.load.running_in[permit.lane as usize] -= 1;
        self.load.memory_bytes -= permit.memory_bytes;
        if let Some(client) = self.clients.get_mut(&permit.client) {
            client.running -= 1;
        }
        self.forget_idle(permit.client);
    }

    fn forget_idle(&mut self, id: ClientId) {
        let is_idle = |client: &Client| client.running == 0 && client.is_waiting_nowhere();
        if self.clients.get(&id).is_some_and(is_idle) {
            self.clients.remove(&id);
        }
    }

    /// The ticket of the client's next request.
    fn next_ticket(&self, lane: Lane, id: ClientId) -> Option<Ticket> {
        let flows = &self.clients.get(&id)?.lanes[lane as usize];
        let flow = flows.flows.get(flows.turns.front()?)?;
        flow.front().map(|waiter| waiter.ticket)
    }

    /// Takes the client's next request, and passes the turn on.
    fn take_next(&mut self, lane: Lane, id: ClientId) -> Option<Waiter> {
        let client = self.clients.get_mut(&id)?;
        let flows = &mut client.lanes[lane as usize];
        let flow = flows.turns.pop_front()?;
        let waiters = flows.flows.get_mut(&flow)?;
        let waiter = waiters.pop_front()?;
        if waiters.is_empty() {
            flows.flows.remove(&flow);
        } else {
            flows.turns.push_back(flow);
        }
        client.queued -= 1;
        self.load.queued -= 1;
        self.load.queued_bytes -= waiter.ticket.size_bytes;
        let turns = &mut self.turns[lane as usize];
        turns.pop_front();
        if !flows.turns.is_empty() {
            turns.push_back(id);
        }
        Some(waiter)
    }

    /// Drops requests at the front of the client's turn whose callers no longer wait.
    fn drop_closed_front(&mut self, lane: Lane, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        let Flows { flows, turns } = &mut client.lanes[lane as usize];
        while let Some(flow) = turns.front().copied() {
            let Some(waiters) = flows.get_mut(&flow) else {
                return;
            };
            let is_closed = |waiter: &Waiter| waiter.admitted.is_closed();
            if !waiters.front().is_some_and(is_closed) {
                return;
            }
            let Some(waiter) = waiters.pop_front() else {
                return;
            };
            if waiters.is_empty() {
                flows.remove(&flow);
                turns.pop_front();
            }
            client.queued -= 1;
            self.load.queued -= 1;
            self.load.queued_bytes -= waiter.ticket.size_bytes;
        }
    }

    /// Removes all requests whose callers no longer wait.
    fn remove_closed(&mut self) {
        let load = &mut self.load;
        for client in self.clients.values_mut() {
            let queued = &mut client.queued;
            for Flows { flows, turns } in &mut client.lanes {
                for waiters in flows.values_mut() {
                    waiters.retain(|waiter| {
                        let is_waiting = !waiter.admitted.is_closed();
                        if !is_waiting {
                            *queued -= 1;
                            load.queued -= 1;
                            load.queued_bytes -= waiter.ticket.size_bytes;
                        }
                        is_waiting
                    });
                }
                flows.retain(|_, waiters| !waiters.is_empty());
                turns.retain(|flow| flows.contains_key(flow));
            }
        }
        let clients = &self.clients;
        for (lane, turns) in self.turns.iter_mut().enumerate() {
            turns.retain(|id| {
                let client = clients.get(id);
                client.is_some_and(|client| !client.lanes[lane].turns.is_empty())
            });
        }
        self.clients
            .retain(|_, client| client.running > 0 || !client.is_waiting_nowhere());
    }

    fn note_end(&mut self) {
        if self.ended.len() == RATE_SAMPLES {
            self.ended.pop_front();
        }
        self.ended.push_back(Instant::now());
    }

    /// An estimate of the time until all waiting requests have been admitted, from the rate at
    /// which the last requests ended.
    fn retry_after(&self) -> Duration {
        let recent = self
            .ended
            .iter()
            .filter(|ended| ended.elapsed() < RATE_AGE)
            .collect::<Vec<_>>();
        let (Some(first), true) = (recent.first(), recent.len() > 1) else {
            return MIN_RETRY_AFTER;
        };
        let span = first.elapsed();
        let count = u32::try_from(recent.len()).unwrap_or(u32::MAX);
        let queued = u32::try_from(self.load.queued).unwrap_or(u32::MAX);
        (span / count)
            .saturating_mul(queued)
            .clamp(MIN_RETRY_AFTER, MAX_RETRY_AFTER)
    }
}

impl Client {
    fn is_waiting_nowhere(&self) -> bool {
        self.lanes.iter().all(|lane| lane.flows.is_empty())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(shared) = self.shared.take() else {
            return;
        };
        let mut state = shared.state();
        state.note_end();
        state.release(self);
        shared.admit_waiting(&mut state);
    }
}

#[cfg(test)]
mod tests;
