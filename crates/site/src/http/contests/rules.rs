//! The scoring of a round: mode, penalty, freeze, and personal time. Its inputs are a part of the
//! round's form.

use super::submission_rules;
use super::view::{ManagedProblem, ManagedRound};
use crate::app::App;
use crate::core::access::ContestAccess;
use crate::core::time::Time;
use crate::db::contest::{self, Mode, Round, RoundProblem, RoundRules};
use crate::db::{self, Tx};
use crate::http::web::context::{Checked, Ctx};
use crate::http::web::error::{Page, PageError};
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::time;
use crate::http::web::refusal::Refusal;
use crate::http::web::repeated::Repeated;
use crate::http::web::zones::{form_zone, read_edited_time, shown_field, shown_time, time_input};
use crate::text::{self, t};
use axum::extract::Form;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, Render, html};
use serde::Deserialize;

const MODES: [(&str, &dyn Render); 2] =
    [("points", &t::RulesModePoints), ("icpc", &t::RulesModeIcpc)];
/// The largest penalty and the longest personal time, in minutes.
const MAX_MINUTES: i64 = 60 * 24 * 366;

/// The inputs of the scoring in the form of a round, which names the zone of its times.
pub async fn inputs(app: &App, round: &Round, access: ContestAccess) -> Page<Markup> {
    let rules = db::submission_rules::of_round(&app.db, round.id).await?;
    Ok(markup(
        round,
        access,
        submission_rules::inputs(&rules, &app.languages, false),
    ))
}

fn markup(round: &Round, access: ContestAccess, submissions: Markup) -> Markup {
    let window = round.window_seconds.map(|seconds| seconds / 60);
    // A freeze is common in ICPC mode, and also possible in the other mode.
    let is_frozen = (round.freeze_at, round.thaw_at) != (Time::NEVER, Time::NEVER);
    let has_freeze = round.mode == Mode::Icpc || is_frozen;
    let zone = text::zone();
    let field = |name: &str, label: &dyn Render, value: Time| {
        html! {
            (time_input(&zone, (name, label), Some(value), !access.own, html! {}))
            (shown_field(name, value))
        }
    };
    html! {
        h3 #rules { (t::RulesTitle) }
        fieldset {
            legend { (t::RulesMode) }
            @for (mode, words) in MODES {
                label.check {
                    input type="radio" name="mode" value=(mode)
                        checked[mode == round.mode.text()];
                    (words)
                }
            }
        }
        // Without `required`: browsers would not send a form whose empty field is hidden.
        label.icpc { (t::RulesPenalty)
            input name="penalty_minutes" type="number" min="0" value=(round.penalty_minutes); }
        details #freeze open[has_freeze] {
            summary { (t::RulesFreezeTitle) }
            div.pair {
                (field("freeze_at", &t::RulesFreeze, round.freeze_at))
                (field("thaw_at", &t::RulesThaw, round.thaw_at))
            }
        }
        details #window open[window.is_some()] {
            summary { (t::RulesWindowTitle) }
            label { (t::RulesWindow)
                input name="window_minutes" type="number" min="1" value=[window]; }
            p.hint { (t::RulesWindowHint) }
        }
        (submissions)
    }
}

/// The freeze that hides results now, and the button that ends it.
pub fn thaw_form(round: &Round, access: ContestAccess) -> Markup {
    html! {
        @if round.freeze().is_on(Time::now()) {
            p { (t::RulesFrozenSince { time: time(round.freeze_at) }) }
            @if access.own {
                form method="post" action={ "/rounds/" (round.id) "/thaw" } {
                    button { (t::RulesThawNow) }
                }
            }
        }
    }
}

/// Stores the inputs. `round` has the times of the same form. A form without the inputs changes
/// nothing.
pub async fn set(
    tx: &mut Tx,
    app: &App,
    form: &Repeated,
    round: &Round,
    access: ContestAccess,
) -> Page<()> {
    if form.get("mode").is_some() {
        let rules = read(form, round, access)?;
        contest::update_rules(tx, round.id, &rules).await?;
    }
    if let Some(rules) = submission_rules::read(form, &app.languages)? {
        db::submission_rules::set_of_round(tx, round.id, &rules).await?;
    }
    Ok(())
}

