//! The frame of all pages.

use super::assets::{ICON, PROJECTOR, SCRIPT, STYLE};
use super::session::Session;
use axum::response::Html;
use maud::{DOCTYPE, Markup, html};

/// A page for the user of a session.
pub fn page(session: &Session, title: &str, main: Markup) -> Html<String> {
    document(title, navigation(session), html! {}, main)
}

/// A page that is loaded again when `source` reports a change.
pub fn live_page(session: &Session, title: &str, source: &str, main: Markup) -> Html<String> {
    let head = html! { meta name="live" content=(source); };
    document(title, navigation(session), head, main)
}

/// A page that is projected: without navigation, and scrolling by itself.
pub fn projector_page(title: &str, source: &str, main: Markup) -> Html<String> {
    let head = html! {
        meta name="live" content=(source);
        script type="module" src=(PROJECTOR.path) {}
    };
    let body = html! { main.projector #main { (main) } };
    Html(shell(title, head, body).into_string())
}

/// A page without a session.
pub fn bare(title: &str, main: Markup) -> Html<String> {
    document(title, html! {}, html! {}, main)
}

fn navigation(session: &Session) -> Markup {
    let viewer = session.viewer();
    html! {
        nav aria-label="Pages" {
            ul {
                li { a href="/contests" { "Contests" } }
                li { a href="/problems" { "Problems" } }
                @if session.user.is_some() {
                    li { a href="/submissions" { "Submissions" } }
                }
                @if viewer.is_teacher() { li { a href="/jobs" { "Jobs" } } }
                @if viewer.is_admin() {
                    li { a href="/users" { "Users" } }
                    li { a href="/queue" { "Queue" } }
                    li { a href="/faults" { "Faults" } }
                    li { a href="/rejudgings" { "Rejudgings" } }
                }
            }
        }
        div.account {
            @if let Some(user) = &session.user {
                a href="/account" { (user.login) }
                form method="post" action="/sign-out" { button.quiet { "Sign out" } }
            } @else {
                a href="/sign-in" { "Sign in" }
                a href="/sign-up" { "Sign up" }
            }
        }
    }
}

fn document(title: &str, navigation: Markup, head: Markup, main: Markup) -> Html<String> {
    let body = html! {
        a.skip href="#main" { "Skip to the content" }
        header.top {
            a.brand href="/" {
                img src=(ICON.path) alt="" width="28" height="28";
                "millibox"
            }
            (navigation)
        }
        main #main tabindex="-1" { (main) }
        footer { p { "millibox " (env!("CARGO_PKG_VERSION")) ". All times are in UTC." } }
    };
    Html(shell(title, head, body).into_string())
}

fn shell(title: &str, head: Markup, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { (title) " · millibox" }
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" type="image/svg+xml" href=(ICON.path);
                link rel="stylesheet" href=(STYLE.path);
                script type="module" src=(SCRIPT.path) {}
                (head)
            }
            body { (body) }
        }
    }
}
