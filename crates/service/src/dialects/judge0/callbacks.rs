//! Sends results to the addresses that submissions name.
//!
//! A client could choose the address of any server that this machine can reach. So results are sent
//! only to addresses below the configured prefixes, over plain HTTP, and redirects are not
//! followed.
//!
//! A receiver may be slow, so only a few results of each client are sent at the same time. The
//! others of that client wait for them, and not for those of other clients.

use crate::core::queue::ClientId;
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::http::{Method, Request, Uri};
use bytes::Bytes;
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::AbortOnDropHandle;

/// How many times the service tries to send a result.
pub const MAX_TRIES: u32 = 3;
/// How long an attempt may take.
pub const TIMEOUT: Duration = Duration::from_secs(5);

/// The addresses that may receive results.
#[derive(Debug, Clone, Default)]
pub struct Receivers(Vec<Uri>);

/// Number of results that are sent at the same time.
const MAX_SENDING: usize = 16;
/// Number of results of one client that are sent at the same time, if there are several clients.
const MAX_SENDING_OF_CLIENT: usize = 4;
/// Number of results of one client that wait to be sent.
const MAX_WAITING: usize = 1000;

/// Whose results are sent next.
#[derive(Debug)]
pub struct Turns {
    all: Arc<Semaphore>,
    clients: Mutex<HashMap<ClientId, Arc<Lane>>>,
    of_client: usize,
}

/// The results of one client.
#[derive(Debug)]
struct Lane {
    waiting: Arc<Semaphore>,
    sending: Arc<Semaphore>,
}

/// A result that waits to be sent.
#[derive(Debug)]
pub struct Turn {
    all: Arc<Semaphore>,
    lane: Arc<Lane>,
    waiting: OwnedSemaphorePermit,
}

/// A result that is being sent.
#[derive(Debug)]
pub struct Sending {
    _permits: [Option<OwnedSemaphorePermit>; 2],
}

impl Turns {
    /// No results. Only several clients need shares.
    pub fn new(is_divided: bool) -> Turns {
        Turns {
            all: Arc::new(Semaphore::new(MAX_SENDING)),
            clients: Mutex::default(),
            of_client: match is_divided {
                true => MAX_SENDING_OF_CLIENT,
                false => MAX_SENDING,
            },
        }
    }

    /// Adds a result of a client, unless too many wait.
    pub fn enter(&self, client: ClientId) -> Option<Turn> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = clients.entry(client).or_insert_with(|| {
            Arc::new(Lane {
                waiting: Arc::new(Semaphore::new(MAX_WAITING)),
                sending: Arc::new(Semaphore::new(self.of_client)),
            })
        });
        Some(Turn {
            all: self.all.clone(),
            waiting: lane.waiting.clone().try_acquire_owned().ok()?,
            lane: lane.clone(),
        })
    }
}

impl Turn {
    /// Waits for the turn of the client. A client waits for a place with at most as many results as
    /// it may send at the same time, so a place soon goes to another client.
    pub async fn wait(self) -> Sending {
        let own = self.lane.sending.clone().acquire_owned().await.ok();
        let all = self.all.acquire_owned().await.ok();
        drop(self.waiting);
        Sending {
            _permits: [own, all],
        }
    }
}

/// The part of an address that the log may contain: paths and parameters may hold secrets.
pub fn origin(url: &str) -> String {
    match plain_http(url) {
        Some(uri) => format!("http://{}", uri.authority().map_or("", |it| it.as_str())),
        None => "an address that cannot be used".to_owned(),
    }
}

/// Why a result was not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The address is not `http://HOST[:PORT]/PATH`.
    #[error("the address cannot be used")]
    Address,
    /// The connection failed.
    #[error("{0}")]
    Connect(#[from] std::io::Error),
    /// The exchange failed.
    #[error("{0}")]
    Exchange(#[from] hyper::Error),
    /// The receiver did not answer in time.
    #[error("no answer within {} s", TIMEOUT.as_secs())]
    TimedOut,
}

impl Receivers {
    /// Receivers below these prefixes. A prefix that is not a plain HTTP address allows nothing.
    pub fn new(prefixes: &[String]) -> Receivers {
        let parsed = prefixes.iter().filter_map(|prefix| {
            let uri = plain_http(prefix);
            if uri.is_none() {
                tracing::warn!(prefix, "callbacks need http://HOST[:PORT]/PATH; ignored");
            }
            uri
        });
        Receivers(parsed.collect())
    }

    /// Whether no address may receive results.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether results may be sent to this address.
    pub fn allow(&self, url: &str) -> bool {
        let Some(uri) = plain_http(url) else {
            return false;
        };
        self.0.iter().any(|prefix| {
            let same_host = uri
                .authority()
                .zip(prefix.authority())
                .is_some_and(|(a, b)| {
                    a.host().eq_ignore_ascii_case(b.host())
                        && a.port_u16().unwrap_or(80) == b.port_u16().unwrap_or(80)
                });
            let rest = uri.path().strip_prefix(prefix.path());
            // `/hook` allows `/hook/1` but not `/hooks`.
            let is_below = rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('/') || prefix.path().ends_with('/')
            });
            same_host && is_below
        })
    }
}

