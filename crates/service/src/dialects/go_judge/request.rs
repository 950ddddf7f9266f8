//! Requests in JSON, which are decoded as in Go.

use super::error::RequestError;
use super::model::{Command, CommandFile, CopyOut, End, Group, PipeMapping, Proxy};
use crate::dialects::json;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A request for one group.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupRequest {
    request_id: String,
    cmd: Vec<CommandRequest>,
    pipe_mapping: Vec<PipeRequest>,
    /// Only on a WebSocket: the request with this id is cancelled.
    cancel_request_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CommandRequest {
    args: Vec<String>,
    env: Vec<String>,
    files: Vec<Option<FileRequest>>,
    tty: bool,
    cpu_limit: u64,
    clock_limit: u64,
    real_cpu_limit: u64,
    memory_limit: u64,
    stack_limit: u64,
    proc_limit: u64,
    /// Ignored. Upstream ignores it as well, unless it was started with `-enable-cpu-rate`.
    #[serde(rename = "cpuRateLimit")]
    _cpu_rate_limit: u64,
    cpu_set_limit: String,
    data_segment_limit: bool,
    strict_memory_limit: bool,
    address_space_limit: bool,
    copy_in: BTreeMap<String, FileRequest>,
    copy_out: Vec<String>,
    copy_out_cached: Vec<String>,
    copy_out_max: u64,
    copy_out_truncate: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FileRequest {
    src: Option<String>,
    content: Option<String>,
    file_id: Option<String>,
    name: Option<String>,
    max: Option<i64>,
    symlink: Option<String>,
    stream_in: bool,
    stream_out: bool,
    /// Collectors are always pipes here.
    #[serde(rename = "pipe")]
    _pipe: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PipeRequest {
    r#in: EndRequest,
    out: EndRequest,
    proxy: bool,
    name: String,
    max: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EndRequest {
    index: i64,
    fd: i64,
}

impl GroupRequest {
    /// The id of the request to cancel, if this is a cancellation.
    pub fn cancels(&self) -> Option<&str> {
        Some(&self.cancel_request_id[..]).filter(|id| !id.is_empty())
    }

    /// The client's name for the request.
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// The number of commands.
    pub fn command_count(&self) -> usize {
        self.cmd.len()
    }

    /// The group.
    ///
    /// # Errors
    /// The group is empty, or a file has no source.
    pub fn into_group(self, size_bytes: usize) -> Result<Group, RequestError> {
        let commands: Result<Vec<Command>, RequestError> =
            self.cmd.into_iter().map(Command::try_from).collect();
        Ok(Group {
            commands: commands?,
            pipes: self.pipe_mapping.into_iter().map(Into::into).collect(),
            size_bytes,
        })
    }
}

/// Reads a request, which may be a cancellation.
///
/// # Errors
/// The bytes are not a request.
pub fn decode(body: &[u8]) -> serde_json::Result<GroupRequest> {
    json::go(body)
}

/// Reads a group.
///
/// # Errors
/// The bytes are not a request, the group is empty, or a file has no source.
pub fn parse(body: &[u8]) -> Result<Group, RequestError> {
    decode(body)?.into_group(body.len())
}

impl TryFrom<CommandRequest> for Command {
    type Error = RequestError;

    fn try_from(request: CommandRequest) -> Result<Command, RequestError> {
        let files: Result<_, _> = request
            .files
            .into_iter()
            .map(|file| file.map(FileRequest::into_file).transpose())
            .collect();
        let mut copy_in = BTreeMap::new();
        let mut symlinks = BTreeMap::new();
        for (path, file) in request.copy_in {
            if let Some(target) = file.link() {
                symlinks.insert(path, target.to_owned());
            } else {
                copy_in.insert(path, file.into_file()?);
            }
        }
        let copy_out = |names: Vec<String>| names.iter().map(|name| CopyOut::parse(name)).collect();
        Ok(Command {
            args: request.args,
            env: request.env,
            files: files?,
            tty: request.tty,
            cpu_limit: request.cpu_limit,
            clock_limit: match request.real_cpu_limit {
                0 => request.clock_limit,
                limit => limit,
            },
            memory_limit: request.memory_limit,
            stack_limit: request.stack_limit,
            process_limit: request.proc_limit,
            cpu_set: request.cpu_set_limit,
            limits_data_segment: request.data_segment_limit || request.strict_memory_limit,
            limits_address_space: request.address_space_limit,
            copy_in,
            symlinks,
            copy_out: copy_out(request.copy_out),
            copy_out_cached: copy_out(request.copy_out_cached),
            copy_out_max: request.copy_out_max,
            truncates_copy_out: request.copy_out_truncate,
        })
    }
}

impl FileRequest {
    /// The target, if the file is a symbolic link.
    fn link(&self) -> Option<&str> {
        let is_other = self.src.is_some()
            || self.content.is_some()
            || self.file_id.is_some()
            || (self.name.is_some() && self.max.is_some());
        self.symlink.as_deref().filter(|_| !is_other)
    }

    /// The first source that the request names.
    fn into_file(self) -> Result<CommandFile, RequestError> {
        match self {
            FileRequest { src: Some(src), .. } => Ok(CommandFile::Local(src.into())),
            FileRequest {
                content: Some(content),
                ..
            } => Ok(CommandFile::Content(content.into())),
            FileRequest {
                file_id: Some(id), ..
            } => Ok(CommandFile::Stored(id)),
            FileRequest {
                name: Some(name),
                max: Some(max),
                ..
            } => Ok(CommandFile::Collector {
                name,
                max: u64::try_from(max).unwrap_or(0),
            }),
            FileRequest {
                stream_in: true, ..
            } => Ok(CommandFile::StreamIn),
            FileRequest {
                stream_out: true, ..
            } => Ok(CommandFile::StreamOut),
            _ => Err(RequestError::FileType),
        }
    }
}

impl From<PipeRequest> for PipeMapping {
    fn from(request: PipeRequest) -> PipeMapping {
        PipeMapping {
            writer: request.r#in.into(),
            reader: request.out.into(),
            proxy: request.proxy.then(|| Proxy {
                name: request.name,
                max: u64::try_from(request.max).unwrap_or(0),
            }),
        }
    }
}

impl From<EndRequest> for End {
    fn from(request: EndRequest) -> End {
        // Negative numbers are out of range, like very large ones.
        End {
            index: usize::try_from(request.index).unwrap_or(usize::MAX),
            fd: usize::try_from(request.fd).unwrap_or(usize::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(fields: &str) -> Result<Command, RequestError> {
        let text = format!("{{\"cmd\":[{{{fields}}}]}}");
        parse(text.as_bytes()).map(|group| group.commands.into_iter().next().unwrap())
    }

    #[test]
    fn null_and_unknown_keys_are_as_if_absent() {
        let command = command(r#""args":null,"cpuLimit":null,"files":[null],"new":1"#).unwrap();
        assert!(command.args.is_empty() && command.files == [None]);
        let group = parse(b"{}").unwrap();
        assert!(group.commands.is_empty());
    }

    #[test]
    fn keys_are_accepted_in_any_case() {
        let fields = r#""cpulimit":1,"MemoryLimit":2,"COPYOUT":["a"],
            "files":[{"fileID":"A"},{"Name":"out","MAX":3}]"#;
        let command = command(fields).unwrap();
        assert_eq!((command.cpu_limit, command.memory_limit), (1, 2));
        assert_eq!(command.files[0], Some(CommandFile::Stored("A".to_owned())));
        assert!(matches!(
            command.files[1],
            Some(CommandFile::Collector { max: 3, .. })
        ));
        assert_eq!(command.copy_out, [CopyOut::parse("a")]);
    }

    #[test]
    fn wrong_numbers_are_rejected() {
        for fields in [
            r#""cpuLimit":-1"#,
            r#""cpuLimit":1.5"#,
            r#""memoryLimit":"1""#,
            r#""args":"a""#,
        ] {
            let result = command(fields);
            assert!(matches!(result, Err(RequestError::Decode(_))), "{fields}");
        }
    }

    #[test]
    fn first_source_of_a_file_is_taken() {
        let fields = r#""files":[{"src":"/dev/null","content":"x"},{"content":"","fileId":"A"},
            {"name":"out","max":-1},{"fileId":"A"}]"#;
        let files: Vec<_> = command(fields)
            .unwrap()
            .files
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(
            files,
            [
                CommandFile::Local("/dev/null".into()),
                CommandFile::Content(bytes::Bytes::new()),
                CommandFile::Collector {
                    name: "out".to_owned(),
                    max: 0
                },
                CommandFile::Stored("A".to_owned()),
            ]
        );
        let missing = command(r#""files":[{"name":"out"}]"#);
        assert!(matches!(missing, Err(RequestError::FileType)));
    }

    #[test]
    fn links_are_split_from_files() {
        let command = command(r#""copyIn":{"a":{"content":"x"},"b":{"symlink":"a"}}"#).unwrap();
        assert!(command.copy_in.contains_key("a") && command.copy_in.len() == 1);
        assert_eq!(command.symlinks["b"], "a");
    }

    #[test]
    fn real_cpu_limit_replaces_clock_limit() {
        let limit = |fields| command(fields).unwrap().clock_limit;
        assert_eq!(limit(r#""clockLimit":5,"realCpuLimit":7"#), 7);
        assert_eq!(limit(r#""clockLimit":5"#), 5);
    }

    #[test]
    fn negative_pipe_index_is_out_of_range() {
        let text = br#"{"pipeMapping":[{"in":{"index":-1,"fd":1},"out":{"index":0,"fd":0}}]}"#;
        assert_eq!(parse(text).unwrap().pipes[0].writer.index, usize::MAX);
    }
}
