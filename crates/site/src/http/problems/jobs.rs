//! Jobs and their logs.

use crate::app::App;
use crate::core::access::{self, JobAccess};
use crate::core::time::Time;
use crate::core::work::Work;
use crate::db::job::{self, Job, State as JobState};
use crate::db::{Tx, problem};
use crate::http::contests::view::ContestView;
use crate::http::web::client::Client;
use crate::http::web::context::Ctx;
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::{live_page, page};
use crate::http::web::live::{Seat, changes, differences};
use crate::http::web::parts::{self, PAGE_ROWS, time};
use crate::http::web::quota;
use crate::http::web::refusal::Refusal;
use crate::http::web::session::Session;
use crate::http::web::vocabulary;
use crate::jobs;
use crate::text::{Message, t};
use axum::extract::{Path, Query};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};
use serde::Deserialize;

/// The number of lines of a log that a page shows.
const SHOWN_LINES: i64 = 1000;
/// The maximum number of lines of a log that is downloaded.
const MAX_LINES: i64 = 1_000_000;

/// Adds a job and redirects to its page.
pub async fn begin(app: &App, session: &Session, work: &Work) -> Page {
    let user = session.user_id()?;
    if work.adds_files() {
        quota::room(app, user).await?;
    }
    let mut tx = app.db.begin().await?;
    let id = add(&mut tx, work, user).await?;
    tx.commit().await?;
    app.wake_jobs();
    Ok(Redirect::to(&format!("/jobs/{id}")).into_response())
}

/// The number of jobs that a user can add now.
pub async fn left(tx: &mut Tx, user: i64) -> Page<i64> {
    Ok(jobs::MAX_QUEUED - job::queued_of(tx, user).await?)
}

/// Adds a job within a transaction. The caller checks the room for files. Returns the job's
/// number.
pub async fn add(tx: &mut Tx, work: &Work, user: i64) -> Page<i64> {
    let id = jobs::add(tx, work, user).await?;
    let max = jobs::MAX_QUEUED;
    Ok(id.ok_or(Refusal::TooManyJobs { max })?)
}

/// A job that the viewer may see.
async fn find(app: &App, session: &Session, id: i64) -> Page<(Job, JobAccess)> {
    let job = job::by_id(&app.db, id).await?;
    let job = job.ok_or(PageError::NotFound)?;
    let owner = match job.problem_id {
        Some(problem) => problem::by_id(&app.db, problem).await?,
        None => None,
    };
    let manages = match job.contest_id {
        Some(contest) => ContestView::managed(app, session, contest).await.is_ok(),
        None => false,
    };
    let owner = owner.map(|problem| problem.owner_id);
    let access = access::job(session.viewer(), job.created_by, owner, manages);
    if access.view {
        Ok((job, access))
    } else {
        Err(PageError::NotFound)
    }
}

/// The state by which a list is filtered.
#[derive(Deserialize)]
pub struct Which {
    state: Option<JobState>,
}

/// The name of the problem or the contest that a job changes. A problem that is not yet added has
/// the name of its file; a deleted object has none.
fn subject(job: &Job) -> Option<String> {
    if let Some(name) = job.problem_name.as_ref().or(job.contest_name.as_ref()) {
        return Some(name.clone());
    }
    match serde_json::from_str(&job.args) {
        Ok(Work::AddProblem { file_name, .. }) => Some(file_name),
        _ => None,
    }
}

/// A table of jobs.
pub fn table(jobs: &[Job]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th { (t::Job) } th { (t::JobWhat) } th { (t::JobSubject) } th { (t::State) }
                th { (t::By) }
                th { (t::Added) } th { (t::Ended) }
            } }
            tbody { @for one in jobs { tr {
                td { a href={ "/jobs/" (one.id) } { "#" (one.id) } }
                td { (vocabulary::job_kind(one.kind)) }
                td translate="no" { @if let Some(name) = subject(one) { (name) } }
                td { (vocabulary::job_state(one.state)) }
                td { (one.login) }
                td { (time(one.created_at)) }
                td { @if let Some(at) = one.ended_at { (time(at)) } }
            } } }
        } }
        @if jobs.is_empty() { p.muted { (t::JobsEmpty) } }
    }
}

/// `GET /jobs`: the jobs that the viewer may see.
pub async fn list(Ctx { app, session }: Ctx, Query(which): Query<Which>) -> Page {
    let user = session.user_id()?;
    let all = session.viewer().is_admin();
    let state = which.state.map_or("", JobState::text);
    let jobs = job::page(&app.db, user, all, state, PAGE_ROWS).await?;
    if jobs.is_empty() && !session.is_staff(&app).await? {
        return Err(PageError::NotFound);
    }
    let main = html! {
        h1 { (t::Jobs) }
        p.actions {
            a href="/jobs" { (t::All) }
            @for state in JobState::ALL {
                a href={ "/jobs?state=" (state.text()) } { (vocabulary::job_state(*state)) }
            }
        }
        (table(&jobs))
    };
    Ok(page(&session, t::Jobs, main).into_response())
}

