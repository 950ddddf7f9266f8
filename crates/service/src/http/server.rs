//! Listens on all addresses until the service is told to end.

use crate::config::Listen;
use crate::service::Service;
use std::future::IntoFuture;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Why the service cannot listen, or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// An address cannot be used.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The kernel's error.
        error: io::Error,
    },
    /// A listener failed.
    #[error("the listener on {address} failed: {error}")]
    Serve {
        /// The address.
        address: SocketAddr,
        /// The kernel's error.
        error: io::Error,
    },
}

/// A server whose addresses are bound.
#[derive(Debug)]
pub struct Server {
    service: Arc<Service>,
    listeners: Vec<(Listen, TcpListener)>,
}

impl Server {
    /// Binds all addresses.
    ///
    /// # Errors
    /// One of them cannot be used.
    pub async fn bind(service: Arc<Service>) -> Result<Server, ServerError> {
        let mut listeners = Vec::new();
        for listen in service.config.addresses() {
            let address = listen.address;
            let listener = TcpListener::bind(address)
                .await
                .map_err(|error| ServerError::Bind { address, error })?;
            listeners.push((listen, listener));
        }
        Ok(Server { service, listeners })
    }

    /// The bound addresses, with the ports that the kernel chose.
    pub fn addresses(&self) -> Vec<Listen> {
        let bound = |(listen, listener): &(Listen, TcpListener)| Listen {
            address: listener.local_addr().unwrap_or(listen.address),
            ..*listen
        };
        self.listeners.iter().map(bound).collect()
    }

    /// Serves until `stop` is cancelled. Then waiting requests are refused, and running ones have
    /// the configured time to end.
    ///
    /// # Errors
    /// A listener failed.
    pub async fn serve(self, stop: CancellationToken) -> Result<(), ServerError> {
        let Server { service, listeners } = self;
        let _sampling = crate::samples::take_every_second(&service);
        let servers = listeners.into_iter().map(|(listen, listener)| {
            let routes = super::router(&service, listen.dialect);
            let stopped = stop.clone().cancelled_owned();
            let served = axum::serve(listener, routes).with_graceful_shutdown(stopped);
            async move {
                let address = listen.address;
                served
                    .into_future()
                    .await
                    .map_err(|error| ServerError::Serve { address, error })
            }
        });
        let drained = async {
            stop.cancelled().await;
            service.runner.queue.drain();
            tokio::time::sleep(Duration::from_millis(service.config.drain_ms)).await;
        };
        tokio::select! {
            served = futures_util::future::try_join_all(servers) => served.map(drop),
            () = drained => Ok(()),
        }
    }
}
