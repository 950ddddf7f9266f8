//! The parts of submissions that the viewer sees. Lists cache the data that their submissions
//! share.

use crate::app::App;
use crate::core::access::{self, Tie};
use crate::core::time::Time;
use crate::core::visibility::{Relation, Rules, Visible, visible};
use crate::db::contest::{self, RoundProblem};
use crate::db::participant;
use crate::db::submission::Submission;
use crate::http::contests::view::ContestView;
use crate::http::web::error::{Page, PageError};
use crate::http::web::session::Session;
use std::collections::HashMap;

/// What the parts of submissions need of a contest.
#[derive(Clone, Default)]
struct Known {
    /// Whether the viewer manages the contest.
    manages: bool,
    /// The name of its time zone.
    zone: Option<String>,
}

/// Determines what one viewer sees.
pub struct SubmissionView<'a> {
    app: &'a App,
    session: &'a Session,
    problems: HashMap<i64, Option<RoundProblem>>,
    contests: HashMap<i64, Known>,
    /// Whether the viewer belongs to a team.
    teams: HashMap<i64, bool>,
    /// The full results by participant and round.
    full_results: HashMap<(i64, i64), Time>,
}

impl<'a> SubmissionView<'a> {
    /// The view of a session's user.
    pub fn new(app: &'a App, session: &'a Session) -> SubmissionView<'a> {
        SubmissionView {
            app,
            session,
            problems: HashMap::new(),
            contests: HashMap::new(),
            teams: HashMap::new(),
            full_results: HashMap::new(),
        }
    }

    /// The problem of a contest to which a submission was made, and what the viewer sees of the
    /// submission. For authors, the problem has their own time of the full results.
    pub async fn of(&mut self, one: &Submission) -> Page<(Option<RoundProblem>, Visible)> {
        let mut problem = match one.round_problem_id {
            Some(id) => self.problem(id).await?,
            None => None,
        };
        let manages = match &problem {
            Some(problem) => Some(self.contest(problem.contest_id).await?.manages),
            None => None,
        };
        let teammate = self.is_teammate(one.participant_id).await?;
        let viewer = self.session.viewer();
        let is_over = match &problem {
            // Only an owner without a role in the contest depends on it.
            Some(problem) if viewer.id() == Some(one.owner_id) && manages == Some(false) => {
                let additional =
                    participant::most_additional(&self.app.db, problem.contest_id).await?;
                problem.schedule().over(additional) <= Time::now()
            }
            _ => true,
        };
        let tie = Tie {
            author: one.user_id,
            problem_owner: one.owner_id,
            manages_contest: manages,
            is_over,
            is_teammate: teammate,
        };
        let relation = access::submission(viewer, tie);
        if let Some(problem) = &mut problem
            && relation == Relation::Author
        {
            problem.full_results = self.full_results(one.participant_id, problem).await?;
        }
        let rules = problem.as_ref().map(|problem| Rules {
            reveal: problem.revealed(),
            full_results: problem.full_results,
        });
        Ok((problem, visible(relation, rules, Time::now())))
    }

    async fn problem(&mut self, id: i64) -> Page<Option<RoundProblem>> {
        if let Some(known) = self.problems.get(&id) {
            return Ok(known.clone());
        }
        let mut found = contest::round_problem(&self.app.db, id).await?;
        if let Some(problem) = &mut found {
            problem.full_results = problem.schedule().full_results;
        }
        self.problems.insert(id, found.clone());
        Ok(found)
    }

    /// The name of the time zone of the problem's contest.
    pub async fn zone(&mut self, problem: &RoundProblem) -> Page<Option<String>> {
        Ok(self.contest(problem.contest_id).await?.zone)
    }

    async fn contest(&mut self, contest: i64) -> Page<Known> {
        if let Some(known) = self.contests.get(&contest) {
            return Ok(known.clone());
        }
        let found = match ContestView::find(self.app, self.session, contest).await {
            Ok(view) => Known {
                manages: view.access.manage,
                zone: view.contest.time_zone,
            },
            // A former member still sees their own submissions.
            Err(PageError::NotFound) => Known::default(),
            Err(error) => return Err(error),
        };
        self.contests.insert(contest, found.clone());
        Ok(found)
    }

    async fn is_teammate(&mut self, participant: Option<i64>) -> Page<bool> {
        let (Some(participant), Some(user)) = (participant, self.session.viewer().id()) else {
            return Ok(false);
        };
        if let Some(known) = self.teams.get(&participant) {
            return Ok(*known);
        }
        let found = participant::is_member(&self.app.db, participant, user).await?;
        self.teams.insert(participant, found);
        Ok(found)
    }

    async fn full_results(
        &mut self,
        participant: Option<i64>,
        problem: &RoundProblem,
    ) -> Page<Time> {
        let Some(id) = participant else {
            return Ok(problem.full_results);
        };
        let key = (id, problem.round_id);
        if let Some(known) = self.full_results.get(&key) {
            return Ok(*known);
        }
        let db = &self.app.db;
        let time = match participant::by_id(db, id).await? {
            Some(one) => {
                let starts = participant::starts_of(db, id).await?;
                let start = starts.iter().find(|start| start.round_id == key.1);
                let started_at = start.map(|start| start.started_at);
                let personal =
                    participant::personal(one.delay_seconds, one.extra_seconds, started_at);
                problem.schedule().times(personal).full_results
            }
            None => problem.full_results,
        };
        self.full_results.insert(key, time);
        Ok(time)
    }
}
