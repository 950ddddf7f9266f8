//! `/stream`: one interactive group on one connection.
//!
//! The first byte of a message is its kind. Data from the client is written to descriptors with
//! `streamIn`, and the client receives the output of descriptors with `streamOut`. The last message
//! contains the results. When the connection ends, the group is cancelled.

use super::GoJudge;
use super::answer;
use super::auth::Authenticated;
use super::conversation::{Control, Conversation, Place};
use super::error::BeginError;
use super::error_answer;
use super::model::CommandResult;
use super::request;
use crate::http::bodies::{self, Values};
use crate::tokens::Client;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use rustix::termios::Winsize;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The largest message of a client, in bytes. Interactive groups are small, and a client may have
/// many of them.
const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// The interval at which the service checks the connection.
const PING_INTERVAL: Duration = Duration::from_secs(50);

/// Kinds of messages from the client.
const REQUEST: u8 = 1;
const RESIZE: u8 = 2;
const INPUT: u8 = 3;
const CANCEL: u8 = 4;
/// Kinds of messages from the service.
const RESULTS: u8 = 1;
const OUTPUT: u8 = 2;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Resize {
    index: usize,
    fd: usize,
    rows: u16,
    cols: u16,
    x: u16,
    y: u16,
}

/// `GET /stream`.
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

async fn serve(go_judge: Arc<GoJudge>, client: Client, socket: WebSocket) {
    let (mut sender, mut receiver) = socket.split();
    let Some(first) = next(&mut receiver).await else {
        return;
    };
    let group = match first.split_first() {
        Some((&REQUEST, body)) if !Values::default().are_too_many(body) => request::parse(body),
        _ => return,
    };
    let group = match group {
        Ok(group) => group,
        Err(error) => {
            let _ = sender.send(results(&[], &error.to_string())).await;
            return;
        }
    };
    let (conversation, control, mut output) = match Conversation::begin(go_judge, client, group) {
        Ok(begun) => begun,
        Err(error) => {
            let _ = sender.send(results(&[], &error.to_string())).await;
            return;
        }
    };
    let to_client = async {
        let mut ping = tokio::time::interval(PING_INTERVAL);
        ping.tick().await;
        loop {
            let message = tokio::select! {
                piece = output.recv() => match piece {
                    Some((place, bytes)) => piece_of_output(place, &bytes),
                    None => return true,
                },
                _ = ping.tick() => Message::Ping(Bytes::new()),
            };
            if sender.send(message).await.is_err() {
                return false;
            }
        }
    };
    let from_client = async {
        while let Some(message) = next(&mut receiver).await {
            if !control_by(&control, &message).await {
                return;
            }
        }
    };
    let ended = tokio::select! {
        (ended, true) = async { tokio::join!(conversation.run(), to_client) } => ended,
        () = from_client => return,
        else => return,
    };
    let last = match ended {
        Ok(ended) => results(&ended, ""),
        Err(error) => results(&[], &error.to_string()),
    };
    if sender.send(last).await.is_ok() {
        let _ = sender.send(Message::Close(None)).await;
    }
}

/// The next message with content; `None` if the connection has ended.
async fn next(
    receiver: &mut (impl StreamExt<Item = Result<Message, axum::Error>> + Unpin),
) -> Option<Bytes> {
    loop {
        match receiver.next().await?.ok()? {
            Message::Binary(bytes) => return Some(bytes),
            Message::Text(text) => return Some(Bytes::from(text)),
            Message::Close(_) => return None,
            Message::Ping(_) | Message::Pong(_) => {}
        }
    }
}

/// Handles a message from the client. Returns whether the group continues.
async fn control_by(control: &Control, message: &Bytes) -> bool {
    let Some((kind, body)) = message.split_first() else {
        return false;
    };
    match *kind {
        INPUT => {
            let Some(place) = body.first() else {
                return false;
            };
            let place = Place {
                index: usize::from(place >> 4),
                fd: usize::from(place & 15),
            };
            // Kind and place are one byte each.
            control.input(place, message.slice(2..)).await;
            true
        }
        RESIZE => {
            let Ok(resize) = serde_json::from_slice::<Resize>(body) else {
                return false;
            };
            let place = Place {
                index: resize.index,
                fd: resize.fd,
            };
            let size = Winsize {
                ws_row: resize.rows,
                ws_col: resize.cols,
                ws_xpixel: resize.x,
                ws_ypixel: resize.y,
            };
            control.resize(place, size).await;
            true
        }
        CANCEL => {
            control.cancel();
            true
        }
        _ => false,
    }
}

fn piece_of_output(place: Place, bytes: &Bytes) -> Message {
    let mut message = BytesMut::with_capacity(bytes.len() + 2);
    message.put_u8(OUTPUT);
    // The numbers were checked to be at most 15 when the group began.
    message.put_u8(u8::try_from((place.index & 15) << 4 | (place.fd & 15)).unwrap_or(0));
    message.put_slice(bytes);
    Message::Binary(message.freeze())
}

fn results(results: &[CommandResult], error: &str) -> Message {
    let mut answer = json!({"requestId": "", "results": answer::results(results)});
    if !error.is_empty() {
        answer["error"] = json!(error);
    }
    let mut message = vec![RESULTS];
    message.extend_from_slice(answer.to_string().as_bytes());
    Message::Binary(message.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_names_command_and_descriptor_in_one_byte() {
        let message = piece_of_output(Place { index: 2, fd: 1 }, &"x".into());
        assert_eq!(message, Message::Binary(Bytes::from_static(b"\x02\x21x")));
    }
}
