//! The HTML that all pages of the console share.

use super::assets::{ICON, SCRIPT_FILE, STYLE};
use axum::response::Html;
use maud::{DOCTYPE, Markup, html};

/// A page of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// `/`.
    Run,
    /// `/status`.
    Status,
    /// `/docs` and the pages below it.
    Docs,
}

/// A whole page. `head` is added to its head.
pub fn page(page: Page, title: &str, head: Markup, main: Markup) -> Html<String> {
    let link = |target: Page, href: &str, text: &str| {
        let current = (target == page).then_some("page");
        html! { li { a href=(href) aria-current=[current] { (text) } } }
    };
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { (title) " · millibox" }
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="description" content="Run programs in the millibox sandbox";
                link rel="icon" type="image/svg+xml" href=(ICON.path);
                link rel="stylesheet" href=(STYLE.path);
                script type="module" src=(SCRIPT_FILE.path) {}
                (head)
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                header.top {
                    a.brand href="/" {
                        img src=(ICON.path) alt="" width="28" height="28";
                        "millibox"
                    }
                    nav aria-label="Pages" {
                        ul {
                            (link(Page::Run, "/", "Run"))
                            (link(Page::Status, "/status", "Status"))
                            (link(Page::Docs, "/docs", "API"))
                            li { a href="/openapi.json" { "OpenAPI" } }
                        }
                    }
                }
                main #main tabindex="-1" { (main) }
                footer {
                    p {
                        "millibox " (env!("CARGO_PKG_VERSION"))
                        ": programs run in a sandbox without a network."
                    }
                }
            }
        }
    };
    Html(document.into_string())
}

/// A message about a request that was not carried out.
pub fn alert(title: &str, detail: &str) -> Markup {
    html! {
        div.alert role="alert" {
            strong { (title) }
            p { (detail) }
        }
    }
}

/// The field for a token.
pub fn token_field() -> Markup {
    html! {
        div.field {
            label for="token" { "Token" }
            input #token name="token" type="password" autocomplete="current-password"
                required aria-describedby="token-hint";
            p.hint #token-hint { "This service needs a token. It is kept for this tab only." }
        }
    }
}
