//! The ranking of a contest.

use super::contests::Scene;
use super::error::Page;
use super::layout::live_page;
use super::parts::verdict;
use super::session::Session;
use crate::app::App;
use crate::core::finals::Attempt;
use crate::core::ranking::{Attempts, Cell, Column, Rank, ranking};
use crate::core::score::Score;
use crate::core::time::Time;
use crate::db::contest::{self, RoundProblem};
use crate::db::submission::{self, Brief, Kind};
use crate::db::user;
use axum::extract::{Path, State};
use axum::response::IntoResponse;
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The attempts by user and problem.
pub fn attempts(list: Vec<Brief>) -> Attempts {
    let mut attempts = Attempts::new();
    for one in list {
        let key = (one.user_id, one.round_problem_id);
        attempts.entry(key).or_default().push(Attempt {
            id: one.id,
            counts: one.kind == Kind::Normal,
            initial: one.initial_verdict,
            full: one.verdict,
            score: one.score.map(Score),
        });
    }
    attempts
}

/// `GET /contests/{id}/ranking`.
pub async fn show(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    let scene = Scene::of(&app, &session, id).await?;
    let now = Time::now();
    let access = scene.access;
    let problems: Vec<RoundProblem> = contest::problems(&app.db, id)
        .await?
        .into_iter()
        .filter(|one| access.sees_ranking(one.begins, one.ranking_from, now))
        .collect();
    let columns: Vec<Column> = problems
        .iter()
        .map(|one| Column {
            problem: one.id,
            method: one.final_method,
            reveal: one.reveal,
            is_full: access.sees_full_results(one.full_results, now),
        })
        .collect();
    let ranks = ranking(
        &columns,
        &attempts(submission::of_contest(&app.db, id).await?),
    );
    let names = names(&app, &ranks).await?;
    let main = html! {
        h1 { (scene.contest.name) }
        (scene.links(&session))
        h2 { "Ranking" }
        div data-live {
            @if problems.is_empty() {
                p { "The ranking is not shown yet." }
            } @else {
                (table(&problems, &ranks, &names, access.manage))
            }
        }
    };
    let source = format!("/contests/{id}/live");
    Ok(live_page(&session, "Ranking", &source, main).into_response())
}

async fn names(app: &App, ranks: &[Rank]) -> Page<BTreeMap<i64, String>> {
    let mut names = BTreeMap::new();
    for rank in ranks {
        if let Some(user) = user::by_id(&app.db, rank.user).await? {
            names.insert(rank.user, user.name);
        }
    }
    Ok(names)
}

fn table(
    problems: &[RoundProblem],
    ranks: &[Rank],
    names: &BTreeMap<i64, String>,
    links: bool,
) -> Markup {
    html! {
        div.scroll { table #ranking {
            thead { tr {
                th.number { "Place" } th { "Name" } th.number { "Sum" }
                @for one in problems { th.number { abbr title=(one.name) { (one.label) } } }
            } }
            tbody { @for rank in ranks { tr {
                td.number { (rank.place) }
                td { (names.get(&rank.user).map_or("", String::as_str)) }
                td.number { (rank.total) }
                @for found in &rank.cells {
                    td.number { @if let Some(found) = found { (cell(*found, links)) } }
                }
            } } }
        } }
        @if ranks.is_empty() { p.muted { "There are no results." } }
    }
}

fn cell(found: Cell, link: bool) -> Markup {
    let text = html! {
        @match found.score { Some(score) => (score), None => "?" }
    };
    html! {
        @if link { a href={ "/submissions/" (found.submission) } { (text) } } @else { (text) }
        @if let Some(one) = found.verdict { br; small { (verdict(one)) } }
    }
}
