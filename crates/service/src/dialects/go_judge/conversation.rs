//! A group that exchanges data with its client while it runs. All interactive transports share it.

use super::GoJudge;
use super::error::{GroupError, RequestError};
use super::model::{CommandFile, CommandResult, End, Group, Status};
use super::pipes::new_pipe;
use super::run::{self, Attached};
use super::terminal::{TerminalChannel, TerminalInput};
use crate::core::queue::ClientId;
use crate::core::share;
use crate::tokens::Client;
use bytes::{Bytes, BytesMut};
use futures_util::future::{AbortHandle, AbortRegistration, Abortable, Aborted, join_all};
use rustix::termios::Winsize;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

/// The largest index of a command, and the largest number of a descriptor, that can have a stream.
const MAX_NUMBER: usize = 15;
/// The maximum number of messages that wait between the client and the group.
const CHANNEL_MESSAGES: usize = 16;
/// Number of bytes that are read with one system call.
const CHUNK_BYTES: usize = 16 << 10;

/// A descriptor of a command.
pub type Place = End;

/// A group that is about to run.
#[derive(Debug)]
pub struct Conversation {
    go_judge: Arc<GoJudge>,
    client: Client,
    group: Group,
    attached: Attached,
    inputs: Vec<(OwnedFd, mpsc::Receiver<TerminalInput>)>,
    outputs: Vec<(Place, OwnedFd)>,
    /// Output of terminals.
    terminals: Vec<(Place, mpsc::Receiver<Bytes>)>,
    sender: mpsc::Sender<(Place, Bytes)>,
    cancelled: AbortRegistration,
    /// The charge for the descriptors, which are open while the group waits.
    place: share::Claim<ClientId>,
}

/// The client's control over a running group.
#[derive(Debug)]
pub struct Control {
    inputs: BTreeMap<Place, mpsc::Sender<TerminalInput>>,
    cancel: AbortHandle,
}

impl Control {
    /// Sends input. Input for other descriptors is dropped.
    pub async fn input(&self, place: Place, bytes: Bytes) {
        if let Some(input) = self.inputs.get(&place) {
            // A command that has ended accepts no input.
            let _ = input.send(TerminalInput::Bytes(bytes)).await;
        }
    }

    /// Sets the size of a terminal.
    pub async fn resize(&self, place: Place, size: Winsize) {
        let mut inputs = self.inputs.iter();
        if let Some((_, input)) = inputs.find(|(known, _)| known.index == place.index) {
            let _ = input.send(TerminalInput::Resize(size)).await;
        }
    }

    /// Cancels the group.
    pub fn cancel(&self) {
        self.cancel.abort();
    }
}

/// A group, its controls and its output.
pub type Begun = (Conversation, Control, mpsc::Receiver<(Place, Bytes)>);

impl Conversation {
    /// Connects all streams of a group.
    ///
    /// # Errors
    /// A stream has a number that messages cannot name, or the service has run out of descriptors.
    pub fn begin(
        go_judge: Arc<GoJudge>,
        client: Client,
        group: Group,
    ) -> Result<Begun, GroupError> {
        let place = go_judge
            .service
            .descriptors
            .take(client.id, descriptors(&group));
        let place = place.ok_or(GroupError::QueueFull)?;
        let (sender, received) = mpsc::channel(CHANNEL_MESSAGES);
        let (cancel, cancelled) = AbortHandle::new_pair();
        let mut conversation = Conversation {
            go_judge,
            client,
            group,
            attached: Attached {
                is_interactive: true,
                ..Attached::default()
            },
            inputs: Vec::new(),
            outputs: Vec::new(),
            terminals: Vec::new(),
            sender,
            cancelled,
            place,
        };
        let mut inputs = BTreeMap::new();
        let commands = conversation.group.commands.iter().enumerate();
        let streams: Vec<(Place, bool, bool)> = commands
            .flat_map(|(index, command)| {
                let files = command.files.iter().enumerate();
                files.filter_map(move |(fd, file)| match file {
                    Some(CommandFile::StreamIn) => Some((End { index, fd }, true, command.tty)),
                    Some(CommandFile::StreamOut) => Some((End { index, fd }, false, command.tty)),
                    _ => None,
                })
            })
            .collect();
        for (place, is_input, tty) in streams {
            let number = place.index.max(place.fd);
            if number > MAX_NUMBER {
                return Err(RequestError::AboveLimit {
                    field: "index or fd of a stream",
                    value: number as u64,
                    max: MAX_NUMBER as u64,
                }
                .into());
            }
            match (tty, is_input) {
                (false, true) => {
                    let (reader, writer) = new_pipe()?;
                    let (input, queued) = mpsc::channel(CHANNEL_MESSAGES);
                    conversation.attached.ends.insert(place, reader);
                    conversation.inputs.push((writer, queued));
                    inputs.insert(place, input);
                }
                (false, false) => {
                    let (reader, writer) = new_pipe()?;
                    conversation.attached.ends.insert(place, writer);
                    conversation.outputs.push((place, reader));
                }
                (true, _) => conversation.connect_terminal(place, is_input, &mut inputs),
            }
        }
        let control = Control { inputs, cancel };
        Ok((conversation, control, received))
    }

