//! Gives runs the content of files, without any descriptor of a file that the service keeps.

use super::execution::{Content, ExecutionError};
use super::workspace;
use bytes::Bytes;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio_util::task::AbortOnDropHandle;

/// A file up to this size is copied to memory, where the program can also map it and seek in it.
/// The program receives a larger file through a pipe.
const MAX_MEMORY_BYTES: u64 = 64 << 20;
/// Number of bytes that are passed to a pipe at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// A descriptor for a program, and the task that fills it.
pub(super) struct Opened {
    pub(super) descriptor: OwnedFd,
    /// The program sees the end of the content when the task is dropped.
    pub(super) feeding: Option<AbortOnDropHandle<()>>,
}

/// Reads a file from its beginning, without using its file offset.
#[derive(Debug)]
pub(super) struct ReadAt<F> {
    file: F,
    offset: u64,
}

impl<F> ReadAt<F> {
    pub(super) fn new(file: F) -> ReadAt<F> {
        ReadAt { file, offset: 0 }
    }
}

impl<F: AsRef<File>> Read for ReadAt<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.as_ref().read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

impl Content {
    /// Its size.
    pub fn bytes(&self) -> u64 {
        match self {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Stored(file) => file.bytes(),
            Content::Host(file) => file.bytes,
        }
    }

    /// The memory that it occupies while a program reads it.
    pub fn memory_bytes(&self) -> u64 {
        match self.bytes() {
            bytes @ ..=MAX_MEMORY_BYTES => bytes,
            _ if matches!(self, Content::Bytes(_)) => self.bytes(),
            _ => CHUNK_BYTES as u64,
        }
    }

    /// Reads all of it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn read(self) -> Result<Bytes, ExecutionError> {
        if let Content::Bytes(bytes) = self {
            return Ok(bytes);
        }
        let bytes = self.bytes();
        blocking(move || {
            let mut content = Vec::new();
            let mut reader = self.reader()?.take(bytes);
            reader.read_to_end(&mut content)?;
            Ok(content.into())
        })
        .await
    }

    /// A reader of all of it. Blocks.
    pub(super) fn reader(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Ok(match self {
            Content::Bytes(bytes) => Box::new(&bytes[..]),
            Content::Stored(file) => Box::new(ReadAt::new(Own(file.open_checked()?))),
            Content::Host(file) => Box::new(ReadAt::new(Own(file.open()?))),
        })
    }

    /// A descriptor from which a program reads a copy.
    pub(super) async fn open(self) -> Result<Opened, ExecutionError> {
        match &self {
            Content::Bytes(bytes) => Ok(Opened {
                descriptor: workspace::memory_file(bytes)?,
                feeding: None,
            }),
            content if content.bytes() <= MAX_MEMORY_BYTES => {
                let bytes = self.bytes();
                let copy = move || workspace::copy_to_memory(self.reader()?.take(bytes));
                Ok(Opened {
                    descriptor: blocking(copy).await?,
                    feeding: None,
                })
            }
            _ => self.feed().await,
        }
    }

    async fn feed(self) -> Result<Opened, ExecutionError> {
        let failed = ExecutionError::system("create a pipe");
        let bytes = self.bytes();
        let file: File = blocking(move || match self {
            Content::Stored(file) => file.open_checked(),
            Content::Host(file) => file.open(),
            Content::Bytes(_) => Err(io::ErrorKind::InvalidInput.into()),
        })
        .await?;
        let (descriptor, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|errno| failed(errno.into()))?;
        let mut writer = pipe::Sender::from_owned_fd(writer).map_err(&failed)?;
        let feeding = tokio::spawn(async move {
            let mut offset = 0;
            let mut file = file;
            while offset < bytes {
                let read = tokio::task::spawn_blocking(move || {
                    let mut chunk = vec![0; CHUNK_BYTES];
                    let read = file.read_at(&mut chunk, offset);
                    (file, chunk, read)
                });
                let Ok((same, chunk, Ok(read @ 1..))) = read.await else {
                    return;
                };
                file = same;
                offset += read as u64;
                // The program may close its input.
                if writer.write_all(&chunk[..read]).await.is_err() {
                    return;
                }
            }
        });
        Ok(Opened {
            descriptor,
            feeding: Some(AbortOnDropHandle::new(feeding)),
        })
    }
}

/// A file that belongs to its reader.
struct Own(File);

impl AsRef<File> for Own {
    fn as_ref(&self) -> &File {
        &self.0
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, ExecutionError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| ExecutionError::system("read a file of a request")(error.into()))?
        .map_err(ExecutionError::system("read a file of a request"))
}
