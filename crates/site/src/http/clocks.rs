//! The times of a round as a participant sees them, and the clock that a participant starts.

use super::contests::Scene;
use super::error::{Page, PageError};
use super::parts::time;
use super::session::Session;
use crate::app::App;
use crate::core::participant::OwnTimes;
use crate::core::time::Time;
use crate::db::contest::{self, MemberRole, Round};
use crate::db::participant;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};
use std::sync::Arc;

/// The times of a round.
pub fn facts(round: &Round, times: &OwnTimes) -> Markup {
    html! {
        dl.facts {
            @if let Some(until) = times.starts_until {
                dt { "Start between" } dd { (time(times.opens)) " and " (time(until)) }
            } @else {
                dt { "Begins" } dd { (time(times.begins)) }
                dt { "Ends" } dd { (time(times.ends)) }
            }
            dt { "Full results" } dd { (time(times.full_results)) }
            @if round.freeze_at != Time::NEVER {
                dt { "Ranking frozen" }
                dd { "from " (time(round.freeze_at)) @if round.thaw_at != Time::NEVER {
                    " to " (time(round.thaw_at))
                } }
            }
        }
    }
}

/// A duration such as `2 h 30 min`.
pub fn duration(seconds: i64) -> String {
    let (hours, minutes) = (seconds / 3600, seconds % 3600 / 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// The button that starts the clock, if there is one to start.
pub fn start_form(round: &Round, times: &OwnTimes, now: Time) -> Markup {
    let can_start = times.starts_until.is_some_and(|until| now < until);
    html! {
        @if can_start && times.opens <= now && let Some(window) = round.window_seconds {
            form.inline method="post" action={ "/rounds/" (round.id) "/start" } {
                button { "Start the clock (" (duration(window)) ")" }
            }
            p.hint { "You see the problems when your clock runs. It cannot be stopped." }
        }
    }
}

/// `POST /rounds/{id}/start`.
pub async fn start(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    let round = contest::round(&app.db, id).await?;
    let round = round.ok_or(PageError::NotFound)?;
    let scene = Scene::of(&app, &session, round.contest_id).await?;
    let now = Time::now();
    let times = scene.times(id, round.schedule());
    if !scene.access.sees_round(times.opens, now) {
        return Err(PageError::NotFound);
    }
    let user = session.user_id()?;
    if times.starts_until.is_some_and(|until| until <= now) {
        return Err(PageError::Refused("This round is over."));
    }
    if times.starts_until.is_some() {
        let mut tx = app.db.begin().await?;
        if !scene.access.manage {
            contest::join(&mut tx, round.contest_id, user, MemberRole::Contestant, now).await?;
        }
        let is_staff = scene.access.manage;
        let one = participant::ensure(&mut tx, round.contest_id, user, is_staff).await?;
        participant::start(&mut tx, one.id, id, now).await?;
        tx.commit().await?;
    }
    Ok(Redirect::to(&format!("/contests/{}", round.contest_id)).into_response())
}
