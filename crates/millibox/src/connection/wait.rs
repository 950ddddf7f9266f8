//! Waits for results and polls for them.

use super::dispatcher::sleep;
use super::{Connection, Entry, State, look};
use crate::Error;
use crate::connection::send::raise_open_files;
use millibox_wire::RunResult;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

impl Connection {
    /// The result, if it has arrived.
    pub fn result(&self, id: u64) -> Option<Result<RunResult, Error>> {
        let Some(mut state) = self.owned() else {
            return Some(Err(Connection::elsewhere()));
        };
        if !state.reader && state.died.is_none() {
            // No thread reads, so results may still be in the socket.
            self.read_available(&mut state);
        }
        look(&state, id)
    }

    /// Waits for a result. Returns `None` after the timeout.
    pub fn wait(&self, id: u64, timeout: Option<Duration>) -> Result<Option<RunResult>, Error> {
        let mut state = self.owned().ok_or_else(Connection::elsewhere)?;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let answer = loop {
            if let Some(answer) = look(&state, id) {
                break answer.map(Some);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                if !state.reader && state.died.is_none() {
                    // Even if the timeout is zero, return a result that has arrived.
                    self.read_available(&mut state);
                }
                break look(&state, id).transpose();
            }
            if state.reader || state.ended {
                state = sleep(state, id, left);
                continue;
            }
            state.reader = true;
            drop(state);
            let frame = self.receive(left);
            state = self.lock();
            state.reader = false;
            self.take(&mut state, frame);
        };
        self.pass_reading_on(&state);
        answer
    }

    /// Wakes the next reader. A thread that stops waiting may have been the reader or the next
    /// reader. Without a reader the sleeping threads would never wake up.
    pub(super) fn pass_reading_on(&self, state: &State) {
        if state.reader || state.ended {
            return;
        }
        if state.dispatcher && state.needs_dispatcher() {
            self.unread.notify_one();
        } else if let Some(sleeper) = state.sleepers.last() {
            sleeper.wake.notify_one();
        }
    }

    /// Returns a descriptor that becomes readable when the result arrives.
    pub fn event(self: &Arc<Self>, id: u64) -> Result<Arc<OwnedFd>, Error> {
        let mut state = self.owned().ok_or_else(Connection::elsewhere)?;
        let ready = look(&state, id).is_some();
        if let Some(Entry {
            event: Some(event), ..
        }) = state.entries.get(&id)
        {
            return Ok(event.clone());
        }
        if !ready && !state.ended {
            // The caller may do nothing except poll, so a thread must read and make the descriptor
            // readable.
            let what = "start a thread that reads while a handle is polled";
            self.need_dispatcher(&mut state)
                .map_err(|error| Error::System { what, error })?;
        }
        let event = loop {
            match eventfd(
                u32::from(ready),
                EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
            ) {
                Ok(event) => break Arc::new(event),
                Err(Errno::MFILE) if raise_open_files() => {}
                Err(errno) => return Err(Error::system("make an eventfd")(errno)),
            }
        };
        if let Some(entry) = state.entries.get_mut(&id) {
            let is_new = !ready && !entry.is_polled();
            entry.event = Some(event.clone());
            state.polled += usize::from(is_new);
        }
        Ok(event)
    }

    /// Returns the result, or `None` if it has not arrived. In that case the result wakes `waker`.
    pub fn poll(self: &Arc<Self>, id: u64, waker: &Waker) -> Result<Option<RunResult>, Error> {
        let mut state = self.owned().ok_or_else(Connection::elsewhere)?;
        if let Some(answer) = look(&state, id) {
            return answer.map(Some);
        }
        if !state.ended {
            let what = "start a thread that reads while a handle is awaited";
            self.need_dispatcher(&mut state)
                .map_err(|error| Error::System { what, error })?;
        }
        let Some(entry) = state.entries.get_mut(&id) else {
            return Ok(None);
        };
        let is_new = !entry.is_polled();
        entry.waker = Some(waker.clone());
        state.polled += usize::from(is_new);
        Ok(None)
    }
}
