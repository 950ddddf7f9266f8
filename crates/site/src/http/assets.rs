//! Style sheet, scripts and icon.

use axum::extract::Path;
use axum::response::Response;
use millibox_web::assets::{Asset, BASE_STYLE, CSS, JAVASCRIPT, SVG};
use std::sync::LazyLock;

/// The style sheet.
pub static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let content = [
        BASE_STYLE,
        include_str!("assets/site.css"),
        millibox_highlight::STYLE,
    ];
    Asset::new("site", "css", CSS, content.concat())
});
/// The script of all pages: one module, in parts.
pub static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let content = concat!(
        include_str!("assets/page.js"),
        include_str!("assets/live.js")
    );
    Asset::new("site", "js", JAVASCRIPT, content.to_owned())
});
/// The script of pages with an editor.
pub static EDITOR: LazyLock<Asset> = LazyLock::new(|| {
    let content = [millibox_highlight::EDITOR, include_str!("assets/submit.js")].concat();
    Asset::new("editor", "js", JAVASCRIPT, content)
});
/// The script of the page for projectors.
pub static PROJECTOR: LazyLock<Asset> = LazyLock::new(|| {
    let content = include_str!("assets/projector.js").to_owned();
    Asset::new("projector", "js", JAVASCRIPT, content)
});
/// The icon.
pub static ICON: LazyLock<Asset> = LazyLock::new(|| {
    let content = include_str!("assets/icon.svg").to_owned();
    Asset::new("site", "svg", SVG, content)
});

/// `GET /assets/{name}`.
pub async fn serve(Path(name): Path<String>) -> Response {
    let assets = [&*STYLE, &*SCRIPT, &*EDITOR, &*PROJECTOR, &*ICON];
    millibox_web::assets::serve(assets, &name)
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
