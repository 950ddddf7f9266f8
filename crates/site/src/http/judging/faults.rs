//! Stopping and pausing the judging, and faults.

use super::submissions;
use crate::app::App;
use crate::core::time::Time;
use crate::db::fault::{self, Fault, Kind, Reader};
use crate::db::{contest, judgement};
use crate::http::contests::view::ManagedProblem;
use crate::http::web::context::{Checked, Ctx};
use crate::http::web::error::{Page, PageError};
use crate::http::web::layout::page;
use crate::http::web::parts::{PAGE_ROWS, time};
use crate::http::web::session::Session;
use crate::judging::live::Change;
use crate::text::{Message, t};
use axum::extract::{Form, Path};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};
use serde::Deserialize;

/// `POST /submissions/{id}/cancel`.
pub async fn cancel(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let (one, round_problem) = submissions::managed(&app, &session, id).await?;
    let mut tx = app.db.begin().await?;
    let cancelled = judgement::cancel_of_submission(&mut tx, id, Time::now()).await?;
    tx.commit().await?;
    for judgement in cancelled {
        app.stop_judging(judgement);
    }
    app.live.changed(Change {
        submission: id,
        user: one.user_id,
        contest: round_problem.map(|problem| problem.contest_id),
        rejudging: None,
    });
    Ok(Redirect::to(&format!("/submissions/{id}")).into_response())
}

/// The fields of `POST /round-problems/{id}/pause`.
#[derive(Deserialize)]
pub struct Pause {
    pause: String,
}

/// `POST /round-problems/{id}/pause`: pauses the judging of a problem, or continues it.
pub async fn pause(
    Checked(ManagedProblem(app, problem), Form(form)): Checked<ManagedProblem, Form<Pause>>,
) -> Page {
    let id = problem.id;
    let mut tx = app.db.begin().await?;
    contest::set_allow_judge(&mut tx, id, form.pause.is_empty()).await?;
    tx.commit().await?;
    app.queue.wake();
    Ok(Redirect::to(&format!("/round-problems/{id}")).into_response())
}

fn kind(fault: &Fault) -> &'static dyn Message {
    match fault.kind {
        Kind::Package => &t::FaultPackage,
        Kind::Machine => &t::FaultMachine,
    }
}

fn state(fault: &Fault) -> Markup {
    html! {
        @match fault.closed_at {
            Some(at) => (t::FaultClosed { time: time(at) }),
            None => span.bad { (t::FaultOpen) },
        }
    }
}

fn reader(session: &Session) -> Page<Reader> {
    Ok(Reader {
        user: session.user_id()?,
        all: session.viewer().is_admin(),
    })
}

/// The faults that the viewer sees. Staff see those of their problems and contests.
async fn visible(app: &App, session: &Session) -> Page<Vec<Fault>> {
    Ok(fault::page(&app.db, reader(session)?, PAGE_ROWS).await?)
}

/// `GET /faults`.
pub async fn list(Ctx { app, session }: Ctx) -> Page {
    let faults = visible(&app, &session).await?;
    if faults.is_empty() && !session.is_staff(&app).await? {
        return Err(PageError::NotFound);
    }
    let main = html! {
        h1 { (t::Faults) }
        p { (t::FaultsLead) }
        div.scroll { table {
            thead { tr {
                th { (t::QueueFault) } th { (t::Problem) } th.number { (t::Version) }
                th { (t::FaultWhat) }
                th { (t::FaultLast) } th { (t::State) }
            } }
            tbody { @for one in &faults { tr {
                td { a href={ "/faults/" (one.id) } { "#" (one.id) } }
                td { (one.problem_name) }
                td.number { (one.version) }
                td { (kind(one)) }
                td { (time(one.last_at)) }
                td { (state(one)) }
            } } }
        } }
        @if faults.is_empty() { p.muted { (t::FaultsEmpty) } }
    };
    Ok(page(&session, t::Faults, main).into_response())
}

/// A fault that the viewer sees.
async fn find(app: &App, session: &Session, id: i64) -> Page<Fault> {
    if session.viewer().is_admin() {
        let found = fault::by_id(&app.db, id).await?;
        return found.ok_or(PageError::NotFound);
    }
    let faults = visible(app, session).await?;
    let mut faults = faults.into_iter();
    faults.find(|one| one.id == id).ok_or(PageError::NotFound)
}

/// `GET /faults/{id}`.
pub async fn show(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    let fault = find(&app, &session, id).await?;
    let reader = reader(&session)?;
    let hanging = fault::hanging(&app.db, id, reader).await?;
    let failures = fault::failures(&app.db, id, reader, PAGE_ROWS).await?;
    let main = html! {
        h1 { (t::FaultTitle { id: id.to_string() }) }
        dl.facts {
            dt { (t::Problem) }
            dd {
                @let problem = html! {
                    a href={ "/problems/" (fault.problem_id) } { (fault.problem_name) }
                };
                (t::FaultVersion { problem, version: fault.version })
            }
            dt { (t::FaultWhat) } dd { (kind(&fault)) }
            dt { (t::FaultFirst) } dd { (time(fault.first_at)) }
            dt { (t::FaultLast) } dd { (time(fault.last_at)) }
            dt { (t::State) } dd { (state(&fault)) }
            dt { (t::FaultWaiting) }
            dd {
                @for one in &hanging {
                    a href={ "/submissions/" (one.submission_id) } { "#" (one.submission_id) } " "
                }
                @if hanging.is_empty() { (t::None) }
            }
        }
        @if fault.closed_at.is_none() {
            form method="post" action={ "/faults/" (id) "/close" } {
                button { (t::FaultClose) }
            }
            p.hint { (t::FaultCloseHint) }
        }
        h2 { (t::FaultEvidence) }
        @for one in &failures {
            p {
                @let submission = one.submission_id.to_string();
                @let (attempt, time) = (one.attempt, time(one.failed_at));
                @match &one.worker {
                    Some(worker) => {
                        (t::FaultAttemptWorker { submission, attempt, worker, time })
                    }
                    None => (t::FaultAttempt { submission, attempt, time }),
                }
            }
            pre tabindex="0" { "\n" (one.reason) }
        }
    };
    Ok(page(&session, t::QueueFault, main).into_response())
}

/// `POST /faults/{id}/close`.
pub async fn close(Ctx { app, session }: Ctx, Path(id): Path<i64>) -> Page {
    find(&app, &session, id).await?;
    let mut tx = app.db.begin().await?;
    fault::close(&mut tx, id, reader(&session)?, Time::now()).await?;
    tx.commit().await?;
    app.queue.wake();
    Ok(Redirect::to(&format!("/faults/{id}")).into_response())
}
