//! One direction of the conversation: one program writes and the other reads.

use super::mode::Mode;
use crate::failure::{JudgeFailure, Step};
use crate::pump::read_now;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Capacity of a pipe. Other judges for the same packages use this capacity, and it is larger than
/// Linux's default. If the kernel refuses it, the pipe keeps the default.
const PIPE_BYTES: usize = 1 << 20;

/// Maximum length of one move or discard.
const CHUNK_BYTES: usize = 64 * 1024;

/// A program that closes its output is considered alive if its end is not known after this time.
///
/// An exiting program closes its pipes one after another, its input last, shortly before its end is
/// known. Other programs can use its CPU in between. On a machine with three times as many programs
/// as CPUs, one exit in 1,000 took over 20 ms and one in 4,000 took 95 ms.
const LINGER_TIMEOUT: Duration = Duration::from_millis(200);

/// A new link, and the pipe ends for the programs.
pub(super) struct LinkEnds {
    pub reader: Arc<OwnedFd>,
    pub writer: Arc<OwnedFd>,
    pub link: Link,
}

/// One direction of the conversation.
///
/// No program dies of a broken pipe here. The link discards bytes that are written to a program
/// that has ended or has closed its input. That program could not have read them, and whether the
/// writer noticed would depend on its speed.
pub(super) enum Link {
    Direct(Direct),
    Relay(Relay),
}

/// A pipe between the programs. It does not break while the judge has both ends open.
pub(super) struct Direct {
    read: Arc<OwnedFd>,
    write: Option<Arc<OwnedFd>>,
    discards: bool,
}

/// Two pipes, with the judge between them.
pub(super) struct Relay {
    from: OwnedFd,
    /// `None` if the reader sees the end of its input.
    to: Option<OwnedFd>,
    /// A second read end of `to`, for the bytes that the reader has not read when `to` is
    /// closed.
    rest: Option<File>,
    /// Whether the reader has closed the pipe.
    discards: bool,
    /// Whether `to` is full and more bytes wait.
    no_room: bool,
    /// The time at which the write end was closed and all bytes had been moved.
    hung_up: Option<Instant>,
    /// Whether the writer's end is known.
    writer_is_gone: bool,
    /// Number of bytes that may still be written. `None` means no limit.
    left: Option<u64>,
    /// Whether the limit was exceeded.
    over: bool,
}

impl Link {
    /// Creates the pipes. `limit` is the number of bytes that may be written; a relay counts them.
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn make(mode: Mode, limit: Option<u64>) -> Result<LinkEnds, JudgeFailure> {
        let (read, write) = pipe()?;
        match mode {
            Mode::Direct => {
                let (reader, writer) = (Arc::new(read), Arc::new(write));
                let direct = Direct {
                    read: reader.clone(),
                    write: Some(writer.clone()),
                    discards: false,
                };
                Ok(LinkEnds {
                    reader,
                    writer,
                    link: Link::Direct(direct),
                })
            }
            Mode::Relay => {
                let (reader, to) = pipe()?;
                let relay = Relay {
                    from: read,
                    to: Some(to),
                    rest: None,
                    discards: false,
                    no_room: false,
                    hung_up: None,
                    writer_is_gone: false,
                    left: limit,
                    over: false,
                };
                Ok(LinkEnds {
                    reader: Arc::new(reader),
                    writer: Arc::new(write),
                    link: Link::Relay(relay),
                })
            }
        }
    }

    /// Lets the reader see the end of its input after the bytes that were written. The writer must
    /// have ended.
    pub fn close_writer(&mut self) {
        match self {
            Link::Direct(direct) => direct.write = None,
            Link::Relay(relay) => relay.writer_is_gone = true,
        }
    }

    /// Discards unread bytes as far as possible, so that the reader sees the end of its input after
    /// the bytes that it has read. The writer must have ended.
    pub fn discard_unread(&mut self) {
        match self {
            Link::Direct(direct) => drain(&direct.read),
            Link::Relay(relay) => {
                relay.discards = true;
                let rest = relay
                    .rest
                    .take()
                    .or_else(|| relay.to.as_ref().and_then(duplicate_reader));
                if let Some(rest) = rest {
                    drain(&rest);
                }
            }
        }
    }

    /// Discards everything that is written from now on. The reader must have ended.
    pub fn discard_output(&mut self) {
        match self {
            Link::Direct(direct) => direct.discards = true,
            Link::Relay(relay) => relay.discards = true,
        }
    }

    /// Moves or discards bytes without waiting.
    ///
    /// # Errors
    /// The kernel reports an error.
    pub fn advance(&mut self) -> Result<(), JudgeFailure> {
        let advanced = match self {
            Link::Direct(direct) if direct.discards => discard(&direct.read, u64::MAX).map(|_| ()),
            Link::Direct(_) => Ok(()),
            Link::Relay(relay) => relay.advance(),
        };
        advanced.map_err(|errno| JudgeFailure::step(Step::MoveMessages, errno))
    }

    /// Returns the descriptor and events to wait for before the next [`Link::advance`].
    pub fn poll_target(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        match self {
            Link::Direct(direct) if direct.discards && direct.write.is_some() => {
                Some((direct.read.as_fd(), PollFlags::IN))
            }
            Link::Direct(_) => None,
            Link::Relay(relay) => relay.poll_target(),
        }
    }

