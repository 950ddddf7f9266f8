//! One direction of the conversation: what one program writes and the other reads.

use super::Mode;
use crate::batch::JudgeFailure;
use crate::pump::read_now;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes that wait in a pipe until they are read, as other judges of the same packages have it:
/// more than Linux gives unasked. Where it cannot be had, less has to do.
const PIPE_BYTES: usize = 1 << 20;

/// Bytes that are moved or thrown away at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// How long a program whose output hangs up may take to be gone, before it is thought to live on.
///
/// Its pipes are closed one after another as it exits, shortly before its end is known, its input last; in between
/// it can lose its CPU to others. On a machine with three times as much to do as it has CPUs one of 1,000 was away
/// for over 20 ms, one of 4,000 for 95.
const LINGER_TIMEOUT: Duration = Duration::from_millis(200);

/// A new link, with the ends that go to the programs.
pub(super) struct LinkEnds {
    pub reader: Arc<OwnedFd>,
    pub writer: Arc<OwnedFd>,
    pub link: Link,
}

/// See the module.
///
/// Nobody dies of a broken pipe here: what is written to a program that is gone, or that has
/// closed its input, is thrown away. It could not have been read, and whether the writer learns
/// of that would be a matter of its speed.
pub(super) enum Link {
    Direct(Direct),
    Relay(Relay),
}

/// A pipe between the programs. While we have both ends nobody sees it break.
pub(super) struct Direct {
    read: Arc<OwnedFd>,
    write: Option<Arc<OwnedFd>>,
    discards: bool,
}

/// Two pipes, and we between them.
pub(super) struct Relay {
    from: OwnedFd,
    /// `None`: the reader sees the end.
    to: Option<OwnedFd>,
    /// Then, what it has not read yet.
    rest: Option<File>,
    /// Nobody reads.
    discards: bool,
    /// There is more than `to` has room for.
    no_room: bool,
    /// When everything had been moved and the writing end was closed.
    hung_up: Option<Instant>,
    /// The writer's end is known.
    writer_is_gone: bool,
    /// Bytes that may still be written; `None`: any number.
    left: Option<u64>,
    /// More than that were written.
    over: bool,
}

impl Link {
    /// Makes the pipes. `limit`: bytes that may be written, if they are counted.
    ///
    /// # Errors
    /// There are no descriptors left.
    pub fn make(mode: Mode, limit: Option<u64>) -> Result<LinkEnds, JudgeFailure> {
        let (read, write) = pipe()?;
        match mode {
            Mode::Direct => {
                let (reader, writer) = (Arc::new(read), Arc::new(write));
                let direct = Direct { read: reader.clone(), write: Some(writer.clone()), discards: false };
                Ok(LinkEnds { reader, writer, link: Link::Direct(direct) })
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
                Ok(LinkEnds { reader: Arc::new(reader), writer: Arc::new(write), link: Link::Relay(relay) })
            }
        }
    }

    /// The writer's end is known: the reader is to see the end after what was written.
    pub fn close_writer(&mut self) {
        match self {
            Link::Direct(direct) => direct.write = None,
            Link::Relay(relay) => relay.writer_is_gone = true,
        }
    }

    /// Throws away what was written and has not been read, as well as can be: the reader is to see the end after
    /// what it has. The writer has ended.
    pub fn discard_unread(&mut self) {
        match self {
            Link::Direct(direct) => drain(&direct.read),
            Link::Relay(relay) => {
                relay.discards = true;
                let rest = relay.rest.take().or_else(|| relay.to.as_ref().and_then(duplicate_reader));
                if let Some(rest) = rest {
                    drain(&rest);
                }
            }
        }
    }

    /// The reader's end is known: what is written from now on is thrown away.
    pub fn discard_output(&mut self) {
        match self {
            Link::Direct(direct) => direct.discards = true,
            Link::Relay(relay) => relay.discards = true,
        }
    }

