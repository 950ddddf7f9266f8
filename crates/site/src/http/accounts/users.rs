//! Users as administrators see and change them.

use super::account::{Profile, profile_inputs};
use super::reset::LINK_LASTS;
use crate::app::App;
use crate::core::time::Time;
use crate::core::token::{Token, hex};
use crate::db::credential::{self, Kept};
use crate::db::setting::{self, SignUp};
use crate::db::user::{self, Role, User};
use crate::db::{Tx, merge, reset, session, totp};
use crate::http::problems::Place;
use crate::http::web::context::Admin;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::{PAGE_ROWS, new_link, select, time};
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::http::web::vocabulary;
use crate::text::t;
use axum::extract::{Form, Path, Query};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, Render, html};
use serde::Deserialize;

const ROLES: [(&str, &dyn Render); 3] = [
    ("user", &t::RoleUser),
    ("teacher", &t::RoleTeacher),
    ("admin", &t::RoleAdmin),
];
const SIGN_UPS: [(&str, &dyn Render); 3] = [
    ("open", &t::SignUpOpen),
    ("link", &t::SignUpLink),
    ("closed", &t::SignUpClosed),
];

async fn find(app: &App, id: i64) -> Page<User> {
    user::by_id(&app.db, id).await?.ok_or(PageError::NotFound)
}

/// Checks that at least one administrator can still sign in.
async fn check_has_admin(tx: &mut Tx) -> Page<()> {
    if user::has_admin(tx).await? {
        return Ok(());
    }
    Err(Refusal::LastAdmin.into())
}

/// `GET /users`.
pub async fn list(Admin { app, session, .. }: Admin, Query(place): Query<Place>) -> Page {
    let users = user::page(&app.db, place.after.unwrap_or(0), PAGE_ROWS).await?;
    let main = html! {
        h1 { (t::Users) }
        p.actions {
            a.button href="/users/import" { (t::UsersAdd) }
            a href="/users/export.csv" { (t::UsersCsv) }
            a href="/users/export.json" { (t::UsersJson) }
            a href="/settings" { (t::UsersSignUp) }
            a href="/audit" { (t::AuditTitle) }
        }
        div.scroll { table {
            thead { tr {
                th { (t::Login) } th { (t::PersonName) } th { (t::UsersSince) }
                th { (t::UsersRoleAndState) }
            } }
            tbody { @for one in &users { tr {
                td { a href={ "/users/" (one.id) } { (one.login) } }
                td { (one.name) }
                td { (time(one.created_at)) }
                @let role = vocabulary::role(one.role);
                td {
                    @if one.disabled_at.is_some() { (t::UsersDisabled { role }) } @else { (role) }
                }
            } } }
        } }
        @if let Some(last) = users.last() && users.len() == PAGE_ROWS as usize {
            p { a href={ "/users?after=" (last.id) } { (t::UsersFurther) } }
        }
    };
    Ok(page(&session, t::Users, main).into_response())
}

/// `GET /users/{id}`.
pub async fn show(Admin { app, session, .. }: Admin, Path(id): Path<i64>) -> Page {
    user_page(&app, &session, id, None).await
}

fn confirmation(action: &str, words: impl Render, extra: &Markup) -> Markup {
    html! {
        form.fields method="post" action=(action) {
            (extra)
            label { (t::UserConfirm) input name="confirm" required autocomplete="off"; }
            button { (words) }
        }
    }
}

