//! The members' results in several contests.

use super::view::{ManagedClass, top};
use crate::app::App;
use crate::core::grades::{Contest, Grade, Sheet};
use crate::core::roster;
use crate::core::time::Time;
use crate::db::class::{self, Class, Named, Pupil};
use crate::db::contest::Mode;
use crate::http::web::context::Ctx;
use crate::http::web::error::Page;
use crate::http::web::layout::page;
use crate::http::web::session::Session;
use crate::http::web::slips;
use crate::text::{score, t};
use axum::extract::Query;
use axum::response::IntoResponse;
use maud::{Markup, Render, html};

/// The maximum number of contests of one sheet.
const MAX_CONTESTS: usize = 20;

/// The contests of the query: `contest=1&contest=2`.
type Choice = Query<Vec<(String, String)>>;

/// A sheet, with what its page shows besides it.
struct View {
    pupils: Vec<Pupil>,
    /// The contests that the viewer may choose.
    contests: Vec<Named>,
    chosen: Vec<i64>,
    sheet: Sheet,
}

async fn read(app: &App, session: &Session, class: &Class, Query(fields): Choice) -> Page<View> {
    let user = session.user_id()?;
    let is_admin = session.viewer().is_admin();
    let pupils = class::members(&app.db, class.id).await?;
    let contests = class::contests(&app.db, class.id, user, is_admin).await?;
    let fields = fields.iter().filter(|(name, _)| name == "contest");
    let wanted: Vec<i64> = fields.filter_map(|(_, value)| value.parse().ok()).collect();
    let mut chosen = Vec::new();
    // The oldest first.
    for one in contests.iter().rev().filter(|one| wanted.contains(&one.id)) {
        if chosen.len() == MAX_CONTESTS {
            break;
        }
        let commits = *crate::db::commits().borrow();
        let data = app.rankings.data(&app.db, one.id, commits).await?;
        let participants = class::participants(&app.db, class.id, one.id).await?;
        // Teams follow users, and replace them.
        let participants = participants
            .iter()
            .map(|it| (it.user_id, it.participant_id));
        chosen.push(Contest {
            name: one.name.clone(),
            data,
            participants: participants.collect(),
        });
    }
    let ids = contests.iter().rev().map(|one| one.id);
    let ids = ids.filter(|id| wanted.contains(id)).take(MAX_CONTESTS);
    let ids = ids.collect();
    let users: Vec<i64> = pupils.iter().map(|one| one.id).collect();
    let turn = app.limits.rendering.turn(session.party()).await?;
    let sheet = turn
        .run(move || Sheet::new(&users, &chosen, Time::now()))
        .await?;
    Ok(View {
        pupils,
        contests,
        chosen: ids,
        sheet,
    })
}

/// `GET /classes/{id}/grades`.
pub async fn show(ManagedClass(Ctx { app, session }, class): ManagedClass, choice: Choice) -> Page {
    let view = read(&app, &session, &class, choice).await?;
    let root = format!("/classes/{}/grades", class.id);
    let mut query = form_urlencoded::Serializer::new(String::new());
    for id in &view.chosen {
        query.append_pair("contest", &id.to_string());
    }
    let query = query.finish();
    let main = html! {
        (top(&class, Some(&t::ClassGrades)))
        h2 { (t::ClassGrades) }
        @if view.contests.is_empty() {
            p.muted { (t::ClassNoContests) }
        } @else {
            form.unprinted method="get" {
                fieldset {
                    legend { (t::Contests) }
                    @for one in &view.contests { label.check {
                        input type="checkbox" name="contest" value=(one.id)
                            checked[view.chosen.contains(&one.id)];
                        (one.name)
                    } }
                }
                p.actions {
                    button { (t::ClassGradesShow) }
                    @if !view.chosen.is_empty() {
                        a href={ (root) ".csv?" (query) } { (t::ClassGradesCsv) }
                    }
                }
            }
            p.hint.unprinted { (t::ClassGradesHint { max: MAX_CONTESTS }) }
            @if !view.chosen.is_empty() { (table(&view)) }
        }
    };
    Ok(page(&session, t::ClassGrades, main).into_response())
}

