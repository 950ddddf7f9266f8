//! Notices for pages that follow changes: server-sent events without content.

use super::client::Client;
use super::error::{Page, PageError};
use super::session::Session;
use crate::app::App;
use crate::core::pool::Permit;
use crate::judging::live::{Change, Signal};
use crate::text;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use maud::Markup;
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use std::net::IpAddr;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_util::sync::CancellationToken;

/// Streams end after this time. The browser opens a new stream, whose access is checked again.
const STREAM_LASTS: Duration = Duration::from_secs(300);

/// The pause before a stream compares what its viewer sees.
const LOOK_PAUSE: Duration = Duration::from_millis(200);

/// The place of a stream among those of users, or among those of guests.
#[derive(Debug)]
pub struct Seat {
    _holder: Holder,
    lost: CancellationToken,
}

#[derive(Debug)]
enum Holder {
    User { _place: Permit<i64> },
    Guest { _place: Permit<IpAddr> },
}

impl Seat {
    /// Takes a place for a stream.
    ///
    /// # Errors
    /// The user, or the guests of the network, have too many streams.
    pub fn of(app: &App, session: &Session, client: &Client) -> Page<Seat> {
        let (limits, lost) = (&app.limits, CancellationToken::new());
        let holder = match session.viewer().id() {
            Some(user) => {
                let place = limits.streams_of_users.take(user, &lost);
                place.map(|place| Holder::User { _place: place })
            }
            None => {
                let place = limits.streams_of_guests.take(client.customer(), &lost);
                place.map(|place| Holder::Guest { _place: place })
            }
        };
        Ok(Seat {
            _holder: holder.ok_or(PageError::TooManyStreams)?,
            lost,
        })
    }

    /// Responds with events for the changes that `concerns` selects.
    pub fn events(
        self,
        app: &App,
        concerns: impl Fn(&Change) -> bool + Send + Sync + 'static,
    ) -> Response {
        self.respond(changes(app.live.subscribe(), "change", concerns))
    }

    /// Responds with a stream of events, for some minutes.
    pub fn respond(
        self,
        events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
    ) -> Response {
        // The place is free when the stream is dropped, at the end of the connection.
        let lost = self.lost.clone().cancelled_owned();
        let events = events.map(move |event| {
            let _seat = &self;
            event
        });
        respond_for(STREAM_LASTS, events.take_until(lost))
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

/// Returns a stream with an event of this name for each change that concerns a page.
pub fn changes<T: Clone + Send + 'static>(
    changes: Receiver<Signal<T>>,
    name: &'static str,
    concerns: impl Fn(&T) -> bool + Send + Sync + 'static,
) -> impl Stream<Item = Result<Event, Infallible>> + Send {
    stream::unfold(
        (changes, concerns, name),
        async |(mut changes, concerns, name)| {
            loop {
                match changes.recv().await {
                    Ok(change) if !change.concerns(&concerns) => {}
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

/// Returns a stream with an event for each change in the part of a page that the viewer sees.
///
/// Changes that the viewer may not know of cause no event, because the time of an event would
/// reveal them. `look` returns the part, or a digest of it, and `concerns` selects the changes
/// after which it may differ. Changes within [`LOOK_PAUSE`] count as one.
pub async fn differences<T, P, F>(
    changes: Receiver<Signal<T>>,
    concerns: impl Fn(&T) -> bool + Send + Sync + 'static,
    look: impl Fn() -> F + Send + Sync + 'static,
) -> Page<impl Stream<Item = Result<Event, Infallible>> + Send>
where
    T: Clone + Send + 'static,
    P: PartialEq + Send + 'static,
    F: Future<Output = Page<P>> + Send,
{
    // The receiver exists before the first look, so no change is missed.
    let first = look().await?;
    // The stream outlives the request. Its language and time zone change how a part is rendered, so
    // all looks use those of the first.
    let request = text::request();
    let look = move || {
        let (look, request) = (look(), request.clone());
        async move {
            match request {
                Some(request) => text::scope(request, look).await,
                None => look.await,
            }
        }
    };
    let state = (changes, concerns, look, first);
    Ok(stream::unfold(
        state,
        async |(mut changes, concerns, look, mut known)| {
            loop {
                match changes.recv().await {
                    Ok(change) if !change.concerns(&concerns) => continue,
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => break None,
                }
                tokio::time::sleep(LOOK_PAUSE).await;
                while let Ok(_) | Err(TryRecvError::Lagged(_)) = changes.try_recv() {}
                // A viewer that no longer sees the page learns so from the next request. A database
                // that is busy must not end the news.
                let Ok(piece) = look().await else { continue };
                if piece != known {
                    known = piece;
                    let event = Event::default().event("change").data("changed");
                    break Some((Ok(event), (changes, concerns, look, known)));
                }
            }
        },
    ))
}

/// The digest of a rendered piece of a page.
pub fn digest(piece: &Markup) -> [u8; 32] {
    Sha256::digest(&piece.0).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use tokio::sync::broadcast;

    #[tokio::test]
    async fn change_that_the_viewer_does_not_see_causes_no_event() {
        use std::sync::Arc;
        use std::sync::atomic::{AtomicU32, Ordering};
        let (sender, receiver) = broadcast::channel(8);
        let seen = Arc::new(AtomicU32::new(0));
        let look = {
            let seen = seen.clone();
            move || {
                let piece = seen.load(Ordering::SeqCst);
                async move { Ok::<_, PageError>(piece) }
            }
        };
        let events = differences(receiver, |_: &u32| true, look).await.unwrap();
        let answer = respond_for(LOOK_PAUSE * 20, events);
        let change = async {
            for number in 0..30 {
                // More changes than a slow reader may miss, of which one is visible.
                if number == 20 {
                    seen.store(1, Ordering::SeqCst);
                }
                sender.send(Signal::Of(number)).unwrap();
                tokio::time::sleep(LOOK_PAUSE / 4).await;
            }
        };
        let (body, ()) = tokio::join!(answer.into_body().collect(), change);
        let body = body.unwrap().to_bytes();
        assert_eq!(body, "event: change\ndata: changed\n\n");
    }

    #[tokio::test]
    async fn stream_looks_in_the_language_and_zone_of_its_request() {
        use crate::core::zone::{Zone, Zones};
        use crate::text::{Locales, t};
        use maud::Render;
        use std::sync::Arc;
        let locales = Arc::new(Locales::built_in());
        let request = text::Request {
            locale: locales.find("de").unwrap().clone(),
            locales,
            zones: Zones {
                site: Zone::of_name("Europe/Berlin").unwrap(),
                contest: None,
                user: None,
            },
            back: String::new(),
            origin: String::new(),
        };
        let (sender, receiver) = broadcast::channel(8);
        let look = || async { Ok((t::SignIn.render().into_string(), text::zone().name().len())) };
        let events = text::scope(request, differences(receiver, |_: &u32| true, look));
        let answer = respond_for(LOOK_PAUSE * 5, events.await.unwrap());
        sender.send(Signal::Of(1)).unwrap();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, "");
        drop(sender);
    }

    #[tokio::test]
    async fn stream_ends_although_changes_may_follow() {
        let (sender, receiver) = broadcast::channel(8);
        sender.send(Signal::Of(1)).unwrap();
        sender.send(Signal::Of(2)).unwrap();
        let events = changes(receiver, "change", |number| *number == 2);
        let answer = respond_for(Duration::from_millis(200), events);
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, "event: change\ndata: changed\n\n");
        drop(sender);
    }
}
