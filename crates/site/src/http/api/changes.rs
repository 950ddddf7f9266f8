//! What has changed in a contest since a program asked last.

use super::caller::Caller;
use super::model::{Changes, Clarification, ClarificationPart, Submission, SubmissionPart};
use super::problem::{Answer, ApiError, Problem as Failure};
use crate::app::App;
use crate::core::changes::State as Known;
use crate::db::api_token::Scope;
use crate::db::submission::{self, Filter};
use crate::http::clarifications::{self, Choice};
use crate::http::error::PageError;
use crate::http::scene::Scene;
use crate::http::{ranking, submissions};
use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use std::sync::Arc;

/// About how many objects an answer has. It ends with the part that exceeds this.
const MAX_ITEMS: usize = 500;

/// The query of [`changes`].
#[derive(Deserialize)]
pub struct Since {
    since: Option<String>,
}

/// Return what has changed in a contest since the caller asked last
///
/// Without `since`, the answer has everything that the caller may see: submissions with their
/// results, clarifications with announcements, and the tag of the ranking. Each answer has a token
/// for `since` of the next request. Tokens stay valid, also after a restart of the site.
///
/// An answer has *parts*. A part replaces all objects with the numbers `from` to `to`: remove those
/// that you have, and keep the `items`. So objects that were deleted or hidden disappear. Ask again
/// at once if `more` is true, and otherwise after some seconds. If `ranking` is present, load the
/// ranking again.
#[utoipa::path(get, path = "/contests/{id}/changes", operation_id = "getChanges",
    params(
        ("id" = i64, Path, description = "The number of the contest"),
        ("since" = Option<String>, Query, description = "The token of the previous answer"),
    ),
    responses(
        (status = 200, description = "The changes, about 500 objects at most", body = Changes),
        (status = 400, description = "The token is malformed; start without it", body = Failure),
        (status = 404, description = "The caller sees no such contest", body = Failure),
    ))]
pub async fn changes(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<i64>,
    Query(query): Query<Since>,
) -> Answer<Json<Changes>> {
    let scene = Scene::of(&app, &caller.session, id).await?;
    let mut known = match &query.since {
        None => Known::default(),
        Some(token) => Known::of_token(token).ok_or_else(|| {
            ApiError::Malformed("The token is malformed; ask without `since`.".to_owned())
        })?,
    };
    let mut room = MAX_ITEMS;
    let items = visible_submissions(&app, &caller, &scene).await?;
    let submissions = known.submissions.changed(items, &mut room);
    let items = visible_clarifications(&app, &caller, &scene).await?;
    let clarifications = known.clarifications.changed(items, &mut room);
    let ranking = match ranking::tag(&app, &caller.session, id).await {
        Ok(tag) => known.ranking(tag),
        Err(PageError::NotFound) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(Json(Changes {
        token: known.token(),
        more: room == 0,
        submissions: submissions.into_iter().map(SubmissionPart::from).collect(),
        clarifications: clarifications
            .into_iter()
            .map(ClarificationPart::from)
            .collect(),
        ranking,
    }))
}

/// The submissions that the list of the contest shows to the caller.
async fn visible_submissions(
    app: &App,
    caller: &Caller,
    scene: &Scene,
) -> Answer<Vec<(i64, Submission)>> {
    // Guests see no submissions.
    let Ok(user) = caller.user(Scope::Read) else {
        return Ok(Vec::new());
    };
    let filter = Filter {
        contest: Some(scene.contest.id),
        user: (!scene.access.manage).then_some(user.id),
        ..Filter::default()
    };
    let rows = submission::page(&app.db, filter, i64::MAX).await?;
    let seen = submissions::looked_at(app, &caller.session, rows).await?;
    let items = seen.iter().rev();
    Ok(items
        .map(|(one, visible)| (one.id, Submission::of(one, *visible)))
        .collect())
}

async fn visible_clarifications(
    app: &App,
    caller: &Caller,
    scene: &Scene,
) -> Answer<Vec<(i64, Clarification)>> {
    let (mut choice, mut items) = (Choice::default(), Vec::new());
    loop {
        let (rows, next) = clarifications::listed(app, &caller.session, scene, &choice).await?;
        let staff = scene.access.manage;
        items.extend(
            rows.iter()
                .map(|(one, seen)| (one.id, Clarification::of(one, *seen, staff))),
        );
        if next.is_none() {
            items.reverse();
            return Ok(items);
        }
        choice.before = next;
    }
}
