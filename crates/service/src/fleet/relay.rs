//! Relays one request through one tunnel, or through several, one after another.

use super::error::RelayError;
use super::frame::{Frame, Kind, TunnelId};
use super::load::{Opening, encode};
use super::roster::{Chosen, Wanted};
use super::state::{ListenAddress, Shared};
use super::tunnel::{TUNNEL_BYTES, Tunnel, WINDOW, WINDOW_BYTES};
use crate::config::{Dialect, dialect_of};
use crate::core::ids;
use crate::core::share::Claim;
use crate::http::bodies::{self, STRANGER};
use crate::http::server::Network;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, TE, TRANSFER_ENCODING, UPGRADE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, Version};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body::{Frame as BodyFrame, SizeHint};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::upgrade::{OnUpgrade, on};
use hyper_util::rt::{TokioExecutor, TokioIo};
use sha2::{Digest, Sha256};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

/// The largest body that is kept, so that its request can be sent again.
const MAX_KEPT_BYTES: u64 = 1 << 20;
/// The number of tunnels that a request may use, one after another.
const MAX_ATTEMPTS: usize = 4;
/// How long an executor may take to accept a tunnel.
const ACCEPT_PATIENCE: Duration = Duration::from_secs(2);
/// The pause before a request is sent again to an executor that has failed it, if there is no
/// other.
const PAUSE: Duration = Duration::from_millis(250);
/// The maximum number of ids in a request that lead it to an executor. A batch of Judge0 has 20.
const MAX_TAGS: usize = 64;
/// The largest headers of a response over HTTP/2, in bytes.
const MAX_HTTP2_HEADER_BYTES: u32 = 64 << 10;
/// The header whose value makes repeated requests join the first one.
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Headers that describe a connection and not a request (RFC 9110, section 7.6.1).
const HOP_HEADERS: [&str; 4] = [
    "keep-alive",
    "proxy-connection",
    "trailer",
    "transfer-encoding",
];

/// The body of a request.
enum Content {
    /// It is kept, and can be sent again.
    Whole(Bytes),
    /// It can be sent once.
    Stream(Option<Body>),
}

impl Content {
    /// The body for an attempt. `None` if it has been sent before.
    fn take(&mut self) -> Option<Body> {
        match self {
            Content::Whole(bytes) => Some(Body::from(bytes.clone())),
            Content::Stream(body) => body.take(),
        }
    }

    fn is_left(&self) -> bool {
        !matches!(self, Content::Stream(None))
    }
}

/// Ends the tunnel of a request when the response has been sent, or the client has left.
struct Guard {
    tunnel: Arc<Tunnel>,
    _claim: Option<Claim<String>>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.tunnel.close();
    }
}

/// Relays a request.
pub async fn relay(shared: Arc<Shared>, listener: ListenAddress, request: Request) -> Response {
    let path = request.uri().path();
    let dialect = match listener.dialect {
        Some(dialect) => Some(dialect),
        None => dialect_of(path, &shared.config.dialects),
    };
    match attempt_all(&shared, listener, dialect, request).await {
        Ok(response) => response,
        Err(Failure::Body(status)) => status.into_response(),
        Err(Failure::Relay(error)) => {
            shared.figures.count_failure(error);
            bodies::overloaded(dialect, &error)
        }
    }
}

enum Failure {
    Relay(RelayError),
    /// The client has not sent the body.
    Body(StatusCode),
}

impl From<RelayError> for Failure {
    fn from(error: RelayError) -> Failure {
        Failure::Relay(error)
    }
}

