//! Rounds and their problems.

use super::clocks;
use super::feedback;
use super::submission_rules;
use super::view::{ContestView, Managed, ManagedProblem, ManagedRound, ViewedProblem};
use crate::app::App;
use crate::core::finals::{FinalMethod, Reveal};
use crate::core::label::{MAX_LABEL, are_equal};
use crate::core::package::Manifest;
use crate::core::search::Search;
use crate::core::time::Time;
use crate::core::zone::Zone;
use crate::db::contest::{self, Mode, Round, RoundFields, RoundProblem, RoundProblemFields};
use crate::db::problem::{self, Problem};
use crate::db::{self, Tx};
use crate::http::problems::problem_list::{find as find_problems, search_form};
use crate::http::problems::{self, MAX_NAME, StatementChoice, editorial, shown_statement};
use crate::http::web::context::{Checked, Ctx};
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::{PAGE_ROWS, check_name, select, statement};
use crate::http::web::repeated::Repeated;
use crate::http::web::session::Session;
use crate::http::web::zones::{
    form_zone, merged_time, read_edited_time, read_time, shown_field, shown_time, time_input,
    zone_field,
};
use crate::text::{self, t};
use axum::extract::{Form, Path, Query};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, Render, html};
use serde::Deserialize;
use std::sync::Arc;

const METHODS: [(&str, &dyn Render); 3] = [
    ("best", &t::RoundMethodBest),
    ("subtasks", &t::RoundMethodSubtasks),
    ("last_compiling", &t::RoundMethodLast),
];

/// The most points that a round gives for a problem.
const MAX_POINTS: i64 = 10_000;

/// The fields of a round, as the form sends them.
#[derive(Deserialize)]
pub struct Fields {
    name: String,
    begins: String,
    ends: String,
    full_results: String,
    ranking_from: String,
    /// Set if only the staff ever sees the ranking.
    ranking_hidden: Option<String>,
    /// The zone of the times.
    #[serde(default)]
    zone: String,
    /// The times that the form of a round has shown.
    #[serde(skip)]
    shown: ShownTimes,
}

#[derive(Default)]
struct ShownTimes {
    begins: Option<Time>,
    ends: Option<Time>,
    full_results: Option<Time>,
    ranking_from: Option<Time>,
}

/// The inputs of a round.
pub fn inputs(round: Option<&Round>) -> Markup {
    let zone = text::zone();
    let input = |name: &str, label: &dyn Render, time: fn(&Round) -> Time, hint: Markup| {
        html! {
            (time_input(&zone, (name, label), round.map(time), false, hint))
            @if let Some(round) = round { (shown_field(name, time(round))) }
        }
    };
    let full_hint = html! { span.hint { (t::RoundFieldFullResultsEmpty) } };
    let ranking_hint = html! { span.hint { (t::RoundFieldEmpty) } };
    html! {
        label { (t::Name)
            input name="name" required maxlength=(MAX_NAME)
                value=[round.map(|round| &round.name)]; }
        p.hint { (t::RoundFieldHint) }
        (zone_field(&zone))
        div.pair {
            (input("begins", &t::RoundBegins, |round| round.begins, html! {}))
            (input("ends", &t::RoundEnds, |round| round.ends, html! {}))
            (input("full_results", &t::RoundFieldFullResults, |round| round.full_results,
                full_hint))
            (input("ranking_from", &t::RoundFieldRanking, |round| round.ranking_from,
                ranking_hint))
        }
        label.check {
            input type="checkbox" name="ranking_hidden" value="1"
                checked[round.is_some_and(|round| round.ranking_from == Time::NEVER)];
            (t::RoundRankingNever)
        }
    }
}

