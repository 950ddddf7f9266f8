//! The inputs that choose the submissions of a set, by the names of objects.

use super::filter::{Fields, scope};
use super::names::{Names, Object};
use crate::app::App;
use crate::core::search::Search;
use crate::core::verdict::Verdict;
use crate::db::contest;
use crate::db::problem;
use crate::db::rejudging::Filter;
use crate::http::problems::problem_list::find as find_problems;
use crate::http::web::error::Page;
use crate::http::web::parts::{self, PAGE_ROWS, select};
use crate::http::web::session::Session;
use crate::text::t;
use maud::{Markup, Render, html};

/// The objects that an input offers.
#[derive(Default)]
struct Offer {
    options: Vec<(i64, String)>,
    /// Whether the filter may contain none of them.
    is_optional: bool,
}

impl Offer {
    /// Adds the chosen object if the list does not have it.
    async fn with(&mut self, names: &mut Names<'_>, chosen: Object) -> Page<()> {
        let id = chosen.number();
        if self.options.iter().all(|(known, _)| *known != id) {
            self.options.push((id, names.of(chosen).await?));
        }
        Ok(())
    }

    /// The input; empty if nothing can be chosen.
    fn input(&self, name: &str, label: &dyn Render, chosen: Option<i64>) -> Markup {
        html! {
            @if !self.options.is_empty() {
                label { (label)
                    select name=(name) {
                        @if self.is_optional {
                            option value="" selected[chosen.is_none()] { (t::All) }
                        }
                        @for (id, text) in &self.options {
                            option value=(id) selected[chosen == Some(*id)] translate="no" {
                                (text)
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The inputs for contest, round, problem and version. Rounds and problems are those of the chosen
/// contest, and versions those of the chosen problem.
async fn objects(app: &App, session: &Session, filter: &Filter) -> Page<Markup> {
    let (db, is_admin) = (&app.db, session.viewer().is_admin());
    let mut names = Names::new(app, session);
    let contest = scope(app, session, filter).await?.contest;
    let mut contests = Offer {
        is_optional: is_admin,
        ..Offer::default()
    };
    let mut problems = Offer {
        is_optional: is_admin || contest.is_some(),
        ..Offer::default()
    };
    if is_admin {
        let user = session.user_id()?;
        let found = contest::page(db, i64::MAX, user, true, PAGE_ROWS).await?;
        contests.options = found.into_iter().map(|one| (one.id, one.name)).collect();
    }
    if is_admin && contest.is_none() {
        let search = Search::default();
        let found = find_problems(db, session.viewer(), 0, &search, PAGE_ROWS).await?;
        problems.options = found.into_iter().map(|one| (one.id, one.name)).collect();
    }
    if let Some(id) = contest {
        contests.with(&mut names, Object::Contest(id)).await?;
    }
    let mut problem = None;
    if let Some(id) = filter.problem {
        problems.with(&mut names, Object::Problem(id)).await?;
        problem = names.knows(Object::Problem(id)).await?.then_some(id);
    }
    let (mut rounds, mut round_problems) = (Offer::default(), Offer::default());
    if let Some(id) = contest {
        let found = contest::rounds(db, id).await?;
        rounds.options = found.into_iter().map(|one| (one.id, one.name)).collect();
        for one in contest::problems(db, id).await? {
            if filter.round_problem == Some(one.id) {
                problem = Some(one.problem_id);
            }
            let is_in_round = filter.round.is_none_or(|round| round == one.round_id);
            if is_in_round || filter.round_problem == Some(one.id) {
                let name = format!("{} {}", one.label, one.name);
                round_problems.options.push((one.id, name));
            }
        }
        rounds.is_optional = true;
        round_problems.is_optional = true;
    }
    let mut versions = Offer {
        is_optional: true,
        ..Offer::default()
    };
    if let Some(id) = problem {
        let found = problem::versions(db, id).await?.into_iter();
        versions.options = found.map(|one| (one.id, one.number.to_string())).collect();
    }
    if let Some(id) = filter.version {
        versions.with(&mut names, Object::Version(id)).await?;
    }
    Ok(html! {
        (contests.input("contest", &t::Contest, contest))
        (rounds.input("round", &t::Round, filter.round))
        (round_problems.input("round_problem", &t::RejudgingRoundProblem, filter.round_problem))
        (problems.input("problem", &t::Problem, filter.problem))
        (versions.input("version", &t::RejudgingVersion, filter.version))
        // Works without scripts: the same page again, with what was typed.
        @if is_admin || contest.is_some() {
            button.second name="narrow" value="1" formmethod="get" formaction="/rejudgings/new"
                formnovalidate {
                (t::RejudgingNarrow)
            }
            p.hint { (t::RejudgingNarrowHint) }
        }
    })
}

/// All inputs that choose submissions.
pub async fn inputs(
    app: &App,
    session: &Session,
    fields: &Fields,
    filter: &Filter,
) -> Page<Markup> {
    let objects = objects(app, session, filter).await?;
    let mut verdicts: Vec<(&str, &dyn Render)> = vec![("", &t::All)];
    for one in Verdict::ALL {
        verdicts.push((one.text(), parts::verdict_words(*one)));
    }
    let mut languages: Vec<(&str, &dyn Render)> = vec![("", &t::All)];
    for one in &app.languages {
        languages.push((&one.name, &one.title));
    }
    Ok(html! {
        (objects)
        label { (t::RejudgingUser) input name="user" value=(fields.user); }
        (select("language", t::Language, &languages, &fields.language))
        (select("verdict", t::RejudgingVerdict, &verdicts, &fields.verdict))
    })
}
