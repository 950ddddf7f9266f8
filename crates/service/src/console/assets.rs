//! The style sheet, the script and the icon of the console's pages.
//!
//! The name of each file contains a digest of its content. A changed file therefore has a new name,
//! and browsers may cache each file for a year.

use crate::hex::hex;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// The number of hexadecimal digits of the digest in a name.
const DIGEST_DIGITS: usize = 16;
const CACHE_RULE: &str = "public, max-age=31536000, immutable";

/// The parts of the script, in one module. Each part may use the editor and earlier parts.
const SCRIPT: [&str; 5] = [
    millibox_highlight::EDITOR,
    include_str!("assets/text.js"),
    include_str!("assets/share.js"),
    include_str!("assets/run.js"),
    include_str!("assets/status.js"),
];

/// A file that pages refer to.
pub struct Asset {
    /// Its address.
    pub path: String,
    kind: &'static str,
    content: String,
}

/// The style sheet of all pages.
pub static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let content = [
        include_str!("assets/console.css"),
        millibox_highlight::STYLE,
    ]
    .concat();
    Asset::new("css", "text/css; charset=utf-8", content)
});

/// The script of all pages.
pub static SCRIPT_FILE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("js", "text/javascript; charset=utf-8", SCRIPT.concat()));

pub static ICON: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "svg",
        "image/svg+xml",
        include_str!("assets/icon.svg").to_owned(),
    )
});

impl Asset {
    fn new(extension: &str, kind: &'static str, content: String) -> Asset {
        let digest = hex(&Sha256::digest(&content));
        Asset {
            path: format!("/assets/console.{}.{extension}", &digest[..DIGEST_DIGITS]),
            kind,
            content,
        }
    }
}

/// `GET /assets/{name}`.
pub async fn serve(Path(name): Path<String>) -> Response {
    let assets = [&*STYLE, &*SCRIPT_FILE, &*ICON];
    let found = assets
        .into_iter()
        .find(|asset| asset.path.strip_prefix("/assets/") == Some(&name));
    match found {
        Some(asset) => {
            let headers = [(CONTENT_TYPE, asset.kind), (CACHE_CONTROL, CACHE_RULE)];
            (headers, asset.content.as_str()).into_response()
        }
        None => (StatusCode::NOT_FOUND, "no such asset\n").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_fits_into_60_kib() {
        let bytes = SCRIPT_FILE.content.len();
        assert!(bytes <= 60 << 10, "{bytes} bytes");
    }

    #[test]
    fn script_parses_no_html_of_programs() {
        for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "eval("] {
            assert!(!SCRIPT_FILE.content.contains(word), "{word}");
        }
    }
}
