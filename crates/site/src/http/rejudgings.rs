//! Sets of submissions that are judged again.

use super::error::{Page, PageError};
use super::layout::{live_page, page};
use super::live::events;
use super::mistake::Mistake;
use super::parts::{self, PAGE_ROWS, select, time};
use super::refusal::Refusal;
use super::scene::Scene;
use super::session::Session;
use super::{problems, submissions};
use crate::app::App;
use crate::core::rejudging::{Matrix, matrix, rank_changes};
use crate::core::score::Score;
use crate::core::standings::{Data, Row, Table, tables};
use crate::core::time::Time;
use crate::core::verdict::Verdict;
use crate::db::judgement::{self, State as JudgementState};
use crate::db::rejudging::{self, Filter, Item, NewSet, Set, SetState};
use crate::db::{contest, user};
use crate::judging::live::Change;
use crate::text::{self, Message, t};
use axum::extract::{Form, Path, Query, State};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, Render, html};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Characters of the longest reason.
const MAX_REASON: usize = 200;
/// Contests whose changes of rank a page shows.
const MAX_CONTESTS: usize = 5;

/// The fields of a filter, as forms and addresses have them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Fields {
    reason: String,
    contest: String,
    round: String,
    round_problem: String,
    problem: String,
    user: String,
    submission: String,
    version: String,
    language: String,
    verdict: String,
}

fn number(text: &str) -> Page<Option<i64>> {
    match text.trim() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| {
            Mistake::Number {
                text: text.to_owned(),
            }
            .into()
        }),
    }
}

impl Fields {
    async fn filter(&self, app: &App) -> Page<Filter> {
        let user = match self.user.trim() {
            "" => None,
            login => {
                let found = user::by_login(&app.db, login).await?;
                let unknown = || Mistake::UnknownLogin {
                    login: login.to_owned(),
                };
                Some(found.ok_or_else(unknown)?.id)
            }
        };
        let verdict = match self.verdict.as_str() {
            "" => None,
            text => Some(Verdict::of_text(text).ok_or(PageError::NotFound)?),
        };
        Ok(Filter {
            contest: number(&self.contest)?,
            round: number(&self.round)?,
            round_problem: number(&self.round_problem)?,
            problem: number(&self.problem)?,
            user,
            submission: number(&self.submission)?,
            version: number(&self.version)?,
            language: Some(self.language.clone()).filter(|text| !text.is_empty()),
            verdict,
            set: None,
        })
    }
}

/// Where a decision on a set is made: in a contest, or at a problem.
#[derive(Debug, Clone, Copy)]
struct Scope {
    contest: Option<i64>,
    problem: Option<i64>,
}

/// The scope of a filter, if the viewer may judge its submissions again.
async fn scope(app: &App, session: &Session, filter: &Filter) -> Page<Scope> {
    let of_contest = |contest| Scope {
        contest: Some(contest),
        problem: None,
    };
    if let Some(id) = filter.submission {
        let (one, round_problem) = submissions::managed(app, session, id).await?;
        return Ok(Scope {
            contest: round_problem.map(|problem| problem.contest_id),
            problem: Some(one.problem_id),
        });
    }
    if let Some(id) = filter.round_problem {
        let (scene, _) = Scene::of_problem(app, session, id).await?;
        let manages = scene.access.manage.then_some(of_contest(scene.contest.id));
        return manages.ok_or(PageError::NotFound);
    }
    if let Some(id) = filter.round {
        let (scene, _) = Scene::managed_round(app, session, id).await?;
        return Ok(of_contest(scene.contest.id));
    }
    if let Some(id) = filter.contest {
        Scene::managed(app, session, id).await?;
        return Ok(of_contest(id));
    }
    if let Some(id) = filter.problem {
        let (_, access) = problems::find(app, session, id).await?;
        let scope = Scope {
            contest: None,
            problem: Some(id),
        };
        return access.edit.then_some(scope).ok_or(PageError::NotFound);
    }
    if session.viewer().is_admin() {
        return Ok(Scope {
            contest: None,
            problem: None,
        });
    }
    Err(PageError::NotFound)
}

