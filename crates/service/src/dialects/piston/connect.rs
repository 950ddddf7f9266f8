//! The WebSocket `/connect`: a job that exchanges input and output with the client while it runs.
//!
//! One task serves a connection. It polls the job, sends its events, and reads messages. If the
//! program does not read its input, the task stops reading messages until the program reads again,
//! so the task holds only a few messages. If the client disconnects, the job is dropped, which
//! cancels it.

use super::Authorized;
use super::Piston;
use super::error::JobError;
use super::execute::{admit, count_failure, observe, run_stages};
use super::messages::{Closing, Command, End, Event};
use super::model::{Job, Stage};
use super::observer::{Observer, StageExecution};
use super::text::Decoder;
use super::{INTERFACE, not_found};
use crate::core::engine::Lane;
use crate::core::execution::{ExecutionError, ExecutionReport, Input, Output};
use crate::http::bodies::{self, Values};
use crate::service::Service;
use crate::signals::is_signal_name;
use crate::tokens::Client;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Map, Value, json};
use std::convert::Infallible;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

/// How long a client may take to send the message `init`.
const INIT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a client may take to receive a message.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client may take to acknowledge the end of the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum number of events that wait to be sent.
const MAX_EVENTS: usize = 16;
/// The maximum number of messages with input that wait for the program to read them.
const MAX_INPUTS: usize = 64;
/// The memory of one connection in bytes: a message, and input that waits.
const MAX_SOCKET_BYTES: usize = 4 << 20;
/// Number of bytes of output that are sent in one message.
const CHUNK_BYTES: usize = 16 << 10;
/// Signals that end the program. Others cannot be delivered.
const ENDING_SIGNALS: [&str; 2] = ["SIGKILL", "SIGTERM"];

/// Input for the program.
enum Stdin {
    Data(String),
    End,
}

/// Input and the room that it occupies until the program has read it.
type PlacedInput = (Stdin, OwnedSemaphorePermit);

/// Passes input to the program. What waits is bounded in number and in size.
struct Inputs {
    sender: mpsc::Sender<PlacedInput>,
    room: Arc<Semaphore>,
    max_bytes: usize,
}

impl Inputs {
    fn new(max_bytes: usize) -> (Inputs, mpsc::Receiver<PlacedInput>) {
        let (sender, receiver) = mpsc::channel(MAX_INPUTS);
        let inputs = Inputs {
            sender,
            room: Arc::new(Semaphore::new(max_bytes)),
            max_bytes,
        };
        (inputs, receiver)
    }

    /// Waits for a place. Returns `None` if the program no longer reads its input.
    async fn place_for(
        &self,
        input: Option<&Stdin>,
    ) -> Option<(mpsc::Permit<'_, PlacedInput>, OwnedSemaphorePermit)> {
        let bytes = match input {
            Some(Stdin::Data(data)) => data.len().min(self.max_bytes),
            _ => 0,
        };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let room = self.room.clone().acquire_many_owned(bytes).await.ok()?;
        let place = self.sender.reserve().await.ok()?;
        Some((place, room))
    }
}

type Sender = SplitSink<WebSocket, Message>;
type Receiver = SplitStream<WebSocket>;

/// Opens the WebSocket.
pub(super) async fn connect(
    State(piston): State<Arc<Piston>>,
    Authorized(client): Authorized,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let Ok(upgrade) = upgrade else {
        return not_found().await;
    };
    let Some(place) = piston.service.streams.take(client.id, 1) else {
        let message = "this client has its maximum number of open streams";
        let body = Json(json!({ "message": message }));
        return (StatusCode::TOO_MANY_REQUESTS, body).into_response();
    };
    let Some((charge, max_bytes)) = bodies::socket(&piston.service, client.id, MAX_SOCKET_BYTES)
    else {
        let message = "the open connections of this client are too large together";
        let body = Json(json!({ "message": message }));
        return (StatusCode::TOO_MANY_REQUESTS, body).into_response();
    };
    // One half is for the message that arrives, and the other one for input that waits.
    let max_bytes = max_bytes / 2;
    upgrade
        .max_message_size(max_bytes)
        .max_frame_size(max_bytes)
        .on_upgrade(async move |socket| {
            serve(piston, client, socket, max_bytes).await;
            drop((place, charge));
        })
}

