//! Errors as problem details (RFC 9457).

use crate::core::catalog::CatalogError;
use crate::core::execution::Blame;
use crate::core::files::StoreError;
use crate::core::program::ProgramError;
use crate::core::queue::Refusal;
use axum::extract::multipart::MultipartError;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::time::Duration;

/// A kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The code.
    pub code: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// The meaning.
    pub meaning: &'static str,
}

/// All kinds of problems.
pub const KINDS: &[Kind] = &[
    Kind {
        code: "malformed",
        status: 400,
        meaning: "The request cannot be read: invalid JSON, an unknown field or a wrong type.",
    },
    Kind {
        code: "unauthorized",
        status: 401,
        meaning: "The token is missing or unknown.",
    },
    Kind {
        code: "forbidden",
        status: 403,
        meaning: "The token does not allow this.",
    },
    Kind {
        code: "cross_site",
        status: 403,
        meaning: "A web page of another site sent the request, and the service has no tokens.",
    },
    Kind {
        code: "not_found",
        status: 404,
        meaning: "The address, run or file does not exist, has expired or belongs to another \
                  client.",
    },
    Kind {
        code: "method_not_allowed",
        status: 405,
        meaning: "The address does not support this method.",
    },
    Kind {
        code: "cancelled",
        status: 409,
        meaning: "The run was cancelled before its end.",
    },
    Kind {
        code: "key_reused",
        status: 409,
        meaning: "The idempotency key belongs to a request with another body.",
    },
    Kind {
        code: "body_too_large",
        status: 413,
        meaning: "The body of the request or the stored file exceeds its limit.",
    },
    Kind {
        code: "unsupported_encoding",
        status: 415,
        meaning: "The body has an encoding other than gzip and deflate.",
    },
    Kind {
        code: "impossible",
        status: 422,
        meaning: "The request can be read but not carried out. `field` names the reason.",
    },
    Kind {
        code: "above_limit",
        status: 422,
        meaning: "A limit exceeds its maximum, which is `limit`, or the files and outputs of the \
                  request need too much memory.",
    },
    Kind {
        code: "unknown_runtime",
        status: 422,
        meaning: "The runtime is unknown or not installed.",
    },
    Kind {
        code: "unknown_file",
        status: 422,
        meaning: "A file that the request names by its digest is not stored.",
    },
    Kind {
        code: "wrong_digest",
        status: 422,
        meaning: "The digest of a file's content differs from its name.",
    },
    Kind {
        code: "faulty_package",
        status: 422,
        meaning: "The problem package has mistakes, which the detail lists.",
    },
    Kind {
        code: "share_used",
        status: 429,
        meaning: "This client has used up its share of the waiting requests or of the streams. \
                  Nothing ran.",
    },
    Kind {
        code: "internal",
        status: 500,
        meaning: "The service has a bug.",
    },
    Kind {
        code: "sandbox_error",
        status: 500,
        meaning: "The sandbox failed twice. A retry may succeed.",
    },
    Kind {
        code: "file_store",
        status: 500,
        meaning: "The file store cannot read or write.",
    },
    Kind {
        code: "queue_full",
        status: 503,
        meaning: "The queue is full. Nothing ran.",
    },
    Kind {
        code: "draining",
        status: 503,
        meaning: "The service is shutting down. Nothing ran.",
    },
    Kind {
        code: "queue_timeout",
        status: 504,
        meaning: "No slot became free within the time that the request may wait. Nothing ran.",
    },
    Kind {
        code: "store_full",
        status: 507,
        meaning: "The file store, or this client's share of it, is full, and no file in it may be \
                  removed yet.",
    },
];

/// A problem with a request, or of the service.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Problem {
    /// A URI that names the kind of problem: `/docs/problems#CODE`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the kind of problem is, in a few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong with this request, and what to do.
    pub detail: String,
    /// The kind of problem for programs, such as `queue_full`.
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

impl Problem {
    /// A problem of this kind.
    pub fn new(status: StatusCode, code: &str, title: &str, detail: impl ToString) -> Problem {
        Problem {
            kind: format!("/docs/problems#{code}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: detail.to_string(),
            code: code.to_owned(),
            field: None,
            limit: None,
            retry_after_ms: None,
        }
    }

    /// A request that cannot be read.
    pub fn malformed(detail: impl ToString) -> Problem {
        Problem::new(
            StatusCode::BAD_REQUEST,
            "malformed",
            "The request is malformed",
            detail,
        )
    }

    /// A request that can be read but not carried out.
    pub fn impossible(field: &str, detail: impl ToString) -> Problem {
        Problem {
            field: Some(field.to_owned()),
            ..Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "impossible",
                "The request cannot be carried out",
                detail,
            )
        }
    }

