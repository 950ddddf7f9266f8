//! Style sheet, script and icon. Their names contain their digests, so browsers may cache them.

use crate::core::token::hex;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// A file that pages refer to.
pub struct Asset {
    /// Its address.
    pub path: String,
    media: &'static str,
    content: String,
}

/// The style sheet.
pub static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let content = [include_str!("assets/site.css"), millibox_highlight::STYLE].concat();
    Asset::new("site", "css", "text/css; charset=utf-8", content)
});
/// The script of all pages: one module, in parts.
pub static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let content = concat!(
        include_str!("assets/page.js"),
        include_str!("assets/live.js")
    );
    Asset::new("site", "js", SCRIPT_MEDIA, content.to_owned())
});
/// The script of pages with an editor.
pub static EDITOR: LazyLock<Asset> = LazyLock::new(|| {
    let content = [millibox_highlight::EDITOR, include_str!("assets/submit.js")].concat();
    Asset::new("editor", "js", SCRIPT_MEDIA, content)
});
/// The script of the page for projectors.
pub static PROJECTOR: LazyLock<Asset> = LazyLock::new(|| {
    let content = include_str!("assets/projector.js").to_owned();
    Asset::new("projector", "js", SCRIPT_MEDIA, content)
});
/// The icon.
pub static ICON: LazyLock<Asset> = LazyLock::new(|| {
    let content = include_str!("assets/icon.svg").to_owned();
    Asset::new("site", "svg", "image/svg+xml", content)
});

const SCRIPT_MEDIA: &str = "text/javascript; charset=utf-8";

impl Asset {
    fn new(name: &str, extension: &str, media: &'static str, content: String) -> Asset {
        let digest = hex(&Sha256::digest(&content));
        Asset {
            path: format!("/assets/{name}.{}.{extension}", &digest[..16]),
            media,
            content,
        }
    }
}

/// `GET /assets/{name}`.
pub async fn serve(Path(name): Path<String>) -> Result<Response, StatusCode> {
    let found = [&*STYLE, &*SCRIPT, &*EDITOR, &*PROJECTOR, &*ICON]
        .into_iter()
        .find(|asset| asset.path.strip_prefix("/assets/") == Some(&name))
        .ok_or(StatusCode::NOT_FOUND)?;
    let headers = [
        (CONTENT_TYPE, found.media),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((headers, found.content.as_str()).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_without_the_editor_fits_into_60_kib() {
        assert!(SCRIPT.content.len() <= 60 << 10, "{}", SCRIPT.content.len());
    }

    #[test]
    fn scripts_parse_no_html_of_users() {
        for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "eval("] {
            for script in [&SCRIPT, &EDITOR] {
                assert!(!script.content.contains(word), "{word}");
            }
        }
    }
}
