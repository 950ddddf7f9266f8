//! The service's own interface.
//!
//! | file | content |
//! | --- | --- |
//! | `auth` | the client of a request |
//! | `info` | the service and its runtimes |
//! | `runs` | running one program on one or several inputs |
//! | `model` | the documents of requests and answers |

pub mod auth;
pub mod info;
pub mod model;
pub mod runs;

use crate::service::Service;
use axum::Router;
use axum::routing::{get, post};
use std::sync::Arc;

/// The routes, below `/v1`.
pub fn router(_service: &Arc<Service>) -> Router<Arc<Service>> {
    Router::new()
        .route("/info", get(info::info))
        .route("/runtimes", get(info::runtimes))
        .route("/runs", post(runs::create))
}