impl Fields {
    /// An empty field opens something, so a missing one is an error.
    fn of(form: &Repeated) -> Page<Fields> {
        let text = |name| Ok::<_, PageError>(form.required(name)?.to_owned());
        Ok(Fields {
            name: text("name")?,
            begins: text("begins")?,
            ends: text("ends")?,
            full_results: text("full_results")?,
            ranking_from: text("ranking_from")?,
            ranking_hidden: form.get("ranking_hidden").map(str::to_owned),
            zone: form.text("zone").to_owned(),
            shown: ShownTimes {
                begins: shown_time(form, "begins"),
                ends: shown_time(form, "ends"),
                full_results: shown_time(form, "full_results"),
                ranking_from: shown_time(form, "ranking_from"),
            },
        })
    }

    /// Reads the fields of a new round, or the changed fields of a round.
    fn read(&self, round: Option<&Round>) -> Page<RoundFields> {
        check_name(&self.name, MAX_NAME)?;
        let zone = form_zone(&self.zone)?;
        let time = |field: (&'static str, &str), shown, stored: Option<Time>, empty| match stored {
            Some(stored) => read_edited_time(&zone, field, shown, stored, empty),
            None => read_time(&zone, field.1, None, empty),
        };
        let shown = &self.shown;
        let fields = RoundFields {
            name: self.name.trim().to_owned(),
            begins: time(
                ("begins", &self.begins),
                shown.begins,
                round.map(|round| round.begins),
                Time::ALWAYS,
            )?,
            ends: time(
                ("ends", &self.ends),
                shown.ends,
                round.map(|round| round.ends),
                Time::NEVER,
            )?,
            full_results: time(
                ("full_results", &self.full_results),
                shown.full_results,
                round.map(|round| round.full_results),
                Time::ALWAYS,
            )?,
            ranking_from: self.ranking_from(&zone, round)?,
        };
        if fields.ends <= fields.begins {
            return Err(Mistake::RoundOrder.into());
        }
        Ok(fields)
    }

    /// The time of the ranking, for which the form has two inputs.
    fn ranking_from(&self, zone: &Zone, round: Option<&Round>) -> Page<Time> {
        let stored = round.map(|round| round.ranking_from);
        let shown = self.shown.ranking_from.or(stored);
        let typed = match self.ranking_hidden {
            Some(_) => Time::NEVER,
            None => read_time(zone, &self.ranking_from, shown, Time::ALWAYS)?,
        };
        Ok(match (shown, stored) {
            (Some(shown), Some(stored)) => merged_time("ranking_from", typed, shown, stored)?,
            _ => typed,
        })
    }
}

/// `POST /contests/{id}/rounds`.
pub async fn create(
    Checked(Managed(Ctx { app, .. }, view), Form(fields)): Checked<Managed, Form<Fields>>,
) -> Page {
    let id = view.contest.id;
    let fields = fields.read(None)?;
    let mut tx = app.db.begin().await?;
    let round = contest::insert_round(&mut tx, id, &fields).await?;
    tx.commit().await?;
    app.live.contest_changed(id);
    Ok(Redirect::to(&format!("/rounds/{round}")).into_response())
}

/// `GET /rounds/{id}`.
pub async fn show(
    Query(search): Query<Search>,
    ManagedRound(Ctx { app, session }, view, round): ManagedRound,
) -> Page {
    let id = round.id;
    let problems = contest::problems(&app.db, view.contest.id).await?;
    let found = find_problems(&app.db, session.viewer(), 0, &search, PAGE_ROWS).await?;
    let main = html! {
        (view.top(&session, Some(&round.name)))
        h2 { (round.name) }
        (super::extension::form(&round, Time::now()))
        form.fields method="post" {
            (inputs(Some(&round)))
            (super::rules::inputs(&app, &round, view.access).await?)
            button { (t::RoundSave) }
        }
        (super::rules::thaw_form(&round, view.access))
        form.actions method="post" action={ "/rounds/" (id) "/copy" } {
            button.second { (t::RoundCopy) }
            a href={ "/rounds/" (id) "/delete" } { (t::RoundDelete) }
        }
        h2 { (t::Problems) }
        (order(problems.iter().filter(|one| one.round_id == id)))
        h2 #add { (t::ProblemsAdd) }
        (search_form(&format!("/rounds/{id}#add"), &search))
        form.fields method="post" action={ "/rounds/" (id) "/problems" } {
            (problem_input(&found, !search.pattern().is_empty()))
            (label_input(""))
            (select("final_method", t::RoundFinalMethod, &METHODS, FinalMethod::Best.text()))
            (feedback::choice(Reveal::Nothing))
            button { (t::ProblemsAddButton) }
        }
    };
    Ok(page(&session, &round.name, main).into_response())
}

