//! Bodies of requests, which must arrive with a minimum speed.

use crate::pace::{Pacer, Speed, TooSlow};
use axum::Error;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use http_body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

/// The result of polling a body.
pub type Frames = Poll<Option<Result<Frame<Bytes>, Error>>>;

/// Whether a body was too slow. Handlers report a body that ends early in different ways.
#[derive(Debug, Clone, Default)]
pub struct Slowness(Arc<OnceLock<TooSlow>>);

impl Slowness {
    /// The error, if the client was too slow.
    pub fn get(&self) -> Option<TooSlow> {
        self.0.get().copied()
    }
}

/// A body that ends with an error if its client is too slow.
struct Paced {
    body: Body,
    pacer: Pacer,
    slowness: Slowness,
}

/// Fails the body of a request if it arrives too slowly.
pub fn pace(request: Request, speed: Speed) -> (Request, Slowness) {
    let slowness = Slowness::default();
    if request.body().is_end_stream() {
        return (request, slowness);
    }
    let request = request.map(|body| {
        Body::new(Paced {
            body,
            pacer: Pacer::new(speed),
            slowness: slowness.clone(),
        })
    });
    (request, slowness)
}

/// The number of bytes in a frame.
pub fn length(frame: Option<&Result<Frame<Bytes>, Error>>) -> usize {
    let data = frame.and_then(|frame| frame.as_ref().ok()?.data_ref());
    data.map_or(0, Bytes::len)
}

impl HttpBody for Paced {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Frames {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        let paced = self.pacer.poll(context, frame, |it| length(it.as_ref()));
        Poll::Ready(match ready!(paced) {
            Ok(frame) => frame,
            Err(error) => {
                let error = self.slowness.0.get_or_init(|| error);
                Some(Err(Error::new(*error)))
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
