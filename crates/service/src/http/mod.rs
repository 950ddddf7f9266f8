//! HTTP: listening, routing, and what all interfaces share.
//!
//! | file | content |
//! | --- | --- |
//! | `server` | listens, and ends in an orderly way |
//! | `problem` | errors as RFC 9457 problem details |
//! | `health` | `/healthz`, `/readyz` and `/metrics` |
//! | `version` | `/version`, which two dialects have |
//! | `v1` | the service's own interface |

pub mod health;
pub mod problem;
pub mod server;
pub mod v1;
pub mod version;

use crate::config::Dialect;
use crate::service::Service;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use std::sync::Arc;
use tower_http::catch_panic::CatchPanicLayer;

/// All routes of an address: everything, or one dialect alone.
pub fn router(service: &Arc<Service>, dialect: Option<Dialect>) -> Router {
    let routes = match dialect {
        Some(dialect) => version::add(crate::dialects::alone(dialect, service), &[dialect]),
        None => everything(service),
    };
    routes
        .layer(DefaultBodyLimit::max(service.config.max_body_bytes))
        .layer(CatchPanicLayer::new())
        .with_state(service.clone())
}

fn everything(service: &Arc<Service>) -> Router<Arc<Service>> {
    let mut routes = Router::new()
        .merge(health::router())
        .merge(crate::console::router())
        .nest("/v1", v1::router(service));
    for dialect in &service.config.dialects {
        routes = routes.merge(crate::dialects::router(*dialect, service));
    }
    version::add(routes, &service.config.dialects)
}
