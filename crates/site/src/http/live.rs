//! Notices for pages that follow changes, as server-sent events without content.

use super::contests::Scene;
use super::error::Page;
use super::session::Session;
use super::submissions;
use crate::app::App;
use crate::db::participant;
use crate::judging::live::Change;
use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// Events for the changes that `concerns` chooses.
pub fn events(app: &App, concerns: impl Fn(&Change) -> bool + Send + Sync + 'static) -> Response {
    stream_of(app.live.subscribe(), concerns)
}

/// Events for the changes of a job.
pub fn job_events(app: &App, id: i64) -> Response {
    stream_of(app.live.subscribe_jobs(), move |changed| *changed == id)
}

fn stream_of<T: Clone + Send + 'static>(
    changes: Receiver<T>,
    concerns: impl Fn(&T) -> bool + Send + Sync + 'static,
) -> Response {
    let stream = stream::unfold((changes, concerns), async |(mut changes, concerns)| {
        loop {
            match changes.recv().await {
                Ok(change) if !concerns(&change) => {}
                // A reader that has missed changes must look again, too.
                Ok(_) | Err(RecvError::Lagged(_)) => {
                    // Browsers drop events without data.
                    let event = Event::default().event("change").data("changed");
                    break Some((Ok::<_, Infallible>(event), (changes, concerns)));
                }
                Err(RecvError::Closed) => break None,
            }
        }
    });
    Sse::new(stream)
        .keep_alive(KeepAlive::default())
        .into_response()
}

/// `GET /submissions/{id}/live`.
pub async fn submission(
    State(app): State<Arc<App>>,
    session: Session,
    Path(id): Path<i64>,
) -> Page {
    submissions::find(&app, &session, id).await?;
    Ok(events(&app, move |change| change.submission == id))
}

/// The viewer and the members of the viewer's team.
async fn team(app: &App, session: &Session, scene: &Scene) -> Page<Vec<i64>> {
    let mut users: Vec<i64> = session.viewer().id().into_iter().collect();
    if let Some(one) = &scene.participant {
        let members = participant::members(&app.db, scene.contest.id).await?;
        let members = members
            .iter()
            .filter(|member| member.participant_id == one.id);
        users.extend(members.map(|member| member.user_id));
    }
    Ok(users)
}

/// `GET /contests/{id}/live`: submissions of the own team, or all for the staff.
pub async fn contest(State(app): State<Arc<App>>, session: Session, Path(id): Path<i64>) -> Page {
    let scene = Scene::of(&app, &session, id).await?;
    let all = scene.access.manage;
    let users = team(&app, &session, &scene).await?;
    Ok(events(&app, move |change| {
        change.contest == Some(id) && (all || users.contains(&change.user))
    }))
}
