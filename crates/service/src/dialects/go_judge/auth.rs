//! Determines the client of a request.

use super::GoJudge;
use super::INTERFACE;
use crate::http::bearer::bearer;
use crate::tokens::Client;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::header::{CONNECTION, HeaderName};
use axum::http::request::Parts;
use std::sync::Arc;

/// The client, from the header `Authorization: Bearer TOKEN`. Without a valid token, the answer is
/// 401 with an empty body.
#[derive(Debug, Clone)]
pub struct Authenticated(pub Client);

/// The body of the request is not read, so the connection is closed.
type Unauthorized = (StatusCode, [(HeaderName, &'static str); 1]);

const UNAUTHORIZED: Unauthorized = (StatusCode::UNAUTHORIZED, [(CONNECTION, "close")]);

impl FromRequestParts<Arc<GoJudge>> for Authenticated {
    type Rejection = Unauthorized;

    async fn from_request_parts(
        parts: &mut Parts,
        go_judge: &Arc<GoJudge>,
    ) -> Result<Authenticated, Unauthorized> {
        match go_judge.service.tokens.client(bearer(parts)) {
            Ok(client) if client.may_use(INTERFACE) => Ok(Authenticated(client)),
            _ => Err(UNAUTHORIZED),
        }
    }
}
