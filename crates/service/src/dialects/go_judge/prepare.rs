//! Turns a command into an execution of the core, and its report into a result.

use super::error::{GroupError, RequestError};
use super::model::{
    Command, CommandFile, CommandResult, CopyOut, End, FileError, FileErrorKind, Status,
};
use super::result::{Measured, not_started_text};
use super::run::TerminalChannel;
use super::terminal::{Terminal, TerminalInput, typed};
use super::{INTERFACE, WORK_DIRECTORY};
use crate::core::engine::Lane;
use crate::core::execution::{
    Capture, Captured, Content, Excess, Execution, ExecutionError, ExecutionLimits, FilesError,
    Input, InputContent, InputFile, Output, OutputFile, Stream, Streams,
};
use crate::service::Service;
use bytes::{Bytes, BytesMut};
use millibox::{Backend, Mount, Outcome, World};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::sync::mpsc;

/// The size of each of the directories `/w` and `/tmp`, in bytes.
const DIRECTORY_BYTES: u64 = 128 << 20;
/// Files and directories in each of them.
const DIRECTORY_INODES: u64 = 4 << 10;
/// Bytes of one file that a command writes, and of one collector.
const MAX_OUTPUT_BYTES: u64 = 256 << 20;
/// The default and largest size of a returned file, in bytes.
const MAX_COPY_OUT_BYTES: u64 = 256 << 20;
const OPEN_FILES: u64 = 256;
/// Memory beyond the limit, so that the kernel does not kill a command that stays below it.
const EXTRA_MEMORY_BYTES: u64 = 16 << 10;
/// The sandbox starts no command with less memory or time.
const MIN_MEMORY_BYTES: u64 = 1 << 20;
const MIN_TIME: Duration = Duration::from_millis(1);

/// What commands see. All runs share it, so that the supervisor prepares it once.
static WORLD: LazyLock<World> = LazyLock::new(|| {
    let directory = |path: &str| Mount::Tmpfs {
        at: path.into(),
        size: Some(DIRECTORY_BYTES),
        inodes: Some(DIRECTORY_INODES),
        mode: 0o777,
        read_only: false,
        no_exec: false,
    };
    World::empty()
        .system()
        .dev("/dev")
        .mount(directory("/tmp"))
        .mount(Mount::Proc {
            at: b"/proc".to_vec(),
            processes_only: true,
        })
        .mount(directory(WORK_DIRECTORY))
});

/// A command of a group.
#[derive(Debug)]
pub enum Member {
    /// It can be executed.
    Ready(Box<Prepared>),
    /// It cannot.
    NotExecuted(Box<CommandResult>),
}

/// A command that can be executed.
#[derive(Debug)]
pub struct Prepared {
    execution: Execution,
    collectors: Vec<Collector>,
    terminal: Option<PreparedTerminal>,
    returned: Vec<Returned>,
    cpu_limit: u64,
    memory_limit: u64,
}

/// Output that is collected.
#[derive(Debug)]
struct Collector {
    fd: usize,
    name: String,
    max: u64,
}

#[derive(Debug)]
struct PreparedTerminal {
    terminal: Terminal,
    typed: Vec<Bytes>,
    /// The first collector, which receives everything.
    collector: Option<Collector>,
    channel: Option<TerminalChannel>,
}

/// A file that is returned, in the order of the outputs of the execution.
#[derive(Debug)]
struct Returned {
    copy_out: CopyOut,
    is_cached: bool,
    /// It is the output of a collector, not a file.
    is_collected: bool,
}

/// What is put at a descriptor.
enum Slot {
    Null,
    Descriptor(OwnedFd),
    Content(Content),
    Collector(String, u64),
}

/// A command that is not executed because of this result, or a group without results.
enum Stop {
    NotExecuted(CommandResult),
    Group(GroupError),
}

impl<E: Into<GroupError>> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Group(error.into())
    }
}

fn internal(error: impl ToString) -> Stop {
    Stop::NotExecuted(CommandResult::not_executed(Status::InternalError, error))
}

/// Prepares a command. It takes its descriptors from `ends`.
///
/// # Errors
/// The whole group has no results.
pub fn prepare(
    service: &Service,
    index: usize,
    command: Command,
    ends: &mut BTreeMap<End, OwnedFd>,
    channel: Option<TerminalChannel>,
) -> Result<Member, GroupError> {
    match try_prepare(service, index, command, ends, channel) {
        Ok(prepared) => Ok(Member::Ready(Box::new(prepared))),
        Err(Stop::NotExecuted(result)) => {
            // The other ends of its pipes must not wait for it.
            ends.retain(|end, _| end.index != index);
            Ok(Member::NotExecuted(Box::new(result)))
        }
        Err(Stop::Group(error)) => Err(error),
    }
}