    /// A limit above its maximum.
    pub fn above_limit(field: &str, value: u64, limit: u64) -> Problem {
        Problem {
            limit: Some(limit),
            code: "above_limit".to_owned(),
            kind: "/docs/problems#above_limit".to_owned(),
            title: "A limit is too large".to_owned(),
            ..Problem::impossible(field, format!("{field} is {value}; the maximum is {limit}"))
        }
    }

    /// A token is missing or unknown.
    pub fn unauthorized() -> Problem {
        Problem::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "The request needs a valid token",
            "send the header `Authorization: Bearer TOKEN`",
        )
    }

    /// The client may not do this.
    pub fn forbidden(detail: impl ToString) -> Problem {
        Problem::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            "The client may not do this",
            detail,
        )
    }

    /// The requested resource does not exist.
    pub fn not_found(detail: impl ToString) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "not_found", "Not found", detail)
    }

    /// An error of the service itself.
    pub fn internal(detail: impl ToString) -> Problem {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "The service failed",
            detail,
        )
    }

    /// The sandbox failed.
    pub fn sandbox(detail: impl ToString) -> Problem {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "sandbox_error",
            "The service failed",
            detail,
        )
    }

    /// The client has used up its share of something.
    pub fn share_used(detail: impl ToString) -> Problem {
        Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "share_used",
            "The share of this client is used up",
            detail,
        )
        .retry(Some(Duration::from_secs(1)))
    }

    /// The run was cancelled.
    pub fn cancelled() -> Problem {
        Problem::new(
            StatusCode::CONFLICT,
            "cancelled",
            "The run was cancelled",
            "a client cancelled the run before its end",
        )
    }

    /// The body of the request is too large.
    pub fn body_too_large(detail: impl ToString, limit: u64) -> Problem {
        Problem {
            limit: Some(limit),
            ..Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "body_too_large",
                "The body of the request is too large",
                detail,
            )
        }
    }

    /// A form that cannot be read.
    pub fn rejected_form(error: MultipartError) -> Problem {
        match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Problem {
                limit: None,
                ..Problem::body_too_large(
                    "the form is too large; PUT the package to /v1/files first",
                    0,
                )
            },
            _ => Problem::malformed(error.body_text()),
        }
    }

    fn retry(mut self, after: Option<Duration>) -> Problem {
        self.retry_after_ms =
            after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
        self
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        match error {
            StoreError::Digest { .. } => Problem {
                code: "wrong_digest".to_owned(),
                kind: "/docs/problems#wrong_digest".to_owned(),
                ..Problem::impossible("sha256", error)
            },
            StoreError::Full { .. } | StoreError::Share { .. } => Problem::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "store_full",
                "The file store is full",
                error,
            ),
            StoreError::Interrupted | StoreError::Name { .. } => Problem::malformed(error),
            StoreError::Disk(_) => Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "file_store",
                "The file store failed",
                error,
            ),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let (status, code, title) = match refusal {
            Refusal::QueueFull { .. } => (
                StatusCode::SERVICE_UNAVAILABLE,
                "queue_full",
                "The queue is full",
            ),
            Refusal::ShareUsed { .. } => (
                StatusCode::TOO_MANY_REQUESTS,
                "share_used",
                "The share of this client is used up",
            ),
            Refusal::TimedOut { .. } => (
                StatusCode::GATEWAY_TIMEOUT,
                "queue_timeout",
                "No slot became free in time",
            ),
            Refusal::TooMuchMemory { .. } | Refusal::TooLarge { .. } => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "above_limit",
                "A limit is too large",
            ),
            Refusal::Preparing { .. } => (
                StatusCode::SERVICE_UNAVAILABLE,
                "preparing",
                "The language is being prepared",
            ),
            Refusal::Draining => (
                StatusCode::SERVICE_UNAVAILABLE,
                "draining",
                "The service is shutting down",
            ),
        };
        Problem::new(status, code, title, &refusal).retry(refusal.retry_after())
    }
}

impl From<ProgramError> for Problem {
    fn from(error: ProgramError) -> Problem {
        match error {
            ProgramError::Refused(refusal) => refusal.into(),
            ProgramError::Catalog(
                error @ (CatalogError::UnknownRuntime { .. } | CatalogError::Unavailable { .. }),
            ) => Problem {
                code: "unknown_runtime".to_owned(),
                kind: "/docs/problems#unknown_runtime".to_owned(),
                ..Problem::impossible("runtime", error)
            },
            error => match error.blame() {
                Blame::Service => Problem::sandbox(error),
                _ => Problem::impossible("files", error),
            },
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(CONTENT_TYPE, kind);
        if let Some(milliseconds) = self.retry_after_ms {
            headers.insert(RETRY_AFTER, milliseconds.div_ceil(1000).into());
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
