//! Requests of programs that were not carried out: problem details (RFC 9457).

use crate::http::MAX_PACKAGE;
use crate::http::web::error::{BUSY_RETRY, PageError, STREAM_RETRY, retry_seconds};
use crate::limits::MAX_GUEST_BODY;
use crate::text::{Message, t};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use millibox_web::problem::MEDIA_TYPE;
pub use millibox_web::problem::ProblemDetails;
use std::time::Duration;

/// The page that describes the kinds of problems.
const PAGE: &str = "/api";

/// Why a request was not carried out.
#[derive(Debug)]
pub enum ApiError {
    /// The reason for which a page would not have been shown.
    Page(PageError),
    /// The token is missing, unknown or has expired.
    Token,
    /// The token does not allow this.
    Scope(&'static str),
    /// The request cannot be read.
    Malformed(String),
}

/// An answer, or the reason for its absence.
pub type Answer<T> = Result<T, ApiError>;

impl<E: Into<PageError>> From<E> for ApiError {
    fn from(error: E) -> ApiError {
        ApiError::Page(error.into())
    }
}

impl ApiError {
    fn details(self) -> ProblemDetails {
        let (status, code, title, detail) = match self {
            ApiError::Token | ApiError::Page(PageError::SignIn) => (
                StatusCode::UNAUTHORIZED,
                "token_required",
                "A valid token is required",
                "Send the header `Authorization: Bearer TOKEN`.".to_owned(),
            ),
            ApiError::Scope(needed) => (
                StatusCode::FORBIDDEN,
                "scope_too_small",
                "The scope of the token is insufficient",
                format!("This needs a token with the scope {needed}."),
            ),
            ApiError::Malformed(why) => (
                StatusCode::BAD_REQUEST,
                "malformed",
                "The request is malformed",
                why,
            ),
            ApiError::Page(error) => return of_page(error),
        };
        ProblemDetails::new(PAGE, status, code, title, detail)
    }
}

fn of_page(error: PageError) -> ProblemDetails {
    let (status, code, title, detail, retry) = match error {
        PageError::NotFound | PageError::SignIn => (
            StatusCode::NOT_FOUND,
            "not_found",
            "Not found".to_owned(),
            "The object does not exist, or you have no access to it.".to_owned(),
            None,
        ),
        PageError::Refused(why) => (
            StatusCode::FORBIDDEN,
            "refused",
            t::ErrorRefusedTitle.english(),
            why.message().english(),
            None,
        ),
        PageError::Invalid(why) => {
            let mut detail = vec![why.message().english()];
            detail.extend(why.lines());
            (
                StatusCode::UNPROCESSABLE_ENTITY,
                "invalid",
                t::ErrorInvalidTitle.english(),
                detail.join("\n"),
                None,
            )
        }
        PageError::Foreign => (
            StatusCode::FORBIDDEN,
            "refused",
            t::ErrorRefusedTitle.english(),
            t::ErrorForeign.english(),
            None,
        ),
        PageError::Malformed => (
            StatusCode::BAD_REQUEST,
            "malformed",
            t::ErrorInvalidTitle.english(),
            t::ErrorMalformed.english(),
            None,
        ),
        PageError::TooLong => (
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            t::ErrorTooLargeTitle.english(),
            t::ErrorTooLong {
                mib: MAX_PACKAGE >> 20,
            }
            .english(),
            None,
        ),
        PageError::TooOften(delay) => {
            let seconds = retry_seconds(delay);
            (
                StatusCode::TOO_MANY_REQUESTS,
                "too_often",
                t::ErrorTooOftenTitle.english(),
                t::ErrorTooOftenDetail { seconds }.english(),
                Some(seconds),
            )
        }
        PageError::TooSlow => (
            StatusCode::REQUEST_TIMEOUT,
            "too_slow",
            t::ErrorTooSlowTitle.english(),
            t::ErrorTooSlowDetail.english(),
            None,
        ),
        PageError::TooLarge => (
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            t::ErrorTooLargeTitle.english(),
            t::ErrorTooLargeDetail {
                kib: MAX_GUEST_BODY >> 10,
            }
            .english(),
            None,
        ),
        PageError::TooManyStreams => (
            StatusCode::TOO_MANY_REQUESTS,
            "too_many_streams",
            t::ErrorTooManyStreamsTitle.english(),
            t::ErrorTooManyStreamsDetail.english(),
            Some(STREAM_RETRY),
        ),
        PageError::Conflict => (
            StatusCode::CONFLICT,
            "conflict",
            t::ErrorConflictTitle.english(),
            t::ErrorConflictDetail.english(),
            None,
        ),
        PageError::Busy(rush) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            t::ErrorBusyTitle.english(),
            rush.detail().english(),
            Some(BUSY_RETRY),
        ),
        PageError::Internal(error) => {
            tracing::error!(%error, "a request of a program failed");
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                t::ErrorInternalTitle.english(),
                t::ErrorInternalDetail.english(),
                None,
            )
        }
    };
    ProblemDetails::new(PAGE, status, code, &title, detail)
        .with_retry(retry.map(Duration::from_secs))
}

/// Converts refusals of extractors and of the router to problems.
pub async fn explain(response: Response) -> Response {
    let status = response.status();
    let has_form = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|media| media == MEDIA_TYPE);
    if !status.is_client_error() || has_form {
        return response;
    }
    let title = status.canonical_reason().unwrap_or_default();
    let detail = "This interface has no such path, method or argument.";
    ProblemDetails::new(PAGE, status, "malformed", title, detail).into_response()
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.details().into_response()
    }
}
