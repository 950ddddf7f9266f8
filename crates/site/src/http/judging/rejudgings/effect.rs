//! What a set changes: verdicts, points and ranks.

use crate::app::App;
use crate::core::judgement::State as JudgementState;
use crate::core::rejudging::{matrix, rank_changes};
use crate::core::score::Score;
use crate::core::standings::{Data, Row, Table, tables};
use crate::core::time::Time;
use crate::core::verdict::Verdict;
use crate::db::contest::Contest;
use crate::db::rejudging::Item;
use crate::http::contests::view::ContestView;
use crate::http::web::error::{Page, PageError};
use crate::http::web::parts::{self, PAGE_ROWS};
use crate::http::web::session::Session;
use crate::text::{self, t};
use maud::{Markup, html};
use std::collections::{BTreeSet, HashMap};

/// Contests whose changes of rank a page shows.
const MAX_CONTESTS: usize = 5;

/// The judgements of a set that have results.
fn settled(items: &[Item]) -> impl Iterator<Item = &Item> {
    items.iter().filter(|one| one.state == JudgementState::Done)
}

fn words(verdict: Option<Verdict>) -> Markup {
    match verdict {
        Some(verdict) => parts::verdict(verdict),
        None => html! { span.muted { (t::RejudgingNoVerdict) } },
    }
}

/// The numbers of submissions by old and new verdict.
pub fn verdicts(items: &[Item]) -> Markup {
    let matrix = matrix(settled(items).map(|one| (one.old_verdict, one.verdict)));
    let rows: BTreeSet<_> = matrix.keys().map(|(old, _)| *old).collect();
    let columns: BTreeSet<_> = matrix.keys().map(|(_, new)| *new).collect();
    html! {
        @if matrix.is_empty() { p.muted { (t::RejudgingNoResults) } }
        @else {
            div.scroll { table #matrix {
                thead { tr {
                    th { (t::RejudgingOldVerdict) }
                    @for new in &columns { th.number {
                        (t::RejudgingNewVerdict { verdict: words(*new) })
                    } }
                } }
                tbody { @for old in &rows { tr {
                    th scope="row" { (words(*old)) }
                    @for new in &columns {
                        td.number { @if let Some(count) = matrix.get(&(*old, *new)) { (count) } }
                    }
                } } }
            } }
        }
    }
}

/// The submissions whose results change.
pub fn changes(items: &[Item]) -> Markup {
    let changed: Vec<&Item> = settled(items)
        .filter(|one| {
            let (old, new) = one.points();
            (one.old_verdict, old) != (one.verdict, new)
        })
        .collect();
    let points =
        |points: Option<Score>| html! { @if let Some(points) = points { (text::score(points)) } };
    html! {
        div.scroll { table #changes {
            thead { tr {
                th { (t::Submission) } th { (t::User) } th { (t::Problem) }
                th { (t::RejudgingOldResult) }
                th.number { (t::Points) } th { (t::RejudgingNewResult) } th.number { (t::Points) }
            } }
            tbody { @for one in changed.iter().take(PAGE_ROWS.unsigned_abs() as usize) { tr {
                td {
                    a href={ "/submissions/" (one.submission_id) "?judgement=" (one.new_id) } {
                        "#" (one.submission_id)
                    }
                }
                td { (one.login) }
                td { (one.problem_name) }
                td { (words(one.old_verdict)) }
                td.number { (points(one.points().0)) }
                td { (words(one.verdict)) }
                td.number { (points(one.points().1)) }
            } } }
        } }
        p.muted { (t::RejudgingChanges { count: changed.len() }) }
    }
}

/// The changes of ranks in the contests of a set that the viewer manages.
pub async fn ranks(app: &App, session: &Session, items: &[Item]) -> Page<Markup> {
    let contests: BTreeSet<i64> = items.iter().filter_map(|one| one.contest_id).collect();
    let mut parts = Vec::new();
    for contest in contests {
        match ContestView::find(app, session, contest).await {
            Ok(view) if view.access.manage => {
                parts.push(ranks_of(app, &view.contest, items).await?);
            }
            Ok(_) | Err(PageError::NotFound) => {}
            Err(error) => return Err(error),
        }
        if parts.len() == MAX_CONTESTS {
            break;
        }
    }
    Ok(html! { @for part in &parts { (part) } })
}

async fn ranks_of(app: &App, contest: &Contest, items: &[Item]) -> Page<Markup> {
    let commits = *crate::db::commits().borrow();
    let old = app.rankings.data(&app.db, contest.id, commits).await?;
    let items: HashMap<i64, &Item> = settled(items).map(|one| (one.submission_id, one)).collect();
    let mut new = Data::clone(&old);
    for one in &mut new.submissions {
        if let Some(item) = items.get(&one.id) {
            one.initial_verdict = item.initial_verdict;
            one.verdict = item.verdict;
            one.score = item.score;
            one.max_score = item.max_score;
            one.group_scores = item.group_scores.clone();
        }
    }
    let (scope, now) = (old.of_staff(), Time::now());
    let (old, new) = (tables(&old, &scope, now), tables(&new, &scope, now));
    Ok(html! {
        h2 { (t::RejudgingRanks { contest: &contest.name }) }
        @for (old, new) in old.iter().zip(&new) { (ranks_table(old, new)) }
    })
}

fn ranks_table(old: &Table, new: &Table) -> Markup {
    let changes = rank_changes(&old.rows, &new.rows);
    let cells = |row: &Option<Row>| {
        html! {
            td.number { @if let Some(place) = row.as_ref().and_then(|row| row.place) { (place) } }
            td.number { @if let Some(row) = row { (row.total) } }
        }
    };
    html! {
        h3 { (new.rounds.join(", ")) }
        div.scroll { table.ranks {
            thead { tr {
                th { (t::Name) } th.number { (t::RejudgingOldPlace) }
                th.number { (t::RejudgingOldSum) }
                th.number { (t::RejudgingNewPlace) } th.number { (t::RejudgingNewSum) }
            } }
            tbody { @for change in changes.iter().take(PAGE_ROWS.unsigned_abs() as usize) { tr {
                @let row = change.new.as_ref().or(change.old.as_ref());
                td { @if let Some(row) = row { (row.name) } }
                (cells(&change.old)) (cells(&change.new))
            } } }
        } }
        @if changes.is_empty() { p.muted { (t::RejudgingNoChange) } }
    }
}
