//! Notices for pages that follow changes, as server-sent events without content.

use crate::app::App;
use crate::judging::live::Change;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use std::convert::Infallible;
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
