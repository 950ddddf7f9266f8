//! What an admitted request has: a slot with the memory of its program, and memory of the service.

use super::{ClientId, Shared, State, Ticket};
use crate::core::engine::Lane;
use std::sync::Arc;

/// The place of a running request. Dropping the value frees the place.
#[derive(Debug)]
pub struct Permit {
    slot: Occupied,
    held: Held,
}

#[derive(Debug)]
struct Occupied {
    /// `None` once the slot is free.
    shared: Option<Arc<Shared>>,
    client: ClientId,
    lane: Lane,
    memory_bytes: u64,
}

/// Memory of the service that a request holds. Dropping the value frees the memory.
#[derive(Debug)]
pub struct Held {
    /// `None` if no memory is charged.
    shared: Option<Arc<Shared>>,
    client: ClientId,
    bytes: u64,
}

impl Permit {
    pub(super) fn lane(&self) -> Lane {
        self.slot.lane
    }

    /// Frees the slot, but not the memory of the service, which is then needed until the answer has
    /// been sent.
    pub fn into_held(self) -> Held {
        drop(self.slot);
        self.held
    }

    /// Frees the slot while the caller has locked the state.
    pub(super) fn leave_slot(self, state: &mut State) -> Held {
        let Permit { mut slot, held } = self;
        slot.free_in(state);
        held
    }

    pub(super) fn with_held(self, held: Held) -> Permit {
        Permit {
            slot: self.slot,
            held,
        }
    }

    /// Frees everything while the caller has locked the state.
    pub(super) fn free_in(self, state: &mut State) {
        let mut held = self.leave_slot(state);
        held.free_in(state);
    }
}

impl Occupied {
    fn free_in(&mut self, state: &mut State) {
        if self.shared.take().is_none() {
            return;
        }
        state.load.running -= 1;
        state.load.running_in[self.lane as usize] -= 1;
        state.load.memory_bytes -= self.memory_bytes;
        if let Some(client) = state.clients.get_mut(&self.client) {
            client.running -= 1;
        }
        state.forget_idle(self.client);
    }
}

impl Drop for Occupied {
    fn drop(&mut self) {
        let Some(shared) = self.shared.clone() else {
            return;
        };
        let mut state = shared.state();
        state.note_end();
        self.free_in(&mut state);
        shared.admit_waiting(&mut state);
    }
}

impl Held {
    /// No memory.
    pub fn nothing() -> Held {
        Held {
            shared: None,
            client: 0,
            bytes: 0,
        }
    }

    fn free_in(&mut self, state: &mut State) {
        if self.shared.take().is_none() {
            return;
        }
        state.load.held_bytes -= self.bytes;
        if let Some(client) = state.clients.get_mut(&self.client) {
            client.held_bytes -= self.bytes;
        }
        state.forget_idle(self.client);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(shared) = self.shared.clone() else {
            return;
        };
        let mut state = shared.state();
        self.free_in(&mut state);
        shared.admit_waiting(&mut state);
    }
}

impl State {
    pub(super) fn admit(&mut self, shared: &Arc<Shared>, ticket: &Ticket) -> Permit {
        self.latest[ticket.lane as usize] = Some(ticket.client);
        self.load.running += 1;
        self.load.running_in[ticket.lane as usize] += 1;
        self.load.memory_bytes += ticket.memory_bytes;
        self.clients.entry(ticket.client).or_default().running += 1;
        Permit {
            slot: Occupied {
                shared: Some(shared.clone()),
                client: ticket.client,
                lane: ticket.lane,
                memory_bytes: ticket.memory_bytes,
            },
            held: self.hold(shared, ticket.client, ticket.held_bytes),
        }
    }

    pub(super) fn hold(&mut self, shared: &Arc<Shared>, client: ClientId, bytes: u64) -> Held {
        if bytes == 0 {
            return Held::nothing();
        }
        self.load.held_bytes += bytes;
        self.clients.entry(client).or_default().held_bytes += bytes;
        Held {
            shared: Some(shared.clone()),
            client,
            bytes,
        }
    }
}
