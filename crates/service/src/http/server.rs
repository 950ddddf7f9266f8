//! Listens on all addresses until the service shuts down.
//!
//! Bounds keep slow or hostile clients from blocking the others. They limit the number of
//! connections, the time and the size of a request's headers, and the time between two pieces of
//! its body, and require clients to read their answers. No address can take all connections.

use super::connection::{Connection, LINGER_IDLE_TIME, PACE_TIME};
pub use super::sockets::ServerError;
use super::sockets::{SocketFile, Sockets};
use crate::config::{Dialect, Listen};
use crate::core::share::{Bound, Claim, Pool};
use crate::interfaces::Interfaces;
use axum::Router;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Maximum number of header lines of a request.
const MAX_HEADERS: usize = 100;
/// Maximum size of all header lines of a request in bytes.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// The same maximum for HTTP/2.
const MAX_HTTP2_HEADER_BYTES: u32 = 64 << 10;
/// The first bytes of an HTTP/2 connection (RFC 9113, section 3.4).
const HTTP2_PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The interval at which a draining service checks whether requests still run.
const DRAIN_INTERVAL: Duration = Duration::from_millis(20);
/// The time in which the last answers must be sent after the last request has ended.
const FAREWELL: Duration = Duration::from_secs(2);
/// The pause after a failure to accept a connection, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

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
            interfaces,
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
            interfaces,
            listeners,
            unix_listener,
        } = self;
        let _sampling = interfaces.take_every_second();
        let config = &interfaces.service().config;
        let connections = Connections {
            tracker: TaskTracker::new(),
            places: Arc::new(Semaphore::new(config.max_connections)),
            addresses: Pool::new(Bound {
                total: config.max_connections as u64,
                is_divided: true,
            }),
            closing: CancellationToken::new(),
        };
        let mut accepting = tokio::task::JoinSet::new();
        for (listen, listener) in listeners {
            let routes = interfaces.router(listen.dialect, false);
            let connections = connections.clone();
            accepting.spawn(async move {
                loop {
                    let place = connections.place().await;
                    match listener.accept().await {
                        Ok((stream, peer)) => {
                            let Some(place) = connections.share(place, Peer::of(peer.ip())) else {
                                refuse(&stream);
                                continue;
                            };
                            // Answers are written in one piece.
                            let _ = stream.set_nodelay(true);
                            // gRPC needs HTTP/2, and its clients speak nothing else.
                            if listen.dialect == Some(Dialect::GoJudgeGrpc) {
                                connections.serve_http2(place, stream, routes.clone());
                            } else {
                                connections.serve(place, stream, routes.clone());
                            }
                        }
                        Err(error) => pause(&error).await,
                    }
                }
            });
        }
        let mut socket_file = None;
        if let Some((file, listener)) = unix_listener {
            socket_file = Some(file);
            let routes = interfaces.router(None, true);
            let connections = connections.clone();
            accepting.spawn(async move {
                loop {
                    let place = connections.place().await;
                    match listener.accept().await {
                        Ok((stream, _)) => match connections.share(place, Peer::Unix) {
                            Some(place) => connections.serve(place, stream, routes.clone()),
                            None => refuse_unix(&stream),
                        },
                        Err(error) => pause(&error).await,
                    }
                }
            });
        }
        let housekeeping = tokio::spawn(interfaces.clone().keep_house());
        stop.cancelled().await;
        tracing::info!("the service is shutting down");
        drain(&interfaces, &connections).await;
        accepting.shutdown().await;
        housekeeping.abort();
        drop(socket_file);
    }
}

/// Refuses waiting requests, lets running ones end, and closes the connections.
async fn drain(interfaces: &Interfaces, connections: &Connections) {
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
    connections.closing.cancel();
    connections.tracker.close();
    let _ = tokio::time::timeout(FAREWELL, connections.tracker.wait()).await;
}

async fn pause(error: &io::Error) {
    tracing::warn!(%error, "cannot accept a connection");
    tokio::time::sleep(ACCEPT_PAUSE).await;
}

#[derive(Debug, Clone)]
struct Connections {
    tracker: TaskTracker,
    places: Arc<Semaphore>,
    addresses: Pool<Peer>,
    /// When cancelled, connections end after their current requests.
    closing: CancellationToken,
}