fn label_input(value: &str) -> Markup {
    html! {
        label { (t::Label)
            input name="label" value=(value) required maxlength=(MAX_LABEL); }
    }
}

/// Checks that no other problem of a round has a label. `own` is the problem that gets it.
async fn check_label(tx: &mut Tx, round: i64, own: Option<i64>, label: &str) -> Page<()> {
    let problems = contest::problems_of_round(tx, round).await?;
    let mut others = problems.into_iter().filter(|one| Some(one.id) != own);
    match others.find(|one| are_equal(&one.label, label)) {
        Some(other) => Err(Mistake::LabelTaken { label: other.label }.into()),
        None => Ok(()),
    }
}

/// The number of a problem in a field that has suggestions such as `Sum (12)`.
fn problem_number(text: &str) -> Option<i64> {
    let text = text.trim();
    let inside = text
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('));
    inside.map_or(text, |(_, number)| number).parse().ok()
}

/// The choice of a problem: between those that a search has found or, if the site has few problems,
/// between all of them. Otherwise by its number.
fn problem_input(found: &[Problem], is_search: bool) -> Markup {
    let is_whole = is_search || found.len() < PAGE_ROWS as usize;
    html! {
        @if is_whole && !found.is_empty() {
            label { (t::RoundProblemName)
                input name="problem" list="problem-names" autocomplete="off" required;
            }
            datalist #problem-names { @for one in found {
                option value={ (one.name) " (" (one.id) ")" } {}
            } }
        } @else {
            @if is_search { p { (t::ProblemsNotFound) } }
            label { (t::RoundProblemNumber)
                input name="problem" type="number" min="1" required; }
        }
    }
}

/// The problems of a round, with buttons that change their order.
fn order<'p>(problems: impl Iterator<Item = &'p RoundProblem>) -> Markup {
    let problems: Vec<&RoundProblem> = problems.collect();
    let button = |one: &RoundProblem, direction: &str, words: &dyn Render| {
        html! {
            button name="direction" value=(direction) {
                (words) span.visually-hidden { " " (one.label) " " (one.name) }
            }
        }
    };
    html! {
        ul #problems { @for (index, one) in problems.iter().enumerate() {
            li {
                a href={ "/round-problems/" (one.id) } { (one.label) " " (one.name) } " "
                form.inline method="post" action={ "/round-problems/" (one.id) "/move" } {
                    @if index > 0 { (button(one, "up", &t::RoundMoveUp)) }
                    @if index + 1 < problems.len() { (button(one, "down", &t::RoundMoveDown)) }
                }
            }
        } }
    }
}

/// The direction in which a problem of a round moves.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Up,
    Down,
}

/// The fields of `POST /round-problems/{id}/move`.
#[derive(Deserialize)]
pub struct Move {
    direction: Direction,
}

/// `POST /round-problems/{id}/move`.
pub async fn move_problem(
    Checked(ManagedProblem(app, problem), Form(form)): Checked<ManagedProblem, Form<Move>>,
) -> Page {
    let mut tx = app.db.begin().await?;
    contest::move_round_problem(&mut tx, &problem, form.direction == Direction::Up).await?;
    tx.commit().await?;
    app.live.contest_changed(problem.contest_id);
    Ok(Redirect::to(&format!("/rounds/{}#problems", problem.round_id)).into_response())
}

