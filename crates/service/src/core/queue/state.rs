//! The state of the queue: counts, and the order of the waiting requests.

use super::{Bounds, Client, ClientId, Flows, Lane, MAX_RETRY_AFTER, MIN_RETRY_AFTER, Permit};
use super::{RATE_AGE, RATE_SAMPLES, State, Ticket, Waiter};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

impl State {
    pub(super) fn has_room(&self, bounds: &Bounds, ticket: &Ticket) -> bool {
        self.load.running(ticket.lane) < bounds.running(ticket.lane)
            && !self.waits_for_itself(bounds, ticket)
            && self.load.memory_bytes.saturating_add(ticket.memory_bytes) <= bounds.memory_bytes
    }

    /// Whether the client must wait for its own requests, or for memory of the service. Others may
    /// overtake it.
    pub(super) fn waits_for_itself(&self, bounds: &Bounds, ticket: &Ticket) -> bool {
        let client = self.clients.get(&ticket.client);
        let running = client.map_or(0, |client| client.running);
        let held = self.held_by(ticket.client);
        let total = self.load.held_bytes;
        let has_memory = ticket.held_bytes == 0
            || bounds
                .share_of(bounds.held_bytes)
                .admits(total, held, ticket.held_bytes);
        (ticket.client_running > 0 && running >= ticket.client_running) || !has_memory
    }

    /// Whether the client has as many waiting requests as it may have.
    pub(super) fn has_used_share(&self, bounds: &Bounds, ticket: &Ticket) -> bool {
        let client = self.clients.get(&ticket.client);
        let queued = client.map_or(0, |client| client.queued);
        let bytes = client.map_or(0, |client| client.queued_bytes);
        let load = &self.load;
        let requests = bounds.share_of(bounds.queued as u64);
        (ticket.client_queued > 0 && queued >= ticket.client_queued)
            || !requests.admits(load.queued as u64, queued as u64, 1)
            || !bounds.share_of(bounds.queued_bytes).admits(
                load.queued_bytes,
                bytes,
                ticket.size_bytes,
            )
    }

    pub(super) fn held_by(&self, client: ClientId) -> u64 {
        self.clients.get(&client).map_or(0, |it| it.held_bytes)
    }

    /// Adds a request to those that wait.
    pub(super) fn push(&mut self, ticket: Ticket, is_resumed: bool) -> oneshot::Receiver<Permit> {
        let (sender, receiver) = oneshot::channel();
        let client = self.clients.entry(ticket.client).or_default();
        client.queued += 1;
        client.queued_bytes += ticket.size_bytes;
        let flows = &mut client.lanes[ticket.lane as usize];
        if flows.turns.is_empty() {
            self.turns[ticket.lane as usize].push_back(ticket.client);
        }
        let flow = flows.flows.entry(ticket.flow).or_default();
        if flow.is_empty() {
            flows.turns.push_back(ticket.flow);
        }
        flow.push_back(Waiter {
            admitted: sender,
            ticket,
            is_resumed,
        });
        self.load.queued += 1;
        self.load.queued_bytes += ticket.size_bytes;
        receiver
    }

    /// Moves the client whose turn is next behind the others that wait in a lane.
    pub(super) fn pass_turn(&mut self, lane: Lane) {
        let turns = &mut self.turns[lane as usize];
        if !turns.is_empty() {
            turns.rotate_left(1);
        }
    }

    pub(super) fn forget_idle(&mut self, id: ClientId) {
        let is_idle = |client: &Client| {
            client.running == 0 && client.held_bytes == 0 && client.is_waiting_nowhere()
        };
        if self.clients.get(&id).is_some_and(is_idle) {
            self.clients.remove(&id);
        }
    }

    /// The ticket of the client's next request.
    pub(super) fn next_ticket(&self, lane: Lane, id: ClientId) -> Option<Ticket> {
        let flows = &self.clients.get(&id)?.lanes[lane as usize];
        let flow = flows.flows.get(flows.turns.front()?)?;
        flow.front().map(|waiter| waiter.ticket)
    }

    /// Takes the client's next request, and passes the turn on.
    pub(super) fn take_next(&mut self, lane: Lane, id: ClientId) -> Option<Waiter> {
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
        client.queued_bytes -= waiter.ticket.size_bytes;
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
    pub(super) fn drop_closed_front(&mut self, lane: Lane, id: ClientId) {
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
            client.queued_bytes -= waiter.ticket.size_bytes;
            self.load.queued -= 1;
            self.load.queued_bytes -= waiter.ticket.size_bytes;
        }
    }

    /// Removes all requests whose callers no longer wait.
    pub(super) fn remove_closed(&mut self) {
        self.remove_waiters(|waiter| !waiter.admitted.is_closed());
    }

    /// Removes the requests that do not stay.
    pub(super) fn remove_waiters(&mut self, stays: impl Fn(&Waiter) -> bool) {
        let load = &mut self.load;
        for client in self.clients.values_mut() {
            let (queued, bytes) = (&mut client.queued, &mut client.queued_bytes);
            for Flows { flows, turns } in &mut client.lanes {
                for waiters in flows.values_mut() {
                    waiters.retain(|waiter| {
                        let stays = stays(waiter);
                        if !stays {
                            *queued -= 1;
                            *bytes -= waiter.ticket.size_bytes;
                            load.queued -= 1;
                            load.queued_bytes -= waiter.ticket.size_bytes;
                        }
                        stays
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
        self.clients.retain(|_, client| {
            client.running > 0 || client.held_bytes > 0 || !client.is_waiting_nowhere()
        });
    }

    pub(super) fn note_end(&mut self) {
        if self.ended.len() == RATE_SAMPLES {
            self.ended.pop_front();
        }
        self.ended.push_back(Instant::now());
    }

    /// Requests that end in a second, or 0 if that is not known.
    pub(super) fn rate(&self) -> f64 {
        let recent = self.ended.iter().filter(|ended| ended.elapsed() < RATE_AGE);
        let times: Vec<_> = recent.collect();
        match times.first() {
            Some(first) if times.len() > 1 => {
                times.len() as f64 / first.elapsed().as_secs_f64().max(0.001)
            }
            _ => 0.0,
        }
    }

    /// An estimate of the time until all waiting requests have been admitted, from the rate at
    /// which the last requests ended.
    pub(super) fn retry_after(&self) -> Duration {
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
    pub(super) fn is_waiting_nowhere(&self) -> bool {
        self.lanes.iter().all(|lane| lane.flows.is_empty())
    }
}
