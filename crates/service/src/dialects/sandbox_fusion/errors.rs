//! Errors in FastAPI's format: `{"detail": ...}`.

use super::fields::Invalid;
use super::model::RunStatus;
use crate::core::catalog::{CatalogError, ScriptError};
use crate::core::execution::{Blame, ExecutionError};
use crate::core::program::ProgramError;
use crate::core::queue::Refusal;
use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use millibox::RunError;
use millibox_languages::compile::CompileError;
use serde_json::json;
use std::time::Duration;

/// The time after which a client may retry a request after the sandbox failed.
const RETRY_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The request has mistakes.
    #[error("the request has {} mistakes", .0.len())]
    Invalid(Vec<Invalid>),
    /// The body cannot be read.
    #[error(transparent)]
    Body(#[from] BytesRejection),
    /// The token is missing or unknown.
    #[error(
        "this service needs a token: send `Authorization: Bearer TOKEN`, or write the address as \
         http://:TOKEN@HOST:PORT"
    )]
    Unauthorized,
    /// The token is for other interfaces.
    #[error("this token is not for the interface sandbox-fusion")]
    Forbidden,
    /// The run was not admitted. Nothing ran.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Compiling took so long that a run of full length would exceed the client's patience.
    #[error("the compiler was not ready within {} ms", .waited.as_millis())]
    Late {
        /// The time since the request.
        waited: Duration,
    },
    /// The sandbox or the service failed.
    #[error("the sandbox failed: {0}")]
    Sandbox(SandboxFailure),
}

/// Why the sandbox or the service has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum SandboxFailure {
    /// The program was not run.
    #[error(transparent)]
    Program(ProgramError),
    /// The script could not be prepared.
    #[error(transparent)]
    Script(ScriptError),
    /// The compiler was not run.
    #[error(transparent)]
    Compiler(CompileError),
    /// The sandbox did not finish the run.
    #[error(transparent)]
    Run(RunError),
    /// The service ended the run.
    #[error("the run was ended")]
    Ended,
    /// The run has no report.
    #[error("the program did not run")]
    NoReport,
    /// The suite of Python compiles programs, so it cannot serve cells.
    #[error("Python is compiled")]
    CompiledPython,
}

impl From<SandboxFailure> for Failure {
    fn from(failure: SandboxFailure) -> Failure {
        Failure::Sandbox(failure)
    }
}

impl From<ProgramError> for Failure {
    fn from(error: ProgramError) -> Failure {
        match error {
            ProgramError::Refused(refusal) => refusal.into(),
            ProgramError::Catalog(error) => error.into(),
            error if error.blame() == Blame::Service => SandboxFailure::Program(error).into(),
            ProgramError::Execution(error @ ExecutionError::Files(_)) => {
                Failure::invalid("files", error)
            }
            error => Failure::invalid("code", error),
        }
    }
}

impl From<CatalogError> for Failure {
    fn from(error: CatalogError) -> Failure {
        let field = match &error {
            CatalogError::Preparing(refusal) => return refusal.clone().into(),
            CatalogError::UnknownRuntime { .. } | CatalogError::Unavailable { .. } => "language",
            _ => "files",
        };
        Failure::invalid(field, error)
    }
}

impl From<ScriptError> for Failure {
    fn from(error: ScriptError) -> Failure {
        match error {
            ScriptError::Catalog(error) => error.into(),
            error => SandboxFailure::Script(error).into(),
        }
    }
}

impl From<Vec<Invalid>> for Failure {
    fn from(invalid: Vec<Invalid>) -> Failure {
        Failure::Invalid(invalid)
    }
}

impl Failure {
    fn invalid(field: &str, error: impl std::fmt::Display) -> Failure {
        let msg = format!("Value error, {error}");
        let input = serde_json::Value::Null;
        Failure::Invalid(vec![Invalid::new("value_error", field, msg, input)])
    }

    /// The value of the header `Millibox-Outcome`.
    fn outcome(&self) -> &'static str {
        match self {
            Failure::Invalid(_) | Failure::Body(_) => "invalid_request",
            Failure::Unauthorized | Failure::Forbidden => "unauthorized",
            Failure::Refused(refusal) if refusal.is_final() => "invalid_request",
            Failure::Refused(_) | Failure::Late { .. } => "refused",
            Failure::Sandbox(_) => "sandbox_error",
        }
    }

    /// The response. With `is_reported`, a failure of the sandbox is a result with the status
    /// `SandboxError` instead of an error.
    pub(super) fn response(self, is_reported: bool) -> Response {
        let detail = json!({ "detail": self.to_string() });
        let outcome = HeaderValue::from_static(self.outcome());
        let retry = |after: Duration| {
            let seconds = after.as_millis().div_ceil(1000);
            let seconds = HeaderValue::from(u64::try_from(seconds).unwrap_or(u64::MAX));
            let status = StatusCode::GATEWAY_TIMEOUT;
            (status, [(RETRY_AFTER, seconds)], Json(&detail)).into_response()
        };
        let mut response = match &self {
            Failure::Invalid(invalid) => {
                let body = Json(json!({ "detail": invalid }));
                (StatusCode::UNPROCESSABLE_ENTITY, body).into_response()
            }
            Failure::Refused(refusal) => match refusal.retry_after() {
                Some(after) => retry(after),
                None if matches!(refusal, Refusal::TooLarge { .. }) => {
                    Failure::invalid("fetch_files", refusal).response(is_reported)
                }
                None => Failure::invalid("memory_limit_MB", refusal).response(is_reported),
            },
            Failure::Body(rejection) => (rejection.status(), Json(&detail)).into_response(),
            Failure::Unauthorized => {
                let challenge = [(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))];
                (StatusCode::UNAUTHORIZED, challenge, Json(&detail)).into_response()
            }
            Failure::Forbidden => (StatusCode::FORBIDDEN, Json(&detail)).into_response(),
            Failure::Late { .. } => retry(RETRY_AFTER_FAILURE),
            Failure::Sandbox(failure) if is_reported => Json(json!({
                "status": RunStatus::SandboxError,
                "message": failure.to_string(),
                "compile_result": null,
                "run_result": null,
                "driver": null,
                "cells": [],
                "executor_pod_name": null,
                "files": {},
            }))
            .into_response(),
            Failure::Sandbox(_) => retry(RETRY_AFTER_FAILURE),
        };
        response
            .headers_mut()
            .insert(crate::http::headers::OUTCOME, outcome);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_of_the_service_are_504() {
        let full = Refusal::QueueFull {
            queued: 3,
            retry_after: Duration::from_millis(1500),
        };
        let response = Failure::from(full).response(false);
        assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(response.headers()[RETRY_AFTER], "2");
        let large = Refusal::TooMuchMemory {
            memory_bytes: 2,
            max_bytes: 1,
        };
        let response = Failure::from(large).response(false);
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
        let unknown = CatalogError::NoSource;
        let response = Failure::from(unknown).response(false);
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
        let failed = || Failure::from(SandboxFailure::NoReport);
        assert_eq!(
            failed().response(false).status(),
            StatusCode::GATEWAY_TIMEOUT
        );
        let response = failed().response(true);
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(
            response.headers()[crate::http::headers::OUTCOME],
            "sandbox_error"
        );
    }
}
