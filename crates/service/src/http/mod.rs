//! HTTP: listening, routing, and what all interfaces share.
//!
//! | file | content |
//! | --- | --- |
//! | `sockets` | binds the addresses |
//! | `server` | accepts connections, and shuts down in an orderly way |
//! | `held` | charges the memory of an answer until it is sent |
//! | `bearer` | the token of a request |
//! | `bodies` | the memory of bodies that are being read or wait |
//! | `encoding` | expands compressed bodies |
//! | `headers` | headers of the service that all interfaces have |
//! | `problem` | errors as RFC 9457 problem details |
//! | `openapi` | the description of the service's own interface |
//! | `origins` | protects a service without tokens from pages of other sites |
//! | `health` | `/healthz`, `/readyz` and `/metrics` |
//! | `v1` | the service's own interface |

pub mod bearer;
pub mod bodies;
pub mod encoding;
pub mod headers;
pub mod health;
pub mod held;
pub mod openapi;
pub mod origins;
pub mod problem;
pub mod server;
pub mod sockets;
pub mod v1;

use crate::config::Dialect;
use crate::service::Service;
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderValue, Request};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use millibox_web::pace::{SPEED, Speed};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{
    MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer,
};
use tower_http::trace::{DefaultOnFailure, DefaultOnResponse, TraceLayer};
use tracing::{Level, Span};

/// The speed at which messages of a gRPC stream must arrive: at least one byte in each 30 s. Such a
/// stream may be a terminal, on which a person types.
const STREAM_SPEED: Speed = Speed { bytes: 1, ..SPEED };

/// Adds what all routes of an address share. `dialect` is the only one at the address. No web page
/// can send a request to a Unix socket.
pub fn with_layers(
    routes: Router,
    service: &Arc<Service>,
    dialect: Option<Dialect>,
    is_unix: bool,
) -> Router {
    let trace = TraceLayer::new_for_http()
        .make_span_with(span)
        .on_response(DefaultOnResponse::new().level(Level::DEBUG))
        .on_failure(DefaultOnFailure::new().level(Level::DEBUG));
    let speed = speed_of(dialect);
    let layers = ServiceBuilder::new()
        .layer(SetRequestIdLayer::x_request_id(NumberRequests::default()))
        .layer(trace)
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(speed, pace))
        .layer(DefaultBodyLimit::max(service.config.max_body_bytes));
    let guard = from_fn_with_state(service.clone(), origins::guard);
    let routes = if is_unix { routes } else { routes.layer(guard) };
    routes.layer(layers)
}

/// The speed at which bodies must arrive at an address.
pub fn speed_of(dialect: Option<Dialect>) -> Speed {
    match dialect {
        Some(Dialect::GoJudgeGrpc) => STREAM_SPEED,
        _ => SPEED,
    }
}

/// Fails bodies that arrive too slowly.
pub async fn pace(State(speed): State<Speed>, request: Request<Body>, next: Next) -> Response {
    next.run(millibox_web::body::pace(request, speed).0).await
}

/// Numbers the requests that have no id from the client.
#[derive(Debug, Clone, Default)]
struct NumberRequests(Arc<AtomicU64>);

impl MakeRequestId for NumberRequests {
    fn make_request_id<B>(&mut self, _: &Request<B>) -> Option<RequestId> {
        let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        HeaderValue::from_str(&number.to_string())
            .ok()
            .map(RequestId::new)
    }
}

fn span<B>(request: &Request<B>) -> Span {
    let id = request.extensions().get::<RequestId>();
    let id = id.and_then(|id| id.header_value().to_str().ok());
    tracing::info_span!(
        "request",
        id = id.unwrap_or_default(),
        method = %request.method(),
        path = request.uri().path(),
    )
}

/// The answer if a handler panicked. The other requests continue.
fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(message, "a handler panicked");
    problem::internal("the service has a bug").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;
    use axum::routing::get;
    use tower::Service as _;

    async fn bug() -> &'static str {
        panic!("a bug");
    }

    #[tokio::test]
    async fn panicking_handler_is_answered_with_a_problem() {
        let mut routes = Router::new()
            .route("/", get(bug))
            .layer(CatchPanicLayer::custom(panicked));
        let response = routes.call(Request::new(Body::empty())).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let kind = response.headers().get("content-type").unwrap();
        assert_eq!(kind, "application/problem+json");
    }
}
