//! The names of contests, rounds, problems, versions and users in the filters of sets.
//!
//! The narrowest object in a filter decides which users see a set, so a filter may contain objects
//! that its viewer does not see. Pages show only the numbers of these objects.

use crate::app::App;
use crate::db::contest;
use crate::db::problem;
use crate::db::problem_use::{self, Use};
use crate::db::user;
use crate::http::contests::view::ContestView;
use crate::http::problems;
use crate::http::web::error::{Page, PageError};
use crate::http::web::session::Session;
use crate::text::{Message, t};
use std::collections::HashMap;

/// An object of a filter, with its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Object {
    /// A contest.
    Contest(i64),
    /// A round.
    Round(i64),
    /// A problem in a round.
    RoundProblem(i64),
    /// A problem.
    Problem(i64),
    /// A version of a problem.
    Version(i64),
    /// A user.
    User(i64),
}

impl Object {
    /// Its number.
    pub fn number(self) -> i64 {
        match self {
            Object::Contest(id)
            | Object::Round(id)
            | Object::RoundProblem(id)
            | Object::Problem(id)
            | Object::Version(id)
            | Object::User(id) => id,
        }
    }
}

/// The names that one page shows. Each is read once.
pub struct Names<'a> {
    app: &'a App,
    session: &'a Session,
    known: HashMap<Object, String>,
    /// The names of contests; `None` for those that the viewer does not manage.
    contests: HashMap<i64, Option<String>>,
}

impl<'a> Names<'a> {
    /// The names for a viewer.
    pub fn new(app: &'a App, session: &'a Session) -> Names<'a> {
        Names {
            app,
            session,
            known: HashMap::new(),
            contests: HashMap::new(),
        }
    }

    /// The name of an object. An object that no longer exists, or that the viewer does not see, has
    /// its number, such as `#7`.
    pub async fn of(&mut self, object: Object) -> Page<String> {
        if let Some(known) = self.known.get(&object) {
            return Ok(known.clone());
        }
        let name = match self.find(object).await {
            Ok(name) => name,
            Err(PageError::NotFound) => format!("#{}", object.number()),
            Err(error) => return Err(error),
        };
        self.known.insert(object, name.clone());
        Ok(name)
    }

    /// Whether the object exists and the viewer sees it.
    pub async fn knows(&mut self, object: Object) -> Page<bool> {
        match self.find(object).await {
            Ok(_) => Ok(true),
            Err(PageError::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn find(&mut self, object: Object) -> Page<String> {
        let db = &self.app.db;
        match object {
            Object::Contest(id) => self.managed(id).await,
            Object::Round(id) => {
                let round = contest::round(db, id).await?.ok_or(PageError::NotFound)?;
                self.managed(round.contest_id).await?;
                Ok(round.name)
            }
            Object::RoundProblem(id) => {
                let found = contest::round_problem(db, id).await?;
                let found = found.ok_or(PageError::NotFound)?;
                self.managed(found.contest_id).await?;
                Ok(format!("{} {}", found.label, found.name))
            }
            Object::Problem(id) => self.problem(id).await,
            Object::Version(id) => {
                let version = problem::version(db, id).await?;
                let version = version.ok_or(PageError::NotFound)?;
                let problem = self.problem(version.problem_id).await?;
                let number = version.number.to_string();
                Ok(t::RejudgingVersionOf { problem, number }.plain())
            }
            Object::User(id) => {
                let found = user::by_id(db, id).await?;
                Ok(found.ok_or(PageError::NotFound)?.login)
            }
        }
    }

    /// The name of a contest that the viewer manages.
    async fn managed(&mut self, id: i64) -> Page<String> {
        if let Some(known) = self.contests.get(&id) {
            return known.clone().ok_or(PageError::NotFound);
        }
        let name = match ContestView::find(self.app, self.session, id).await {
            Ok(view) if view.access.manage => Some(view.contest.name),
            Ok(_) | Err(PageError::NotFound) => None,
            Err(error) => return Err(error),
        };
        self.contests.insert(id, name.clone());
        name.ok_or(PageError::NotFound)
    }

    /// The staff of a contest knows the problems in its rounds.
    async fn problem(&self, id: i64) -> Page<String> {
        match problems::find(self.app, self.session, id).await {
            Ok((problem, _)) => return Ok(problem.name),
            Err(PageError::NotFound) => {}
            Err(error) => return Err(error),
        }
        let user = self.session.user_id()?;
        let uses = problem_use::uses(&self.app.db, id, user).await?;
        let is_known = uses.iter().any(Use::is_managed);
        let found = problem::by_id(&self.app.db, id).await?;
        let known = found.filter(|_| is_known);
        Ok(known.ok_or(PageError::NotFound)?.name)
    }
}
