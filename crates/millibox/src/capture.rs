//! Runs with input from memory and captured output.

use crate::{Error, Handle, Outcome, Request, RunResult, Supervisor};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::OwnedFd;

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
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(Error::system("create a pipe"));
        let ((stdout, write_stdout), (stderr, write_stderr)) = (pipe()?, pipe()?);
        let request = request.clone().stdout(write_stdout).stderr(write_stderr);
        let handle = self.run(&request)?;
        // The request keeps the write ends of the pipes open, and while they are open, the pipes do
        // not end.
        drop(request);
        let mut streams = [Stream::new(stdout), Stream::new(stderr)];
        let truncated = read_all(&mut streams, max_bytes, &handle)?;
        let [stdout, stderr] = streams.map(|stream| stream.bytes);
        Ok(Output {
            result: handle.wait()?,
            stdout,
            stderr,
            truncated,
        })
    }
}

struct Stream {
    /// `None` after the end of the stream.
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
}

impl Stream {
    fn new(pipe: OwnedFd) -> Stream {
        Stream {
            pipe: Some(pipe),
            bytes: Vec::new(),
        }
    }

    /// Reads the available bytes, at most `max_bytes`.
    fn read(&mut self, max_bytes: u64) -> rustix::io::Result<()> {
        let Some(pipe) = &self.pipe else {
            return Ok(());
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
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        Ok(())
    }
}

/// Reads both streams until they end or together have `max_bytes` bytes. In the second case, ends
/// the run. Returns whether the run was ended.
fn read_all(streams: &mut [Stream; 2], max_bytes: u64, handle: &Handle) -> Result<bool, Error> {
    let failed = Error::system("read the output of the program");
    loop {
        let read: u64 = streams.iter().map(|stream| stream.bytes.len() as u64).sum();
        let ready: Vec<usize> = {
            let open: Vec<(usize, &OwnedFd)> = streams
                .iter()
                .enumerate()
                .filter_map(|(index, stream)| Some((index, stream.pipe.as_ref()?)))
                .collect();
            if open.is_empty() {
                return Ok(false);
            }
            let mut polled: Vec<PollFd> = open
                .iter()
                .map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN))
                .collect();
            match poll(&mut polled, None) {
                Err(Errno::INTR) => continue,
                polled => polled.map_err(&failed)?,
            };
            let is_ready = polled.iter().map(|polled| !polled.revents().is_empty());
            open.iter()
                .zip(is_ready)
                .filter(|(_, ready)| *ready)
                .map(|((index, _), _)| *index)
                .collect()
        };
        for index in ready {
            let left = max_bytes
                .saturating_sub(streams.iter().map(|stream| stream.bytes.len() as u64).sum());
            if left > 0 {
                streams[index].read(left).map_err(&failed)?;
                continue;
            }
            // One more byte distinguishes output beyond the limit from the end of the stream.
            let before = streams[index].bytes.len();
            streams[index].read(1).map_err(&failed)?;
            if streams[index].bytes.len() > before {
                streams[index].bytes.truncate(before);
                handle.kill_for_output();
                return Ok(true);
            }
        }
        debug_assert!(read <= max_bytes);
    }
}
