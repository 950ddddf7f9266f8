//! Requests of programs that were not carried out: problem details (RFC 9457).

use crate::http::web::error::{BUSY_RETRY, PageError, STREAM_RETRY, retry_seconds};
use crate::limits::MAX_GUEST_BODY;
use crate::text::{Message, t};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

const MEDIA: &str = "application/problem+json";

/// A problem with a request, or of the site.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Problem {
    /// A URI that names the kind of problem: `/api#CODE`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the kind of problem is, in a few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong with this request.
    pub detail: String,
    /// The kind of problem for programs, such as `not_found`.
    pub code: String,
}

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
    fn problem(self) -> (Problem, Option<u64>) {
        let (status, code, title, detail, retry) = match self {
            ApiError::Token | ApiError::Page(PageError::SignIn) => (
                StatusCode::UNAUTHORIZED,
                "token_required",
                "A valid token is required",
                "Send the header `Authorization: Bearer TOKEN`.".to_owned(),
                None,
            ),
            ApiError::Scope(needed) => (
                StatusCode::FORBIDDEN,
                "scope_too_small",
                "The scope of the token is insufficient",
                format!("This needs a token with the scope {needed}."),
                None,
            ),
            ApiError::Malformed(why) => (
                StatusCode::BAD_REQUEST,
                "malformed",
                "The request is malformed",
                why,
                None,
            ),
            ApiError::Page(error) => return of_page(error),
        };
        (problem(status, code, title, detail), retry)
    }
}

fn problem(status: StatusCode, code: &str, title: &str, detail: String) -> Problem {
    Problem {
        kind: format!("/api#{code}"),
        title: title.to_owned(),
        status: status.as_u16(),
        detail,
        code: code.to_owned(),
    }
}

fn of_page(error: PageError) -> (Problem, Option<u64>) {
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
    (problem(status, code, &title, detail), retry)
}

/// Converts refusals of extractors and of the router to problems.
pub async fn explain(response: Response) -> Response {
    let status = response.status();
    let has_form = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|media| media == MEDIA);
    if !status.is_client_error() || has_form {
        return response;
    }
    let title = status.canonical_reason().unwrap_or_default();
    let detail = "This interface has no such path, method or argument.";
    let problem = problem(status, "malformed", title, detail.to_owned());
    respond(status, &problem)
}

fn respond(status: StatusCode, problem: &Problem) -> Response {
    // Strings and numbers can always be written as JSON.
    let text = serde_json::to_string(problem).unwrap_or_default();
    (status, [(CONTENT_TYPE, MEDIA)], text).into_response()
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (problem, retry) = self.problem();
        let status = StatusCode::from_u16(problem.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = respond(status, &problem);
        let headers = response.headers_mut();
        if let Some(seconds) = retry {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
