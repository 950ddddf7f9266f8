//! The endpoints of SandboxFusion's online judge. Its data sets are not part of this service.
//! SandboxFusion's own process serves them and sends programs here.

use super::SandboxFusion;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;
use std::sync::Arc;

const ENDPOINTS: [&str; 6] = [
    "/list_ids",
    "/get_prompts",
    "/get_prompt_by_id",
    "/submit",
    "/get_metrics",
    "/get_metrics_function",
];

pub(super) fn router() -> Router<Arc<SandboxFusion>> {
    let listed = Router::new().route("/list_datasets", get(async || Json(json!([]))));
    ENDPOINTS.iter().fold(listed, |router, path| {
        router.route(path, post(not_implemented))
    })
}

async fn not_implemented() -> Response {
    let detail = "this service has no data sets; keep SandboxFusion's own process for them, and \
                  set dataset.cpu_runner_url in its configuration to the /run_code of this service";
    let body = Json(json!({ "detail": detail }));
    (StatusCode::NOT_IMPLEMENTED, body).into_response()
}
