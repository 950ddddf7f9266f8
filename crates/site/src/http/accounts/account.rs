//! The account of the signed-in user: name, e-mail address, time zone and sessions.

use crate::core::account::{self, MAX_NAME};
use crate::core::time::Time;
use crate::core::zone::Zone;
use crate::db::{session, user};
use crate::http::contests::news;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::parts::time;
use crate::http::web::zones::{read_choice, zone_choice};
use crate::text::t;
use axum::extract::Form;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};
use serde::Deserialize;

/// The inputs of name and e-mail address.
pub fn profile_inputs(name: &str, email: Option<&str>) -> Markup {
    html! {
        label { (t::PersonName)
            input name="name" value=(name) autocomplete="name" required maxlength=(MAX_NAME); }
        label { (t::AccountEmail)
            input name="email" type="email" autocomplete="email" value=[email]; }
    }
}

/// The fields of a profile.
#[derive(Deserialize)]
pub struct Profile {
    name: String,
    #[serde(default)]
    email: String,
    /// The name of the time zone; empty for that of the contest or the site. Only users change it,
    /// and it is not changed if it is absent.
    time_zone: Option<String>,
}

impl Profile {
    /// The checked name and e-mail address.
    ///
    /// # Errors
    /// A field is not accepted.
    pub fn read(&self) -> Page<(&str, Option<&str>)> {
        account::check_name(&self.name)?;
        let email = self.email.trim();
        if email.is_empty() {
            return Ok((self.name.trim(), None));
        }
        account::check_email(email)?;
        Ok((self.name.trim(), Some(email)))
    }
}

/// `GET /account`.
pub async fn show(Ctx { app, session }: Ctx) -> Page {
    let user = session.user.as_ref().ok_or(PageError::SignIn)?;
    let sessions = session::of_user(&app.db, user.id, Time::now()).await?;
    let own = session.digest();
    let is_own = |hash: &[u8]| own.is_some_and(|own| own == hash);
    let main = html! {
        h1 { (t::AccountTitle) }
        (news::banner(&app, &session).await?)
        p { (t::AccountLogin { login: html! { strong { (user.login) } } }) }
        p.actions {
            a href="/password" { (t::PasswordChange) }
            a href="/account/totp" { (t::AccountTotp) }
            a href="/account/tokens" { (t::AccountTokens) }
        }
        form.fields method="post" {
            (profile_inputs(&user.name, user.email.as_deref()))
            (zone_choice(t::TimeZoneOfPage, user.time_zone.as_deref()))
            p.hint { (t::AccountTimeZoneHint) }
            button { (t::Save) }
        }
        h2 { (t::AccountSessions) }
        div.scroll { table {
            thead { tr {
                th { (t::SessionBegun) } th { (t::SessionEnds) } th { (t::SessionAddress) }
                th { (t::SessionBrowser) }
                th { span.visually-hidden { (t::Actions) } }
            } }
            tbody { @for one in &sessions { tr {
                td { (time(one.created_at)) }
                td { (time(one.expires_at)) }
                td { (one.address.as_deref().unwrap_or_default()) }
                td.wide translate="no" { (one.agent.as_deref().unwrap_or_default()) }
                td { @if is_own(&one.hash) { (t::SessionThis) } }
            } } }
        } }
        form.actions method="post" action="/account/sessions/end" {
            button { (t::SessionsEnd) }
        }
        (super::oidc::account_part(&app, user.id).await?)
    };
    Ok(page(&session, t::AccountTitle, main).into_response())
}

/// `POST /account`.
pub async fn change(Ctx { app, session }: Ctx, Form(form): Form<Profile>) -> Page {
    let id = session.user_id()?;
    let (name, email) = form.read()?;
    let zone = form.time_zone.as_deref().map(read_choice).transpose()?;
    let mut tx = app.db.begin().await?;
    user::set_profile(&mut tx, id, name, email).await?;
    if let Some(zone) = zone {
        user::set_time_zone(&mut tx, id, zone.as_ref().map(Zone::name)).await?;
    }
    tx.commit().await?;
    Ok(Redirect::to("/account").into_response())
}

/// `POST /account/sessions/end`.
pub async fn end_sessions(Ctx { app, session }: Ctx) -> Page {
    let id = session.user_id()?;
    let own = session.digest().ok_or(PageError::SignIn)?;
    let mut tx = app.db.begin().await?;
    session::delete_others(&mut tx, id, own).await?;
    tx.commit().await?;
    Ok(Redirect::to("/account").into_response())
}
