//! Requests that were not carried out.

use super::layout;
use crate::blobs::BlobError;
use crate::core::account::AccountError;
use crate::core::package::PackageError;
use crate::core::password::PasswordError;
use crate::db::DbError;
use axum::body::Body;
use axum::extract::multipart::MultipartError;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, Response as HttpResponse, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use std::any::Any;
use std::time::Duration;

/// Why a request was not carried out.
#[derive(Debug)]
pub enum PageError {
    /// There is no such page, or the viewer may not know of it.
    NotFound,
    /// The viewer must sign in first.
    SignIn,
    /// The viewer sees the page, but may not do this now.
    Refused(&'static str),
    /// A field is wrong.
    Invalid(String),
    /// The viewer has tried too often.
    TooOften(Duration),
    /// The site has too much to do.
    Busy,
    /// The site has failed. The message is for its log.
    Internal(String),
}

/// A page, or the reason for its absence.
pub type Page<T = Response> = Result<T, PageError>;

impl From<DbError> for PageError {
    fn from(error: DbError) -> PageError {
        PageError::Internal(error.to_string())
    }
}

impl From<BlobError> for PageError {
    fn from(error: BlobError) -> PageError {
        PageError::Internal(error.to_string())
    }
}

impl From<AccountError> for PageError {
    fn from(error: AccountError) -> PageError {
        PageError::Invalid(error.to_string())
    }
}

impl From<MultipartError> for PageError {
    fn from(error: MultipartError) -> PageError {
        PageError::Invalid(error.body_text())
    }
}

impl From<PasswordError> for PageError {
    fn from(error: PasswordError) -> PageError {
        match error {
            PasswordError::Busy => PageError::Busy,
            error => PageError::Internal(error.to_string()),
        }
    }
}

impl From<PackageError> for PageError {
    fn from(error: PackageError) -> PageError {
        match error {
            PackageError::Faults(_) => {
                PageError::Invalid(format!("The package has mistakes:\n{}", error.lines()))
            }
            error => PageError::Internal(error.to_string()),
        }
    }
}

fn explain(status: StatusCode, title: &str, detail: &str) -> Response {
    let body = html! {
        h1 { (title) }
        p.text { (detail) }
        p { a href="/" { "Go to the home page" } }
    };
    (status, layout::bare(title, body)).into_response()
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        match self {
            PageError::NotFound => explain(
                StatusCode::NOT_FOUND,
                "Page not found",
                "There is no such page, or you have no access to it.",
            ),
            PageError::SignIn => Redirect::to("/sign-in").into_response(),
            PageError::Refused(why) => explain(StatusCode::FORBIDDEN, "Not allowed", why),
            PageError::Invalid(why) => {
                explain(StatusCode::UNPROCESSABLE_ENTITY, "Not accepted", &why)
            }
            PageError::TooOften(delay) => {
                let seconds = delay.as_secs() + 1;
                let why = format!("You have tried too often. Try again in {seconds} seconds.");
                let mut answer = explain(StatusCode::TOO_MANY_REQUESTS, "Too many attempts", &why);
                answer
                    .headers_mut()
                    .insert(RETRY_AFTER, HeaderValue::from(seconds));
                answer
            }
            PageError::Busy => explain(
                StatusCode::SERVICE_UNAVAILABLE,
                "Too much to do",
                "Too many people sign in at this moment. Try again in a few seconds.",
            ),
            PageError::Internal(message) => {
                tracing::error!(message, "a request failed");
                explain(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "The site has failed",
                    "The failure is in the site's log. Your request was not carried out.",
                )
            }
        }
    }
}

/// A path without a page.
pub async fn not_found() -> PageError {
    PageError::NotFound
}

/// A handler panicked.
pub fn panicked(_: Box<dyn Any + Send + 'static>) -> HttpResponse<Body> {
    PageError::Internal("a handler panicked".to_owned()).into_response()
}
