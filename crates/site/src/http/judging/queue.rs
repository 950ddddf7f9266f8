//! Pages for administrators.

use crate::db::judgement;
use crate::http::web::context::Admin;
use crate::http::web::error::Page;
use crate::http::web::layout::page;
use crate::http::web::parts::{PAGE_ROWS, time};
use crate::http::web::vocabulary;
use crate::text::t;
use axum::response::IntoResponse;
use maud::html;

/// `GET /queue`.
pub async fn show(Admin { app, session, .. }: Admin) -> Page {
    let entries = judgement::queue(&app.db, PAGE_ROWS).await?;
    let main = html! {
        h1 { (t::Queue) }
        p.actions { a href="/workers" { (t::Workers) } }
        div.scroll { table {
            thead { tr {
                th { (t::Submission) } th { (t::State) } th.number { (t::QueuePriority) }
                th.number { (t::QueueAttempt) }
                th { (t::QueueWorker) } th { (t::QueueQueued) } th { (t::Started) }
                th { (t::Ended) } th { (t::QueueFault) }
            } }
            tbody { @for one in &entries { tr {
                td { a href={ "/submissions/" (one.submission_id) } { "#" (one.submission_id) } }
                td { (vocabulary::judgement_state(one.state)) }
                td.number { (one.priority) }
                td.number { (one.attempt) }
                td translate="no" { (one.worker.as_deref().unwrap_or_default()) }
                td { (time(one.queued_at)) }
                td { @if let Some(at) = one.started_at { (time(at)) } }
                td { @if let Some(at) = one.ended_at { (time(at)) } }
                td.text translate="no" { (one.fault.as_deref().unwrap_or_default()) }
            } } }
        } }
    };
    Ok(page(&session, t::Queue, main).into_response())
}
