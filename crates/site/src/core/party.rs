//! The parties among which shared pools are divided.

use std::net::IpAddr;

/// A party. All requests of a party have one share together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Party {
    /// A user, from any address.
    User(i64),
    /// A browser in which a user has signed in before, by the digest of its cookie.
    Browser([u8; 32]),
    /// The guests of a network. A school may share one address.
    Network(IpAddr),
    /// All guests together.
    Guests,
    /// The viewers of a contest.
    Contest(i64),
    /// The site itself.
    Site,
}
