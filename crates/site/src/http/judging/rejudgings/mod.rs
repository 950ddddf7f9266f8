//! Sets of submissions that are judged again.
//!
//! | file | content |
//! | --- | --- |
//! | `filter` | which submissions a set has, and whether the viewer may decide on it |
//! | `choices` | the inputs of the form |
//! | `names` | the names of what a set is chosen by |
//! | `effect` | what a set changes |

mod choices;
mod effect;
mod filter;
mod names;

use crate::app::App;
use crate::core::access;
use crate::core::judgement::State as JudgementState;
use crate::core::time::Time;
use crate::db::judgement;
use crate::db::problem;
use crate::db::rejudging::{self, Filter, Item, NewSet, Set, SetState};
use crate::http::contests::view::ContestView;
use crate::http::web::client::Client;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::{live_page, page};
use crate::http::web::live::Seat;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::{PAGE_ROWS, time};
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::judging::live::Change;
use crate::text::t;
use axum::extract::{Form, Path, Query};
use axum::response::{IntoResponse, Redirect};
use filter::{Fields, Scope, scope};
use maud::{Markup, Render, html};
use names::Names;
use std::collections::BTreeSet;

/// Characters of the longest reason.
const MAX_REASON: usize = 200;

/// A set that the viewer decides on.
async fn find(app: &App, session: &Session, id: i64) -> Page<Set> {
    let set = rejudging::by_id(&app.db, id).await?;
    let set = set.ok_or(PageError::NotFound)?;
    let viewer = session.viewer();
    let manages = match set.contest_id {
        Some(id) => Some(manages(app, session, id).await?),
        None => None,
    };
    let owns = match set.problem_id {
        Some(id) => {
            let found = problem::by_id(&app.db, id).await?;
            Some(found.is_some_and(|one| viewer.id() == Some(one.owner_id)))
        }
        None => None,
    };
    let manages_all = match viewer.id() {
        Some(user) => rejudging::manages_all(&app.db, id, user).await?,
        None => false,
    };
    let is_shown = access::rejudging(viewer, manages, owns, manages_all);
    is_shown.then_some(set).ok_or(PageError::NotFound)
}

async fn manages(app: &App, session: &Session, contest: i64) -> Page<bool> {
    match ContestView::find(app, session, contest).await {
        Ok(view) => Ok(view.access.manage),
        Err(PageError::NotFound) => Ok(false),
        Err(error) => Err(error),
    }
}

/// `GET /rejudgings`.
pub async fn list(Ctx { app, session }: Ctx) -> Page {
    let user = session.user_id()?;
    let sets = rejudging::page(&app.db, user, session.viewer().is_admin(), PAGE_ROWS).await?;
    if sets.is_empty() && !session.is_staff(&app).await? {
        return Err(PageError::NotFound);
    }
    let mut names = Names::new(&app, &session);
    let mut rows = Vec::new();
    for one in &sets {
        rows.push((one, filter::chosen(&app, &mut names, one).await?));
    }
    let main = html! {
        h1 { (t::Rejudgings) }
        @if session.viewer().is_admin() {
            p { a.button href="/rejudgings/new" { (t::RejudgingNew) } }
        }
        div.scroll { table {
            thead { tr {
                th { (t::Rejudging) } th { (t::RejudgingReason) } th { (t::RejudgingChosen) }
                th.number { (t::Submissions) } th { (t::State) }
                th { (t::By) } th { (t::Time) }
            } }
            tbody { @for (one, chosen) in &rows { tr {
                td { a href={ "/rejudgings/" (one.id) } { "#" (one.id) } }
                td { (one.reason) }
                td { (chosen) }
                td.number { (one.size) }
                td { (state(one)) }
                td { (one.login) }
                td { (time(one.created_at)) }
            } } }
        } }
        @if sets.is_empty() { p.muted { (t::RejudgingsEmpty) } }
    };
    Ok(page(&session, t::Rejudgings, main).into_response())
}

