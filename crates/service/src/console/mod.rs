//! Pages for people: run a program in the browser, and see how the service does.

use crate::service::Service;
use axum::Router;
use std::sync::Arc;

/// The pages.
pub fn router() -> Router<Arc<Service>> {
    Router::new()
}
