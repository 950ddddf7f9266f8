//! The problems that the members of a class see.

use super::view::{self, ManagedClass};
use crate::core::access;
use crate::db::{class, problem};
use crate::http::web::context::{Checked, Ctx};
use crate::http::web::error::Page;
use crate::http::web::mistake::Mistake;
use crate::http::web::refusal::Refusal;
use axum::extract::Form;
use axum::response::{IntoResponse, Redirect};
use serde::Deserialize;

/// The fields of the two forms.
#[derive(Deserialize)]
pub struct Fields {
    problem: i64,
}

/// `POST /classes/{id}/problems`.
pub async fn add(
    Checked(ManagedClass(Ctx { app, session }, class), Form(form)): Checked<
        ManagedClass,
        Form<Fields>,
    >,
) -> Page {
    let mut tx = app.db.begin().await?;
    let class = view::find(&mut tx, session.viewer(), class.id).await?;
    let found = problem::by_id(&mut tx, form.problem).await?;
    // Of problems that the viewer does not see, the viewer learns nothing.
    let found = found.filter(|one| access::problem(session.viewer(), one, false).view);
    let found = found.ok_or(Mistake::UnknownProblem)?;
    if !access::shows(session.viewer(), &found, class.owner_id) {
        return Err(Refusal::ForeignProblem.into());
    }
    class::add_problem(&mut tx, class.id, found.id).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/classes/{}#problems", class.id)).into_response())
}

/// `POST /classes/{id}/problems/remove`.
pub async fn remove(
    Checked(ManagedClass(Ctx { app, session }, class), Form(form)): Checked<
        ManagedClass,
        Form<Fields>,
    >,
) -> Page {
    let mut tx = app.db.begin().await?;
    let class = view::find(&mut tx, session.viewer(), class.id).await?;
    class::remove_problem(&mut tx, class.id, form.problem).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/classes/{}#problems", class.id)).into_response())
}
