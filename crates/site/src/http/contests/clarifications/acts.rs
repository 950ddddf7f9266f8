//! Actions on clarifications, for pages and programs.

use crate::app::App;
use crate::core::clarification::{self as rule, MAX_TEXT, Seen};
use crate::core::time::Time;
use crate::db::clarification::{self, Audience, Author, Clarification, Filter, New, Show};
use crate::db::contest::{self, RoundProblem};
use crate::http::contests::view::{ContestView, check_user};
use crate::http::web::error::{Page, PageError};
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::PAGE_ROWS;
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::judging::live::Note;
use serde::Deserialize;
use std::time::Instant;

/// A clarification that the viewer may see.
pub async fn find(
    app: &App,
    session: &Session,
    id: i64,
) -> Page<(ContestView, Clarification, Seen)> {
    let user = session.viewer().id().unwrap_or(-1);
    let one = clarification::by_id(&app.db, user, id).await?;
    let one = one.ok_or(PageError::NotFound)?;
    let view = ContestView::of(app, session, one.contest_id).await?;
    let seen = view.seen(&one, Time::now());
    if seen.any() {
        Ok((view, one, seen))
    } else {
        Err(PageError::NotFound)
    }
}

/// The clarifications of a contest that the viewer may see, and the lowest id of the part.
pub async fn listed(
    app: &App,
    session: &Session,
    view: &ContestView,
    choice: &Choice,
) -> Page<(Vec<(Clarification, Seen)>, Option<i64>)> {
    let filter = Filter {
        contest: view.contest.id,
        user: session.viewer().id().unwrap_or(-1),
        participant: view.participant.as_ref().map(|one| one.id),
        all: view.access.manage,
        before: choice.before,
        show: choice.show(),
        problem: choice.problem()?,
    };
    let rows = clarification::page(&app.db, &filter, PAGE_ROWS).await?;
    let is_full = i64::try_from(rows.len()).is_ok_and(|count| count == PAGE_ROWS);
    let next = rows.last().filter(|_| is_full).map(|one| one.id);
    let now = Time::now();
    let rows = rows.into_iter().map(|one| {
        let seen = view.seen(&one, now);
        (one, seen)
    });
    Ok((rows.filter(|(_, seen)| seen.any()).collect(), next))
}

/// The problems that the viewer may see now.
pub async fn problems(app: &App, view: &ContestView) -> Page<Vec<RoundProblem>> {
    let now = Time::now();
    let mut problems = contest::problems(&app.db, view.contest.id).await?;
    problems.retain(|one| {
        let times = view.times(one.round_id, one.schedule());
        view.access.sees_round(times.begins, now)
    });
    Ok(problems)
}

/// The choice of clarifications in a list.
#[derive(Debug, Default, Deserialize)]
pub struct Choice {
    /// A name of [`Show`]; empty means all.
    #[serde(default)]
    pub show: String,
    /// The number of a problem; empty means all.
    #[serde(default)]
    pub problem: String,
    pub before: Option<i64>,
}

impl Choice {
    /// The choice of clarifications.
    pub fn show(&self) -> Show {
        Show::of_text(&self.show).unwrap_or(Show::All)
    }

    fn problem(&self) -> Page<Option<i64>> {
        number(&self.problem)
    }

    /// The query of the next part.
    pub fn next(&self, before: i64) -> String {
        form_urlencoded::Serializer::new(String::new())
            .append_pair("show", &self.show)
            .append_pair("problem", &self.problem)
            .append_pair("before", &before.to_string())
            .finish()
    }
}

/// The number of a problem in a form; empty means none.
pub fn number(text: &str) -> Page<Option<i64>> {
    match text {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| PageError::NotFound),
    }
}

/// Notifies pages that a clarification is new or has changed.
pub async fn tell(app: &App, contest: i64, id: i64, before: Option<Clarification>) -> Page<()> {
    let after = clarification::by_id(&app.db, -1, id).await?;
    app.live.noted(Note {
        contest,
        versions: before.into_iter().chain(after).collect(),
    });
    Ok(())
}