async fn attempt_all(
    shared: &Arc<Shared>,
    listener: ListenAddress,
    dialect: Option<Dialect>,
    mut request: Request,
) -> Result<Response, Failure> {
    let is_grpc = listener.dialect == Some(Dialect::GoJudgeGrpc);
    let upgrade = (!is_grpc && is_upgrade(request.headers())).then(|| on(&mut request));
    let (mut head, body) = request.into_parts();
    let stranger = bodies::client(&shared.tokens, &head) == STRANGER;
    // The forms of the pages contain the token.
    let needs_header = dialect.is_some() || head.uri.path().starts_with("/v1/");
    let is_rejected = stranger && needs_header && shared.tokens.are_required();
    let client = identity(shared, &head);
    let is_known = !stranger || !shared.tokens.are_required();
    let pool = if is_known {
        &shared.clients
    } else {
        &shared.strangers
    };
    let claim = pool.take(client.clone(), TUNNEL_BYTES);
    let mut claim = claim.ok_or(RelayError::Share)?;
    let mut content = content(&head, body, is_rejected, &mut claim).await?;
    forward_headers(&mut head, upgrade.is_some(), is_rejected);
    if is_grpc {
        head.uri = absolute(&head);
    } else {
        make_relative(&mut head);
    }
    let key = match head.headers.get(IDEMPOTENCY_KEY) {
        _ if uses_files(dialect, head.uri.path(), &content) => Some(home(shared, &head)),
        key => key.map(|key| key.as_bytes().to_vec()),
    };
    let mut wanted = Wanted {
        tags: tags(&head),
        // Executors are chosen with a digest, so that a long key costs nothing.
        key: key.map(|key| Sha256::digest(key).into()),
        runs: !matches!(head.method, Method::GET | Method::HEAD | Method::OPTIONS),
        ..Wanted::default()
    };
    let opening = |instance| Opening {
        instance,
        dialect: listener.dialect,
        is_unix: listener.is_unix,
        client: client.clone(),
    };
    let mut claim = Some(claim);
    let mut error = RelayError::NoExecutor;
    for attempt in 0..MAX_ATTEMPTS {
        if !content.is_left() {
            return Err(RelayError::Lost.into());
        }
        if attempt > 0 {
            shared.figures.count_repetition();
        }
        let Some(chosen) = choose(shared, &mut wanted).await else {
            return Err(RelayError::NoExecutor.into());
        };
        let Some((mut guard, stream)) = open(shared, &chosen, &opening(chosen.instance)).await
        else {
            error = RelayError::NotAccepted;
            wanted.except.insert(chosen.name);
            continue;
        };
        let Some(body) = content.take() else {
            return Err(RelayError::Lost.into());
        };
        let mut copy = Request::from_parts(head.clone(), body);
        *copy.version_mut() = if is_grpc {
            Version::HTTP_2
        } else {
            Version::HTTP_11
        };
        let sent = match is_grpc {
            true => send_http2(stream, copy).await,
            false => send_http1(stream, copy).await,
        };
        match sent {
            Ok(response) => {
                guard._claim = claim.take();
                return Ok(respond(response, guard, upgrade));
            }
            Err(failure) => {
                tracing::debug!(executor = %chosen.name, error = %failure, "an attempt failed");
                error = RelayError::Lost;
                wanted.except.insert(chosen.name);
            }
        }
    }
    Err(error.into())
}

/// The next executor. If all that may have the request have failed, they get a second chance.
async fn choose(shared: &Shared, wanted: &mut Wanted) -> Option<Chosen> {
    if let Some(chosen) = shared.roster.choose(wanted) {
        return Some(chosen);
    }
    if !wanted.except.is_empty() {
        tokio::time::sleep(PAUSE).await;
        wanted.except.clear();
    }
    shared.roster.choose_soon(wanted).await
}

/// Opens a tunnel. `None` if the executor does not accept it.
async fn open(
    shared: &Arc<Shared>,
    chosen: &Chosen,
    opening: &Opening,
) -> Option<(Guard, DuplexStream)> {
    let id = TunnelId {
        epoch: shared.epoch,
        number: shared.next_number(),
    };
    let route = shared.route(&chosen.name);
    let (tunnel, stream) = shared
        .tunnels
        .start(id, chosen.name.as_str(), route.clone())?;
    // If the client leaves meanwhile, the tunnel ends.
    let guard = Guard {
        tunnel,
        _claim: None,
    };
    let opened = async {
        route
            .send(&Frame::control(Kind::Open, id, encode(opening)))
            .await;
        guard.tunnel.accepted().await
    };
    let accepted = tokio::time::timeout(ACCEPT_PATIENCE, opened).await;
    (accepted == Ok(true)).then_some((guard, stream))
}

