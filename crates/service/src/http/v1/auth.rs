//! Determines the client of a request.

use super::V1;
use crate::http::bearer::bearer;
use crate::http::problem::{self, ProblemDetails};
use crate::tokens::Client;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::sync::Arc;

/// The name of this interface in tokens and metrics.
pub const INTERFACE: &str = "v1";

/// The client, from the header `Authorization: Bearer TOKEN`.
#[derive(Debug, Clone)]
pub struct Authenticated(pub Client);

impl FromRequestParts<Arc<V1>> for Authenticated {
    type Rejection = ProblemDetails;

    async fn from_request_parts(
        parts: &mut Parts,
        v1: &Arc<V1>,
    ) -> Result<Authenticated, ProblemDetails> {
        let client = v1
            .service
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
