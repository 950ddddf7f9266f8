//! Notices for pages that follow changes: server-sent events without content.

use crate::app::App;
use crate::judging::live::Change;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// Streams end after this time. The browser opens another one, whose access is checked again.
const STREAM_LASTS: Duration = Duration::from_secs(300);

/// Events for the changes that `concerns` selects.
pub fn events(app: &App, concerns: impl Fn(&Change) -> bool + Send + Sync + 'static) -> Response {
    respond(changes(app.live.subscribe(), "change", concerns))
}

/// Events for the changes of a job.
pub fn job_events(app: &App, id: i64) -> Response {
    respond(changes(
        app.live.subscribe_jobs(),
        "change",
        move |changed| *changed == id,
    ))
}

/// A stream of events as an answer, for some minutes.
pub fn respond(events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static) -> Response {
    respond_for(STREAM_LASTS, events)
}

fn respond_for(
    time: Duration,
    events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
) -> Response {
    Sse::new(events.take_until(tokio::time::sleep(time)))
        .keep_alive(KeepAlive::default())
        .into_response()
}

/// An event with this name for each change that concerns a page.
pub fn changes<T: Clone + Send + 'static>(
    changes: Receiver<T>,
    name: &'static str,
    concerns: impl Fn(&T) -> bool + Send + Sync + 'static,
) -> impl Stream<Item = Result<Event, Infallible>> + Send {
    stream::unfold(
        (changes, concerns, name),
        async |(mut changes, concerns, name)| {
            loop {
                match changes.recv().await {
                    Ok(change) if !concerns(&change) => {}
                    // A reader that has missed changes must also look again.
                    Ok(_) | Err(RecvError::Lagged(_)) => {
                        // Browsers drop events without data.
                        let event = Event::default().event(name).data("changed");
                        break Some((Ok(event), (changes, concerns, name)));
                    }
                    Err(RecvError::Closed) => break None,
                }
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use tokio::sync::broadcast;

    #[tokio::test]
    async fn stream_ends_although_changes_may_follow() {
        let (sender, receiver) = broadcast::channel(8);
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        let events = changes(receiver, "change", |number| *number == 2);
        let answer = respond_for(Duration::from_millis(200), events);
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, "event: change\ndata: changed\n\n");
        drop(sender);
    }
}
