//! The frame of all pages, with or without a session.

use crate::core::zone::Zone;
use crate::http::assets::{ICON, SCRIPT, STYLE};
use crate::text::{current, request, t, zone};
use axum::response::Html;
use maud::{DOCTYPE, Markup, Render, html};

/// A page about a request that was not carried out. All paths without a page share this page, so it
/// must not name its own address.
pub fn bare(title: impl Render, main: Markup) -> Html<String> {
    document(title, None, html! {}, main)
}

/// A page with header and footer. A page with a navigation can be shown again in another language.
pub fn document(
    title: impl Render,
    navigation: Option<Markup>,
    head: Markup,
    main: Markup,
) -> Html<String> {
    let version = env!("CARGO_PKG_VERSION");
    let zone = zone_name(&zone());
    let body = html! {
        a.skip href="#main" { (t::FrameSkip) }
        header.top {
            a.brand href="/" {
                img src=(ICON.path) alt="" width="28" height="28";
                "millibox"
            }
            @if let Some(navigation) = &navigation { (navigation) }
        }
        main #main tabindex="-1" { (main) }
        footer {
            p { (t::FrameFooter { version, zone }) }
            (languages(navigation.is_some()))
        }
    };
    Html(shell(title, head, body).into_string())
}

/// A page without header and footer.
pub fn shell(title: impl Render, head: Markup, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang=(current().tag()) {
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

/// The name of a time zone, which browsers must not translate.
pub fn zone_name(zone: &Zone) -> Markup {
    html! { span translate="no" { (zone.name()) } }
}

/// The choice between the languages of the site.
fn languages(leads_back: bool) -> Markup {
    let Some(request) = request() else {
        return html! {};
    };
    html! {
        form.languages method="post" action="/language" aria-label=(t::FrameLanguage) {
            @if leads_back { input type="hidden" name="back" value=(request.back); }
            @for one in request.locales.all() {
                @let is_current = one.tag() == request.locale.tag();
                button.quiet name="language" value=(one.tag()) lang=(one.tag())
                    aria-current=[is_current.then_some("true")] { (one.name()) }
            }
        }
    }
}
