//! Tokens with which programs act as the signed-in user.

use crate::app::App;
use crate::core::account::MAX_NAME;
use crate::core::time::Time;
use crate::core::token::Token;
use crate::db::api_token::{self, Scope};
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::{check_name, select, time};
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::http::web::vocabulary;
use crate::text::t;
use axum::extract::{Form, Path};
use axum::response::{IntoResponse, Redirect};
use maud::{Render, html};
use serde::Deserialize;
use std::time::Duration;

/// The maximum number of tokens of one user.
const MAX_TOKENS: usize = 50;
/// The maximum lifetime of a token, in days.
const MAX_DAYS: u64 = 366;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const SCOPES: [(&str, &dyn Render); 3] = [
    ("submit", &t::ScopeSubmit),
    ("read", &t::ScopeRead),
    ("manage", &t::ScopeManage),
];

/// `GET /account/tokens`.
pub async fn show(Ctx { app, session }: Ctx) -> Page {
    tokens_page(&app, &session, None).await
}

async fn tokens_page(app: &App, session: &Session, made: Option<&str>) -> Page {
    let tokens = api_token::of_user(&app.db, session.user_id()?).await?;
    let main = html! {
        h1 { (t::AccountTokens) }
        @let command = html! { code { "millibox submit" } };
        @let interface = html! { a href="/api" { (t::TokensInterface) } };
        p { (t::TokensLead { command, interface }) }
        @if let Some(made) = made {
            p { (t::TokensNew) }
            pre #token tabindex="0" { "\n" (made) }
        }
        div.scroll { table {
            thead { tr {
                th { (t::Name) } th { (t::TokenScope) } th { (t::TokenMade) }
                th { (t::TokenExpires) } th { (t::TokenLastUsed) }
                th { span.visually-hidden { (t::Actions) } }
            } }
            tbody { @for one in &tokens { tr {
                td { (one.name) }
                td { (vocabulary::scope(one.scope)) }
                td { (time(one.created_at)) }
                td { (time(one.expires_at)) }
                td { @if let Some(at) = one.last_used_at { (time(at)) } @else { (t::TimeNever) } }
                td {
                    form.inline method="post" action={ "/account/tokens/" (one.id) "/delete" } {
                        button { (t::Delete) }
                    }
                }
            } } }
        } }
        @if tokens.is_empty() { p.muted { (t::TokensNone) } }
        h2 { (t::TokensMake) }
        form.fields method="post" {
            label { (t::Name) input name="name" required maxlength=(MAX_NAME); }
            (select("scope", t::TokenScope, &SCOPES, "submit"))
            label { (t::TokenDays)
                input name="days" type="number" min="1" max=(MAX_DAYS) value="90" required; }
            button { (t::TokensMakeButton) }
        }
    };
    Ok(page(session, t::AccountTokens, main).into_response())
}

/// The fields of `POST /account/tokens`.
#[derive(Deserialize)]
pub struct New {
    name: String,
    scope: Scope,
    days: u64,
}

/// `POST /account/tokens`.
pub async fn make(Ctx { app, session }: Ctx, Form(form): Form<New>) -> Page {
    let user = session.user_id()?;
    check_name(&form.name, MAX_NAME)?;
    if !(1..=MAX_DAYS).contains(&form.days) {
        return Err(Mistake::TokenDays { max: MAX_DAYS }.into());
    }
    let token = Token::random();
    let now = Time::now();
    let expires = now.after(DAY * u32::try_from(form.days).unwrap_or(1));
    let mut tx = app.db.begin().await?;
    session.hold(&mut tx).await?;
    if api_token::of_user(&mut tx, user).await?.len() >= MAX_TOKENS {
        return Err(Refusal::TooManyTokens { max: MAX_TOKENS }.into());
    }
    let name = form.name.trim();
    api_token::insert(
        &mut tx,
        token.digest(),
        user,
        name,
        form.scope,
        now,
        expires,
    )
    .await?;
    tx.commit().await?;
    tokens_page(&app, &session, Some(&token.hex())).await
}

/// `POST /account/tokens/{id}/delete`.
pub async fn delete(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let user = session.user_id()?;
    let mut tx = app.db.begin().await?;
    if api_token::delete(&mut tx, id, user).await? == 0 {
        return Err(PageError::NotFound);
    }
    tx.commit().await?;
    Ok(Redirect::to("/account/tokens").into_response())
}
