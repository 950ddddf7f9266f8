//! The news of a contest, on all its pages.
//!
//! The notice counts the items that wait for the viewer. Streams of events without content tell the
//! script of a page to request the notice again.

use super::client::Client;
use super::error::Page;
use super::live::{Seat, changes};
use super::scene::Scene;
use super::session::Session;
use crate::app::App;
use crate::core::time::Time;
use crate::judging::live::Note;
use axum::extract::{Path, State};
use axum::response::sse::Event;
use axum::response::{Html, IntoResponse};
use futures_util::{Stream, StreamExt, stream};
use std::convert::Infallible;
use std::sync::Arc;

/// Events for the changes of a contest that a viewer may know of.
pub fn notices(
    app: &App,
    scene: Scene,
) -> impl Stream<Item = Result<Event, Infallible>> + Send + use<> {
    changes(app.live.subscribe_notes(), "notice", move |note: &Note| {
        let now = Time::now();
        let is_seen = |one| scene.seen(one, now).any();
        note.contest == scene.contest.id && note.versions.iter().any(is_seen)
    })
}

/// `GET /contests/{id}/clarifications/notice`: the content of the notice.
pub async fn show(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    let scene = Scene::of(&app, &session, id).await?;
    Ok(Html(scene.notice().into_string()).into_response())
}

/// `GET /contests/{id}/clarifications/live`: for the list of clarifications, and for the notice.
pub async fn live(
    State(app): State<Arc<App>>,
    session: Session,
    client: Client,
    Path(id): Path<i64>,
) -> Page {
    let scene = Scene::of(&app, &session, id).await?;
    let seat = Seat::of(&app, &session, &client)?;
    let both = notices(&app, scene).flat_map(|event| {
        let change = Event::default().event("change").data("changed");
        stream::iter([event, Ok(change)])
    });
    Ok(seat.respond(both))
}
