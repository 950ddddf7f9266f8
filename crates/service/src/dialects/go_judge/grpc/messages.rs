//! The messages of `proto/go_judge.proto`, and their equivalents in the model.

use crate::dialects::go_judge::error::RequestError;
use crate::dialects::go_judge::model::{
    self, Command, CommandFile, CommandResult, End, FileErrorKind, Group, PipeMapping, Proxy,
    Status,
};
use bytes::Bytes;
use std::collections::BTreeMap;

#[derive(Clone, PartialEq, prost::Message)]
pub struct FileId {
    #[prost(string, tag = "1")]
    pub file_id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct FileContent {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub content: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct FileList {
    #[prost(btree_map = "string, string", tag = "1")]
    pub file_ids: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Request {
    #[prost(string, tag = "1")]
    pub request_id: String,
    #[prost(message, repeated, tag = "2")]
    pub cmd: Vec<CommandMessage>,
    #[prost(message, repeated, tag = "3")]
    pub pipe_mapping: Vec<PipeMessage>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CommandMessage {
    #[prost(string, repeated, tag = "1")]
    pub args: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub env: Vec<String>,
    #[prost(message, repeated, tag = "3")]
    pub files: Vec<FileMessage>,
    #[prost(uint64, tag = "4")]
    pub cpu_time_limit: u64,
    #[prost(uint64, tag = "5")]
    pub clock_time_limit: u64,
    #[prost(uint64, tag = "6")]
    pub memory_limit: u64,
    #[prost(uint64, tag = "7")]
    pub proc_limit: u64,
    #[prost(btree_map = "string, message", tag = "8")]
    pub copy_in: BTreeMap<String, FileMessage>,
    #[prost(message, repeated, tag = "9")]
    pub copy_out: Vec<CopyOutMessage>,
    #[prost(message, repeated, tag = "10")]
    pub copy_out_cached: Vec<CopyOutMessage>,
    #[prost(uint64, tag = "12")]
    pub stack_limit: u64,
    #[prost(bool, tag = "13")]
    pub tty: bool,
    #[prost(uint64, tag = "14")]
    pub copy_out_max: u64,
    #[prost(bool, tag = "16")]
    pub data_segment_limit: bool,
    #[prost(string, tag = "17")]
    pub cpu_set_limit: String,
    #[prost(btree_map = "string, string", tag = "18")]
    pub symlinks: BTreeMap<String, String>,
    #[prost(bool, tag = "19")]
    pub address_space_limit: bool,
    #[prost(bool, tag = "20")]
    pub copy_out_truncate: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct FileMessage {
    #[prost(oneof = "FileChoice", tags = "1, 2, 3, 4, 5, 6")]
    pub file: Option<FileChoice>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum FileChoice {
    #[prost(message, tag = "1")]
    Local(LocalFile),
    #[prost(message, tag = "2")]
    Memory(MemoryFile),
    #[prost(message, tag = "3")]
    Cached(FileId),
    #[prost(message, tag = "4")]
    Pipe(Collector),
    #[prost(message, tag = "5")]
    StreamIn(()),
    #[prost(message, tag = "6")]
    StreamOut(()),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LocalFile {
    #[prost(string, tag = "1")]
    pub src: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MemoryFile {
    #[prost(bytes = "bytes", tag = "1")]
    pub content: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Collector {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(int64, tag = "2")]
    pub max: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CopyOutMessage {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(bool, tag = "2")]
    pub optional: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PipeMessage {
    #[prost(message, optional, tag = "1")]
    pub r#in: Option<PipeIndex>,
    #[prost(message, optional, tag = "2")]
    pub out: Option<PipeIndex>,
    #[prost(bool, tag = "3")]
    pub proxy: bool,
    #[prost(string, tag = "4")]
    pub name: String,
    #[prost(uint64, tag = "5")]
    pub max: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PipeIndex {
    #[prost(int32, tag = "1")]
    pub index: i32,
    #[prost(int32, tag = "2")]
    pub fd: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Response {
    #[prost(string, tag = "1")]
    pub request_id: String,
    #[prost(message, repeated, tag = "2")]
    pub results: Vec<ResultMessage>,
    #[prost(string, tag = "3")]
    pub error: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ResultMessage {
    #[prost(int32, tag = "1")]
    pub status: i32,
    #[prost(int32, tag = "2")]
    pub exit_status: i32,
    #[prost(string, tag = "3")]
    pub error: String,
    #[prost(uint64, tag = "4")]
    pub time: u64,
    #[prost(uint64, tag = "5")]
    pub memory: u64,
    #[prost(btree_map = "string, bytes", tag = "6")]
    pub files: BTreeMap<String, Vec<u8>>,
    #[prost(btree_map = "string, string", tag = "7")]
    pub file_ids: BTreeMap<String, String>,
    #[prost(uint64, tag = "8")]
    pub run_time: u64,
    #[prost(message, repeated, tag = "9")]
    pub file_error: Vec<FileErrorMessage>,
    #[prost(uint64, tag = "10")]
    pub proc_peak: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct FileErrorMessage {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(int32, tag = "2")]
    pub r#type: i32,
    #[prost(string, tag = "3")]
    pub message: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StreamRequest {
    #[prost(oneof = "StreamRequestChoice", tags = "1, 2, 3, 4")]
    pub request: Option<StreamRequestChoice>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum StreamRequestChoice {
    #[prost(message, tag = "1")]
    Request(Request),
    #[prost(message, tag = "2")]
    Input(Piece),
    #[prost(message, tag = "3")]
    Resize(Resize),
    #[prost(message, tag = "4")]
    Cancel(()),
}

/// Bytes that are written to or read from a descriptor.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Piece {
    #[prost(uint32, tag = "1")]
    pub index: u32,
    #[prost(bytes = "bytes", tag = "2")]
    pub content: Bytes,
    #[prost(uint32, tag = "3")]
    pub fd: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Resize {
    #[prost(uint32, tag = "1")]
    pub index: u32,
    #[prost(uint32, tag = "2")]
    pub rows: u32,
    #[prost(uint32, tag = "3")]
    pub cols: u32,
    #[prost(uint32, tag = "4")]
    pub x: u32,
    #[prost(uint32, tag = "5")]
    pub y: u32,
    #[prost(uint32, tag = "6")]
    pub fd: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StreamResponse {
    #[prost(oneof = "StreamResponseChoice", tags = "1, 2")]
    pub response: Option<StreamResponseChoice>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum StreamResponseChoice {
    #[prost(message, tag = "1")]
    Response(Response),
    #[prost(message, tag = "2")]
    Output(Piece),
}

impl Request {
    /// Converts the message to a group.
    ///
    /// # Errors
    /// A file of the working directory has no source.
    pub fn into_group(self) -> Result<Group, RequestError> {
        let size_bytes = prost::Message::encoded_len(&self);
        let commands: Result<_, _> = self.cmd.into_iter().map(Command::try_from).collect();
        let pipes = self.pipe_mapping.into_iter().map(|pipe| PipeMapping {
            writer: end(pipe.r#in.as_ref()),
            reader: end(pipe.out.as_ref()),
            proxy: pipe.proxy.then_some(Proxy {
                name: pipe.name,
                max: pipe.max,
            }),
        });
        Ok(Group {
            commands: commands?,
            pipes: pipes.collect(),
            size_bytes,
        })
    }
}

/// In an absent end, both numbers are 0. A negative number is out of range.
fn end(index: Option<&PipeIndex>) -> End {
    let number = |number: i32| usize::try_from(number).unwrap_or(usize::MAX);
    End {
        index: index.map_or(0, |index| number(index.index)),
        fd: index.map_or(0, |index| number(index.fd)),
    }
}

impl TryFrom<CommandMessage> for Command {
    type Error = RequestError;

    fn try_from(message: CommandMessage) -> Result<Command, RequestError> {
        let copy_in = message.copy_in.into_iter().map(|(path, file)| {
            let file = file.file.ok_or(RequestError::FileType)?;
            Ok((path, file.into()))
        });
        let copy_out = |files: Vec<CopyOutMessage>| {
            let files = files.into_iter().map(|file| model::CopyOut {
                name: file.name,
                is_optional: file.optional,
            });
            files.collect()
        };
        let files = message.files.into_iter();
        Ok(Command {
            args: message.args,
            env: message.env,
            files: files.map(|file| file.file.map(Into::into)).collect(),
            tty: message.tty,
            cpu_limit: message.cpu_time_limit,
            clock_limit: message.clock_time_limit,
            memory_limit: message.memory_limit,
            stack_limit: message.stack_limit,
            process_limit: message.proc_limit,
            cpu_set: message.cpu_set_limit,
            limits_data_segment: message.data_segment_limit,
            limits_address_space: message.address_space_limit,
            copy_in: copy_in.collect::<Result<_, RequestError>>()?,
            symlinks: message.symlinks,
            copy_out: copy_out(message.copy_out),
            copy_out_cached: copy_out(message.copy_out_cached),
            copy_out_max: message.copy_out_max,
            truncates_copy_out: message.copy_out_truncate,
        })
    }
}

impl From<FileChoice> for CommandFile {
    fn from(choice: FileChoice) -> CommandFile {
        match choice {
            FileChoice::Local(file) => CommandFile::Local(file.src.into()),
            FileChoice::Memory(file) => CommandFile::Content(file.content),
            FileChoice::Cached(file) => CommandFile::Stored(file.file_id),
            FileChoice::Pipe(collector) => CommandFile::Collector {
                name: collector.name,
                max: u64::try_from(collector.max).unwrap_or(0),
            },
            FileChoice::StreamIn(()) => CommandFile::StreamIn,
            FileChoice::StreamOut(()) => CommandFile::StreamOut,
        }
    }
}

impl From<CommandResult> for ResultMessage {
    fn from(result: CommandResult) -> ResultMessage {
        let files = result.files.into_iter();
        let errors = result.file_errors.into_iter();
        ResultMessage {
            status: status_number(result.status),
            exit_status: result.exit_status,
            error: result.error,
            time: result.time,
            memory: result.memory,
            files: files.map(|(name, bytes)| (name, bytes.into())).collect(),
            file_ids: result.file_ids,
            run_time: result.run_time,
            file_error: errors
                .map(|error| FileErrorMessage {
                    name: error.name,
                    r#type: file_error_number(error.kind),
                    message: error.message,
                })
                .collect(),
            proc_peak: result.process_peak,
        }
    }
}

fn status_number(status: Status) -> i32 {
    match status {
        Status::Accepted => 1,
        Status::MemoryLimitExceeded => 4,
        Status::TimeLimitExceeded => 5,
        Status::OutputLimitExceeded => 6,
        Status::FileError => 7,
        Status::NonzeroExit => 8,
        Status::Signalled => 9,
        Status::DangerousSyscall => 10,
        Status::InternalError => 13,
    }
}

fn file_error_number(kind: FileErrorKind) -> i32 {
    match kind {
        FileErrorKind::CopyInOpenFile => 0,
        FileErrorKind::CopyInCreateFile => 1,
        FileErrorKind::CopyInCopyContent => 2,
        FileErrorKind::CopyOutOpen => 3,
        FileErrorKind::CopyOutNotRegularFile => 4,
        FileErrorKind::CopyOutSizeExceeded => 5,
        FileErrorKind::CopyOutCreateFile => 6,
        FileErrorKind::CopyOutCopyContent => 7,
        FileErrorKind::CollectSizeExceeded => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    #[test]
    fn file_without_a_set_field_becomes_a_pipe() {
        let message = Request {
            cmd: vec![CommandMessage {
                files: vec![
                    FileMessage { file: None },
                    FileMessage {
                        file: Some(FileChoice::StreamIn(())),
                    },
                ],
                ..CommandMessage::default()
            }],
            ..Request::default()
        };
        let bytes = message.encode_to_vec();
        let group = Request::decode(&bytes[..]).unwrap().into_group().unwrap();
        assert_eq!(group.commands[0].files, [None, Some(CommandFile::StreamIn)]);
        assert_eq!(group.size_bytes, bytes.len());
    }

    #[test]
    fn negative_and_absent_pipe_ends_have_a_meaning() {
        let negative = PipeIndex { index: -1, fd: 2 };
        assert_eq!(end(Some(&negative)).index, usize::MAX);
        assert_eq!(end(None), End { index: 0, fd: 0 });
    }
}
