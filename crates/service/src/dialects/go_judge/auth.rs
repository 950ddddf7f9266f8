//! The client of a request.

use super::INTERFACE;
use crate::http::v1::auth::bearer;
use crate::service::Service;
use crate::tokens::Client;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use std::sync::Arc;

/// The client, from the header `Authorization: Bearer TOKEN`. Without a valid token the answer is
/// 401 with an empty body.
#[derive(Debug, Clone)]
pub struct Authenticated(pub Client);

impl FromRequestParts<Arc<Service>> for Authenticated {
    type Rejection = StatusCode;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &Arc<Service>,
    ) -> Result<Authenticated, StatusCode> {
        let client = service.tokens.client(bearer(parts));
        let client = client.map_err(|_| StatusCode::UNAUTHORIZED)?;
        if client.may_use(INTERFACE) {
            Ok(Authenticated(client))
        } else {
            Err(StatusCode::UNAUTHORIZED)
        }
    }
}
