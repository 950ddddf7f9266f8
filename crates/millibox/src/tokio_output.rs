//! Captured output for callers that run in tokio.

use crate::{Error, Handle, Output, Request, Supervisor};
use rustix::pipe::{PipeFlags, pipe_with};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};
use tokio::net::unix::pipe::Receiver;

/// The number of bytes to read from a stream with one system call.
const CHUNK_BYTES: usize = 64 << 10;

impl Supervisor {
    /// Runs a program to its end and returns its output, like [`Supervisor::output`], without
    /// blocking the thread. The feature `tokio` enables it.
    ///
    /// Dropping the future cancels the run.
    ///
    /// ```
    /// # async fn example() -> Result<(), millibox::Error> {
    /// use millibox::{Request, Supervisor};
    ///
    /// let supervisor = Supervisor::start()?;
    /// let sort = Request::new("/usr/bin/sort").arg("-n").input("10\n9\n1\n");
    /// let output = supervisor.output_async(&sort, 1 << 20).await?;
    /// assert_eq!(output.stdout, b"1\n9\n10\n");
    /// # Ok(())
    /// # }
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    /// # if millibox::Supervisor::start().is_ok() {
    /// #     runtime.block_on(example()).unwrap();
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`Supervisor::output`] apply, or the thread is not in a tokio runtime with
    /// I/O.
    pub async fn output_async(&self, request: &Request, max_bytes: u64) -> Result<Output, Error> {
        let (mut stdout, write_stdout) = Stream::new()?;
        let (mut stderr, write_stderr) = Stream::new()?;
        let request = request.clone().stdout(write_stdout).stderr(write_stderr);
        let handle = self.run(&request)?;
        // The request keeps the write ends of the pipes open, and while they are open, the pipes do
        // not end.
        drop(request);
        let mut left = max_bytes;
        let truncated = std::future::poll_fn(|context| {
            poll_streams(&mut [&mut stdout, &mut stderr], context, &mut left, &handle)
        })
        .await?;
        Ok(Output {
            result: handle.wait_async().await?,
            stdout: stdout.bytes,
            stderr: stderr.bytes,
            truncated,
        })
    }
}

/// The read end of a pipe.
struct Stream {
    /// `None` after the end of the stream.
    pipe: Option<Receiver>,
    bytes: Vec<u8>,
}

impl Stream {
    fn new() -> Result<(Stream, OwnedFd), Error> {
        let (read, write) =
            pipe_with(PipeFlags::CLOEXEC).map_err(Error::system("create a pipe"))?;
        // The receiver makes the read end non-blocking. The program's end still blocks.
        let pipe = Receiver::from_owned_fd(read).map_err(|error| Error::System {
            what: "register a pipe with tokio",
            error,
        })?;
        let stream = Stream {
            pipe: Some(pipe),
            bytes: Vec::new(),
        };
        Ok((stream, write))
    }

    /// Reads at most `max_bytes` bytes. Returns the number of bytes read, which is 0 after the end.
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        max_bytes: usize,
    ) -> Poll<Result<usize, Error>> {
        let failed = |error| Error::System {
            what: "read the output of the program",
            error,
        };
        let length = self.bytes.len();
        loop {
            let Some(pipe) = &self.pipe else {
                return Poll::Ready(Ok(0));
            };
            match pipe.poll_read_ready(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(ready) => ready.map_err(failed)?,
            }
            self.bytes.resize(length + max_bytes, 0);
            let read = pipe.try_read(&mut self.bytes[length..]);
            self.bytes.truncate(length + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => self.pipe = None,
                Ok(count) => return Poll::Ready(Ok(count)),
                // The pipe was not ready, or a signal arrived.
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Poll::Ready(Err(failed(error))),
            }
        }
    }
}

/// Reads all streams until they end, or until they exceed the limit. In the second case, ends the
/// run. Returns whether the run was ended.
fn poll_streams(
    streams: &mut [&mut Stream],
    context: &mut Context<'_>,
    left: &mut u64,
    handle: &Handle,
) -> Poll<Result<bool, Error>> {
    for stream in &mut *streams {
        while stream.pipe.is_some() {
            // One more byte distinguishes output beyond the limit from the end of the stream.
            let wanted = usize::try_from(*left).unwrap_or(CHUNK_BYTES);
            let Poll::Ready(read) = stream.poll_read(context, wanted.clamp(1, CHUNK_BYTES)) else {
                break;
            };
            let read = read?;
            if *left == 0 && read > 0 {
                stream.bytes.truncate(stream.bytes.len() - read);
                handle.kill_for_output();
                return Poll::Ready(Ok(true));
            }
            *left -= read as u64;
        }
    }
    if streams.iter().all(|stream| stream.pipe.is_none()) {
        Poll::Ready(Ok(false))
    } else {
        Poll::Pending
    }
}
