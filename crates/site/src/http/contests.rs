//! Contests.

use super::error::{Page, PageError};
use super::layout::{crumbs, nav_link, page};
use super::parts::{PAGE_ROWS, button_link, check_name, empty, round_state, select};
use super::problems::{MAX_NAME, Place};
use super::session::Session;
use crate::app::App;
use crate::core::access::{self, ContestAccess};
use crate::core::participant::{OwnTimes, Personal, Schedule};
use crate::core::time::Time;
use crate::db::contest::{self, Contest, MemberRole, Round, RoundProblem, Visibility};
use crate::db::participant::{self, Participant, Start};
use axum::extract::{Form, Path, Query, State};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

const VISIBILITIES: [(&str, &str); 2] = [
    ("private", "Private: only members"),
    ("public", "Public: all people"),
];

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
    pub fn top(&self, session: &Session, here: Option<&str>) -> Markup {
        let root = format!("/contests/{}", self.contest.id);
        let name = self.contest.name.as_str();
        html! {
            @match here {
                Some(here) => (crumbs(&[("/contests", "Contests"), (&root, name)], here)),
                None => (crumbs(&[("/contests", "Contests")], name)),
            }
            h1 { (name) }
            (self.tabs(session, &root))
        }
    }

    fn tabs(&self, session: &Session, root: &str) -> Markup {
        let tab = |part: &str, text: &str| {
            let href = format!("{root}{part}");
            let is_here = match part {
                // Pages of rounds and problems have addresses of their own.
                "" => session.path == href || session.path.starts_with("/round"),
                _ => session.path.starts_with(&href),
            };
            nav_link(&href, text, is_here)
        };
        html! {
            nav.tabs aria-label="Contest" {
                ul {
                    (tab("", "Problems"))
                    (tab("/ranking", "Ranking"))
                    @if session.user.is_some() {
                        (tab("/submissions", if self.access.manage {
                            "Submissions"
                        } else {
                            "Your submissions"
                        }))
                    }
                    @if self.access.manage {
                        (tab("/members", "Members"))
                        (tab("/participants", "Participants"))
                        (tab("/edit", "Settings"))
                        (nav_link(&format!("/rejudgings/new?contest={}", self.contest.id),
                            "Judge again", false))
                    }
                }
            }
        }
    }
}

/// `GET /contests`.
pub async fn list(
    State(app): State<Arc<App>>,
    session: Session,
    Query(place): Query<Place>,
) -> Page {
    let viewer = session.viewer();
    let before = place.before.unwrap_or(i64::MAX);
    let user = viewer.id().unwrap_or(-1);
    let contests = contest::page(&app.db, before, user, viewer.is_admin(), PAGE_ROWS).await?;
    let main = html! {
        h1 { "Contests" }
        @if viewer.is_teacher() { p { (button_link("/contests/new", "Add a contest")) } }
        @if contests.is_empty() {
            (empty("There are no contests that you can see.", match session.user {
                Some(_) => None,
                None => Some(("/sign-in", "Sign in to see private contests")),
            }))
        } @else {
            div.scroll { table {
                thead { tr { th { "Name" } th { "Visible to" } } }
                tbody { @for one in &contests { tr {
                    td { a href={ "/contests/" (one.id) } { (one.name) } }
                    td {
                        span.chip {
                            @match one.visibility {
                                Visibility::Private => "Members",
                                Visibility::Public => "All people",
                            }
                        }
                    }
                } } }
            } }
        }
        @if let Some(last) = contests.last() && contests.len() == PAGE_ROWS as usize {
            p { a href={ "/contests?before=" (last.id) } { "Earlier contests" } }
        }
    };
    Ok(page(&session, "Contests", main).into_response())
}

/// The fields of a contest.
#[derive(Deserialize)]
pub struct Fields {
    name: String,
    visibility: Visibility,
}

fn inputs(name: &str, visibility: Visibility) -> Markup {
    html! {
        label { "Name" input name="name" value=(name) required maxlength=(MAX_NAME); }
        (select("visibility", "Visible to", &VISIBILITIES, visibility.text()))
    }
}