    /// Connects the terminal of a command. The terminal's output is labelled with the command's
    /// first output stream.
    fn connect_terminal(
        &mut self,
        place: Place,
        is_input: bool,
        inputs: &mut BTreeMap<Place, mpsc::Sender<TerminalInput>>,
    ) {
        let known = self.terminals.iter_mut();
        match known
            .into_iter()
            .find(|(known, _)| known.index == place.index)
        {
            Some((known, _)) if is_input => {
                if let Some(input) = inputs.get(known).cloned() {
                    inputs.insert(place, input);
                }
            }
            Some((known, _)) if inputs.contains_key(known) => *known = place,
            Some(_) => {}
            None => {
                let (input, queued) = mpsc::channel(CHANNEL_MESSAGES);
                let (output, received) = mpsc::channel(CHANNEL_MESSAGES);
                let channel = TerminalChannel {
                    input: queued,
                    output,
                };
                self.attached.terminals.insert(place.index, channel);
                self.terminals.push((place, received));
                inputs.insert(place, input);
            }
        }
    }

    /// Runs the group, and returns its results after all its output.
    ///
    /// # Errors
    /// There are no results.
    pub async fn run(self) -> Result<Vec<CommandResult>, GroupError> {
        let Conversation {
            go_judge,
            client,
            group,
            attached,
            inputs,
            outputs,
            terminals,
            sender,
            cancelled,
            place: _place,
        } = self;
        let commands = group.commands.len();
        // Input ends with the group, even if its channels are open.
        let typed = join_all(
            inputs
                .into_iter()
                .map(|(writer, queued)| feed(writer, queued)),
        );
        let piped = outputs
            .into_iter()
            .map(|(place, reader)| read(place, reader, sender.clone()));
        let piped = join_all(piped);
        let shown = terminals.into_iter().map(|(place, mut received)| {
            let sender = sender.clone();
            async move {
                while let Some(bytes) = received.recv().await {
                    // If the client disconnects, the group is cancelled elsewhere.
                    let _ = sender.send((place, bytes)).await;
                }
            }
        });
        let shown = join_all(shown);
        let group = Abortable::new(run::run(&go_judge, &client, group, attached), cancelled);
        let group = async {
            let ended = group.await;
            drop(sender);
            ended
        };
        let typing = async {
            typed.await;
            std::future::pending::<std::convert::Infallible>().await
        };
        let ended = tokio::select! {
            (ended, _, _) = async { tokio::join!(group, piped, shown) } => ended,
            never = typing => match never {},
        };
        match ended {
            Ok(report) => Ok(report?.results),
            Err(Aborted) => Ok(cancelled_results(commands)),
        }
    }
}

/// The number of descriptors of a group's streams.
fn descriptors(group: &Group) -> u64 {
    let files = group.commands.iter().flat_map(|command| &command.files);
    let is_stream = |file: &&Option<CommandFile>| {
        matches!(file, Some(CommandFile::StreamIn | CommandFile::StreamOut))
    };
    2 * files.filter(is_stream).count() as u64
}

/// The results of a group that was cancelled.
pub fn cancelled_results(commands: usize) -> Vec<CommandResult> {
    let mut result = CommandResult::not_executed(Status::Signalled, "");
    result.exit_status = rustix::process::Signal::KILL.as_raw();
    vec![result; commands]
}

/// Writes input to a command until the client or the command closes it.
async fn feed(writer: OwnedFd, mut queued: mpsc::Receiver<TerminalInput>) {
    let Ok(mut writer) = pipe::Sender::from_owned_fd(writer) else {
        return;
    };
    while let Some(input) = queued.recv().await {
        if let TerminalInput::Bytes(bytes) = input
            && writer.write_all(&bytes).await.is_err()
        {
            return;
        }
    }
}

async fn read(place: Place, reader: OwnedFd, sender: mpsc::Sender<(Place, Bytes)>) {
    let Ok(mut reader) = pipe::Receiver::from_owned_fd(reader) else {
        return;
    };
    let mut chunk = BytesMut::new();
    loop {
        chunk.reserve(CHUNK_BYTES);
        match reader.read_buf(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let _ = sender.send((place, chunk.split().freeze())).await;
            }
        }
    }
}
