//! Notices for pages that follow changes: server-sent events without content.

use super::client::Client;
use super::error::{Page, PageError};
use super::session::Session;
use crate::app::App;
use crate::core::places::Place;
use crate::judging::live::Change;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use std::convert::Infallible;
use std::net::IpAddr;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// Streams end after this time. The browser opens another one, whose access is checked again.
const STREAM_LASTS: Duration = Duration::from_secs(300);

/// The place of a stream among those of its user and its network.
#[derive(Debug)]
pub struct Seat {
    _network: Place<IpAddr>,
    _user: Option<Place<i64>>,
}

impl Seat {
    /// Takes a place for a stream.
    ///
    /// # Errors
    /// The user or the network has too many streams.
    pub fn of(app: &App, session: &Session, client: &Client) -> Page<Seat> {
        let network = app.streams_of_network.take(client.network());
        let network = network.ok_or(PageError::TooManyStreams)?;
        let user = session.viewer().id().map(|user| {
            let place = app.streams_of_user.take(user);
            place.ok_or(PageError::TooManyStreams)
        });
        Ok(Seat {
            _network: network,
            _user: user.transpose()?,
        })
    }

    /// Events for the changes that `concerns` selects.
    pub fn events(
        self,
        app: &App,
        concerns: impl Fn(&Change) -> bool + Send + Sync + 'static,
    ) -> Response {
        self.respond(changes(app.live.subscribe(), "change", concerns))
    }

    /// Events for the changes of a job.
    pub fn job_events(self, app: &App, id: i64) -> Response {
        self.respond(changes(
            app.live.subscribe_jobs(),
            "change",
            move |changed| *changed == id,
        ))
    }

    /// A stream of events as an answer, for some minutes.
    pub fn respond(
        self,
        events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
    ) -> Response {
        // The place is free when the stream is dropped, at the end of the connection.
        respond_for(
            STREAM_LASTS,
            events.map(move |event| {
                let _seat = &self;
                event
            }),
        )
    }
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
