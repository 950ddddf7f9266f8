//! Clients that have left, and clients that have only finished sending.

use axum::Router;
use axum::body::Body;
use axum::routing::{get, post};
use futures_util::stream;
use millibox_web::listen::{Admission, Patience, Permit, Protocol, Server};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A timeout so long that only a hang exceeds it.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);
/// Longer than the first intervals of a watch.
const LONG: Duration = Duration::from_secs(1);

struct Everyone;

struct Admitted;

impl Admission for Everyone {
    type Turn = ();
    type Permit = Admitted;

    async fn turn(&self) {}

    fn admit(self: &Arc<Self>, (): (), _: Option<IpAddr>) -> Option<Admitted> {
        Some(Admitted)
    }
}

impl Permit for Admitted {}

/// Reports that a handler or a body was dropped.
struct Guard(Arc<Notify>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

fn routes(dropped: &Arc<Notify>) -> Router {
    let [waiting, streaming] = [dropped.clone(), dropped.clone()];
    let late = async |body: String| {
        tokio::time::sleep(LONG).await;
        format!("late {}", body.len())
    };
    let lines = async || {
        Body::from_stream(stream::unfold(0, |count| async move {
            tokio::time::sleep(LONG / 2).await;
            (count < 3).then(|| {
                (
                    Ok::<_, std::io::Error>(format!("line {count}\n")),
                    count + 1,
                )
            })
        }))
    };
    let forever = async move || {
        let _guard = Guard(waiting);
        std::future::pending::<()>().await;
    };
    let endless = async move || {
        let guard = Guard(streaming);
        Body::from_stream(stream::unfold((0, guard), |(count, guard)| async move {
            if count > 0 {
                std::future::pending::<()>().await;
            }
            Some((Ok::<_, std::io::Error>("first\n"), (count + 1, guard)))
        }))
    };
    Router::new()
        .route("/late", post(late))
        .route("/lines", get(lines))
        .route("/forever", get(forever))
        .route("/endless", get(endless))
}

fn server() -> (Server, Router, Arc<Notify>) {
    let dropped = Arc::new(Notify::new());
    let server = Server::new(Patience::default(), CancellationToken::new());
    (server, routes(&dropped), dropped)
}

async fn tcp() -> (SocketAddr, Arc<Notify>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (server, routes, dropped) = server();
    tokio::spawn(server.accept(listener, Protocol::Http1, Everyone.into(), routes));
    (address, dropped)
}

fn unix(path: &Path) -> Arc<Notify> {
    let listener = UnixListener::bind(path).unwrap();
    let (server, routes, dropped) = server();
    tokio::spawn(server.accept(listener, Protocol::Http1, Everyone.into(), routes));
    dropped
}

/// Sends a request, ends the client's half, and returns what it receives.
async fn half_closed(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut response = String::new();
    let read = stream.read_to_string(&mut response);
    tokio::time::timeout(HANG_TIMEOUT, read)
        .await
        .unwrap()
        .unwrap();
    response
}

async fn is_dropped(dropped: &Notify) {
    let dropped = tokio::time::timeout(HANG_TIMEOUT, dropped.notified());
    dropped
        .await
        .expect("the handler waits for a client that has left");
}

const LATE: &str = "POST /late HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc";

#[tokio::test]
async fn client_that_has_finished_sending_receives_its_response() {
    let (address, _) = tcp().await;
    let connect = async || TcpStream::connect(address).await.unwrap();
    let response = half_closed(connect().await, LATE).await;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.ends_with("\r\n\r\nlate 3"), "{response}");
    let old = LATE.replace("HTTP/1.1", "HTTP/1.0");
    let response = half_closed(connect().await, &old).await;
    assert!(response.starts_with("HTTP/1.0 200 OK\r\n"), "{response}");
    assert!(response.ends_with("\r\n\r\nlate 3"), "{response}");
    // Both responses to two requests at once are complete.
    let response = half_closed(connect().await, &LATE.repeat(2)).await;
    assert_eq!(
        response.matches("HTTP/1.1 200 OK\r\n").count(),
        2,
        "{response}"
    );
    assert_eq!(response.matches("late 3").count(), 2, "{response}");
}

#[tokio::test]
async fn client_of_a_unix_socket_that_has_finished_sending_receives_its_response() {
    let path = std::env::temp_dir().join(format!("millibox-half-{}", std::process::id()));
    let dropped = unix(&path);
    let stream = UnixStream::connect(&path).await.unwrap();
    let response = half_closed(stream, LATE).await;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    let mut stream = UnixStream::connect(&path).await.unwrap();
    std::fs::remove_file(&path).unwrap();
    stream
        .write_all(b"GET /forever HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    drop(stream);
    is_dropped(&dropped).await;
}

#[tokio::test]
async fn stream_of_a_client_that_has_finished_sending_is_complete() {
    let (address, _) = tcp().await;
    for version in ["1.0", "1.1"] {
        let stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET /lines HTTP/{version}\r\nhost: a\r\n\r\n");
        let response = half_closed(stream, &request).await;
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with(&format!("HTTP/{version} 200 OK\r\n")),
            "{head}"
        );
        let mut lines = Vec::new();
        if version == "1.0" {
            lines.extend(body.lines());
        } else {
            let mut rest = body;
            loop {
                let (size, after) = rest.split_once("\r\n").unwrap();
                let size = usize::from_str_radix(size, 16).unwrap();
                if size == 0 {
                    break;
                }
                lines.push(after[..size].trim_end());
                rest = &after[size + 2..];
            }
        }
        assert_eq!(lines, ["line 0", "line 1", "line 2"], "{response:?}");
    }
}

#[tokio::test]
async fn handler_of_a_client_that_has_left_is_dropped() {
    let (address, dropped) = tcp().await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET /forever HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    drop(stream);
    is_dropped(&dropped).await;
}

#[tokio::test]
async fn stream_of_a_client_that_has_left_is_dropped() {
    let (address, dropped) = tcp().await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET /endless HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    let mut response = Vec::new();
    while !response.ends_with(b"first\n\r\n") {
        response.push(stream.read_u8().await.unwrap());
    }
    // Nothing is unread, so the kernel does not reset the connection.
    drop(stream);
    is_dropped(&dropped).await;
}

#[tokio::test]
async fn request_without_its_end_is_rejected() {
    let (address, _) = tcp().await;
    let stream = TcpStream::connect(address).await.unwrap();
    let request = LATE.replace("content-length: 3", "content-length: 30");
    let response = half_closed(stream, &request).await;
    assert!(!response.contains("late"), "{response}");
}