/// `POST /rounds/{id}`: all settings of a round. A form without the name or without the mode keeps
/// the settings of that part.
pub async fn edit(
    Checked(ManagedRound(Ctx { app, .. }, view, round), Form(form)): Checked<
        ManagedRound,
        Form<Repeated>,
    >,
) -> Page {
    let id = round.id;
    let mut tx = app.db.begin().await?;
    let stored = contest::round(&mut tx, id).await?;
    let mut round = stored.ok_or(PageError::NotFound)?;
    if form.get("name").is_some() {
        let fields = Fields::of(&form)?.read(Some(&round))?;
        contest::update_round(&mut tx, id, &fields).await?;
        (round.begins, round.ends) = (fields.begins, fields.ends);
        // Otherwise the rules of the form are checked.
        if form.get("mode").is_none() {
            super::rules::check_times(round.mode, round.window_seconds, &round)?;
        }
    }
    super::rules::set(&mut tx, &app, &form, &round, view.access).await?;
    tx.commit().await?;
    app.live.contest_changed(view.contest.id);
    Ok(Redirect::to(&format!("/rounds/{id}")).into_response())
}

/// The fields of `POST /rounds/{id}/problems`.
#[derive(Deserialize)]
pub struct Attach {
    /// The number, or the name with the number in parentheses.
    problem: String,
    label: String,
    final_method: FinalMethod,
    reveal: Reveal,
}

/// `POST /rounds/{id}/problems`.
pub async fn attach(
    Checked(ManagedRound(Ctx { app, session }, _, round), Form(form)): Checked<
        ManagedRound,
        Form<Attach>,
    >,
) -> Page {
    let id = round.id;
    check_name(&form.label, MAX_LABEL)?;
    let number = problem_number(&form.problem).ok_or(Mistake::NoSuchProblem)?;
    let (problem, access) = problems::find(&app, &session, number).await?;
    if !access.attach {
        return Err(PageError::NotFound);
    }
    let version = problem::current_version(&app.db, problem.id).await?;
    let version = version.ok_or(PageError::NotFound)?;
    let fields = RoundProblemFields {
        version_id: version.id,
        label: form.label.trim().to_owned(),
        name: problem.name,
        final_method: form.final_method,
        reveal: form.reveal,
    };
    let mut tx = app.db.begin().await?;
    check_label(&mut tx, id, None, &fields.label).await?;
    contest::insert_round_problem(&mut tx, id, problem.id, &fields).await?;
    tx.commit().await?;
    app.live.contest_changed(round.contest_id);
    Ok(Redirect::to(&format!("/rounds/{id}#problems")).into_response())
}

async fn manifest(app: &App, problem: &RoundProblem) -> Page<Arc<Manifest>> {
    if let Some(kept) = app.statements.manifest(problem.version_id) {
        return Ok(kept);
    }
    let version = problem::version(&app.db, problem.version_id).await?;
    let version = version.ok_or(PageError::NotFound)?;
    let manifest = Manifest::of_json(&version.manifest);
    Ok(app.statements.keep_manifest(version.id, manifest))
}

