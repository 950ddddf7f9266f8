//! Executes a prepared command and assembles its result.

use super::GoJudge;
use super::INTERFACE;
use super::error::GroupError;
use super::model::{CommandResult, CopyOut, FileErrorKind, Status};
use super::result::{Measured, file_error};
use super::terminal::{Terminal, TerminalChannel, TerminalInput};
use crate::core::budget::Budget;
use crate::core::engine::Lane;
use crate::core::execution::{Captured, Execution, ExecutionError, FilesError};
use crate::tokens::Client;
use bytes::{Bytes, BytesMut};
use millibox::{Backend, Outcome};
use tokio::sync::mpsc;

/// A command of a group.
#[derive(Debug)]
pub enum Member {
    /// It can be executed.
    Ready(Box<Prepared>),
    /// It cannot be executed.
    NotExecuted(Box<CommandResult>),
}

/// A command that can be executed.
#[derive(Debug)]
pub struct Prepared {
    pub(super) execution: Execution,
    pub(super) collectors: Vec<Collector>,
    pub(super) terminal: Option<PreparedTerminal>,
    pub(super) returned: Vec<Returned>,
    /// The bytes that the response may contain.
    pub(super) answer: Budget,
    pub(super) cpu_limit: u64,
    pub(super) memory_limit: u64,
}

/// Output that is collected.
#[derive(Debug)]
pub(super) struct Collector {
    pub(super) fd: usize,
    pub(super) name: String,
    pub(super) max: u64,
}

#[derive(Debug)]
pub(super) struct PreparedTerminal {
    pub(super) terminal: Terminal,
    pub(super) typed: Vec<Bytes>,
    /// The first collector, which receives all output.
    pub(super) collector: Option<Collector>,
    pub(super) channel: Option<TerminalChannel>,
}

/// A file that is returned, in the order of the outputs of the execution.
#[derive(Debug)]
pub(super) struct Returned {
    pub(super) copy_out: CopyOut,
    pub(super) is_cached: bool,
    /// Whether this is the output of a collector instead of a file.
    pub(super) is_collected: bool,
}

impl Prepared {
    /// Executes the command.
    ///
    /// # Errors
    /// The service failed.
    pub async fn execute(
        self,
        go_judge: &GoJudge,
        client: &Client,
        lane: Lane,
    ) -> Result<CommandResult, GroupError> {
        let Prepared {
            execution,
            mut collectors,
            terminal,
            returned,
            answer,
            cpu_limit,
            memory_limit,
        } = self;
        let service = &go_judge.service;
        let budget = execution.budget.clone();
        let executing = service.programs.engine.execute(lane, execution);
        let (executed, on_terminal) = match terminal {
            None => (executing.await, None),
            Some(terminal) => {
                let (executed, collected) = tokio::join!(executing, terminal.run(&budget));
                (executed, Some(collected?))
            }
        };
        let mut report = match executed {
            Ok(report) => report,
            Err(ExecutionError::Files(error)) => return Ok(not_unpacked(&error)),
            Err(ExecutionError::Request(error)) => {
                return Ok(CommandResult::not_executed(Status::InternalError, error));
            }
            Err(error) => return Err(error.into()),
        };
        service.metrics.count_execution(INTERFACE, &report);
        if let Outcome::SandboxError(error) = report.outcome {
            return Err(GroupError::Sandbox(error));
        }
        let mut outputs = std::mem::take(&mut report.outputs).into_iter();
        let mut measured = Measured::new(&report, cpu_limit, memory_limit);
        measured.has_memory_figure = service.backend != Backend::Rlimit;
        let mut captured = std::mem::take(&mut report.captured);
        if let Some((collector, output)) = on_terminal.flatten() {
            captured = Vec::new();
            captured.resize(collector.fd, Captured::default());
            captured.push(output);
            collectors = vec![collector];
        }
        for collector in collectors {
            let output = captured.get_mut(collector.fd).map(std::mem::take);
            let output = output.unwrap_or_default();
            measured.collect(&collector.name, collector.max, output);
        }
        for Returned {
            copy_out,
            is_cached,
            is_collected,
        } in returned
        {
            if !is_collected {
                // The files of a command that was not executed are not read.
                if let Some(file) = outputs.next() {
                    measured.copy_out(&copy_out, file);
                }
            }
            if is_cached && let Some(bytes) = measured.result.files.remove(&copy_out.name) {
                let files = &go_judge.files;
                let name = copy_out.name.clone();
                let stored = files.add_bytes(&service.files, client, name, bytes).await;
                measured.cache(copy_out.name, stored);
            }
        }
        measured.keep_within(&answer);
        Ok(measured.finish())
    }
}

/// The result of a command whose files could not be put in place.
fn not_unpacked(error: &FilesError) -> CommandResult {
    match error {
        FilesError::Path(path) => {
            let kind = FileErrorKind::CopyInCreateFile;
            file_error(&path.to_string_lossy(), kind, error)
        }
        error => file_error("", FileErrorKind::CopyInCopyContent, error),
    }
}

impl PreparedTerminal {
    /// Types the contents on the terminal and collects the output, or passes on both.
    async fn run(self, budget: &Budget) -> Result<Option<(Collector, Captured)>, GroupError> {
        let PreparedTerminal {
            terminal,
            typed,
            collector,
            channel,
        } = self;
        let (output, mut received) = mpsc::channel::<Bytes>(4);
        let (keys, typed_keys) = mpsc::channel(typed.len().max(1));
        for bytes in typed {
            // The channel has room for all contents.
            let _ = keys.try_send(TerminalInput::Bytes(bytes));
        }
        let (input, live) = match channel {
            Some(channel) => (channel.input, Some(channel.output)),
            None => (typed_keys, None),
        };
        drop(keys);
        let max_bytes = collector.as_ref().map_or(0, |collector| collector.max + 1);
        let collect = async {
            let mut kept = BytesMut::new();
            let mut total = 0_u64;
            while let Some(bytes) = received.recv().await {
                total += bytes.len() as u64;
                let room = max_bytes.saturating_sub(kept.len() as u64);
                let room = budget.take(room.min(bytes.len() as u64));
                let room = usize::try_from(room).unwrap_or(usize::MAX);
                kept.extend_from_slice(&bytes[..room]);
                if let Some(live) = &live {
                    // The run does not end here if the client has disconnected.
                    let _ = live.send(bytes).await;
                }
            }
            Captured {
                bytes: kept.freeze(),
                total,
            }
        };
        let (ended, captured) = tokio::join!(terminal.run(input, output), collect);
        ended?;
        Ok(collector.map(|collector| (collector, captured)))
    }
}
