//! Accepts connections within bounds, serves them, and lets open requests end.
//!
//! Bounds keep slow or hostile clients from blocking the others. They limit the time, the number
//! and the size of a request's headers, and require clients to read their responses. Each server
//! decides which connections it admits ([`Admission`]), and bounds the bodies of its routes
//! ([`crate::body`]).

use crate::pace::{SPEED, Speed};
use crate::socket::{Shared, Socket};
use crate::stream::{Connection, FAREWELL_SILENCE};
use crate::{unread, watch};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use futures_util::StreamExt;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::future::pending;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

/// Maximum number of header lines of a request.
const MAX_HEADERS: usize = 100;
/// Maximum size of all header lines of a request in bytes.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// The same maximum for HTTP/2.
const MAX_HTTP2_HEADER_BYTES: u32 = 64 << 10;
/// The first bytes of an HTTP/2 connection (RFC 9113, section 3.4).
const HTTP2_PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The pause after a failure to accept a connection, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The response to a connection that is not admitted.
const REJECTION: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n\
    connection: close\r\ncontent-length: 0\r\n\r\n";

/// Decides which connections are admitted.
pub trait Admission: Send + Sync + 'static {
    /// What must be available before a connection is accepted. Meanwhile, further connections wait
    /// in the kernel and cost nothing.
    type Turn: Send;
    /// What a connection holds until it ends.
    type Permit: Permit;

    /// Waits until a further connection may be accepted.
    fn turn(&self) -> impl Future<Output = Self::Turn> + Send;

    /// Admits a connection from an address, or from a Unix socket. `None` rejects it.
    fn admit(self: &Arc<Self>, turn: Self::Turn, peer: Option<IpAddr>) -> Option<Self::Permit>;
}

/// What a connection holds until it ends.
pub trait Permit: Send + Sync + Sized + 'static {
    /// Called with each request before it is handled.
    fn receive<B>(self: &Arc<Self>, _request: &mut Request<B>) {}

    /// Waits until the connection must end because a different connection needs the permit.
    fn lost(&self) -> impl Future<Output = ()> + Send {
        pending()
    }
}

/// The protocol of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1, with upgrades.
    Http1,
    /// HTTP/2 without TLS, from the first byte.
    Http2,
}

/// How slow clients may be.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// The time for the headers of a request.
    pub headers: Duration,
    /// The speed at which clients must read responses.
    pub responses: Speed,
    /// How long a client may be silent after its last response, if it has not sent everything.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            headers: Duration::from_secs(30),
            responses: SPEED,
            silence: FAREWELL_SILENCE,
        }
    }
}

/// The connections of a server. All clones are one server.
#[derive(Debug, Clone)]
pub struct Server {
    patience: Patience,
    tracker: TaskTracker,
    /// When cancelled, no connection is accepted, and connections end after their current requests.
    closing: CancellationToken,
    /// When cancelled, connections end at once.
    cut: CancellationToken,
}

impl Server {
    /// A server that accepts connections until `closing` is cancelled.
    pub fn new(patience: Patience, closing: CancellationToken) -> Server {
        Server {
            patience,
            tracker: TaskTracker::new(),
            closing,
            cut: CancellationToken::new(),
        }
    }