fn table(view: &View) -> Markup {
    let sheet = &view.sheet;
    let has = |mode| sheet.columns.iter().any(|(_, _, one)| *one == mode);
    html! {
        div.scroll { table #grades {
            thead { tr {
                th { (t::Login) } th { (t::PersonName) }
                @for (contest, rounds, mode) in &sheet.columns { th.number {
                    (contest) br; small { (rounds) ", " (mode_words(*mode)) }
                } }
                @if has(Mode::Points) { th.number { (t::ClassSumPoints) } }
                @if has(Mode::Icpc) { th.number { (t::ClassSumSolved) } }
            } }
            tbody { @for (one, grades) in view.pupils.iter().zip(&sheet.rows) { tr {
                td { (one.login) } td { (one.name) }
                @for grade in grades { td.number { (grade_words(*grade)) } }
                @let (points, solved) = Sheet::sums(grades);
                @if has(Mode::Points) { td.number { (score(points)) } }
                @if has(Mode::Icpc) { td.number { (solved) } }
            } } }
        } }
    }
}

fn mode_words(mode: Mode) -> &'static dyn Render {
    match mode {
        Mode::Points => &t::ClassPoints,
        Mode::Icpc => &t::ClassSolved,
    }
}

fn grade_words(grade: Grade) -> Markup {
    match grade {
        Grade::Absent => html! { "–" },
        Grade::Disqualified => t::ParticipantDisqualified.render(),
        Grade::Points(points) => score(points).render(),
        Grade::Solved(solved) => solved.render(),
    }
}

/// `GET /classes/{id}/grades.csv`.
pub async fn csv(ManagedClass(Ctx { app, session }, class): ManagedClass, choice: Choice) -> Page {
    let view = read(&app, &session, &class, choice).await?;
    let name = format!("grades-{}.csv", class.id);
    let text = text(&view.pupils, &view.sheet);
    Ok(slips::file(&name, "text/csv; charset=utf-8", text))
}

/// A sheet as CSV, in English like all exports.
fn text(pupils: &[Pupil], sheet: &Sheet) -> String {
    let mut lines = Vec::new();
    let mut head = vec!["login".to_owned(), "name".to_owned()];
    head.extend(sheet.columns.iter().map(|(contest, rounds, mode)| {
        let unit = match mode {
            Mode::Points => "points",
            Mode::Icpc => "solved",
        };
        format!("{contest}: {rounds} ({unit})")
    }));
    head.extend(["points".to_owned(), "solved".to_owned()]);
    lines.push(head);
    for (one, grades) in pupils.iter().zip(&sheet.rows) {
        let mut line = vec![one.login.clone(), one.name.clone()];
        line.extend(grades.iter().map(|grade| match grade {
            Grade::Absent => String::new(),
            Grade::Disqualified => "disqualified".to_owned(),
            Grade::Points(points) => points.to_string(),
            Grade::Solved(solved) => solved.to_string(),
        }));
        let (points, solved) = Sheet::sums(grades);
        line.extend([points.to_string(), solved.to_string()]);
        lines.push(line);
    }
    let lines = lines.iter();
    roster::csv(lines.map(|line| line.iter().map(String::as_str).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::score::Score;
    use crate::db::user::Role;

    #[test]
    fn sheet_as_csv_has_a_line_for_each_pupil() {
        let pupil = |login: &str, name: &str| Pupil {
            id: 1,
            login: login.to_owned(),
            name: name.to_owned(),
            role: Role::User,
            disabled_at: None,
        };
        let pupils = [pupil("ala", "=Ala"), pupil("ola", "Ola")];
        let column = |name: &str, mode| (name.to_owned(), "Day 1".to_owned(), mode);
        let sheet = Sheet {
            columns: vec![column("Cup", Mode::Points), column("Open", Mode::Icpc)],
            rows: vec![
                vec![Grade::Points(Score(2_500_000)), Grade::Solved(3)],
                vec![Grade::Disqualified, Grade::Absent],
            ],
        };
        let expected = "login,name,Cup: Day 1 (points),Open: Day 1 (solved),points,solved\n\
            ala,'=Ala,2.5,3,2.5,3\nola,Ola,disqualified,,0,0\n";
        assert_eq!(text(&pupils, &sheet), expected);
    }
}
