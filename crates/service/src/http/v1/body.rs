//! The body of a request.

use super::V1;
use crate::http::problem::{self, ProblemDetails};
use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use std::sync::Arc;

/// The whole body of a request, up to the configured size.
pub struct RequestBody(pub Bytes);

impl FromRequest<Arc<V1>> for RequestBody {
    type Rejection = ProblemDetails;

    async fn from_request(request: Request, v1: &Arc<V1>) -> Result<RequestBody, ProblemDetails> {
        match Bytes::from_request(request, v1).await {
            Ok(body) => Ok(RequestBody(body)),
            Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                let limit = v1.service.config.max_body_bytes;
                let detail = format!("a body may have at most {limit} bytes");
                Err(problem::body_too_large(detail, limit as u64))
            }
            Err(rejection) => Err(problem::malformed(rejection.body_text())),
        }
    }
}
