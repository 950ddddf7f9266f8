//! A WebSocket that connects a client to a running program.
//!
//! Frames of the subprotocol `millibox.v1`:
//!
//! | direction | frame | content |
//! | --- | --- | --- |
//! | to the client | binary | a byte for the stream, 1 or 2, and output |
//! | to the client | text | an event of the run: `{"event":"test","data":{..}}` |
//! | to the service | binary | the byte 0, and standard input |
//! | to the service | text | `{"close":"stdin"}`, `{"signal":"SIGKILL"}` or `{"resize":{"rows":24,"cols":80}}` |
//!
//! The client receives the run's events from the beginning, if the log still has them. A client
//! that disconnects may reconnect; the run continues in the meantime.

use super::V1;
use super::auth::Authenticated;
use super::jobs::{self, Job, JobLog, LogEvent};
use super::model::RunAnswer;
use crate::core::access::Verb;
use crate::core::program::{Attachment, ProgramReport};
use crate::core::queue::ClientId;
use crate::core::registry::Phase;
use crate::core::share::Claim;
use crate::core::terminal::{DEFAULT_SIZE, Size, Terminal};
use crate::http::bodies;
use crate::http::problem::{self, ProblemDetails};
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// The subprotocol.
const PROTOCOL: &str = "millibox.v1";
/// The largest message of a client, in bytes.
const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// The memory of one connection in bytes: a message, and input that waits.
const MAX_SOCKET_BYTES: usize = 4 << 20;
/// The maximum number of messages that wait for a program that does not read its standard input.
const MAX_WAITING_INPUTS: usize = 64;
/// Number of descriptors of an interactive run.
const DESCRIPTORS: u64 = 4;
/// The stream number of standard input.
const STDIN: u8 = 0;
const END_OF_INPUT: &[u8] = b"\x04";

/// The clients' ends of the programs that run interactively, by the id of the run.
#[derive(Debug, Clone, Default)]
pub struct Consoles {
    consoles: Arc<Mutex<HashMap<String, Arc<Console>>>>,
}

#[derive(Debug)]
enum Console {
    /// `None` after the end of the input.
    Pipe(tokio::sync::Mutex<Option<pipe::Sender>>),
    Terminal(Terminal),
}

impl Consoles {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Console>>> {
        self.consoles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the console of a run at its end.
pub struct Closing {
    consoles: Consoles,
    id: String,
    console: Arc<Console>,
    _place: Claim<ClientId>,
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.consoles.lock().remove(&self.id);
    }
}

/// Opens the console of a run.
///
/// # Errors
/// The client has used up its share of the consoles, or the system has run out of terminals or
/// descriptors.
pub fn open(
    v1: &V1,
    job: &Job,
    has_terminal: bool,
) -> Result<(Attachment, Closing), ProblemDetails> {
    // The descriptors are open from the request on, while the run waits in the queue.
    let place = v1.service.descriptors.take(job.client, DESCRIPTORS);
    let place = place.ok_or_else(|| {
        problem::share_used("this client has its maximum number of interactive runs")
    })?;
    let (console, attachment) = if has_terminal {
        let (terminal, end) = Terminal::open(DEFAULT_SIZE).map_err(problem::internal)?;
        (Console::Terminal(terminal), Attachment::Terminal(end))
    } else {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|errno| problem::internal(std::io::Error::from(errno)))?;
        let writer = pipe::Sender::from_owned_fd(writer).map_err(problem::internal)?;
        let console = Console::Pipe(tokio::sync::Mutex::new(Some(writer)));
        (console, Attachment::Pipe(reader))
    };
    let console = Arc::new(console);
    let consoles = v1.consoles.clone();
    consoles.lock().insert(job.id.clone(), console.clone());
    let closing = Closing {
        consoles,
        id: job.id.clone(),
        console,
        _place: place,
    };
    Ok((attachment, closing))
}

impl Closing {
    /// Awaits the end of the run. Logs what the program writes to its terminal, and adds it to the
    /// report as standard output.
    pub async fn collect(
        self,
        running: impl Future<Output = Result<ProgramReport, ProblemDetails>>,
        job: &Job,
        max_bytes: u64,
    ) -> Result<ProgramReport, ProblemDetails> {
        let Console::Terminal(terminal) = &*self.console else {
            return running.await;
        };
        let mut kept = BytesMut::new();
        let mut total = 0;
        let reading = async {
            // An error ends the output, like its regular end.
            while let Ok(Some(bytes)) = terminal.read().await {
                total += bytes.len() as u64;
                let room = max_bytes.saturating_sub(kept.len() as u64);
                let room = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
                if room > 0 {
                    kept.extend_from_slice(&bytes[..room]);
                    job.log_output(0, 1, bytes.slice(..room));
                }
            }
        };
        let (result, ()) = tokio::join!(running, reading);
        let mut report = result?;
        let first = report.tests.first_mut();
        if let Some(report) = first.and_then(|test| test.report.as_mut())
            && let Some(stdout) = report.captured.get_mut(1)
        {
            stdout.bytes = kept.freeze();
            stdout.total = total;
        }
        Ok(report)
    }
}