/// `GET /round-problems/{id}`.
pub async fn problem(
    ViewedProblem(Ctx { app, session }, view, problem): ViewedProblem,
    Query(choice): Query<StatementChoice>,
) -> Page {
    let id = problem.id;
    let manifest = manifest(&app, &problem).await?;
    let files = format!("/round-problems/{id}/files");
    let mut text = shown_statement(&app, session.party(), &manifest, &files, &choice).await?;
    // The points stay stored while the round is in ICPC mode.
    text.max_points = problem.max_points.filter(|_| problem.mode == Mode::Points);
    let title = format!("{} {}", problem.label, problem.name);
    let is_open = view.submits(&problem);
    let times = view.times(problem.round_id, problem.schedule());
    let reader = reader(&session, &view, &problem);
    let practises = view.practises_problem(&app, &problem).await?;
    // Others never see it while the round runs, so its pages need no query.
    let may_see = view.access.manage || problem.ends <= Time::now();
    let has_editorial = may_see && editorial::is_offered(&app, reader, &manifest).await?;
    let main = html! {
        (view.top(&session, Some(&title)))
        h2 { (title) }
        (clocks::state(&view, &times, Time::now()))
        @if is_open {
            p.actions {
                a.button href={ "/round-problems/" (id) "/submit" } { (t::Submit) }
                a href={ "/round-problems/" (id) "/try" } { (t::ProblemTry) }
                a href={ "/contests/" (problem.contest_id) "/clarifications?problem=" (id) } {
                    (t::Clarifications)
                }
            }
        }
        @if practises && !is_open {
            p.actions {
                a.button.second href={ "/round-problems/" (id) "/submit" } { (t::PracticeSubmit) }
            }
        }
        @if has_editorial { (editorial::link(&format!("/round-problems/{id}"))) }
        (statement(&manifest, &text, &files))
        @if is_open && !view.access.manage { (file_form(id)) }
        @if view.access.manage { (settings(&app, &problem).await?) }
    };
    Ok(page(&session, &title, main).into_response())
}

/// A form for a file, whose extension states the language. The page of the form for submissions
/// shows a file that was rejected.
fn file_form(id: i64) -> Markup {
    html! {
        h2 { (t::SubmitFileTitle) }
        form.inline method="post" enctype="multipart/form-data"
            action={ "/round-problems/" (id) "/submit" } {
            input type="hidden" name="language" value="";
            label { (t::SubmitFile) input type="file" name="file" required; }
            button.main { (t::Submit) }
        }
    }
}

async fn settings(app: &App, problem: &RoundProblem) -> Page<Markup> {
    let versions = problem::versions(&app.db, problem.problem_id).await?;
    let rules = db::submission_rules::of_problem(&app.db, problem.id).await?;
    Ok(html! {
        h2 { (t::Settings) }
        form.fields method="post" action={ "/round-problems/" (problem.id) "/edit" } {
            (label_input(&problem.label))
            label { (t::Name)
                input name="name" value=(problem.name) required maxlength=(MAX_NAME); }
            label { (t::RoundProblemVersion)
                select name="version" { @for version in &versions {
                    option value=(version.id) selected[version.id == problem.version_id] {
                        (version.number)
                    }
                } }
            }
            (select("final_method", t::RoundFinalMethod, &METHODS, problem.final_method.text()))
            @if problem.mode == Mode::Points {
                label { (t::RoundProblemPoints)
                    input name="max_points" type="number" min="1" max=(MAX_POINTS)
                        value=[problem.max_points]; }
                p.hint { (t::RoundProblemPointsHint) }
            }
            (feedback::choice(problem.reveal))
            (submission_rules::inputs(&rules, &app.languages, true))
            button { (t::Save) }
        }
        (super::rules::colour_form(problem))
        p.hint { (t::RoundVersionHint) }
        form.actions method="post" action={ "/round-problems/" (problem.id) "/pause" } {
            a href={ "/rejudgings/new?round_problem=" (problem.id) } { (t::RoundJudgeAllAgain) }
            a href={ "/round-problems/" (problem.id) "/delete" } { (t::RoundProblemRemove) }
            @if problem.allow_judge {
                button name="pause" value="1" { (t::RoundPause) }
            } @else {
                span { (t::RoundPaused) }
                button name="pause" value="" { (t::RoundContinue) }
            }
        }
    })
}

