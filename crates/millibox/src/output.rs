//! Moves a run's output from its pipe up to a limit.

use crate::Handle;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{SpliceFlags, splice};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of bytes that a run's streams may have together.
///
/// ```
/// use millibox::{Budget, Moved, Outcome, Request, Supervisor, move_output};
/// use std::os::fd::OwnedFd;
///
/// let Ok(supervisor) = Supervisor::start() else { return };
/// let (reader, writer) = std::io::pipe().unwrap();
/// let request = Request::new("/usr/bin/yes").stdout(OwnedFd::from(writer));
/// let run = supervisor.run(&request).unwrap();
/// drop(request); // it holds an end of the pipe
/// let sink = std::fs::File::options().write(true).open("/dev/null").unwrap();
/// let moved = move_output(reader, sink, &Budget::new(1000), &run).unwrap();
/// assert_eq!(moved, Moved::LimitReached);
/// assert_eq!(run.wait().unwrap().outcome, Outcome::OutputLimit);
/// ```
#[derive(Debug)]
pub struct Budget(AtomicU64);

impl Budget {
    /// Creates a budget of this number of bytes.
    pub fn new(bytes: u64) -> Budget {
        Budget(AtomicU64::new(bytes))
    }

    /// Takes up to `wanted` bytes from the budget. Returns the number of bytes taken.
    fn take(&self, wanted: u64) -> u64 {
        let before = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_sub(wanted))
            });
        before.unwrap_or(0).min(wanted)
    }

    fn give_back(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// How [`move_output`] ended; [`Budget`] has an example of [`Moved::LimitReached`].
///
/// ```
/// use millibox::{Budget, Moved, Request, Supervisor, move_output};
/// use std::os::fd::OwnedFd;
///
/// let Ok(supervisor) = Supervisor::start() else { return };
/// let (reader, writer) = std::io::pipe().unwrap();
/// let request = Request::new("/bin/echo").arg("hello").stdout(OwnedFd::from(writer));
/// let run = supervisor.run(&request).unwrap();
/// drop(request); // it holds an end of the pipe
/// let sink = std::fs::File::options().write(true).open("/dev/null").unwrap();
/// assert_eq!(move_output(reader, sink, &Budget::new(1000), &run).unwrap(), Moved::All);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Moved {
    /// The writer has closed its end, and all bytes that it wrote have been moved.
    All,
    /// The budget was used up, and the run is being ended.
    LimitReached,
}

/// Moves a run's output from the pipe or stream socket `from` to `to`, with splice(2) where
/// possible. Stops when the run has closed its end or `budget` is used up. In the second case the
/// run is ended with [`Outcome::OutputLimit`](crate::Outcome::OutputLimit).
///
/// The bytes written never exceed the budget. If `to` accepts no more bytes, because its reader has
/// closed it or an error occurs, this function returns, and the run sees a closed pipe. `from` is
/// passed by value because a copy in the caller would keep the pipe open. [`Moved`] has an example.
///
/// # Errors
/// `to` cannot be written for a reason other than a reader that has closed it.
pub fn move_output(
    from: impl AsFd,
    to: impl AsFd,
    budget: &Budget,
    run: &Handle,
) -> std::io::Result<Moved> {
    const CHUNK_BYTES: u64 = 64 * 1024;
    let mut by_splice = true;
    let mut buffer = Vec::new();
    loop {
        // Take from the budget only as many bytes as are available. If this stream reserved more
        // while it waits, the other stream could find the budget used up although bytes remain.
        let available = match wait_for_bytes(&from) {
            Ok(available) => available,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        };
        if available == 0 {
            return Ok(Moved::All);
        }
        let allowed = budget.take(available.min(CHUNK_BYTES));
        if allowed == 0 {
            run.kill_for_output();
            return Ok(Moved::LimitReached);
        }
        let moved = if by_splice {
            splice(
                &from,
                None,
                &to,
                None,
                allowed as usize,
                SpliceFlags::empty(),
            )
        } else {
            copy(&from, &to, &mut buffer, allowed as usize)
        };
        match moved {
            Ok(0) => return Ok(Moved::All),
            Ok(bytes) => budget.give_back(allowed - bytes as u64),
            Err(errno) => {
                budget.give_back(allowed);
                match errno {
                    Errno::INTR => {}
                    // splice(2) cannot write to a terminal or to a file opened for appending.
                    Errno::INVAL if by_splice => by_splice = false,
                    Errno::PIPE => return Ok(Moved::All),
                    // Another process has made the terminal or pipe non-blocking.
                    Errno::AGAIN => {
                        let mut ready = [PollFd::new(&to, PollFlags::OUT)];
                        let _ = poll(&mut ready, None);
                    }
                    errno => return Err(errno.into()),
                }
            }
        }
    }
}

/// Waits for bytes and returns their number, or 0 at the end of the stream.
///
/// A pipe whose other end is closed reports POLLHUP alone. A socket and a regular file report
/// POLLIN at their end (poll(2)).
fn wait_for_bytes(from: impl AsFd) -> rustix::io::Result<u64> {
    poll(&mut [PollFd::new(&from, PollFlags::IN)], None)?;
    rustix::io::ioctl_fionread(&from)
}

fn copy(
    from: impl AsFd,
    to: impl AsFd,
    buffer: &mut Vec<u8>,
    allowed: usize,
) -> rustix::io::Result<usize> {
    buffer.resize(allowed, 0);
    let read = rustix::io::read(from, &mut buffer[..])?;
    let mut written = 0;
    while written < read {
        match rustix::io::write(&to, &buffer[written..read]) {
            Ok(bytes) => written += bytes,
            Err(Errno::INTR) => {}
            // The bytes that were read must be written here; otherwise they are lost.
            Err(Errno::AGAIN) => {
                let mut ready = [PollFd::new(&to, PollFlags::OUT)];
                let _ = poll(&mut ready, None);
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(read)
}
