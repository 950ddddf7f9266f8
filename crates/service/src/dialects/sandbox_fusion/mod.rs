//! The interface of SandboxFusion.

use crate::service::Service;
use axum::Router;
use std::sync::Arc;

/// The routes.
pub fn router(_service: &Arc<Service>) -> Router<Arc<Service>> {
    Router::new()
}
