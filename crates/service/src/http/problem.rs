//! Errors as problem details (RFC 9457).

use crate::core::catalog::CatalogError;
use crate::core::execution::Blame;
use crate::core::files::StoreError;
use crate::core::program::ProgramError;
use crate::core::queue::Refusal;
use axum::extract::multipart::MultipartError;
use axum::http::StatusCode;
pub use millibox_web::problem::ProblemDetails;
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
        code: "preparing",
        status: 503,
        meaning: "The libraries of the language are being compiled, which happens once. Nothing \
                  ran.",
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

/// The page that describes the kinds of problems.
const PAGE: &str = "/docs/problems";

/// A problem of this kind.
pub fn new(status: StatusCode, code: &str, title: &str, detail: impl ToString) -> ProblemDetails {
    ProblemDetails::new(PAGE, status, code, title, detail)
}

/// A request that cannot be read.
pub fn malformed(detail: impl ToString) -> ProblemDetails {
    new(
        StatusCode::BAD_REQUEST,
        "malformed",
        "The request is malformed",
        detail,
    )
}

/// A request that can be read but not carried out.
pub fn impossible(field: &str, detail: impl ToString) -> ProblemDetails {
    ProblemDetails {
        field: Some(field.to_owned()),
        ..new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "impossible",
            "The request cannot be carried out",
            detail,
        )
    }
}

/// A limit above its maximum.
pub fn above_limit(field: &str, value: u64, limit: u64) -> ProblemDetails {
    ProblemDetails {
        limit: Some(limit),
        code: "above_limit".to_owned(),
        kind: "/docs/problems#above_limit".to_owned(),
        title: "A limit is too large".to_owned(),
        ..impossible(field, format!("{field} is {value}; the maximum is {limit}"))
    }
}

/// A token is missing or unknown.
pub fn unauthorized() -> ProblemDetails {
    new(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "The request needs a valid token",
        "send the header `Authorization: Bearer TOKEN`",
    )
}

/// The client may not do this.
pub fn forbidden(detail: impl ToString) -> ProblemDetails {
    new(
        StatusCode::FORBIDDEN,
        "forbidden",
        "The client may not do this",
        detail,
    )
}

/// The requested resource does not exist.
pub fn not_found(detail: impl ToString) -> ProblemDetails {
    new(StatusCode::NOT_FOUND, "not_found", "Not found", detail)
}

/// An error of the service itself.
pub fn internal(detail: impl ToString) -> ProblemDetails {
    new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "The service failed",
        detail,
    )
}

/// The sandbox failed.
pub fn sandbox(detail: impl ToString) -> ProblemDetails {
    new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "sandbox_error",
        "The service failed",
        detail,
    )
}

/// The client has used up its share of something.
pub fn share_used(detail: impl ToString) -> ProblemDetails {
    new(
        StatusCode::TOO_MANY_REQUESTS,
        "share_used",
        "The share of this client is used up",
        detail,
    )
    .with_retry(Some(Duration::from_secs(1)))
}

/// The run was cancelled.
pub fn cancelled() -> ProblemDetails {
    new(
        StatusCode::CONFLICT,
        "cancelled",
        "The run was cancelled",
        "a client cancelled the run before its end",
    )
}

/// The body of the request is too large.
pub fn body_too_large(detail: impl ToString, limit: u64) -> ProblemDetails {
    ProblemDetails {
        limit: Some(limit),
        ..new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body_too_large",
            "The body of the request is too large",
            detail,
        )
    }
}

/// A form that cannot be read.
pub fn rejected_form(error: MultipartError) -> ProblemDetails {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ProblemDetails {
            limit: None,
            ..body_too_large(
                "the form is too large; PUT the package to /v1/files first",
                0,
            )
        },
        _ => malformed(error.body_text()),
    }
}

impl From<StoreError> for ProblemDetails {
    fn from(error: StoreError) -> ProblemDetails {
        match error {
            StoreError::Digest { .. } => ProblemDetails {
                code: "wrong_digest".to_owned(),
                kind: "/docs/problems#wrong_digest".to_owned(),
                ..impossible("sha256", error)
            },
            StoreError::Full { .. } | StoreError::Share { .. } => new(
                StatusCode::INSUFFICIENT_STORAGE,
                "store_full",
                "The file store is full",
                error,
            ),
            StoreError::Interrupted | StoreError::Name { .. } => malformed(error),
            StoreError::Disk(_) => new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "file_store",
                "The file store failed",
                error,
            ),
        }
    }
}

impl From<Refusal> for ProblemDetails {
    fn from(refusal: Refusal) -> ProblemDetails {
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
        new(status, code, title, &refusal).with_retry(refusal.retry_after())
    }
}

impl From<ProgramError> for ProblemDetails {
    fn from(error: ProgramError) -> ProblemDetails {
        match error {
            ProgramError::Refused(refusal) => refusal.into(),
            ProgramError::Catalog(
                error @ (CatalogError::UnknownRuntime { .. } | CatalogError::Unavailable { .. }),
            ) => ProblemDetails {
                code: "unknown_runtime".to_owned(),
                kind: "/docs/problems#unknown_runtime".to_owned(),
                ..impossible("runtime", error)
            },
            error => match error.blame() {
                Blame::Service => sandbox(error),
                _ => impossible("files", error),
            },
        }
    }
}