/// The page, with a newly created link.
async fn user_page(app: &App, session: &Session, id: i64, link: Option<&str>) -> Page {
    let found = find(app, id).await?;
    let generator = totp::of_user(&app.db, id).await?;
    let has_totp = generator.is_some_and(|one| one.confirmed().is_some());
    let path = format!("/users/{id}");
    let target = html! {
        label { (t::UserInto) input name="into" required autocomplete="off"; }
    };
    let main = html! {
        h1 { (found.login) }
        form.fields method="post" action={ (path) "/profile" } {
            (profile_inputs(&found.name, found.email.as_deref()))
            button { (t::Save) }
        }
        h2 { (t::UsersRoleAndState) }
        form.fields method="post" action=(path) {
            (select("role", t::Role, &ROLES, found.role.text()))
            label.check {
                input type="checkbox" name="disabled" value="1"
                    checked[found.disabled_at.is_some()];
                (t::UserDisable)
            }
            button { (t::Save) }
        }
        h2 { (t::UserSignIn) }
        @if let Some(link) = link {
            p { (t::UserResetShown) }
            (new_link("reset-link", link))
        }
        div.actions {
            form.inline method="post" action={ (path) "/reset" } {
                button { (t::UserResetMake) }
            }
            form.inline method="post" action={ (path) "/sessions/end" } {
                button { (t::UserSessionsEnd) }
            }
            @if has_totp {
                form.inline method="post" action={ (path) "/totp/off" } {
                    button { (t::TotpOff) }
                }
            }
        }
        h2 { (t::UserMerge) }
        p.hint { (t::UserMergeHint) }
        (confirmation(&format!("{path}/merge"), t::UserMergeButton, &target))
        h2 { (t::Delete) }
        p.hint { (t::UserDeleteHint) }
        (confirmation(&format!("{path}/delete"), t::UserDelete, &html! {}))
    };
    Ok(page(session, &found.login, main).into_response())
}

/// The fields of `POST /users/{id}`.
#[derive(Deserialize)]
pub struct Change {
    role: Role,
    disabled: Option<String>,
}

/// `POST /users/{id}`.
pub async fn change(
    Admin { app, .. }: Admin,
    Path(id): Path<i64>,
    Form(form): Form<Change>,
) -> Page {
    let found = find(&app, id).await?;
    let disabled_at = form
        .disabled
        .map(|_| found.disabled_at.unwrap_or_else(Time::now));
    let mut tx = app.db.begin().await?;
    user::update(&mut tx, id, form.role, disabled_at).await?;
    if disabled_at.is_some() {
        session::delete_of_user(&mut tx, id).await?;
    }
    check_has_admin(&mut tx).await?;
    tx.commit().await?;
    Ok(Redirect::to("/users").into_response())
}

/// `POST /users/{id}/profile`.
pub async fn change_profile(
    Admin { app, .. }: Admin,
    Path(id): Path<i64>,
    Form(form): Form<Profile>,
) -> Page {
    find(&app, id).await?;
    let (name, email) = form.read()?;
    let mut tx = app.db.begin().await?;
    user::set_profile(&mut tx, id, name, email).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/users/{id}")).into_response())
}

/// `POST /users/{id}/reset`.
pub async fn make_reset_link(Admin { app, session, .. }: Admin, Path(id): Path<i64>) -> Page {
    find(&app, id).await?;
    let token = Token::random();
    let now = Time::now();
    let mut tx = app.db.begin().await?;
    reset::insert(&mut tx, token.digest(), id, now, now.after(LINK_LASTS)).await?;
    session.hold(&mut tx).await?;
    tx.commit().await?;
    let link = format!("/reset/{}", token.hex());
    user_page(&app, &session, id, Some(&link)).await
}

/// `POST /users/{id}/sessions/end`.
pub async fn end_sessions(Admin { app, .. }: Admin, Path(id): Path<i64>) -> Page {
    find(&app, id).await?;
    let mut tx = app.db.begin().await?;
    session::delete_of_user(&mut tx, id).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/users/{id}")).into_response())
}

/// `POST /users/{id}/totp/off`.
pub async fn turn_totp_off(Admin { app, .. }: Admin, Path(id): Path<i64>) -> Page {
    find(&app, id).await?;
    let mut tx = app.db.begin().await?;
    totp::remove(&mut tx, id).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/users/{id}")).into_response())
}

/// The fields of `POST /users/{id}/delete`.
#[derive(Deserialize)]
pub struct Delete {
    confirm: String,
}