/// A set that the viewer decides on.
async fn find(app: &App, session: &Session, id: i64) -> Page<Set> {
    let set = rejudging::by_id(&app.db, id).await?;
    let set = set.ok_or(PageError::NotFound)?;
    let filter = Filter {
        contest: set.contest_id,
        problem: set.problem_id,
        ..Filter::default()
    };
    scope(app, session, &filter).await?;
    Ok(set)
}

/// `GET /rejudgings`.
pub async fn list(State(app): State<Arc<App>>, session: Session) -> Page {
    let user = session.user_id()?;
    let sets = rejudging::page(&app.db, user, session.viewer().is_admin(), PAGE_ROWS).await?;
    if sets.is_empty() && !session.is_staff(&app).await? {
        return Err(PageError::NotFound);
    }
    let main = html! {
        h1 { (t::Rejudgings) }
        @if session.viewer().is_admin() {
            p { a.button href="/rejudgings/new" { (t::RejudgingNew) } }
        }
        div.scroll { table {
            thead { tr {
                th { (t::Rejudging) } th { (t::RejudgingReason) } th.number { (t::Submissions) }
                th { (t::State) }
                th { (t::By) } th { (t::Time) }
            } }
            tbody { @for one in &sets { tr {
                td { a href={ "/rejudgings/" (one.id) } { "#" (one.id) } }
                td { (one.reason) }
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
pub async fn form(
    State(app): State<Arc<App>>,
    session: Session,
    Query(fields): Query<Fields>,
) -> Page {
    session.user_id()?;
    let filter = fields.filter(&app).await?;
    scope(&app, &session, &filter).await?;
    let mut verdicts: Vec<(&str, &dyn Render)> = vec![("", &t::All)];
    for one in Verdict::ALL {
        verdicts.push((one.text(), parts::verdict_words(*one)));
    }
    let mut languages: Vec<(&str, &dyn Render)> = vec![("", &t::All)];
    for one in &app.languages {
        languages.push((&one.name, &one.title));
    }
    let places: [(_, &dyn Render, _); 5] = [
        ("contest", &t::Contest, &fields.contest),
        ("round", &t::Round, &fields.round),
        (
            "round_problem",
            &t::RejudgingRoundProblem,
            &fields.round_problem,
        ),
        ("problem", &t::Problem, &fields.problem),
        ("version", &t::RejudgingVersion, &fields.version),
    ];
    let main = html! {
        h1 { (t::RejudgingNew) }
        p {
            (t::RejudgingLead) " "
            a href="/rejudgings" { (t::RejudgingsAll) }
        }
        form.fields method="post" {
            label { (t::RejudgingReason)
                input name="reason" maxlength=(MAX_REASON) value=(fields.reason); }
            @for (name, label, value) in places {
                label { (label) input name=(name) type="number" min="1" value=(value); }
            }
            label { (t::RejudgingUser) input name="user" value=(fields.user); }
            (select("language", t::Language, &languages, &fields.language))
            (select("verdict", t::RejudgingVerdict, &verdicts, &fields.verdict))
            button { (t::JudgeAgain) }
        }
    };
    Ok(page(&session, t::JudgeAgain, main).into_response())
}

/// `POST /rejudgings/new`.
pub async fn create(
    State(app): State<Arc<App>>,
    session: Session,
    Form(fields): Form<Fields>,
) -> Page {
    session.user_id()?;
    let filter = fields.filter(&app).await?;
    let reason: String = fields.reason.trim().chars().take(MAX_REASON).collect();
    let id = add(&app, &session, &reason, &filter, false).await?;
    Ok(Redirect::to(&format!("/rejudgings/{id}")).into_response())
}

/// Adds a set that the viewer may decide on. Returns the id.
async fn add(
    app: &App,
    session: &Session,
    reason: &str,
    filter: &Filter,
    auto_apply: bool,
) -> Page<i64> {
    let scope = scope(app, session, filter).await?;
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
pub async fn judge_again(
    State(app): State<Arc<App>>,
    session: Session,
    Path(id): Path<i64>,
) -> Page {
    let filter = Filter {
        submission: Some(id),
        ..Filter::default()
    };
    add(&app, &session, "", &filter, true).await?;
    Ok(Redirect::to(&format!("/submissions/{id}")).into_response())
}

/// `GET /rejudgings/{id}`: what the set changes.
pub async fn show(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    let set = find(&app, &session, id).await?;
    let items = rejudging::items(&app.db, id).await?;
    let title = t::RejudgingTitle { id: id.to_string() };
    let is_live = set.state == SetState::Open && set.open > 0;
    let main = html! {
        h1 { (title) }
        div data-live {
            dl.facts {
                @if !set.reason.is_empty() { dt { (t::RejudgingReason) } dd { (set.reason) } }
                dt { (t::By) } dd { (set.login) ", " (time(set.created_at)) }
                dt { (t::Submissions) } dd { (set.size) " " (chosen(&set)) }
                dt { (t::State) }
                dd #state {
                    (state(&set)) @if let Some(at) = set.ended_at { ", " (time(at)) }
                }
                @if let Some(other) = set.repeat_of {
                    dt { (t::RejudgingRepeats) }
                    dd { a href={ "/rejudgings/" (other) } { "#" (other) } }
                }
            }
            (decision(&set, &items))
            h2 { (t::RejudgingVerdicts) }
            (table(&matrix(settled(&items).map(|one| (one.old_verdict, one.verdict)))))
            @if set.state == SetState::Open { (ranks(&app, &items).await?) }
            h2 { (t::RejudgingChanged) }
            (changes(&items))
        }
    };
    let answer = if is_live {
        live_page(&session, title, &format!("/rejudgings/{id}/live"), main)
    } else {
        page(&session, title, main)
    };
    Ok(answer.into_response())
}

/// The fields of the filter of a set.
fn chosen(set: &Set) -> Markup {
    let fields: BTreeMap<String, Value> = serde_json::from_str(&set.filter).unwrap_or_default();
    let fields: Vec<_> = fields
        .iter()
        .filter(|(_, value)| !value.is_null())
        .collect();
    html! {
        @if !fields.is_empty() {
            "("
            @for (index, (name, value)) in fields.iter().enumerate() {
                @if index > 0 { ", " }
                (t::Colon { what: field_words(name), detail: field_value(value) })
            }
            ")"
        }
    }
}

/// The word for a field of a filter, as it is stored.
fn field_words(name: &str) -> &'static dyn Message {
    match name {
        "contest" => &t::Contest,
        "round" => &t::Round,
        "round_problem" => &t::RejudgingRoundProblem,
        "problem" => &t::Problem,
        "user" => &t::User,
        "submission" => &t::Submission,
        "version" => &t::Version,
        "language" => &t::Language,
        "verdict" => &t::Result,
        _ => &t::Rejudging,
    }
}

fn field_value(value: &Value) -> Markup {
    let text = value.as_str();
    html! {
        @match (text.and_then(Verdict::of_text), text) {
            (Some(verdict), _) => (parts::verdict_words(verdict)),
            (None, Some(text)) => (text),
            (None, None) => (value),
        }
    }
}

fn settled(items: &[Item]) -> impl Iterator<Item = &Item> {
    items.iter().filter(|one| one.state == JudgementState::Done)
}

fn decision(set: &Set, items: &[Item]) -> Markup {
    let without = items
        .iter()
        .filter(|one| matches!(one.state, JudgementState::Fault | JudgementState::Cancelled));
    let without = without.count();
    let button = |action: &str, words: &dyn Render| {
        html! {
            form.inline method="post" action={ "/rejudgings/" (set.id) "/" (action) } {
                button { (words) }
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
                    @if set.open == 0 { (button("apply", &t::RejudgingApply)) }
                    (button("drop", &t::RejudgingDrop))
                }
                SetState::Applied | SetState::Dropped => (button("repeat", &t::RejudgingRepeat)),
            }
        }
    }
}

fn words(verdict: Option<Verdict>) -> Markup {
    match verdict {
        Some(verdict) => parts::verdict(verdict),
        None => html! { span.muted { (t::RejudgingNoVerdict) } },
    }
}

fn table(matrix: &Matrix) -> Markup {
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

fn changes(items: &[Item]) -> Markup {
    let changed: Vec<&Item> = settled(items)
        .filter(|one| (one.old_verdict, one.old_score) != (one.verdict, one.score))
        .collect();
    let points =
        |score: Option<i64>| html! { @if let Some(score) = score { (text::score(Score(score))) } };
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
                td.number { (points(one.old_score)) }
                td { (words(one.verdict)) }
                td.number { (points(one.score)) }
            } } }
        } }
        p.muted { (t::RejudgingChanges { count: changed.len() }) }
    }
}

