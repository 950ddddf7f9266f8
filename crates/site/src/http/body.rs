//! Bodies of requests. A client that sends too slowly receives an error, so that it cannot occupy
//! a connection or a place for an upload forever.

use super::api::problem::ApiError;
use super::error::PageError;
use super::pacer::Pacer;
use crate::core::pace::Speed;
use axum::Error;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The speed that clients must reach: about 1 KiB/s, less than any connection on which the pages
/// can be used. A body of up to 32 KiB may take 30 s.
pub const SPEED: Speed = Speed {
    time: Duration::from_secs(30),
    bytes: 32 << 10,
};

/// A body that ends with an error if its client is too slow.
struct Paced {
    body: Body,
    pacer: Pacer,
    /// Whether the client was too slow.
    is_slow: Arc<AtomicBool>,
}

impl HttpBody for Paced {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        let bytes = |frame: &Option<Result<Frame<Bytes>, Error>>| {
            let data = frame
                .as_ref()
                .and_then(|frame| frame.as_ref().ok()?.data_ref());
            data.map_or(0, Bytes::len)
        };
        Poll::Ready(match ready!(self.pacer.poll(context, frame, bytes)) {
            Ok(frame) => frame,
            Err(too_slow) => {
                self.is_slow.store(true, Ordering::Relaxed);
                Some(Err(Error::new(too_slow)))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Answers requests whose bodies arrive too slowly with one error. Handlers report a body that ends
/// early in different ways.
pub async fn pace(State(speed): State<Speed>, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let is_program = request.uri().path().starts_with("/api/v1/");
    let is_slow = Arc::new(AtomicBool::new(false));
    let request = request.map(|body| {
        Body::new(Paced {
            body,
            pacer: Pacer::new(speed),
            is_slow: is_slow.clone(),
        })
    });
    let response = next.run(request).await;
    match (is_slow.load(Ordering::Relaxed), is_program) {
        (false, _) => response,
        (true, false) => PageError::TooSlow.into_response(),
        (true, true) => ApiError::from(PageError::TooSlow).into_response(),
    }
}
