//! Style sheet, script and icon. Their names contain their digests, so browsers may keep them.

use super::error::{Page, PageError};
use crate::core::token::hex;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// A file that pages refer to.
pub struct Asset {
    /// Its address.
    pub path: String,
    media: &'static str,
    content: &'static str,
}

/// The style sheet.
pub static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "css",
        "text/css; charset=utf-8",
        include_str!("assets/site.css"),
    )
});
/// The script.
pub static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let media = "text/javascript; charset=utf-8";
    Asset::new("js", media, include_str!("assets/live.js"))
});
/// The script of the page for projectors.
pub static PROJECTOR: LazyLock<Asset> = LazyLock::new(|| {
    let media = "text/javascript; charset=utf-8";
    Asset::new("js", media, include_str!("assets/projector.js"))
});
/// The icon.
pub static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("svg", "image/svg+xml", include_str!("assets/icon.svg")));

impl Asset {
    fn new(extension: &str, media: &'static str, content: &'static str) -> Asset {
        let digest = hex(&Sha256::digest(content));
        Asset {
            path: format!("/assets/site.{}.{extension}", &digest[..16]),
            media,
            content,
        }
    }
}

/// `GET /assets/{name}`.
pub async fn serve(Path(name): Path<String>) -> Page<Response> {
    let found = [&*STYLE, &*SCRIPT, &*PROJECTOR, &*ICON]
        .into_iter()
        .find(|asset| asset.path.strip_prefix("/assets/") == Some(&name))
        .ok_or(PageError::NotFound)?;
    let headers = [
        (CONTENT_TYPE, found.media),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((headers, found.content).into_response())
}
