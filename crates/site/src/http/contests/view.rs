//! A contest as its viewer may see it.

use crate::app::App;
use crate::core::access::{self, ContestAccess};
use crate::core::clarification::{self as rule, Facts, Seen};
use crate::core::freeze::Freeze;
use crate::core::participant::{OwnTimes, Personal, Schedule};
use crate::core::practice::Practice;
use crate::core::time::Time;
use crate::db::Tx;
use crate::db::clarification::{self, Clarification};
use crate::db::contest::{self, Contest, Round, RoundProblem};
use crate::db::participant::{self, Participant, Start};
use crate::db::problem_use;
use crate::http::web::context::{Ctx, Granted, granted};
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::{crumbs, nav_link};
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::text::{self, t};
use maud::{Markup, Render, html};
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of answers that a notice shows.
const MAX_NOTICES: usize = 3;
/// The maximum length of each of them, in characters.
const EXCERPT: usize = 300;

/// Rejects a disqualified participant, with the reason.
fn check_participant(one: &Participant) -> Page<()> {
    match &one.disqualified {
        Some(reason) if !one.state().rights().takes_part => {
            let reason = reason.clone();
            Err(Refusal::Disqualified { reason }.into())
        }
        _ => Ok(()),
    }
}

/// Rejects a user that a contest has disqualified, perhaps since a page let the user pass.
///
/// # Errors
/// The user may not enter or take part.
pub async fn check_user(tx: &mut Tx, contest: i64, user: i64) -> Page<()> {
    match participant::of_user(tx, contest, user).await? {
        Some(one) => check_participant(&one),
        None => Ok(()),
    }
}

/// A contest and what the viewer may do in it.
#[derive(Clone)]
pub struct ContestView {
    pub contest: Contest,
    pub access: ContestAccess,
    /// The viewer, or the viewer's team, as a participant of the contest.
    pub participant: Option<Participant>,
    /// The viewer; `None` for guests.
    user: Option<i64>,
    /// The clocks that the participant has started.
    starts: Vec<Start>,
    /// The items that wait for the viewer.
    pub news: News,
}

/// The beginning of an answer or announcement in a notice.
fn excerpt(one: &Clarification) -> Markup {
    let text = one.answer.as_deref().unwrap_or_default();
    let rest = text
        .char_indices()
        .nth(EXCERPT)
        .map_or("", |(at, _)| &text[at..]);
    html! {
        p.text {
            @if one.is_announcement() { b { (t::Announcement) ": " } }
            @else { b { (t::ClarificationAnswer) ": " } }
            @if let Some(label) = &one.label { b { (label) } " " }
            (&text[..text.len() - rest.len()])
            @if !rest.is_empty() { "…" }
        }
    }
}

/// The items that wait for a viewer.
#[derive(Debug, Clone, Default)]
pub struct News {
    /// Answers and announcements that the viewer has not read.
    pub unread: usize,
    /// The latest of them.
    latest: Vec<Clarification>,
    /// Questions that wait for the staff; staff only.
    pub unanswered: usize,
}

impl ContestView {
    /// The contest to which a page belongs, if the viewer may see it. The page shows times in the
    /// zone of the contest, unless the viewer has chosen a zone.
    pub async fn of(app: &App, session: &Session, id: i64) -> Page<ContestView> {
        let view = ContestView::find(app, session, id).await?;
        text::set_contest_zone(view.contest.time_zone.as_deref());
        Ok(view)
    }

    /// A contest that the viewer may see, for a page that does not belong to it.
    pub async fn find(app: &App, session: &Session, id: i64) -> Page<ContestView> {
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
        let state = participant.as_ref().map(Participant::state);
        let access = access.of_participant(state.unwrap_or_default());
        let starts = match &participant {
            Some(participant) => participant::starts_of(&app.db, participant.id).await?,
            None => Vec::new(),
        };
        let mut view = ContestView {
            contest,
            access,
            participant,
            user: session.viewer().id(),
            starts,
            news: News::default(),
        };
        view.news = view.find_news(app).await?;
        Ok(view)
    }