fn checked(text: &str) -> Page<String> {
    rule::text(text, MAX_TEXT).ok_or_else(|| Mistake::TextLength { max: MAX_TEXT }.into())
}

/// Checks that the viewer may see the problem of a question, and that the contest has it.
async fn check_problem(
    app: &App,
    session: &Session,
    contest: i64,
    problem: Option<i64>,
) -> Page<()> {
    if let Some(id) = problem {
        let (_, problem) = ContestView::of_problem(app, session, id).await?;
        if problem.contest_id != contest {
            return Err(PageError::NotFound);
        }
    }
    Ok(())
}

/// Adds a question or an announcement, and notifies pages. Returns the id.
async fn put(
    app: &App,
    (contest, is_staff): (i64, bool),
    problem: Option<i64>,
    author: Author,
    text: &str,
) -> Page<i64> {
    let asks = match author {
        Author::Participant { user_id, .. } if !is_staff => Some(user_id),
        Author::Participant { .. } | Author::Staff(_) => None,
    };
    let new = New {
        contest_id: contest,
        round_problem_id: problem,
        author,
        text,
    };
    let mut tx = app.db.begin().await?;
    if let Some(user) = asks {
        check_user(&mut tx, contest, user).await?;
    }
    let id = clarification::insert(&mut tx, &new, Time::now()).await?;
    tx.commit().await?;
    tell(app, contest, id, None).await?;
    Ok(id)
}

/// Adds a question. Returns the id.
///
/// # Errors
/// The viewer may not ask this now, or the text is not accepted.
pub async fn put_question(
    app: &App,
    session: &Session,
    contest: i64,
    problem: Option<i64>,
    text: &str,
) -> Page<i64> {
    let view = ContestView::of(app, session, contest).await?;
    let user = session.user_id()?;
    check_problem(app, session, contest, problem).await?;
    view.check_participant()?;
    if !view.access.take_part {
        return Err(PageError::NotFound);
    }
    let text = checked(text)?;
    let admitted = app.limits.questions.admit(user, Instant::now());
    admitted.map_err(PageError::TooOften)?;
    let author = Author::Participant {
        user_id: user,
        participant_id: view.participant.as_ref().map(|one| one.id),
    };
    put(app, (contest, view.access.manage), problem, author, &text).await
}

/// Adds an announcement. Returns the id.
///
/// # Errors
/// The viewer does not manage the contest, or the text is not accepted.
pub async fn put_announcement(
    app: &App,
    session: &Session,
    contest: i64,
    problem: Option<i64>,
    text: &str,
) -> Page<i64> {
    ContestView::managed(app, session, contest).await?;
    check_problem(app, session, contest, problem).await?;
    let text = checked(text)?;
    let staff = session.user_id()?;
    put(app, (contest, true), problem, Author::Staff(staff), &text).await
}

/// Answers a question, or changes an announcement.
///
/// # Errors
/// The viewer does not manage the contest, the text is not accepted, or another member of the staff
/// has answered since `answered_at`.
pub async fn put_answer(
    app: &App,
    session: &Session,
    id: i64,
    text: &str,
    audience: Audience,
    answered_at: Option<Time>,
) -> Page<Clarification> {
    let (view, one, _) = find(app, session, id).await?;
    if !view.access.manage {
        return Err(PageError::NotFound);
    }
    let text = checked(text)?;
    let audience = match audience {
        // An announcement has no question.
        Audience::Quoted if one.is_announcement() => Audience::All,
        audience => audience,
    };
    if one.answered_at != answered_at {
        return Err(Refusal::AnsweredMeanwhile.into());
    }
    let staff = session.user_id()?;
    // Later than the previous answer, so that the answer counts as new.
    let now = one
        .answered_at
        .map_or(Time(0), |at| Time(at.0 + 1))
        .max(Time::now());
    let mut tx = app.db.begin().await?;
    if clarification::answer(&mut tx, &one, &text, audience, staff, now).await? == 0 {
        return Err(Refusal::AnsweredMeanwhile.into());
    }
    tx.commit().await?;
    tell(app, view.contest.id, id, Some(one)).await?;
    let (_, one, _) = find(app, session, id).await?;
    Ok(one)
}
