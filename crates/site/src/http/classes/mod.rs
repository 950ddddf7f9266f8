//! Classes: the pupils of a teacher, their passwords, problems and grades.
//!
//! | file | content |
//! | --- | --- |
//! | `view` | a class that the viewer manages |
//! | `show` | the page of a class; its name and owner |
//! | `pupils` | members, and new passwords for them |
//! | `problems` | problems that the members see |
//! | `grades` | the results of the members in several contests |
//!
//! Lists of pupils are imported by `accounts/roster`.

mod grades;
mod problems;
mod pupils;
mod show;
pub mod view;

use crate::app::App;
use crate::core::time::Time;
use crate::db::class;
use crate::http::problems::MAX_NAME;
use crate::http::web::context::Ctx;
use crate::http::web::error::Page;
use crate::http::web::layout::page;
use crate::http::web::parts::{check_name, empty};
use crate::http::web::refusal::Refusal;
use crate::text::t;
use axum::Router;
use axum::extract::Form;
use axum::response::{IntoResponse, Redirect};
use axum::routing::{get, post};
use maud::html;
use serde::Deserialize;
use std::sync::Arc;
use view::check_teacher;

/// The maximum number of classes of one teacher.
const MAX_CLASSES: i64 = 200;

/// The pages.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/classes", get(list).post(create))
        .route("/classes/{id}", get(show::show).post(show::change))
        .route("/classes/{id}/delete", post(show::delete))
        .route("/classes/{id}/members", post(pupils::add))
        .route("/classes/{id}/members/change", post(pupils::change))
        .route("/classes/{id}/problems", post(problems::add))
        .route("/classes/{id}/problems/remove", post(problems::remove))
        .route("/classes/{id}/grades", get(grades::show))
        .route("/classes/{id}/grades.csv", get(grades::csv))
}

/// `GET /classes`.
async fn list(Ctx { app, session }: Ctx) -> Page {
    let own = check_teacher(&session)?;
    let is_admin = session.viewer().is_admin();
    let classes = class::list(&app.db, own, is_admin).await?;
    let main = html! {
        h1 { (t::Classes) }
        p { (t::ClassesHint) }
        @if classes.is_empty() {
            (empty(t::ClassesEmpty, None))
        } @else {
            div.scroll { table #classes {
                thead { tr {
                    th { (t::Name) } th.number { (t::ClassPupils) }
                    @if is_admin { th { (t::ClassTeacher) } }
                } }
                tbody { @for one in &classes { tr {
                    td { a href={ "/classes/" (one.id) } { (one.name) } }
                    td.number { (one.members) }
                    @if is_admin { td { (one.owner) } }
                } } }
            } }
        }
        h2 { (t::ClassesAdd) }
        form.fields method="post" {
            label { (t::Name) input name="name" required maxlength=(MAX_NAME); }
            button { (t::ClassesAdd) }
        }
    };
    Ok(page(&session, t::Classes, main).into_response())
}

/// The fields of `POST /classes`.
#[derive(Deserialize)]
struct New {
    name: String,
}

/// `POST /classes`.
async fn create(Ctx { app, session }: Ctx, Form(form): Form<New>) -> Page {
    let own = check_teacher(&session)?;
    check_name(&form.name, MAX_NAME)?;
    let mut tx = app.db.begin().await?;
    if class::count_of_owner(&mut tx, own).await? >= MAX_CLASSES {
        return Err(Refusal::TooManyClasses { max: MAX_CLASSES }.into());
    }
    let id = class::insert(&mut tx, form.name.trim(), own, Time::now()).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/classes/{id}")).into_response())
}
