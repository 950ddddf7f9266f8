//! Submissions.

use super::caller::Caller;
use super::model::{Group, List, NewSubmission, Source, Submission, SubmissionDetails, Test};
use super::objects::part;
use super::problem::{Answer, ApiError, ProblemDetails};
use crate::app::App;
use crate::db::api_token::Scope;
use crate::db::submission::{self, Filter};
use crate::http::contests::view::ContestView;
use crate::http::judging::{submissions, submit};
use crate::http::problems::Place;
use crate::http::web::error::PageError;
use crate::http::web::mistake::Mistake;
use crate::http::web::parts::{PAGE_ROWS, Upload};
use crate::http::web::storable::Sent;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode};
use axum::response::AppendHeaders;
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum length of a key of a request, in characters.
const MAX_KEY: usize = 100;

async fn listed(app: &App, caller: &Caller, filter: Filter) -> Answer<Json<List<Submission>>> {
    let rows = submission::page(&app.db, filter, PAGE_ROWS).await?;
    let List { next, .. } = part(rows.clone(), |one| one.id, |_| ());
    let seen = submissions::looked_at(app, &caller.session, rows).await?;
    let items = seen
        .iter()
        .map(|(one, visible)| Submission::of(one, *visible));
    Ok(Json(List {
        items: items.collect(),
        next,
    }))
}

/// List the caller's submissions, or all for administrators, the latest first
#[utoipa::path(get, path = "/submissions", operation_id = "listSubmissions",
    params(("before" = Option<i64>, Query, description = "Only submissions with lower numbers")),
    responses(
        (status = 200, description = "A part of the list", body = List<Submission>),
        (status = 401, description = "The token is not valid", body = ProblemDetails),
    ))]
pub async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(place): Query<Place>,
) -> Answer<Json<List<Submission>>> {
    let user = caller.user(Scope::Read)?.id;
    let is_admin = caller.session.viewer().is_admin();
    let filter = Filter {
        user: (!is_admin).then_some(user),
        before: place.before,
        ..Filter::default()
    };
    listed(&app, &caller, filter).await
}

/// List the caller's submissions to a contest, or all for its staff, the latest first
#[utoipa::path(get, path = "/contests/{id}/submissions", operation_id = "listContestSubmissions",
    params(
        ("id" = i64, Path, description = "The number of the contest"),
        ("before" = Option<i64>, Query, description = "Only submissions with lower numbers"),
    ),
    responses(
        (status = 200, description = "A part of the list", body = List<Submission>),
        (status = 404, description = "The caller sees no such contest", body = ProblemDetails),
    ))]
pub async fn of_contest(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<i64>,
    Query(place): Query<Place>,
) -> Answer<Json<List<Submission>>> {
    let view = ContestView::of(&app, &caller.session, id).await?;
    let user = caller.user(Scope::Read)?.id;
    let filter = Filter {
        contest: Some(id),
        user: (!view.access.manage).then_some(user),
        before: place.before,
        ..Filter::default()
    };
    listed(&app, &caller, filter).await
}

/// Return a submission with its protocol
#[utoipa::path(get, path = "/submissions/{id}", operation_id = "getSubmission",
    params(("id" = i64, Path, description = "The number of the submission")),
    responses(
        (status = 200, description = "The submission", body = SubmissionDetails),
        (status = 404, description = "The caller sees no such submission", body = ProblemDetails),
    ))]
pub async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<i64>,
) -> Answer<Json<SubmissionDetails>> {
    let (one, _, visible) = submissions::find(&app, &caller.session, id).await?;
    let protocol = submissions::protocol(&app, one.judgement_id, visible).await?;
    Ok(Json(SubmissionDetails {
        submission: Submission::of(&one, visible),
        full_protocol: visible.protocol,
        messages: protocol.messages,
        tests: protocol.tests.into_iter().map(Test::from).collect(),
        groups: protocol.groups.into_iter().map(Group::from).collect(),
    }))
}

/// Return the source of a submission
#[utoipa::path(get, path = "/submissions/{id}/source", operation_id = "getSource",
    params(("id" = i64, Path, description = "The number of the submission")),
    responses(
        (status = 200, description = "The source", body = Source),
        (status = 404, description = "The caller sees no such submission", body = ProblemDetails),
    ))]
pub async fn source(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<i64>,
) -> Answer<Json<Source>> {
    submissions::find(&app, &caller.session, id).await?;
    let source = submission::source(&app.db, id).await?;
    let source = source.ok_or(PageError::NotFound)?;
    Ok(Json(Source {
        file_name: source.file_name,
        source: String::from_utf8_lossy(&source.content).into_owned(),
    }))
}

fn key(headers: &HeaderMap) -> Answer<Option<String>> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let key = value.to_str().ok().map(|key| key.trim().trim_matches('"'));
    match key.filter(|key| (1..=MAX_KEY).contains(&key.len())) {
        Some(key) => Ok(Some(key.to_owned())),
        None => Err(ApiError::Malformed(format!(
            "An idempotency key must have 1 to {MAX_KEY} characters."
        ))),
    }
}

/// Submit a source
///
/// A request that repeats the header `Idempotency-Key` of an earlier request returns the submission
/// that the earlier request has created.
#[utoipa::path(post, path = "/submissions", operation_id = "submit", request_body = NewSubmission,
    params(("idempotency-key" = Option<String>, Header, description = "A key for this request")),
    responses(
        (status = 201, description = "The submission, which waits to be judged", body = Submission),
        (status = 401, description = "The token is not valid", body = ProblemDetails),
        (status = 403, description = "The round is not open, or the scope is insufficient",
            body = ProblemDetails),
        (status = 404, description = "The caller sees no such problem", body = ProblemDetails),
        (status = 422, description = "The source or the language is not accepted",
            body = ProblemDetails),
        (status = 429, description = "The caller submits too often", body = ProblemDetails),
    ))]
pub async fn submit(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    sent: Answer<Sent<NewSubmission>>,
) -> Answer<(
    StatusCode,
    AppendHeaders<[(axum::http::HeaderName, String); 1]>,
    Json<Submission>,
)> {
    caller.user(Scope::Submit)?;
    let Sent(sent) = sent?;
    let key = key(&headers)?;
    let upload = Upload {
        file_name: sent.file_name,
        content: sent.source.into_bytes(),
        fields: HashMap::from([("language".to_owned(), sent.language)]),
        ..Upload::default()
    };
    let session = &caller.session;
    let key = key.as_deref();
    let id = match (sent.round_problem, sent.problem, sent.practice) {
        (Some(id), None, false) => submit::send_to_round(&app, session, id, upload, key).await,
        (Some(id), None, true) => submit::send_for_practice(&app, session, id, upload, key).await,
        (None, Some(id), false) => submit::send_to_problem(&app, session, id, upload, key).await,
        _ => Err(Mistake::SubmissionTarget.into()),
    }?;
    let (one, _, visible) = submissions::find(&app, session, id).await?;
    let location = AppendHeaders([(LOCATION, format!("/api/v1/submissions/{id}"))]);
    let answer = Submission::of(&one, visible);
    Ok((StatusCode::CREATED, location, Json(answer)))
}
