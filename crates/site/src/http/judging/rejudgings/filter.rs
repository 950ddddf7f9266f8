//! Which submissions are judged again, and whether the viewer may decide on them.

use super::names::{Names, Object};
use crate::app::App;
use crate::core::verdict::Verdict;
use crate::db::contest;
use crate::db::rejudging::{Filter, Set};
use crate::db::user;
use crate::http::contests::view::ContestView;
use crate::http::judging::submissions;
use crate::http::problems;
use crate::http::web::error::{Page, PageError};
use crate::http::web::mistake::Mistake;
use crate::http::web::parts;
use crate::http::web::session::Session;
use crate::text::{Message, t};
use maud::{Markup, html};
use serde::Deserialize;

/// The fields of a filter, as forms and addresses have them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Fields {
    pub reason: String,
    pub contest: String,
    pub round: String,
    pub round_problem: String,
    pub problem: String,
    pub user: String,
    pub submission: String,
    pub version: String,
    pub language: String,
    pub verdict: String,
    /// Set by the button that updates the choices for the chosen contest.
    pub narrow: String,
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
    /// The filter, if the viewer may judge its submissions again.
    pub async fn filter(&self, app: &App, session: &Session) -> Page<Filter> {
        let mut filter = self.read(session)?;
        // Others must not learn whether a login exists.
        scope(app, session, &filter).await?;
        filter.user = self.user(app).await?;
        Ok(filter)
    }

    /// The filter of the form, whose choices may belong to a different contest than the chosen one.
    /// Also returns what is wrong with the login, which the form shows.
    pub async fn choices(&self, app: &App, session: &Session) -> Page<(Filter, Option<Mistake>)> {
        let mut filter = self.read(session)?;
        if !self.narrow.is_empty() {
            drop_foreign(app, &mut filter).await?;
        }
        scope(app, session, &filter).await?;
        match self.user(app).await {
            Ok(user) => {
                filter.user = user;
                Ok((filter, None))
            }
            Err(PageError::Invalid(mistake)) => Ok((filter, Some(mistake))),
            Err(error) => Err(error),
        }
    }

    fn read(&self, session: &Session) -> Page<Filter> {
        session.user_id()?;
        let verdict = match self.verdict.as_str() {
            "" => None,
            text => Some(Verdict::of_text(text).ok_or(PageError::NotFound)?),
        };
        Ok(Filter {
            contest: number(&self.contest)?,
            round: number(&self.round)?,
            round_problem: number(&self.round_problem)?,
            problem: number(&self.problem)?,
            user: None,
            submission: number(&self.submission)?,
            version: number(&self.version)?,
            language: Some(self.language.clone()).filter(|text| !text.is_empty()),
            verdict,
            set: None,
        })
    }

    async fn user(&self, app: &App) -> Page<Option<i64>> {
        let login = self.user.trim();
        if login.is_empty() {
            return Ok(None);
        }
        let login = login.to_owned();
        let found = user::by_login(&app.db, &login).await?;
        Ok(Some(found.ok_or(Mistake::UnknownLogin { login })?.id))
    }
}

/// Drops the round and the problem of a round that are not in the chosen contest, and then also the
/// version.
async fn drop_foreign(app: &App, filter: &mut Filter) -> Page<()> {
    let round = match filter.round {
        Some(id) => contest::round(&app.db, id).await?,
        None => None,
    };
    let round_problem = match filter.round_problem {
        Some(id) => contest::round_problem(&app.db, id).await?,
        None => None,
    };
    let round = round.filter(|one| filter.contest == Some(one.contest_id));
    let round_problem = round_problem.filter(|one| filter.contest == Some(one.contest_id));
    let kept = (round.map(|one| one.id), round_problem.map(|one| one.id));
    if kept != (filter.round, filter.round_problem) {
        filter.version = None;
    }
    (filter.round, filter.round_problem) = kept;
    Ok(())
}

/// Where a decision on a set is made: in a contest, or at a problem.
#[derive(Debug, Clone, Copy)]
pub struct Scope {
    pub contest: Option<i64>,
    pub problem: Option<i64>,
}

/// The scope of a filter, if the viewer may judge its submissions again.
pub async fn scope(app: &App, session: &Session, filter: &Filter) -> Page<Scope> {
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
        let (view, _) = ContestView::of_problem(app, session, id).await?;
        let manages = view.access.manage.then_some(of_contest(view.contest.id));
        return manages.ok_or(PageError::NotFound);
    }
    if let Some(id) = filter.round {
        let (view, _) = ContestView::managed_round(app, session, id).await?;
        return Ok(of_contest(view.contest.id));
    }
    if let Some(id) = filter.contest {
        ContestView::managed(app, session, id).await?;
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

/// What the submissions of a set have in common, by names.
pub async fn chosen(app: &App, names: &mut Names<'_>, set: &Set) -> Page<Markup> {
    let filter: Filter = serde_json::from_str(&set.filter).unwrap_or_default();
    let objects = [
        filter.contest.or(set.contest_id).map(Object::Contest),
        filter.round.map(Object::Round),
        filter.round_problem.map(Object::RoundProblem),
        filter.problem.or(set.problem_id).map(Object::Problem),
        filter.version.map(Object::Version),
        filter.user.map(Object::User),
    ];
    let mut known = Vec::new();
    for object in objects.into_iter().flatten() {
        known.push((object, names.of(object).await?));
    }
    let mut parts: Vec<(&dyn Message, Markup)> = Vec::new();
    for (object, name) in known {
        parts.push((words(object), html! { span translate="no" { (name) } }));
    }
    if let Some(id) = filter.submission {
        let link = html! { a href={ "/submissions/" (id) } { "#" (id) } };
        parts.push((&t::Submission, link));
    }
    if let Some(name) = &filter.language {
        let title = parts::language(&app.languages, name);
        parts.push((&t::Language, html! { span translate="no" { (title) } }));
    }
    if let Some(verdict) = filter.verdict {
        parts.push((&t::Result, parts::verdict_words(verdict).render()));
    }
    if let Some(id) = filter.set {
        let link = html! { a href={ "/rejudgings/" (id) } { "#" (id) } };
        parts.push((&t::RejudgingRepeats, link));
    }
    Ok(html! {
        @if parts.is_empty() { (t::All) }
        @for (index, (words, value)) in parts.iter().enumerate() {
            @if index > 0 { ", " }
            (t::Colon { what: *words, detail: value })
        }
    })
}

/// The word for a kind of object.
fn words(object: Object) -> &'static dyn Message {
    match object {
        Object::Contest(_) => &t::Contest,
        Object::Round(_) => &t::Round,
        Object::RoundProblem(_) => &t::RejudgingRoundProblem,
        Object::Problem(_) => &t::Problem,
        Object::Version(_) => &t::Version,
        Object::User(_) => &t::User,
    }
}