    async fn find_news(&self, app: &App) -> Page<News> {
        let Some(user) = self.user else {
            return Ok(News::default());
        };
        let all = self.access.manage;
        let participant = self.participant.as_ref().map(|one| one.id);
        let rows = clarification::news(&app.db, self.contest.id, user, participant, all).await?;
        if all {
            return Ok(News {
                unanswered: rows.len(),
                ..News::default()
            });
        }
        let now = Time::now();
        let mut unread: Vec<Clarification> = rows
            .into_iter()
            .filter(|one| self.seen(one, now).answer && self.is_unread(one))
            .collect();
        unread.sort_by_key(|one| Reverse(self.shown_at(one)));
        Ok(News {
            unread: unread.len(),
            latest: unread.into_iter().take(MAX_NOTICES).collect(),
            unanswered: 0,
        })
    }

    /// When the round of the problem begins for the viewer.
    fn begins(&self, one: &Clarification) -> Option<Time> {
        let (round, schedule) = one.round()?;
        Some(self.times(round, schedule).begins)
    }

    /// What the viewer sees of a clarification of this contest.
    pub fn seen(&self, one: &Clarification, now: Time) -> Seen {
        let participant = self.participant.as_ref().map(|one| one.id);
        let is_own = (self.user.is_some() && one.user_id == self.user)
            || (participant.is_some() && one.participant_id == participant);
        let facts = Facts {
            is_own,
            audience: one.audience,
            is_answered: one.answered_at.is_some(),
            begins: self.begins(one),
        };
        rule::seen(self.access, facts, now)
    }

    /// When an answer became visible to the viewer.
    pub fn shown_at(&self, one: &Clarification) -> Option<Time> {
        Some(rule::shown_at(one.answered_at?, self.begins(one)))
    }

    /// Whether an answer is new to the viewer. For the staff, waiting questions count instead.
    pub fn is_unread(&self, one: &Clarification) -> bool {
        let is_reader = self.user.is_some() && !self.access.manage;
        let shown = self.shown_at(one);
        is_reader && shown.is_some_and(|at| one.seen_at.is_none_or(|seen| at > seen))
    }

    /// Rejects a disqualified viewer.
    ///
    /// # Errors
    /// The viewer may not take part.
    pub fn check_participant(&self) -> Page<()> {
        match &self.participant {
            Some(one) if !self.access.manage => check_participant(one),
            _ => Ok(()),
        }
    }

    /// Why the viewer may not take part, although the round may be open.
    fn exclusion(&self) -> Markup {
        match self.check_participant() {
            Err(PageError::Refused(why)) => html! { p.bad { (*why.message()) } },
            _ => html! {},
        }
    }

    /// Whether the viewer may print.
    pub fn prints(&self) -> bool {
        self.contest.printing && self.access.take_part && self.participant.is_some()
    }

    /// A notice about the items that wait for the viewer.
    pub fn notice(&self) -> Markup {
        let News {
            unread,
            unanswered,
            ref latest,
        } = self.news;
        let root = format!("/contests/{}/clarifications", self.contest.id);
        let until = latest.iter().filter_map(|one| self.shown_at(one)).max();
        html! {
            @if unread > 0 {
                div.notice {
                    p { a href=(root) { (t::ClarificationsUnread { count: unread }) } }
                    @for one in latest { (excerpt(one)) }
                    // The button must not mark answers as read that the notice does not show.
                    @if unread == latest.len() && let Some(until) = until {
                        form method="post" action={ (root) "/read" } {
                            input type="hidden" name="until" value=(until.0);
                            button.second { (t::ClarificationsRead) }
                        }
                    }
                }
            }
            @if unanswered > 0 {
                p.notice {
                    a href={ (root) "?show=unanswered" } {
                        (t::ClarificationsWaiting { count: unanswered })
                    }
                }
            }
        }
    }

    /// What differs for the viewer in a round.
    pub fn personal(&self, round: i64) -> Personal {
        match &self.participant {
            Some(one) => {
                let start = self.starts.iter().find(|start| start.round_id == round);
                let started_at = start.map(|start| start.started_at);
                participant::personal(one.delay_seconds, one.extra_seconds, started_at)
            }
            None => Personal::default(),
        }
    }

    /// The times of a round for the viewer.
    pub fn times(&self, round: i64, schedule: Schedule) -> OwnTimes {
        schedule.times(self.personal(round))
    }

