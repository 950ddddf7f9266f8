//! Runs with input from memory and captured output.

use crate::{Error, Handle, Outcome, Request, RunResult, Supervisor};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// The number of bytes to read from a stream with one system call.
const CHUNK_BYTES: usize = 64 << 10;

/// The result of [`Supervisor::output`].
///
/// ```
/// use millibox::{Request, Supervisor};
///
/// let Ok(supervisor) = Supervisor::start() else { return };
/// let output = supervisor.output(&Request::new("/bin/echo").arg("hello"), 1000).unwrap();
/// assert!(output.is_success());
/// assert_eq!(output.stdout, b"hello\n");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Output {
    /// The outcome and the figures of the run.
    pub result: RunResult,
    /// The program's standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// The program's standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// Whether the program wrote more than the limit allows; the rest is lost.
    pub truncated: bool,
}

impl Output {
    /// Whether the program exited with status 0 and no output was lost.
    pub fn is_success(&self) -> bool {
        self.result.outcome == Outcome::Exited(0) && !self.truncated
    }
}

impl Supervisor {
    /// Runs a program to its end and returns its output. [`Request::input`] sets its standard
    /// input.
    ///
    /// Standard output and standard error together may contain `max_bytes` bytes. If the program
    /// writes more, the run ends with [`Outcome::OutputLimit`], and exactly `max_bytes` bytes are
    /// returned.
    ///
    /// ```
    /// use millibox::{Request, Supervisor};
    ///
    /// let Ok(supervisor) = Supervisor::start() else { return Ok(()) };
    /// let sort = Request::new("/usr/bin/sort").arg("-n").input("10\n9\n1\n");
    /// let output = supervisor.output(&sort, 1 << 20)?;
    /// assert_eq!(output.stdout, b"1\n9\n10\n");
    /// # Ok::<(), millibox::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Supervisor::run`] and [`Handle::wait`] apply, or a pipe cannot be created.
    pub fn output(&self, request: &Request, max_bytes: u64) -> Result<Output, Error> {
        let (run, mut capture) = self.capture(request, Streams::Both, max_bytes)?;
        while !capture.read(&run, None)? {}
        Ok(capture.into_output(run.wait()?))
    }

    /// Requests a run whose output the caller reads through a [`Capture`]. Does not wait.
    ///
    /// The captured streams together may contain `max_bytes` bytes, as with [`Supervisor::output`].
    ///
    /// # Errors
    /// The errors of [`Supervisor::run`] apply, or a pipe cannot be created.
    pub fn capture(
        &self,
        request: &Request,
        streams: Streams,
        max_bytes: u64,
    ) -> Result<(Handle, Capture), Error> {
        let mut request = request.clone();
        let mut pipes = [None, None];
        if streams != Streams::Stderr {
            let (read, write) = pipe()?;
            request = request.stdout(write);
            pipes[0] = Some(read);
        }
        if streams != Streams::Stdout {
            let (read, write) = pipe()?;
            request = request.stderr(write);
            pipes[1] = Some(read);
        }
        let run = self.run(&request)?;
        // The request keeps the write ends of the pipes open, and while they are open, the pipes do
        // not end.
        drop(request);
        let capture = Capture {
            streams: pipes.map(Stream::new),
            left: max_bytes,
            truncated: false,
        };
        Ok((run, capture))
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Error> {
    pipe_with(PipeFlags::CLOEXEC).map_err(Error::system("create a pipe"))
}

/// The streams that [`Supervisor::capture`] reads. The request decides about the other stream.
///
/// ```
/// use millibox::{Request, Streams, Supervisor};
///
/// let Ok(supervisor) = Supervisor::start() else { return Ok(()) };
/// let request = Request::new("/bin/sh").args(["-c", "echo yes; echo no >&2"]);
/// let (run, mut capture) = supervisor.capture(&request, Streams::Stdout, 1 << 20)?;
/// while !capture.read(&run, None)? {}
/// let output = capture.into_output(run.wait()?);
/// assert_eq!((output.stdout, output.stderr), (b"yes\n".to_vec(), Vec::new()));
/// # Ok::<(), millibox::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// Standard output and standard error.
    Both,
}

/// The output of a run that was started with [`Supervisor::capture`].
///
/// An event loop polls [`Capture::descriptors`] and [`Handle::event`], and calls [`Capture::read`]
/// with a timeout of zero when one of them is readable.
///
/// ```
/// use millibox::{Request, Streams, Supervisor};
///
/// let Ok(supervisor) = Supervisor::start() else { return Ok(()) };
/// let request = Request::new("/bin/echo").arg("hello");
/// let (run, mut capture) = supervisor.capture(&request, Streams::Both, 1 << 20)?;
/// while !capture.read(&run, None)? {}
/// assert_eq!(capture.into_output(run.wait()?).stdout, b"hello\n");
/// # Ok::<(), millibox::Error>(())
/// ```
#[derive(Debug)]
pub struct Capture {
    streams: [Stream; 2],
    /// The number of bytes that the program may still write.
    left: u64,
    truncated: bool,
}

impl Capture {
    /// The pipes whose end was not read yet.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let pipes = self
            .streams
            .iter()
            .filter_map(|stream| stream.pipe.as_ref());
        pipes.map(AsFd::as_fd)
    }