/// The address of a client. A site usually has all IPv6 addresses that begin with the same 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Peer {
    Address(IpAddr),
    Network([u8; 8]),
    Unix,
}

impl Peer {
    fn of(address: IpAddr) -> Peer {
        match address.to_canonical() {
            IpAddr::V6(address) if !address.is_loopback() => {
                let mut network = [0; 8];
                network.copy_from_slice(&address.octets()[..8]);
                Peer::Network(network)
            }
            address => Peer::Address(address),
        }
    }
}

/// The place of a connection.
type ConnectionPlace = (Option<OwnedSemaphorePermit>, Claim<Peer>);

/// The answer to a connection of an address that has too many.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n\
    connection: close\r\ncontent-length: 0\r\n\r\n";

/// Refuses a connection. The answer fits into the buffer of a new connection.
fn refuse(stream: &TcpStream) {
    tracing::debug!("an address has too many connections");
    let _ = stream.try_write(REFUSAL);
}

fn refuse_unix(stream: &UnixStream) {
    tracing::debug!("the Unix socket has too many connections");
    let _ = stream.try_write(REFUSAL);
}

impl Connections {
    /// Takes a place from the share of an address.
    fn share(&self, place: Option<OwnedSemaphorePermit>, peer: Peer) -> Option<ConnectionPlace> {
        Some((place, self.addresses.take(peer, 1)?))
    }

    /// Waits until another connection is allowed.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        self.places.clone().acquire_owned().await.ok()
    }

    fn serve(
        &self,
        place: ConnectionPlace,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        routes: Router,
    ) {
        let closing = self.closing.clone();
        let service = TowerToHyperService::new(routes);
        let stream = Connection::new(stream, PACE_TIME, LINGER_IDLE_TIME);
        self.tracker.spawn(async move {
            let mut server = http1::Builder::new();
            server
                .timer(TokioTimer::new())
                .header_read_timeout(super::CLIENT_PATIENCE)
                .max_headers(MAX_HEADERS)
                .max_buf_size(MAX_HEADER_BYTES);
            let connection = server
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades();
            serve_until(closing, connection, |it| it.graceful_shutdown()).await;
            drop(place);
        });
    }

    fn serve_http2(
        &self,
        place: ConnectionPlace,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        routes: Router,
    ) {
        let closing = self.closing.clone();
        let service = TowerToHyperService::new(routes);
        let mut stream = Connection::new(stream, PACE_TIME, LINGER_IDLE_TIME);
        self.tracker.spawn(async move {
            // hyper waits for the preface without a bound, so it is read here first.
            let mut preface = [0; HTTP2_PREFACE.len()];
            let read = stream.read_exact(&mut preface);
            let read = tokio::time::timeout(super::CLIENT_PATIENCE, read).await;
            if !matches!(read, Ok(Ok(_))) || preface != *HTTP2_PREFACE {
                tracing::debug!("a connection does not begin with the preface of HTTP/2");
                return;
            }
            let (reader, writer) = tokio::io::split(stream);
            let stream = tokio::io::join(io::Cursor::new(preface).chain(reader), writer);
            let mut server = http2::Builder::new(TokioExecutor::new());
            server
                .timer(TokioTimer::new())
                .keep_alive_interval(Some(super::CLIENT_PATIENCE))
                .max_header_list_size(MAX_HTTP2_HEADER_BYTES);
            let connection = server.serve_connection(TokioIo::new(stream), service);
            serve_until(closing, connection, |it| it.graceful_shutdown()).await;
            drop(place);
        });
    }
}

/// Serves a connection to its end, or until it has answered its current requests once `closing` is
/// cancelled.
async fn serve_until<C>(
    closing: CancellationToken,
    connection: C,
    shut_down: impl FnOnce(Pin<&mut C>),
) where
    C: Future<Output = hyper::Result<()>>,
{
    let mut connection = std::pin::pin!(connection);
    let result = tokio::select! {
        result = &mut connection => result,
        () = closing.cancelled() => {
            shut_down(connection.as_mut());
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection failed");
    }
}
