//! Reads the frames of the supervisor and handles the end of the connection.

use super::dispatcher::sleep;
use super::{Connection, END_REASON_TIMEOUT, Entry, State, over_output};
use crate::convert::fault_of_decoding;
use crate::{EndReason, FrameFault};
use millibox_wire::frame::{Header, Kind, MAX_INLINE};
use millibox_wire::{Hello, RunResult, SupervisorError, decode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown, recv};
use std::os::fd::OwnedFd;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

/// Reads the directories of the supervisor's cgroups from its greeting, which stays in the socket.
/// The list is empty if no greeting arrives within this time.
pub fn peek_cgroups(socket: &OwnedFd, timeout: Duration) -> Vec<String> {
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&left)) {
            Err(Errno::INTR) => {}
            Ok(1) => break,
            _ => return Vec::new(),
        }
    }
    let mut frame = Vec::with_capacity(MAX_INLINE);
    let buffer = rustix::buffer::spare_capacity(&mut frame);
    if recv(socket, buffer, RecvFlags::PEEK | RecvFlags::DONTWAIT).is_err() {
        return Vec::new();
    }
    match Header::decode(&frame) {
        Ok((header, body)) if header.kind == Kind::Hello => decode::<Hello>(body)
            .map(|hello| hello.cgroups)
            .unwrap_or_default()
            .iter()
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect(),
        _ => Vec::new(),
    }
}

impl Connection {
    /// Receives one frame. Returns `Ok(None)` after the timeout, and an error if the supervisor has
    /// ended.
    pub(super) fn receive(&self, timeout: Option<Duration>) -> Result<Option<Vec<u8>>, Errno> {
        let flags = match timeout {
            None => RecvFlags::empty(),
            Some(timeout) => {
                let mut ready = [PollFd::new(&self.socket, PollFlags::IN)];
                let timeout = Timespec::try_from(timeout).unwrap_or(Timespec {
                    tv_sec: i64::MAX / 2,
                    tv_nsec: 0,
                });
                match poll(&mut ready, Some(&timeout)) {
                    Ok(0) | Err(Errno::INTR) => return Ok(None),
                    Ok(_) => RecvFlags::DONTWAIT,
                    Err(errno) => return Err(errno),
                }
            }
        };
        self.receive_now(flags)
    }