fn check_confirmation(found: &User, confirm: &str, own: i64) -> Page<()> {
    if found.id == own {
        return Err(Refusal::OwnAccount.into());
    }
    if confirm.trim().eq_ignore_ascii_case(&found.login) {
        return Ok(());
    }
    let login = found.login.clone();
    Err(Mistake::ConfirmLogin { login }.into())
}

/// `POST /users/{id}/delete`.
pub async fn delete(
    Admin { app, own, .. }: Admin,
    Path(id): Path<i64>,
    Form(form): Form<Delete>,
) -> Page {
    let found = find(&app, id).await?;
    check_confirmation(&found, &form.confirm, own)?;
    let mut tx = app.db.begin().await?;
    merge::delete(&mut tx, id, own).await?;
    check_has_admin(&mut tx).await?;
    tx.commit().await?;
    Ok(Redirect::to("/users").into_response())
}

/// The fields of `POST /users/{id}/merge`.
#[derive(Deserialize)]
pub struct Merge {
    into: String,
    confirm: String,
}

/// `POST /users/{id}/merge`.
pub async fn merge(
    Admin { app, own, .. }: Admin,
    Path(id): Path<i64>,
    Form(form): Form<Merge>,
) -> Page {
    find(&app, id).await?;
    let mut tx = app.db.begin().await?;
    let from = user::by_id(&mut tx, id).await?.ok_or(PageError::NotFound)?;
    check_confirmation(&from, &form.confirm, own)?;
    let into = user::by_login(&mut tx, form.into.trim()).await?;
    let into = into.ok_or(Mistake::UnknownUser)?;
    if into.id == from.id {
        return Err(Mistake::SameUser.into());
    }
    merge::merge(&mut tx, &from, &into).await?;
    // The user may have gained rights, which older credentials must not have.
    let kept = Kept {
        identities: true,
        ..Kept::default()
    };
    credential::end(&mut tx, into.id, kept).await?;
    check_has_admin(&mut tx).await?;
    tx.commit().await?;
    app.pending.remove_of(into.id);
    Ok(Redirect::to(&format!("/users/{}", into.id)).into_response())
}

/// `GET /settings`.
pub async fn settings(Admin { app, session, .. }: Admin) -> Page {
    settings_page(&app, &session, None).await
}

async fn settings_page(app: &App, session: &Session, link: Option<&str>) -> Page {
    let sign_up = setting::sign_up(&app.db).await?;
    let main = html! {
        h1 { (t::UsersSignUp) }
        form.fields method="post" {
            (select("sign_up", t::SignUpNewUsers, &SIGN_UPS, sign_up.text()))
            button { (t::Save) }
        }
        @if let Some(link) = link {
            p { (t::SignUpLinkShown) }
            (new_link("sign-up-link", link))
        }
        p.hint { (t::SignUpHint) }
        (super::relax::part(app).await?)
        h2 { (t::Services) }
        (super::oidc::settings_part(app))
    };
    Ok(page(session, t::UsersSignUp, main).into_response())
}

/// The fields of `POST /settings`.
#[derive(Deserialize)]
pub struct Settings {
    sign_up: SignUp,
}

/// `POST /settings`.
pub async fn change_settings(
    Admin { app, session, .. }: Admin,
    Form(form): Form<Settings>,
) -> Page {
    let token = Token::random();
    let digest = match form.sign_up {
        SignUp::Link => hex(&token.digest()),
        SignUp::Open | SignUp::Closed => String::new(),
    };
    let mut tx = app.db.begin().await?;
    session.hold(&mut tx).await?;
    setting::set(&mut tx, setting::SIGN_UP, form.sign_up.text()).await?;
    setting::set(&mut tx, setting::SIGN_UP_LINK, &digest).await?;
    tx.commit().await?;
    let link = (form.sign_up == SignUp::Link).then(|| format!("/sign-up/{}", token.hex()));
    settings_page(&app, &session, link.as_deref()).await
}
