//! Connections of browsers. Bounds keep slow or hostile clients from blocking others.

use super::body::SPEED;
use super::connections::{Connection, Connections};
use super::pacer::Pacer;
use crate::core::pace::Speed;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use futures_util::StreamExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

/// The header with the addresses of clients and proxies, the latest at the end.
const FORWARDED_FOR: &str = "x-forwarded-for";
/// How long a client may take to send the headers of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_HEADERS: usize = 100;
const MAX_HEADER_BYTES: usize = 64 << 10;
/// The pause after a failure to accept a connection, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long the end of the site waits for running requests.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);
/// The minimum and the maximum time in which the rest of a request is read after its response.
const FAREWELL_TIME: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// The bytes of the rest that earn another second.
const FAREWELL_SPEED: u64 = 256 << 10;
const FAREWELL_CHUNK_BYTES: usize = 64 << 10;

/// Replaces the address of a proxy by that of its client, which the proxy has added to the header
/// `X-Forwarded-For`. Clients choose what stands before.
pub async fn forwarded(mut request: Request, next: Next) -> Response {
    let values = request.headers().get_all(FORWARDED_FOR);
    let last = values.iter().next_back().and_then(|it| it.to_str().ok());
    let last: Option<IpAddr> = last.and_then(|text| text.rsplit(',').next()?.trim().parse().ok());
    if let Some(address) = last {
        if let Some(connection) = request.extensions().get::<Arc<Connection>>() {
            connection.forward(address);
        }
        request.extensions_mut().insert(address);
    }
    next.run(request).await
}

/// How slow clients may be. The routes bound the bodies of requests.
#[derive(Debug, Clone, Copy)]
struct Patience {
    headers: Duration,
    answers: Speed,
}

/// Serves pages until `ending` is cancelled. Running requests then have some seconds to end.
pub async fn serve(
    listener: TcpListener,
    connections: Arc<Connections>,
    routes: Router,
    ending: CancellationToken,
) {
    let patience = Patience {
        headers: HEADER_TIMEOUT,
        answers: SPEED,
    };
    serve_with(patience, listener, connections, routes, ending).await;
}

async fn serve_with(
    patience: Patience,
    listener: TcpListener,
    connections: Arc<Connections>,
    routes: Router,
    ending: CancellationToken,
) {
    let tracker = TaskTracker::new();
    let routes = routes.layer(from_fn_with_state(ending.clone(), end_streams));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ending.cancelled() => break,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Answers are written in one piece.
        let _ = stream.set_nodelay(true);
        let connection = connections.accept(address.ip());
        let routes = routes.clone();
        let stream = Paced {
            stream,
            pacer: Pacer::new(patience.answers),
            farewell: None,
        };
        let ending = ending.clone();
        tracker.spawn(async move {
            let mut server = http1::Builder::new();
            server
                .timer(TokioTimer::new())
                .header_read_timeout(patience.headers)
                .max_headers(MAX_HEADERS)
                .max_buf_size(MAX_HEADER_BYTES);
            let service = service_fn(|mut request: hyper::Request<Incoming>| {
                connection.touch();
                request.extensions_mut().insert(address.ip());
                request.extensions_mut().insert(connection.clone());
                routes.clone().oneshot(request)
            });
            let served = server.serve_connection(TokioIo::new(stream), service);
            let mut served = pin!(served);
            let ended = async {
                tokio::select! {
                    ended = served.as_mut() => ended,
                    () = ending.cancelled() => {
                        served.as_mut().graceful_shutdown();
                        served.await
                    }
                }
            };
            tokio::select! {
                ended = ended => if let Err(error) = ended {
                    tracing::debug!(%error, "a connection failed");
                },
                () = connection.lost.cancelled() => {
                    tracing::debug!("a connection has lost its place");
                }
            }
        });
    }
    drop(listener);
    tracker.close();
    if tokio::time::timeout(DRAIN_TIMEOUT, tracker.wait())
        .await
        .is_err()
    {
        tracing::warn!("requests are still running and will be cut off");
    }
}