/// The changes of ranks in the contests of a set.
async fn ranks(app: &App, items: &[Item]) -> Page<Markup> {
    let contests: BTreeSet<i64> = items.iter().filter_map(|one| one.contest_id).collect();
    let mut parts = Vec::new();
    for contest in contests.into_iter().take(MAX_CONTESTS) {
        parts.push(ranks_of(app, contest, items).await?);
    }
    Ok(html! { @for part in &parts { (part) } })
}

async fn ranks_of(app: &App, contest_id: i64, items: &[Item]) -> Page<Markup> {
    let contest = contest::by_id(&app.db, contest_id).await?;
    let contest = contest.ok_or(PageError::NotFound)?;
    let commits = *crate::db::commits().borrow();
    let old = app.rankings.data(&app.db, contest_id, commits).await?;
    let items: HashMap<i64, &Item> = settled(items).map(|one| (one.submission_id, one)).collect();
    let mut new = Data::clone(&old);
    for one in &mut new.submissions {
        if let Some(item) = items.get(&one.id) {
            one.initial_verdict = item.initial_verdict;
            one.verdict = item.verdict;
            one.score = item.score;
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

/// `GET /rejudgings/{id}/live`.
pub async fn live(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    find(&app, &session, id).await?;
    Ok(events(&app, move |change| change.rejudging == Some(id)))
}

/// `POST /rejudgings/{id}/apply`.
pub async fn apply(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    find(&app, &session, id).await?;
    let mut tx = app.db.begin().await?;
    let items = rejudging::items(&app.db, id).await?;
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
pub async fn drop_set(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    find(&app, &session, id).await?;
    let mut tx = app.db.begin().await?;
    let cancelled = rejudging::drop_set(&mut tx, id, Time::now()).await?;
    let Some(cancelled) = cancelled else {
        return Err(Refusal::RejudgingDecided.into());
    };
    tx.commit().await?;
    for judgement in cancelled {
        app.stops.stop(judgement);
    }
    Ok(Redirect::to(&format!("/rejudgings/{id}")).into_response())
}

/// `POST /rejudgings/{id}/repeat`: a new set with the same submissions.
pub async fn repeat(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    let set = find(&app, &session, id).await?;
    if set.state == SetState::Open {
        return Err(Refusal::RejudgingOpen.into());
    }
    let filter = Filter {
        contest: set.contest_id,
        problem: set.problem_id.filter(|_| set.contest_id.is_none()),
        set: Some(id),
        ..Filter::default()
    };
    let id = add(&app, &session, &set.reason, &filter, false).await?;
    Ok(Redirect::to(&format!("/rejudgings/{id}")).into_response())
}
