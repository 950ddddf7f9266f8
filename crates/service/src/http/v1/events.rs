//! The events of a run or judging as a stream (Server-Sent Events).

use super::V1;
use super::auth::Authenticated;
use super::jobs::{self, Job, LogEvent};
use super::judgings::JudgingAnswer;
use super::model::RunAnswer;
use crate::core::access::Verb;
use crate::core::queue::ClientId;
use crate::core::registry::Logged;
use crate::core::share::Claim;
use crate::http::problem::ProblemDetails;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::{Stream, StreamExt, stream};
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;

/// Follow a run
///
/// A stream of Server-Sent Events: first `state` with the current state, then the events `queued`,
/// `started`, `compiled`, `test_started`, `stdout`, `stderr`, `test` and `ended`. `Last-Event-ID`
/// resumes after an event. `gap` reports that older events are lost. The stream ends with the run.
#[utoipa::path(
    get,
    path = "/runs/{id}/events",
    operation_id = "run_events",
    tag = "runs",
    params(
        ("id" = String, Path, description = "The id of the run"),
        ("Last-Event-ID" = Option<u64>, Header, description = "The last event that was received"),
    ),
    responses(
        (
            status = 200,
            description = "The events",
            content_type = "text/event-stream",
            body = String
        ),
        (
            status = 404,
            description = "This client has no such run",
            body = ProblemDetails,
            content_type = "application/problem+json"
        ),
    ),
)]
pub async fn of_run(
    State(v1): State<Arc<V1>>,
    client: Authenticated,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ProblemDetails> {
    let job = jobs::find::<RunAnswer>(&v1, &client, Verb::Read, &id)?;
    let place = jobs::stream(&v1.service, &client.0)?;
    Ok(follow(job, &headers, place))
}

/// Follow a judging
///
/// A stream of Server-Sent Events: first `state` with the current state, then the events `queued`,
/// `started`, `compiled`, `judged`, `test` and `ended`. `Last-Event-ID` resumes after an event.
#[utoipa::path(
    get,
    path = "/judgings/{id}/events",
    operation_id = "judging_events",
    tag = "judgings",
    params(
        ("id" = String, Path, description = "The id of the judging"),
        ("Last-Event-ID" = Option<u64>, Header, description = "The last event that was received"),
    ),
    responses(
        (
            status = 200,
            description = "The events",
            content_type = "text/event-stream",
            body = String
        ),
        (
            status = 404,
            description = "This client has no such judging",
            body = ProblemDetails,
            content_type = "application/problem+json"
        ),
    ),
)]
pub async fn of_judging(
    State(v1): State<Arc<V1>>,
    client: Authenticated,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ProblemDetails> {
    let job = jobs::find::<JudgingAnswer>(&v1, &client, Verb::Read, &id)?;
    let place = jobs::stream(&v1.service, &client.0)?;
    Ok(follow(job, &headers, place))
}

fn follow(job: Arc<Job>, headers: &HeaderMap, place: Claim<ClientId>) -> Response {
    let last = headers
        .get("last-event-id")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse().ok())
        .unwrap_or(0);
    let events = events(job, last).map(move |event| {
        // The place is free when the stream is dropped.
        let _ = &place;
        event
    });
    Sse::new(events)
        .keep_alive(KeepAlive::default())
        .into_response()
}

fn events(job: Arc<Job>, last: u64) -> impl Stream<Item = Result<Event, Infallible>> {
    let state = json!({ "id": job.id, "state": jobs::phase_name(job.phase()), "label": job.label });
    let first = Event::default().event("state").data(state.to_string());
    let later = stream::unfold(Some((job, last)), |place| async move {
        let (job, last) = place?;
        let part = job.log_after(last).await;
        let mut events = Vec::with_capacity(part.events.len() + 1);
        if part.has_gap {
            events.push(Event::default().event("gap").data("null"));
        }
        let last = part.events.last().map_or(last, |logged| logged.id);
        events.extend(part.events.into_iter().map(event));
        let next = (!part.is_complete).then_some((job, last));
        Some((stream::iter(events), next))
    });
    stream::once(async { first }).chain(later.flatten()).map(Ok)
}

fn event(logged: Logged<LogEvent>) -> Event {
    let id = logged.id.to_string();
    match logged.event {
        LogEvent::Document { name, data } => Event::default().event(name).data(data).id(id),
        LogEvent::Output {
            test,
            stream,
            bytes,
        } => {
            let data = match std::str::from_utf8(&bytes) {
                Ok(text) => json!({ "test": test, "text": text }),
                Err(_) => json!({ "test": test, "base64": BASE64.encode(&bytes) }),
            };
            let name = if stream == 2 { "stderr" } else { "stdout" };
            Event::default().event(name).data(data.to_string()).id(id)
        }
    }
}
