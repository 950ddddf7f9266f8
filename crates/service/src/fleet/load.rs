//! What executors and front ends say about themselves.

use crate::config::{Config, Dialect};
use crate::core::engine::Lane;
use crate::hex::hex;
use crate::service::Service;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The maximum length of an announcement or opening, in bytes.
const MAX_BYTES: usize = 1024;
/// The maximum length of a client's identity, in bytes.
const MAX_CLIENT_BYTES: usize = 64;

/// What an executor announces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Announcement {
    /// A random number of the process, because an executor may be started again under its name.
    pub instance: u64,
    /// The digest of the configuration; see [`fingerprint`].
    pub configuration: String,
    /// Runs that may run at the same time.
    pub slots: u32,
    /// Runs that run, with a limit on CPU time.
    pub running: u32,
    /// Requests that wait.
    pub queued: u32,
    /// The maximum number of requests that wait.
    pub max_queued: u32,
    /// Requests that end in a second, or 0 if that is not known.
    pub rate: f64,
    /// Whether the executor accepts no more requests.
    pub is_draining: bool,
}

impl Announcement {
    /// Whether a further request would have to be refused.
    pub fn is_full(&self) -> bool {
        self.queued >= self.max_queued
    }

    /// The load of a service.
    pub fn of(service: &Service, instance: u64, rate: f64, is_draining: bool) -> Announcement {
        let load = service.programs.queue.load();
        let bounds = service.programs.queue.bounds();
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Announcement {
            instance,
            configuration: fingerprint(&service.config),
            slots: number(bounds.running(Lane::CpuTime)),
            running: number(load.running(Lane::CpuTime)),
            queued: number(load.queued),
            max_queued: number(bounds.queued),
            rate,
            is_draining,
        }
    }

    /// The announcement in a message. `None` if the message is none.
    pub fn decode(bytes: &[u8]) -> Option<Announcement> {
        let found: Announcement = decode(bytes)?;
        let is_rate = found.rate.is_finite() && found.rate >= 0.0;
        (is_rate && found.slots > 0).then_some(found)
    }
}

/// What the front end says when it opens a tunnel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The process that shall accept the tunnel.
    pub instance: u64,
    /// The only dialect at the address to which the client is connected.
    pub dialect: Option<Dialect>,
    /// Whether the client is connected to the Unix socket.
    pub is_unix: bool,
    /// The client whose share of tunnels is used: its token or network.
    pub client: String,
}

impl Opening {
    /// The opening in a message. `None` if the message is none.
    pub fn decode(bytes: &[u8]) -> Option<Opening> {
        decode(bytes).filter(|found: &Opening| found.client.len() <= MAX_CLIENT_BYTES)
    }
}

fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    if bytes.len() > MAX_BYTES {
        return None;
    }
    serde_json::from_slice(bytes).ok()
}

/// The encoded form of a message.
pub fn encode<T: Serialize>(value: &T) -> bytes::Bytes {
    // The types have no maps with keys that are no strings.
    serde_json::to_vec(value).unwrap_or_default().into()
}

/// A digest of the version and of the settings that must be equal in a fleet: an executor with
/// other tokens would let other clients in.
pub fn fingerprint(config: &Config) -> String {
    let settings = format!(
        "{} {:?} {:?} {:?} {}",
        env!("CARGO_PKG_VERSION"),
        config.token,
        config.trusted_origins,
        config.dialects,
        config.max_body_bytes,
    );
    hex(&Sha256::digest(settings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprint_depends_on_tokens_and_not_on_addresses() {
        let plain: Config = toml::from_str("").unwrap();
        let digest = "0".repeat(64);
        let other: Config =
            toml::from_str(&format!("[[token]]\nname = 'a'\nsha256 = '{digest}'\n")).unwrap();
        assert_ne!(fingerprint(&plain), fingerprint(&other));
        let moved: Config = toml::from_str("listen = ['127.0.0.1:1']\n").unwrap();
        assert_eq!(fingerprint(&plain), fingerprint(&moved));
    }

    #[test]
    fn messages_beyond_their_bounds_are_rejected() {
        let opening = |client: &str| {
            let opening = Opening {
                instance: u64::MAX,
                dialect: Some(Dialect::Judge0),
                is_unix: false,
                client: client.to_owned(),
            };
            Opening::decode(&encode(&opening))
        };
        assert!(opening("a").is_some());
        assert!(opening(&"a".repeat(MAX_CLIENT_BYTES + 1)).is_none());
        assert!(opening(&"a".repeat(MAX_BYTES)).is_none());
        assert!(Announcement::decode(b"{}").is_none());
    }
}
