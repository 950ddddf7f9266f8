//! One-time passwords of the signed-in user, and the second step of signing in.

use super::sign_in::check_password;
use crate::app::App;
use crate::core::time::Time;
use crate::core::totp as rules;
use crate::db::{audit, credential, reset, session as sessions, totp, user};
use crate::http::web::client::Client;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::password_input;
use crate::http::web::refusal::Refusal;
use crate::http::web::session::{self, Session};
use crate::text::t;
use axum::extract::{Form, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Instant;

fn code_input() -> Markup {
    html! {
        label { (t::TotpCode)
            input name="code" autocomplete="one-time-code" required maxlength="32"; }
    }
}

/// `GET /account/totp`.
pub async fn show(Ctx { app, session }: Ctx) -> Page {
    let id = session.user_id()?;
    let generator = totp::of_user(&app.db, id).await?;
    let is_on = generator.is_some_and(|found| found.confirmed().is_some());
    let left = totp::codes_left(&app.db, id).await?;
    let main = html! {
        h1 { (t::AccountTotp) }
        @if is_on {
            p { (t::TotpIsOn { left }) }
            form.fields method="post" action="/account/totp/off" {
                (password_input(t::Password, "password", "current-password"))
                (code_input())
                button { (t::TotpOff) }
            }
        } @else {
            p { (t::TotpLead) }
            form.fields method="post" action="/account/totp/new" {
                (password_input(t::Password, "password", "current-password"))
                button { (t::TotpSetUp) }
            }
        }
    };
    Ok(page(&session, t::AccountTotp, main).into_response())
}

/// The fields of `POST /account/totp/new`.
#[derive(Deserialize)]
pub struct Password {
    password: String,
}

/// `POST /account/totp/new`: shows a new secret.
pub async fn propose(Ctx { app, session }: Ctx, Form(form): Form<Password>) -> Page {
    let user = check_password(&app, &session, &form.password).await?;
    let secret = rules::new_secret();
    let mut tx = app.db.begin().await?;
    let found = totp::of_user(&mut tx, user.id).await?;
    if found.is_some_and(|found| found.confirmed().is_some()) {
        return Err(Refusal::TotpOn.into());
    }
    totp::propose(&mut tx, user.id, &secret).await?;
    tx.commit().await?;
    let address = rules::address(&secret, &user.login);
    let main = html! {
        h1 { (t::AccountTotp) }
        p { (t::TotpRead) }
        @if let Some((path, width)) = rules::qr_path(&address) {
            svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label=(t::TotpQr)
                width="240" height="240" viewBox={ "0 0 " (width) " " (width) } {
                rect width=(width) height=(width) fill="white" {}
                path d=(path) fill="black" {}
            }
        }
        pre #secret tabindex="0" { "\n" (rules::text(&secret)) }
        form.fields method="post" action="/account/totp/confirm" {
            label { (t::TotpShownCode)
                input name="code" autocomplete="one-time-code" inputmode="numeric" required; }
            button { (t::TotpConfirm) }
        }
    };
    Ok(page(&session, t::AccountTotp, main).into_response())
}

/// The fields of forms with a code.
#[derive(Deserialize)]
pub struct Code {
    code: String,
}

/// Counts a code of a user as wrong before it is checked, so that more of them at the same moment
/// are refused, too.
fn admit_code(app: &App, user: i64) -> Page<()> {
    let admitted = app.limits.failures_of_code.admit(user, Instant::now());
    admitted.map_err(PageError::TooOften)
}

/// `POST /account/totp/confirm`: shows recovery codes.
pub async fn confirm(Ctx { app, session }: Ctx, Form(form): Form<Code>) -> Page {
    let id = session.user_id()?;
    admit_code(&app, id)?;
    let mut tx = app.db.begin().await?;
    let generator = totp::of_user(&mut tx, id).await?;
    let secret = generator
        .filter(|found| found.confirmed().is_none())
        .and_then(|found| found.totp_secret);
    let secret = secret.ok_or(Refusal::TotpMissing)?;
    let now = Time::now();
    let period = rules::period(&secret, &form.code, None, now);
    let period = period.ok_or(Mistake::WrongCode)?;
    app.limits.failures_of_code.forget(&id);
    let codes = rules::recovery_codes();
    totp::confirm(&mut tx, id, period, &codes, now).await?;
    session.hold(&mut tx).await?;
    if let Some(own) = session.digest() {
        sessions::delete_others(&mut tx, id, own).await?;
    }
    tx.commit().await?;
    let main = html! {
        h1 { (t::TotpNowOn) }
        p { (t::TotpKeep) }
        pre #recovery-codes tabindex="0" { "\n" (codes.join("\n")) }
        p { a href="/account" { (t::TotpGoToAccount) } }
    };
    Ok(page(&session, t::AccountTotp, main).into_response())
}

/// The fields of `POST /account/totp/off`.
#[derive(Deserialize)]
pub struct Off {
    password: String,
    code: String,
}

/// `POST /account/totp/off`.
pub async fn turn_off(Ctx { app, session }: Ctx, Form(form): Form<Off>) -> Page {
    let user = check_password(&app, &session, &form.password).await?;
    admit_code(&app, user.id)?;
    let mut tx = app.db.begin().await?;
    if !totp::accept(&mut tx, user.id, &form.code, Time::now()).await? {
        return Err(Mistake::WrongCode.into());
    }
    app.limits.failures_of_code.forget(&user.id);
    totp::remove(&mut tx, user.id).await?;
    tx.commit().await?;
    Ok(Redirect::to("/account/totp").into_response())
}

/// `GET /sign-in/code`.
pub async fn code_form(session: Session) -> Response {
    let main = html! {
        h1 { (t::SignIn) }
        form.fields method="post" { (code_input()) button { (t::SignIn) } }
    };
    page(&session, t::SignIn, main).into_response()
}

/// `POST /sign-in/code`.
pub async fn sign_in(
    State(app): State<Arc<App>>,
    client: Client,
    headers: HeaderMap,
    Form(form): Form<Code>,
) -> Page {
    let token = session::pending_token(&app, &headers).ok_or(PageError::SignIn)?;
    let pending = app.pending.get(&token, Instant::now());
    let pending = pending.ok_or(PageError::SignIn)?;
    let found = user::by_id(&app.db, pending.user).await?;
    let user = found.filter(|user| user.disabled_at.is_none());
    let user = user.ok_or(PageError::SignIn)?;
    audit::act_as(user.id, &user.login);
    admit_code(&app, user.id)?;
    let mut tx = app.db.begin().await?;
    if !credential::holds(&mut tx, user.id, &pending.proof, true).await? {
        return Err(PageError::SignIn);
    }
    if !totp::accept(&mut tx, user.id, &form.code, Time::now()).await? {
        return Err(Mistake::WrongCode.into());
    }
    reset::delete_expired(&mut tx, Time::now()).await?;
    tx.commit().await?;
    app.pending.take(&token, Instant::now());
    app.limits.failures_of_code.forget(&user.id);
    let entry = session::Entry {
        user: user.id,
        proof: &pending.proof,
        has_code: true,
        lasts: session::lasts(pending.keep),
        back: &pending.back,
    };
    session::begin(&app, &client, entry).await
}
