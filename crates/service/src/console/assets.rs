//! The style sheet, the script and the icon of the console's pages.

use axum::extract::Path;
use axum::response::Response;
use millibox_web::assets::{Asset, BASE_STYLE, CSS, JAVASCRIPT, SVG};
use std::sync::LazyLock;

/// The parts of the script, in one module. Each part may use the editor and earlier parts.
const SCRIPT: [&str; 5] = [
    millibox_highlight::EDITOR,
    include_str!("assets/text.js"),
    include_str!("assets/share.js"),
    include_str!("assets/run.js"),
    include_str!("assets/status.js"),
];

/// The style sheet of all pages.
pub static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let content = [
        BASE_STYLE,
        include_str!("assets/console.css"),
        millibox_highlight::STYLE,
    ];
    Asset::new("console", "css", CSS, content.concat())
});

/// The script of all pages.
pub static SCRIPT_FILE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("console", "js", JAVASCRIPT, SCRIPT.concat()));

pub static ICON: LazyLock<Asset> = LazyLock::new(|| {
    let content = include_str!("assets/icon.svg").to_owned();
    Asset::new("console", "svg", SVG, content)
});

/// `GET /assets/{name}`.
pub async fn serve(Path(name): Path<String>) -> Response {
    millibox_web::assets::serve([&*STYLE, &*SCRIPT_FILE, &*ICON], &name)
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