    /// The pipes whose end was not read yet. A thread can wait for them while other threads use the
    /// capture, because a pipe stays open as long as this copy of it exists.
    pub fn pipes(&self) -> impl Iterator<Item = Arc<OwnedFd>> {
        self.streams.iter().filter_map(|stream| stream.pipe.clone())
    }

    /// Waits for output of the run, for at most `timeout`, and reads it. Returns whether all
    /// streams have ended. If the program has written more than allowed, ends the run and returns
    /// true.
    ///
    /// # Errors
    /// A pipe cannot be read.
    pub fn read(&mut self, run: &Handle, timeout: Option<Duration>) -> Result<bool, Error> {
        let failed = Error::system("read the output of the program");
        for index in self.ready(timeout).map_err(&failed)? {
            // One more byte distinguishes output beyond the limit from the end of the stream.
            let read = self.streams[index]
                .read(self.left.max(1))
                .map_err(&failed)?;
            if read > self.left {
                self.streams[index].bytes.pop();
                self.truncated = true;
                run.kill_for_output();
                self.streams
                    .iter_mut()
                    .for_each(|stream| stream.pipe = None);
                return Ok(true);
            }
            self.left -= read;
        }
        Ok(self.descriptors().next().is_none())
    }

    /// The streams that are readable or have ended, after at most `timeout`.
    fn ready(&self, timeout: Option<Duration>) -> rustix::io::Result<Vec<usize>> {
        let open = self.streams.iter().enumerate();
        let (indices, mut polled): (Vec<usize>, Vec<PollFd>) = open
            .filter_map(|(index, stream)| {
                let pipe = stream.pipe.as_ref()?;
                Some((index, PollFd::new(pipe, PollFlags::IN)))
            })
            .unzip();
        if polled.is_empty() {
            return Ok(indices);
        }
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Vec::new()),
            Err(errno) => return Err(errno),
        }
        let is_ready = polled.iter().map(|polled| !polled.revents().is_empty());
        let ready = indices.into_iter().zip(is_ready);
        Ok(ready
            .filter(|(_, ready)| *ready)
            .map(|(index, _)| index)
            .collect())
    }

    /// Adds the result of the run.
    pub fn into_output(self, result: RunResult) -> Output {
        let [stdout, stderr] = self.streams.map(|stream| stream.bytes);
        Output {
            result,
            stdout,
            stderr,
            truncated: self.truncated,
        }
    }
}

#[derive(Debug)]
struct Stream {
    /// `None` after the end of the stream, and for a stream that is not captured.
    pipe: Option<Arc<OwnedFd>>,
    bytes: Vec<u8>,
}

impl Stream {
    fn new(pipe: Option<OwnedFd>) -> Stream {
        Stream {
            pipe: pipe.map(Arc::new),
            bytes: Vec::new(),
        }
    }

    /// Reads the available bytes, at most `max_bytes`. Returns their number.
    fn read(&mut self, max_bytes: u64) -> rustix::io::Result<u64> {
        let Some(pipe) = &self.pipe else {
            return Ok(0);
        };
        let chunk = usize::try_from(max_bytes)
            .unwrap_or(CHUNK_BYTES)
            .min(CHUNK_BYTES);
        let length = self.bytes.len();
        self.bytes.resize(length + chunk, 0);
        let read = rustix::io::read(pipe, &mut self.bytes[length..]);
        self.bytes.truncate(length + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => self.pipe = None,
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(0),
            Err(errno) => return Err(errno),
        }
        Ok(read.unwrap_or(0) as u64)
    }
}
