//! The language of a request: from the user's setting, a cookie or the browser. The time zone: from
//! the settings of the user, the contest and the site.

use super::error::Page;
use super::session::{cookie, cookie_value};
use crate::app::App;
use crate::core::back::Back;
use crate::core::zone::Zones;
use crate::db::user;
use crate::http::web::context::Ctx;
use crate::text::{self, Locale};
use axum::extract::{Form, Request, State};
use axum::http::header::{ACCEPT_LANGUAGE, HOST, ORIGIN};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;

/// The name of the cookie with the tag of a language.
const LANGUAGE: &str = "language";
/// How long a browser keeps the choice.
const CHOICE_LASTS: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Chooses the language of a request before its handler runs, and the time zone of the site. The
/// handler learns of the user and the contest.
pub async fn choose(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let chosen = text::Request {
        locales: app.locales.clone(),
        locale: of_headers(&app, request.headers()),
        zones: Zones {
            site: app.zone.clone(),
            contest: None,
            user: None,
        },
        back: back(&request),
        origin: origin(&app, request.headers()).unwrap_or_default(),
    };
    text::scope(chosen, next.run(request)).await
}

fn of_headers(app: &App, headers: &HeaderMap) -> Arc<Locale> {
    let of_cookie = cookie_value(app, headers, LANGUAGE).and_then(|tag| app.locales.find(tag));
    let of_browser = || {
        let wanted = headers.get(ACCEPT_LANGUAGE)?.to_str().ok()?;
        app.locales.negotiate(wanted)
    };
    let found = of_cookie.or_else(of_browser);
    found.unwrap_or(app.locales.default_locale()).clone()
}

/// The address of a page; for the answer to a form, the address of the first page.
fn back(request: &Request) -> String {
    let path = request.uri().path_and_query();
    match path.filter(|_| request.method() == Method::GET) {
        Some(path) => path.to_string(),
        None => "/".to_owned(),
    }
}

/// The scheme, the host and the port with which the browser reaches the site. A proxy may hide the
/// scheme, but browsers name it when they send a form.
fn origin(app: &App, headers: &HeaderMap) -> Option<String> {
    let host = headers.get(HOST)?.to_str().ok()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
    if host.is_empty() || !host.chars().all(is_plain) {
        return None;
    }
    let is_secure = || {
        headers
            .get(ORIGIN)
            .is_some_and(|it| *it == *format!("https://{host}"))
    };
    let scheme = if app.is_https || is_secure() {
        "https"
    } else {
        "http"
    };
    Some(format!("{scheme}://{host}"))
}

/// The fields of `POST /language`.
#[derive(Deserialize)]
pub struct Choice {
    language: String,
    #[serde(default)]
    back: Back,
}

/// `POST /language`.
pub async fn change(Ctx { app, session }: Ctx, Form(choice): Form<Choice>) -> Page {
    let answer = Redirect::to(choice.back.or("/"));
    let Some(locale) = app.locales.find(&choice.language) else {
        return Ok(answer.into_response());
    };
    if let Some(user) = &session.user {
        let mut tx = app.db.begin().await?;
        user::set_locale(&mut tx, user.id, locale.tag()).await?;
        tx.commit().await?;
    }
    let cookie = cookie(&app, LANGUAGE, locale.tag(), CHOICE_LASTS);
    Ok((cookie, answer).into_response())
}
