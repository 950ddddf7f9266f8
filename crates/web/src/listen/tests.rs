use super::*;
use crate::body;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use http_body_util::BodyExt;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A timeout so long that only a hang exceeds it.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);
/// A response that no buffer between the processes holds.
const LARGE: usize = 64 << 20;

/// Admits every connection.
struct Everyone;

impl Admission for Everyone {
    type Turn = ();
    type Permit = ();

    async fn turn(&self) {}

    fn admit(self: &Arc<Self>, (): (), _: Option<IpAddr>) -> Option<()> {
        Some(())
    }
}

impl Permit for () {}

async fn pace(State(speed): State<Speed>, request: Request, next: Next) -> Response {
    let (request, slowness) = body::pace(request, speed);
    let response = next.run(request).await;
    match slowness.get() {
        Some(_) => StatusCode::REQUEST_TIMEOUT.into_response(),
        None => response,
    }
}

/// Listens until the server closes.
async fn listen<A: Admission>(server: &Server, admission: A, routes: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = server.clone();
    tokio::spawn(server.accept(listener, Protocol::Http1, admission.into(), routes));
    address
}

/// Serves a form, and a large page.
async fn start(time: Duration) -> SocketAddr {
    let speed = Speed { time, bytes: 1000 };
    let patience = Patience {
        headers: time,
        responses: speed,
        ..Patience::default()
    };
    let routes = Router::new()
        .route("/form", post(async |body: String| body.len().to_string()))
        .route("/ignored", post(async || "ignored"))
        .route("/large", get(async || vec![b'x'; LARGE]))
        .layer(from_fn_with_state(speed, pace));
    let server = Server::new(patience, CancellationToken::new());
    listen(&server, Everyone, routes).await
}

/// Sends a request, and then its rest byte by byte, until the server closes the connection.
/// Returns the response.
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
    let mut response = Vec::new();
    // The server may close the connection before it has read everything.
    let receiver = async { reader.read_to_end(&mut response).await.unwrap_or_default() };
    tokio::select! {
        () = sender => {}
        _ = receiver => {}
    }
    String::from_utf8_lossy(&response).into_owned()
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
        let response = trickle(address, &request, rest.as_bytes());
        let response = tokio::time::timeout(HANG_TIMEOUT, response).await;
        let response = response.unwrap_or_else(|_| panic!("{name} keeps its connection"));
        let found = response.split(' ').nth(1).unwrap_or_default();
        assert_eq!(found, status, "{name}: {response}");
    }
}

#[tokio::test]
async fn client_that_sends_everything_first_receives_an_early_response() {
    let address = start(Duration::from_secs(5)).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("POST /none HTTP/1.1\r\nhost: a\r\ncontent-length: {LARGE}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    // The response is on its way before the body.
    tokio::time::sleep(Duration::from_millis(200)).await;
    stream.write_all(&vec![b'x'; LARGE]).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 404"), "{response}");
}

#[tokio::test]
async fn running_request_ends_and_streams_of_events_are_cut_when_the_server_closes() {
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
        let body = Body::from_stream(futures_util::stream::pending::<Result<String, io::Error>>());
        ([(CONTENT_TYPE, "text/event-stream")], body)
    };
    let routes = Router::new()
        .route("/slow", get(move || slow()))
        .route("/events", get(events));
    let server = Server::new(Patience::default(), ending.clone());
    let routes = end_event_streams(routes, ending);
    let address = listen(&server, Everyone, routes).await;
    let mut responses = Vec::new();
    for path in ["/events", "/slow"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        responses.push(stream);
    }
    begin.await.unwrap();
    assert!(!server.close(HANG_TIMEOUT).await, "a connection is open");
    let mut texts = Vec::new();
    for mut stream in responses {
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        texts.push(text);
    }
    assert!(texts[0].ends_with("0\r\n\r\n"), "{texts:?}");
    assert!(texts[1].ends_with("done"), "{texts:?}");
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn client_that_does_not_read_its_response_loses_its_connection() {
    let address = start(Duration::from_millis(300)).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n";
    stream.write_all(request).await.unwrap();
    // A client that pauses receives only what was in the buffers.
    let lost = async {
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            // Bytes on a closed connection lead to an error.
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
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    assert!(response.ends_with("\r\n30000"), "{response}");
}

#[tokio::test]
async fn request_that_outlasts_the_grace_period_is_cancelled() {
    let (begun, mut begin) = tokio::sync::mpsc::unbounded_channel();
    let hang = async move || {
        let _ = begun.send(());
        pending::<()>().await;
    };
    let server = Server::new(Patience::default(), CancellationToken::new());
    let address = listen(&server, Everyone, Router::new().route("/", get(hang))).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    begin.recv().await.unwrap();
    let closed = server.close(Duration::from_millis(100));
    let closed = tokio::time::timeout(HANG_TIMEOUT, closed).await;
    assert_eq!(closed, Ok(true));
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response).await;
    assert!(response.is_empty(), "{response:?}");
}

#[tokio::test]
async fn connection_survives_a_body_that_no_handler_reads() {
    let address = start(Duration::from_secs(5)).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    for request in 0..2 {
        let head = b"POST /ignored HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n";
        stream.write_all(head).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        stream.write_all(&[b'x'; 1000]).await.unwrap();
        let mut response = [0; 1024];
        let bytes = stream.read(&mut response).await.unwrap();
        let response = String::from_utf8_lossy(&response[..bytes]);
        assert!(
            response.starts_with("HTTP/1.1 200"),
            "{request}: {response}"
        );
        assert!(!response.contains("connection: close"), "{response}");
    }
}

/// A handler that relays the body, and responds when it has relayed up to `frames` parts of it.
async fn relay(frames: usize, body: axum::body::Body) -> &'static str {
    let (responds, response) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let mut body = body;
        for _ in 0..frames {
            if body.frame().await.is_none() {
                break;
            }
        }
        let _ = responds.send(());
        // The other side has not taken the rest yet.
        pending::<()>().await;
        drop(body);
    });
    response.await.unwrap();
    "relayed"
}

#[tokio::test]
async fn early_response_to_relayed_body_closes_connection() {
    let routes = Router::new()
        .route("/part", post(async |body| relay(1, body).await))
        .route("/all", post(async |body| relay(9, body).await));
    let server = Server::new(Patience::default(), CancellationToken::new());
    let address = listen(&server, Everyone, routes).await;
    let length = "content-length: 4\r\n\r\nab";
    let chunked = "transfer-encoding: chunked\r\n\r\n2\r\nab\r\n";
    for (path, body, closes) in [
        ("/part", length.to_owned(), true),
        ("/part", chunked.to_owned(), true),
        ("/all", format!("{length}cd"), false),
        ("/all", format!("{chunked}0\r\n\r\n"), false),
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("POST {path} HTTP/1.1\r\nhost: a\r\n{body}");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut response = [0; 1024];
        let bytes = stream.read(&mut response).await.unwrap();
        let response = String::from_utf8_lossy(&response[..bytes]);
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        let says = response.contains("connection: close\r\n");
        assert_eq!(says, closes, "{path}: {body:?}: {response}");
    }
}