async fn send_http1(stream: DuplexStream, request: Request) -> hyper::Result<Response<Incoming>> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // The connection ends with its tunnel.
    tokio::spawn(async move { connection.with_upgrades().await });
    sender.send_request(request).await
}

async fn send_http2(stream: DuplexStream, request: Request) -> hyper::Result<Response<Incoming>> {
    let stream = TokioIo::new(stream);
    // The windows of HTTP/2 are no larger than that of the tunnel, which the client has paid for.
    let mut client = http2::Builder::new(TokioExecutor::new());
    client
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_send_buf_size(WINDOW_BYTES)
        .max_header_list_size(MAX_HTTP2_HEADER_BYTES);
    let (mut sender, connection) = client.handshake(stream).await?;
    tokio::spawn(connection);
    sender.send_request(request).await
}

/// The client whose share of tunnels is used.
fn identity(shared: &Shared, head: &Parts) -> String {
    let client = bodies::client(&shared.tokens, head);
    let network = head
        .extensions
        .get::<Network>()
        .and_then(|network| network.0);
    match network {
        _ if client != STRANGER && shared.tokens.are_required() => format!("token {client}"),
        Some(network) => network.to_string(),
        None => "unix".to_owned(),
    }
}

/// The key that leads all requests with files of a client to one executor.
fn home(shared: &Shared, head: &Parts) -> Vec<u8> {
    let client = bodies::client(&shared.tokens, head);
    format!("home of {client}").into_bytes()
}

/// Reads a body of a known, small size, so that its request can be sent again.
async fn content(
    head: &Parts,
    body: Body,
    is_rejected: bool,
    claim: &mut Claim<String>,
) -> Result<Content, Failure> {
    // The executor rejects the request before it needs the body.
    if is_rejected || body.is_end_stream() {
        return Ok(Content::Whole(Bytes::new()));
    }
    let length = head.headers.get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let Some(length) = length.filter(|length| *length <= MAX_KEPT_BYTES) else {
        return Ok(Content::Stream(Some(body)));
    };
    if !claim.grow(length) {
        return Err(RelayError::Share.into());
    }
    let limit = usize::try_from(length).unwrap_or(usize::MAX);
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(Content::Whole(collected.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(Failure::Body(StatusCode::PAYLOAD_TOO_LARGE))
        }
        // The client has left, or sends too slowly.
        Err(_) => Err(Failure::Body(StatusCode::REQUEST_TIMEOUT)),
    }
}

/// Removes the headers that describe the connection of the client.
fn forward_headers(head: &mut Parts, is_upgrade: bool, is_rejected: bool) {
    let headers = &mut head.headers;
    remove_hop_headers(headers);
    headers.remove(EXPECT);
    headers.remove(TRANSFER_ENCODING);
    if is_rejected {
        headers.remove(CONTENT_LENGTH);
    }
    if is_upgrade {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    } else {
        headers.remove(UPGRADE);
    }
    // A single value is allowed in HTTP/2.
    if headers.get(TE).is_some_and(|te| te != "trailers") {
        headers.remove(TE);
    }
    // Extensions belong to the connection of the client.
    head.extensions = axum::http::Extensions::default();
}

fn remove_hop_headers(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .filter(|name| *name != UPGRADE)
        .collect();
    for name in named {
        headers.remove(name);
    }
    headers.remove(CONNECTION);
    for name in HOP_HEADERS {
        headers.remove(name);
    }
}

/// Whether the client asks for an upgrade. Without the option in `Connection`, the header `Upgrade`
/// has no meaning (RFC 9110, section 7.8).
fn is_upgrade(headers: &HeaderMap) -> bool {
    let mut options = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    headers.contains_key(UPGRADE) && options.any(|one| one.trim().eq_ignore_ascii_case("upgrade"))
}

