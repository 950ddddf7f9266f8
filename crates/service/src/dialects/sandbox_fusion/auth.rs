//! Determines the client of a request.
//!
//! The clients of SandboxFusion do not support tokens, but all of them accept user information in a
//! URL. So the token may also be the password or the user name of HTTP basic authentication.

use super::INTERFACE;
use super::errors::Failure;
use crate::service::Service;
use crate::tokens::Client;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// The client of a request with these headers.
pub(super) fn client(service: &Service, headers: &HeaderMap) -> Result<Client, Failure> {
    let token = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(token);
    let client = service
        .tokens
        .client(token.as_deref())
        .map_err(|_| Failure::Unauthorized)?;
    if client.may_use(INTERFACE) {
        Ok(client)
    } else {
        Err(Failure::Forbidden)
    }
}

fn token(header: &str) -> Option<String> {
    let (scheme, value) = header.split_once(' ')?;
    let value = value.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(value.to_owned());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(BASE64.decode(value).ok()?).ok()?;
    let (user, password) = decoded.split_once(':')?;
    let token = if password.is_empty() { user } else { password };
    Some(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_read_from_both_schemes() {
        let basic = |text: &str| token(&format!("Basic {}", BASE64.encode(text)));
        assert_eq!(token("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(basic(":abc").as_deref(), Some("abc"));
        assert_eq!(basic("abc:").as_deref(), Some("abc"));
        assert_eq!(basic("user:abc").as_deref(), Some("abc"));
        assert_eq!(token("Digest abc"), None);
    }
}
