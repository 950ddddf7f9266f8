//! Drops the handler and the response of a client that has left, which cancels what they do.

use crate::socket::{Probe, Shared, Socket};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{Request, Response, Version};
use http_body::{Frame, SizeHint};
use hyper::body::{Body as _, Incoming};
use std::pin::Pin;
use std::task::{Context, Poll};
use tower::ServiceExt;

/// The client has left before the end of its response.
#[derive(Debug, thiserror::Error)]
#[error("the client has left before the end of its response")]
pub struct ClientLeft;

/// Responds to a request, unless the client leaves.
pub async fn respond<S: Socket>(
    socket: Shared<S>,
    routes: Router,
    request: Request<Incoming>,
) -> Result<Response<Body>, ClientLeft> {
    let version = request.version();
    let response = tokio::select! {
        biased;
        response = routes.oneshot(request) => response.unwrap_or_else(|never| match never {}),
        () = socket.left(Probe::Head) => return Err(ClientLeft),
    };
    socket.begin_response();
    // Bodies of a known size need no watch: no handler is waiting.
    if response.body().size_hint().exact().is_some() {
        return Ok(response);
    }
    let is_chunked =
        version == Version::HTTP_11 && !response.headers().contains_key(CONTENT_LENGTH);
    let probe = if is_chunked {
        Probe::Chunk
    } else {
        Probe::None
    };
    Ok(response.map(|body| {
        Body::new(Watched {
            body,
            left: Box::pin(async move { socket.left(probe).await }),
        })
    }))
}

/// The body of a response, which fails if the client leaves.
struct Watched {
    body: Body,
    left: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Pending => self
                .left
                .as_mut()
                .poll(context)
                .map(|()| Some(Err(ClientLeft.into()))),
            Poll::Ready(frame) => Poll::Ready(frame.map(|frame| frame.map_err(Into::into))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
