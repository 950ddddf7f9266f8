//! The log of changes. Every successful request that changes something has an entry, and so have
//! failed sign-ins, up to a bound.
//!
//! Submissions have no entry, because the list of submissions has them, and neither have choices of
//! a language. The entry names the route, and the numbers in its path, but no tokens.
//!
//! The entry is written in the transaction of the change (`db/audit.rs`). What follows the commit,
//! such as waking a worker, happens even if the client leaves.

use super::context::Admin;
use super::error::{NotCarriedOut, Page};
use super::layout::page;
use super::parts::{PAGE_ROWS, time};
use crate::app::App;
use crate::core::throttle;
use crate::core::time::Time;
use crate::db::audit::{self, Trail};
use crate::db::user;
use crate::text::{self, t};
use axum::extract::{MatchedPath, Query, RawPathParams, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use maud::html;
use serde::Deserialize;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::runtime::Handle;

/// A request that changes something. If its client leaves, it ends, unless it has begun to commit:
/// then it continues in a task of its own, because others must learn of the change.
struct Change {
    work: Option<Pin<Box<dyn Future<Output = Response> + Send>>>,
    trail: Arc<Trail>,
}

impl Future for Change {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response> {
        // Work that panics is not put back.
        let Some(mut work) = self.work.take() else {
            return Poll::Pending;
        };
        let answer = work.as_mut().poll(context);
        if answer.is_pending() {
            self.work = Some(work);
        }
        answer
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        if let Some(work) = self.work.take()
            && self.trail.is_committing()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(work);
        }
    }
}

/// Carries out a request, and records it if it changes something.
pub async fn record(
    State(app): State<Arc<App>>,
    route: Option<MatchedPath>,
    parameters: RawPathParams,
    request: Request,
    next: Next,
) -> Response {
    let method = request.method().clone();
    let route = route
        .map(|route| route.as_str().to_owned())
        .unwrap_or_default();
    // A provider leads browsers back with GET, and that may begin a session or add a user.
    let is_reading = [Method::GET, Method::HEAD, Method::OPTIONS].contains(&method)
        && route != crate::oidc::CALLBACK;
    if is_reading {
        return next.run(request).await;
    }
    let shown = parameters
        .iter()
        .filter(|(name, _)| *name != "token")
        .map(|(_, value)| value);
    let object: Vec<&str> = shown.collect();
    let object = object.join("/");
    let address = request.extensions().get::<IpAddr>().copied();
    let text = address.map(|address| address.to_string());
    let facts = (
        text.unwrap_or_default(),
        format!("{method} {route}"),
        object,
    );
    let trail = Trail::new((!is_left_out(&route)).then_some(facts));
    let network = throttle::network(address.unwrap_or(Ipv4Addr::UNSPECIFIED.into()));
    let carried_out = {
        let trail = trail.clone();
        async move {
            let answer = trail.clone().follow(next.run(request)).await;
            let is_marked = answer.extensions().get::<NotCarriedOut>().is_some();
            let status = answer.status();
            conclude(&app, &route, network, &trail, (status, is_marked)).await;
            answer
        }
    };
    let work: Pin<Box<dyn Future<Output = Response> + Send>> = match text::request() {
        Some(request) => Box::pin(text::scope(request, carried_out)),
        None => Box::pin(carried_out),
    };
    Change {
        work: Some(work),
        trail,
    }
    .await
}

/// Records a request that was carried out without a transaction, and a sign-in that has failed.
async fn conclude(
    app: &App,
    route: &str,
    network: IpAddr,
    trail: &Trail,
    (status, is_marked): (StatusCode, bool),
) {
    let is_refused = status.is_client_error() || status.is_server_error() || is_marked;
    let entry = match trail.missing(status.as_u16()) {
        Some(_) if is_refused && !(is_sign_in(route) && app.failures_logged.admit(network)) => None,
        Some(mut entry) if is_marked => {
            // Such an answer leads to the sign-in.
            entry.status = StatusCode::UNAUTHORIZED.as_u16();
            Some(entry)
        }
        entry => entry,
    };
    if let Some(entry) = entry
        && let Err(error) = audit::insert(&app.db, &entry, Time::now()).await
    {
        tracing::error!(%error, ?entry, "cannot record a request");
    }
}

fn is_sign_in(route: &str) -> bool {
    ["/sign-in", "/sign-in/code", crate::oidc::CALLBACK].contains(&route)
}

fn is_left_out(route: &str) -> bool {
    let routes = [
        "/language",
        "/api/v1/submissions",
        "/contests/{id}/clarifications/read",
    ];
    route.ends_with("/submit") || routes.contains(&route)
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
pub async fn show(Admin { app, session, .. }: Admin, Query(filter): Query<Filter>) -> Page {
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
                td {
                    span translate="no" { (one.action) }
                    @if one.status >= 400 { " " span.bad { (t::AuditRefused) } }
                }
                td { (one.object) @if !one.detail.is_empty() { " " span.muted { (one.detail) } } }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::tests::with_each;
    use crate::db::{setting, user::Role};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    /// A change whose client leaves before or after it commits. Returns whether the work after the
    /// commit was done.
    async fn leave(db: &crate::db::Db, commits: bool) -> bool {
        let facts = (String::new(), "POST /test".to_owned(), String::new());
        let trail = Trail::new(Some(facts));
        let is_done = Arc::new(AtomicBool::new(false));
        let (arrive, arrived) = tokio::sync::oneshot::channel();
        let work = {
            let (db, trail, is_done) = (db.clone(), trail.clone(), is_done.clone());
            async move {
                let work = async {
                    audit::act_as(1, "ada");
                    let mut tx = db.begin().await.unwrap();
                    setting::set(&mut tx, "test", "value").await.unwrap();
                    if commits {
                        tx.commit().await.unwrap();
                    }
                    arrive.send(()).unwrap();
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    is_done.store(true, Ordering::SeqCst);
                };
                trail.follow(work).await;
                StatusCode::OK.into_response()
            }
        };
        let change = Change {
            work: Some(Box::pin(work)),
            trail,
        };
        tokio::select! {
            _ = change => panic!("the client left too late"),
            _ = arrived => {}
        }
        let end = Instant::now() + Duration::from_secs(60);
        tokio::time::sleep(Duration::from_millis(400)).await;
        while commits && !is_done.load(Ordering::SeqCst) && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        is_done.load(Ordering::SeqCst)
    }

    #[test]
    fn change_is_finished_and_logged_exactly_if_it_was_committed() {
        with_each(async |db| {
            crate::db::tests::add_user(db, "ada", Role::User).await;
            for commits in [false, true] {
                assert_eq!(leave(db, commits).await, commits);
                let value = setting::get(db, "test").await.unwrap();
                assert_eq!(value.is_some(), commits);
                let entries = audit::page(db, i64::MAX, "", "", 10).await.unwrap();
                let found: Vec<_> = entries.iter().map(|one| one.actor.as_str()).collect();
                assert_eq!(found, if commits { vec!["ada"] } else { vec![] });
            }
        });
    }
}