    /// Whether the viewer may submit to a problem now.
    pub fn submits(&self, problem: &RoundProblem) -> bool {
        let times = self.times(problem.round_id, problem.schedule());
        self.access.submits(times.begins, times.ends, Time::now())
    }

    /// Whether the viewer may submit to a problem for practice now. The results would reveal tests
    /// to contestants of other rounds with the problem. The rounds that close the hints must
    /// therefore be over and show all results.
    pub async fn practises_problem(&self, app: &App, problem: &RoundProblem) -> Page<bool> {
        if !self.may_practise(problem.schedule()) {
            return Ok(false);
        }
        let additional = self.most_additional(app).await?;
        if !self.practises(problem.schedule(), problem.freeze(), additional) {
            return Ok(false);
        }
        let user = self.user.unwrap_or(-1);
        let uses = problem_use::uses(&app.db, problem.problem_id, user).await?;
        let now = Time::now();
        let mut counted = uses
            .iter()
            .filter(|one| one.of_editorial(Some(problem.round_id)).counts());
        Ok(counted.all(|one| one.is_disclosed(now)))
    }

    /// Whether the viewer may perhaps practise the problems of a round now, before anything is
    /// read. Most viewers may not.
    pub fn may_practise(&self, schedule: Schedule) -> bool {
        self.access.take_part && !self.access.manage && schedule.ends <= Time::now()
    }

    /// The most additional time of a participant.
    pub async fn most_additional(&self, app: &App) -> Page<Duration> {
        Ok(participant::most_additional(&app.db, self.contest.id).await?)
    }

    /// Whether the viewer may practise the problems of a round now, as far as the round decides.
    pub fn practises(&self, schedule: Schedule, freeze: Freeze, additional: Duration) -> bool {
        let practice = Practice {
            takes_part: self.access.take_part,
            manages: self.access.manage,
            schedule,
            freeze,
            additional,
        };
        practice.is_open(Time::now())
    }

    /// A contest that the viewer may change.
    pub async fn managed(app: &App, session: &Session, id: i64) -> Page<ContestView> {
        let view = ContestView::of(app, session, id).await?;
        if view.access.manage {
            Ok(view)
        } else {
            Err(PageError::NotFound)
        }
    }

    /// A participant that the viewer may change.
    pub async fn managed_participant(
        app: &App,
        session: &Session,
        id: i64,
    ) -> Page<(ContestView, Participant)> {
        let one = participant::by_id(&app.db, id).await?;
        let one = one.ok_or(PageError::NotFound)?;
        let view = ContestView::managed(app, session, one.contest_id).await?;
        Ok((view, one))
    }

    /// A round that the viewer may change.
    pub async fn managed_round(
        app: &App,
        session: &Session,
        id: i64,
    ) -> Page<(ContestView, Round)> {
        let round = contest::round(&app.db, id)
            .await?
            .ok_or(PageError::NotFound)?;
        Ok((
            ContestView::managed(app, session, round.contest_id).await?,
            round,
        ))
    }

    /// A problem of a round that the viewer may see now.
    pub async fn of_problem(
        app: &App,
        session: &Session,
        id: i64,
    ) -> Page<(ContestView, RoundProblem)> {
        let problem = contest::round_problem(&app.db, id).await?;
        let problem = problem.ok_or(PageError::NotFound)?;
        let view = ContestView::of(app, session, problem.contest_id).await?;
        let times = view.times(problem.round_id, problem.schedule());
        if view.access.sees_round(times.begins, Time::now()) {
            Ok((view, problem))
        } else {
            Err(PageError::NotFound)
        }
    }

