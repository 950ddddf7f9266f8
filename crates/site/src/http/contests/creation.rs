//! One form for a contest, its first round and the problems of the round.

use super::{Fields, check, class_entry, inputs};
use crate::app::App;
use crate::core::finals::{FinalMethod, Reveal};
use crate::core::label;
use crate::core::search::Search;
use crate::core::time::Time;
use crate::core::zone::Zone;
use crate::db::contest::{
    self, MemberRole, Mode, RoundFields, RoundProblemFields, RoundRules, Visibility,
};
use crate::db::{class, problem};
use crate::http::problems::problem_list::find as find_problems;
use crate::http::problems::{self, MAX_NAME};
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::{crumbs, page};
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::{PAGE_ROWS, check_name};
use crate::http::web::repeated::Repeated;
use crate::http::web::session::Session;
use crate::http::web::zones::{form_zone, read_time, time_input, zone_field};
use crate::text::{self, Message, t};
use axum::extract::Form;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};

/// The penalty of a new round, in minutes.
const PENALTY_MINUTES: i64 = 20;
/// The maximum number of problems of a list that is shown without being opened.
const FEW_PROBLEMS: usize = 12;
/// The maximum number of problems that the form adds.
const MAX_PROBLEMS: usize = 50;
/// The maximum number of classes whose members the form adds.
const MAX_CLASSES: usize = 50;

/// `GET /contests/new`.
pub async fn form(Ctx { app, session }: Ctx) -> Page {
    if !session.viewer().is_teacher() {
        return Err(PageError::NotFound);
    }
    let main = html! {
        (crumbs(&[("/contests", &t::Contests)], t::ContestsAdd))
        h1 { (t::ContestsAdd) }
        form.fields method="post" {
            (inputs(&app, "", Visibility::Private, None))
            (round_inputs(&app, &session).await?)
            button { (t::ContestsAddButton) }
        }
    };
    Ok(page(&session, t::ContestsAdd, main).into_response())
}

async fn round_inputs(app: &App, session: &Session) -> Page<Markup> {
    let (zone, name) = (text::zone(), t::ContestFirstRoundName.plain());
    let search = Search::default();
    let problems = find_problems(&app.db, session.viewer(), 0, &search, PAGE_ROWS).await?;
    let classes = class::list(&app.db, session.user_id()?, session.viewer().is_admin()).await?;
    Ok(html! {
        fieldset {
            legend { (t::ContestFirstRound) }
            label { (t::ContestFirstRoundField)
                input name="round_name" maxlength=(MAX_NAME) value=(name); }
            (zone_field(&zone))
            div.pair {
                (time_input(&zone, ("begins", &t::RoundBegins), None, false, html! {}))
                (time_input(&zone, ("ends", &t::RoundEnds), None, false, html! {}))
            }
            p.hint { (t::RoundFieldHint) }
            div {
                label.check { input type="radio" name="mode" value="points" checked;
                    (t::RulesModePoints) }
                label.check { input type="radio" name="mode" value="icpc"; (t::RulesModeIcpc) }
            }
            @if !problems.is_empty() {
                details open[problems.len() <= FEW_PROBLEMS] {
                    summary { (t::ContestFirstProblems) }
                    div.choices { @for one in &problems {
                        label.check {
                            input type="checkbox" name="problems" value=(one.id);
                            (one.name)
                        }
                    } }
                }
            }
        }
        @if !classes.is_empty() {
            fieldset {
                legend { (t::Classes) }
                div.choices { @for one in &classes {
                    label.check {
                        input type="checkbox" name="classes" value=(one.id);
                        (one.name) " (" (one.members) ")"
                    }
                } }
                p.hint { (t::MembersClassHint) }
            }
        }
    })
}

