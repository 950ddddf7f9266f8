//! What all requests of a front end share.

use super::figures::Figures;
use super::roster::Roster;
use super::tunnel::{Route, Tunnels};
use crate::config::{Config, Dialect};
use crate::core::share::Pool;
use crate::tokens::Tokens;
use async_nats::Client;
use millibox_fleet::name::WorkerName;
use millibox_fleet::service as subject;
use std::sync::atomic::{AtomicU64, Ordering};

/// What all requests of a front end share.
#[derive(Debug)]
pub struct Shared {
    pub config: Config,
    pub tokens: Tokens,
    pub name: WorkerName,
    pub client: Client,
    /// The random number of this process.
    pub epoch: u64,
    /// The number of the next tunnel.
    pub number: AtomicU64,
    pub roster: Roster,
    pub tunnels: Tunnels,
    /// The memory of tunnels and bodies, by client.
    pub clients: Pool<String>,
    /// The same for clients without a token, if tokens are required.
    pub strangers: Pool<String>,
    pub figures: Figures,
}

/// The address to which a client is connected.
#[derive(Debug, Clone, Copy)]
pub struct ListenAddress {
    /// The only dialect at the address.
    pub dialect: Option<Dialect>,
    pub is_unix: bool,
}

impl Shared {
    /// Takes the number of the next tunnel.
    pub fn next_number(&self) -> u64 {
        self.number.fetch_add(1, Ordering::Relaxed)
    }

    /// Where messages to an executor are sent.
    pub fn route(&self, executor: &WorkerName) -> Route {
        Route {
            client: self.client.clone(),
            subject: subject::up(executor, &self.name),
        }
    }
}
