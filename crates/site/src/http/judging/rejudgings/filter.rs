//! Which submissions are judged again, and whether the viewer may decide on them.

use crate::app::App;
use crate::core::verdict::Verdict;
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
use serde_json::Value;
use std::collections::BTreeMap;

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
        session.user_id()?;
        let verdict = match self.verdict.as_str() {
            "" => None,
            text => Some(Verdict::of_text(text).ok_or(PageError::NotFound)?),
        };
        let mut filter = Filter {
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
        };
        // Others must not learn whether a login exists.
        scope(app, session, &filter).await?;
        let login = self.user.trim();
        if !login.is_empty() {
            let login = login.to_owned();
            let found = user::by_login(&app.db, &login).await?;
            filter.user = Some(found.ok_or(Mistake::UnknownLogin { login })?.id);
        }
        Ok(filter)
    }
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

/// The fields of the filter of a set.
pub fn chosen(set: &Set) -> Markup {
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
