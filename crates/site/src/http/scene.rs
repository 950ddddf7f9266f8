//! A contest as its viewer may see it.

use super::error::{Page, PageError};
use super::layout::{crumbs, nav_link};
use super::session::Session;
use crate::app::App;
use crate::core::access::{self, ContestAccess};
use crate::core::participant::{OwnTimes, Personal, Schedule};
use crate::core::time::Time;
use crate::db::contest::{self, Contest, Round, RoundProblem};
use crate::db::participant::{self, Participant, Start};
use crate::text::t;
use maud::{Markup, Render, html};

/// A contest and what the viewer may do in it.
pub struct Scene {
    pub contest: Contest,
    pub access: ContestAccess,
    /// As which participant the viewer takes part.
    pub participant: Option<Participant>,
    /// The clocks that the participant has started.
    starts: Vec<Start>,
}

impl Scene {
    /// A contest that the viewer may see.
    pub async fn of(app: &App, session: &Session, id: i64) -> Page<Scene> {
        let contest = contest::by_id(&app.db, id)
            .await?
            .ok_or(PageError::NotFound)?;
        let (role, participant) = match session.viewer().id() {
            Some(user) => (
                contest::role(&app.db, id, user).await?,
                participant::of_user(&app.db, id, user).await?,
            ),
            None => (None, None),
        };
        let access = access::contest(session.viewer(), contest.visibility, role);
        if !access.view {
            return Err(PageError::NotFound);
        }
        let starts = match &participant {
            Some(participant) => participant::starts_of(&app.db, participant.id).await?,
            None => Vec::new(),
        };
        Ok(Scene {
            contest,
            access,
            participant,
            starts,
        })
    }

    /// The times of a round for the viewer.
    pub fn times(&self, round: i64, schedule: Schedule) -> OwnTimes {
        let personal = match &self.participant {
            Some(one) => {
                let start = self.starts.iter().find(|start| start.round_id == round);
                let started_at = start.map(|start| start.started_at);
                participant::personal(one.delay_seconds, one.extra_seconds, started_at)
            }
            None => Personal::default(),
        };
        schedule.times(personal)
    }

    /// Whether the viewer may submit to a problem now.
    pub fn submits(&self, problem: &RoundProblem) -> bool {
        let times = self.times(problem.round_id, problem.schedule());
        self.access.submits(times.begins, times.ends, Time::now())
    }

    /// A contest that the viewer may change.
    pub async fn managed(app: &App, session: &Session, id: i64) -> Page<Scene> {
        let scene = Scene::of(app, session, id).await?;
        if scene.access.manage {
            Ok(scene)
        } else {
            Err(PageError::NotFound)
        }
    }

    /// A round that the viewer may change.
    pub async fn managed_round(app: &App, session: &Session, id: i64) -> Page<(Scene, Round)> {
        let round = contest::round(&app.db, id)
            .await?
            .ok_or(PageError::NotFound)?;
        Ok((Scene::managed(app, session, round.contest_id).await?, round))
    }

    /// A problem of a round that the viewer may see now.
    pub async fn of_problem(app: &App, session: &Session, id: i64) -> Page<(Scene, RoundProblem)> {
        let problem = contest::round_problem(&app.db, id).await?;
        let problem = problem.ok_or(PageError::NotFound)?;
        let scene = Scene::of(app, session, problem.contest_id).await?;
        let times = scene.times(problem.round_id, problem.schedule());
        if scene.access.sees_round(times.begins, Time::now()) {
            Ok((scene, problem))
        } else {
            Err(PageError::NotFound)
        }
    }

    /// What all pages of a contest begin with: the way to them, a heading and the tabs. `here` is
    /// the name of the page; none on the first page of the contest.
    pub fn top(&self, session: &Session, here: Option<&dyn Render>) -> Markup {
        let root = format!("/contests/{}", self.contest.id);
        let name = self.contest.name.as_str();
        html! {
            @match here {
                Some(here) => (crumbs(&[("/contests", &t::Contests), (&root, &name)], here)),
                None => (crumbs(&[("/contests", &t::Contests)], name)),
            }
            h1 { (name) }
            (self.tabs(session, &root))
        }
    }

    fn tabs(&self, session: &Session, root: &str) -> Markup {
        let tab = |part: &str, text: &dyn Render| {
            let href = format!("{root}{part}");
            let is_here = match part {
                // Pages of rounds and problems have addresses of their own.
                "" => session.path == href || session.path.starts_with("/round"),
                _ => session.path.starts_with(&href),
            };
            nav_link(&href, text, is_here)
        };
        html! {
            nav.tabs aria-label=(t::Contest) {
                ul {
                    (tab("", &t::ContestTabProblems))
                    (tab("/ranking", &t::ContestTabRanking))
                    @if session.user.is_some() {
                        @if self.access.manage {
                            (tab("/submissions", &t::Submissions))
                        } @else {
                            (tab("/submissions", &t::YourSubmissions))
                        }
                    }
                    @if self.access.manage {
                        (tab("/members", &t::ContestTabMembers))
                        (tab("/participants", &t::ContestTabParticipants))
                        (tab("/edit", &t::Settings))
                        (nav_link(&format!("/rejudgings/new?contest={}", self.contest.id),
                            t::ContestTabJudgeAgain, false))
                    }
                }
            }
        }
    }
}