/// Attach to a run
///
/// A WebSocket with the subprotocol `millibox.v1`. Binary frames carry a byte for the stream (0 for
/// standard input, 1 and 2 for output) and data. Text frames carry events of the run, and the
/// client's commands `{"close":"stdin"}`, `{"signal":"SIGKILL"}` and
/// `{"resize":{"rows":24,"cols":80}}`.
#[utoipa::path(
    get,
    path = "/runs/{id}/attach",
    operation_id = "attach_to_run",
    tag = "runs",
    params(("id" = String, Path, description = "The id of the run")),
    responses(
        (status = 101, description = "The connection becomes a WebSocket"),
        (
            status = 404,
            description = "This client has no such run",
            body = ProblemDetails,
            content_type = "application/problem+json"
        ),
    ),
)]
pub async fn attach(
    State(v1): State<Arc<V1>>,
    client: Authenticated,
    Path(id): Path<String>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, ProblemDetails> {
    let job = jobs::find::<RunAnswer>(&v1, &client, Verb::Change, &id)?;
    let console = v1.consoles.lock().get(&id).cloned();
    let place = jobs::stream(&v1.service, &client.0)?;
    let charge = bodies::socket(&v1.service, client.0.id, MAX_SOCKET_BYTES);
    let (charge, max_bytes) = charge.ok_or_else(|| {
        problem::share_used("the open connections of this client are too large together")
    })?;
    let max_message_bytes = MAX_MESSAGE_BYTES.min(max_bytes / 2);
    let max_waiting_bytes = max_bytes - max_message_bytes;
    Ok(upgrade
        .protocols([PROTOCOL])
        .max_message_size(max_message_bytes)
        .max_frame_size(max_message_bytes)
        .on_upgrade(async move |socket| {
            converse(socket, job, console, max_waiting_bytes).await;
            drop((place, charge));
        }))
}

/// A command from the client.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Command {
    Close(Closable),
    Signal(String),
    Resize { rows: u16, cols: u16 },
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Closable {
    Stdin,
}

/// Why a message from the client has no effect. The client receives the text of the error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// Input for a run that accepts none.
    #[error("the run is not interactive, or it has ended")]
    NoInput,
    /// A binary message that is not input.
    #[error("a binary message must begin with the byte 0")]
    Binary,
    /// A text message that is not a command.
    #[error("unknown command: {0}")]
    Command(serde_json::Error),
    /// A command for a run without input.
    #[error("the run is not interactive")]
    NotInteractive,
    /// A terminal has no character for this signal.
    #[error("{0}: with a terminal, the only signals are SIGINT, SIGQUIT, SIGTSTP and SIGKILL")]
    TerminalSignal(String),
    /// A signal that only a terminal can send.
    #[error("{0}: without a terminal, the only signal is SIGKILL")]
    PipeSignal(String),
    /// A size for a run without a terminal.
    #[error("the run has no terminal")]
    NoTerminal,
    /// The kernel rejects the size of the terminal.
    #[error("cannot resize the terminal: {0}")]
    Resize(std::io::Error),
}

/// A piece of the program's input; `None` is the end of the input.
type InputPiece = Option<Bytes>;

/// Input and the room that it occupies until it is written. Control characters need none.
type PlacedInput = (InputPiece, Option<OwnedSemaphorePermit>);

