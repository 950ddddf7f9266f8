//! Turns a command into an execution of the core.

use super::error::{GroupError, RequestError};
use super::file_system::FileSystem;
use super::host_files;
use super::member::{Collector, Member, Prepared, PreparedTerminal, Returned};
use super::model::{Command, CommandFile, CommandResult, CopyOut, End, FileErrorKind, Status};
use super::plan::{StoredFiles, max_copy_out};
use super::result::{file_error, not_started_text};
use super::terminal::{Terminal, TerminalChannel, typed};
use crate::core::budget::Budget;
use crate::core::execution::{
    Capture, Content, Excess, Execution, ExecutionLimits, Input, InputContent, InputFile, Output,
    OutputFile, Stream, Streams,
};
use crate::service::Service;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The sandbox starts no command with less memory or time than these minima.
const MIN_MEMORY_BYTES: u64 = 1 << 20;
const MIN_TIME: Duration = Duration::from_millis(1);

/// The object that a descriptor refers to.
enum Slot {
    Null,
    Descriptor(OwnedFd),
    Content(Content),
    Collector(String, u64),
}

/// Why preparation stops: the command is not executed and has this result, or the whole group has
/// no results.
enum Stop {
    NotExecuted(Box<CommandResult>),
    Group(Box<GroupError>),
}

impl<E: Into<GroupError>> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Group(Box::new(error.into()))
    }
}

fn internal(error: impl ToString) -> Stop {
    let result = CommandResult::not_executed(Status::InternalError, error);
    Stop::NotExecuted(Box::new(result))
}

/// What all commands of a group share.
#[derive(Clone, Copy)]
pub struct Common<'a> {
    pub service: &'a Service,
    pub file_system: &'a FileSystem,
    /// The stored files that the group refers to.
    pub stored: &'a StoredFiles,
    /// The bytes of output that are read.
    pub budget: &'a Budget,
    /// The bytes of output that the answer may contain.
    pub answer: &'a Budget,
}

/// Prepares a command. The command takes its descriptors from `ends`.
///
/// # Errors
/// The whole group has no results.
pub fn prepare(
    common: Common<'_>,
    index: usize,
    command: Command,
    ends: &mut BTreeMap<End, OwnedFd>,
    channel: Option<TerminalChannel>,
) -> Result<Member, GroupError> {
    match try_prepare(common, index, command, ends, channel) {
        Ok(prepared) => Ok(Member::Ready(Box::new(prepared))),
        Err(Stop::NotExecuted(result)) => {
            // Commands at the other ends of its pipes must not wait for it.
            ends.retain(|end, _| end.index != index);
            Ok(Member::NotExecuted(result))
        }
        Err(Stop::Group(error)) => Err(*error),
    }
}

