//! Clarifications, announcements, files and rankings of contests.

use super::caller::Caller;
use super::model::{Clarification, ContestFile, List, NewAnnouncement, NewAnswer, NewQuestion};
use super::problem::{Answer, ProblemDetails};
use crate::app::App;
use crate::core::time::Time;
use crate::db::api_token::Scope;
use crate::db::clarification::Audience;
use crate::http::contests::clarifications::{self, Choice};
use crate::http::contests::contest_files;
use crate::http::contests::ranking::{self, Look, Looked};
use crate::http::contests::view::ContestView;
use crate::http::web::context::Ctx;
use crate::http::web::mistake::Mistake;
use crate::http::web::storable::Sent;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use std::sync::Arc;

/// List the clarifications and announcements of a contest that the caller may see, the latest first
#[utoipa::path(get, path = "/contests/{id}/clarifications", operation_id = "listClarifications",
    params(
        ("id" = i64, Path, description = "The number of the contest"),
        ("before" = Option<i64>, Query, description = "Only those with lower numbers"),
        ("show" = Option<String>, Query,
            description = "`all`, `unanswered`, `own` or `announcements`"),
        ("problem" = Option<i64>, Query, description = "Only those about this problem"),
    ),
    responses(
        (status = 200, description = "A part of the list", body = List<Clarification>),
        (status = 404, description = "The caller sees no such contest", body = ProblemDetails),
    ))]
pub async fn clarifications(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<i64>,
    Query(choice): Query<Choice>,
) -> Answer<Json<List<Clarification>>> {
    let view = ContestView::of(&app, &caller.session, id).await?;
    let (rows, next) = clarifications::listed(&app, &caller.session, &view, &choice).await?;
    let staff = view.access.manage;
    let items = rows
        .iter()
        .map(|(one, seen)| Clarification::of(one, *seen, staff));
    Ok(Json(List {
        items: items.collect(),
        next,
    }))
}

async fn one(app: &App, caller: &Caller, id: i64) -> Answer<Json<Clarification>> {
    let (view, one, seen) = clarifications::find(app, &caller.session, id).await?;
    Ok(Json(Clarification::of(&one, seen, view.access.manage)))
}

/// Return a clarification or an announcement
#[utoipa::path(get, path = "/clarifications/{id}", operation_id = "getClarification",
    params(("id" = i64, Path, description = "The number of the clarification")),
    responses(
        (status = 200, description = "The clarification", body = Clarification),
        (status = 404, description = "The caller sees no such clarification",
            body = ProblemDetails),
    ))]
pub async fn clarification(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<i64>,
) -> Answer<Json<Clarification>> {
    one(&app, &caller, id).await
}

/// Ask the staff of a contest
#[utoipa::path(post, path = "/contests/{id}/clarifications", operation_id = "ask",
    request_body = NewQuestion,
    params(("id" = i64, Path, description = "The number of the contest")),
    responses(
        (status = 201, description = "The question", body = Clarification),
        (status = 401, description = "The token is not valid", body = ProblemDetails),
        (status = 403, description = "The scope is insufficient", body = ProblemDetails),
        (status = 404, description = "The caller sees no such contest or problem",
            body = ProblemDetails),
        (status = 422, description = "The text is not accepted", body = ProblemDetails),
        (status = 429, description = "The caller asks too often", body = ProblemDetails),
    ))]
pub async fn ask(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<i64>,
    body: Answer<Sent<NewQuestion>>,
) -> Answer<(StatusCode, Json<Clarification>)> {
    caller.user(Scope::Submit)?;
    let Sent(new) = body?;
    let (session, problem) = (&caller.session, new.round_problem);
    let id = clarifications::put_question(&app, session, id, problem, &new.text).await?;
    Ok((StatusCode::CREATED, one(&app, &caller, id).await?))
}

/// Make an announcement; for the staff of the contest
#[utoipa::path(post, path = "/contests/{id}/announcements", operation_id = "announce",
    request_body = NewAnnouncement,
    params(("id" = i64, Path, description = "The number of the contest")),
    responses(
        (status = 201, description = "The announcement", body = Clarification),
        (status = 401, description = "The token is not valid", body = ProblemDetails),
        (status = 403, description = "The scope is insufficient", body = ProblemDetails),
        (status = 404, description = "The caller manages no such contest", body = ProblemDetails),
        (status = 422, description = "The text is not accepted", body = ProblemDetails),
    ))]
