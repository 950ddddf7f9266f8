//! The parties among which shared pools are divided.

use std::net::IpAddr;

/// A party. All requests of a party have one share together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Party {
    /// A user, from any address.
    User(i64),
    /// The guests of a customer's network ([`customer`](super::throttle::customer)). A school may
    /// share one address.
    Network(IpAddr),
    /// All guests together.
    Guests,
    /// The viewers of a contest.
    Contest(i64),
    /// The site itself.
    Site,
}
