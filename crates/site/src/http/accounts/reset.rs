//! Links with which users choose new passwords.

use super::sign_in::{KeptFields, enter_with_new, kept_inputs};
use crate::app::App;
use crate::core::account;
use crate::core::back::Back;
use crate::core::party::Party;
use crate::core::password::Asker;
use crate::core::time::Time;
use crate::core::token::Token;
use crate::db::password;
use crate::db::user::User;
use crate::db::{Executor, reset, totp};
use crate::http::web::client::Client;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::parts::password_input;
use crate::text::t;
use axum::extract::{Form, Path, State};
use axum::response::{IntoResponse, Redirect};
use maud::html;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;

/// How long a link is valid.
pub const LINK_LASTS: Duration = Duration::from_secs(24 * 60 * 60);

fn digest(token: &str) -> Page<[u8; 32]> {
    let token = Token::of_hex(token).ok_or(PageError::NotFound)?;
    Ok(token.digest())
}

async fn user_of_link(db: impl Executor, token: &str) -> Page<User> {
    let found = reset::user(db, digest(token)?, Time::now()).await?;
    found.ok_or(PageError::NotFound)
}

/// `GET /reset/{token}`.
pub async fn form(Ctx { app, session }: Ctx, Path(token): Path<String>) -> Page {
    let user = user_of_link(&app.db, &token).await?;
    let main = html! {
        h1 { (t::ResetTitle) }
        p { (t::ResetForLogin { login: html! { strong { (user.login) } } }) }
        form.fields method="post" {
            input type="hidden" name="login" value=(user.login) autocomplete="username";
            (password_input(t::PasswordNext, "new", "new-password"))
            (kept_inputs(&app.db, user.id).await?)
            button { (t::ResetSet) }
        }
        p.hint { (t::ResetSessionsEnd) }
    };
    Ok(page(&session, t::ResetPage, main).into_response())
}

/// The fields of `POST /reset/{token}`.
#[derive(Deserialize)]
pub struct Chosen {
    new: String,
    #[serde(flatten)]
    kept: KeptFields,
}

/// `POST /reset/{token}`.
pub async fn choose(
    State(app): State<Arc<App>>,
    client: Client,
    Path(token): Path<String>,
    Form(form): Form<Chosen>,
) -> Page {
    user_of_link(&app.db, &token).await?;
    account::check_password(&form.new)?;
    let asker = Asker {
        party: Party::Network(client.customer()),
        login: token.clone(),
    };
    let hash = app.passwords.hash(asker, &form.new).await?;
    let mut tx = app.db.begin().await?;
    let user = reset::take(&mut tx, digest(&token)?, Time::now()).await?;
    let user = user.ok_or(PageError::NotFound)?;
    password::set(&mut tx, user, &hash, None, form.kept.read()).await?;
    reset::delete_expired(&mut tx, Time::now()).await?;
    tx.commit().await?;
    app.pending.remove_of(user);
    let generator = totp::of_user(&app.db, user).await?;
    if generator.is_some_and(|found| found.confirmed().is_some()) {
        // The link replaces only the password, not the one-time password.
        return Ok(Redirect::to("/sign-in").into_response());
    }
    enter_with_new(&app, &client, user, hash, false, &Back::default()).await
}
