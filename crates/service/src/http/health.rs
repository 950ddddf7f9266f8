//! Health checks and metrics: whether the service is alive, whether it accepts requests, and its
//! figures.

use crate::http::bearer::bearer;
use crate::http::problem::{self, ProblemDetails};
use crate::service::Service;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use std::sync::Arc;

/// The routes.
pub fn router(service: &Arc<Service>) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(service.clone())
}

async fn healthz() -> &'static str {
    "ok\n"
}

async fn readyz(State(service): State<Arc<Service>>) -> Response {
    let queue = &service.programs.queue;
    let status = if queue.is_draining() {
        "draining"
    } else if queue.load().queued >= queue.bounds().queued {
        "saturated"
    } else {
        return Json(json!({ "status": "ready" })).into_response();
    };
    let body = Json(json!({ "status": status }));
    (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
}

async fn metrics(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Result<Response, ProblemDetails> {
    if service.tokens.are_required() {
        let (parts, _) = request.into_parts();
        let client = service.tokens.client(bearer(&parts));
        let client = client.map_err(|_| problem::unauthorized())?;
        if !client.admin {
            return Err(problem::forbidden(
                "the metrics need the token of an administrator",
            ));
        }
    }
    let text = service.metrics.encode(service.programs.queue.load());
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}