async fn serve(piston: Arc<Piston>, client: Client, socket: WebSocket, max_bytes: usize) {
    let (mut sender, mut receiver) = socket.split();
    let (stdin, inputs) = Inputs::new(max_bytes);
    let streams = (&mut sender, &mut receiver);
    let end = session(&piston, &client, streams, stdin, inputs).await;
    let End::Closed(closing, message) = end else {
        return;
    };
    if let Some(message) = message
        && send(&mut sender, &Event::Error { message }).await.is_err()
    {
        return;
    }
    let close = sender.send(Message::Close(Some(closing.frame())));
    if !matches!(tokio::time::timeout(SEND_TIMEOUT, close).await, Ok(Ok(()))) {
        return;
    }
    // If messages stayed unread, the kernel would reset the connection before the client has read
    // all of the output.
    let rest = async { while let Some(Ok(_)) = receiver.next().await {} };
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, rest).await;
}

async fn session(
    Piston { service, runtimes }: &Piston,
    client: &Client,
    (sender, receiver): (&mut Sender, &mut Receiver),
    stdin: Inputs,
    inputs: mpsc::Receiver<PlacedInput>,
) -> End {
    let init = tokio::time::timeout(INIT_TIMEOUT, first_command(receiver));
    let (body, size_bytes) = match init.await {
        Err(_) => return Closing::InitializationTimeout.into(),
        Ok(Err(end)) => return end,
        Ok(Ok(init)) => init,
    };
    let job = match Job::read(&body, runtimes, &service.config.limits) {
        Ok(job) => job,
        Err(error) => return End::error(error),
    };
    drop(body);
    let (events_sender, events) = mpsc::channel(MAX_EVENTS);
    let (signal_sender, signal) = watch::channel(None);
    let live = Live {
        events: events_sender,
        stdin: inputs,
        signal,
    };
    let running = async {
        run(service, client, &job, size_bytes, live)
            .await
            .inspect_err(|error| count_failure(service, error))
    };
    converse(running, events, &stdin, &signal_sender, sender, receiver).await
}

/// The message `init` and its size.
async fn first_command(receiver: &mut Receiver) -> Result<(Map<String, Value>, usize), End> {
    loop {
        let message = next_message(receiver).await?;
        if Values::default().are_too_many(&message) {
            return Err(End::error("the message contains too many values"));
        }
        match Command::parse(&message).map_err(End::error)? {
            Command::Init(body) => return Ok((body, message.len())),
            Command::Data { .. } | Command::Signal(_) => return Err(Closing::NotInitialized.into()),
            Command::Other => {}
        }
    }
}

async fn run(
    service: &Service,
    client: &Client,
    job: &Job,
    size_bytes: usize,
    mut live: Live,
) -> Result<(), JobError> {
    let begin = Instant::now();
    let permit = admit(service, client, job, size_bytes).await?;
    let queued = begin.elapsed();
    live.tell(Event::Runtime {
        language: job.runtime.language.clone(),
        version: job.runtime.version.to_string(),
    })
    .await;
    let answer = run_stages(service, job, &mut live).await;
    drop(permit);
    observe(service, queued, &answer?);
    Ok(())
}

/// Passes events to the client and messages to the job, until one of them ends.
async fn converse(
    running: impl Future<Output = Result<(), JobError>>,
    mut events: mpsc::Receiver<Event>,
    stdin: &Inputs,
    signal: &watch::Sender<Option<String>>,
    sender: &mut Sender,
    receiver: &mut Receiver,
) -> End {
    let mut running = pin!(running);
    // Input that does not fit into the channel.
    let mut waiting: Vec<Stdin> = Vec::new();
    let result = loop {
        tokio::select! {
            Some(event) = events.recv() => {
                if let Err(end) = send(sender, &event).await {
                    return end;
                }
            }
            result = &mut running => break result,
            place = stdin.place_for(waiting.first()), if !waiting.is_empty() => match place {
                Some((place, room)) => place.send((waiting.remove(0), room)),
                // The program no longer reads its input.
                None => waiting.clear(),
            },
            message = next_message(receiver), if waiting.is_empty() => {
                match message.and_then(|message| obey(&message, signal)) {
                    Ok(input) => waiting = input,
                    Err(end) => return end,
                }
            }
        }
    };
    while let Ok(event) = events.try_recv() {
        if let Err(end) = send(sender, &event).await {
            return end;
        }
    }
    match result {
        Ok(()) => Closing::JobCompleted.into(),
        Err(error) => End::error(error),
    }
}

