//! The program that has sent a request.

use crate::app::App;
use crate::core::throttle;
use axum::extract::{Extension, FromRequestParts};
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// The maximum number of stored characters of a browser name.
const MAX_AGENT: usize = 200;

/// The address and the name of a browser.
#[derive(Debug, Clone)]
pub struct Client {
    /// The address.
    pub address: IpAddr,
    /// The name that the browser sends.
    pub agent: String,
}

impl Client {
    /// The addresses that count as one for limits.
    pub fn network(&self) -> IpAddr {
        throttle::network(self.address)
    }

    /// The addresses that have one share of a pool together.
    pub fn customer(&self) -> IpAddr {
        throttle::customer(self.address)
    }
}

impl FromRequestParts<Arc<App>> for Client {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Client, Infallible> {
        let address = Extension::<IpAddr>::from_request_parts(parts, app).await;
        let agent = parts.headers.get(USER_AGENT);
        let agent = agent.and_then(|value| value.to_str().ok());
        Ok(Client {
            address: address.map_or(Ipv4Addr::UNSPECIFIED.into(), |Extension(address)| address),
            agent: agent.unwrap_or_default().chars().take(MAX_AGENT).collect(),
        })
    }
}
