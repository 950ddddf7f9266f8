//! Listens on all addresses until the service shuts down. `millibox-web` bounds how slow clients
//! may be; here are the bounds on the number of connections.

pub use super::sockets::ServerError;
use super::sockets::{SocketFile, Sockets};
use crate::config::{Dialect, Listen};
use crate::core::share::{Bound, Claim, Pool};
use crate::service::Service;
use millibox_web::listen::{Admission, Patience, Permit, Protocol};
use millibox_web::network::customer;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The interval at which a draining service checks whether requests still run.
const DRAIN_INTERVAL: Duration = Duration::from_millis(20);
/// The time in which the last answers must be sent after the last request has ended.
const FAREWELL: Duration = Duration::from_secs(2);
/// A server whose addresses are bound.
#[derive(Debug)]
pub struct Server {
    service: Arc<Service>,
    listeners: Vec<(Listen, TcpListener)>,
    unix_listener: Option<(SocketFile, UnixListener)>,
}

impl Server {
    /// Takes over bound addresses. Must be called in the runtime.
    ///
    /// # Errors
    /// The runtime cannot watch one of the sockets.
    pub fn new(service: Arc<Service>, sockets: Sockets) -> Result<Server, ServerError> {
        let mut listeners = Vec::new();
        for (listen, listener) in sockets.listeners {
            let address = listen.address;
            let listener = TcpListener::from_std(listener)
                .map_err(|error| ServerError::Bind { address, error })?;
            listeners.push((listen, listener));
        }
        let unix_listener = match sockets.unix {
            None => None,
            Some((file, listener)) => match UnixListener::from_std(listener) {
                Ok(listener) => Some((file, listener)),
                Err(error) => {
                    let path = file.0.clone();
                    return Err(ServerError::BindUnix { path, error });
                }
            },
        };
        Ok(Server {
            service,
            listeners,
            unix_listener,
        })
    }

    /// The bound addresses, with the ports that the kernel chose.
    pub fn addresses(&self) -> Vec<Listen> {
        let bound = |(listen, listener): &(Listen, TcpListener)| Listen {
            address: listener.local_addr().unwrap_or(listen.address),
            ..*listen
        };
        self.listeners.iter().map(bound).collect()
    }

    /// The path of the Unix socket.
    pub fn unix_socket(&self) -> Option<&Path> {
        self.unix_listener.as_ref().map(|(file, _)| &*file.0)
    }

    /// Serves until `stop` is cancelled. Then waiting and new requests are refused, and running
    /// ones have the configured time to end.
    pub async fn serve(self, stop: CancellationToken) {
        let Server {
            service,
            listeners,
            unix_listener,
        } = self;
        let _sampling = crate::samples::take_every_second(&service);
        let connections = Arc::new(Connections::new(service.config.max_connections));
        let http = millibox_web::listen::Server::new(Patience::default(), CancellationToken::new());
        let mut accepting = tokio::task::JoinSet::new();
        for (listen, listener) in listeners {
            // gRPC needs HTTP/2, and its clients speak nothing else.
            let protocol = match listen.dialect {
                Some(Dialect::GoJudgeGrpc) => Protocol::Http2,
                _ => Protocol::Http1,
            };
            let routes = super::router(&service, listen.dialect, false);
            accepting.spawn(
                http.clone()
                    .accept(listener, protocol, connections.clone(), routes),
            );
        }
        let mut socket_file = None;
        if let Some((file, listener)) = unix_listener {
            socket_file = Some(file);
            let routes = super::router(&service, None, true);
            accepting.spawn(
                http.clone()
                    .accept(listener, Protocol::Http1, connections, routes),
            );
        }
        let housekeeping = tokio::spawn(keep_house(service.clone()));
        stop.cancelled().await;
        tracing::info!("the service is shutting down");
        drain(&service, &http).await;
        accepting.shutdown().await;
        housekeeping.abort();
        drop(socket_file);
    }
}

/// Refuses waiting requests, lets running ones end, and closes the connections.
async fn drain(service: &Service, http: &millibox_web::listen::Server) {
    service.runner.queue.drain();
    let running = async {
        while service.runner.queue.load().running > 0 {
            tokio::time::sleep(DRAIN_INTERVAL).await;
        }
    };
    let patience = Duration::from_millis(service.config.drain_ms);
    if tokio::time::timeout(patience, running).await.is_err() {
        tracing::warn!("requests are still running and will be cancelled");
        service.jobs.cancel_all();
    }
    http.close(FAREWELL).await;
}

/// Removes everything that has been kept long enough.
async fn keep_house(service: Arc<Service>) {
    let mut interval = tokio::time::interval(Duration::from_secs(10));
    loop {
        interval.tick().await;
        service.jobs.remove_expired();
        service.files.remove_expired();
        service.go_judge.forget_expired(&service.files);
    }
}

/// The bounds on connections. No network can take all of them.
#[derive(Debug)]
struct Connections {
    permits: Arc<Semaphore>,
    /// Each network with its connections; all clients of the Unix socket count as one network.
    networks: Pool<Option<IpAddr>>,
}

/// The permit of a connection.
struct ConnectionPermit {
    _permit: Option<OwnedSemaphorePermit>,
    _share: Claim<Option<IpAddr>>,
}

impl Connections {
    fn new(max_connections: usize) -> Connections {
        Connections {
            permits: Arc::new(Semaphore::new(max_connections)),
            networks: Pool::new(Bound {
                total: max_connections as u64,
                is_divided: true,
            }),
        }
    }
}

impl Admission for Connections {
    type Turn = Option<OwnedSemaphorePermit>;
    type Permit = ConnectionPermit;

    async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        self.permits.clone().acquire_owned().await.ok()
    }

    fn admit(
        self: &Arc<Connections>,
        permit: Option<OwnedSemaphorePermit>,
        peer: Option<IpAddr>,
    ) -> Option<ConnectionPermit> {
        Some(ConnectionPermit {
            _permit: permit,
            _share: self.networks.take(peer.map(customer), 1)?,
        })
    }
}

impl Permit for ConnectionPermit {}