    /// Accepts connections until the server closes.
    pub async fn accept<L: Listener, A: Admission>(
        self,
        listener: L,
        protocol: Protocol,
        admission: Arc<A>,
        routes: Router,
    ) {
        let routes = routes.layer(from_fn(unread::drain));
        loop {
            let accepted = async {
                let turn = admission.turn().await;
                (turn, listener.accept().await)
            };
            let (turn, accepted) = tokio::select! {
                accepted = accepted => accepted,
                () = self.closing.cancelled() => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            match admission.admit(turn, peer) {
                Some(permit) => self.spawn(stream, protocol, permit, routes.clone()),
                None => {
                    tracing::debug!(?peer, "a client has too many connections");
                    L::reject(&stream);
                }
            }
        }
    }

    /// Accepts no more connections, and waits until the open requests have ended. Cuts off those
    /// that last longer than `grace`, and returns whether there were any.
    pub async fn close(&self, grace: Duration) -> bool {
        self.closing.cancel();
        self.tracker.close();
        let is_late = tokio::time::timeout(grace, self.tracker.wait())
            .await
            .is_err();
        self.cut.cancel();
        self.tracker.wait().await;
        is_late
    }

    fn spawn<P: Permit>(&self, stream: impl Socket, protocol: Protocol, permit: P, routes: Router) {
        let Patience {
            responses, silence, ..
        } = self.patience;
        let socket = Shared::new(stream);
        let stream = Connection::new(socket.clone(), responses, silence);
        let server = self.clone();
        self.tracker.spawn(async move {
            let permit = Arc::new(permit);
            let served = async {
                match protocol {
                    Protocol::Http1 => server.serve_http1(stream, socket, &permit, routes).await,
                    Protocol::Http2 => server.serve_http2(stream, &permit, routes).await,
                }
            };
            tokio::select! {
                served = served => if let Err(error) = served {
                    tracing::debug!(%error, "a connection failed");
                },
                () = permit.lost() => tracing::debug!("a connection has lost its permit"),
                () = server.cut.cancelled() => {}
            }
        });
    }

    async fn serve_http1<P: Permit, S: Socket>(
        &self,
        stream: Connection<Shared<S>>,
        socket: Shared<S>,
        permit: &Arc<P>,
        routes: Router,
    ) -> hyper::Result<()> {
        let mut server = http1::Builder::new();
        server
            .timer(TokioTimer::new())
            .header_read_timeout(self.patience.headers)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEADER_BYTES)
            // The watch decides whether a client that sends nothing more has left.
            .half_close(true);
        let permit = permit.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            permit.receive(&mut request);
            watch::respond(socket.clone(), routes.clone(), request)
        });
        let connection = server.serve_connection(TokioIo::new(stream), service);
        let connection = connection.with_upgrades();
        self.end_in_order(connection, |it| it.graceful_shutdown())
            .await
    }

    async fn serve_http2<P: Permit>(
        &self,
        mut stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        permit: &Arc<P>,
        routes: Router,
    ) -> hyper::Result<()> {
        // hyper waits for the preface without a bound, so it is read here first.
        let mut preface = [0; HTTP2_PREFACE.len()];
        let read = stream.read_exact(&mut preface);
        let read = tokio::time::timeout(self.patience.headers, read).await;
        if !matches!(read, Ok(Ok(_))) || preface != *HTTP2_PREFACE {
            tracing::debug!("a connection does not begin with the preface of HTTP/2");
            return Ok(());
        }
        let (reader, writer) = tokio::io::split(stream);
        let stream = tokio::io::join(io::Cursor::new(preface).chain(reader), writer);
        let mut server = http2::Builder::new(TokioExecutor::new());
        server
            .timer(TokioTimer::new())
            .keep_alive_interval(Some(self.patience.headers))
            .max_header_list_size(MAX_HTTP2_HEADER_BYTES);
        let permit = permit.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            permit.receive(&mut request);
            routes.clone().oneshot(request)
        });
        let connection = server.serve_connection(TokioIo::new(stream), service);
        self.end_in_order(connection, |it| it.graceful_shutdown())
            .await
    }

    /// Serves a connection to its end, or until it has responded to its current requests after the
    /// server has begun to close.
    async fn end_in_order<C: Future<Output = hyper::Result<()>>>(
        &self,
        connection: C,
        shut_down: impl FnOnce(Pin<&mut C>),
    ) -> hyper::Result<()> {
        let mut connection = pin!(connection);
        tokio::select! {
            result = &mut connection => return result,
            () = self.closing.cancelled() => shut_down(connection.as_mut()),
        }
        connection.await
    }
}

/// A bound socket.
pub trait Listener: Send {
    /// A connection.
    type Stream: Socket;

    /// Accepts a connection from an address, if it has one.
    fn accept(&self) -> impl Future<Output = io::Result<(Self::Stream, Option<IpAddr>)>> + Send;

    /// Rejects a connection. The response fits into the buffer of a new connection.
    fn reject(stream: &Self::Stream);
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<(TcpStream, Option<IpAddr>)> {
        let (stream, peer) = TcpListener::accept(self).await?;
        // Responses are written in one piece.
        let _ = stream.set_nodelay(true);
        Ok((stream, Some(peer.ip())))
    }

    fn reject(stream: &TcpStream) {
        let _ = stream.try_write(REJECTION);
    }
}

impl Listener for UnixListener {
    type Stream = UnixStream;

    async fn accept(&self) -> io::Result<(UnixStream, Option<IpAddr>)> {
        let (stream, _) = UnixListener::accept(self).await?;
        Ok((stream, None))
    }

    fn reject(stream: &UnixStream) {
        let _ = stream.try_write(REJECTION);
    }
}

/// Ends event streams when `ending` is cancelled. They would last minutes; browsers open others.
pub fn end_event_streams(routes: Router, ending: CancellationToken) -> Router {
    routes.layer(from_fn_with_state(ending, end_event_stream))
}

async fn end_event_stream(
    State(ending): State<CancellationToken>,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    let media = response.headers().get(CONTENT_TYPE);
    if media.is_none_or(|media| media != "text/event-stream") {
        return response;
    }
    response.map(|body| {
        let events = body.into_data_stream();
        Body::from_stream(events.take_until(ending.cancelled_owned()))
    })
}

#[cfg(test)]
mod tests;