    /// Lets the reader see the end of its input if the writer has ended, or has closed its output
    /// and keeps running.
    ///
    /// A writer that keeps running still has its input open, which `other` delivers. `is_over`
    /// means that the writer's result has arrived. The writer has then ended, and the reader sees
    /// the end of its input when [`Link::close_writer`] is called.
    pub fn propagate_end(&mut self, other: &Link, is_over: bool) {
        let Link::Relay(relay) = self else { return };
        let keeps_running = || {
            relay
                .hung_up
                .is_some_and(|since| since.elapsed() >= LINGER_TIMEOUT)
                && other.has_reader()
        };
        let all_moved = relay.hung_up.is_some() || relay.over;
        if all_moved
            && (relay.writer_is_gone || (!is_over && keeps_running()))
            && let Some(to) = relay.to.take()
        {
            relay.rest = duplicate_reader(&to);
        }
    }

    /// Returns the time until [`Link::propagate_end`] can decide whether a writer that closed its
    /// output keeps running. `None` means that there is nothing to wait for.
    pub fn linger_timeout(&self) -> Option<Duration> {
        match self {
            Link::Relay(Relay {
                hung_up: Some(since),
                to: Some(_),
                ..
            }) => Some(
                LINGER_TIMEOUT
                    .checked_sub(since.elapsed())
                    .unwrap_or(LINGER_TIMEOUT),
            ),
            _ => None,
        }
    }

    /// Whether the limit was exceeded.
    pub fn is_over_limit(&self) -> bool {
        matches!(self, Link::Relay(Relay { over: true, .. }))
    }

    /// Whether the limit was exceeded, counting the bytes that have not been moved.
    pub fn is_over_limit_with_unmoved(&self) -> bool {
        match self {
            Link::Direct(_) => false,
            Link::Relay(relay) => {
                relay.over || relay.left.is_some_and(|left| waiting(&relay.from) > left)
            }
        }
    }

    /// Returns whether a program has the read end of `to` open.
    fn has_reader(&self) -> bool {
        let Link::Relay(Relay { to: Some(to), .. }) = self else {
            return true;
        };
        let mut ends = [PollFd::new(to, PollFlags::empty())];
        let _ = poll(
            &mut ends,
            Some(&Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            }),
        );
        !ends[0].revents().contains(PollFlags::ERR)
    }
}

impl Relay {
    fn advance(&mut self) -> rustix::io::Result<()> {
        self.no_room = false;
        if self.hung_up.is_some() || self.over {
            return Ok(());
        }
        let allowed = self
            .left
            .map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES as u64) as usize);
        if allowed == 0 {
            self.over = waiting(&self.from) > 0;
            if !self.over && is_closed(&self.from) {
                self.hung_up = Some(Instant::now());
            }
            return Ok(());
        }
        let moved = match &self.to {
            Some(to) if !self.discards => {
                splice(&self.from, None, to, None, allowed, SpliceFlags::NONBLOCK)
            }
            _ => {
                let discarded = discard(&self.from, allowed as u64)?;
                if discarded == 0 && !is_closed(&self.from) {
                    Err(Errno::AGAIN)
                } else {
                    Ok(discarded as usize)
                }
            }
        };
        match moved {
            Ok(0) => self.hung_up = Some(Instant::now()),
            Ok(bytes) => self.left = self.left.map(|left| left - bytes as u64),
            Err(Errno::AGAIN) => self.no_room = waiting(&self.from) > 0,
            Err(Errno::INTR) => {}
            Err(Errno::PIPE) => self.discards = true,
            Err(errno) => return Err(errno),
        }
        Ok(())
    }

    fn poll_target(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        // A pipe that has hung up is always ready.
        if self.hung_up.is_some() || self.over {
            return None;
        }
        match &self.to {
            Some(to) if self.no_room => Some((to.as_fd(), PollFlags::OUT)),
            _ => Some((self.from.as_fd(), PollFlags::IN)),
        }
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), JudgeFailure> {
    let failed = |errno| JudgeFailure::step(Step::CreatePipe, errno);
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
    let _ = fcntl_setpipe_size(&write, PIPE_BYTES);
    Ok((read, write))
}

/// Number of bytes in a pipe.
fn waiting(pipe: &OwnedFd) -> u64 {
    rustix::io::ioctl_fionread(pipe).unwrap_or(0)
}

/// Whether all write ends of a pipe are closed.
fn is_closed(read: &OwnedFd) -> bool {
    let mut ends = [PollFd::new(read, PollFlags::empty())];
    let _ = poll(
        &mut ends,
        Some(&Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        }),
    );
    ends[0].revents().contains(PollFlags::HUP)
}

/// Opens a second read end of a pipe. While the judge writes, only the program may have a
/// read end. Otherwise the judge would not notice when the program closes it.
fn duplicate_reader(write: &OwnedFd) -> Option<File> {
    File::open(format!("/proc/self/fd/{}", write.as_raw_fd())).ok()
}

/// Discards the whole content of a pipe at once. Another reader receives all bytes up to some
/// position and none after it.
fn drain(pipe: impl AsFd) {
    let Ok(null) = File::options().write(true).open("/dev/null") else {
        return;
    };
    while let Ok(1..) = splice(&pipe, None, &null, None, PIPE_BYTES, SpliceFlags::NONBLOCK) {}
}

/// Discards up to `most` bytes of a pipe without waiting, and returns their number.
fn discard(pipe: &OwnedFd, most: u64) -> rustix::io::Result<u64> {
    let wanted = waiting(pipe).min(most).min(CHUNK_BYTES as u64) as usize;
    if wanted == 0 {
        return Ok(0);
    }
    let mut buffer = vec![0; wanted];
    match read_now(pipe, &mut buffer) {
        // Another reader has read them.
        Err(Errno::AGAIN) => Ok(0),
        read => Ok(read? as u64),
    }
}
