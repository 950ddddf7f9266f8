//! The client of a request, and its rights.
//!
//! The token is the header or the query parameter `X-Auth-Token`. Calls that show or delete other
//! clients' submissions need a second token of a client with the right `admin`, in `X-Auth-User`.

use super::INTERFACE;
use super::Judge0;
use super::error::RequestError;
use super::parameters::Parameters;
use crate::http::bearer::bearer;
use crate::tokens::Client;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::sync::Arc;

const TOKEN: &str = "X-Auth-Token";
const ADMIN_TOKEN: &str = "X-Auth-User";

/// A client that may use this interface.
#[derive(Debug, Clone)]
pub struct Authenticated(pub Client);

/// A client that may also see and delete all submissions.
#[derive(Debug, Clone)]
pub struct Authorized;

impl FromRequestParts<Arc<Judge0>> for Authenticated {
    type Rejection = RequestError;

    async fn from_request_parts(
        parts: &mut Parts,
        judge0: &Arc<Judge0>,
    ) -> Result<Authenticated, RequestError> {
        let token = header_or_parameter(parts, TOKEN);
        let token = token.as_deref().or_else(|| bearer(parts));
        let client = judge0.service.tokens.client(token);
        let client = client.map_err(|_| RequestError::Unauthorized)?;
        if client.may_use(INTERFACE) {
            Ok(Authenticated(client))
        } else {
            Err(RequestError::Forbidden)
        }
    }
}

impl FromRequestParts<Arc<Judge0>> for Authorized {
    type Rejection = RequestError;

    async fn from_request_parts(
        parts: &mut Parts,
        judge0: &Arc<Judge0>,
    ) -> Result<Authorized, RequestError> {
        Authenticated::from_request_parts(parts, judge0).await?;
        let token = header_or_parameter(parts, ADMIN_TOKEN);
        let client = judge0.service.tokens.client(token.as_deref());
        // Without configured tokens, every client is an administrator. Judge0 rejects these calls
        // in that case.
        match client {
            Ok(client) if client.admin && judge0.service.tokens.are_required() => Ok(Authorized),
            _ => Err(RequestError::Forbidden),
        }
    }
}

fn header_or_parameter(parts: &Parts, name: &str) -> Option<String> {
    let header = parts
        .headers
        .get(name)
        .and_then(|value| value.to_str().ok());
    header.map(str::to_owned).or_else(|| {
        Parameters::new(parts.uri.query())
            .get(name)
            .map(str::to_owned)
    })
}
