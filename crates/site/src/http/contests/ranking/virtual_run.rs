//! Virtual participation in a round: its clock, and the ranking at the time on the clock.
//!
//! It is offered under the rule of practice, and the ranking is shown only if the viewer sees the
//! full ranking of the round. So it shows nothing that is hidden otherwise.

use super::table;
use crate::app::App;
use crate::core::standings::{Audience, Scope, Shown};
use crate::core::time::Time;
use crate::core::virtual_run::{self, ROW, Run};
use crate::db;
use crate::db::contest::{self, Round, RoundProblem};
use crate::db::{submission, virtual_start};
use crate::http::contests::clocks;
use crate::http::contests::view::ContestView;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::parts::countdown;
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::text::{self, t};
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, PreEscaped, html};
use std::time::Duration;

/// The page's path for a round.
pub fn path(round: i64) -> String {
    format!("/rounds/{round}/virtual")
}

/// A round in which the viewer may take part virtually, with the length of the participation.
async fn find(app: &App, session: &Session, id: i64) -> Page<(ContestView, Round, Duration)> {
    let round = contest::round(&app.db, id).await?;
    let round = round.ok_or(PageError::NotFound)?;
    let view = ContestView::of(app, session, round.contest_id).await?;
    let times = view.times(id, round.schedule());
    if !view.access.sees_round(times.begins, Time::now()) {
        return Err(PageError::NotFound);
    }
    session.user_id()?;
    view.check_participant()?;
    let additional = view.most_additional(app).await?;
    let is_open = view.practises(round.schedule(), round.freeze(), additional);
    let length = virtual_run::length(round.schedule()).filter(|_| is_open);
    let length = length.ok_or(Refusal::RoundNotOpen)?;
    Ok((view, round, length))
}

/// `GET /rounds/{id}/virtual`.
pub async fn show(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let (view, round, length) = find(&app, &session, id).await?;
    let clock = virtual_start::of_round(&app.db, session.user_id()?, id).await?;
    let run = clock.and_then(|clock| clock.run());
    let now = Time::now();
    let is_on = run.is_some_and(|run| run.is_on(now));
    let problems = practised(&app, &view, id).await?;
    let is_offered = problems.iter().any(|(_, is_open)| *is_open);
    let ranking = match run {
        Some(run) => ranking(&app, &session, (&view, &round), run, now).await?,
        None => html! {},
    };
    let seconds = i64::try_from(length.as_secs()).unwrap_or(i64::MAX);
    let main = html! {
        (view.top(&session, Some(&t::VirtualTitle)))
        h2 { (round.name) ": " (t::VirtualTitle) }
        @if let Some(run) = run.filter(|_| is_on) {
            p.state {
                span.chip.busy { (t::RankingVirtual) }
                span { (t::RoundEndsIn { time: countdown(run.ends(), now) }) }
            }
            (list(&problems))
            form.actions method="post" action={ (path(id)) "/end" } {
                button.second { (t::VirtualEnd) }
            }
        } @else if is_offered {
            p { (t::VirtualLead) }
            @if problems.iter().any(|(_, is_open)| !is_open) { (list(&problems)) }
            form.inline method="post" {
                button.main { (t::VirtualStart { duration: clocks::duration(seconds) }) }
                span.hint { (t::VirtualLasts { duration: clocks::duration(seconds) }) }
            }
        } @else {
            p { (t::VirtualNoProblem) }
        }
        (ranking)
    };
    Ok(page(&session, t::VirtualTitle, main).into_response())
}

/// The problems of a round, and whether the viewer can submit to each for practice.
async fn practised(app: &App, view: &ContestView, round: i64) -> Page<Vec<(RoundProblem, bool)>> {
    let mut problems = Vec::new();
    for one in contest::problems_of_round(&app.db, round).await? {
        let is_open = view.practises_problem(app, &one).await?;
        problems.push((one, is_open));
    }
    Ok(problems)
}

fn list(problems: &[(RoundProblem, bool)]) -> Markup {
    html! {
        ul.problems { @for (one, is_open) in problems {
            @let name = html! { b { (one.label) } " " (one.name) };
            li {
                @if *is_open { a href={ "/round-problems/" (one.id) "/submit" } { (name) } }
                @else { span { (name) } " " span.chip { (t::VirtualClosed) } }
            }
        } }
    }
}

/// The ranking with the viewer, if the viewer sees that of the round.
async fn ranking(
    app: &App,
    session: &Session,
    (view, round): (&ContestView, &Round),
    run: Run,
    now: Time,
) -> Page<Markup> {
    let times = view.times(round.id, round.schedule());
    let shown = Shown::of(view.access, round, times, now);
    let Some(shown) = shown.filter(|one| one.is_full) else {
        return Ok(html! { p { (t::RankingNotShown) } });
    };
    let commits = *db::commits().borrow();
    let data = app
        .rankings
        .data(&app.db, round.contest_id, commits)
        .await?;
    let user = session.user_id()?;
    let own = submission::practice(&app.db, user, round.id, ROW).await?;
    let name = session
        .user
        .as_ref()
        .map_or(String::new(), |user| user.name.clone());
    let id = round.id;
    let scope = Scope {
        audience: Audience::Public,
        rounds: vec![shown],
        group: None,
    };
    let texts = text::reader();
    let work = move || {
        let table = virtual_run::ranking(&data, id, (name, own), run, now)?;
        let tables = std::slice::from_ref(&table);
        let rendered = text::at_once(&texts, || table::render(&scope, tables));
        Some((virtual_run::place(&table), rendered))
    };
    let rendered = app.limits.rendering.run(session.party(), work).await?;
    let (place, rendered) = rendered.ok_or(PageError::NotFound)?;
    Ok(html! {
        h3 { (t::Ranking) }
        @if run.is_on(now) {
            p.actions { a href=(path(id)) { (t::VirtualRefresh) } }
        } @else { p { (t::VirtualOver) } }
        @if let Some(place) = place { p { (t::VirtualPlace { place }) } }
        link rel="stylesheet" href={ "/ranking-rows/" (ROW) };
        (PreEscaped(rendered))
    })
}

/// `POST /rounds/{id}/virtual`.
pub async fn start(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let (view, ..) = find(&app, &session, id).await?;
    let problems = practised(&app, &view, id).await?;
    if !problems.iter().any(|(_, is_open)| *is_open) {
        return Err(Refusal::RoundNotOpen.into());
    }
    let (user, now) = (session.user_id()?, Time::now());
    let mut tx = app.db.begin().await?;
    let clock = virtual_start::of_round(&mut tx, user, id).await?;
    let run = clock.and_then(|clock| clock.run());
    // A second click does not begin again.
    if run.is_none_or(|run| !run.is_on(now)) {
        virtual_start::start(&mut tx, user, id, now).await?;
        tx.commit().await?;
    }
    Ok(Redirect::to(&path(id)).into_response())
}

/// `POST /rounds/{id}/virtual/end`: ends the participation before its time.
pub async fn end(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    find(&app, &session, id).await?;
    let (user, now) = (session.user_id()?, Time::now());
    let mut tx = app.db.begin().await?;
    let clock = virtual_start::of_round(&mut tx, user, id).await?;
    let run = clock.and_then(|clock| clock.run());
    if run.is_some_and(|run| run.is_on(now)) {
        virtual_start::end(&mut tx, user, id, now).await?;
        tx.commit().await?;
    }
    Ok(Redirect::to(&path(id)).into_response())
}