pub async fn announce(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<i64>,
    body: Answer<Sent<NewAnnouncement>>,
) -> Answer<(StatusCode, Json<Clarification>)> {
    caller.user(Scope::Manage)?;
    let Sent(new) = body?;
    let (session, problem) = (&caller.session, new.round_problem);
    let id = clarifications::put_announcement(&app, session, id, problem, &new.text).await?;
    Ok((StatusCode::CREATED, one(&app, &caller, id).await?))
}

/// Answer a question or change an announcement; for the staff of the contest
#[utoipa::path(post, path = "/clarifications/{id}/answer", operation_id = "answer",
    request_body = NewAnswer,
    params(("id" = i64, Path, description = "The number of the clarification")),
    responses(
        (status = 200, description = "The clarification", body = Clarification),
        (status = 401, description = "The token is not valid", body = ProblemDetails),
        (status = 403, description = "The scope is insufficient, or the answer has changed",
            body = ProblemDetails),
        (status = 404, description = "The caller does not manage the contest",
            body = ProblemDetails),
        (status = 422, description = "A field is not accepted", body = ProblemDetails),
    ))]
pub async fn answer(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<i64>,
    body: Answer<Sent<NewAnswer>>,
) -> Answer<Json<Clarification>> {
    caller.user(Scope::Manage)?;
    let Sent(new) = body?;
    let audience = Audience::of_text(&new.audience).ok_or(Mistake::UnknownVisibility)?;
    let before = new.replaces.map(Time);
    let session = &caller.session;
    clarifications::put_answer(&app, session, id, &new.text, audience, before).await?;
    one(&app, &caller, id).await
}

/// List the files of a contest that the caller may download now
#[utoipa::path(get, path = "/contests/{id}/files", operation_id = "listContestFiles",
    params(("id" = i64, Path, description = "The number of the contest")),
    responses(
        (status = 200, description = "The files by name", body = Vec<ContestFile>),
        (status = 404, description = "The caller sees no such contest", body = ProblemDetails),
    ))]
pub async fn files(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<i64>,
) -> Answer<Json<Vec<ContestFile>>> {
    let view = ContestView::of(&app, &caller.session, id).await?;
    let files = contest_files::listed(&app, &view).await?;
    Ok(Json(files.into_iter().map(ContestFile::from).collect()))
}

/// Return the content of a file of a contest
#[utoipa::path(get, path = "/contest-files/{id}/content", operation_id = "getContestFile",
    params(("id" = i64, Path, description = "The number of the file")),
    responses(
        (status = 200, description = "The content", content_type = "application/octet-stream"),
        (status = 404, description = "The caller sees no such file", body = ProblemDetails),
    ))]
pub async fn content(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<i64>,
) -> Answer<Response> {
    let session = caller.session;
    Ok(contest_files::load(Ctx { app, session }, Path(id)).await?)
}

/// Return the ranking of a contest as the caller sees it
///
/// The answer has an entity tag. A request with `If-None-Match` is answered with status 304 until
/// the ranking changes.
#[utoipa::path(get, path = "/contests/{id}/ranking", operation_id = "getRanking",
    params(
        ("id" = i64, Path, description = "The number of the contest"),
        ("round" = Option<i64>, Query, description = "Only this round"),
        ("group" = Option<String>, Query, description = "Only participants of this group"),
        ("view" = Option<String>, Query, description = "`public`: what guests see"),
    ),
    responses(
        (status = 200, description = "The tables of the ranking",
            content_type = "application/json"),
        (status = 304, description = "The ranking has not changed"),
        (status = 404, description = "The caller sees no such contest or round",
            body = ProblemDetails),
    ))]
pub async fn ranking(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<i64>,
    Query(choice): Query<ranking::Choice>,
    headers: HeaderMap,
) -> Answer<Response> {
    let session = caller.session;
    let look = Look::of(&app, &session, id, choice).await?;
    Ok(ranking::json(Looked(Ctx { app, session }, look), headers).await?)
}
