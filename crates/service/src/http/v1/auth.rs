//! Determines the client of a request.

use crate::http::problem::{self, ProblemDetails};
use crate::service::Service;
use crate::tokens::Client;
use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use std::sync::Arc;

/// The name of this interface in tokens and metrics.
pub const INTERFACE: &str = "v1";

/// The client, from the header `Authorization: Bearer TOKEN`.
#[derive(Debug, Clone)]
pub struct Authenticated(pub Client);

impl FromRequestParts<Arc<Service>> for Authenticated {
    type Rejection = ProblemDetails;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &Arc<Service>,
    ) -> Result<Authenticated, ProblemDetails> {
        let client = service
            .tokens
            .client(bearer(parts))
            .map_err(|_| problem::unauthorized())?;
        if client.may_use(INTERFACE) {
            Ok(Authenticated(client))
        } else {
            Err(problem::forbidden("this token is not for the interface v1"))
        }
    }
}

/// The token of a request.
pub fn bearer(parts: &Parts) -> Option<&str> {
    let value = parts.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}
