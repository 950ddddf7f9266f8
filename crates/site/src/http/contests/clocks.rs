//! The times of a round as a participant sees them, and the clock that a participant starts.

use super::view::ContestView;
use crate::core::participant::OwnTimes;
use crate::core::time::Time;
use crate::db::contest::{self, MemberRole, Round};
use crate::db::participant;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::parts::time;
use crate::http::web::refusal::Refusal;
use crate::text::t;
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, Render, html};

/// The times of a round.
pub fn facts(round: &Round, times: &OwnTimes) -> Markup {
    html! {
        dl.facts {
            @if let Some(until) = times.starts_until {
                dt { (t::RoundStartBetween) }
                dd { (t::RoundAnd { from: time(times.opens), until: time(until) }) }
            } @else {
                dt { (t::RoundBegins) } dd { (time(times.begins)) }
                dt { (t::RoundEnds) } dd { (time(times.ends)) }
            }
            dt { (t::RoundFullResults) } dd { (time(times.full_results)) }
            @if round.freeze_at != Time::NEVER {
                dt { (t::RoundFrozen) }
                @let from = time(round.freeze_at);
                dd { @if round.thaw_at == Time::NEVER { (t::RoundFrozenFrom { from }) } @else {
                    (t::RoundFrozenTo { from, until: time(round.thaw_at) })
                } }
            }
        }
    }
}

/// A duration such as `2 h 30 min`.
pub fn duration(seconds: i64) -> Markup {
    let (hours, minutes) = (seconds / 3600, seconds % 3600 / 60);
    match (hours, minutes) {
        (0, 0) => t::DurationSeconds { seconds }.render(),
        (0, minutes) => t::DurationMinutes { minutes }.render(),
        (hours, 0) => t::DurationHours { hours }.render(),
        (hours, minutes) => t::DurationHoursMinutes { hours, minutes }.render(),
    }
}

/// The button that starts the clock, if there is one to start.
pub fn start_form(round: &Round, times: &OwnTimes, now: Time) -> Markup {
    let can_start = times.starts_until.is_some_and(|until| now < until);
    html! {
        @if can_start && times.opens <= now && let Some(window) = round.window_seconds {
            form.inline method="post" action={ "/rounds/" (round.id) "/start" } {
                button { (t::RoundStartClock { duration: duration(window) }) }
            }
            p.hint { (t::RoundStartHint) }
        }
    }
}

/// `POST /rounds/{id}/start`.
pub async fn start(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let round = contest::round(&app.db, id).await?;
    let round = round.ok_or(PageError::NotFound)?;
    let view = ContestView::of(&app, &session, round.contest_id).await?;
    let now = Time::now();
    let times = view.times(id, round.schedule());
    if !view.access.sees_round(times.opens, now) {
        return Err(PageError::NotFound);
    }
    let user = session.user_id()?;
    if times.starts_until.is_some_and(|until| until <= now) {
        return Err(Refusal::RoundOver.into());
    }
    if times.starts_until.is_some() {
        let mut tx = app.db.begin().await?;
        if !view.access.manage {
            contest::join(&mut tx, round.contest_id, user, MemberRole::Contestant, now).await?;
        }
        let is_staff = view.access.manage;
        let one = participant::ensure(&mut tx, round.contest_id, user, is_staff).await?;
        participant::start(&mut tx, one.id, id, now).await?;
        tx.commit().await?;
    }
    Ok(Redirect::to(&format!("/contests/{}", round.contest_id)).into_response())
}
