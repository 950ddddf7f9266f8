//! The frame of all pages.

use super::assets::{EDITOR, ICON, PROJECTOR, SCRIPT, STYLE};
use super::session::Session;
use crate::core::time::Time;
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

/// A page with an editor.
pub fn editor_page(session: &Session, title: &str, main: Markup) -> Html<String> {
    let head = html! { script type="module" src=(EDITOR.path) {} };
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

/// A link of a navigation. It is marked if the viewer is in this section.
pub fn nav_link(href: &str, text: &str, is_here: bool) -> Markup {
    html! { li { a href=(href) aria-current=[is_here.then_some("page")] { (text) } } }
}

fn navigation(session: &Session) -> Markup {
    let viewer = session.viewer();
    // Rounds and their problems are parts of contests.
    let is_in = |section: &str| match section {
        "/contests" => ["/contests", "/round"].map(|it| session.path.starts_with(it)) != [false; 2],
        section => session.path.starts_with(section),
    };
    let link = |href: &str, text: &str| nav_link(href, text, is_in(href));
    html! {
        nav aria-label="Pages" {
            ul {
                (link("/contests", "Contests"))
                (link("/problems", "Problems"))
                @if session.user.is_some() { (link("/submissions", "Submissions")) }
                @if viewer.is_teacher() { (link("/jobs", "Jobs")) }
                @if viewer.is_admin() {
                    (link("/users", "Users"))
                    (link("/queue", "Queue"))
                    (link("/faults", "Faults"))
                    (link("/rejudgings", "Rejudgings"))
                }
            }
        }
        div.account {
            (clock(Time::now()))
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

/// The clock of the server. The script moves it.
fn clock(now: Time) -> Markup {
    let machine = now.rfc3339().unwrap_or_default();
    let time = machine.get(11..19).unwrap_or_default();
    html! {
        span.clock {
            span.visually-hidden { "Time of the server: " }
            time #clock datetime=(machine) { (time) } " UTC"
        }
    }
}

/// The way from the first page to the one that has the heading `here`.
pub fn crumbs(way: &[(&str, &str)], here: &str) -> Markup {
    html! {
        nav.crumbs aria-label="Breadcrumb" {
            ol {
                @for (href, text) in way { li { a href=(href) { (text) } } }
                li aria-current="page" { (here) }
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
