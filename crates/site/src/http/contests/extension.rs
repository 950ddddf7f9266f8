//! More time for a round that runs, with an announcement.

use super::clarifications::tell;
use super::view::ManagedRound;
use crate::core::extension::can_extend;
use crate::core::time::Time;
use crate::db::clarification::{self, Author, New};
use crate::db::contest::{self, Round};
use crate::db::{audit, ending};
use crate::http::web::context::{Checked, Ctx};
use crate::http::web::error::{Page, PageError};
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::line_time;
use crate::http::web::refusal::Refusal;
use crate::text::{Message, t};
use axum::extract::Form;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};
use serde::Deserialize;
use std::time::Duration;

/// The most minutes by which one request moves an end.
const MAX_MINUTES: i64 = 24 * 60;
/// The maximum length of the reason, in characters.
const MAX_REASON: usize = 500;

/// The form, while the round runs.
pub fn form(round: &Round, now: Time) -> Markup {
    html! {
        @if can_extend(round.begins, round.ends, now) {
            form.inline #more-time method="post" action={ "/rounds/" (round.id) "/extend" } {
                input type="hidden" name="ends" value=(round.ends.0);
                label { (t::ExtendMinutes)
                    input name="more_minutes" type="number" min="1" max=(MAX_MINUTES) required; }
                label { (t::ExtendReason) input name="reason" maxlength=(MAX_REASON); }
                button { (t::ExtendButton) }
            }
            p.hint { (t::ExtendHint) }
        }
    }
}

/// The fields of `POST /rounds/{id}/extend`.
#[derive(Deserialize)]
pub struct Fields {
    more_minutes: i64,
    reason: String,
    /// The end that the form has shown.
    ends: i64,
}

/// `POST /rounds/{id}/extend`.
pub async fn extend(
    Checked(ManagedRound(Ctx { app, session }, view, round), Form(form)): Checked<
        ManagedRound,
        Form<Fields>,
    >,
) -> Page {
    let (id, minutes) = (round.id, form.more_minutes);
    if !(1..=MAX_MINUTES).contains(&minutes) {
        return Err(Mistake::MoreMinutes { max: MAX_MINUTES }.into());
    }
    let reason = form.reason.trim();
    if reason.chars().count() > MAX_REASON {
        return Err(Mistake::TextLength { max: MAX_REASON }.into());
    }
    let staff = session.user_id()?;
    let mut tx = app.db.begin().await?;
    let round = contest::round(&mut tx, id).await?;
    let round = round.ok_or(PageError::NotFound)?;
    // Two members of the staff, or one with two clicks, must not add the time twice.
    if round.ends.0 != form.ends {
        return Err(Refusal::EndChanged.into());
    }
    let now = Time::now();
    if !can_extend(round.begins, round.ends, now) {
        return Err(Refusal::RoundNotRunning.into());
    }
    let by = Duration::from_secs(minutes.unsigned_abs() * 60);
    let to = round.ending().later(by, now);
    ending::set(&mut tx, id, to).await?;
    let notice = t::ExtendNotice {
        round: &round.name,
        minutes,
        time: line_time(to.ends),
    };
    let text = format!("{} {reason}", notice.plain());
    let new = New {
        contest_id: view.contest.id,
        round_problem_id: None,
        author: Author::Staff(staff),
        text: text.trim(),
    };
    let notice = clarification::insert(&mut tx, &new, now).await?;
    audit::explain(format!("+{minutes} min {reason}").trim());
    tx.commit().await?;
    app.live.contest_changed(view.contest.id);
    tell(&app, view.contest.id, notice, None).await?;
    Ok(Redirect::to(&format!("/rounds/{id}")).into_response())
}