/// Handles a message, and returns the input that it contains.
fn obey(message: &[u8], signal: &watch::Sender<Option<String>>) -> Result<Vec<Stdin>, End> {
    match Command::parse(message).map_err(End::error)? {
        Command::Init(_) => Err(Closing::AlreadyInitialized.into()),
        Command::Data {
            is_stdin: false, ..
        } => Err(Closing::NotStdin.into()),
        Command::Data {
            data: None,
            is_end: false,
            ..
        } => Err(End::error("data is required as a string")),
        Command::Data { data, is_end, .. } => Ok(data
            .map(Stdin::Data)
            .into_iter()
            .chain(is_end.then_some(Stdin::End))
            .collect()),
        Command::Signal(name) if ENDING_SIGNALS.contains(&&name[..]) => {
            let _ = signal.send(Some(name));
            Ok(Vec::new())
        }
        Command::Signal(name) if is_signal_name(&name) => Err(End::Closed(
            Closing::InvalidSignal,
            Some(format!(
                "{name} cannot be sent to the program; SIGKILL and SIGTERM end it"
            )),
        )),
        Command::Signal(_) => Err(Closing::InvalidSignal.into()),
        Command::Other => Ok(Vec::new()),
    }
}

/// The next message with content.
async fn next_message(receiver: &mut Receiver) -> Result<Bytes, End> {
    loop {
        match receiver.next().await {
            Some(Ok(Message::Text(text))) => return Ok(text.into()),
            Some(Ok(Message::Binary(bytes))) => return Ok(bytes),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(End::Gone),
        }
    }
}

async fn send(sender: &mut Sender, event: &Event) -> Result<(), End> {
    let text = serde_json::to_string(event).map_err(|_| End::Gone)?;
    let sent = sender.send(Message::Text(text.into()));
    match tokio::time::timeout(SEND_TIMEOUT, sent).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(End::Gone),
    }
}

/// Sends the events of a job, and connects its streams to the client.
struct Live {
    events: mpsc::Sender<Event>,
    stdin: mpsc::Receiver<PlacedInput>,
    signal: watch::Receiver<Option<String>>,
}

impl Live {
    async fn tell(&self, event: Event) {
        // Without a receiver, the connection has ended, and the job is dropped.
        let _ = self.events.send(event).await;
    }
}

impl Observer for Live {
    async fn begin(&mut self, stage: &'static str) -> Result<(), JobError> {
        self.tell(Event::Stage { stage }).await;
        Ok(())
    }

    async fn show(&mut self, stage: &Stage) -> Result<(), JobError> {
        if !stage.stderr.is_empty() {
            self.tell(Event::Data {
                stream: "stderr",
                data: stage.stderr.clone(),
            })
            .await;
        }
        Ok(())
    }

    async fn execute(
        &mut self,
        service: &Service,
        stage: StageExecution,
    ) -> Result<(Stage, Option<ExecutionReport>), JobError> {
        let StageExecution {
            mut execution,
            is_interactive,
            ..
        } = stage;
        let (stdout, write_stdout) = output_pipe()?;
        let (stderr, write_stderr) = output_pipe()?;
        execution.streams.stdout = Output::Descriptor(write_stdout);
        execution.streams.stderr = Output::Descriptor(write_stderr);
        let writer = if is_interactive {
            let (read_stdin, writer) = input_pipe()?;
            execution.streams.stdin = Input::Descriptor(read_stdin);
            Some(writer)
        } else {
            None
        };
        let mut signal = self.signal.clone();
        let executed = async {
            let executed = service.programs.engine.execute(Lane::RealTime, execution);
            tokio::select! {
                report = executed => Ok(report?),
                // Dropping the execution ends the program.
                name = ending_signal(&mut signal) => Err(Interruption::Signal(name)),
            }
        };
        let streams = async {
            let (executed, (), ()) = tokio::join!(
                executed,
                forward(stdout, "stdout", &self.events),
                forward(stderr, "stderr", &self.events),
            );
            executed
        };
        let executed = tokio::select! {
            executed = streams => executed,
            never = feed(&mut self.stdin, writer) => match never {},
        };
        match executed {
            Ok(report) => {
                service.metrics.count_execution(INTERFACE, &report);
                Ok((Stage::of_report(&report)?, Some(report)))
            }
            Err(Interruption::Signal(name)) => Ok((Stage::ended_by(&name), None)),
            Err(Interruption::Failed(error)) => Err(error.into()),
        }
    }

