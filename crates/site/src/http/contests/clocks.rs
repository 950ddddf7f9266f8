//! The times of a round as a participant sees them, and the clock that a participant starts.

use super::view::{ContestView, check_user};
use crate::core::participant::OwnTimes;
use crate::core::time::Time;
use crate::db::contest::{self, MemberRole, Round};
use crate::db::participant;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::parts::{countdown, round_state, time};
use crate::http::web::refusal::Refusal;
use crate::text::t;
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, Render, html};
use std::time::Duration;

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
            dt { (t::RoundFullResults) }
            dd { @if times.full_results == Time::NEVER && round.freeze_at != Time::NEVER {
                (t::RoundFullResultsThaw)
            } @else { (time(times.full_results)) } }
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

/// The state of a round for the viewer. Before the viewer starts the clock of a round, the time
/// until which this is possible counts, and not the time at which the problems are shown to all.
pub fn state(view: &ContestView, times: &OwnTimes, now: Time) -> Markup {
    match times.starts_until {
        Some(until) if times.opens <= now && now < until => html! {
            p.state {
                @if view.access.manage {
                    span.chip.good { (t::RoundRunning) }
                    span { (t::RoundEndsIn { time: countdown(until, now) }) }
                } @else if view.access.take_part {
                    span.chip { (t::RoundClockNotStarted) }
                    span {
                        (t::RoundStartUntil { time: time(until), left: countdown(until, now) })
                    }
                } @else {
                    span.chip.good { (t::RoundRunning) }
                    span { (t::RoundShownIn { time: countdown(until, now) }) }
                }
            }
        },
        Some(until) if view.access.manage => round_state(times.opens, until, now),
        _ => round_state(times.begins, times.ends, now),
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
pub fn start_form(view: &ContestView, round: &Round, times: &OwnTimes, now: Time) -> Markup {
    let allowance = round.schedule().allowance(view.personal(round.id), now);
    let words = |time: Duration| duration(i64::try_from(time.as_secs()).unwrap_or(i64::MAX));
    html! {
        @if let Some(found) = allowance && times.opens <= now {
            form.inline method="post" action={ "/rounds/" (round.id) "/start" } {
                button { (t::RoundStartClock { duration: words(found.left) }) }
            }
            p.hint {
                @if found.left < found.full {
                    (t::RoundStartLate { left: words(found.left), full: words(found.full) })
                } @else {
                    (t::RoundStartEarly {
                        full: words(found.full),
                        until: time(found.full_until),
                    })
                }
                " " (t::RoundStartHint)
            }
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
            check_user(&mut tx, round.contest_id, user).await?;
            contest::join(&mut tx, round.contest_id, user, MemberRole::Contestant, now).await?;
        }
        let is_staff = view.access.manage;
        let one = participant::ensure(&mut tx, round.contest_id, user, is_staff).await?;
        participant::start(&mut tx, one.id, id, now).await?;
        tx.commit().await?;
        // Other pages of the participant and of the team.
        app.live.contest_changed(round.contest_id);
    }
    Ok(Redirect::to(&format!("/contests/{}", round.contest_id)).into_response())
}