async fn converse(
    socket: WebSocket,
    job: Arc<Job>,
    console: Option<Arc<Console>>,
    max_waiting_bytes: usize,
) {
    let room = Arc::new(Semaphore::new(max_waiting_bytes));
    let (mut outgoing, mut incoming) = socket.split();
    let (inputs, mut waiting_inputs) = mpsc::channel::<PlacedInput>(MAX_WAITING_INPUTS);
    let (errors, mut waiting_errors) = mpsc::channel::<AttachError>(4);
    let receive = async {
        while let Some(Ok(message)) = incoming.next().await {
            let result = match message {
                Message::Binary(bytes) if bytes.first() == Some(&STDIN) => match &console {
                    Some(_) => {
                        let bytes = bytes.slice(1..);
                        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                        // The semaphore is never closed, and no message is larger than it.
                        let place = room.clone().acquire_many_owned(size).await.ok();
                        let _ = inputs.send((Some(bytes), place)).await;
                        Ok(())
                    }
                    None => Err(AttachError::NoInput),
                },
                Message::Binary(_) => Err(AttachError::Binary),
                Message::Text(text) => match serde_json::from_str(&text) {
                    Ok(command) => obey(&job, console.as_deref(), &inputs, command).await,
                    Err(error) => Err(AttachError::Command(error)),
                },
                Message::Close(_) => break,
                Message::Ping(_) | Message::Pong(_) => Ok(()),
            };
            if let Err(error) = result {
                let _ = errors.send(error).await;
            }
        }
    };
    let write = async {
        while let Some((piece, _room)) = waiting_inputs.recv().await {
            if let Some(console) = &console {
                console.write(piece).await;
            }
        }
    };
    let send = async {
        let mut last = 0;
        loop {
            tokio::select! {
                error = waiting_errors.recv() => {
                    let Some(error) = error else { break };
                    let text = json!({ "event": "error", "data": error.to_string() }).to_string();
                    outgoing.send(Message::Text(text.into())).await?;
                }
                part = job.log_after(last) => {
                    if part.has_gap {
                        let text = json!({ "event": "gap", "data": null }).to_string();
                        outgoing.send(Message::Text(text.into())).await?;
                    }
                    for logged in part.events {
                        last = logged.id;
                        outgoing.send(message(logged.event)).await?;
                    }
                    if part.is_complete {
                        break;
                    }
                }
            }
        }
        outgoing.send(Message::Close(None)).await?;
        outgoing.close().await
    };
    // The client has disconnected or has received everything. The run continues in any case.
    tokio::select! {
        () = async { tokio::join!(receive, write); } => {}
        _ = send => {}
    }
}

fn message(event: LogEvent) -> Message {
    match event {
        LogEvent::Document { name, data } => {
            Message::Text(format!("{{\"event\":\"{name}\",\"data\":{data}}}").into())
        }
        LogEvent::Output { stream, bytes, .. } => {
            let mut frame = BytesMut::with_capacity(bytes.len() + 1);
            frame.extend_from_slice(&[stream]);
            frame.extend_from_slice(&bytes);
            Message::Binary(frame.freeze())
        }
    }
}

async fn obey(
    job: &Job,
    console: Option<&Console>,
    inputs: &mpsc::Sender<PlacedInput>,
    command: Command,
) -> Result<(), AttachError> {
    match (command, console) {
        (Command::Signal(name), _) if name == "SIGKILL" => {
            job.cancel();
            Ok(())
        }
        (_, None) if job.phase() == Phase::Ended => Ok(()),
        (_, None) => Err(AttachError::NotInteractive),
        (Command::Signal(name), Some(Console::Terminal(_))) => {
            let character: &'static [u8] = match &name[..] {
                "SIGINT" => b"\x03",
                "SIGQUIT" => b"\x1c",
                "SIGTSTP" => b"\x1a",
                _ => {
                    return Err(AttachError::TerminalSignal(name));
                }
            };
            let _ = inputs
                .send((Some(Bytes::from_static(character)), None))
                .await;
            Ok(())
        }
        (Command::Signal(name), Some(Console::Pipe(_))) => Err(AttachError::PipeSignal(name)),
        (Command::Close(Closable::Stdin), Some(_)) => {
            let _ = inputs.send((None, None)).await;
            Ok(())
        }
        (Command::Resize { rows, cols }, Some(Console::Terminal(terminal))) => terminal
            .resize(Size { rows, cols })
            .map_err(AttachError::Resize),
        (Command::Resize { .. }, Some(Console::Pipe(_))) => Err(AttachError::NoTerminal),
    }
}

impl Console {
    /// Writes a piece of input. If the program has closed its input, the piece is lost.
    async fn write(&self, piece: InputPiece) {
        match (self, piece) {
            (Console::Pipe(writer), Some(bytes)) => {
                let mut writer = writer.lock().await;
                if let Some(open) = writer.as_mut()
                    && open.write_all(&bytes).await.is_err()
                {
                    *writer = None;
                }
            }
            (Console::Pipe(writer), None) => *writer.lock().await = None,
            (Console::Terminal(terminal), Some(bytes)) => {
                let _ = terminal.write_all(&bytes).await;
            }
            (Console::Terminal(terminal), None) => {
                let _ = terminal.write_all(END_OF_INPUT).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_parsed_and_others_rejected() {
        let parse = |text: &str| serde_json::from_str::<Command>(text);
        assert_eq!(
            parse(r#"{"close":"stdin"}"#).unwrap(),
            Command::Close(Closable::Stdin)
        );
        assert_eq!(
            parse(r#"{"resize":{"rows":2,"cols":3}}"#).unwrap(),
            Command::Resize { rows: 2, cols: 3 }
        );
        assert!(parse(r#"{"close":"stdout"}"#).is_err());
        assert!(parse(r#"{"resize":{"rows":-1,"cols":3}}"#).is_err());
    }
}