/// `POST /round-problems/{id}/edit`.
pub async fn edit_problem(
    Checked(ViewedProblem(Ctx { app, .. }, view, problem), Form(form)): Checked<
        ViewedProblem,
        Form<Repeated>,
    >,
) -> Page {
    if !view.access.manage {
        return Err(PageError::NotFound);
    }
    let id = problem.id;
    let (label, name) = (form.text("label").trim(), form.text("name").trim());
    check_name(label, MAX_LABEL)?;
    check_name(name, MAX_NAME)?;
    let rules = submission_rules::read(&form, &app.languages)?;
    let version_id = form
        .text("version")
        .parse()
        .map_err(|_| PageError::Malformed)?;
    let version = problem::version(&app.db, version_id).await?;
    if version.is_none_or(|version| version.problem_id != problem.problem_id) {
        return Err(PageError::NotFound);
    }
    let fields = RoundProblemFields {
        version_id,
        label: label.to_owned(),
        name: name.to_owned(),
        final_method: FinalMethod::of_text(form.text("final_method"))
            .ok_or(PageError::Malformed)?,
        reveal: Reveal::of_text(form.text("reveal")).ok_or(PageError::Malformed)?,
    };
    // Only the form of a round with points has the field.
    let max_points = match form.get("max_points") {
        Some(_) => Some(form.number("max_points", MAX_POINTS)?),
        None => None,
    };
    let mut tx = app.db.begin().await?;
    check_label(&mut tx, problem.round_id, Some(id), &fields.label).await?;
    if let Some(max_points) = max_points {
        contest::set_max_points(&mut tx, id, max_points).await?;
    }
    contest::update_round_problem(&mut tx, id, &fields).await?;
    if let Some(rules) = rules {
        db::submission_rules::set_of_problem(&mut tx, id, &rules).await?;
    }
    tx.commit().await?;
    app.live.contest_changed(problem.contest_id);
    if version_id != problem.version_id {
        // The submissions that were judged with the old version.
        let place = format!(
            "/rejudgings/new?round_problem={id}&version={}",
            problem.version_id
        );
        return Ok(Redirect::to(&place).into_response());
    }
    Ok(Redirect::to(&format!("/round-problems/{id}")).into_response())
}

/// `GET /round-problems/{id}/files/{name}`.
pub async fn file(Ctx { app, session }: Ctx, Path((id, name)): Path<(i64, String)>) -> Page {
    let (_, problem) = ContestView::of_problem(&app, &session, id).await?;
    let manifest = manifest(&app, &problem).await?;
    problems::package_file(&app, &manifest, &name).await
}

/// The viewer of a contest's problem.
fn reader(session: &Session, view: &ContestView, problem: &RoundProblem) -> editorial::Reader {
    let role = match view.access.manage {
        true => editorial::Role::Staff,
        false => editorial::Role::Other,
    };
    editorial::Reader::new(session, problem.problem_id, role, Some(problem.round_id))
}

/// `GET /round-problems/{id}/editorial`.
pub async fn show_editorial(
    ViewedProblem(Ctx { app, session }, view, problem): ViewedProblem,
    Query(choice): Query<StatementChoice>,
) -> Page {
    let manifest = manifest(&app, &problem).await?;
    let root = format!("/round-problems/{}", problem.id);
    let reader = reader(&session, &view, &problem);
    let party = session.party();
    let content = editorial::content(&app, party, reader, &manifest, &root, &choice).await?;
    let title = format!("{} {}", problem.label, problem.name);
    let main = html! {
        (view.top(&session, Some(&t::Editorial)))
        h2 { a href=(root) { (title) } ": " (t::Editorial) }
        (content)
    };
    Ok(page(&session, t::Editorial, main).into_response())
}

/// `GET /round-problems/{id}/editorial/{name}`.
pub async fn editorial_file(
    Ctx { app, session }: Ctx,
    Path((id, name)): Path<(i64, String)>,
) -> Page {
    let (view, problem) = ContestView::of_problem(&app, &session, id).await?;
    let manifest = manifest(&app, &problem).await?;
    let reader = reader(&session, &view, &problem);
    editorial::file(&app, reader, &manifest, &name).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_is_named_by_its_number_or_a_suggestion() {
        let table = [
            ("12", Some(12)),
            (" 12 ", Some(12)),
            ("Sum (12)", Some(12)),
            ("Sum (of two) (12)", Some(12)),
            ("Sum", None),
            ("Sum ()", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(problem_number(text), expected, "{text}");
        }
    }
}