fn try_prepare(
    service: &Service,
    index: usize,
    command: Command,
    ends: &mut BTreeMap<End, OwnedFd>,
    channel: Option<TerminalChannel>,
) -> Result<Prepared, Stop> {
    let program = command
        .args
        .first()
        .ok_or_else(|| internal("start: no argument provided"))?;
    let env: Vec<(OsString, OsString)> = command
        .env
        .iter()
        .filter_map(|variable| variable.split_once('='))
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let has_path = env.iter().any(|(name, _)| name == "PATH");
    if !program.contains('/') && !has_path {
        return Err(internal(not_started_text(program, Some(2))));
    }
    let count = ends
        .keys()
        .filter(|end| end.index == index)
        .map(|end| end.fd + 1)
        .fold(command.files.len(), usize::max);
    let mut collectors = Vec::new();
    let mut terminal = None;
    let streams = if command.tty {
        let (prepared, streams) = on_terminal(count, &command, channel)?;
        terminal = Some(prepared);
        streams
    } else {
        let mut streams = Streams::default();
        for fd in 0..count {
            let end = ends.remove(&End { index, fd });
            let file = command.files.get(fd).and_then(Option::as_ref);
            let slot = match (end, file) {
                (Some(end), _) => Slot::Descriptor(end),
                (None, Some(file)) => slot(service, file)?,
                (None, None) => return Err(internal(format!("file {fd} is null without a pipe"))),
            };
            put(&mut streams, &mut collectors, fd, slot)?;
        }
        streams
    };
    let is_collected = |copy_out: &CopyOut| {
        let is_collector = |file: &CommandFile| matches!(file, CommandFile::Collector { name, .. } if *name == copy_out.name);
        command.files.iter().flatten().any(is_collector)
    };
    let cached = command
        .copy_out_cached
        .iter()
        .map(|copy_out| (copy_out, true));
    let plain = command.copy_out.iter().filter(|copy_out| {
        let is_same = |cached: &CopyOut| cached.name == copy_out.name;
        !is_collected(copy_out) && !command.copy_out_cached.iter().any(is_same)
    });
    let returned: Vec<Returned> = cached
        .chain(plain.map(|copy_out| (copy_out, false)))
        .map(|(copy_out, is_cached)| Returned {
            copy_out: copy_out.clone(),
            is_cached,
            is_collected: is_collected(copy_out),
        })
        .collect();
    let max_bytes = match command.copy_out_max {
        0 => MAX_COPY_OUT_BYTES,
        max => max.min(MAX_COPY_OUT_BYTES),
    };
    let outputs = returned
        .iter()
        .filter(|returned| !returned.is_collected)
        .map(|returned| OutputFile {
            path: below_work_directory(&returned.copy_out.name),
            max_bytes,
            truncate: command.truncates_copy_out,
        });
    let execution = Execution {
        program: program.into(),
        argv: command.args.iter().map(Into::into).collect(),
        env,
        world: WORLD.clone(),
        current_dir: WORK_DIRECTORY.into(),
        files: input_files(service, &command)?,
        streams,
        outputs: outputs.collect(),
        limits: limits(service, &command),
    };
    Ok(Prepared {
        execution,
        collectors,
        terminal,
        returned,
        cpu_limit: command.cpu_limit,
        memory_limit: command.memory_limit,
    })
}

fn limits(service: &Service, command: &Command) -> ExecutionLimits {
    let max = &service.config.limits.max;
    let clock = match command.clock_limit {
        0 => command.cpu_limit,
        limit => limit,
    };
    let processes = match command.process_limit {
        0 => max.processes,
        limit => u32::try_from(limit).unwrap_or(max.processes),
    };
    let memory = command.memory_limit.saturating_add(EXTRA_MEMORY_BYTES);
    let only_if = |condition: bool| condition.then_some(command.memory_limit.max(MIN_MEMORY_BYTES));
    ExecutionLimits {
        cpu_time: Some(Duration::from_nanos(command.cpu_limit).max(MIN_TIME)),
        real_time: Some(Duration::from_nanos(clock).max(MIN_TIME)),
        memory_bytes: Some(memory.max(MIN_MEMORY_BYTES)),
        processes,
        file_bytes: Some(MAX_OUTPUT_BYTES),
        open_files: Some(OPEN_FILES),
        stack_bytes: (command.stack_limit > 0).then(|| command.stack_limit.min(memory)),
        address_space_bytes: only_if(command.limits_address_space),
        data_bytes: only_if(command.limits_data_segment),
    }
}