/// The address, if it is plain HTTP and has no parts that servers interpret differently.
fn plain_http(url: &str) -> Option<Uri> {
    let uri: Uri = url.trim().parse().ok()?;
    let authority = uri.authority()?;
    let is_plain = uri.scheme_str() == Some("http")
        && !authority.as_str().contains('@')
        && !authority.host().is_empty();
    let has_dots = uri.path().split('/').any(|segment| {
        matches!(
            segment.replace("%2e", ".").replace("%2E", ".").as_str(),
            "." | ".."
        )
    });
    (is_plain && !has_dots && !uri.path().contains('\\')).then_some(uri)
}

/// Sends a result, and retries until the receiver answers. Any status counts as an answer.
pub async fn send(url: &str, body: Bytes) {
    let receiver = origin(url);
    for attempt in 1..=MAX_TRIES {
        match tokio::time::timeout(TIMEOUT, put(url, body.clone())).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::warn!(receiver, attempt, %error, "a callback failed"),
            Err(_) => {
                let error = SendError::TimedOut;
                tracing::warn!(receiver, attempt, %error, "a callback failed");
            }
        }
    }
}

async fn put(url: &str, body: Bytes) -> Result<(), SendError> {
    let uri = plain_http(url).ok_or(SendError::Address)?;
    let authority = uri.authority().ok_or(SendError::Address)?;
    let host = authority.host().trim_matches(['[', ']']);
    let stream = TcpStream::connect((host, authority.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::builder()
        .method(Method::PUT)
        .uri(path)
        .header(HOST, authority.as_str())
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(body))
        .map_err(|_| SendError::Address)?;
    // The answer's body is not read.
    let _connection = AbortOnDropHandle::new(tokio::spawn(connection));
    sender.send_request(request).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn slow_receivers_of_one_client_do_not_delay_others() {
        let turns = Turns::new(true);
        let mut sending = Vec::new();
        for _ in 0..MAX_SENDING_OF_CLIENT {
            sending.push(turns.enter(1).unwrap().wait().await);
        }
        let next = turns.enter(1).unwrap().wait();
        let next = tokio::time::timeout(Duration::from_millis(10), next);
        assert!(next.await.is_err());
        turns.enter(2).unwrap().wait().await;
        let waiting: Vec<_> = std::iter::from_fn(|| turns.enter(1)).collect();
        assert_eq!(waiting.len(), MAX_WAITING);
        assert!(turns.enter(2).is_some());
        drop(sending);
    }

    #[test]
    fn log_contains_only_the_origin() {
        assert_eq!(
            origin("http://a.test:81/hook?key=secret"),
            "http://a.test:81"
        );
        assert!(!origin("http://user:secret@a.test/").contains("secret"));
    }

    #[test]
    fn only_addresses_below_a_prefix_are_allowed() {
        let prefixes = [
            "http://hooks.test/in",
            "http://127.0.0.1:9000/",
            "https://tls.test/",
        ];
        let receivers = Receivers::new(&prefixes.map(str::to_owned));
        for url in [
            "http://hooks.test/in",
            "http://HOOKS.test:80/in/1?x=2",
            "http://127.0.0.1:9000/a",
        ] {
            assert!(receivers.allow(url), "{url}");
        }
        for url in [
            "http://hooks.test/inside",
            "http://hooks.test/",
            "http://hooks.test/in/../admin",
            "http://hooks.test/in/%2e%2E/admin",
            "http://hooks.test.evil.test/in",
            "http://hooks.test@evil.test/in",
            "http://hooks.test:81/in",
            "http://127.0.0.1:90/a",
            "https://hooks.test/in",
            "https://tls.test/",
            "file:///etc/passwd",
            "//hooks.test/in",
            "",
        ] {
            assert!(!receivers.allow(url), "{url}");
        }
        assert!(!Receivers::default().allow("http://hooks.test/in"));
    }
}
