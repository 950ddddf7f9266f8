//! Admission: which waiting request runs next, and which is refused.
//!
//! Requests wait in flows. Each client has its own, and within a client each batch has one, so that
//! neither a client nor a batch with many requests delays the others: free places are given to the
//! clients in turn, and to the flows of a client in turn.
//!
//! A request is admitted when the number of running requests and the sum of their memory limits
//! allow it. The first request in turn keeps its place until its memory is free, so that small
//! requests do not starve a large one.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Completions over which the rate is measured.
const RATE_SAMPLES: usize = 64;
/// A rate older than this says nothing about the present.
const RATE_AGE: Duration = Duration::from_secs(30);
const MIN_RETRY_AFTER: Duration = Duration::from_secs(1);
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// A client by the number of its token. Requests without a token share one number.
pub type ClientId = u32;

/// The bounds of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Requests that run at one time.
    pub running: usize,
    /// The sum of the memory limits of the running requests, in bytes.
    pub memory_bytes: u64,
    /// Requests that wait.
    pub queued: usize,
    /// The sum of the sizes of the waiting requests, in bytes.
    pub queued_bytes: u64,
}

/// What a request asks of the queue.
#[derive(Debug, Clone, Copy)]
pub struct Ticket {
    /// Who asks.
    pub client: ClientId,
    /// Requests of this client that may run at one time; 0: as many as the queue admits.
    pub client_running: usize,
    /// Requests of this client that may wait; 0: as many as the queue holds.
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

/// Why a request was not admitted. Nothing of it ran.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The queue is full.
    #[error("the queue is full: {queued} requests are waiting")]
    QueueFull {
        /// Requests that wait.
        queued: usize,
        /// When a retry is likely to succeed.
        retry_after: Duration,
    },
    /// The client's share of the queue is used up.
    #[error("this client has {queued} requests waiting, as many as it may have")]
    ShareUsed {
        /// The client's requests that wait.
        queued: usize,
        /// When a retry is likely to succeed.
        retry_after: Duration,
    },
    /// The request waited as long as it may.
    #[error("no place became free within {} ms", .waited.as_millis())]
    TimedOut {
        /// How long it waited.
        waited: Duration,
        /// When a retry is likely to succeed.
        retry_after: Duration,
    },
    /// The service is shutting down.
    #[error("the service is shutting down")]
    Draining,
    /// The memory limit exceeds what all requests together may have.
    #[error("a memory limit of {memory_bytes} bytes exceeds the {max_bytes} bytes of this service")]
    TooMuchMemory {
        /// The memory limit of the request.
        memory_bytes: u64,
        /// The memory of all running requests together.
        max_bytes: u64,
    },
}

impl Refusal {
    /// When a retry is likely to succeed, if ever.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Refusal::QueueFull { retry_after, .. }
            | Refusal::ShareUsed { retry_after, .. }
            | Refusal::TimedOut { retry_after, .. } => Some(*retry_after),
            Refusal::Draining => Some(MIN_RETRY_AFTER),
            Refusal::TooMuchMemory { .. } => None,
        }
    }
}

/// The state of the queue at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Requests that run.
    pub running: usize,
    /// The sum of their memory limits, in bytes.
    pub memory_bytes: u64,
    /// Requests that wait.
    pub queued: usize,
    /// The sum of the sizes of the waiting requests, in bytes.
    pub queued_bytes: u64,
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
    /// Clients with waiting requests, in the order of their turns.
    turns: VecDeque<ClientId>,
    /// When the last requests ended.
    ended: VecDeque<Instant>,
    draining: bool,
}

#[derive(Debug, Default)]
struct Client {
    running: usize,
    queued: usize,
    flows: HashMap<u64, VecDeque<Waiter>>,
    /// Flows with waiting requests, in the order of their turns.
    turns: VecDeque<u64>,
}

#[derive(Debug)]
struct Waiter {
    admitted: oneshot::Sender<Permit>,
    ticket: Ticket,
}

/// The place of a running request, which dropping it frees.
#[derive(Debug)]
pub struct Permit {
    /// `None` once the place is free.
    shared: Option<Arc<Shared>>,
    client: ClientId,
    memory_bytes: u64,
}