    /// Moves or throws away what can be at the moment.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn advance(&mut self) -> Result<(), JudgeFailure> {
        let went = match self {
            Link::Direct(direct) if direct.discards => discard(&direct.read, u64::MAX).map(|_| ()),
            Link::Direct(_) => Ok(()),
            Link::Relay(relay) => relay.advance(),
        };
        went.map_err(|errno| JudgeFailure::new("move what the programs say to each other", &errno))
    }

    /// What to wait for before it can go on.
    pub fn poll_target(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        match self {
            Link::Direct(direct) if direct.discards && direct.write.is_some() => {
                Some((direct.read.as_fd(), PollFlags::IN))
            }
            Link::Direct(_) => None,
            Link::Relay(relay) => relay.poll_target(),
        }
    }

    /// Shows the reader the end, if the writer is gone, or has closed its output and lives on:
    /// then it still has its input, which `other` brings it. `is_over`: the writer's result has
    /// come; then it does not live on, and [`Link::writer_is_gone`] is when the reader may know.
    pub fn propagate_end(&mut self, other: &Link, is_over: bool) {
        let Link::Relay(relay) = self else { return };
        let lives_on = || relay.hung_up.is_some_and(|since| since.elapsed() >= LINGER_TIMEOUT) && other.has_reader();
        let all_moved = relay.hung_up.is_some() || relay.over;
        if all_moved
            && (relay.writer_is_gone || (!is_over && lives_on()))
            && let Some(to) = relay.to.take()
        {
            relay.rest = duplicate_reader(&to);
        }
    }

    /// When to look again whether a writer lives on that has closed its output, if that is not known yet.
    pub fn linger_timeout(&self) -> Option<Duration> {
        match self {
            Link::Relay(Relay { hung_up: Some(since), to: Some(_), .. }) => {
                Some(LINGER_TIMEOUT.checked_sub(since.elapsed()).unwrap_or(LINGER_TIMEOUT))
            }
            _ => None,
        }
    }

    /// More was written than may be.
    pub fn is_over_limit(&self) -> bool {
        matches!(self, Link::Relay(Relay { over: true, .. }))
    }

    /// The same, with what has not been moved.
    pub fn is_over_limit_with_unmoved(&self) -> bool {
        match self {
            Link::Direct(_) => false,
            Link::Relay(relay) => relay.over || relay.left.is_some_and(|left| waiting(&relay.from) > left),
        }
    }

    /// Whether somebody has the reading end of what we write to.
    fn has_reader(&self) -> bool {
        let Link::Relay(Relay { to: Some(to), .. }) = self else { return true };
        let mut ends = [PollFd::new(to, PollFlags::empty())];
        let _ = poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        !ends[0].revents().contains(PollFlags::ERR)
    }
}

impl Relay {
    fn advance(&mut self) -> rustix::io::Result<()> {
        self.no_room = false;
        if self.hung_up.is_some() || self.over {
            return Ok(());
        }
        let allowed = self.left.map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES as u64) as usize);
        if allowed == 0 {
            self.over = waiting(&self.from) > 0;
            if !self.over && is_closed(&self.from) {
                self.hung_up = Some(Instant::now());
            }
            return Ok(());
        }
        let moved = match &self.to {
            Some(to) if !self.discards => splice(&self.from, None, to, None, allowed, SpliceFlags::NONBLOCK),
            _ => {
                let discarded = discard(&self.from, allowed as u64)?;
                if discarded == 0 && !is_closed(&self.from) { Err(Errno::AGAIN) } else { Ok(discarded as usize) }
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
        // A pipe that has hung up is ready for ever.
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
    let failed = |errno| JudgeFailure::new("make a pipe between the programs", &errno);
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
    let _ = fcntl_setpipe_size(&write, PIPE_BYTES);
    Ok((read, write))
}

/// Bytes in a pipe.
fn waiting(pipe: &OwnedFd) -> u64 {
    rustix::io::ioctl_fionread(pipe).unwrap_or(0)
}

/// Whether nobody can write into a pipe any more.
fn is_closed(read: &OwnedFd) -> bool {
    let mut ends = [PollFd::new(read, PollFlags::empty())];
    let _ = poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    ends[0].revents().contains(PollFlags::HUP)
}

/// Another reading end of a pipe. The first is the program's alone while we write, so that we see it go.
fn duplicate_reader(write: &OwnedFd) -> Option<File> {
    File::open(format!("/proc/self/fd/{}", write.as_raw_fd())).ok()
}

/// Throws away all that is in a pipe, at once: whoever reads it too has all before some byte, and nothing after it.
fn drain(pipe: impl AsFd) {
    let Ok(null) = File::options().write(true).open("/dev/null") else { return };
    while let Ok(1..) = splice(&pipe, None, &null, None, PIPE_BYTES, SpliceFlags::NONBLOCK) {}
}

/// Throws away up to `most` of what is in a pipe now, without waiting; how much it was. Nobody else reads it.
fn discard(pipe: &OwnedFd, most: u64) -> rustix::io::Result<u64> {
    let wanted = waiting(pipe).min(most).min(CHUNK_BYTES as u64) as usize;
    if wanted == 0 {
        return Ok(0);
    }
    let mut buffer = vec![0; wanted];
    match read_now(pipe, &mut buffer) {
        // Somebody else has taken it.
        Err(Errno::AGAIN) => Ok(0),
        read => Ok(read? as u64),
    }
}
