//! Contests: rounds, members, participants, rankings and communication.
//!
//! | file | content |
//! | --- | --- |
//! | `view` | a contest as its viewer may see it |
//! | `overview` | the first page of a contest, which follows the times of its rounds |
//! | `rounds`, `rules` | rounds and their problems; their scoring |
//! | `creation` | the form for a contest with its first round |
//! | `extension` | more time for a round that runs |
//! | `feedback` | what contestants see before the full results |
//! | `submission_rules` | what contestants may submit |
//! | `late` | files that the staff hands in for participants |
//! | `members`, `class_entry` | members and entry links; classes that become members |
//! | `news` | new answers in all contests of a user |
//! | `participants`, `clocks` | users and teams, and their own times |
//! | `ranking` | the ranking, the statistics and the certificates |
//! | `clarifications`, `notices` | questions, answers and announcements; their news |
//! | `balloons`, `prints` | balloons for solved problems; the queue of the printer |
//! | `contest_files` | files of contests |
//! | `sources` | the sources of a contest as an archive, and similar pairs |

pub mod balloons;
pub mod clarifications;
mod class_entry;
pub mod clocks;
pub mod contest_files;
mod creation;
mod extension;
mod feedback;
mod late;
mod members;
pub mod news;
pub mod notices;
mod overview;
mod participants;
mod prints;
pub mod ranking;
mod rounds;
mod rules;
mod sources;
pub mod submission_rules;
pub mod view;

use crate::app::App;
use crate::core::zone::Zone;
use crate::db::contest::{self, Visibility};
use crate::http::problems::{MAX_NAME, Place};
use crate::http::web::context::{Checked, Ctx};
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::parts::{PAGE_ROWS, button_link, check_name, empty, select};
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::http::web::zones::{read_choice, zone_choice};
use crate::text::t;
use axum::Router;
use axum::extract::{Form, Query};
use axum::response::{IntoResponse, Redirect};
use axum::routing::{get, post};
use maud::{Markup, Render, html};
use serde::Deserialize;
use std::sync::Arc;
use view::Managed;

/// Pages that receive large files.
pub fn uploads() -> Router<Arc<App>> {
    Router::new()
        .route(
            "/contests/{id}/files",
            get(contest_files::list).post(contest_files::add),
        )
        .route(
            "/contest-files/{id}/edit",
            get(contest_files::edit_form).post(contest_files::edit),
        )
}

/// The other pages.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/news", get(news::show))
        .route("/news/live", get(news::live))
        .route("/contests", get(list))
        .route("/contests/new", get(creation::form).post(creation::create))
        .route("/contests/{id}", get(overview::show))
        .route("/contests/{id}/overview/live", get(overview::live))
        .route("/contests/{id}/edit", get(edit_form).post(edit))
        .route("/contests/{id}/rounds", post(rounds::create))
        .route("/contests/{id}/ranking", get(ranking::show))
        .route("/contests/{id}/ranking.csv", get(ranking::csv))
        .route("/contests/{id}/ranking.json", get(ranking::json))
        .route("/contests/{id}/ranking/live", get(ranking::live))
        .route("/contests/{id}/projector", get(ranking::projector))
        .route("/contests/{id}/statistics", get(ranking::statistics))
        .route("/contests/{id}/certificates", get(ranking::certificates))
        .route("/ranking-rows/{participant}", get(ranking::row_style))
        .route(
            "/contests/{id}/participants",
            get(participants::list).post(participants::create),
        )
        .route(
            "/participants/{id}",
            get(participants::show).post(participants::edit),
        )
        .route("/participants/{id}/members", post(participants::add_member))
        .route(
            "/participants/{id}/remove",
            post(participants::remove_member),
        )
        .route(
            "/participants/{id}/disqualify",
            post(participants::disqualify),
        )
        .route(
            "/participants/{id}/reinstate",
            post(participants::reinstate),
        )
        .route("/participants/{id}/hand-in", post(late::hand_in))
        .route("/participants/{id}/delete", post(participants::delete))
        .route(
            "/contests/{id}/members",
            get(members::show).post(members::change),
        )
        .route("/contests/{id}/classes", post(class_entry::add))
        .route("/contests/{id}/sources.zip", get(sources::archive))
        .route(
            "/contests/{id}/similar",
            get(sources::similar).post(sources::compare),
        )
        .route("/contests/{id}/link", post(members::make_link))
        .route("/contests/{id}/link/delete", post(members::delete_link))
        .route(
            "/enter/{token}",
            get(members::enter_form).post(members::enter),
        )
        .route("/rounds/{id}", get(rounds::show).post(rounds::edit))
        .route("/rounds/{id}/problems", post(rounds::attach))
        .route("/rounds/{id}/extend", post(extension::extend))
        .route("/rounds/{id}/thaw", post(rules::thaw))
        .route("/rounds/{id}/start", post(clocks::start))
        .route(
            "/rounds/{id}/virtual",
            get(ranking::virtual_run::show).post(ranking::virtual_run::start),
        )
        .route("/rounds/{id}/virtual/end", post(ranking::virtual_run::end))
        .route("/round-problems/{id}", get(rounds::problem))
        .route("/round-problems/{id}/edit", post(rounds::edit_problem))
        .route("/round-problems/{id}/move", post(rounds::move_problem))
        .route("/round-problems/{id}/colour", post(rules::set_colour))
        .route("/round-problems/{id}/files/{name}", get(rounds::file))
        .route(
            "/round-problems/{id}/editorial",
            get(rounds::show_editorial),
        )
        .route(
            "/round-problems/{id}/editorial/{name}",
            get(rounds::editorial_file),
        )
        .merge(communication())
}

