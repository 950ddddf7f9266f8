//! Listens on all addresses until the service shuts down. `millibox-web` bounds how slow clients
//! may be; here are the bounds on the number of connections.

pub use super::sockets::ServerError;
use super::sockets::{SocketFile, Sockets};
use crate::config::{Dialect, Listen};
use crate::core::share::{Bound, Claim, Pool};
use crate::interfaces::Interfaces;
use axum::extract::Request;
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
    interfaces: Arc<Interfaces>,
    listeners: Vec<(Listen, TcpListener)>,
    unix_listener: Option<(SocketFile, UnixListener)>,
}

impl Server {
    /// Takes over bound addresses. Must be called in the runtime.
    ///
    /// # Errors
    /// The runtime cannot watch one of the sockets.
    pub fn new(interfaces: Arc<Interfaces>, sockets: Sockets) -> Result<Server, ServerError> {
        let (listeners, unix_listener) = sockets.watched()?;
        Ok(Server {
            interfaces,
            listeners,
            unix_listener,
        })
    }

    /// The bound addresses, with the ports that the kernel chose.
    pub fn addresses(&self) -> Vec<Listen> {
        bound_addresses(&self.listeners)
    }

    /// The path of the Unix socket.
    pub fn unix_socket(&self) -> Option<&Path> {
        self.unix_listener.as_ref().map(|(file, _)| file.path())
    }

    /// Serves until `stop` is cancelled. Then waiting and new requests are refused, and running
    /// ones have the configured time to end.
    pub async fn serve(self, stop: CancellationToken) {
        let Server {
            interfaces,
            listeners,
            unix_listener,
        } = self;
        let _sampling = interfaces.take_every_second();
        let connections = Arc::new(Connections::new(
            interfaces.service().config.max_connections,
        ));
        let http = millibox_web::listen::Server::new(Patience::default(), CancellationToken::new());
        let mut accepting = tokio::task::JoinSet::new();
        for (listen, listener) in listeners {
            // gRPC needs HTTP/2, and its clients speak nothing else.
            let protocol = match listen.dialect {
                Some(Dialect::GoJudgeGrpc) => Protocol::Http2,
                _ => Protocol::Http1,
            };
            let routes = interfaces.router(listen.dialect, false);
            accepting.spawn(
                http.clone()
                    .accept(listener, protocol, connections.clone(), routes),
            );
        }
        let mut socket_file = None;
        if let Some((file, listener)) = unix_listener {
            socket_file = Some(file);
            let routes = interfaces.router(None, true);
            accepting.spawn(
                http.clone()
                    .accept(listener, Protocol::Http1, connections, routes),
            );
        }
        let housekeeping = tokio::spawn(interfaces.clone().keep_house());
        stop.cancelled().await;
        tracing::info!("the service is shutting down");
        drain(&interfaces, &http).await;
        accepting.shutdown().await;
        housekeeping.abort();
        drop(socket_file);
    }
}

/// The addresses of listeners, with the ports that the kernel chose.
pub fn bound_addresses(listeners: &[(Listen, TcpListener)]) -> Vec<Listen> {
    let bound = |(listen, listener): &(Listen, TcpListener)| Listen {
        address: listener.local_addr().unwrap_or(listen.address),
        ..*listen
    };
    listeners.iter().map(bound).collect()
}

/// Refuses waiting requests, lets running ones end, and closes the connections.
async fn drain(interfaces: &Interfaces, http: &millibox_web::listen::Server) {
    let service = interfaces.service();
    service.programs.queue.drain();
    let running = async {
        while service.programs.queue.load().running > 0 {
            tokio::time::sleep(DRAIN_INTERVAL).await;
        }
    };
    let patience = Duration::from_millis(service.config.drain_ms);
    if tokio::time::timeout(patience, running).await.is_err() {
        tracing::warn!("requests are still running and will be cancelled");
        interfaces.cancel_all();
    }
    http.close(FAREWELL).await;
}

/// The network of the client that has sent a request. `None` is the Unix socket.
#[derive(Debug, Clone, Copy)]
pub struct Network(pub Option<IpAddr>);

/// The bounds on connections. No network can take all of them.
#[derive(Debug)]
pub struct Connections {
    permits: Arc<Semaphore>,
    /// Each network with its connections; all clients of the Unix socket count as one network.
    networks: Pool<Option<IpAddr>>,
}

/// The permit of a connection.
#[derive(Debug)]
pub struct ConnectionPermit {
    _permit: Option<OwnedSemaphorePermit>,
    network: Network,
    _share: Claim<Option<IpAddr>>,
}

impl Connections {
    /// The bounds for this number of connections.
    pub fn new(max_connections: usize) -> Connections {
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
        let network = peer.map(customer);
        Some(ConnectionPermit {
            _permit: permit,
            network: Network(network),
            _share: self.networks.take(network, 1)?,
        })
    }
}

impl Permit for ConnectionPermit {
    fn receive<B>(self: &Arc<ConnectionPermit>, request: &mut Request<B>) {
        request.extensions_mut().insert(self.network);
    }
}
