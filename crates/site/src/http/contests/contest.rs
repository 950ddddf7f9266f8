//! Contests.

use super::error::{Page, PageError};
use super::layout::{crumbs, page};
use super::parts::{PAGE_ROWS, button_link, check_name, empty, round_state, select};
use super::problems::{MAX_NAME, Place};
use super::refusal::Refusal;
use super::scene::Scene;
use super::session::Session;
use crate::app::App;
use crate::core::time::Time;
use crate::db::contest::{self, MemberRole, Visibility};
use crate::text::t;
use axum::extract::{Form, Path, Query, State};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, Render, html};
use serde::Deserialize;
use std::sync::Arc;

const VISIBILITIES: [(&str, &dyn Render); 2] = [
    ("private", &t::ContestPrivate),
    ("public", &t::ContestPublic),
];

/// `GET /contests`.
pub async fn list(
    State(app): State<Arc<App>>,
    session: Session,
    Query(place): Query<Place>,
) -> Page {
    let viewer = session.viewer();
    let before = place.before.unwrap_or(i64::MAX);
    let user = viewer.id().unwrap_or(-1);
    let contests = contest::page(&app.db, before, user, viewer.is_admin(), PAGE_ROWS).await?;
    let main = html! {
        h1 { (t::Contests) }
        @if viewer.is_teacher() { p { (button_link("/contests/new", t::ContestsAdd)) } }
        @if contests.is_empty() {
            (empty(t::ContestsEmpty, match session.user {
                Some(_) => None,
                None => Some(("/sign-in", &t::ContestsSignIn)),
            }))
        } @else {
            div.scroll { table {
                thead { tr { th { (t::Name) } th { (t::VisibleTo) } } }
                tbody { @for one in &contests { tr {
                    td { a href={ "/contests/" (one.id) } { (one.name) } }
                    td {
                        span.chip {
                            @match one.visibility {
                                Visibility::Private => (t::ContestVisibleMembers),
                                Visibility::Public => (t::VisibleAllPeople),
                            }
                        }
                    }
                } } }
            } }
        }
        @if let Some(last) = contests.last() && contests.len() == PAGE_ROWS as usize {
            p { a href={ "/contests?before=" (last.id) } { (t::ContestsEarlier) } }
        }
    };
    Ok(page(&session, t::Contests, main).into_response())
}

/// The fields of a contest.
#[derive(Deserialize)]
pub struct Fields {
    name: String,
    visibility: Visibility,
}

fn inputs(name: &str, visibility: Visibility) -> Markup {
    html! {
        label { (t::Name) input name="name" value=(name) required maxlength=(MAX_NAME); }
        (select("visibility", t::VisibleTo, &VISIBILITIES, visibility.text()))
    }
}

/// Only administrators publish contests.
fn check(fields: &Fields, before: Visibility, session: &Session) -> Page<()> {
    check_name(&fields.name, MAX_NAME)?;
    let publishes = fields.visibility == Visibility::Public && before == Visibility::Private;
    if publishes && !session.viewer().is_admin() {
        return Err(Refusal::PublishContest.into());
    }
    Ok(())
}

/// `GET /contests/new`.
pub async fn form(session: Session) -> Page {
    if !session.viewer().is_teacher() {
        return Err(PageError::NotFound);
    }
    let main = html! {
        (crumbs(&[("/contests", &t::Contests)], t::ContestsAdd))
        h1 { (t::ContestsAdd) }
        form.fields method="post" {
            (inputs("", Visibility::Private))
            button { (t::ContestsAddButton) }
        }
    };
    Ok(page(&session, t::ContestsAdd, main).into_response())
}

/// `POST /contests/new`.
pub async fn create(
    State(app): State<Arc<App>>,
    session: Session,
    Form(fields): Form<Fields>,
) -> Page {
    let user = session.user_id()?;
    if !session.viewer().is_teacher() {
        return Err(PageError::NotFound);
    }
    check(&fields, Visibility::Private, &session)?;
    let now = Time::now();
    let mut tx = app.db.begin().await?;
    let id = contest::insert(&mut tx, fields.name.trim(), fields.visibility, now).await?;
    contest::join(&mut tx, id, user, MemberRole::Owner, now).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{id}/edit")).into_response())
}

/// `GET /contests/{id}`.
pub async fn show(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    let scene = Scene::of(&app, &session, id).await?;
    let now = Time::now();
    let rounds = contest::rounds(&app.db, id).await?;
    let problems = contest::problems(&app.db, id).await?;
    let rounds: Vec<_> = rounds
        .into_iter()
        .map(|round| (scene.times(round.id, round.schedule()), round))
        .filter(|(times, _)| scene.access.sees_round(times.opens, now))
        .collect();
    let main = html! {
        (scene.top(&session, None))
        @for (times, round) in &rounds {
            section.round {
                header {
                    h2 { (round.name) }
                    (round_state(times.begins, times.ends, now))
                }
                (super::clocks::facts(round, times))
                @if scene.access.sees_round(times.begins, now) {
                    ul.problems {
                        @for one in problems.iter().filter(|one| one.round_id == round.id) {
                            li {
                                a href={ "/round-problems/" (one.id) } {
                                    b { (one.label) } " " (one.name)
                                }
                            }
                        }
                    }
                }
                @if scene.access.take_part && !scene.access.manage {
                    (super::clocks::start_form(round, times, now))
                }
                @if scene.access.manage {
                    p { a.button.second href={ "/rounds/" (round.id) } { (t::ContestChangeRound) } }
                }
            }
        }
        @if rounds.is_empty() {
            @let next = format!("/contests/{id}/edit");
            @let next: Option<(&str, &dyn Render)> =
                scene.access.manage.then_some((&next, &t::ContestAddRound));
            (empty(t::ContestNoRound, next))
        }
    };
    Ok(page(&session, &scene.contest.name, main).into_response())
}

/// `GET /contests/{id}/edit`.
pub async fn edit_form(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    let scene = Scene::managed(&app, &session, id).await?;
    let main = html! {
        (scene.top(&session, Some(&t::Settings)))
        h2 { (t::Settings) }
        form.fields method="post" {
            (inputs(&scene.contest.name, scene.contest.visibility))
            button { (t::Save) }
        }
        div.actions {
            @if session.viewer().is_teacher() {
                form.inline method="post" action={ "/contests/" (id) "/copy" } {
                    button { (t::ContestCopy) }
                }
            }
            @if scene.access.own { a href={ "/contests/" (id) "/delete" } { (t::ContestDelete) } }
        }
        h2 { (t::ContestAddRound) }
        form.fields method="post" action={ "/contests/" (id) "/rounds" } {
            (super::rounds::inputs(None))
            button { (t::ContestAddRoundButton) }
        }
    };
    Ok(page(&session, t::Settings, main).into_response())
}

/// `POST /contests/{id}/edit`.
pub async fn edit(
    State(app): State<Arc<App>>,
    session: Session,
    Path(id): Path<i64>,
    Form(fields): Form<Fields>,
) -> Page {
    Scene::managed(&app, &session, id).await?;
    let mut tx = app.db.begin().await?;
    let found = contest::by_id(&mut tx, id).await?;
    let found = found.ok_or(PageError::NotFound)?;
    check(&fields, found.visibility, &session)?;
    contest::update(&mut tx, id, fields.name.trim(), fields.visibility).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{id}")).into_response())
}