fn state(set: &Set) -> Markup {
    match set.state {
        SetState::Open if set.open > 0 => t::RejudgingToJudge { count: set.open }.render(),
        SetState::Open => t::RejudgingWaits.render(),
        SetState::Applied => t::RejudgingApplied.render(),
        SetState::Dropped => t::RejudgingDropped.render(),
    }
}

/// `GET /rejudgings/new`.
pub async fn form(Ctx { app, session }: Ctx, Query(fields): Query<Fields>) -> Page {
    let (filter, mistake) = fields.choices(&app, &session).await?;
    let inputs = choices::inputs(&app, &session, &fields, &filter).await?;
    let main = html! {
        h1 { (t::RejudgingNew) }
        p {
            (t::RejudgingLead) " "
            a href="/rejudgings" { (t::RejudgingsAll) }
        }
        @if let Some(why) = &mistake { p.bad role="alert" { (*why.message()) } }
        form.fields method="post" {
            label { (t::RejudgingReason)
                input name="reason" maxlength=(MAX_REASON) value=(fields.reason); }
            (inputs)
            button { (t::JudgeAgain) }
        }
    };
    Ok(page(&session, t::JudgeAgain, main).into_response())
}

/// `POST /rejudgings/new`.
pub async fn create(Ctx { app, session }: Ctx, Form(fields): Form<Fields>) -> Page {
    let filter = fields.filter(&app, &session).await?;
    let reason: String = fields.reason.trim().chars().take(MAX_REASON).collect();
    let scope = scope(&app, &session, &filter).await?;
    let id = add(&app, &session, scope, &reason, &filter, false).await?;
    Ok(Redirect::to(&format!("/rejudgings/{id}")).into_response())
}

/// Adds a set in a scope in which the viewer decides. Returns the id.
async fn add(
    app: &App,
    session: &Session,
    scope: Scope,
    reason: &str,
    filter: &Filter,
    auto_apply: bool,
) -> Page<i64> {
    let priority = if auto_apply {
        judgement::AGAIN
    } else {
        rejudging::PRIORITY
    };
    let new = NewSet {
        reason,
        filter,
        contest_id: scope.contest,
        problem_id: scope.problem,
        auto_apply,
        priority,
        user: session.user_id()?,
        all: session.viewer().is_admin(),
    };
    let mut tx = app.db.begin().await?;
    if let Some(submission) = filter.submission
        && judgement::is_open(&mut tx, submission).await?
    {
        return Err(Refusal::InQueue.into());
    }
    let (id, size) = rejudging::insert(&mut tx, &new, Time::now()).await?;
    if size == 0 {
        return Err(Mistake::NoSubmissionFits.into());
    }
    tx.commit().await?;
    app.queue.wake();
    Ok(id)
}

/// `POST /submissions/{id}/judge`: a set of one that applies itself.
pub async fn judge_again(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let filter = Filter {
        submission: Some(id),
        ..Filter::default()
    };
    let scope = scope(&app, &session, &filter).await?;
    add(&app, &session, scope, "", &filter, true).await?;
    Ok(Redirect::to(&format!("/submissions/{id}")).into_response())
}

/// `GET /rejudgings/{id}`: what the set changes.
pub async fn show(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let set = find(&app, &session, id).await?;
    let items = rejudging::items(&app.db, id).await?;
    let chosen = filter::chosen(&app, &mut Names::new(&app, &session), &set).await?;
    let title = t::RejudgingTitle { id: id.to_string() };
    let is_live = set.state == SetState::Open && set.open > 0;
    let main = html! {
        h1 { (title) }
        div data-live {
            dl.facts {
                @if !set.reason.is_empty() { dt { (t::RejudgingReason) } dd { (set.reason) } }
                dt { (t::By) } dd { (set.login) ", " (time(set.created_at)) }
                dt { (t::RejudgingChosen) } dd #chosen { (chosen) }
                dt { (t::Submissions) } dd { (set.size) }
                dt { (t::State) }
                dd #state {
                    (state(&set)) @if let Some(at) = set.ended_at { ", " (time(at)) }
                }
            }
            (decision(&set, &items))
            h2 { (t::RejudgingVerdicts) }
            (effect::verdicts(&items))
            @if set.state == SetState::Open { (effect::ranks(&app, &session, &items).await?) }
            h2 { (t::RejudgingChanged) }
            (effect::changes(&items))
        }
    };
    let answer = if is_live {
        live_page(&session, title, &format!("/rejudgings/{id}/live"), main)
    } else {
        page(&session, title, main)
    };
    Ok(answer.into_response())
}