/// Only administrators publish contests.
fn check(fields: &Fields, before: Visibility, session: &Session) -> Page<()> {
    check_name(&fields.name, MAX_NAME)?;
    let publishes = fields.visibility == Visibility::Public && before == Visibility::Private;
    if publishes && !session.viewer().is_admin() {
        let why = "Only an administrator can make a contest public.";
        return Err(PageError::Refused(why));
    }
    Ok(())
}

/// `GET /contests/new`.
pub async fn form(session: Session) -> Page {
    if !session.viewer().is_teacher() {
        return Err(PageError::NotFound);
    }
    let main = html! {
        (crumbs(&[("/contests", "Contests")], "Add a contest"))
        h1 { "Add a contest" }
        form.fields method="post" {
            (inputs("", Visibility::Private))
            button { "Add the contest" }
        }
    };
    Ok(page(&session, "Add a contest", main).into_response())
}

/// `POST /contests/new`.
pub async fn create(
    State(app): State<Arc<App>>,
    session: Session,
    Form(fields): Form<Fields>,
) -> Page {
    let user = session.user_id()?;
    if !session.viewer().is_teacher() {
        return Err(PageError::NotFound);
    }
    check(&fields, Visibility::Private, &session)?;
    let now = Time::now();
    let mut tx = app.db.begin().await?;
    let id = contest::insert(&mut tx, fields.name.trim(), fields.visibility, now).await?;
    contest::join(&mut tx, id, user, MemberRole::Owner, now).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{id}/edit")).into_response())
}

/// `GET /contests/{id}`.
pub async fn show(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    let scene = Scene::of(&app, &session, id).await?;
    let now = Time::now();
    let rounds = contest::rounds(&app.db, id).await?;
    let problems = contest::problems(&app.db, id).await?;
    let rounds: Vec<_> = rounds
        .into_iter()
        .map(|round| (scene.times(round.id, round.schedule()), round))
        .filter(|(times, _)| scene.access.sees_round(times.opens, now))
        .collect();
    let main = html! {
        (scene.top(&session, None))
        @for (times, round) in &rounds {
            section.round {
                header {
                    h2 { (round.name) }
                    (round_state(times.begins, times.ends, now))
                }
                (super::clocks::facts(round, times))
                @if scene.access.sees_round(times.begins, now) {
                    ul.problems {
                        @for one in problems.iter().filter(|one| one.round_id == round.id) {
                            li {
                                a href={ "/round-problems/" (one.id) } {
                                    b { (one.label) } " " (one.name)
                                }
                            }
                        }
                    }
                }
                @if scene.access.take_part && !scene.access.manage {
                    (super::clocks::start_form(round, times, now))
                }
                @if scene.access.manage {
                    p { a.button.second href={ "/rounds/" (round.id) } { "Change the round" } }
                }
            }
        }
        @if rounds.is_empty() {
            @let next = format!("/contests/{id}/edit");
            (empty("No round has begun.", scene.access.manage.then_some((&*next, "Add a round"))))
        }
    };
    Ok(page(&session, &scene.contest.name, main).into_response())
}

/// `GET /contests/{id}/edit`.
pub async fn edit_form(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    let scene = Scene::managed(&app, &session, id).await?;
    let main = html! {
        (scene.top(&session, Some("Settings")))
        h2 { "Settings" }
        form.fields method="post" {
            (inputs(&scene.contest.name, scene.contest.visibility))
            button { "Save" }
        }
        p.actions {
            @if session.viewer().is_teacher() {
                form.inline method="post" action={ "/contests/" (id) "/copy" } {
                    button { "Copy the contest" }
                }
            }
            @if scene.access.own { a href={ "/contests/" (id) "/delete" } { "Delete the contest" } }
        }
        h2 { "Add a round" }
        form.fields method="post" action={ "/contests/" (id) "/rounds" } {
            (super::rounds::inputs(None))
            button { "Add the round" }
        }
    };
    Ok(page(&session, "Settings", main).into_response())
}

/// `POST /contests/{id}/edit`.
pub async fn edit(
    State(app): State<Arc<App>>,
    session: Session,
    Path(id): Path<i64>,
    Form(fields): Form<Fields>,
) -> Page {
    let scene = Scene::managed(&app, &session, id).await?;
    check(&fields, scene.contest.visibility, &session)?;
    let mut tx = app.db.begin().await?;
    contest::update(&mut tx, id, fields.name.trim(), fields.visibility).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{id}")).into_response())
}
