//! Sends frames. A frame waits while the supervisor has no place for its run or the socket is full.

use super::{Connection, State};
use millibox_wire::frame::{HEADER, Header, Kind, MAX_DESCRIPTORS, MAX_INLINE};
use millibox_wire::{Outcome, RunError, Step};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// A frame and the descriptors that are sent with it.
pub(super) struct Outgoing {
    pub(super) id: u64,
    /// The number of runs that the frame requests. Their ids are consecutive.
    pub(super) runs: usize,
    /// Header and body.
    pub(super) frame: Vec<u8>,
    /// Whether the body is sent in a memfd. The memfd is created when the frame is sent, so that
    /// waiting frames keep no descriptors open.
    pub(super) in_memfd: bool,
    pub(super) descriptors: Vec<Arc<OwnedFd>>,
}

impl Outgoing {
    /// The ids of the requested runs.
    pub(super) fn ids(&self) -> Range<u64> {
        self.id..self.id + self.runs as u64
    }
}

impl Connection {
    /// Sends all frames that can be sent.
    pub(super) fn flush(&self, state: &mut State) {
        state.crowded = false;
        while let Some(next) = state.urgent.front() {
            match self.send(next, state.in_flight > 0) {
                Ok(Sent::Yes) => state.urgent.pop_front(),
                Ok(refused) => {
                    state.crowded = refused == Sent::Crowded;
                    return;
                }
                Err(_) => return self.take(state, Err(Errno::PIPE)),
            };
        }
        while has_credit(state)
            && let Some(next) = state.waiting.front()
        {
            match self.send(next, state.in_flight > 0) {
                Ok(Sent::Yes) => {
                    let Some(sent) = state.waiting.pop_front() else {
                        return;
                    };
                    for id in sent.ids() {
                        if let Some(entry) = state.entries.get_mut(&id) {
                            entry.sent = true;
                        }
                    }
                    state.in_flight += sent.runs;
                }
                Ok(refused) => {
                    state.crowded = refused == Sent::Crowded;
                    return;
                }
                Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => {
                    // Results that arrived before the end must be read first.
                    self.read_available(state);
                    return;
                }
                Err(errno) => {
                    // Only this frame cannot be sent, for example because of its descriptors.
                    let Some(refused) = state.waiting.pop_front() else {
                        return;
                    };
                    let error = RunError::new(Step::Send).with_errno(errno.raw_os_error());
                    self.settle_unsent(state, &refused, refused.id, Outcome::SandboxError(error));
                }
            }
        }
    }

    /// Sends one frame. `others` states whether other runs are unfinished, which may free
    /// descriptors when they end.
    fn send(&self, outgoing: &Outgoing, others: bool) -> Result<Sent, Errno> {
        let (header, body) = outgoing.frame.split_at(HEADER);
        let memfd = loop {
            match outgoing.in_memfd.then(|| sealed_memfd(body)).transpose() {
                Ok(memfd) => break memfd,
                Err(Errno::MFILE) if raise_open_files() => {}
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) if others => {
                    return Ok(Sent::Crowded);
                }
                Err(errno) => return Err(errno),
            }
        };
        let bytes = if outgoing.in_memfd {
            header
        } else {
            &outgoing.frame
        };
        let given = outgoing.descriptors.iter().map(|fd| fd.as_fd());
        let borrowed: Vec<BorrowedFd> = memfd.iter().map(|fd| fd.as_fd()).chain(given).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !borrowed.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&borrowed));
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        loop {
            match sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut control, flags) {
                Ok(_) => return Ok(Sent::Yes),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(Sent::Full),
                // This user has more descriptors in transit than this process may have open
                // (unix(7)). The runs belong to the same user and may have as many descriptors in
                // transit as half of the hard limit, which is more than the usual soft limit.
                Err(Errno::TOOMANYREFS) if raise_open_files() => {}
                Err(Errno::NOBUFS | Errno::TOOMANYREFS) => return Ok(Sent::Crowded),
                Err(errno) => return Err(errno),
            }
        }
    }
}

/// The result of sending a frame.
#[derive(PartialEq, Eq)]
enum Sent {
    Yes,
    /// The socket is full.
    Full,
    /// The kernel lacks memory or descriptors.
    Crowded,
}

/// Raises the soft limit on open files to the hard limit. Returns whether it was lower.
pub(super) fn raise_open_files() -> bool {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let lower = current.is_some_and(|current| maximum.is_none_or(|maximum| current < maximum));
    lower
        && setrlimit(
            Resource::Nofile,
            Rlimit {
                current: maximum,
                maximum,
            },
        )
        .is_ok()
}

/// Whether the supervisor has places for the runs of the next frame.
pub(super) fn has_credit(state: &State) -> bool {
    state
        .waiting
        .front()
        .is_some_and(|next| state.in_flight + next.runs <= state.credits)
}

pub(super) fn outgoing(
    kind: Kind,
    id: u64,
    body: &[u8],
    descriptors: Vec<Arc<OwnedFd>>,
) -> Outgoing {
    let in_memfd = body.len() > MAX_INLINE - HEADER;
    let mut frame = Header { kind, in_memfd, id }.encode().to_vec();
    frame.extend_from_slice(body);
    Outgoing {
        id,
        runs: 0,
        frame,
        in_memfd,
        descriptors,
    }
}

fn sealed_memfd(body: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memfd = rustix::fs::memfd_create("millibox-request", flags)?;
    let mut written = 0;
    while written < body.len() {
        written += rustix::io::pwrite(&memfd, &body[written..], written as u64)?;
    }
    rustix::fs::fcntl_add_seals(
        &memfd,
        SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW,
    )?;
    Ok(memfd)
}