/// Leaves only path and query of a URL. The host of a whole URL replaces the header `Host` (RFC
/// 9112, section 3.2.2), so that the executor checks the name to which the request was sent.
fn make_relative(head: &mut Parts) {
    let authority = head.uri.authority().map(|authority| authority.as_str());
    if let Some(Ok(host)) = authority.map(HeaderValue::from_str) {
        head.headers.insert(HOST, host);
    }
    let path = head.uri.path_and_query().cloned();
    head.uri = path.map_or_else(|| Uri::from_static("/"), Uri::from);
}

/// The URL of a request in HTTP/2, which has the name of the host.
fn absolute(head: &Parts) -> Uri {
    let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
    let authority = head.uri.authority().map(|authority| authority.as_str());
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let name = authority.or(host).unwrap_or("localhost");
    let uri = format!("http://{name}{path}").parse();
    uri.unwrap_or_else(|_| head.uri.clone())
}

/// The tags of the ids in the path and in the query.
fn tags(head: &Parts) -> Vec<ids::Tag> {
    let path = head.uri.path().split('/');
    let query = head.uri.query().unwrap_or_default();
    let values = query
        .split('&')
        .filter_map(|pair| Some(pair.split_once('=')?.1));
    let values = values
        .flat_map(|value| value.split(','))
        .flat_map(|value| value.split("%2C"));
    let found = path.chain(values).filter_map(ids::tag_of);
    found.take(MAX_TAGS).collect()
}

/// Whether a request stores files or may use stored files, which are at the client's home. The
/// content of streams is not known.
fn uses_files(dialect: Option<Dialect>, path: &str, content: &Content) -> bool {
    let names: &[&[u8]] = match dialect {
        Some(Dialect::GoJudgeGrpc) => return true,
        Some(Dialect::GoJudge) if path.contains("/file") => return true,
        Some(Dialect::GoJudge) if path.ends_with("/ws") || path.ends_with("/stream") => {
            return true;
        }
        Some(Dialect::GoJudge) => &[b"\"fileId\"", b"\"copyOutCached\""],
        None if path.starts_with("/v1/files") => return true,
        None if path.starts_with("/v1/") => &[b"sha256"],
        _ => return false,
    };
    match content {
        Content::Whole(body) => names.iter().any(|name| contains(body, name)),
        Content::Stream(_) => true,
    }
}

/// Whether bytes contain a member's name. A name with escapes is not found; go-judge's clients and
/// JSON libraries do not escape letters.
fn contains(bytes: &[u8], name: &[u8]) -> bool {
    bytes.windows(name.len()).any(|window| window == name)
}

/// The response for the client.
fn respond(response: Response<Incoming>, guard: Guard, upgrade: Option<OnUpgrade>) -> Response {
    let (mut head, body) = response.into_parts();
    head.version = Version::default();
    if head.status == StatusCode::SWITCHING_PROTOCOLS
        && let Some(upgrade) = upgrade
    {
        // The executor's connection would end after an ordinary response, and says so.
        let upgraded = HeaderValue::from_static("upgrade");
        head.headers.insert(CONNECTION, upgraded);
        let mut response = Response::from_parts(head, Body::empty());
        // The upgraded stream of the executor is in an extension of the response.
        let executor = on(&mut response);
        tokio::spawn(async move {
            let _guard = guard;
            if let Ok((client, executor)) = tokio::try_join!(upgrade, executor) {
                exchange(TokioIo::new(client), TokioIo::new(executor)).await;
            }
        });
        return response;
    }
    remove_hop_headers(&mut head.headers);
    let body = Relayed {
        body,
        _guard: guard,
    };
    Response::from_parts(head, Body::new(body))
}

/// Copies bytes in both directions until the executor has ended its stream, or the client has left.
async fn exchange(
    client: impl AsyncRead + AsyncWrite + Unpin,
    executor: impl AsyncRead + AsyncWrite + Unpin,
) {
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_executor, mut to_executor) = tokio::io::split(executor);
    let up = tokio::io::copy(&mut from_client, &mut to_executor);
    let down = async {
        let copied = tokio::io::copy(&mut from_executor, &mut to_client).await;
        let _ = tokio::io::AsyncWriteExt::shutdown(&mut to_client).await;
        copied
    };
    // A client that closes its WebSocket has said so, and reads no more.
    tokio::select! {
        _ = up => {}
        _ = down => {}
    }
}