    /// The top of all pages of a contest: the path, a heading and the tabs. `here` is the name of
    /// the page; `None` on the first page of the contest.
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
            (self.exclusion())
            (self.notice_box())
        }
    }

    /// The part of a page with the notice, whose content the script replaces.
    pub fn notice_box(&self) -> Markup {
        let root = format!("/contests/{}/clarifications", self.contest.id);
        html! {
            div role="status" data-notice={ (root) "/notice" } data-stream={ (root) "/live" } {
                (self.notice())
            }
        }
    }

    fn tabs(&self, session: &Session, root: &str) -> Markup {
        let tab = |part: &str, text: &dyn Render| {
            let href = format!("{root}{part}");
            let is_here = match part {
                // Pages of rounds and problems have their own addresses.
                "" => session.path == href || session.path.starts_with("/round"),
                "/files" => session.path == href || session.path.starts_with("/contest-files"),
                // The answer with a new entry link.
                "/members" => session.path == href || session.path == format!("{root}/link"),
                _ => {
                    session.path.starts_with(&href) || session.path.starts_with(&format!("{part}/"))
                }
            };
            nav_link(&href, text, is_here)
        };
        html! {
            nav.tabs aria-label=(t::Contest) {
                ul {
                    (tab("", &t::ContestTabProblems))
                    @if session.user.is_some() {
                        @if self.access.manage {
                            (tab("/submissions", &t::Submissions))
                        } @else {
                            (tab("/submissions", &t::YourSubmissions))
                        }
                    }
                    (tab("/ranking", &t::ContestTabRanking))
                    (tab("/clarifications", &t::Clarifications))
                    (tab("/files", &t::Files))
                    (tab("/statistics", &t::Statistics))
                    @if self.access.manage || self.prints() {
                        (tab("/print", &t::Printing))
                    }
                }
            }
            @if self.access.manage {
                nav.tabs.staff aria-label=(t::RankingViewStaff) {
                    ul {
                        li.group { (t::RankingViewStaff) }
                        (tab("/edit", &t::Settings))
                        (tab("/participants", &t::ContestTabParticipants))
                        (tab("/members", &t::ContestTabMembers))
                        (tab("/balloons", &t::Balloons))
                        (nav_link(&format!("/rejudgings/new?contest={}", self.contest.id),
                            t::ContestTabJudgeAgain, false))
                        // Teachers have these links on all pages.
                        @if !session.viewer().is_teacher() {
                            (nav_link("/rejudgings", t::NavRejudgings, false))
                            (nav_link("/faults", t::NavFaults, false))
                        }
                    }
                }
            }
        }
    }
}

/// A contest that the viewer may see.
pub struct Viewed(pub Ctx, pub ContestView);

impl Granted for Viewed {
    async fn find(ctx: Ctx, id: i64) -> Page<Viewed> {
        let view = ContestView::of(&ctx.app, &ctx.session, id).await?;
        Ok(Viewed(ctx, view))
    }
}

/// A contest that the viewer manages.
pub struct Managed(pub Ctx, pub ContestView);

impl Granted for Managed {
    async fn find(ctx: Ctx, id: i64) -> Page<Managed> {
        let view = ContestView::managed(&ctx.app, &ctx.session, id).await?;
        Ok(Managed(ctx, view))
    }
}

/// A round of a contest that the viewer manages.
pub struct ManagedRound(pub Ctx, pub ContestView, pub Round);

impl Granted for ManagedRound {
    async fn find(ctx: Ctx, id: i64) -> Page<ManagedRound> {
        let found = ContestView::managed_round(&ctx.app, &ctx.session, id).await?;
        Ok(ManagedRound(ctx, found.0, found.1))
    }
}

/// A problem of a round that the viewer may see now.
pub struct ViewedProblem(pub Ctx, pub ContestView, pub RoundProblem);

impl Granted for ViewedProblem {
    async fn find(ctx: Ctx, id: i64) -> Page<ViewedProblem> {
        let found = ContestView::of_problem(&ctx.app, &ctx.session, id).await?;
        Ok(ViewedProblem(ctx, found.0, found.1))
    }
}

/// A problem of a round in a contest that the viewer manages.
pub struct ManagedProblem(pub Arc<App>, pub RoundProblem);

impl Granted for ManagedProblem {
    async fn find(ctx: Ctx, id: i64) -> Page<ManagedProblem> {
        let ViewedProblem(ctx, view, problem) = ViewedProblem::find(ctx, id).await?;
        match view.access.manage {
            true => Ok(ManagedProblem(ctx.app, problem)),
            false => Err(PageError::NotFound),
        }
    }
}

granted!(Viewed, Managed, ManagedRound, ViewedProblem, ManagedProblem);
