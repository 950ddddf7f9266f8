//! Balloons for solved problems, for the staff.

use super::view::{ContestView, Managed};
use crate::app::App;
use crate::core::balloons::{Balloon, balloons};
use crate::core::party::Party;
use crate::core::time::Time;
use crate::db::balloon;
use crate::db::commits;
use crate::http::web::context::{Checked, Ctx};
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::live_page;
use crate::http::web::parts::{empty, time};
use crate::text::t;
use axum::extract::Form;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};
use serde::Deserialize;

/// The balloons that the list shows now.
pub async fn listed(app: &App, party: Party, view: &ContestView) -> Page<Vec<Balloon>> {
    let commits = *commits().borrow();
    let delivered = balloon::delivered(&app.db, view.contest.id).await?;
    let data = app.rankings.data(&app.db, view.contest.id, commits);
    let data = data.await?;
    let in_freeze = view.contest.balloons_in_freeze;
    let work = move || balloons(&data, delivered, in_freeze, Time::now());
    Ok(app.limits.rendering.run(party, work).await?)
}

/// `GET /contests/{id}/balloons`.
pub async fn list(Managed(Ctx { app, session }, view): Managed) -> Page {
    let id = view.contest.id;
    let rows = listed(&app, session.party(), &view).await?;
    let in_freeze = view.contest.balloons_in_freeze;
    let main = html! {
        (view.top(&session, Some(&t::Balloons)))
        h2 { (t::Balloons) }
        div data-live {
            @if rows.is_empty() { (empty(t::BalloonsEmpty, None)) }
            @else { (table(id, &rows)) }
        }
        form.fields method="post" action={ "/contests/" (id) "/balloons/freeze" } {
            label.check {
                input type="checkbox" name="in_freeze" value="1" checked[in_freeze];
                (t::BalloonsInFreeze)
            }
            button { (t::Save) }
        }
    };
    let source = format!("/contests/{id}/live");
    Ok(live_page(&session, t::Balloons, &source, main).into_response())
}

fn table(id: i64, rows: &[Balloon]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th { (t::Problem) } th { (t::Participant) } th { (t::ParticipantGroup) }
                th { (t::BalloonSubmitted) } th { (t::BalloonDelivered) }
            } }
            tbody { @for one in rows {
                tr.ignored[one.solved.is_some() && one.delivered.is_some()] {
                    td {
                        b { (one.label) } " " (one.problem)
                        @if !one.colour.is_empty() { " (" (one.colour) ")" }
                        @if one.solved.is_some_and(|solved| solved.is_first) {
                            " " span.chip.good { (t::BalloonFirst) }
                        }
                    }
                    td { (one.name) }
                    td { (one.group) }
                    td {
                        @match one.solved {
                            Some(solved) => a href={ "/submissions/" (solved.submission) } {
                                (time(solved.submitted_at))
                            },
                            None => span.chip.bad { (t::BalloonUnsolved) },
                        }
                    }
                    td { (delivery(id, one)) }
                }
            } }
        } }
    }
}

/// When a balloon was delivered, and the button that changes it.
fn delivery(id: i64, one: &Balloon) -> Markup {
    let label = format!("{} {}", one.label, one.name);
    html! {
        form.inline method="post" action={ "/contests/" (id) "/balloons" } {
            input type="hidden" name="problem" value=(one.round_problem);
            input type="hidden" name="participant" value=(one.participant);
            @match &one.delivered {
                Some(found) => {
                    (time(found.delivered_at)) " (" (found.login) ")"
                    button name="undo" value="1" {
                        (t::BalloonUndo) span.visually-hidden { " " (label) }
                    }
                }
                None => button {
                    (t::BalloonDeliver) span.visually-hidden { " " (label) }
                },
            }
        }
    }
}

/// The fields of `POST /contests/{id}/balloons`.
#[derive(Deserialize)]
pub struct Delivery {
    problem: i64,
    participant: i64,
    #[serde(default)]
    undo: String,
}

/// `POST /contests/{id}/balloons`: records that a balloon was delivered, or that it was not.
pub async fn deliver(
    Checked(Managed(Ctx { app, session }, view), Form(form)): Checked<Managed, Form<Delivery>>,
) -> Page {
    let id = view.contest.id;
    let user = session.user_id()?;
    let rows = listed(&app, session.party(), &view).await?;
    let is_this =
        |one: &Balloon| (one.round_problem, one.participant) == (form.problem, form.participant);
    if !rows.iter().any(is_this) {
        return Err(PageError::NotFound);
    }
    let mut tx = app.db.begin().await?;
    if form.undo.is_empty() {
        balloon::deliver(&mut tx, form.problem, form.participant, user, Time::now()).await?;
    } else {
        balloon::take_back(&mut tx, form.problem, form.participant).await?;
    }
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{id}/balloons")).into_response())
}

/// The fields of `POST /contests/{id}/balloons/freeze`.
#[derive(Deserialize)]
pub struct InFreeze {
    in_freeze: Option<String>,
}

/// `POST /contests/{id}/balloons/freeze`.
pub async fn set_in_freeze(
    Checked(Managed(Ctx { app, .. }, view), Form(form)): Checked<Managed, Form<InFreeze>>,
) -> Page {
    let id = view.contest.id;
    let mut tx = app.db.begin().await?;
    balloon::set_in_freeze(&mut tx, id, form.in_freeze.is_some()).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{id}/balloons")).into_response())
}