/// What a file of the request puts at a descriptor.
fn slot(service: &Service, file: &CommandFile) -> Result<Slot, Stop> {
    Ok(match file {
        CommandFile::Local(path) if path == Path::new("/dev/null") => Slot::Null,
        CommandFile::Local(path) => {
            let file = open_source(service, path)?;
            let file =
                file.map_err(|error| internal(format!("open {}: {error}", path.display())))?;
            Slot::Content(Content::File(Arc::new(file)))
        }
        CommandFile::Content(bytes) if bytes.is_empty() => Slot::Null,
        CommandFile::Content(bytes) => Slot::Content(Content::Bytes(bytes.clone())),
        CommandFile::Stored(id) => Slot::Content(stored(service, id)?),
        CommandFile::Collector { name, max } => Slot::Collector(name.clone(), *max),
        CommandFile::StreamIn | CommandFile::StreamOut => {
            return Err(wrong_use(file).into());
        }
    })
}

fn wrong_use(file: &CommandFile) -> RequestError {
    RequestError::FileUse {
        file: Box::new(file.clone()),
    }
}

fn stored(service: &Service, id: &str) -> Result<Content, GroupError> {
    let opened = service.go_judge.files.open(&service.files, id);
    match opened.map_err(GroupError::system("open a stored file"))? {
        Some((_, file)) => Ok(Content::File(Arc::new(file))),
        None => Err(GroupError::UnknownFile(id.to_owned())),
    }
}

/// Opens a file of the host, if requests may read it. Links are resolved before the check.
fn open_source(
    service: &Service,
    path: &Path,
) -> Result<std::io::Result<std::fs::File>, RequestError> {
    let prefixes = &service.config.go_judge_source_prefixes;
    let forbidden = || RequestError::SourcePath {
        path: path.to_owned(),
        prefixes: prefixes.clone(),
    };
    let is_below = |path: &Path| {
        let mut prefixes = prefixes
            .iter()
            .filter_map(|prefix| prefix.canonicalize().ok());
        prefixes.any(|prefix| path.starts_with(prefix))
    };
    match path.canonicalize() {
        Ok(real) if is_below(&real) => Ok(std::fs::File::open(real)),
        Ok(_) => Err(forbidden()),
        // Requests learn nothing about other directories.
        Err(error) => match path.parent().map(Path::canonicalize) {
            Some(Ok(parent)) if is_below(&parent) => Ok(Err(error)),
            _ => Err(forbidden()),
        },
    }
}

/// Puts a slot at a descriptor.
fn put(
    streams: &mut Streams,
    collectors: &mut Vec<Collector>,
    fd: usize,
    slot: Slot,
) -> Result<(), Stop> {
    if fd == 0 {
        streams.stdin = match slot {
            Slot::Null => Input::Empty,
            Slot::Descriptor(descriptor) => Input::Descriptor(descriptor),
            Slot::Content(content) => Input::Content(content),
            Slot::Collector(name, max) => {
                return Err(wrong_use(&CommandFile::Collector { name, max }).into());
            }
        };
        return Ok(());
    }
    let output = match slot {
        Slot::Null => Output::Discard,
        Slot::Descriptor(descriptor) => Output::Descriptor(descriptor),
        Slot::Content(content) if fd > 2 => {
            streams.extra.push(Stream::Input(Input::Content(content)));
            return Ok(());
        }
        Slot::Content(content) => Output::Descriptor(content.open()?),
        Slot::Collector(name, max) => {
            match collectors.iter().find(|collector| collector.name == name) {
                Some(first) => Output::SameAs(first.fd),
                None => {
                    let max = max.min(MAX_OUTPUT_BYTES);
                    collectors.push(Collector { fd, name, max });
                    Output::Capture(Capture {
                        max_bytes: max + 1,
                        excess: Excess::EndAfter(MAX_OUTPUT_BYTES),
                        live: None,
                    })
                }
            }
        }
    };
    match fd {
        1 => streams.stdout = output,
        2 => streams.stderr = output,
        _ => streams.extra.push(Stream::Output(output)),
    }
    Ok(())
}

