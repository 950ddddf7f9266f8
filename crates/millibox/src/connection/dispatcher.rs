//! The thread that reads and sends while no caller waits.

use super::{Connection, Sleeper, State};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::{Arc, Condvar, MutexGuard};
use std::time::Duration;

/// The maximum time that the dispatcher rests. It is short because the last handle of the
/// connection may be dropped in the meantime.
const MAX_REST: Duration = Duration::from_millis(100);
/// The number of consecutive rests without work after which the dispatcher ends.
const MAX_IDLE_RESTS: u32 = 10;
/// The interval at which frames that the kernel refused are sent again.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

impl Connection {
    /// Ensures that the dispatcher is running. An error may delay results but loses none, because
    /// the waiting threads still read.
    pub(super) fn need_dispatcher(
        self: &Arc<Self>,
        state: &mut State,
    ) -> Result<(), std::io::Error> {
        if state.dispatcher {
            if !state.reader || state.unsent() {
                self.unread.notify_one();
            }
            return Ok(());
        }
        let weak = Arc::downgrade(self);
        let started = std::thread::Builder::new()
            .name("millibox".to_owned())
            .spawn(move || {
                let mut rests = 0;
                while let Some(connection) = weak.upgrade() {
                    if !connection.dispatch(&mut rests) {
                        return;
                    }
                }
            });
        state.dispatcher = started.is_ok();
        started.map(drop)
    }

    /// Runs one iteration of the dispatcher's loop. Returns false if the loop must end. `rests`
    /// counts the idle iterations.
    fn dispatch(&self, rests: &mut u32) -> bool {
        let mut state = self.lock();
        if state.ended {
            return false;
        }
        if state.reader || !state.needs_dispatcher() {
            // A waiting thread is reading and notifies the dispatcher when it stops, or a waiting
            // thread can become the reader. That saves a switch to the dispatcher for each result.
            self.pass_reading_on(&state);
            let time = if state.unsent() {
                RETRY_INTERVAL
            } else {
                MAX_REST
            };
            let (mut state, waited) = match self.unread.wait_timeout(state, time) {
                Ok(pair) => pair,
                Err(poisoned) => poisoned.into_inner(),
            };
            self.flush(&mut state);
            *rests = if waited.timed_out() && !state.needs_dispatcher() {
                *rests + 1
            } else {
                0
            };
            state.dispatcher = *rests < MAX_IDLE_RESTS;
            return state.dispatcher && !state.ended;
        }
        state.reader = true;
        let mut events = PollFlags::IN;
        let mut patience = MAX_REST;
        if state.crowded {
            patience = RETRY_INTERVAL;
        } else if state.unsent() {
            events |= PollFlags::OUT;
        }
        drop(state);
        let mut ready = [PollFd::new(&self.socket, events)];
        let patience = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(patience.subsec_nanos()),
        };
        let _ = poll(&mut ready, Some(&patience));
        let mut state = self.lock();
        state.reader = false;
        self.read_available(&mut state);
        self.flush(&mut state);
        !state.ended
    }
}

/// Sleeps until the run has a result, the thread can become the reader, or the time has passed.
pub(super) fn sleep<'a>(
    mut state: MutexGuard<'a, State>,
    id: u64,
    time: Option<Duration>,
) -> MutexGuard<'a, State> {
    let wake = Arc::new(Condvar::new());
    state.sleepers.push(Sleeper {
        id,
        wake: wake.clone(),
    });
    let mut state = match time {
        Some(time) => {
            wake.wait_timeout(state, time)
                .unwrap_or_else(|poisoned| poisoned.into_inner())
                .0
        }
        None => wake
            .wait(state)
            .unwrap_or_else(|poisoned| poisoned.into_inner()),
    };
    state
        .sleepers
        .retain(|sleeper| !Arc::ptr_eq(&sleeper.wake, &wake));
    state
}
