//! The interfaces of other services, whose clients work unchanged.
//!
//! Each dialect translates requests into those of the core, and reports into the answers that its
//! clients expect. The answers also suit the ways in which clients retry.

pub mod go_judge;
pub mod judge0;
pub mod piston;
pub mod sandbox_fusion;

use crate::config::Dialect;
use crate::service::Service;
use axum::Router;
use std::sync::Arc;

/// The routes of one dialect, at their original paths.
pub fn router(dialect: Dialect, service: &Arc<Service>) -> Router<Arc<Service>> {
    match dialect {
        Dialect::GoJudge => go_judge::router(service),
        Dialect::GoJudgeGrpc => go_judge::grpc_router(),
        Dialect::Piston => piston::router(service),
        Dialect::SandboxFusion => sandbox_fusion::router(service),
        Dialect::Judge0 => judge0::router(service),
    }
}

/// All routes of an address that serves only one dialect.
pub fn alone(dialect: Dialect, service: &Arc<Service>) -> Router<Arc<Service>> {
    match dialect {
        Dialect::Piston => piston::alone(service),
        dialect => router(dialect, service),
    }
}