/// All descriptors are one terminal. Contents are typed on it, and the first collector receives
/// everything.
fn on_terminal(
    count: usize,
    command: &Command,
    channel: Option<TerminalChannel>,
) -> Result<(PreparedTerminal, Streams), Stop> {
    let (terminal, side) = Terminal::open()?;
    let clone = || -> Result<OwnedFd, GroupError> {
        side.try_clone()
            .map_err(GroupError::system("open a terminal"))
    };
    let mut streams = Streams {
        stdin: Input::Descriptor(clone()?),
        terminal: true,
        ..Streams::default()
    };
    for fd in 1..count {
        let output = Output::Descriptor(clone()?);
        match fd {
            1 => streams.stdout = output,
            2 => streams.stderr = output,
            _ => streams.extra.push(Stream::Output(output)),
        }
    }
    let mut contents = Vec::new();
    let mut collector = None;
    for (fd, file) in command.files.iter().enumerate() {
        match file {
            Some(CommandFile::Content(bytes)) => contents.push(typed(bytes)),
            Some(CommandFile::Collector { name, max }) if collector.is_none() => {
                collector = Some(Collector {
                    fd,
                    name: name.clone(),
                    max: (*max).min(MAX_OUTPUT_BYTES),
                });
            }
            _ => {}
        }
    }
    Ok((
        PreparedTerminal {
            terminal,
            typed: contents,
            collector,
            channel,
        },
        streams,
    ))
}

/// Files and links for the working directory: all files before all links.
fn input_files(service: &Service, command: &Command) -> Result<Vec<InputFile>, Stop> {
    let mut files = Vec::with_capacity(command.copy_in.len() + command.symlinks.len());
    for (path, file) in &command.copy_in {
        let content = match file {
            CommandFile::Local(source) if source == Path::new("/dev/null") => {
                Content::Bytes(Bytes::new())
            }
            CommandFile::Local(source) => match open_source(service, source)? {
                Ok(file) => Content::File(Arc::new(file)),
                Err(error) => {
                    let kind = FileErrorKind::CopyInOpenFile;
                    return Err(Stop::NotExecuted(file_error(path, kind, error)));
                }
            },
            CommandFile::Content(bytes) => Content::Bytes(bytes.clone()),
            CommandFile::Stored(id) => stored(service, id)?,
            other => return Err(wrong_use(other).into()),
        };
        files.push(InputFile {
            path: path.into(),
            content: InputContent::File {
                content,
                mode: 0o777,
            },
        });
    }
    let links = command.symlinks.iter().map(|(path, target)| InputFile {
        path: path.into(),
        content: InputContent::Symlink(target.into()),
    });
    files.extend(links);
    Ok(files)
}

fn file_error(name: &str, kind: FileErrorKind, error: impl ToString) -> CommandResult {
    let message = error.to_string();
    let mut result = CommandResult::not_executed(Status::FileError, &message);
    result.file_errors.push(FileError {
        name: name.to_owned(),
        kind,
        message,
    });
    result
}

/// A path as the core needs it: relative to the working directory.
fn below_work_directory(path: &str) -> PathBuf {
    let path = Path::new(path);
    path.strip_prefix(WORK_DIRECTORY).unwrap_or(path).to_owned()
}

impl Prepared {
    /// Executes the command.
    ///
    /// # Errors
    /// The service failed.
    pub async fn execute(self, service: &Service, lane: Lane) -> Result<CommandResult, GroupError> {
        let Prepared {
            execution,
            mut collectors,
            terminal,
            returned,
            cpu_limit,
            memory_limit,
        } = self;
        let executing = service.runner.engine.execute(lane, execution);
        let (executed, on_terminal) = match terminal {
            None => (executing.await, None),
            Some(terminal) => {
                let (executed, collected) = tokio::join!(executing, terminal.run());
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
            if is_cached {
                if let Some(bytes) = measured.result.files.remove(&copy_out.name) {
                    let files = &service.go_judge.files;
                    let name = copy_out.name.clone();
                    let stored = files.add_bytes(&service.files, name, bytes).await;
                    measured.cache(copy_out.name, stored);
                }
            }
        }
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
        error @ FilesError::Step { .. } => file_error("", FileErrorKind::CopyInCopyContent, error),
    }
}

impl PreparedTerminal {
    /// Types the contents and collects the output, or passes both on.
    async fn run(self) -> Result<Option<(Collector, Captured)>, GroupError> {
        let PreparedTerminal {
            terminal,
            typed,
            collector,
            channel,
        } = self;
        let (output, mut received) = mpsc::channel::<Bytes>(4);
        let (keys, typed_keys) = mpsc::channel(typed.len().max(1));
        for bytes in typed {
            // The channel has room for all of them.
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
                let room = usize::try_from(room).unwrap_or(usize::MAX);
                kept.extend_from_slice(&bytes[..room.min(bytes.len())]);
                if let Some(live) = &live {
                    // A client that is gone does not end the run here.
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
