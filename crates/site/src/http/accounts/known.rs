//! Browsers in which a user has signed in before.
//!
//! A guess from any browser counts for the login and the address, so guesses at a shared address
//! would lock out the user of the login. A browser that knows the user is counted alone. The key
//! of its cookie is the stored hash of the password, so a new password ends all these cookies.

use crate::app::App;
use crate::core::token::{Token, hex};
use crate::http::web::session::{cookie_header, cookie_value};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use ring::hmac;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// The name of the cookie.
const NAME: &str = "browser";
/// How long a browser is known.
const LASTS: Duration = Duration::from_secs(365 * 24 * 60 * 60);

fn signed(stored: &str, nonce: &Token) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, stored.as_bytes());
    let tag = hmac::sign(
        &key,
        &[b"known browser ".as_slice(), nonce.bytes()].concat(),
    );
    format!("{}.{}", nonce.hex(), hex(tag.as_ref()))
}

/// The cookie for a browser in which the password with this stored hash was right.
pub fn cookie(app: &App, stored: &str) -> (HeaderName, HeaderValue) {
    cookie_header(app, NAME, &signed(stored, &Token::random()), LASTS)
}

/// The cookie of a browser, which is not verified.
pub fn cookie_of(app: &App, headers: &HeaderMap) -> Option<String> {
    cookie_value(app, headers, NAME).map(str::to_owned)
}

/// The digest of a cookie that belongs to a stored hash.
pub fn digest(cookie: &str, stored: &str) -> Option<[u8; 32]> {
    let (nonce, tag) = cookie.split_once('.')?;
    let (nonce, tag) = (Token::of_hex(nonce)?, Token::of_hex(tag)?);
    let key = hmac::Key::new(hmac::HMAC_SHA256, stored.as_bytes());
    let content = [b"known browser ".as_slice(), nonce.bytes()].concat();
    hmac::verify(&key, &content, tag.bytes()).ok()?;
    Some(Sha256::digest(nonce.bytes()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookie_belongs_to_one_stored_password() {
        let nonce = Token::random();
        let cookie = signed("$argon2id$a", &nonce);
        assert_eq!(digest(&cookie, "$argon2id$a"), Some(nonce.digest()));
        assert_eq!(digest(&cookie, "$argon2id$b"), None);
        let other = Token::random().hex() + &cookie[64..];
        assert_eq!(digest(&other, "$argon2id$a"), None);
        assert_eq!(digest("x", "$argon2id$a"), None);
    }
}
