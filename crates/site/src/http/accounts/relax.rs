//! The time until which wrong passwords lock no login, for rounds of schools that share an address.

use crate::app::App;
use crate::core::time::Time;
use crate::db::{Db, setting};
use crate::http::web::context::Admin;
use crate::http::web::error::Page;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::time;
use crate::text::t;
use axum::extract::Form;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};
use serde::Deserialize;
use std::time::Duration;

/// The maximum number of hours, because an administrator may forget the setting.
const MAX_HOURS: u64 = 24;

/// The end of the time, if it is not over.
async fn end(db: &Db, now: Time) -> Page<Option<Time>> {
    let stored = setting::get(db, setting::RELAXED_UNTIL).await?;
    let end = stored.and_then(|text| text.parse().ok()).map(Time);
    Ok(end.filter(|end| now < *end))
}

/// Whether wrong passwords lock no login now.
pub async fn is_relaxed(app: &App) -> Page<bool> {
    Ok(end(&app.db, Time::now()).await?.is_some())
}

/// The part of the settings.
pub async fn part(app: &App) -> Page<Markup> {
    let end = end(&app.db, Time::now()).await?;
    Ok(html! {
        h2 { (t::RelaxTitle) }
        @if let Some(end) = end { p #relaxed { (t::RelaxUntil { time: time(end) }) } }
        form.fields method="post" action="/settings/relax" {
            label { (t::RelaxHours) input name="hours" type="number" required
                min="0" max=(MAX_HOURS) value="0"; }
            button { (t::Save) }
        }
        p.hint { (t::RelaxHint) }
    })
}

/// The fields of `POST /settings/relax`.
#[derive(Deserialize)]
pub struct Relax {
    hours: String,
}

/// `POST /settings/relax`.
pub async fn change(Admin { app, .. }: Admin, Form(form): Form<Relax>) -> Page {
    let hours: Option<u64> = form.hours.trim().parse().ok();
    let hours = hours.filter(|hours| *hours <= MAX_HOURS);
    let hours = hours.ok_or(Mistake::RelaxHours { max: MAX_HOURS })?;
    let end = Time::now().after(Duration::from_secs(hours * 60 * 60));
    let mut tx = app.db.begin().await?;
    setting::set(&mut tx, setting::RELAXED_UNTIL, &end.0.to_string()).await?;
    tx.commit().await?;
    Ok(Redirect::to("/settings").into_response())
}
