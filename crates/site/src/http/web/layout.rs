//! Pages for the user of a session: the frame with a navigation.

use super::frame::{document, shell};
use super::session::Session;
use crate::core::time::Time;
use crate::http::assets::{EDITOR, PROJECTOR};
use crate::text::{self, t};
use axum::response::Html;
use maud::{Markup, Render, html};

/// A page for the user of a session.
pub fn page(session: &Session, title: impl Render, main: Markup) -> Html<String> {
    document(title, Some(navigation(session)), html! {}, main)
}

/// A page that is loaded again when `source` reports a change.
pub fn live_page(
    session: &Session,
    title: impl Render,
    source: &str,
    main: Markup,
) -> Html<String> {
    let head = html! { meta name="live" content=(source); };
    document(title, Some(navigation(session)), head, main)
}

/// A page with an editor.
pub fn editor_page(session: &Session, title: impl Render, main: Markup) -> Html<String> {
    let head = html! { script type="module" src=(EDITOR.path) {} };
    document(title, Some(navigation(session)), head, main)
}

/// A page for projectors: without navigation, and with automatic scrolling.
pub fn projector_page(title: impl Render, source: &str, main: Markup) -> Html<String> {
    let head = html! {
        meta name="live" content=(source);
        script type="module" src=(PROJECTOR.path) {}
    };
    let body = html! { main.projector #main { (main) } };
    Html(shell(title, head, body).into_string())
}

/// A link in a navigation, marked if the viewer is in its section.
pub fn nav_link(href: &str, text: impl Render, is_here: bool) -> Markup {
    html! { li { a href=(href) aria-current=[is_here.then_some("page")] { (text) } } }
}

fn navigation(session: &Session) -> Markup {
    let viewer = session.viewer();
    // Rounds and their problems are parts of contests.
    let is_in = |section: &str| match section {
        "/contests" => ["/contest", "/round", "/clarifications"]
            .iter()
            .any(|it| session.path.starts_with(it)),
        section => session.path.starts_with(section),
    };
    let link = |href: &str, text: &dyn Render| nav_link(href, text, is_in(href));
    html! {
        nav aria-label=(t::NavPages) {
            ul {
                (link("/contests", &t::NavContests))
                (link("/problems", &t::NavProblems))
                @if session.user.is_some() { (link("/submissions", &t::NavSubmissions)) }
                @if viewer.is_teacher() {
                    (link("/classes", &t::Classes))
                    (link("/jobs", &t::NavJobs))
                    (link("/faults", &t::NavFaults))
                    (link("/rejudgings", &t::NavRejudgings))
                }
                @if viewer.is_admin() {
                    (link("/users", &t::NavUsers))
                    (link("/queue", &t::NavQueue))
                }
            }
        }
        div.account {
            (clock(Time::now()))
            @if let Some(user) = &session.user {
                a href="/account" { (user.login) }
                form method="post" action="/sign-out" { button.quiet { (t::SignOut) } }
            } @else {
                @let back = session.back.query();
                a href={ "/sign-in" (back) } { (t::SignIn) }
                a href={ "/sign-up" (back) } { (t::SignUp) }
            }
        }
    }
}

/// The clock of the server, in the zone of the page. The script advances it by the rules of the
/// server, because the browser's rules of the zone may be older.
fn clock(now: Time) -> Markup {
    let zone = text::zone();
    let local = zone.local(now);
    let time = local.as_ref().and_then(|local| local.text.get(11..));
    let next = zone.next_change(now);
    let next_at = next.as_ref().map(|(at, _)| at.0 / 1000);
    let next = next.as_ref().map(|(_, local)| local);
    html! {
        span.clock {
            span.visually-hidden { (t::NavServerTime) ": " }
            time #clock datetime=[now.rfc3339()] data-now=(now.0 / 1000)
                data-offset=[local.as_ref().map(|local| local.offset)]
                data-next=[next_at] data-next-offset=[next.map(|local| local.offset)]
                data-next-zone=[next.map(|local| &local.label)] { (time.unwrap_or_default()) }
            " "
            span #clock-zone translate="no" { @if let Some(local) = &local { (local.label) } }
        }
    }
}

/// The path from the first page to the page with the heading `here`.
pub fn crumbs(way: &[(&str, &dyn Render)], here: impl Render) -> Markup {
    html! {
        nav.crumbs aria-label=(t::NavBreadcrumb) {
            ol {
                @for (href, text) in way { li { a href=(href) { (text) } } }
                li aria-current="page" { (here) }
            }
        }
    }
}