    async fn end(&mut self, name: &'static str, stage: &Stage) -> Result<(), JobError> {
        self.tell(Event::Exit {
            stage: name,
            code: stage.code,
            signal: stage.signal.clone(),
        })
        .await;
        Ok(())
    }
}

/// Why an execution has no report.
enum Interruption {
    Signal(String),
    Failed(ExecutionError),
}

impl From<ExecutionError> for Interruption {
    fn from(error: ExecutionError) -> Interruption {
        Interruption::Failed(error)
    }
}

/// Waits for a signal that ends the program.
async fn ending_signal(signal: &mut watch::Receiver<Option<String>>) -> String {
    let name = match signal.wait_for(Option::is_some).await {
        Ok(name) => name.clone(),
        Err(_) => None,
    };
    match name {
        Some(name) => name,
        None => std::future::pending().await,
    }
}

/// Writes input to the program until the client closes it. Never returns, because the end of the
/// input is not the end of the stage.
async fn feed(input: &mut mpsc::Receiver<PlacedInput>, writer: Option<pipe::Sender>) -> Infallible {
    let Some(mut writer) = writer else {
        return std::future::pending().await;
    };
    while let Some((Stdin::Data(data), _room)) = input.recv().await {
        // A program may end, or close its input, without having read everything.
        if writer.write_all(data.as_bytes()).await.is_err() {
            break;
        }
    }
    drop(writer);
    // Discard input that the client still sends.
    while input.recv().await.is_some() {}
    std::future::pending().await
}

/// Sends the output of a program until all its processes have ended.
async fn forward(mut pipe: pipe::Receiver, stream: &'static str, events: &mpsc::Sender<Event>) {
    let mut decoder = Decoder::default();
    let mut chunk = BytesMut::with_capacity(CHUNK_BYTES);
    loop {
        chunk.reserve(CHUNK_BYTES);
        let read = pipe.read_buf(&mut chunk).await;
        let is_end = !matches!(read, Ok(1..));
        let data = if is_end {
            decoder.finish()
        } else {
            decoder.decode(&chunk.split())
        };
        if !data.is_empty() && events.send(Event::Data { stream, data }).await.is_err() {
            return;
        }
        if is_end {
            return;
        }
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), ExecutionError> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|errno| ExecutionError::system("create a pipe")(errno.into()))
}

/// The service's and the program's end of an output stream.
fn output_pipe() -> Result<(pipe::Receiver, OwnedFd), ExecutionError> {
    let (reader, writer) = pipe()?;
    let reader = pipe::Receiver::from_owned_fd(reader);
    Ok((
        reader.map_err(ExecutionError::system("read from a pipe"))?,
        writer,
    ))
}

/// The program's and the service's end of the input stream.
fn input_pipe() -> Result<(OwnedFd, pipe::Sender), ExecutionError> {
    let (reader, writer) = pipe()?;
    let writer = pipe::Sender::from_owned_fd(writer);
    Ok((
        reader,
        writer.map_err(ExecutionError::system("write to a pipe"))?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_end_the_program_or_the_connection() {
        let (sender, receiver) = watch::channel(None);
        let signal = |name: &str| {
            let message = serde_json::json!({ "type": "signal", "signal": name });
            obey(message.to_string().as_bytes(), &sender)
        };
        assert!(matches!(
            signal("SIGINT"),
            Err(End::Closed(Closing::InvalidSignal, Some(_)))
        ));
        assert!(matches!(
            signal("KILL"),
            Err(End::Closed(Closing::InvalidSignal, None))
        ));
        assert_eq!(*receiver.borrow(), None);
        assert!(signal("SIGTERM").is_ok());
        assert_eq!(receiver.borrow().as_deref(), Some("SIGTERM"));
    }
}
