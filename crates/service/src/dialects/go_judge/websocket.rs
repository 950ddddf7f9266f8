//! `/ws`: many simultaneous requests on one connection.
//!
//! Every message contains an id. It either is a request like those to `/run`, or cancels the
//! request with that id. Each answer carries the id of its request. When the connection ends, its
//! requests are cancelled.

use super::GoJudge;
use super::answer;
use super::auth::Authenticated;
use super::conversation::cancelled_results;
use super::error::{BeginError, GroupError};
use super::error_answer;
use super::model::CommandResult;
use super::request::GroupRequest;
use super::run::{self, Attached};
use crate::http::bodies::{self, Values};
use crate::tokens::Client;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::future::{AbortHandle, AbortRegistration, Abortable, Aborted};
use futures_util::stream::FuturesUnordered;
use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The largest message of a client, in bytes. Larger files belong into the file store.
const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// The interval at which the service checks the connection.
const PING_INTERVAL: Duration = Duration::from_secs(50);
/// How long the client may be silent.
const SILENCE: Duration = Duration::from_secs(60);
/// Maximum number of simultaneous requests of one connection.
const MAX_REQUESTS: usize = 10_000;

/// `GET /ws`.
pub async fn connect(
    State(go_judge): State<Arc<GoJudge>>,
    Authenticated(client): Authenticated,
    upgrade: WebSocketUpgrade,
) -> Response {
    let Some(place) = go_judge.service.streams.take(client.id, 1) else {
        return error_answer(StatusCode::TOO_MANY_REQUESTS, BeginError::QueueFull);
    };
    let Some((charge, max_bytes)) = bodies::socket(&go_judge.service, client.id, MAX_MESSAGE_BYTES)
    else {
        return error_answer(StatusCode::TOO_MANY_REQUESTS, BeginError::QueueFull);
    };
    upgrade
        .max_message_size(max_bytes)
        .max_frame_size(max_bytes)
        .on_upgrade(async move |socket| {
            serve(go_judge, client, socket).await;
            drop((place, charge));
        })
}

/// The requests of a connection that have no answer yet.
#[derive(Default)]
struct Pending {
    cancel: HashMap<String, AbortHandle>,
}

async fn serve(go_judge: Arc<GoJudge>, client: Client, socket: WebSocket) {
    let (mut sender, mut receiver) = socket.split();
    let mut pending = Pending::default();
    let mut running = FuturesUnordered::new();
    let mut ping = tokio::time::interval(PING_INTERVAL);
    ping.tick().await;
    let mut last_heard = Instant::now();
    loop {
        let silence = SILENCE.saturating_sub(last_heard.elapsed());
        let answer = tokio::select! {
            message = receiver.next() => {
                last_heard = Instant::now();
                let Some(Ok(message)) = message else { return };
                let body = match &message {
                    Message::Text(text) => text.as_bytes(),
                    Message::Binary(bytes) => bytes,
                    Message::Close(_) => return,
                    Message::Ping(_) | Message::Pong(_) => continue,
                };
                // Upstream closes the connection as well.
                if Values::default().are_too_many(body) {
                    return;
                }
                let Ok(request) = serde_json::from_slice::<GroupRequest>(body) else { return };
                if let Some(id) = request.cancels() {
                    if let Some(cancel) = pending.cancel.get(id) {
                        cancel.abort();
                    }
                    continue;
                }
                let id = request.request_id().to_owned();
                match pending.begin(&id) {
                    Ok(registration) => {
                        let commands = request.command_count();
                        let group = request.into_group(body.len());
                        let (go_judge, client) = (go_judge.clone(), client.clone());
                        let run = async move {
                            let group = group.map_err(GroupError::from)?;
                            run::run(&go_judge, &client, group, Attached::default()).await
                        };
                        let run = Abortable::new(run, registration);
                        running.push(async move { (id, commands, run.await) });
                        continue;
                    }
                    Err(error) => render(&id, &[], &error.to_string()),
                }
            }
            Some((id, commands, ended)) = running.next(), if !running.is_empty() => {
                pending.cancel.remove(&id);
                match ended {
                    Ok(Ok(report)) => render(&id, &report.results, ""),
                    Ok(Err(error)) => render(&id, &[], &error.to_string()),
                    Err(Aborted) => render(&id, &cancelled_results(commands), ""),
                }
            }
            _ = ping.tick() => Message::Ping(axum::body::Bytes::new()),
            () = tokio::time::sleep(silence) => return,
        };
        if sender.send(answer).await.is_err() {
            return;
        }
    }
}

impl Pending {
    /// Begins a request with this id.
    fn begin(&mut self, id: &str) -> Result<AbortRegistration, BeginError> {
        if id.is_empty() {
            return Err(BeginError::EmptyId);
        }
        if self.cancel.contains_key(id) {
            return Err(BeginError::DuplicateId(id.to_owned()));
        }
        if self.cancel.len() >= MAX_REQUESTS {
            return Err(BeginError::QueueFull);
        }
        let (handle, registration) = AbortHandle::new_pair();
        self.cancel.insert(id.to_owned(), handle);
        Ok(registration)
    }
}

fn render(id: &str, results: &[CommandResult], error: &str) -> Message {
    let mut answer = json!({"requestId": id, "results": answer::results(results)});
    if !error.is_empty() {
        answer["error"] = json!(error);
    }
    Message::Text(answer.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_need_an_id_of_their_own() {
        let mut pending = Pending::default();
        assert_eq!(pending.begin("").unwrap_err(), BeginError::EmptyId);
        pending.begin("a").unwrap();
        let error = pending.begin("a").unwrap_err();
        assert_eq!(error, BeginError::DuplicateId("a".to_owned()));
        pending.begin("b").unwrap();
    }
}
