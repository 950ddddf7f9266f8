//! Errors as problem details (RFC 9457). Each server has its own kinds of problems.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::time::Duration;
use utoipa::ToSchema;

/// The media type of problem details.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// A problem with a request, or of the server.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ProblemDetails {
    /// A URI that names the kind of problem. Its fragment is the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the kind of problem is, in a few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong with this request, and what to do.
    pub detail: String,
    /// The kind of problem for programs, such as `not_found`.
    pub code: String,
    /// The field of the request that is wrong, such as `limits.cpu_ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The largest value that the field may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// When a retry is likely to succeed, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ProblemDetails {
    /// A problem whose kind is described on a page of the server.
    pub fn new(
        page: &str,
        status: StatusCode,
        code: &str,
        title: &str,
        detail: impl ToString,
    ) -> ProblemDetails {
        ProblemDetails {
            kind: format!("{page}#{code}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: detail.to_string(),
            code: code.to_owned(),
            field: None,
            limit: None,
            retry_after_ms: None,
        }
    }

    /// Adds when a retry is likely to succeed.
    #[must_use]
    pub fn with_retry(mut self, after: Option<Duration>) -> ProblemDetails {
        let milliseconds = |after: Duration| u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        self.retry_after_ms = after.map(milliseconds);
        self
    }
}

impl IntoResponse for ProblemDetails {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // Strings and numbers can always be written as JSON.
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let media_type = HeaderValue::from_static(MEDIA_TYPE);
        let mut response = (status, [(CONTENT_TYPE, media_type)], body).into_response();
        let headers = response.headers_mut();
        if let Some(milliseconds) = self.retry_after_ms {
            headers.insert(RETRY_AFTER, milliseconds.div_ceil(1000).into());
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