/// Checks that a round has the times that its mode and a personal time need.
pub fn check_times(mode: Mode, window_seconds: Option<i64>, round: &Round) -> Page<()> {
    if mode == Mode::Icpc && round.begins == Time::ALWAYS {
        return Err(Mistake::IcpcNeedsBegin.into());
    }
    if window_seconds.is_some() && round.ends == Time::NEVER {
        return Err(Mistake::PersonalTimeNeedsEnd.into());
    }
    Ok(())
}

fn read(form: &Repeated, round: &Round, access: ContestAccess) -> Page<RoundRules> {
    let zone = form_zone(form.text("zone"))?;
    // An empty field ends the freeze, so a missing one is an error.
    let time = |name: &'static str, stored: Time| -> Page<Time> {
        let (field, shown) = ((name, form.required(name)?), shown_time(form, name));
        Ok(read_edited_time(&zone, field, shown, stored, Time::NEVER)?)
    };
    let window_seconds = match form.required("window_minutes")?.trim() {
        "" => None,
        text => match text.parse::<i64>() {
            Ok(minutes) if (1..=MAX_MINUTES).contains(&minutes) => Some(minutes * 60),
            _ => return Err(Mistake::PersonalTime.into()),
        },
    };
    let penalty = form.text("penalty_minutes").trim().parse();
    let penalty = penalty
        .ok()
        .filter(|minutes| (0..=MAX_MINUTES).contains(minutes));
    let mode = Mode::of_text(form.text("mode")).ok_or(PageError::Malformed)?;
    let rules = RoundRules {
        mode,
        penalty_minutes: match mode {
            Mode::Icpc => penalty.ok_or(Mistake::Penalty)?,
            // The form hides the field.
            Mode::Points => round.penalty_minutes,
        },
        freeze_at: time("freeze_at", round.freeze_at)?,
        thaw_at: time("thaw_at", round.thaw_at)?,
        window_seconds,
    };
    check_times(rules.mode, rules.window_seconds, round)?;
    if rules.freeze_at != Time::NEVER && rules.thaw_at < rules.freeze_at {
        return Err(Mistake::ThawOrder.into());
    }
    let is_changed = (rules.freeze_at, rules.thaw_at) != (round.freeze_at, round.thaw_at);
    if is_changed && !access.own {
        return Err(Refusal::FreezeOwner.into());
    }
    Ok(rules)
}

/// `POST /rounds/{id}/thaw`.
pub async fn thaw(ManagedRound(Ctx { app, .. }, view, round): ManagedRound) -> Page {
    let id = round.id;
    if !view.access.own {
        return Err(Refusal::ThawOwner.into());
    }
    let mut tx = app.db.begin().await?;
    contest::set_thaw(&mut tx, id, Time::now()).await?;
    tx.commit().await?;
    app.live.contest_changed(view.contest.id);
    Ok(Redirect::to(&format!("/rounds/{id}")).into_response())
}

/// The form for the colour of a problem.
pub fn colour_form(problem: &RoundProblem) -> Markup {
    // A field for a colour is never empty.
    let shown = match problem.colour.as_str() {
        "" => "#e11d48",
        colour => colour,
    };
    html! {
        form.fields method="post" action={ "/round-problems/" (problem.id) "/colour" } {
            label { (t::RulesColour)
                input type="color" name="colour"
                    value=(shown); }
            label.check {
                input type="checkbox" name="no_colour" value="1"
                    checked[problem.colour.is_empty()];
                (t::RulesColourNone)
            }
            button { (t::RulesColourSave) }
        }
    }
}

/// The fields of `POST /round-problems/{id}/colour`.
#[derive(Deserialize)]
pub struct Colour {
    colour: String,
    /// Set if the problem has no colour.
    no_colour: Option<String>,
}

/// `POST /round-problems/{id}/colour`.
pub async fn set_colour(
    Checked(ManagedProblem(app, problem), Form(form)): Checked<ManagedProblem, Form<Colour>>,
) -> Page {
    let id = problem.id;
    let colour = match form.no_colour {
        Some(_) => "",
        None => form.colour.trim(),
    };
    let digits = colour.strip_prefix('#').unwrap_or_default();
    let is_colour = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !colour.is_empty() && !is_colour {
        return Err(Mistake::Colour.into());
    }
    let mut tx = app.db.begin().await?;
    contest::set_colour(&mut tx, id, colour).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/round-problems/{id}")).into_response())
}