/// The first round in the form; `None` without its name.
fn read_round(form: &Repeated) -> Page<Option<(RoundFields, Mode)>> {
    let name = form.text("round_name").trim();
    if name.is_empty() {
        return Ok(None);
    }
    check_name(name, MAX_NAME)?;
    let zone = form_zone(form.text("zone"))?;
    let fields = RoundFields {
        name: name.to_owned(),
        begins: read_time(&zone, form.text("begins"), None, Time::ALWAYS)?,
        ends: read_time(&zone, form.text("ends"), None, Time::NEVER)?,
        full_results: Time::ALWAYS,
        ranking_from: Time::ALWAYS,
    };
    if fields.ends <= fields.begins {
        return Err(Mistake::RoundOrder.into());
    }
    let mode = Mode::of_text(form.text("mode")).unwrap_or(Mode::Points);
    if mode == Mode::Icpc && fields.begins == Time::ALWAYS {
        return Err(Mistake::IcpcNeedsBegin.into());
    }
    Ok(Some((fields, mode)))
}

/// The chosen problems with their labels: A, B, C and so on.
async fn read_problems(
    app: &App,
    session: &Session,
    form: &Repeated,
) -> Page<Vec<(i64, RoundProblemFields)>> {
    let mut chosen = Vec::new();
    for id in form.all("problems").take(MAX_PROBLEMS) {
        let id = id.parse().map_err(|_| PageError::NotFound)?;
        let (problem, access) = problems::find(app, session, id).await?;
        if !access.attach {
            return Err(PageError::NotFound);
        }
        let version = problem::current_version(&app.db, id).await?;
        let fields = RoundProblemFields {
            version_id: version.ok_or(PageError::NotFound)?.id,
            label: label::of_number(chosen.len()),
            name: problem.name,
            final_method: FinalMethod::Best,
            reveal: Reveal::Nothing,
        };
        chosen.push((id, fields));
    }
    Ok(chosen)
}

/// `POST /contests/new`.
pub async fn create(Ctx { app, session }: Ctx, Form(form): Form<Repeated>) -> Page {
    let user = session.user_id()?;
    if !session.viewer().is_teacher() {
        return Err(PageError::NotFound);
    }
    let visibility = Visibility::of_text(form.text("visibility"));
    let fields = Fields {
        name: form.text("name").to_owned(),
        visibility: visibility.ok_or(PageError::Malformed)?,
        time_zone: form.get("time_zone").map(str::to_owned),
    };
    check(&fields, Visibility::Private, &session)?;
    let zone = fields.time_zone()?.flatten();
    let round = read_round(&form)?;
    let problems = read_problems(&app, &session, &form).await?;
    let classes = form.all("classes").take(MAX_CLASSES).map(str::parse::<i64>);
    let mut classes: Vec<i64> = classes
        .collect::<Result<_, _>>()
        .map_err(|_| PageError::NotFound)?;
    classes.sort_unstable();
    classes.dedup();
    let now = Time::now();
    let mut tx = app.db.begin().await?;
    let id = contest::insert(&mut tx, fields.name.trim(), fields.visibility, now).await?;
    contest::set_time_zone(&mut tx, id, zone.as_ref().map(Zone::name)).await?;
    contest::join(&mut tx, id, user, MemberRole::Owner, now).await?;
    class_entry::join_all(&mut tx, &session, id, &classes, now).await?;
    let Some((fields, mode)) = round else {
        tx.commit().await?;
        return Ok(Redirect::to(&format!("/contests/{id}/edit")).into_response());
    };
    let round = contest::insert_round(&mut tx, id, &fields).await?;
    let rules = RoundRules {
        mode,
        penalty_minutes: PENALTY_MINUTES,
        freeze_at: Time::NEVER,
        thaw_at: Time::NEVER,
        window_seconds: None,
    };
    contest::update_rules(&mut tx, round, &rules).await?;
    for (problem, fields) in &problems {
        contest::insert_round_problem(&mut tx, round, *problem, fields).await?;
    }
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{id}")).into_response())
}
