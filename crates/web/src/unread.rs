//! Reads the part of a request's body that a handler has not read.
//!
//! A handler may answer before it has read the body, for example because a token is missing. The
//! rest of the body then precedes the next request on the connection, so hyper closes the
//! connection, unless the rest has already arrived. A client that sends its headers and its body in
//! separate packets finds its connection closed at random.

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::{CONNECTION, EXPECT};
use axum::http::{HeaderValue, Version};
use axum::middleware::Next;
use axum::response::Response;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

/// Maximum size in bytes of the rest of a body that is read.
const MAX_REST_BYTES: usize = 256 << 10;
/// Maximum time in which the rest of a body must arrive.
const MAX_REST_TIME: Duration = Duration::from_millis(500);

/// Reads the rest of the body before it returns the response. If the rest is large or slow, or the
/// handler still holds the body, the response says that the connection will be closed.
pub(crate) async fn drain(request: Request, next: Next) -> Response {
    if request.version() > Version::HTTP_11 || request.body().is_end_stream() {
        return next.run(request).await;
    }
    let waits = request.headers().contains_key(EXPECT);
    let (head, body) = request.into_parts();
    let body = Shared::new(body);
    let request = Request::from_parts(head, Body::new(body.clone()));
    let mut response = next.run(request).await;
    let is_read = match body.into_inner() {
        // The first poll would prompt a client that waits with `Expect: 100-continue` to send the
        // body.
        Ok(body) => (body.is_polled || !waits) && read(body.body).await,
        // The handler still holds the body, and may never read the rest.
        Err(body) => body.is_end_stream(),
    };
    if !is_read {
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Whether the body ends within the bounds.
async fn read(mut body: Body) -> bool {
    let all = async {
        let mut size = 0;
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return false };
            size += frame.data_ref().map_or(0, Bytes::len);
            if size > MAX_REST_BYTES {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(MAX_REST_TIME, all).await == Ok(true)
}

/// The body that the handler sees, while `drain` keeps the connection's.
#[derive(Debug, Clone)]
struct Shared(Arc<Mutex<Polled>>);

#[derive(Debug)]
struct Polled {
    body: Body,
    is_polled: bool,
    /// Whether `poll_frame` has returned the end. A body of unknown length does not report it.
    has_ended: bool,
}

impl Shared {
    fn new(body: Body) -> Shared {
        Shared(Arc::new(Mutex::new(Polled {
            body,
            is_polled: false,
            has_ended: false,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Polled> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The body, unless it is still shared.
    fn into_inner(self) -> Result<Polled, Shared> {
        let body = Arc::try_unwrap(self.0).map_err(Shared)?.into_inner();
        Ok(body.unwrap_or_else(PoisonError::into_inner))
    }
}

impl http_body::Body for Shared {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut shared = self.lock();
        shared.is_polled = true;
        let polled = Pin::new(&mut shared.body).poll_frame(context);
        shared.has_ended |= matches!(polled, Poll::Ready(None));
        polled
    }

    fn is_end_stream(&self) -> bool {
        let shared = self.lock();
        shared.has_ended || shared.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.lock().body.size_hint()
    }
}