/// `GET /jobs/{id}`.
pub async fn show(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let (job, access) = find(&app, &session, id).await?;
    let lines = if access.log {
        job::lines(&app.db, id, SHOWN_LINES).await?
    } else {
        Vec::new()
    };
    let title = t::JobTitle { id: id.to_string() };
    let is_open = matches!(
        job.state,
        JobState::Queued | JobState::Running | JobState::Stopping
    );
    let main = html! {
        @let detail = vocabulary::job_kind(job.kind);
        h1 { (t::Colon { what: &title, detail }) }
        div data-live {
            dl.facts {
                @if let Some(name) = subject(&job) {
                    dt { (t::JobSubject) } dd #subject translate="no" { (name) }
                }
                dt { (t::State) } dd #state { (vocabulary::job_state(job.state)) }
                dt { (t::By) } dd { (job.login) ", " (time(job.created_at)) }
                @if let Some(at) = job.started_at { dt { (t::Started) } dd { (time(at)) } }
                @if let Some(at) = job.ended_at { dt { (t::Ended) } dd { (time(at)) } }
                @if let Some(result) = &job.result {
                    @let name = subject(&job).unwrap_or_else(|| result.clone());
                    dt { (t::Result) } dd translate="no" { a href=(result) { (name) } }
                }
            }
            @if access.control { (actions(&job)) }
            @if access.log {
                h2 { (t::JobLog) }
                pre #log tabindex="0" {
                    "\n" @for line in &lines {
                        (parts::line_time(line.written_at)) " " (line.line) "\n"
                    }
                }
                p { a href={ "/jobs/" (id) "/log" } { (t::JobLogDownload) } }
            }
        }
    };
    let answer = if is_open {
        live_page(&session, title, &format!("/jobs/{id}/live"), main)
    } else {
        page(&session, title, main)
    };
    Ok(answer.into_response())
}

fn actions(job: &Job) -> Markup {
    let (action, words): (_, &dyn Message) = match job.state {
        JobState::Queued | JobState::Running => ("cancel", &t::JobStop),
        JobState::Failed | JobState::Cancelled => ("restart", &t::JobRestart),
        JobState::Stopping | JobState::Done => return html! {},
    };
    html! {
        form.actions method="post" action={ "/jobs/" (job.id) "/" (action) } {
            button { (words) }
        }
    }
}

/// `GET /jobs/{id}/live`.
pub async fn live(Ctx { app, session }: Ctx, client: Client, Path(id): Path<i64>) -> Page {
    let (_, access) = find(&app, &session, id).await?;
    let seat = Seat::of(&app, &session, &client)?;
    let receiver = app.live.subscribe_jobs();
    let concerns = move |changed: &i64| *changed == id;
    if access.log {
        return Ok(seat.respond(changes(receiver, "change", concerns)));
    }
    // Lines of the log are not visible.
    let look = move || {
        let (app, session) = (app.clone(), session.clone());
        async move {
            let (job, _) = find(&app, &session, id).await?;
            Ok((job.state, job.started_at, job.ended_at, job.result))
        }
    };
    Ok(seat.respond(differences(receiver, concerns, look).await?))
}

/// `GET /jobs/{id}/log`.
pub async fn log(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let (_, access) = find(&app, &session, id).await?;
    if !access.log {
        return Err(PageError::NotFound);
    }
    let lines = job::lines(&app.db, id, MAX_LINES).await?;
    let join = move || -> String {
        let lines = lines.iter();
        lines
            .map(|line| format!("{} {}\n", line.written_at, line.line))
            .collect()
    };
    let text = app.limits.rendering.run(session.party(), join).await?;
    let name = format!("attachment; filename=\"job-{id}.txt\"");
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (CONTENT_DISPOSITION, name),
    ];
    Ok((headers, text).into_response())
}

/// A job that the viewer may stop and start again.
async fn controlled(app: &App, session: &Session, id: i64) -> Page<Job> {
    let (job, access) = find(app, session, id).await?;
    access.control.then_some(job).ok_or(PageError::NotFound)
}

/// `POST /jobs/{id}/cancel`.
pub async fn cancel(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    controlled(&app, &session, id).await?;
    let mut tx = app.db.begin().await?;
    if !job::cancel(&mut tx, id, Time::now()).await? {
        return Err(Refusal::JobEnded.into());
    }
    tx.commit().await?;
    app.stop_job(id);
    app.live.job_changed(id);
    Ok(Redirect::to(&format!("/jobs/{id}")).into_response())
}

/// Checks that the viewer could still add a job. Its creator may have lost the rights.
async fn check_rights(app: &App, session: &Session, job: &Job) -> Page<()> {
    let work: Work = serde_json::from_str(&job.args).map_err(|_| Refusal::JobNotStopped)?;
    let mut problems: Vec<i64> = work.problem().into_iter().collect();
    if let Work::MergeProblems { from, .. } = work {
        problems.push(from);
    }
    for id in problems {
        let found = problem::by_id(&app.db, id).await?;
        if !found.is_some_and(|one| access::problem(session.viewer(), &one, false).edit) {
            return Err(PageError::NotFound);
        }
    }
    if let Some(contest) = work.contest() {
        let view = ContestView::managed(app, session, contest).await?;
        if matches!(work, Work::DeleteContest { .. }) && !view.access.own {
            return Err(PageError::NotFound);
        }
    }
    if matches!(work, Work::AddProblem { .. }) && !session.viewer().is_teacher() {
        return Err(PageError::NotFound);
    }
    Ok(())
}

/// `POST /jobs/{id}/restart`.
pub async fn restart(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let job = controlled(&app, &session, id).await?;
    check_rights(&app, &session, &job).await?;
    let mut tx = app.db.begin().await?;
    let max = jobs::MAX_QUEUED;
    if job::queued_of(&mut tx, job.created_by).await? >= max {
        return Err(Refusal::TooManyJobs { max }.into());
    }
    if !job::restart(&mut tx, id).await? {
        return Err(Refusal::JobNotStopped.into());
    }
    tx.commit().await?;
    app.wake_jobs();
    app.live.job_changed(id);
    Ok(Redirect::to(&format!("/jobs/{id}")).into_response())
}
