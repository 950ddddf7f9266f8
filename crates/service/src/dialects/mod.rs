//! The interfaces of other services, whose clients work unchanged.
//!
//! Each dialect translates requests into those of the core, and reports into the answers that its
//! clients expect. The answers also suit the ways in which clients retry.

pub mod go_judge;
pub mod judge0;
pub mod piston;
pub mod sandbox_fusion;

use crate::config::Dialect;
use crate::http::bodies;
use crate::service::Service;
use axum::Router;
use axum::middleware::from_fn_with_state;
use std::sync::Arc;

/// The routes of one dialect, at their original paths.
pub fn router(dialect: Dialect, service: &Arc<Service>) -> Router<Arc<Service>> {
    match dialect {
        // Uploads go to the disk, so only the other routes have a bound.
        Dialect::GoJudge => go_judge::router(service),
        Dialect::GoJudgeGrpc => bound(go_judge::grpc_router(), dialect, service),
        Dialect::Piston => bound(piston::router(service), dialect, service),
        Dialect::SandboxFusion => bound(sandbox_fusion::router(service), dialect, service),
        Dialect::Judge0 => bound(judge0::router(service), dialect, service),
    }
}

/// Charges the bodies of requests to their clients.
fn bound(
    routes: Router<Arc<Service>>,
    dialect: Dialect,
    service: &Arc<Service>,
) -> Router<Arc<Service>> {
    let state = (service.clone(), Some(dialect));
    routes.route_layer(from_fn_with_state(state, bodies::bound))
}

/// All routes of an address that serves only one dialect.
pub fn alone(dialect: Dialect, service: &Arc<Service>) -> Router<Arc<Service>> {
    match dialect {
        Dialect::Piston => bound(piston::alone(service), dialect, service),
        dialect => router(dialect, service),
    }
}