impl Queue {
    /// An empty queue.
    pub fn new(bounds: Bounds) -> Queue {
        let state = State {
            load: Load {
                running: 0,
                memory_bytes: 0,
                queued: 0,
                queued_bytes: 0,
            },
            clients: HashMap::new(),
            turns: VecDeque::new(),
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

    /// What runs and waits at this moment.
    pub fn load(&self) -> Load {
        self.shared.state().load
    }

    /// Refuses all waiting and all further requests.
    pub fn drain(&self) {
        let mut state = self.shared.state();
        state.draining = true;
        state.turns.clear();
        for client in state.clients.values_mut() {
            client.flows.clear();
            client.turns.clear();
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
    /// The request is refused, at once or when its patience ends.
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
    /// Leaves the queue. Returns the permit if it came at the last moment.
    fn leave(&mut self) -> Option<Permit> {
        let mut admitted = self.admitted.take()?;
        admitted.close();
        if let Ok(permit) = admitted.try_recv() {
            return Some(permit);
        }
        drop(admitted);
        let mut state = self.shared.state();
        state.remove_closed();
        // The request may have been the first in turn, and too large.
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
        let mut state = self.state();
        if state.draining {
            return Err(Refusal::Draining);
        }
        if ticket.memory_bytes > self.bounds.memory_bytes {
            return Err(Refusal::TooMuchMemory {
                memory_bytes: ticket.memory_bytes,
                max_bytes: self.bounds.memory_bytes,
            });
        }
        if state.turns.is_empty() && state.has_room(&self.bounds, &ticket) {
            return Ok(Entry::Admitted(state.admit(self, &ticket)));
        }
        let would_be_full = |state: &State| {
            state.load.queued >= self.bounds.queued
                || state.load.queued_bytes.saturating_add(ticket.size_bytes)
                    > self.bounds.queued_bytes
        };
        if would_be_full(&state) {
            state.remove_closed();
        }
        if would_be_full(&state) {
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
        if client.turns.is_empty() {
            state.turns.push_back(ticket.client);
        }
        let client = state.clients.entry(ticket.client).or_default();
        let flow = client.flows.entry(ticket.flow).or_default();
        if flow.is_empty() {
            client.turns.push_back(ticket.flow);
        }
        flow.push_back(Waiter {
            admitted: sender,
            ticket,
        });
        client.queued += 1;
        state.load.queued += 1;
        state.load.queued_bytes += ticket.size_bytes;
        // Other clients may be held up by their own bounds.
        self.admit_waiting(&mut state);
        Ok(Entry::Waiting(receiver))
    }

    /// Gives free places to waiting requests.
    fn admit_waiting(self: &Arc<Shared>, state: &mut State) {
        let mut skipped = 0;
        while skipped < state.turns.len() {
            let Some(id) = state.turns.front().copied() else {
                return;
            };
            state.drop_closed_front(id);
            let Some(ticket) = state.next_ticket(id) else {
                state.turns.retain(|other| *other != id);
                state.forget_idle(id);
                continue;
            };
            if state.load.running >= self.bounds.running {
                return;
            }
            let running = state.clients.get(&id).map_or(0, |client| client.running);
            if ticket.client_running > 0 && running >= ticket.client_running {
                // Only this client has to wait.
                state.turns.rotate_left(1);
                skipped += 1;
                continue;
            }
            if !state.has_room(&self.bounds, &ticket) {
                return;
            }
            let Some(waiter) = state.take_next(id) else {
                return;
            };
            let permit = state.admit(self, &waiter.ticket);
            if let Err(mut permit) = waiter.admitted.send(permit) {
                // The caller has gone. The state is locked here, so the permit must not free its
                // place itself.
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
        self.load.running < bounds.running
            && (ticket.client_running == 0 || running < ticket.client_running)
            && self.load.memory_bytes.saturating_add(ticket.memory_bytes) <= bounds.memory_bytes
    }

    fn admit(&mut self, shared: &Arc<Shared>, ticket: &Ticket) -> Permit {
        self.load.running += 1;
        self.load.memory_bytes += ticket.memory_bytes;
        self.clients.entry(ticket.client).or_default().running += 1;
        Permit {
            shared: Some(shared.clone()),
            client: ticket.client,
            memory_bytes: ticket.memory_bytes,
        }
    }

    fn release(&mut self, permit: &Permit) {
        self.load.running -= 1;
        self.load.memory_bytes -= permit.memory_bytes;
        if let Some(client) = self.clients.get_mut(&permit.client) {
            client.running -= 1;
        }
        self.forget_idle(permit.client);
    }

    fn forget_idle(&mut self, id: ClientId) {
        let is_idle = |client: &Client| client.running == 0 && client.flows.is_empty();
        if self.clients.get(&id).is_some_and(is_idle) {
            self.clients.remove(&id);
        }
    }

    /// The ticket of the client's next request.
    fn next_ticket(&self, id: ClientId) -> Option<Ticket> {
        let client = self.clients.get(&id)?;
        let flow = client.flows.get(client.turns.front()?)?;
        flow.front().map(|waiter| waiter.ticket)
    }

    /// Takes the client's next request, and passes the turn on.
    fn take_next(&mut self, id: ClientId) -> Option<Waiter> {
        let client = self.clients.get_mut(&id)?;
        let flow = client.turns.pop_front()?;
        let waiters = client.flows.get_mut(&flow)?;
        let waiter = waiters.pop_front()?;
        if waiters.is_empty() {
            client.flows.remove(&flow);
        } else {
            client.turns.push_back(flow);
        }
        client.queued -= 1;
        self.load.queued -= 1;
        self.load.queued_bytes -= waiter.ticket.size_bytes;
        self.turns.pop_front();
        if !client.turns.is_empty() {
            self.turns.push_back(id);
        }
        Some(waiter)
    }

    /// Drops requests at the front of the client's turn whose callers have gone.
    fn drop_closed_front(&mut self, id: ClientId) {
        let is_closed = |client: &Client| {
            let flow = client.turns.front().and_then(|flow| client.flows.get(flow));
            flow.and_then(VecDeque::front)
                .is_some_and(|waiter| waiter.admitted.is_closed())
        };
        while self.clients.get(&id).is_some_and(is_closed) {
            let Some(client) = self.clients.get_mut(&id) else {
                return;
            };
            let Some(flow) = client.turns.front().copied() else {
                return;
            };
            let Some(waiter) = client.flows.get_mut(&flow).and_then(VecDeque::pop_front) else {
                return;
            };
            if client.flows.get(&flow).is_some_and(VecDeque::is_empty) {
                client.flows.remove(&flow);
                client.turns.pop_front();
            }
            client.queued -= 1;
            self.load.queued -= 1;
            self.load.queued_bytes -= waiter.ticket.size_bytes;
        }
    }

    /// Removes all requests whose callers have gone.
    fn remove_closed(&mut self) {
        let load = &mut self.load;
        for client in self.clients.values_mut() {
            for waiters in client.flows.values_mut() {
                waiters.retain(|waiter| {
                    let is_waiting = !waiter.admitted.is_closed();
                    if !is_waiting {
                        client.queued -= 1;
                        load.queued -= 1;
                        load.queued_bytes -= waiter.ticket.size_bytes;
                    }
                    is_waiting
                });
            }
            client.flows.retain(|_, waiters| !waiters.is_empty());
            let flows = &client.flows;
            client.turns.retain(|flow| flows.contains_key(flow));
        }
        let clients = &self.clients;
        self.turns.retain(|id| {
            clients
                .get(id)
                .is_some_and(|client| !client.turns.is_empty())
        });
        self.clients
            .retain(|_, client| client.running > 0 || !client.flows.is_empty());
    }

    fn note_end(&mut self) {
        if self.ended.len() == RATE_SAMPLES {
            self.ended.pop_front();
        }
        self.ended.push_back(Instant::now());
    }

    /// The time in which the requests that wait now will have been served, from the rate at which
    /// the last ones ended.
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
mod tests {
    use super::*;

    fn queue(running: usize, queued: usize) -> Queue {
        Queue::new(Bounds {
            running,
            memory_bytes: 100,
            queued,
            queued_bytes: 1000,
        })
    }

    fn ticket(client: ClientId) -> Ticket {
        Ticket {
            client,
            client_running: 0,
            client_queued: 0,
            flow: 0,
            memory_bytes: 10,
            size_bytes: 1,
            patience: Duration::from_secs(10),
        }
    }

    async fn spawn_waiting(
        queue: &Queue,
        ticket: Ticket,
        name: &'static str,
        order: &Arc<Mutex<Vec<&'static str>>>,
    ) -> tokio::task::JoinHandle<()> {
        let (waiting, order) = (queue.load().queued, order.clone());
        let task = tokio::spawn({
            let queue = queue.clone();
            async move {
                let permit = queue.admit(ticket).await.unwrap();
                order.lock().unwrap().push(name);
                drop(permit);
            }
        });
        while queue.load().queued == waiting {
            tokio::task::yield_now().await;
        }
        task
    }

    #[tokio::test]
    async fn clients_and_flows_take_turns() {
        let (queue, order) = (queue(1, 100), Arc::default());
        let first = queue.admit(ticket(1)).await.unwrap();
        let mut tasks = Vec::new();
        let batch = Ticket {
            flow: 7,
            ..ticket(1)
        };
        for (ticket, name) in [
            (ticket(1), "1a"),
            (ticket(1), "1b"),
            (batch, "1 batch"),
            (ticket(2), "2a"),
        ] {
            tasks.push(spawn_waiting(&queue, ticket, name, &order).await);
        }
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), ["1a", "2a", "1 batch", "1b"]);
        assert_eq!(queue.load().running, 0);
        assert_eq!(queue.load().memory_bytes, 0);
    }

    #[tokio::test]
    async fn full_queue_refuses_with_retry_after() {
        let queue = queue(1, 1);
        let permit = queue.admit(ticket(1)).await.unwrap();
        let waiting = spawn_waiting(&queue, ticket(1), "a", &Arc::default()).await;
        let refused = queue.admit(ticket(1)).await.unwrap_err();
        assert!(
            matches!(refused, Refusal::QueueFull { queued: 1, .. }),
            "{refused:?}"
        );
        assert!(refused.retry_after() >= Some(MIN_RETRY_AFTER));
        drop(permit);
        waiting.await.unwrap();
    }

    #[tokio::test]
    async fn patience_and_departure_free_the_place_in_the_queue() {
        let queue = queue(1, 10);
        let permit = queue.admit(ticket(1)).await.unwrap();
        let impatient = Ticket {
            patience: Duration::from_millis(5),
            ..ticket(1)
        };
        let refused = queue.admit(impatient).await.unwrap_err();
        assert!(matches!(refused, Refusal::TimedOut { .. }), "{refused:?}");
        let waiting = spawn_waiting(&queue, ticket(2), "gone", &Arc::default()).await;
        waiting.abort();
        assert!(waiting.await.is_err());
        drop(permit);
        let permit = queue.admit(ticket(1)).await.unwrap();
        drop(permit);
        assert_eq!(queue.load().running, 0);
        assert_eq!((queue.load().queued, queue.load().queued_bytes), (0, 0));
    }

    #[tokio::test]
    async fn memory_is_a_budget_and_a_large_request_is_not_starved() {
        let (queue, order) = (queue(10, 10), Arc::default());
        let large = Ticket {
            memory_bytes: 95,
            ..ticket(1)
        };
        let permit = queue.admit(ticket(1)).await.unwrap();
        let first = spawn_waiting(&queue, large, "large", &order).await;
        let second = spawn_waiting(&queue, ticket(2), "small", &order).await;
        assert!(order.lock().unwrap().is_empty());
        drop(permit);
        first.await.unwrap();
        second.await.unwrap();
        assert_eq!(*order.lock().unwrap(), ["large", "small"]);
        let too_large = Ticket {
            memory_bytes: 101,
            ..ticket(1)
        };
        let refused = queue.admit(too_large).await.unwrap_err();
        assert_eq!(
            refused,
            Refusal::TooMuchMemory {
                memory_bytes: 101,
                max_bytes: 100
            }
        );
    }

    #[tokio::test]
    async fn share_of_a_client_holds_up_only_that_client() {
        let queue = queue(10, 10);
        let limited = Ticket {
            client_running: 1,
            client_queued: 1,
            ..ticket(1)
        };
        let permit = queue.admit(limited).await.unwrap();
        let waiting = spawn_waiting(&queue, limited, "a", &Arc::default()).await;
        let refused = queue.admit(limited).await.unwrap_err();
        assert!(matches!(refused, Refusal::ShareUsed { queued: 1, .. }));
        let other = tokio::time::timeout(Duration::from_secs(5), queue.admit(ticket(2)));
        drop(
            other
                .await
                .expect("the other client is not held up")
                .unwrap(),
        );
        drop(permit);
        waiting.await.unwrap();
    }

    #[tokio::test]
    async fn draining_refuses_waiting_and_new_requests() {
        let queue = queue(1, 10);
        let permit = queue.admit(ticket(1)).await.unwrap();
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.admit(ticket(1)).await.map(drop) }
        });
        while queue.load().queued == 0 {
            tokio::task::yield_now().await;
        }
        queue.drain();
        assert_eq!(waiting.await.unwrap(), Err(Refusal::Draining));
        assert_eq!(queue.admit(ticket(1)).await.unwrap_err(), Refusal::Draining);
        drop(permit);
    }
}