/// The body of a response, which ends its tunnel.
struct Relayed {
    body: Incoming,
    _guard: Guard,
}

impl HttpBody for Relayed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<BodyFrame<Bytes>>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(uri: &str) -> Parts {
        let request = axum::http::Request::builder().uri(uri).body(());
        request.unwrap().into_parts().0
    }

    #[test]
    fn ids_are_found_in_path_and_query() {
        let found = |uri: &str| tags(&head(uri)).len();
        assert_eq!(found("/v1/runs/r_0011aabb/events"), 1);
        let token = "ab1f0011-2233-4455-8677-8899aabbccdd";
        let batch = format!("/submissions/batch?tokens={token},{token}%2C{token}&fields=a");
        assert_eq!(found(&batch), 3);
    }

    #[test]
    fn ids_of_a_request_are_bounded() {
        let many = "ab1f0011-2233-4455-8677-8899aabbccdd,".repeat(1000);
        let uri = format!("/submissions/batch?tokens={many}");
        assert_eq!(tags(&head(&uri)).len(), MAX_TAGS);
    }

    #[test]
    fn name_to_which_a_request_was_sent_is_relayed() {
        for (uri, expected) in [
            ("http://foreign.example/a?b", "foreign.example"),
            ("/a?b", "own"),
        ] {
            let mut head = head(uri);
            head.headers.insert(HOST, HeaderValue::from_static("own"));
            make_relative(&mut head);
            assert_eq!(head.uri, "/a?b");
            assert_eq!(head.headers[HOST], expected);
        }
    }

    #[test]
    fn upgrade_needs_an_option_of_the_connection() {
        for (connection, expected) in [
            (None, false),
            (Some("keep-alive"), false),
            (Some("keep-alive, Upgrade"), true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
            if let Some(connection) = connection {
                headers.insert(CONNECTION, HeaderValue::from_static(connection));
            }
            assert_eq!(is_upgrade(&headers), expected, "{connection:?}");
        }
    }

    #[test]
    fn requests_with_files_go_to_the_home_of_their_client() {
        let whole = |body: &'static str| Content::Whole(Bytes::from_static(body.as_bytes()));
        let go_judge = Some(Dialect::GoJudge);
        for (dialect, path, content, expected) in [
            (go_judge, "/file/ABCDEFGH", whole(""), true),
            (go_judge, "/run", whole(r#"{"fileId" : "A"}"#), true),
            (go_judge, "/run", whole(r#"{"copyOutCached":["a"]}"#), true),
            (go_judge, "/run", whole(r#"{"copyOut":["a"]}"#), false),
            (go_judge, "/run", Content::Stream(None), true),
            (Some(Dialect::GoJudgeGrpc), "/", whole(""), true),
            (None, "/v1/files", whole(""), true),
            (None, "/v1/runs", whole(r#"{"sha256":"0"}"#), true),
            (None, "/v1/runs", whole("{}"), false),
            (
                Some(Dialect::Judge0),
                "/submissions",
                Content::Stream(None),
                false,
            ),
        ] {
            assert_eq!(uses_files(dialect, path, &content), expected, "{path}");
        }
    }

    #[test]
    fn headers_of_the_connection_are_not_relayed() {
        let mut head = head("/");
        for (name, value) in [
            ("connection", "close, X-Own"),
            ("x-own", "1"),
            ("keep-alive", "1"),
            ("te", "gzip"),
            ("expect", "100-continue"),
            ("upgrade", "h2c"),
            ("authorization", "Bearer a"),
        ] {
            head.headers.insert(name, value.parse().unwrap());
        }
        forward_headers(&mut head, false, false);
        assert_eq!(head.headers.len(), 1);
        assert!(head.headers.contains_key("authorization"));
    }
}
