//! Questions of participants, answers and announcements of the staff.

mod acts;

pub use acts::{Choice, find, listed, problems, put_announcement, put_answer, put_question, tell};

use super::view::ContestView;
use crate::core::back::Back;
use crate::core::clarification::{MAX_CANNED, MAX_CANNED_TEXT, MAX_TEXT, Seen};
use crate::core::time::Time;
use crate::db::clarification::{self, Audience, Clarification, Show};
use crate::db::contest::RoundProblem;
use crate::http::contests::view::{Managed, Viewed};
use crate::http::web::context::{Checked, Ctx};
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::{live_page, page};
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::{address, empty, time};
use crate::http::web::session::Session;
use crate::text::{Message, t};
use acts::number;
use axum::extract::{Form, Path, Query};
use axum::http::HeaderMap;
use axum::http::header::REFERER;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, Render, html};
use serde::Deserialize;

/// What a clarification is about.
fn subject(one: &Clarification) -> Markup {
    html! {
        @match (one.round_problem_id, &one.label, &one.problem_name) {
            (Some(id), Some(label), Some(name)) => {
                a href={ "/round-problems/" (id) } { b { (label) } " " (name) }
            }
            _ => (t::ClarificationOfContest),
        }
    }
}

/// A clarification as the viewer may see it.
fn card(view: &ContestView, one: &Clarification, seen: Seen) -> Markup {
    let staff = view.access.manage;
    html! {
        article.card {
            p.state {
                span { (subject(one)) }
                @if one.is_announcement() { span.chip { (t::Announcement) } }
                @else if one.answered_at.is_none() { span.chip.busy { (t::ClarificationWaits) } }
                @if view.is_unread(one) { span.chip.good { (t::ClarificationNew) } }
                span.muted { (time(one.answered_at.unwrap_or(one.created_at))) }
            }
            @if seen.question && !one.is_announcement() {
                @if staff {
                    p.hint { (t::ClarificationAskedBy {
                        name: author(one),
                        time: time(one.created_at),
                    }) }
                }
                blockquote.text { (one.question) }
            }
            @if seen.answer && let Some(answer) = &one.answer { p.text { (answer) } }
            @if staff {
                @if let Some(login) = &one.answered_login {
                    p.hint { (login) ": " (audience_words(one)) }
                }
                p { a href={ "/clarifications/" (one.id) } {
                    @if one.answered_at.is_some() {
                        (t::ClarificationChange { number: one.id })
                    } @else {
                        (t::ClarificationAnswerNumber { number: one.id })
                    }
                } }
            }
        }
    }
}

/// The author of a question for the staff, with the team.
fn author(one: &Clarification) -> Markup {
    html! {
        (one.login.as_deref().unwrap_or_default())
        @if let Some(team) = one.team_name.as_ref().filter(|it| !it.is_empty()) {
            " (" (team) ")"
        }
    }
}

fn audience_words(one: &Clarification) -> &'static dyn Message {
    match (one.audience, one.is_announcement()) {
        (Audience::Author, true) => &t::AudienceWithdrawn,
        (Audience::Author, false) => &t::AudienceAuthor,
        (Audience::All, _) => &t::AudienceAll,
        (Audience::Quoted, _) => &t::AudienceQuoted,
    }
}

/// `GET /contests/{id}/clarifications`.
pub async fn list(
    Query(choice): Query<Choice>,
    Viewed(Ctx { app, session }, view): Viewed,
) -> Page {
    let id = view.contest.id;
    let (rows, next) = listed(&app, &session, &view, &choice).await?;
    let problems = problems(&app, &view).await?;
    let root = format!("/contests/{id}/clarifications");
    let until = rows.iter().filter(|(_, seen)| seen.answer);
    let until = until.filter_map(|(one, _)| view.shown_at(one)).max();
    let main = html! {
        (view.top(&session, Some(&t::Clarifications)))
        h2 { (t::Clarifications) }
        (chooser(&view, &session, &choice, &problems))
        div data-live {
            @if view.news.unread > 0 && let Some(until) = until {
                form.inline method="post" action={ (root) "/read" } {
                    input type="hidden" name="until" value=(until.0);
                    button { (t::ClarificationsRead) }
                }
            }
            @for (one, seen) in &rows { (card(&view, one, *seen)) }
            @if rows.is_empty() { (empty(t::ClarificationsEmpty, None)) }
            @if let Some(next) = next {
                p { a href={ (root) "?" (choice.next(next)) } { (t::ClarificationsEarlier) } }
            }
        }
        @if view.access.manage {
            h2 { (t::AnnouncementNew) }
            (text_form(&format!("/contests/{id}/announcements"), &choice, &problems,
                t::AnnouncementButton))
            p { a href={ "/contests/" (id) "/canned-answers" } { (t::CannedAnswers) } }
        } @else if view.access.take_part {
            h2 { (t::QuestionNew) }
            (text_form(&root, &choice, &problems, t::QuestionButton))
            p.hint { (t::QuestionHint) }
        }
    };
    let source = format!("{root}/live");
    Ok(live_page(&session, t::Clarifications, &source, main).into_response())
}