/// Ends streams of events with the site. They would last minutes; browsers open others.
async fn end_streams(
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

/// A connection that fails if its client receives an answer too slowly.
struct Paced {
    stream: TcpStream,
    pacer: Pacer,
    /// The last response was sent, and the rest of the request is read.
    farewell: Option<Farewell>,
}

/// The end of a connection.
///
/// A response may precede the end of its request, for example if an upload has no valid target. If
/// the connection were closed at once, the kernel would reset it as soon as more of the request
/// arrived, and the client would lose the response. So the rest is read for a while.
struct Farewell {
    timer: Pin<Box<Sleep>>,
    begin: Instant,
    bytes: u64,
}

impl Farewell {
    fn new() -> Farewell {
        Farewell {
            timer: Box::pin(sleep(FAREWELL_TIME.0)),
            begin: Instant::now(),
            bytes: 0,
        }
    }

    /// Counts what has arrived. A client that sends fast has more time.
    fn arrived(&mut self, bytes: usize) {
        self.bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
        let earned = Duration::from_secs(self.bytes / FAREWELL_SPEED);
        let time = (FAREWELL_TIME.0 + earned).min(FAREWELL_TIME.1);
        self.timer.as_mut().reset((self.begin + time).into());
    }
}

impl Paced {
    /// Passes on how many bytes were written, or waits for the client.
    fn paced(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let bytes = |written: &io::Result<usize>| *written.as_ref().unwrap_or(&0);
        let paced = ready!(self.pacer.poll(context, written, bytes));
        Poll::Ready(
            paced.unwrap_or_else(|too_slow| Err(io::Error::new(io::ErrorKind::TimedOut, too_slow))),
        )
    }
}

impl AsyncRead for Paced {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Paced {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.paced(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.paced(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    // A TCP stream has no buffer of its own to flush.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Paced {
            stream, farewell, ..
        } = &mut *self;
        let farewell = match farewell {
            Some(farewell) => farewell,
            None => {
                ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
                farewell.insert(Farewell::new())
            }
        };
        let mut rest = vec![0; FAREWELL_CHUNK_BYTES];
        while farewell.timer.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut rest);
            let read = ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer));
            let bytes = buffer.filled().len();
            if read.is_err() || bytes == 0 {
                break;
            }
            farewell.arrived(bytes);
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::body;
    use axum::routing::{get, post};
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// A timeout so long that only a hang exceeds it.
    const HANG_TIMEOUT: Duration = Duration::from_secs(60);
    /// An answer that no buffer between the processes holds.
    const LARGE: usize = 64 << 20;

    /// Serves a form, and a large page.
    async fn start(time: Duration) -> SocketAddr {
        let speed = Speed { time, bytes: 1000 };
        let patience = Patience {
            headers: time,
            answers: speed,
        };
        let routes = Router::new()
            .route("/form", post(async |body: String| body.len().to_string()))
            .route("/ignored", post(async || "ignored"))
            .route("/large", get(async || vec![b'x'; LARGE]))
            .layer(from_fn_with_state(speed, body::pace));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve_with(
            patience,
            listener,
            Connections::new(64),
            routes,
            CancellationToken::new(),
        ));
        address
    }

    /// Sends a request, and then its rest byte by byte, until the site closes the connection.
    /// Returns the answer.
    async fn trickle(address: SocketAddr, request: &str, rest: &[u8]) -> String {
        let stream = TcpStream::connect(address).await.unwrap();
        let (mut reader, mut writer) = stream.into_split();
        writer.write_all(request.as_bytes()).await.unwrap();
        let sender = async {
            for byte in rest.iter().cycle() {
                tokio::time::sleep(Duration::from_millis(20)).await;
                if writer.write_all(&[*byte]).await.is_err() {
                    break;
                }
            }
            std::future::pending::<()>().await;
        };
        let mut answer = Vec::new();
        // The site may close the connection before it has read everything.
        let receiver = async { reader.read_to_end(&mut answer).await.unwrap_or_default() };
        tokio::select! {
            () = sender => {}
            _ = receiver => {}
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[tokio::test]
    async fn client_that_sends_byte_by_byte_loses_its_connection() {
        let address = start(Duration::from_millis(300)).await;
        let form = "POST /form HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\n";
        for (name, request, rest, status) in [
            ("nothing", String::new(), "", ""),
            (
                "headers",
                "GET /form HTTP/1.1\r\nhost: ".to_owned(),
                "a",
                "",
            ),
            (
                "body",
                format!("{form}content-length: 900000\r\n\r\n"),
                "a",
                "408",
            ),
            (
                "pause",
                format!("{form}content-length: 9\r\n\r\n1"),
                "",
                "408",
            ),
            (
                "chunks",
                format!("{form}transfer-encoding: chunked\r\n\r\n"),
                "1\r\na\r\n",
                "408",
            ),
            (
                "ignored",
                "POST /ignored HTTP/1.1\r\nhost: a\r\ncontent-length: 900000\r\n\r\n".to_owned(),
                "a",
                "200",
            ),
        ] {
            let answer = trickle(address, &request, rest.as_bytes());
            let answer = tokio::time::timeout(HANG_TIMEOUT, answer).await;
            let answer = answer.unwrap_or_else(|_| panic!("{name} keeps its connection"));
            let found = answer.split(' ').nth(1).unwrap_or_default();
            assert_eq!(found, status, "{name}: {answer}");
        }
    }

    #[tokio::test]
    async fn client_that_sends_everything_first_receives_an_early_answer() {
        let address = start(Duration::from_secs(5)).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("POST /none HTTP/1.1\r\nhost: a\r\ncontent-length: {LARGE}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        // The answer is on its way before the body.
        tokio::time::sleep(Duration::from_millis(200)).await;
        stream.write_all(&vec![b'x'; LARGE]).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    }

    #[tokio::test]
    async fn running_request_ends_and_streams_of_events_are_cut_at_the_end_of_the_site() {
        let ending = CancellationToken::new();
        let (begun, begin) = tokio::sync::oneshot::channel();
        let begun = std::sync::Mutex::new(Some(begun));
        let slow = move || {
            let begun = begun.lock().unwrap().take().unwrap();
            async move {
                begun.send(()).unwrap();
                tokio::time::sleep(Duration::from_millis(500)).await;
                "done"
            }
        };
        let slow = Arc::new(slow);
        let events = async || {
            let body =
                Body::from_stream(futures_util::stream::pending::<Result<String, io::Error>>());
            ([(CONTENT_TYPE, "text/event-stream")], body)
        };
        let routes = Router::new()
            .route("/slow", get(move || slow()))
            .route("/events", get(events));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let site = tokio::spawn(serve(
            listener,
            Connections::new(64),
            routes,
            ending.clone(),
        ));
        let mut answers = Vec::new();
        for path in ["/events", "/slow"] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            answers.push(stream);
        }
        begin.await.unwrap();
        ending.cancel();
        tokio::time::timeout(HANG_TIMEOUT, site)
            .await
            .unwrap()
            .unwrap();
        let mut texts = Vec::new();
        for mut stream in answers {
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            texts.push(text);
        }
        assert!(texts[0].ends_with("0\r\n\r\n"), "{texts:?}");
        assert!(texts[1].ends_with("done"), "{texts:?}");
        assert!(TcpStream::connect(address).await.is_err());
    }

    #[tokio::test]
    async fn client_that_does_not_read_its_answer_loses_its_connection() {
        let address = start(Duration::from_millis(300)).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n";
        stream.write_all(request).await.unwrap();
        // A client that pauses receives only what was in the buffers.
        let lost = async {
            loop {
                tokio::time::sleep(Duration::from_millis(100)).await;
                // The site answers bytes on a closed connection with an error.
                if stream.write_all(b"GET").await.is_err() {
                    break;
                }
            }
        };
        let lost = tokio::time::timeout(HANG_TIMEOUT, lost).await;
        assert!(lost.is_ok(), "the connection is still open");
    }

    #[tokio::test]
    async fn steady_client_takes_longer_than_the_time_of_one_part() {
        let time = Duration::from_secs(2);
        let address = start(time).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = "POST /form HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\
             content-type: text/plain\r\ncontent-length: 30000\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        for _ in 0..30 {
            tokio::time::sleep(time / 20).await;
            stream.write_all(&[b'x'; 1000]).await.unwrap();
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.ends_with("\r\n30000"), "{answer}");
    }
}
