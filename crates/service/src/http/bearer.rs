//! The token in the header `Authorization` (RFC 6750).

use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

/// The token of a request.
pub fn bearer(parts: &Parts) -> Option<&str> {
    let value = parts.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}