fn chooser(
    view: &ContestView,
    session: &Session,
    choice: &Choice,
    problems: &[RoundProblem],
) -> Markup {
    let mut shows: Vec<(Show, &dyn Render)> = vec![(Show::All, &t::ClarificationsAll)];
    if view.access.manage {
        shows.push((Show::Unanswered, &t::ClarificationsUnanswered));
    } else if session.user.is_some() {
        shows.push((Show::Own, &t::ClarificationsOwn));
    }
    shows.push((Show::Announcements, &t::Announcements));
    html! {
        form.inline method="get" {
            label { (t::ClarificationsShow) select name="show" { @for (show, words) in shows {
                option value=(show.text()) selected[show == choice.show()] { (words) }
            } } }
            label { (t::Problem) (problem_select(choice, problems, t::ClarificationsAll)) }
            button { (t::Filter) }
        }
    }
}

fn problem_select(choice: &Choice, problems: &[RoundProblem], none: impl Render) -> Markup {
    html! {
        select name="problem" {
            option value="" { (none) }
            @for one in problems {
                option value=(one.id) selected[choice.problem == one.id.to_string()] {
                    (one.label) " " (one.name)
                }
            }
        }
    }
}

fn text_form(
    action: &str,
    choice: &Choice,
    problems: &[RoundProblem],
    words: impl Render,
) -> Markup {
    html! {
        form.fields method="post" action=(action) {
            label { (t::ClarificationAbout)
                (problem_select(choice, problems, t::ClarificationOfContest)) }
            label { (t::ClarificationText) textarea name="text" required maxlength=(MAX_TEXT) {} }
            button { (words) }
        }
    }
}

/// The fields of a question or an announcement.
#[derive(Deserialize)]
pub struct Text {
    #[serde(default)]
    problem: String,
    text: String,
}

/// `POST /contests/{id}/clarifications`: a question.
pub async fn ask(Ctx { app, session }: Ctx, Path(id): Path<i64>, Form(form): Form<Text>) -> Page {
    let problem = number(&form.problem)?;
    put_question(&app, &session, id, problem, &form.text).await?;
    Ok(Redirect::to(&format!("/contests/{id}/clarifications")).into_response())
}

/// `POST /contests/{id}/announcements`.
pub async fn announce(
    Ctx { app, session }: Ctx,
    Path(id): Path<i64>,
    Form(form): Form<Text>,
) -> Page {
    let problem = number(&form.problem)?;
    put_announcement(&app, &session, id, problem, &form.text).await?;
    Ok(Redirect::to(&format!("/contests/{id}/clarifications")).into_response())
}

/// The page on which the viewer has pressed a button that many pages have.
fn page_before(headers: &HeaderMap) -> Back {
    let before = headers.get(REFERER).and_then(|value| value.to_str().ok());
    let path = before.and_then(|before| before.strip_prefix(&address("")));
    path.map_or(Back::default(), |path| path.to_owned().into())
}

/// The fields of `POST /contests/{id}/clarifications/read`.
#[derive(Deserialize)]
pub struct Read {
    until: i64,
}

/// `POST /contests/{id}/clarifications/read`: records what the page has shown.
pub async fn read(
    headers: HeaderMap,
    Checked(Viewed(Ctx { app, session }, view), Form(form)): Checked<Viewed, Form<Read>>,
) -> Page {
    let id = view.contest.id;
    let user = session.user_id()?;
    let until = Time(form.until).min(Time::now());
    let mut tx = app.db.begin().await?;
    clarification::see(&mut tx, id, user, until).await?;
    tx.commit().await?;
    let list = format!("/contests/{id}/clarifications");
    Ok(Redirect::to(page_before(&headers).or(&list)).into_response())
}

