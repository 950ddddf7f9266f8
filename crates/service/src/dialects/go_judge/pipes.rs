//! Pipes between the commands of a group.

use super::error::{GroupError, PipeError};
use super::model::{Command, End, Group, PipeMapping, Proxy};
use crate::core::budget::Budget;
use bytes::{Bytes, BytesMut};
use rustix::pipe::{PipeFlags, pipe_with};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

/// The largest number of descriptors of a command.
pub const MAX_DESCRIPTORS: usize = 128;
/// Number of bytes that a proxy reads with one system call.
const CHUNK_BYTES: usize = 64 << 10;

/// The pipes of a group: the ends that its commands receive, and the service's side of proxies.
#[derive(Debug, Default)]
pub struct Pipes {
    /// Descriptors of the commands.
    pub ends: BTreeMap<End, OwnedFd>,
    /// Proxies that pass bytes on.
    pub relays: Vec<Relay>,
}

/// Passes the bytes of one pipe on to another.
#[derive(Debug)]
pub struct Relay {
    /// The index of the command that writes.
    pub writer: usize,
    proxy: Proxy,
    source: OwnedFd,
    target: OwnedFd,
}

/// A copy of what a proxy passed on.
#[derive(Debug)]
pub struct Traffic {
    /// The index of the command that wrote it.
    pub writer: usize,
    /// The name in its result.
    pub name: String,
    /// The first bytes.
    pub bytes: Bytes,
}

impl Pipes {
    /// Creates all pipes of a group.
    ///
    /// # Errors
    /// A mapping is not valid, or the service has run out of descriptors.
    pub fn new(group: &Group) -> Result<Pipes, GroupError> {
        let mut pipes = Pipes::default();
        for mapping in &group.pipes {
            pipes.add(&group.commands, mapping)?;
        }
        Ok(pipes)
    }

    fn add(&mut self, commands: &[Command], mapping: &PipeMapping) -> Result<(), GroupError> {
        for end in [mapping.writer, mapping.reader] {
            self.check(commands, end)?;
        }
        if mapping.writer == mapping.reader {
            return Err(PipeError::Occupied(mapping.reader).into());
        }
        let (reader, writer) = new_pipe()?;
        let reader = match &mapping.proxy {
            None => reader,
            Some(proxy) => {
                let (last_reader, target) = new_pipe()?;
                self.relays.push(Relay {
                    writer: mapping.writer.index,
                    proxy: proxy.clone(),
                    source: reader,
                    target,
                });
                last_reader
            }
        };
        self.ends.insert(mapping.writer, writer);
        self.ends.insert(mapping.reader, reader);
        Ok(())
    }

    fn check(&self, commands: &[Command], end: End) -> Result<(), PipeError> {
        let command = commands.get(end.index).ok_or(PipeError::Index(end))?;
        if end.fd >= MAX_DESCRIPTORS {
            return Err(PipeError::Descriptor(end));
        }
        let is_file = command.files.get(end.fd).is_some_and(Option::is_some);
        if is_file || self.ends.contains_key(&end) {
            return Err(PipeError::Occupied(end));
        }
        Ok(())
    }
}

/// Creates a pipe. Returns the read end and the write end.
pub fn new_pipe() -> Result<(OwnedFd, OwnedFd), GroupError> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|errno| GroupError::system("create a pipe")(errno.into()))
}

impl Relay {
    /// Passes bytes on until the writer has closed the pipe. If the reader closes its end first,
    /// the rest is read and dropped, so that SIGPIPE does not kill the writer.
    pub async fn run(self, budget: &Budget) -> Result<Traffic, GroupError> {
        let failed = GroupError::system("read a pipe");
        let mut source = pipe::Receiver::from_owned_fd(self.source).map_err(&failed)?;
        let target = pipe::Sender::from_owned_fd(self.target);
        let mut target = Some(target.map_err(GroupError::system("write a pipe"))?);
        let max_bytes = if self.proxy.name.is_empty() {
            0
        } else {
            self.proxy.max
        };
        let mut copy = BytesMut::new();
        let mut chunk = BytesMut::new();
        loop {
            chunk.clear();
            chunk.reserve(CHUNK_BYTES);
            if source.read_buf(&mut chunk).await.map_err(&failed)? == 0 {
                break;
            }
            let room = max_bytes.saturating_sub(copy.len() as u64);
            let room = budget.take(room.min(chunk.len() as u64));
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            copy.extend_from_slice(&chunk[..room]);
            if let Some(writer) = &mut target
                && writer.write_all(&chunk).await.is_err()
            {
                target = None;
            }
        }
        Ok(Traffic {
            writer: self.writer,
            name: self.proxy.name,
            bytes: copy.freeze(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::CommandFile;
    use super::*;

    fn group(mappings: &[(usize, usize, usize, usize)]) -> Group {
        let command = Command {
            files: vec![None, None, Some(CommandFile::Content(Bytes::new()))],
            ..Command::default()
        };
        let pipes = mappings
            .iter()
            .map(|(index, fd, to_index, to_fd)| PipeMapping {
                writer: End {
                    index: *index,
                    fd: *fd,
                },
                reader: End {
                    index: *to_index,
                    fd: *to_fd,
                },
                proxy: None,
            });
        Group {
            commands: vec![command.clone(), command],
            pipes: pipes.collect(),
            ..Group::default()
        }
    }

    #[test]
    fn invalid_mappings_are_rejected() {
        let error = |mappings: &[_]| match Pipes::new(&group(mappings)) {
            Err(GroupError::Pipe(error)) => error,
            other => panic!("{other:?}"),
        };
        assert!(matches!(error(&[(0, 1, 2, 0)]), PipeError::Index(_)));
        assert!(matches!(error(&[(0, 999, 1, 0)]), PipeError::Descriptor(_)));
        assert!(matches!(error(&[(0, 2, 1, 0)]), PipeError::Occupied(_)));
        assert!(matches!(error(&[(0, 1, 0, 1)]), PipeError::Occupied(_)));
        let twice = error(&[(0, 1, 1, 0), (0, 1, 1, 3)]);
        assert_eq!(twice, PipeError::Occupied(End { index: 0, fd: 1 }));
        assert_eq!(Pipes::new(&group(&[(0, 1, 1, 0)])).unwrap().ends.len(), 2);
    }

    #[tokio::test]
    async fn relay_copies_and_outlives_its_reader() {
        let (source, mut writer) = {
            let (reader, writer) = new_pipe().unwrap();
            (reader, std::fs::File::from(writer))
        };
        let (reader, target) = new_pipe().unwrap();
        drop(reader);
        let relay = Relay {
            writer: 1,
            proxy: Proxy {
                name: "log".to_owned(),
                max: 3,
            },
            source,
            target,
        };
        std::io::Write::write_all(&mut writer, b"hello").unwrap();
        drop(writer);
        let traffic = relay.run(&Budget::new(100)).await.unwrap();
        assert_eq!((&traffic.bytes[..], traffic.writer), (&b"hel"[..], 1));
    }
}