fn try_prepare(
    common: Common<'_>,
    index: usize,
    command: Command,
    ends: &mut BTreeMap<End, OwnedFd>,
    channel: Option<TerminalChannel>,
) -> Result<Prepared, Stop> {
    let program = command
        .args
        .first()
        .ok_or_else(|| internal("start: no argument provided"))?;
    let files = common.file_system;
    let named = command.env.iter();
    let named: Vec<(OsString, OsString)> = named
        .filter_map(|variable| variable.split_once('='))
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let is_named = |name: &OsString| named.iter().any(|(it, _)| it == name);
    let usual = files.variables.iter().filter(|(name, _)| !is_named(name));
    let env: Vec<(OsString, OsString)> = usual.chain(&named).cloned().collect();
    let has_path = env.iter().any(|(name, _)| name == "PATH");
    if !program.contains('/') && !has_path {
        return Err(internal(not_started_text(program, Some(2))));
    }
    let count = ends
        .keys()
        .filter(|end| end.index == index)
        .map(|end| end.fd + 1)
        .fold(command.files.len(), usize::max);
    let output_limit = common.service.config.go_judge.output_limit;
    let mut collectors = Vec::new();
    let mut terminal = None;
    let streams = if command.tty {
        let (prepared, streams) = on_terminal(count, &command, channel, output_limit)?;
        terminal = Some(prepared);
        streams
    } else {
        let mut streams = Streams::default();
        for fd in 0..count {
            let end = ends.remove(&End { index, fd });
            let file = command.files.get(fd).and_then(Option::as_ref);
            let slot = match (end, file) {
                (Some(end), _) => Slot::Descriptor(end),
                (None, Some(file)) => slot(common, file)?,
                (None, None) => return Err(internal(format!("file {fd} is null without a pipe"))),
            };
            put(&mut streams, &mut collectors, fd, slot, output_limit)?;
        }
        streams
    };
    let collected: Vec<&str> = command
        .files
        .iter()
        .flatten()
        .filter_map(|file| match file {
            CommandFile::Collector { name, .. } => Some(&name[..]),
            _ => None,
        })
        .collect();
    let is_collected = |copy_out: &CopyOut| collected.contains(&&copy_out.name[..]);
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
    let max_bytes = max_copy_out(&common.service.config.go_judge, &command);
    let outputs = returned
        .iter()
        .filter(|returned| !returned.is_collected)
        .map(|returned| OutputFile {
            path: below_work_directory(&files.work_directory, &returned.copy_out.name),
            max_bytes,
            truncate: command.truncates_copy_out,
        });
    let limits = limits(common.service, &command);
    let execution = Execution {
        program: program.into(),
        argv: command.args.iter().map(Into::into).collect(),
        env,
        world: files.world(limits.memory_bytes),
        prepared: None,
        explained: false,
        current_dir: files.work_directory.clone().into(),
        files: input_files(common, &command)?,
        files_bytes: files.bytes,
        streams,
        outputs: outputs.collect(),
        budget: common.budget.clone(),
        limits,
    };
    Ok(Prepared {
        execution,
        collectors,
        terminal,
        returned,
        answer: common.answer.clone(),
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
    let memory = command
        .memory_limit
        .saturating_add(service.config.go_judge.extra_memory_limit);
    let only_if = |condition: bool| condition.then_some(command.memory_limit.max(MIN_MEMORY_BYTES));
    ExecutionLimits {
        cpu_time: Some(Duration::from_nanos(command.cpu_limit).max(MIN_TIME)),
        real_time: Some(Duration::from_nanos(clock).max(MIN_TIME)),
        memory_bytes: Some(memory.max(MIN_MEMORY_BYTES)),
        processes,
        file_bytes: Some(service.config.go_judge.output_limit),
        open_files: Some(service.config.go_judge.open_file_limit),
        stack_bytes: (command.stack_limit > 0).then(|| command.stack_limit.min(memory)),
        address_space_bytes: only_if(command.limits_address_space),
        data_bytes: only_if(command.limits_data_segment),
    }
}

/// The object that a descriptor refers to, for a file of the request.
fn slot(common: Common<'_>, file: &CommandFile) -> Result<Slot, Stop> {
    Ok(match file {
        CommandFile::Local(path) if path == Path::new("/dev/null") => Slot::Null,
        CommandFile::Local(path) => {
            let file = host_files::find(prefixes(common), path)?;
            let file =
                file.map_err(|error| internal(format!("open {}: {error}", path.display())))?;
            Slot::Content(Content::Host(file))
        }
        CommandFile::Content(bytes) if bytes.is_empty() => Slot::Null,
        CommandFile::Content(bytes) => Slot::Content(Content::Bytes(bytes.clone())),
        CommandFile::Stored(id) => Slot::Content(common.stored.content(id)?),
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

/// The directories from which requests may read files of the host.
fn prefixes(common: Common<'_>) -> &[PathBuf] {
    &common.service.config.go_judge_source_prefixes
}

/// Puts a slot at a descriptor.
fn put(
    streams: &mut Streams,
    collectors: &mut Vec<Collector>,
    fd: usize,
    slot: Slot,
    output_limit: u64,
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
        Slot::Content(content) => Output::Content(content),
        Slot::Collector(name, max) => {
            match collectors.iter().find(|collector| collector.name == name) {
                Some(first) => Output::SameAs(first.fd),
                None => {
                    let max = max.min(output_limit);
                    collectors.push(Collector { fd, name, max });
                    Output::Capture(Capture {
                        max_bytes: max + 1,
                        excess: Excess::EndAfter(output_limit),
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

/// Connects all descriptors to one terminal. Contents are typed on it, and the first collector
/// receives all output.
fn on_terminal(
    count: usize,
    command: &Command,
    channel: Option<TerminalChannel>,
    output_limit: u64,
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
                    max: (*max).min(output_limit),
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
fn input_files(common: Common<'_>, command: &Command) -> Result<Vec<InputFile>, Stop> {
    let mut files = Vec::with_capacity(command.copy_in.len() + command.symlinks.len());
    for (path, file) in &command.copy_in {
        let content = match file {
            CommandFile::Local(source) if source == Path::new("/dev/null") => {
                Content::Bytes(Bytes::new())
            }
            CommandFile::Local(local) => match host_files::find(prefixes(common), local)? {
                Ok(file) => Content::Host(file),
                Err(error) => {
                    let kind = FileErrorKind::CopyInOpenFile;
                    let result = file_error(path, kind, error);
                    return Err(Stop::NotExecuted(Box::new(result)));
                }
            },
            CommandFile::Content(bytes) => Content::Bytes(bytes.clone()),
            CommandFile::Stored(id) => common.stored.content(id)?,
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

/// A path as the core needs it: relative to the working directory.
fn below_work_directory(directory: &Path, path: &str) -> PathBuf {
    let path = Path::new(path);
    path.strip_prefix(directory).unwrap_or(path).to_owned()
}
