//! Answers to requests that are not carried out.

use super::field_errors::FieldErrors;
use super::status::Status;
use crate::http::bodies::MAX_FORM_FIELDS;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rustix::io::Errno;
use serde_json::json;

const NOT_UTF8: &str = "cannot be converted to UTF-8, use base64_encoded=true query parameter";

/// Why a request is not carried out.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestError {
    /// The body is not JSON.
    Malformed,
    /// A form has too many fields.
    TooManyFields,
    /// The token is missing or unknown.
    Unauthorized,
    /// The client may not do this.
    Forbidden,
    /// The request has fields that no submission has.
    UnknownFields(Vec<String>),
    /// Fields of the submission have invalid values.
    Invalid(FieldErrors),
    /// A batch has more submissions than this.
    BatchTooLarge(usize),
    /// A batch has no submission.
    BatchEmpty,
    /// A number of a page is out of range: its parameter and value.
    Page(&'static str, i64),
    /// Submissions cannot be deleted here.
    DeleteNotAllowed,
    /// A submission that has not ended cannot be deleted.
    NotEnded(Status),
    /// Text of this submission, which was just created, is not UTF-8.
    CreatedNotUtf8(String),
    /// Text of a submission is not UTF-8.
    NotUtf8,
    /// Text of several submissions is not UTF-8.
    BatchNotUtf8,
    /// Nothing has this token or number.
    NotFound,
    /// Too many submissions are waiting.
    QueueFull,
    /// The kernel provided no random bytes for a token.
    NoToken(Errno),
}

impl IntoResponse for RequestError {
    fn into_response(self) -> Response {
        use RequestError as Error;
        let message = |text: String| (StatusCode::BAD_REQUEST, json!({ "error": text }));
        let (status, body) = match self {
            Error::Unauthorized => return StatusCode::UNAUTHORIZED.into_response(),
            Error::Forbidden => return StatusCode::FORBIDDEN.into_response(),
            Error::Malformed => (
                StatusCode::BAD_REQUEST,
                json!({ "status": 400, "error": "Bad Request" }),
            ),
            Error::TooManyFields => {
                message(format!("a form may have at most {MAX_FORM_FIELDS} fields"))
            }
            Error::NotFound => (
                StatusCode::NOT_FOUND,
                json!({ "status": 404, "error": "Not Found" }),
            ),
            Error::UnknownFields(names) => {
                message(format!("invalid fields: [{}]", names.join(", ")))
            }
            Error::Invalid(errors) => (StatusCode::UNPROCESSABLE_ENTITY, json!(errors)),
            Error::BatchTooLarge(most) => message(format!(
                "number of submissions in a batch should be less than or equal to {most}"
            )),
            Error::BatchEmpty => {
                message("there should be at least one submission in a batch".to_owned())
            }
            Error::Page(name, value) => message(format!("invalid {name}: {value}")),
            Error::DeleteNotAllowed => message("delete not allowed".to_owned()),
            Error::NotEnded(status) => message(format!(
                "submission cannot be deleted because its status is {} ({})",
                status.id(),
                status.description()
            )),
            Error::NotUtf8 => message(format!("some attributes for this submission {NOT_UTF8}")),
            Error::BatchNotUtf8 => message(format!(
                "some attributes for one or more submissions {NOT_UTF8}"
            )),
            Error::CreatedNotUtf8(token) => (
                StatusCode::CREATED,
                json!({
                    "error": format!("some attributes for this submission {NOT_UTF8}"),
                    "token": token,
                }),
            ),
            Error::QueueFull => (
                StatusCode::SERVICE_UNAVAILABLE,
                json!({ "error": "queue is full" }),
            ),
            Error::NoToken(errno) => (
                StatusCode::INTERNAL_SERVER_ERROR,
                json!({ "status": 500, "error": std::io::Error::from(errno).to_string() }),
            ),
        };
        (status, Json(body)).into_response()
    }
}