    /// Receives one frame. The error is `MSGSIZE` if it is longer than a frame may be; the rest is
    /// lost.
    pub(super) fn receive_now(&self, flags: RecvFlags) -> Result<Option<Vec<u8>>, Errno> {
        let mut frame = Vec::with_capacity(MAX_INLINE);
        loop {
            match recv(
                &self.socket,
                rustix::buffer::spare_capacity(&mut frame),
                flags | RecvFlags::TRUNC,
            ) {
                Ok((_, 0)) => return Err(Errno::PIPE),
                Ok((kept, length)) if kept < length => return Err(Errno::MSGSIZE),
                Ok(_) => return Ok(Some(frame)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(errno) => return Err(errno),
            }
        }
    }

    pub(super) fn read_available(&self, state: &mut State) {
        loop {
            let frame = self.receive_now(RecvFlags::DONTWAIT);
            let done = !matches!(frame, Ok(Some(_)));
            self.take(state, frame);
            if done {
                return;
            }
        }
    }

    pub(super) fn take(&self, state: &mut State, frame: Result<Option<Vec<u8>>, Errno>) {
        match frame {
            Ok(None) => {}
            Ok(Some(frame)) => match answer(&frame) {
                Ok(Answer::Result(id, result)) => {
                    if id != 0 {
                        state.in_flight = state.in_flight.saturating_sub(1);
                        self.settle(state, id, *result);
                    }
                    self.flush(state);
                }
                Ok(Answer::Failure(error)) => state.reported = Some(error),
                Err(fault) => self.misunderstood(state, fault),
            },
            Err(Errno::MSGSIZE) => {
                let max_bytes = MAX_INLINE;
                self.misunderstood(state, FrameFault::TooLong { max_bytes })
            }
            Err(_) => self.find_out_why(state),
        }
    }

    /// Records the end of the connection and finds out the reason. The supervisor's keeper may take
    /// several seconds to report the reason, so another thread waits for it.
    fn find_out_why(&self, state: &mut State) {
        if state.ended {
            return;
        }
        state.ended = true;
        let this = self.this.clone();
        let found_out = std::thread::Builder::new()
            .name("millibox".to_owned())
            .spawn(move || {
                let Some(connection) = this.upgrade() else {
                    return;
                };
                let why = (connection.end_reason)();
                let mut state = connection.lock();
                if state.died.is_none() {
                    connection.died(&mut state, why);
                }
            });
        if found_out.is_err() {
            let why = (self.end_reason)();
            self.died(state, why);
        }
    }

    /// Waits briefly for the reason that [`Connection::find_out_why`] finds.
    pub(super) fn explained<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let deadline = Instant::now() + END_REASON_TIMEOUT;
        while state.ended && state.died.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            // No run has the id 0, but the end of the connection wakes all sleeping threads.
            state = sleep(state, 0, Some(left));
        }
        state
    }

    /// Ends the connection because of an unreadable answer, whose run would otherwise never end.
    fn misunderstood(&self, state: &mut State, fault: FrameFault) {
        if state.died.is_none() {
            let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
            self.died(state, EndReason::Unreadable(fault));
        }
    }

    /// Stores a result for its handle.
    pub(super) fn settle(&self, state: &mut State, id: u64, mut result: RunResult) {
        let Some(entry) = state.entries.get_mut(&id) else {
            return;
        };
        let by_file = entry.output_limited && result.signal == Some(libc::SIGXFSZ);
        if by_file || entry.output_exceeded {
            over_output(&mut result);
        }
        if entry.is_polled() {
            entry.announce();
            state.polled = state.polled.saturating_sub(1);
        }
        if entry.abandoned {
            state.entries.remove(&id);
            state.abandoned = state.abandoned.saturating_sub(1);
        } else {
            entry.result = Some(result);
        }
        for sleeper in state.sleepers.iter().filter(|sleeper| sleeper.id == id) {
            sleeper.wake.notify_one();
        }
    }

    pub(super) fn died(&self, state: &mut State, reason: EndReason) {
        state.ended = true;
        state.waiting.clear();
        state.urgent.clear();
        // Results that arrived before the end are valid, and can be read even after it.
        loop {
            match self.receive_now(RecvFlags::DONTWAIT) {
                Ok(Some(frame)) => match answer(&frame) {
                    Ok(Answer::Result(id, result)) => self.settle(state, id, *result),
                    Ok(Answer::Failure(error)) => state.reported = Some(error),
                    Err(_) => {}
                },
                // The kernel reports these errors once, before the remaining frames.
                Err(Errno::CONNRESET | Errno::MSGSIZE) => {}
                _ => break,
            }
        }
        state.died = Some(match (reason, state.reported.take()) {
            (EndReason::ClosedHere, _) => EndReason::ClosedHere,
            (_, Some(error)) => EndReason::Failed(error),
            (reason, None) => reason,
        });
        (state.in_flight, state.abandoned, state.polled) = (0, 0, 0);
        state.entries.retain(|_, entry| !entry.abandoned);
        state.entries.values_mut().for_each(Entry::announce);
        for sleeper in &state.sleepers {
            sleeper.wake.notify_one();
        }
        self.unread.notify_one();
    }
}

/// A frame of the supervisor.
enum Answer {
    /// The result of the run with this id.
    Result(u64, Box<RunResult>),
    /// The supervisor is about to end.
    Failure(SupervisorError),
}

/// Decodes a frame.
fn answer(frame: &[u8]) -> Result<Answer, FrameFault> {
    let (header, body) = Header::decode(frame).map_err(|(_, error)| fault_of_decoding(error))?;
    match header.kind {
        Kind::Result if !header.in_memfd => {
            decode(body).map(|result| Answer::Result(header.id, Box::new(result)))
        }
        Kind::Failure if !header.in_memfd => decode(body).map(Answer::Failure),
        kind => return Err(FrameFault::UnexpectedKind(kind as u32)),
    }
    .map_err(fault_of_decoding)
}
