//! The connections of users and guests.
//!
//! A connection belongs to the network from which it comes until a request on it shows a valid
//! session or token. From then on it belongs to the user. Users and guests have separate pools, so
//! guests cannot take the connections of users. If a pool is full, the network or the user with the
//! most connections loses the one that was idle for the longest time. So a new connection is
//! accepted at any time, and the user can sign in.

use crate::core::pool::{Permit, Pool};
use crate::core::throttle::customer;
use axum::extract::Request;
use millibox_web::listen::{Admission, Permit as ConnectionPermit};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Connections at one time, if the process may have twice as many open files.
const MAX_CONNECTIONS: usize = 8192;
/// The maximum number of connections of one user.
const CONNECTIONS_OF_USER: usize = 256;

/// The connections of a site.
#[derive(Debug)]
pub struct Connections {
    guests: Pool<IpAddr>,
    users: Pool<i64>,
}

/// A connection, whose place is free after the drop.
#[derive(Debug)]
pub struct Connection {
    all: Arc<Connections>,
    /// The address from which the connection comes.
    address: IpAddr,
    holder: Mutex<Holder>,
    /// Cancelled when the connection has lost its place.
    lost: CancellationToken,
}

#[derive(Debug)]
enum Holder {
    Guest(IpAddr, Permit<IpAddr>),
    User(i64, Permit<i64>),
}

impl Connections {
    /// Pools for a process that may open this many files.
    pub fn with_files(files: usize) -> Arc<Connections> {
        Connections::new((files / 2).min(MAX_CONNECTIONS))
    }

    /// Pools with a number of places, half of which guests can have. A browser begins as a guest.
    pub fn new(bound: usize) -> Arc<Connections> {
        let guests = (bound / 2).max(1);
        let users = (bound - guests).max(1);
        Arc::new(Connections {
            guests: Pool::new(guests, guests),
            users: Pool::new(users, CONNECTIONS_OF_USER.min(users)),
        })
    }

    /// A new connection from an address.
    pub fn accept(self: &Arc<Connections>, address: IpAddr) -> Connection {
        let (lost, network) = (CancellationToken::new(), customer(address));
        let place = self.guests.replace(network, &lost);
        Connection {
            all: self.clone(),
            address,
            holder: Mutex::new(Holder::Guest(network, place)),
            lost,
        }
    }
}

/// Every connection is admitted at once, because a different connection loses its permit.
impl Admission for Connections {
    type Turn = ();
    type Permit = Connection;

    async fn turn(&self) {}

    fn admit(self: &Arc<Connections>, (): (), peer: Option<IpAddr>) -> Option<Connection> {
        Some(self.accept(peer?))
    }
}

/// Each request gets its connection and the address from which it comes.
impl ConnectionPermit for Connection {
    fn receive<B>(self: &Arc<Connection>, request: &mut Request<B>) {
        self.touch();
        request.extensions_mut().insert(self.address);
        request.extensions_mut().insert(self.clone());
    }

    async fn lost(&self) {
        self.lost.cancelled().await;
    }
}

impl Connection {
    fn holder(&self) -> MutexGuard<'_, Holder> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request has arrived.
    fn touch(&self) {
        match &*self.holder() {
            Holder::Guest(_, place) => place.touch(),
            Holder::User(_, place) => place.touch(),
        }
    }

    /// A proxy has sent a request of a client with this address.
    pub fn forward(&self, address: IpAddr) {
        let network = customer(address);
        let mut holder = self.holder();
        if !matches!(&*holder, Holder::Guest(own, _) if *own == network) {
            let place = self.all.guests.replace(network, &self.lost);
            *holder = Holder::Guest(network, place);
        }
    }

    /// A request has shown that it comes from a user. If the user has too many connections, this
    /// one stays with the guests.
    pub fn identify(&self, user: i64) {
        let mut holder = self.holder();
        if matches!(&*holder, Holder::User(own, _) if *own == user) {
            return;
        }
        if let Some(place) = self.all.users.take(user, &self.lost) {
            *holder = Holder::User(user, place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_moves_to_its_user_and_back_to_the_next_client_of_a_proxy() {
        let all = Connections::new(8);
        let address = |host| IpAddr::from([192, 0, 2, host]);
        let shared = all.accept(address(1));
        shared.identify(7);
        // The guests' four places are free for others, and their loss does not concern the user.
        let guests: Vec<_> = (2..8).map(|host| all.accept(address(host))).collect();
        let lost = guests.iter().filter(|it| it.lost.is_cancelled()).count();
        assert_eq!(lost, 2);
        assert!(!shared.lost.is_cancelled());
        shared.forward(address(9));
        shared.identify(8);
        assert!(matches!(&*shared.holder(), Holder::User(8, _)));
        assert!(!shared.lost.is_cancelled());
        let others: Vec<_> = (0..6).map(|_| all.accept(address(3))).collect();
        others.iter().for_each(|it| it.identify(9));
        let newcomer = all.accept(address(4));
        newcomer.identify(10);
        assert!(!newcomer.lost.is_cancelled() && !shared.lost.is_cancelled());
        assert!(others.iter().any(|it| it.lost.is_cancelled()));
    }
}
