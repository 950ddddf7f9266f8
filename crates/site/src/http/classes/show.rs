//! The page of a class.

use super::view::{self, ManagedClass, top};
use crate::core::access;
use crate::db::class::{self, Class, Named, Pupil};
use crate::db::user;
use crate::http::problems::MAX_NAME;
use crate::http::web::context::{Checked, Ctx};
use crate::http::web::error::Page;
use crate::http::web::layout::page;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::check_name;
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::text::t;
use axum::extract::Form;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};
use serde::Deserialize;

/// `GET /classes/{id}`.
pub async fn show(ManagedClass(Ctx { app, session }, class): ManagedClass) -> Page {
    let members = class::members(&app.db, class.id).await?;
    let others = class::others(&app.db, class.owner_id, class.id).await?;
    let problems = class::problems(&app.db, class.id).await?;
    let owner = user::by_id(&app.db, class.owner_id).await?;
    let owner = owner.map_or(String::new(), |owner| owner.login);
    let root = format!("/classes/{}", class.id);
    let main = html! {
        (top(&class, None))
        p.actions {
            a.button href={ (root) "/import" } { (t::ClassImport) }
            a href={ (root) "/grades" } { (t::ClassGrades) }
        }
        h2 { (t::ClassPupils) }
        (pupils(&root, &members))
        (add_pupil(&root, &others))
        h2 { (t::Problems) }
        (shown(&root, &problems))
        h2 { (t::Settings) }
        (settings(&session, &class, &owner))
    };
    Ok(page(&session, &class.name, main).into_response())
}

fn pupils(root: &str, members: &[Pupil]) -> Markup {
    html! {
        @if members.is_empty() {
            p.muted { (t::ClassEmpty) }
        } @else {
            form method="post" action={ (root) "/members/change" } {
                div.scroll { table #pupils {
                    thead { tr {
                        th { (t::ClassChoose) } th { (t::Login) } th { (t::PersonName) }
                    } }
                    tbody { @for one in members { tr {
                        td { input type="checkbox" name="user" value=(one.id)
                            aria-label=(one.login); }
                        td {
                            (one.login)
                            @if one.disabled_at.is_some() { " " span.chip { (t::ClassDisabled) } }
                        }
                        td { (one.name) }
                    } } }
                } }
                p.actions {
                    button.second name="act" value="passwords" { (t::ClassPasswords) }
                    button.second name="act" value="all" { (t::ClassPasswordsAll) }
                    button.second name="act" value="remove" { (t::ClassRemove) }
                }
            }
            p.hint { (t::ClassPasswordsHint) }
        }
    }
}

fn add_pupil(root: &str, others: &[Pupil]) -> Markup {
    html! {
        form.inline method="post" action={ (root) "/members" } {
            label { (t::Login) input name="login" required autocomplete="off" list="others"; }
            datalist #others {
                @for one in others { option value=(one.login) { (one.name) } }
            }
            button { (t::ClassAdd) }
        }
        p.hint { (t::ClassAddHint) }
    }
}

fn shown(root: &str, problems: &[Named]) -> Markup {
    html! {
        p.hint { (t::ClassProblemsHint) }
        @if !problems.is_empty() {
            ul #problems { @for one in problems { li {
                a href={ "/problems/" (one.id) } { (one.name) } " "
                form.inline method="post" action={ (root) "/problems/remove" } {
                    input type="hidden" name="problem" value=(one.id);
                    button aria-label=(t::ClassHideNamed { name: &one.name }) { (t::ClassHide) }
                }
            } } }
        }
        form.inline method="post" action={ (root) "/problems" } {
            label { (t::ClassProblem) input name="problem" type="number" min="1" required; }
            button { (t::ClassShow) }
        }
    }
}

fn settings(session: &Session, class: &Class, owner: &str) -> Markup {
    html! {
        form.fields method="post" {
            label { (t::Name)
                input name="name" required maxlength=(MAX_NAME) value=(class.name); }
            @if session.viewer().is_admin() {
                label { (t::ClassTeacher)
                    input name="owner" required autocomplete="off" value=(owner); }
            }
            button { (t::Save) }
        }
        form method="post" action={ "/classes/" (class.id) "/delete" } {
            button.second { (t::ClassDelete) }
        }
        p.hint { (t::ClassDeleteHint) }
    }
}

/// The fields of `POST /classes/{id}`.
#[derive(Deserialize)]
pub struct Fields {
    name: String,
    /// The login of the teacher; only administrators change it.
    owner: Option<String>,
}

/// `POST /classes/{id}`.
pub async fn change(
    Checked(ManagedClass(Ctx { app, session }, class), Form(form)): Checked<
        ManagedClass,
        Form<Fields>,
    >,
) -> Page {
    check_name(&form.name, MAX_NAME)?;
    let mut tx = app.db.begin().await?;
    let before = view::find(&mut tx, session.viewer(), class.id).await?;
    let mut owner = before.owner_id;
    if let Some(login) = form.owner.filter(|_| session.viewer().is_admin()) {
        let found = user::by_login(&mut tx, login.trim()).await?;
        let found = found.ok_or(Mistake::UnknownUser)?;
        let viewer = access::Viewer {
            user: Some((found.id, found.role)),
        };
        if !access::class(viewer, found.id) {
            return Err(Refusal::NoTeacher { login: found.login }.into());
        }
        owner = found.id;
    }
    class::update(&mut tx, class.id, form.name.trim(), owner).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/classes/{}", class.id)).into_response())
}

/// `POST /classes/{id}/delete`.
pub async fn delete(ManagedClass(Ctx { app, session }, class): ManagedClass) -> Page {
    let mut tx = app.db.begin().await?;
    view::find(&mut tx, session.viewer(), class.id).await?;
    class::delete(&mut tx, class.id).await?;
    tx.commit().await?;
    Ok(Redirect::to("/classes").into_response())
}
