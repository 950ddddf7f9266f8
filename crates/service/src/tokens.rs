//! The clients of the service and their rights.

use crate::config::TokenConfig;
use crate::core::engine::Lane;
use crate::core::queue::{ClientId, Ticket};
use crate::hex::hex;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// A client of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The number in the queue; 0 stands for all clients without a token.
    pub id: ClientId,
    /// The name in logs and metrics.
    pub name: String,
    /// Requests that may run at the same time; 0 means no separate bound.
    pub max_running: usize,
    /// Requests that may wait; 0 means no separate bound.
    pub max_queued: usize,
    /// The interfaces that the client may use; `None` stands for all.
    pub interfaces: Option<Vec<String>>,
    /// Whether the client may see everything.
    pub admin: bool,
}

impl Client {
    /// Creates a queue request for this client. [`Programs::run`] sets its lane and its
    /// memory from the run.
    ///
    /// [`Programs::run`]: crate::core::program::Programs::run
    pub fn ticket(&self, size_bytes: usize, patience: Duration) -> Ticket {
        Ticket {
            client: self.id,
            lane: Lane::CpuTime,
            client_running: self.max_running,
            client_queued: self.max_queued,
            flow: 0,
            memory_bytes: 0,
            size_bytes: size_bytes as u64,
            held_bytes: 0,
            patience,
        }
    }

    /// Whether the client may use an interface: `v1` or the name of a dialect.
    pub fn may_use(&self, interface: &str) -> bool {
        self.interfaces
            .as_ref()
            .is_none_or(|allowed| allowed.iter().any(|name| name == interface))
    }
}

/// The request has no token, or an unknown one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request needs a valid token")]
pub struct Unauthorized;

/// All clients.
#[derive(Debug)]
pub struct Tokens {
    clients: Vec<(String, Client)>,
}

impl Tokens {
    /// The clients of the configuration.
    pub fn new(tokens: &[TokenConfig]) -> Tokens {
        let clients = (1..).zip(tokens).map(|(id, token)| {
            let client = Client {
                id,
                name: token.name.clone(),
                max_running: token.max_running,
                max_queued: token.max_queued,
                interfaces: token.interfaces.clone(),
                admin: token.admin,
            };
            (token.sha256.to_lowercase(), client)
        });
        Tokens {
            clients: clients.collect(),
        }
    }

    /// Whether requests need a token.
    pub fn are_required(&self) -> bool {
        !self.clients.is_empty()
    }

    /// Whether several clients share the service.
    pub fn are_several(&self) -> bool {
        self.clients.len() > 1
    }

    /// The only client, if there is only one.
    pub fn only_client(&self) -> Option<ClientId> {
        match &self.clients[..] {
            [] => Some(0),
            [(_, client)] => Some(client.id),
            _ => None,
        }
    }

    /// The client of a token. Without configured tokens, every request has the same client.
    ///
    /// # Errors
    /// The token is missing or unknown.
    pub fn client(&self, token: Option<&str>) -> Result<Client, Unauthorized> {
        if self.clients.is_empty() {
            return Ok(Client {
                id: 0,
                name: "anonymous".to_owned(),
                max_running: 0,
                max_queued: 0,
                interfaces: None,
                admin: true,
            });
        }
        // Digests of unknown tokens reveal nothing, so the comparison need not take constant time.
        let digest = hex(&Sha256::digest(token.ok_or(Unauthorized)?));
        self.clients
            .iter()
            .find(|(known, _)| *known == digest)
            .map(|(_, client)| client.clone())
            .ok_or(Unauthorized)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_is_found_by_the_digest_of_its_token() {
        assert!(!Tokens::new(&[]).are_required());
        assert_eq!(Tokens::new(&[]).client(None).unwrap().id, 0);
        let tokens = Tokens::new(&[TokenConfig {
            name: "ci".to_owned(),
            sha256: hex(&Sha256::digest("secret")),
            max_running: 3,
            max_queued: 0,
            interfaces: Some(vec!["judge0".to_owned()]),
            admin: false,
        }]);
        assert_eq!(tokens.client(None), Err(Unauthorized));
        assert_eq!(tokens.client(Some("wrong")), Err(Unauthorized));
        let client = tokens.client(Some("secret")).unwrap();
        assert_eq!((client.id, &client.name[..]), (1, "ci"));
        assert!(client.may_use("judge0") && !client.may_use("v1"));
    }
}
