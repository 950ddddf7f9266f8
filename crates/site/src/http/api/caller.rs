//! The program that has sent a request.

use super::problem::{Answer, ApiError};
use crate::app::App;
use crate::core::throttle;
use crate::core::time::Time;
use crate::core::token::Token;
use crate::db::api_token::{self, Scope};
use crate::db::audit;
use crate::db::user::User;
use crate::http::connections::Connection;
use crate::http::web::error::PageError;
use crate::http::web::session::Session;
use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Instant;

/// The minimum time between two records that a token was used, in microseconds.
const TOUCH_INTERVAL: i64 = 60 * 1_000_000;

/// A program with or without a token. Cookies do not count, so that pages of other sites can do
/// nothing here.
#[derive(Debug)]
pub struct Caller {
    /// The user of the token, in the form that handlers of pages use.
    pub session: Session,
    scope: Scope,
}

impl Caller {
    /// A program with all rights of a user.
    #[cfg(test)]
    pub fn of_user(user: User) -> Caller {
        Caller {
            session: Session::of_program(user),
            scope: Scope::Manage,
        }
    }

    /// The user of a token that allows something.
    ///
    /// # Errors
    /// The request has no token, or the token does not allow it.
    pub fn user(&self, scope: Scope) -> Answer<&User> {
        let user = self.session.user.as_ref().ok_or(ApiError::Token)?;
        if self.scope < scope {
            return Err(ApiError::Scope(scope.text()));
        }
        Ok(user)
    }
}

/// The token in the headers of a program.
pub fn bearer(headers: &HeaderMap) -> Option<Token> {
    let text = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    let token = scheme.eq_ignore_ascii_case("bearer").then_some(token)?;
    Token::of_hex(token.trim())
}

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Answer<Caller> {
        let address = parts.extensions.get::<IpAddr>().copied();
        let address = address.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
        let network = throttle::network(address);
        let by_address = || app.limits.calls_of_address.admit(network, Instant::now());
        if !parts.headers.contains_key(AUTHORIZATION) {
            by_address().map_err(PageError::TooOften)?;
            return Ok(Caller {
                session: Session::guest(),
                scope: Scope::Read,
            });
        }
        let token = bearer(&parts.headers).ok_or(ApiError::Token)?;
        let now = Time::now();
        let grant = api_token::grant(&app.db, token.digest(), now).await?;
        let Some((user, grant)) = grant else {
            by_address().map_err(PageError::TooOften)?;
            return Err(ApiError::Token);
        };
        let by_user = app.limits.calls_of_user.admit(user.id, Instant::now());
        by_user.map_err(PageError::TooOften)?;
        if grant
            .last_used_at
            .is_none_or(|at| now.0 - at.0 > TOUCH_INTERVAL)
        {
            let mut tx = app.db.begin().await?;
            api_token::touch(&mut tx, grant.id, now).await?;
            tx.commit_aside().await?;
        }
        if let Some(connection) = parts.extensions.get::<Arc<Connection>>() {
            connection.identify(user.id);
        }
        audit::act_as(user.id, &user.login);
        Ok(Caller {
            session: Session::of_program(user),
            scope: grant.scope,
        })
    }
}
