//! The service and its runtimes.

use super::V1;
use super::auth::Authenticated;
use super::model::{Info, LimitSet, Runtime};
use crate::core::engine::Lane;
use axum::Json;
use axum::extract::State;
use std::sync::Arc;

/// Describe the service
///
/// Version, backend, bounds and load.
#[utoipa::path(
    get,
    path = "/info",
    tag = "service",
    responses((status = 200, description = "The service", body = Info)),
)]
pub async fn info(State(v1): State<Arc<V1>>, _: Authenticated) -> Json<Info> {
    let service = &v1.service;
    let queue = &service.programs.queue;
    let (bounds, load) = (queue.bounds(), queue.load());
    let config = &service.config;
    Json(Info {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        backend: service.backend.to_string(),
        user: rustix::process::geteuid().as_raw(),
        uptime_s: service.started.elapsed().as_secs(),
        running: load.running(Lane::CpuTime),
        running_real_time: load.running(Lane::RealTime),
        max_running: bounds.running(Lane::CpuTime),
        max_running_real_time: bounds.running(Lane::RealTime),
        running_memory_bytes: load.memory_bytes,
        max_running_memory_bytes: bounds.memory_bytes,
        queued: load.queued,
        max_queued: bounds.queued,
        queued_bytes: load.queued_bytes,
        max_queued_bytes: bounds.queued_bytes,
        default_limits: LimitSet::from(&config.limits.default),
        max_limits: LimitSet::from(&config.limits.max),
        max_body_bytes: config.max_body_bytes,
        dialects: config
            .dialects
            .iter()
            .map(|served| served.dialect.name().to_owned())
            .collect(),
    })
}

/// List the installed runtimes
#[utoipa::path(
    get,
    path = "/runtimes",
    tag = "service",
    responses((status = 200, description = "The runtimes", body = Vec<Runtime>)),
)]
pub async fn runtimes(State(v1): State<Arc<V1>>, _: Authenticated) -> Json<Vec<Runtime>> {
    let runtimes = v1.service.programs.catalog.runtimes().iter();
    let available = runtimes.filter(|runtime| runtime.is_available());
    Json(available.map(|runtime| Runtime::from(&**runtime)).collect())
}
