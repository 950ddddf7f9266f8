//! Errors of requests, and the answers that Piston's clients expect for them.

use crate::core::catalog::{CatalogError, ScriptError};
use crate::core::execution::ExecutionError;
use crate::core::queue::Refusal;
use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use millibox::RunError;
use millibox_languages::compile::CompileError;
use serde_json::json;

/// Why a request is not executed. The messages are Piston's, because clients show and compare them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The language is missing or not a string.
    #[error("language is required as a string")]
    Language,
    /// The version is missing or not a string.
    #[error("version is required as a string")]
    Version,
    /// The list of files is missing or not an array.
    #[error("files is required as an array")]
    Files,
    /// A file has no content.
    #[error("files[{0}].content is required as a string")]
    Content(usize),
    /// No runtime has this name and a version in this range.
    #[error("{language}-{version} runtime is unknown")]
    UnknownRuntime {
        /// The language of the request.
        language: String,
        /// The range of versions of the request.
        version: String,
    },
    /// All files are binary.
    #[error("files must include at least one utf8 encoded file")]
    NoTextFile,
    /// A limit is not a number.
    #[error("If specified, {0} must be a number")]
    NotNumber(&'static str),
    /// A limit is above its maximum.
    #[error("{name} cannot exceed the configured limit of {limit}")]
    AboveLimit {
        /// The field.
        name: &'static str,
        /// The largest value.
        limit: u64,
    },
    /// A limit is negative.
    #[error("{0} must be non-negative")]
    Negative(&'static str),
    /// The arguments are not a list of strings.
    #[error("args must be an array of strings")]
    Args,
    /// The standard input is not a string.
    #[error("stdin must be a string")]
    Stdin,
}

/// Why a job has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The request is not valid.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The path of a file points outside the working directory.
    #[error("the path {0:?} points outside the working directory")]
    Path(String),
    /// The job was not admitted; nothing ran.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The sources cannot be compiled by the runtime.
    #[error(transparent)]
    Catalog(CatalogError),
    /// The interpreter could not be prepared.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The compiler could not be run.
    #[error("the compiler failed: {0}")]
    Compiler(CompileError),
    /// The service failed.
    #[error(transparent)]
    Execution(#[from] ExecutionError),
    /// The sandbox failed.
    #[error("the sandbox failed: {0}")]
    Sandbox(RunError),
    /// The files that the compiler left could not be kept for the run.
    #[error("the files of the compile stage cannot be kept: {0}")]
    Product(crate::core::execution::OutputFileError),
}

/// An answer other than 200.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// The job has no result.
    Job(JobError),
    /// The token is missing or unknown.
    Unauthorized,
    /// The token is not for this interface.
    Forbidden,
    /// The body cannot be read; usually it is too large.
    Body(BytesRejection),
    /// The body is not JSON.
    Malformed(serde_json::Error),
    /// The body is JSON, but neither an object nor an array.
    NoObject,
    /// Packages cannot be installed or removed.
    Packages,
}

impl From<CatalogError> for JobError {
    fn from(error: CatalogError) -> JobError {
        match error {
            CatalogError::Preparing(refusal) => JobError::Refused(refusal),
            error => JobError::Catalog(error),
        }
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Failure {
        Failure::Job(error)
    }
}

impl JobError {
    /// The HTTP status. Clients that retry do so after every status but 200.
    fn status(&self) -> StatusCode {
        match self {
            JobError::Request(_)
            | JobError::Refused(Refusal::TooMuchMemory { .. } | Refusal::TooLarge { .. })
            | JobError::Catalog(_) => StatusCode::BAD_REQUEST,
            JobError::Refused(_) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let message = |status: StatusCode, text: &str| {
            (status, Json(json!({ "message": text }))).into_response()
        };
        // Piston answers malformed bodies with a stack trace of its parser.
        let stack = |text: String| {
            (StatusCode::BAD_REQUEST, Json(json!({ "stack": text }))).into_response()
        };
        match self {
            // Piston's own answer has no body.
            Failure::Job(JobError::Path(_)) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            Failure::Job(error) => {
                let mut response = message(error.status(), &error.to_string());
                if let JobError::Refused(refusal) = &error
                    && let Some(after) = refusal.retry_after()
                {
                    let seconds = after.as_secs().max(1);
                    response.headers_mut().insert(RETRY_AFTER, seconds.into());
                }
                response
            }
            Failure::Unauthorized => message(
                StatusCode::UNAUTHORIZED,
                "the header Authorization needs a valid token",
            ),
            Failure::Forbidden => message(
                StatusCode::FORBIDDEN,
                "this token is not for the interface piston",
            ),
            Failure::Body(error) => stack(format!("PayloadTooLargeError: {error}")),
            Failure::Malformed(error) => {
                stack(format!("SyntaxError: the body is not JSON: {error}"))
            }
            Failure::NoObject => stack(
                "SyntaxError: the body is not JSON: neither an object nor an array".to_owned(),
            ),
            Failure::Packages => message(
                StatusCode::FORBIDDEN,
                "packages are installed by the administrator of the service, not by requests",
            ),
        }
    }
}