/// Communication between contestants and the staff.
fn communication() -> Router<Arc<App>> {
    Router::new()
        .route(
            "/contests/{id}/clarifications",
            get(clarifications::list).post(clarifications::ask),
        )
        .route(
            "/contests/{id}/clarifications/read",
            post(clarifications::read),
        )
        .route("/contests/{id}/clarifications/notice", get(notices::show))
        .route("/contests/{id}/clarifications/live", get(notices::live))
        .route(
            "/contests/{id}/announcements",
            post(clarifications::announce),
        )
        .route(
            "/contests/{id}/canned-answers",
            get(clarifications::canned).post(clarifications::set_canned),
        )
        .route(
            "/contests/{id}/balloons",
            get(balloons::list).post(balloons::deliver),
        )
        .route(
            "/contests/{id}/balloons/freeze",
            post(balloons::set_in_freeze),
        )
        .route("/contests/{id}/print", get(prints::list).post(prints::send))
        .route("/contests/{id}/printing", post(prints::set_printing))
        .route("/prints/{id}", get(prints::show))
        .route("/prints/{id}/done", post(prints::finish))
        .route("/contest-files/{id}", get(contest_files::load))
        .route("/contest-files/{id}/delete", post(contest_files::delete))
        .route(
            "/clarifications/{id}",
            get(clarifications::show).post(clarifications::answer),
        )
}

const VISIBILITIES: [(&str, &dyn Render); 2] = [
    ("private", &t::ContestPrivate),
    ("public", &t::ContestPublic),
];

/// `GET /contests`.
pub async fn list(Ctx { app, session }: Ctx, Query(place): Query<Place>) -> Page {
    let viewer = session.viewer();
    let before = place.before.unwrap_or(i64::MAX);
    let user = viewer.id().unwrap_or(-1);
    let contests = contest::page(&app.db, before, user, viewer.is_admin(), PAGE_ROWS).await?;
    let main = html! {
        h1 { (t::Contests) }
        (news::banner(&app, &session).await?)
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
    /// The name of the time zone; empty for that of the site. It is not changed if it is absent.
    time_zone: Option<String>,
}

impl Fields {
    /// The new time zone, if it is changed.
    fn time_zone(&self) -> Page<Option<Option<Zone>>> {
        self.time_zone.as_deref().map(read_choice).transpose()
    }
}

fn inputs(app: &App, name: &str, visibility: Visibility, time_zone: Option<&str>) -> Markup {
    let site = t::TimeZoneOfSite {
        zone: app.zone.name(),
    };
    html! {
        label { (t::Name) input name="name" value=(name) required maxlength=(MAX_NAME); }
        (select("visibility", t::VisibleTo, &VISIBILITIES, visibility.text()))
        (zone_choice(site, time_zone))
        p.hint { (t::ContestTimeZoneHint) }
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

/// `GET /contests/{id}/edit`.
pub async fn edit_form(Managed(Ctx { app, session }, view): Managed) -> Page {
    let id = view.contest.id;
    let time_zone = view.contest.time_zone.as_deref();
    let main = html! {
        (view.top(&session, Some(&t::Settings)))
        h2 { (t::Settings) }
        form.fields method="post" {
            (inputs(&app, &view.contest.name, view.contest.visibility, time_zone))
            button { (t::Save) }
        }
        div.actions {
            @if session.viewer().is_teacher() {
                form.inline method="post" action={ "/contests/" (id) "/copy" } {
                    button { (t::ContestCopy) }
                }
            }
            @if view.access.own { a href={ "/contests/" (id) "/delete" } { (t::ContestDelete) } }
        }
        h2 { (t::ContestAddRound) }
        form.fields method="post" action={ "/contests/" (id) "/rounds" } {
            (rounds::inputs(None))
            button { (t::ContestAddRoundButton) }
        }
    };
    Ok(page(&session, t::Settings, main).into_response())
}

/// `POST /contests/{id}/edit`.
pub async fn edit(
    Checked(Managed(Ctx { app, session }, view), Form(fields)): Checked<Managed, Form<Fields>>,
) -> Page {
    let id = view.contest.id;
    let zone = fields.time_zone()?;
    let mut tx = app.db.begin().await?;
    let found = contest::by_id(&mut tx, id).await?;
    let found = found.ok_or(PageError::NotFound)?;
    check(&fields, found.visibility, &session)?;
    contest::update(&mut tx, id, fields.name.trim(), fields.visibility).await?;
    if let Some(zone) = zone {
        contest::set_time_zone(&mut tx, id, zone.as_ref().map(Zone::name)).await?;
    }
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{id}")).into_response())
}
