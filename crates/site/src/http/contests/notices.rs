//! The news of a contest, on all its pages.
//!
//! The notice counts the items that wait for the viewer. Streams of events without content tell the
//! script of a page to request the notice again.

use super::view::{ContestView, Viewed};
use crate::app::App;
use crate::core::time::Time;
use crate::db::clarification::Clarification;
use crate::http::web::client::Client;
use crate::http::web::context::Ctx;
use crate::http::web::error::Page;
use crate::http::web::live::{Seat, changes};
use crate::judging::live::Note;
use axum::extract::Path;
use axum::response::sse::Event;
use axum::response::{Html, IntoResponse};
use futures_util::{Stream, StreamExt, stream};
use std::convert::Infallible;

/// Events for the changes of a contest that a viewer may know of.
pub fn notices(
    app: &App,
    view: ContestView,
) -> impl Stream<Item = Result<Event, Infallible>> + Send + use<> {
    changes(app.live.subscribe_notes(), "notice", move |note: &Note| {
        note.contest == view.contest.id && shows(&view, &note.versions)
    })
}

/// Whether the viewer sees a difference between the versions of a clarification.
pub fn shows(view: &ContestView, versions: &[Clarification]) -> bool {
    let now = Time::now();
    let mut pieces = versions.iter().map(|one| {
        let seen = view.seen(one, now);
        let question = seen.question.then_some(one.question.as_str());
        let answer = one.answer.as_deref().filter(|_| seen.answer);
        (question, answer, one.answered_at.filter(|_| seen.answer))
    });
    let Some(before) = pieces.next() else {
        return false;
    };
    match pieces.next() {
        Some(after) => before != after,
        None => before != (None, None, None),
    }
}

/// `GET /contests/{id}/clarifications/notice`: the content of the notice.
pub async fn show(Viewed(_, view): Viewed) -> Page {
    Ok(Html(view.notice().into_string()).into_response())
}

/// `GET /contests/{id}/clarifications/live`: for the list of clarifications, and for the notice.
pub async fn live(Ctx { app, session }: Ctx, client: Client, Path(id): Path<i64>) -> Page {
    let view = ContestView::of(&app, &session, id).await?;
    let seat = Seat::of(&app, &session, &client)?;
    let both = notices(&app, view).flat_map(|event| {
        let change = Event::default().event("change").data("changed");
        stream::iter([event, Ok(change)])
    });
    Ok(seat.respond(both))
}