/// `GET /clarifications/{id}`.
pub async fn show(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let (view, one, seen) = find(&app, &session, id).await?;
    let canned = clarification::canned(&app.db, view.contest.id).await?;
    let title: &'static dyn Message = if one.is_announcement() {
        &t::Announcement
    } else {
        &t::Question
    };
    let main = html! {
        (view.top(&session, Some(&title)))
        h2 { (title) }
        (card(&view, &one, seen))
        @if view.access.manage {
            h2 { (t::ClarificationAnswer) }
            form.fields method="post" {
                input type="hidden" name="answered"
                    value=[one.answered_at.map(|at| at.0)];
                @if !canned.is_empty() && !one.is_announcement() {
                    label { (t::CannedAnswer)
                        select name="canned" {
                            option value="" { (t::CannedNone) }
                            @for canned in &canned {
                                option value=(canned.id) { (canned.text) }
                            }
                        }
                    }
                }
                label { (t::ClarificationText)
                    textarea name="answer" maxlength=(MAX_TEXT) {
                        "\n" (one.answer.as_deref().unwrap_or_default())
                    }
                }
                label { (t::VisibleTo)
                    select name="audience" {
                        @for audience in Audience::ALL {
                            @if *audience != Audience::Quoted || !one.is_announcement() {
                                option value=(audience.text())
                                    selected[*audience == one.audience] {
                                    (choice_words(*audience, one.is_announcement()))
                                }
                            }
                        }
                    }
                }
                button { (t::Save) }
            }
        }
        p { a href={ "/contests/" (view.contest.id) "/clarifications" } {
            (t::ClarificationsList)
        } }
    };
    Ok(page(&session, title, main).into_response())
}

fn choice_words(audience: Audience, is_announcement: bool) -> &'static dyn Message {
    match (audience, is_announcement) {
        (Audience::Author, true) => &t::AudienceChoiceWithdraw,
        (Audience::Author, false) => &t::AudienceChoiceAuthor,
        (Audience::All, true) => &t::AudienceChoicePeople,
        (Audience::All, false) => &t::AudienceChoiceAll,
        (Audience::Quoted, _) => &t::AudienceChoiceQuoted,
    }
}

/// The fields of `POST /clarifications/{id}`.
#[derive(Deserialize)]
pub struct Answer {
    /// When the answer that the form has shown was given.
    #[serde(default)]
    answered: String,
    #[serde(default)]
    canned: String,
    answer: String,
    audience: Audience,
}

/// `POST /clarifications/{id}`.
pub async fn answer(
    Ctx { app, session }: Ctx,
    Path(id): Path<i64>,
    Form(form): Form<Answer>,
) -> Page {
    let (view, ..) = find(&app, &session, id).await?;
    let text = match number(&form.canned)? {
        Some(chosen) => {
            let canned = clarification::canned(&app.db, view.contest.id).await?;
            let canned = canned.into_iter().find(|one| one.id == chosen);
            canned.ok_or(PageError::NotFound)?.text
        }
        None => form.answer,
    };
    let before = number(&form.answered)?.map(Time);
    put_answer(&app, &session, id, &text, form.audience, before).await?;
    let list = format!("/contests/{}/clarifications", view.contest.id);
    Ok(Redirect::to(&list).into_response())
}

/// `GET /contests/{id}/canned-answers`.
pub async fn canned(Managed(Ctx { app, session }, view): Managed) -> Page {
    let id = view.contest.id;
    let canned = clarification::canned(&app.db, id).await?;
    let main = html! {
        (view.top(&session, Some(&t::CannedAnswers)))
        h2 { (t::CannedAnswers) }
        form.fields method="post" {
            label { (t::CannedLines)
                textarea name="list" {
                    "\n" @for one in &canned { (one.text) "\n" }
                }
            }
            button { (t::Save) }
        }
    };
    Ok(page(&session, t::CannedAnswers, main).into_response())
}

/// The fields of `POST /contests/{id}/canned-answers`.
#[derive(Deserialize)]
pub struct CannedList {
    list: String,
}

/// `POST /contests/{id}/canned-answers`.
pub async fn set_canned(
    Checked(Managed(Ctx { app, .. }, view), Form(form)): Checked<Managed, Form<CannedList>>,
) -> Page {
    let id = view.contest.id;
    let lines = form.list.lines().map(str::trim);
    let lines: Vec<String> = lines
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect();
    let is_long = |line: &String| line.chars().count() > MAX_CANNED_TEXT;
    if lines.len() > MAX_CANNED || lines.iter().any(is_long) {
        return Err(Mistake::CannedAnswers {
            max: MAX_CANNED,
            length: MAX_CANNED_TEXT,
        }
        .into());
    }
    let mut tx = app.db.begin().await?;
    clarification::set_canned(&mut tx, id, &lines).await?;
    tx.commit().await?;
    Ok(Redirect::to(&format!("/contests/{id}/canned-answers")).into_response())
}
