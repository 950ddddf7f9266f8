//! Pages for administrators.

use super::error::{Page, PageError};
use super::layout::page;
use super::parts::{PAGE_ROWS, select, time};
use super::problems::Place;
use super::session::Session;
use crate::app::App;
use crate::core::time::Time;
use crate::db::judgement;
use crate::db::session;
use crate::db::user::{self, Role};
use axum::extract::{Form, Path, Query, State};
use axum::response::{IntoResponse, Redirect};
use maud::html;
use serde::Deserialize;
use std::sync::Arc;

const ROLES: [(&str, &str); 3] = [
    ("user", "User"),
    ("teacher", "Teacher"),
    ("admin", "Administrator"),
];

fn check(session: &Session) -> Page<()> {
    if session.viewer().is_admin() {
        Ok(())
    } else {
        Err(PageError::NotFound)
    }
}

/// `GET /users`.
pub async fn users(
    State(app): State<Arc<App>>,
    session: Session,
    Query(place): Query<Place>,
) -> Page {
    check(&session)?;
    let users = user::page(&app.db, place.after.unwrap_or(0), PAGE_ROWS).await?;
    let main = html! {
        h1 { "Users" }
        div.scroll { table {
            thead { tr { th { "Login" } th { "Name" } th { "Since" } th { "Role and state" } } }
            tbody { @for one in &users { tr {
                td { (one.login) } td { (one.name) } td { (time(one.created_at)) }
                td {
                    form.inline method="post" action={ "/users/" (one.id) } {
                        (select("role", "Role", &ROLES, one.role.text()))
                        label.check {
                            input type="checkbox" name="disabled" value="1"
                                checked[one.disabled_at.is_some()];
                            "Disabled"
                        }
                        button { "Save" }
                    }
                }
            } } }
        } }
        @if let Some(last) = users.last() && users.len() == PAGE_ROWS as usize {
            p { a href={ "/users?after=" (last.id) } { "Further users" } }
        }
    };
    Ok(page(&session, "Users", main).into_response())
}

/// The fields of `POST /users/{id}`.
#[derive(Deserialize)]
pub struct Change {
    role: Role,
    disabled: Option<String>,
}

/// `POST /users/{id}`.
pub async fn change_user(
    State(app): State<Arc<App>>,
    session: Session,
    Path(id): Path<i64>,
    Form(form): Form<Change>,
) -> Page {
    check(&session)?;
    let found = user::by_id(&app.db, id).await?.ok_or(PageError::NotFound)?;
    let disabled_at = form
        .disabled
        .map(|_| found.disabled_at.unwrap_or_else(Time::now));
    let mut tx = app.db.begin().await?;
    user::update(&mut tx, id, form.role, disabled_at).await?;
    if disabled_at.is_some() {
        session::delete_of_user(&mut tx, id).await?;
    }
    if !user::has_admin(&mut tx).await? {
        return Err(PageError::Refused("The site needs an administrator."));
    }
    tx.commit().await?;
    Ok(Redirect::to("/users").into_response())
}

/// `GET /queue`.
pub async fn queue(State(app): State<Arc<App>>, session: Session) -> Page {
    check(&session)?;
    let entries = judgement::queue(&app.db, PAGE_ROWS).await?;
    let main = html! {
        h1 { "Queue" }
        div.scroll { table {
            thead { tr {
                th { "Submission" } th { "State" } th.number { "Priority" } th.number { "Attempt" }
                th { "Worker" } th { "Queued" } th { "Started" } th { "Ended" } th { "Fault" }
            } }
            tbody { @for one in &entries { tr {
                td { a href={ "/submissions/" (one.submission_id) } { "#" (one.submission_id) } }
                td { (one.state.text()) }
                td.number { (one.priority) }
                td.number { (one.attempt) }
                td { (one.worker.as_deref().unwrap_or_default()) }
                td { (time(one.queued_at)) }
                td { @if let Some(at) = one.started_at { (time(at)) } }
                td { @if let Some(at) = one.ended_at { (time(at)) } }
                td.text { (one.fault.as_deref().unwrap_or_default()) }
            } } }
        } }
    };
    Ok(page(&session, "Queue", main).into_response())
}
