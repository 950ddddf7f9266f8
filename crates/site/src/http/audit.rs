//! The log of changes. Every successful request that changes something has an entry.
//!
//! Submissions have no entry, because the list of submissions has them, and neither have choices of
//! a language. The entry names the route, and the numbers in its path, but no tokens.

use super::actor::Actor;
use super::error::{NotCarriedOut, Page, PageError};
use super::layout::page;
use super::parts::{PAGE_ROWS, time};
use super::session::Session;
use crate::app::App;
use crate::core::time::Time;
use crate::db::audit::{self, NewEntry};
use crate::db::user;
use crate::text::t;
use axum::extract::{MatchedPath, Query, RawPathParams, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use maud::html;
use serde::Deserialize;
use std::net::IpAddr;
use std::sync::Arc;

/// Records a request after it has changed something.
pub async fn record(
    State(app): State<Arc<App>>,
    route: Option<MatchedPath>,
    parameters: RawPathParams,
    mut request: Request,
    next: Next,
) -> Response {
    let method = request.method().clone();
    let route = route
        .map(|route| route.as_str().to_owned())
        .unwrap_or_default();
    // A provider leads browsers back with GET, and that may begin a session or add a user.
    let is_reading = [Method::GET, Method::HEAD, Method::OPTIONS].contains(&method)
        && route != crate::oidc::CALLBACK
        || route == "/contests/{id}/clarifications/read";
    if is_reading || is_left_out(&route) {
        return next.run(request).await;
    }
    let shown = parameters
        .iter()
        .filter(|(name, _)| *name != "token")
        .map(|(_, value)| value);
    let object: Vec<&str> = shown.collect();
    let object = object.join("/");
    let address = request.extensions().get::<IpAddr>();
    let address = address.map(ToString::to_string).unwrap_or_default();
    let actor = Actor::default();
    request.extensions_mut().insert(actor.clone());
    let response = next.run(request).await;
    let status = response.status();
    let is_marked = response.extensions().get::<NotCarriedOut>().is_some();
    if status.is_client_error() || status.is_server_error() || is_marked {
        return response;
    }
    let entry = NewEntry {
        actor: actor
            .get()
            .or_else(|| response.extensions().get::<Actor>()?.get()),
        address,
        action: format!("{method} {route}"),
        object,
        status: status.as_u16(),
    };
    if let Err(error) = audit::insert(&app.db, &entry, Time::now()).await {
        tracing::error!(%error, ?entry, "cannot record a change");
    }
    response
}

fn is_left_out(route: &str) -> bool {
    route.ends_with("/submit") || route == "/language" || route == "/api/v1/submissions"
}

/// The filters of the page.
#[derive(Deserialize)]
pub struct Filter {
    before: Option<i64>,
    #[serde(default)]
    actor: String,
    #[serde(default)]
    action: String,
}

/// `GET /audit`.
pub async fn show(
    State(app): State<Arc<App>>,
    session: Session,
    Query(filter): Query<Filter>,
) -> Page {
    if !session.viewer().is_admin() {
        return Err(PageError::NotFound);
    }
    let (actor, action) = (filter.actor.trim(), filter.action.trim());
    let before = filter.before.unwrap_or(i64::MAX);
    // Entries have the login as the user wrote it at the sign-up.
    let found = user::by_login(&app.db, actor).await?;
    let login = found.as_ref().map_or(actor, |user| user.login.as_str());
    let entries = audit::page(&app.db, before, login, action, PAGE_ROWS).await?;
    let main = html! {
        h1 { (t::AuditTitle) }
        form.fields method="get" {
            label { (t::Login) input name="actor" value=(actor); }
            label { (t::AuditAction) input name="action" value=(action); }
            button { (t::AuditFilter) }
        }
        div.scroll { table {
            thead { tr {
                th { (t::Time) } th { (t::User) } th { (t::AuditAddress) } th { (t::AuditAction) }
                th { (t::AuditObject) }
            } }
            tbody { @for one in &entries { tr {
                td { (time(one.at)) }
                td { (one.actor) }
                td { (one.address) }
                td translate="no" { (one.action) }
                td { (one.object) }
            } } }
        } }
        @if entries.is_empty() { p.muted { (t::AuditEmpty) } }
        @if let Some(last) = entries.last() && entries.len() == PAGE_ROWS as usize {
            @let query = form_urlencoded::Serializer::new(String::new())
                .append_pair("actor", actor)
                .append_pair("action", action)
                .append_pair("before", &last.id.to_string())
                .finish();
            p { a href={ "/audit?" (query) } { (t::AuditEarlier) } }
        }
    };
    Ok(page(&session, t::AuditTitle, main).into_response())
}