fn decision(set: &Set, items: &[Item]) -> Markup {
    let without = items
        .iter()
        .filter(|one| matches!(one.state, JudgementState::Fault | JudgementState::Cancelled));
    let without = without.count();
    let button = |action: &str, class: &str, words: &dyn Render| {
        html! {
            form.inline method="post" action={ "/rejudgings/" (set.id) "/" (action) } {
                button class=(class) { (words) }
            }
        }
    };
    html! {
        @if without > 0 {
            p.bad { (t::RejudgingWithout { count: without }) }
        }
        p.actions {
            @match set.state {
                SetState::Open => {
                    @if set.open == 0 { (button("apply", "main", &t::RejudgingApply)) }
                    (button("drop", "danger", &t::RejudgingDrop))
                }
                SetState::Applied | SetState::Dropped => {
                    (button("repeat", "second", &t::RejudgingRepeat))
                }
            }
        }
        @if set.state == SetState::Open { p.hint { (t::RejudgingDecideHint) } }
    }
}

/// `GET /rejudgings/{id}/live`.
pub async fn live(Ctx { app, session }: Ctx, client: Client, Path(id): Path<i64>) -> Page {
    find(&app, &session, id).await?;
    let seat = Seat::of(&app, &session, &client)?;
    Ok(seat.events(&app, move |change| change.rejudging == Some(id)))
}

/// `POST /rejudgings/{id}/apply`.
pub async fn apply(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    find(&app, &session, id).await?;
    let mut tx = app.db.begin().await?;
    let items = rejudging::items(&mut tx, id).await?;
    if !rejudging::apply(&mut tx, id, Time::now()).await? {
        return Err(Refusal::RejudgingNotReady.into());
    }
    tx.commit().await?;
    let contests: BTreeSet<i64> = items.iter().filter_map(|one| one.contest_id).collect();
    for contest in contests {
        app.live.changed(Change {
            submission: 0,
            user: 0,
            contest: Some(contest),
            rejudging: Some(id),
        });
    }
    Ok(Redirect::to(&format!("/rejudgings/{id}")).into_response())
}

/// `POST /rejudgings/{id}/drop`.
pub async fn drop_set(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    find(&app, &session, id).await?;
    let mut tx = app.db.begin().await?;
    let cancelled = rejudging::drop_set(&mut tx, id, Time::now()).await?;
    let Some(cancelled) = cancelled else {
        return Err(Refusal::RejudgingDecided.into());
    };
    tx.commit().await?;
    for judgement in cancelled {
        app.stop_judging(judgement);
    }
    Ok(Redirect::to(&format!("/rejudgings/{id}")).into_response())
}

/// `POST /rejudgings/{id}/repeat`: a new set with the same submissions.
pub async fn repeat(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let set = find(&app, &session, id).await?;
    if set.state == SetState::Open {
        return Err(Refusal::RejudgingOpen.into());
    }
    let scope = Scope {
        contest: set.contest_id,
        problem: set.problem_id,
    };
    let filter = Filter {
        contest: scope.contest,
        problem: scope.problem,
        set: Some(id),
        ..Filter::default()
    };
    let id = add(&app, &session, scope, &set.reason, &filter, false).await?;
    Ok(Redirect::to(&format!("/rejudgings/{id}")).into_response())
}
