//! Style sheets, scripts and icons of pages, and the headers that confine the pages.
//!
//! The name of each file contains a digest of its content. A changed file therefore has a new name,
//! and browsers may cache each file for a year.

use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

/// The media type of style sheets.
pub const CSS: &str = "text/css; charset=utf-8";
/// The media type of scripts.
pub const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
/// The media type of icons.
pub const SVG: &str = "image/svg+xml";
/// The first part of the style sheets of all pages.
pub const BASE_STYLE: &str = include_str!("assets/base.css");

/// The number of hexadecimal digits of the digest in a name.
const DIGEST_DIGITS: usize = 16;
const CACHE_RULE: &str = "public, max-age=31536000, immutable";
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A file that pages refer to.
#[derive(Debug)]
pub struct Asset {
    /// The path of its URL.
    pub path: String,
    media_type: &'static str,
    /// What the file contains.
    pub content: String,
}

impl Asset {
    /// A file below `/assets`, with a name like `site.0123456789abcdef.css`.
    pub fn new(name: &str, extension: &str, media_type: &'static str, content: String) -> Asset {
        let digest = format!("{:x}", Sha256::digest(&content));
        Asset {
            path: format!("/assets/{name}.{}.{extension}", &digest[..DIGEST_DIGITS]),
            media_type,
            content,
        }
    }
}

/// The response to `GET /assets/{name}`.
pub fn serve(assets: impl IntoIterator<Item = &'static Asset>, name: &str) -> Response {
    let mut assets = assets.into_iter();
    let found = assets.find(|asset| asset.path.strip_prefix("/assets/") == Some(name));
    match found {
        Some(asset) => {
            let headers = [
                (CONTENT_TYPE, asset.media_type),
                (CACHE_CONTROL, CACHE_RULE),
            ];
            (headers, asset.content.as_str()).into_response()
        }
        None => (StatusCode::NOT_FOUND, "no such asset\n").into_response(),
    }
}

/// Adds the headers that confine pages. A handler may set its own policy for content and caches.
pub async fn secure(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        // URLs contain secrets, and the programs of users, so they must not reach other sites.
        // With `no-referrer`, browsers would send `Origin: null` with the server's own forms.
        (REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(POLICY));
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}
