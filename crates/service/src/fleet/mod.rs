//! Several services as one: *front ends* relay the requests of clients to *executors*.
//!
//! An executor is a service with a sandbox. A front end has none, and no state. Both connect to a
//! NATS server, so neither needs to know an address of the other.
//!
//! For each request, the front end opens a *tunnel* to an executor: a stream of bytes in both
//! directions, made of messages. Through the tunnel it speaks HTTP with the executor's own routes.
//! So all interfaces are the same as without a fleet, including WebSockets, event streams and gRPC.
//!
//! | file | content |
//! | --- | --- |
//! | `frame` | the form of a message |
//! | `tunnel` | a stream of bytes over messages |
//! | `load` | what an executor announces |
//! | `roster` | the executors that a front end knows, and the choice among them |
//! | `executor` | serves the requests that arrive through tunnels |
//! | `state` | what all requests of a front end share |
//! | `front` | accepts the requests of clients |
//! | `relay` | one request through one tunnel |
//! | `figures` | metrics of a front end |
//! | `error` | errors |
//!
//! Messages can be lost, but only when a connection to the NATS server fails or is too slow. Both
//! ends notice that, and end all their tunnels. A front end sends a request again to a different
//! executor if the response has not begun and the front end still has the whole request. Runs are
//! sandboxed, so a repetition harms nothing.
//!
//! A front end decides nothing about clients: it relays their tokens, and the executor checks them.
//! So both need the same configuration, which an executor proves with a digest in its
//! announcements. A front end uses no other executors.

mod error;
mod executor;
mod figures;
mod frame;
mod front;
mod load;
mod relay;
mod roster;
mod state;
mod tunnel;

pub use error::FleetError;
pub use executor::Executor;
pub use front::Front;

use millibox_fleet::connection::{Credentials, Server};
use millibox_fleet::name::WorkerName;
use tokio::sync::watch;

/// How a service takes part in a fleet.
#[derive(Debug, Clone)]
pub struct Membership {
    /// The NATS server.
    pub server: Server,
    /// The name and the key.
    pub credentials: Credentials,
}

impl Membership {
    fn name(&self) -> &WorkerName {
        self.credentials.name()
    }
}

/// A random number, which no other process has.
fn random() -> u64 {
    let mut bytes = [0; 8];
    // getrandom(2) returns up to 256 bytes in one call, which no signal interrupts.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    u64::from_be_bytes(bytes)
}

/// Ends all tunnels whenever messages may have been lost.
async fn close_after_losses(tunnels: tunnel::Tunnels, mut losses: watch::Receiver<u64>) {
    while losses.changed().await.is_ok() {
        tunnels.close(|_| true);
    }
}
